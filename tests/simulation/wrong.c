/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Deliberate mistakes, to prove that the promises detect them. Mistakes of the state machines are
 * in seam.c; those of the statements are here: the product's text with one part replaced.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "simulation/sim.h"

struct mistake {
    const char *name;
    const char *statement; /* NULL: seam.c makes the mistake */
    const char *was, *is;
    uint64_t seed; /* of a history that has found it; 0: one of the first ones does */
};

static const struct mistake mistakes[SIM_WRONGS] = {
    [SIM_RIGHT] = {.name = "none"},
    [SIM_COUNTS_FROM_ANSWER] = {.name = "a holder counts from the answer"},
    [SIM_NEW_OWNER] = {.name = "a lost reply is followed by a new owner id"},
    [SIM_REVIVES] = {"a renewal revives", "lease_names", "SELECT",
                     "INSERT OR IGNORE INTO rowlock_heartbeat (token, expires) VALUES (?1, 0);"
                     "SELECT",
                     .seed = 0},
    [SIM_LEAVES_THE_DEAD] = {"a look leaves dead tickets", "waiter_expire", "AND alive_until",
                             "AND 0 * alive_until + 9e15", .seed = 0},
    [SIM_CLAIMS_BLINDLY] = {"a claim does not ask whether the row was changed", "job_advance",
                            "AND version = ?", "AND 0 * ? = 0", .seed = 4},
    [SIM_CLEARS_SUCCESSOR] = {"a finish ends whatever run the job has", "job_end",
                              "AND running = ?", "AND 0 * ? = 0", .seed = 0},
    [SIM_FORGETS_THE_LOST] = {"a claim does not record a lost run", "run_settle",
                              "AND outcome IN ('running', 'broken')", "AND 0", .seed = 2},
    [SIM_KEEPS_NO_RUN] = {"a claim writes no row of its run", "run_add", "VALUES (",
                          "SELECT 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1 WHERE 0 AND 1 IN (", .seed = 0},
    [SIM_TRUSTS_THE_LATE] = {.name = "who finishes late is believed"},
    [SIM_LEAVES_THE_LEASE] = {"the lease of a lost run stays in the way", "heartbeat_sweep",
                              "AND expires", "AND 0 AND expires", .seed = 0},
    [SIM_RUNS_EARLY] = {"a node that comes early does not wait", "job_advance", ">= ?", ">= 0 * ?",
                        .seed = 2},
    [SIM_SKIPS_ALWAYS] = {.name = "missed instants are always skipped"},
    [SIM_REPEATS_FOR_EVER] = {.name = "the repeats are not counted", .seed = 4},
    [SIM_READS_FIRST] = {.name = "a grant reads the rows before it locks the name"},
    [SIM_LOCKS_NOTHING] = {.name = "a transaction lock does not lock the name"},
    [SIM_DRAWS_UNLOCKED] = {.name = "a token is not drawn under the lock of its row"},
    [SIM_FENCES_NOTHING] = {.name = "a fence does not lock the lease", .seed = 144},
    [SIM_SWEEPS_BLINDLY] = {"a sweep has no condition", "heartbeat_sweep", "AND expires",
                            "AND 0 * expires", .seed = 1643},
    [SIM_RENEWS_STOPPED] = {"a renewal has no condition", "heartbeat_renew", "AND stop = 0", "",
                            .seed = 16},
    [SIM_EXPIRES_BLINDLY] = {"a dead ticket is deleted without a condition", "waiter_expire",
                             "AND alive_until", "AND 0 * alive_until", .seed = 91},
    [SIM_STRIKES_BLINDLY] = {"a silent ticket is deleted without a condition", "waiter_strike",
                             "AND roll_call > 0 AND roll_call <=", "AND 0 * roll_call <=",
                             .seed = 0},
    [SIM_MARKS_NOBODY] = {"a roll call marks no ticket", "waiter_call", "AND roll_call = 0",
                          "AND 1 = 0", .seed = 55},
    [SIM_SHOWS_NO_LIFE] = {"a sign of life does not answer a roll call", "waiter_alive",
                           ", roll_call = 0", "", .seed = 0},
    [SIM_IGNORES_READERS] = {.name = "a shared lease refuses no writer"},
    [SIM_IGNORES_WRITERS] = {.name = "an exclusive lease refuses no reader"},
    [SIM_GRANTS_ONE_MORE] = {.name = "one permit too many is free"},
    [SIM_SWEEPS_NOT] = {.name = "an expired lease is not deleted before a grant", .seed = 17},
    [SIM_JUDGES_NO_QUEUE] = {.name = "the queue is taken for empty"},
    [SIM_RELEASES_BY_NAME] = {.name = "a release ends the lease that the name has"},
    [SIM_TURN_IGNORES_QUEUE] = {.name = "a turn ignores the queue"},
    [SIM_REMOVES_THE_LIVING] = {.name = "an await removes the ticket of the living"},
};

/* One copy for each mistake and dialect, at an address of its own, because the drivers cache
   compiled statements by address. */
struct replaced {
    const struct rowlock_statement *of;
    enum sim_wrong wrong;
    struct rowlock_statement statement;
    char *text;
    struct replaced *next;
};
static struct replaced *all;

const char *wrong_name(enum sim_wrong wrong)
{
    return mistakes[wrong].name;
}

uint64_t wrong_seed(enum sim_wrong wrong)
{
    return mistakes[wrong].seed;
}

const struct sim_kind *wrong_kind(enum sim_wrong wrong)
{
    return wrong < SIM_LEASE_WRONGS   ? &sim_leases
           : wrong < SIM_FARM_WRONGS  ? &sim_farm
           : wrong < SIM_TABLE_WRONGS ? &sim_tables
                                      : &sim_functions;
}

static struct replaced *make(const struct rowlock_statement *statement,
                             const struct mistake *mistake)
{
    const char *at = strstr(statement->text, mistake->was);
    size_t size = strlen(statement->text) + strlen(mistake->is) + 1;
    struct replaced *made = calloc(1, sizeof *made);

    if (!at || !made || !(made->text = malloc(size))) {
        fprintf(stderr, "simulation: %s has no '%s' any more: mend wrong.c\n", mistake->statement,
                mistake->was);
        exit(1);
    }
    snprintf(made->text, size, "%.*s%s%s", (int)(at - statement->text), statement->text,
             mistake->is, at + strlen(mistake->was));
    made->of = statement;
    made->wrong = sim.wrong;
    made->statement = *statement;
    made->statement.text = made->text;
    made->next = all;
    return all = made;
}

const struct rowlock_statement *wrong_statement(const struct rowlock_statement *statement)
{
    const struct mistake *mistake = &mistakes[sim.wrong];
    struct replaced *made = all;

    if (!mistake->statement || strcmp(statement->name, mistake->statement) != 0)
        return statement;
    while (made && (made->of != statement || made->wrong != sim.wrong))
        made = made->next;
    return made ? &made->statement : &make(statement, mistake)->statement;
}

void wrong_free(void)
{
    while (all) {
        struct replaced *next = all->next;

        free(all->text);
        free(all);
        all = next;
    }
}
