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
};

/* One copy for each mistake, at an address of its own, because the driver caches compiled
   statements by address. */
static struct rowlock_statement replaced[SIM_WRONGS];
static char *texts[SIM_WRONGS];

const char *wrong_name(enum sim_wrong wrong)
{
    return mistakes[wrong].name;
}

const struct sim_kind *wrong_kind(enum sim_wrong wrong)
{
    return wrong < SIM_LEASE_WRONGS ? &sim_leases : &sim_farm;
}

static void make(const struct rowlock_statement *statement, enum sim_wrong wrong)
{
    const struct mistake *mistake = &mistakes[wrong];
    const char *at = strstr(statement->text, mistake->was);
    size_t size = strlen(statement->text) + strlen(mistake->is) + 1;
    char *text = malloc(size);

    if (!at || !text) {
        fprintf(stderr, "simulation: %s has no '%s' any more: mend wrong.c\n", mistake->statement,
                mistake->was);
        exit(1);
    }
    snprintf(text, size, "%.*s%s%s", (int)(at - statement->text), statement->text, mistake->is,
             at + strlen(mistake->was));
    replaced[wrong] = *statement;
    replaced[wrong].text = texts[wrong] = text;
}

const struct rowlock_statement *wrong_statement(const struct rowlock_statement *statement)
{
    const char *name = mistakes[sim.wrong].statement;

    if (!name || strcmp(statement->name, name) != 0)
        return statement;
    if (!texts[sim.wrong])
        make(statement, sim.wrong);
    return &replaced[sim.wrong];
}

void wrong_free(void)
{
    for (int i = 0; i < SIM_WRONGS; i++)
        free(texts[i]);
}
