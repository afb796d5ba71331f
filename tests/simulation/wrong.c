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
};

#define FAREWELL                                                     \
    " AND running = ?1\n"                                            \
    "   AND EXISTS (SELECT 1 FROM rowlock_lease WHERE token = ?1)\n" \
    "   AND EXISTS (SELECT 1 FROM rowlock_heartbeat WHERE token = ?1)"

static const struct mistake mistakes[SIM_WRONGS] = {
    [SIM_RIGHT] = {.name = "none"},
    [SIM_COUNTS_FROM_ANSWER] = {.name = "a holder counts from the answer"},
    [SIM_IGNORES_QUEUE] = {"a grant ignores the queue", "conflict",
                           "WHEN EXISTS (SELECT 1 FROM rowlock_waiter",
                           "WHEN 0 AND EXISTS (SELECT 1 FROM rowlock_waiter"},
    [SIM_NEW_OWNER] = {.name = "a lost reply is followed by a new owner id"},
    [SIM_STEPS_OVER] = {"a grant takes a lease for expired too early", "conflict",
                        "WHERE expires <=", "WHERE expires - 1000 <="},
    [SIM_REVIVES] = {"a renewal revives", "renew", "UPDATE rowlock_heartbeat",
                     "INSERT OR IGNORE INTO rowlock_heartbeat (token, expires) VALUES (?1, 0);"
                     "UPDATE rowlock_heartbeat"},
    [SIM_IGNORES_STOP] = {"a renewal ignores stop", "renew", "AND NOT stop", ""},
    [SIM_MISCOUNTS] = {"a grant counts one permit too few", "conflict", "+ ?4 > ?3",
                       "+ ?4 > ?3 + 1"},
    [SIM_LEAVES_THE_DEAD] = {"a look leaves dead tickets", "stay_alive", "AND waiter.alive_until",
                             "AND 0 * waiter.alive_until + 9e15"},
    [SIM_STRIKES_ALL] = {"a roll call does not heed the answers", "overtake",
                         "AND waiter.roll_call <= ?2", ""},
    [SIM_ANSWERS_NOTHING] = {"a look does not answer a roll call", "stay_alive",
                             ",\n       roll_call = NULL", ""},
    [SIM_CALLS_NOBODY] = {"a roll call marks no ticket", "overtake", "WHERE ?2 = 0", "WHERE 0"},
    [SIM_CLAIMS_BLINDLY] = {"a claim does not ask whether the row was changed", "job_claim",
                            "AND version = ?3", ""},
    [SIM_CLEARS_SUCCESSOR] = {"a finish ends whatever run the job has", "job_finish", FAREWELL, ""},
    [SIM_FORGETS_THE_LOST] = {"a claim does not record a lost run", "job_claim",
                              "AND outcome IN ('running', 'broken')", "AND 0"},
    [SIM_KEEPS_NO_RUN] = {"a claim writes no row of its run", "job_claim",
                          "FROM rowlock_job WHERE name = ?1 AND running = ?2 ON CONFLICT",
                          "FROM rowlock_job WHERE 0 ON CONFLICT"},
    [SIM_TRUSTS_THE_LATE] = {"who finishes late is believed", "job_finish", "ELSE 'late' END",
                             "ELSE ?2 END"},
    [SIM_LEAVES_THE_LEASE] = {"the lease of a lost run stays in the way", "job_plan",
                              "WHERE token = ?5 AND expires <=", "WHERE 0 AND expires <="},
    [SIM_RUNS_EARLY] = {"a node that comes early does not wait", "job_claim", "\n   AND ?5 <= CAST",
                        "\n   AND 0 <= CAST"},
    [SIM_SKIPS_ALWAYS] = {.name = "missed instants are always skipped"},
    [SIM_REPEATS_FOR_EVER] = {.name = "the repeats are not counted"},
    [SIM_READS_FIRST] = {.name = "a grant reads the rows before it locks the name"},
    [SIM_LOCKS_NOTHING] = {.name = "a transaction lock does not lock the name"},
    [SIM_DRAWS_UNLOCKED] = {.name = "a token is not drawn under the lock of its row"},
    [SIM_FENCES_NOTHING] = {.name = "a fence does not lock the lease"},
    [SIM_SWEEPS_BLINDLY] = {"a sweep has no condition", "heartbeat_sweep", "AND expires",
                            "AND 0 * expires"},
    [SIM_RENEWS_STOPPED] = {"a renewal has no condition", "heartbeat_renew", "AND stop = 0", ""},
    [SIM_EXPIRES_BLINDLY] = {"a dead ticket is deleted without a condition", "waiter_expire",
                             "AND alive_until", "AND 0 * alive_until"},
    [SIM_STRIKES_BLINDLY] = {"a silent ticket is deleted without a condition", "waiter_strike",
                             "AND roll_call > 0 AND roll_call <=", "AND 0 * roll_call <="},
    [SIM_MARKS_NOBODY] = {"a roll call marks no ticket", "waiter_call", "AND roll_call = 0",
                          "AND 1 = 0"},
    [SIM_SHOWS_NO_LIFE] = {"a sign of life does not answer a roll call", "waiter_alive",
                           ", roll_call = 0", ""},
    [SIM_IGNORES_READERS] = {.name = "a shared lease refuses no writer"},
    [SIM_IGNORES_WRITERS] = {.name = "an exclusive lease refuses no reader"},
    [SIM_GRANTS_ONE_MORE] = {.name = "one permit too many is free"},
    [SIM_SWEEPS_NOT] = {.name = "an expired lease is not deleted before a grant"},
    [SIM_JUDGES_NO_QUEUE] = {.name = "the queue is taken for empty"},
    [SIM_RELEASES_BY_NAME] = {.name = "a release ends the lease that the name has"},
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
    return wrong < SIM_LEASE_WRONGS  ? &sim_leases
           : wrong < SIM_FARM_WRONGS ? &sim_farm
                                     : &sim_tables;
}

static struct replaced *make(const struct rowlock_statement *statement, enum sim_wrong wrong)
{
    const struct mistake *mistake = &mistakes[wrong];
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
    made->wrong = wrong;
    made->statement = *statement;
    made->statement.text = made->text;
    made->next = all;
    return all = made;
}

const struct rowlock_statement *wrong_statement(const struct rowlock_statement *statement)
{
    const char *name = mistakes[sim.wrong].statement;
    struct replaced *made = all;

    if (!name || strcmp(statement->name, name) != 0)
        return statement;
    while (made && (made->of != statement || made->wrong != sim.wrong))
        made = made->next;
    return made ? &made->statement : &make(statement, sim.wrong)->statement;
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
