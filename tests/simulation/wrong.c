/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Deliberate mistakes, to prove that the promises detect them. Mistakes of the state machines are
 * in seam.c; those of the statements are here: the product's text with one part replaced.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "simulation/sim.h"

#define IN(act) ((int)(act) + 1)

struct mistake {
    const char *name;
    const char *statement; /* NULL: seam.c makes the mistake */
    const char *was, *is;
    int step; /* only in these steps: IN(act); 0: in all */
};

static const struct mistake mistakes[SIM_WRONGS] = {
    [SIM_RIGHT] = {.name = "none"},
    [SIM_COUNTS_FROM_ANSWER] = {.name = "a holder counts from the answer"},
    [SIM_IGNORES_QUEUE] = {"a grant ignores the queue", "waiters", "WHERE name", "WHERE 0 AND name",
                           IN(ROWLOCK_ACT_GRANT)},
    [SIM_NEW_OWNER] = {.name = "a lost reply is followed by a new owner id"},
    [SIM_STEPS_OVER] = {"a grant takes a lease for expired too early", "heartbeat",
                        "SELECT expires", "SELECT expires - 1000", IN(ROWLOCK_ACT_GRANT)},
    [SIM_REVIVES] = {"a renewal revives", "lease_names", "SELECT",
                     "INSERT OR IGNORE INTO rowlock_heartbeat (token, expires) VALUES (?1, 0);"
                     "SELECT",
                     0},
    [SIM_IGNORES_STOP] = {"a renewal ignores stop", "heartbeat_renew", "AND stop = 0", "", 0},
    [SIM_MISCOUNTS] = {"a grant counts one permit of each lease too few", "leases", "WHERE name",
                       "WHERE NOT (mode = 'permit' AND n = 0) AND name", IN(ROWLOCK_ACT_GRANT)},
    [SIM_LEAVES_THE_DEAD] = {"a look leaves dead tickets", "waiter_expire", "AND alive_until",
                             "AND 0 * alive_until + 9e15", 0},
    [SIM_STRIKES_ALL] = {"a roll call does not heed the answers", "waiters", "roll_call",
                         "1 AS roll_call", IN(ROWLOCK_ACT_OVERTAKE)},
    [SIM_ANSWERS_NOTHING] = {"a look does not answer a roll call", "waiter_alive",
                             ", roll_call = NULL", "", 0},
    [SIM_CALLS_NOBODY] = {"a roll call marks no ticket", "waiter_call", "WHERE name",
                          "WHERE 0 AND name", 0},
    [SIM_CLAIMS_BLINDLY] = {"a claim does not ask whether the row was changed", "job_advance",
                            "AND version = ?", "AND 0 * ? = 0", 0},
    [SIM_CLEARS_SUCCESSOR] = {"a finish ends whatever run the job has", "job_end",
                              "AND running = ?", "AND 0 * ? = 0", 0},
    [SIM_FORGETS_THE_LOST] = {"a claim does not record a lost run", "run_settle",
                              "AND outcome IN ('running', 'broken')", "AND 0", 0},
    [SIM_KEEPS_NO_RUN] = {"a claim writes no row of its run", "run_add", "VALUES (",
                          "SELECT 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1 WHERE 0 AND 1 IN (", 0},
    [SIM_TRUSTS_THE_LATE] = {.name = "who finishes late is believed"},
    [SIM_LEAVES_THE_LEASE] = {"the lease of a lost run stays in the way", "heartbeat_sweep",
                              "AND expires", "AND 0 AND expires", 0},
    [SIM_RUNS_EARLY] = {"a node that comes early does not wait", "job_advance", ">= ?", ">= 0 * ?",
                        0},
    [SIM_SKIPS_ALWAYS] = {.name = "missed instants are always skipped"},
    [SIM_REPEATS_FOR_EVER] = {.name = "the repeats are not counted"},
    [SIM_READS_FIRST] = {.name = "a grant reads the rows before it locks the name"},
    [SIM_LOCKS_NOTHING] = {.name = "a transaction lock does not lock the name"},
    [SIM_DRAWS_UNLOCKED] = {.name = "a token is not drawn under the lock of its row"},
    [SIM_FENCES_NOTHING] = {.name = "a fence does not lock the lease"},
    [SIM_SWEEPS_BLINDLY] = {"a sweep has no condition", "heartbeat_sweep", "AND expires",
                            "AND 0 * expires", 0},
    [SIM_RENEWS_STOPPED] = {"a renewal has no condition", "heartbeat_renew", "AND stop = 0", "", 0},
    [SIM_EXPIRES_BLINDLY] = {"a dead ticket is deleted without a condition", "waiter_expire",
                             "AND alive_until", "AND 0 * alive_until", 0},
    [SIM_STRIKES_BLINDLY] = {"a silent ticket is deleted without a condition", "waiter_strike",
                             "AND roll_call > 0 AND roll_call <=", "AND 0 * roll_call <=", 0},
    [SIM_MARKS_NOBODY] = {"a roll call marks no ticket", "waiter_call", "AND roll_call = 0",
                          "AND 1 = 0", 0},
    [SIM_SHOWS_NO_LIFE] = {"a sign of life does not answer a roll call", "waiter_alive",
                           ", roll_call = 0", "", 0},
    [SIM_IGNORES_READERS] = {.name = "a shared lease refuses no writer"},
    [SIM_IGNORES_WRITERS] = {.name = "an exclusive lease refuses no reader"},
    [SIM_GRANTS_ONE_MORE] = {.name = "one permit too many is free"},
    [SIM_SWEEPS_NOT] = {.name = "an expired lease is not deleted before a grant"},
    [SIM_JUDGES_NO_QUEUE] = {.name = "the queue is taken for empty"},
    [SIM_RELEASES_BY_NAME] = {.name = "a release ends the lease that the name has"},
    [SIM_BELIEVES_LOST_BATCH] = {.name = "the answer of a lost batch is believed"},
    [SIM_NEW_OWNER_ALONE] = {.name = "a lost batch is followed by a new owner id"},
    [SIM_BATCH_IGNORES_QUEUE] = {.name = "a batch ignores the queue"},
    [SIM_SWAPS_ANSWERS] = {.name = "the answers of a batch are swapped"},
    [SIM_TURN_IGNORES_QUEUE] = {.name = "a turn ignores the queue"},
    [SIM_REMOVES_THE_LIVING] = {.name = "an await removes the ticket of the living"},
};

/* A mistake that is one in two statements. */
static const struct mistake seconds[SIM_WRONGS] = {
    [SIM_STEPS_OVER] = {"the same", "heartbeat_sweep", "AND expires", "AND expires - 1000",
                        IN(ROWLOCK_ACT_GRANT)},
    [SIM_STRIKES_ALL] = {"the same", "waiter_strike",
                         "AND roll_call > 0 AND roll_call <=", "AND 0 <=", 0},
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

static bool is_made_now(const struct mistake *mistake, const struct rowlock_statement *statement)
{
    const struct sim_client *client = sim.running;

    if (!mistake->statement || strcmp(statement->name, mistake->statement) != 0)
        return false;
    return !mistake->step || (client && client->step && IN(client->step->act) == mistake->step);
}

const struct rowlock_statement *wrong_statement(const struct rowlock_statement *statement)
{
    struct replaced *made = all;
    const struct mistake *mistake =
        is_made_now(&mistakes[sim.wrong], statement) ? &mistakes[sim.wrong] : &seconds[sim.wrong];

    if (!is_made_now(mistake, statement))
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
