/* SPDX-License-Identifier: Apache-2.0 */
#include "command/history_rules.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command/output/table.h"

static const char *const levels[] = {[ROWLOCK_HISTORY_OFF] = "off",
                                     [ROWLOCK_HISTORY_PROBLEMS] = "problems",
                                     [ROWLOCK_HISTORY_SLOW] = "slow",
                                     [ROWLOCK_HISTORY_ALL] = "all"};

#define N_LEVELS (sizeof levels / sizeof *levels)

static size_t find_level(const char *name)
{
    size_t i = 0;

    while (i < N_LEVELS && strcmp(levels[i], name) != 0)
        i++;
    return i;
}

void rules_read(const struct command *command, struct rules_request *request)
{
    if (command->n_operands < 2 || strcmp(command->operands[1], "history") != 0)
        usage_error(command, "set changes one thing: rowlock schema set history LEVEL");
    if (command->n_operands + command->n_rest > 3)
        usage_error(command, "unexpected argument");
    request->level = command->n_operands > 2 ? command->operands[2] : NULL;
    if (request->level && find_level(request->level) == N_LEVELS)
        usage_error(command, "the level '%s' is none of off, problems, slow and all",
                    shown(request->level));
}

void rules_explain(struct rowlock_connection *connection, const char *name)
{
    static const char *const recorded[] = {
        [ROWLOCK_HISTORY_OFF] = "only runs of jobs",
        [ROWLOCK_HISTORY_PROBLEMS] = "only leases that expired or were broken, waiters that gave "
                                     "up, and runs of jobs",
        [ROWLOCK_HISTORY_SLOW] = "only leases that ended badly, waited 1 s or were held 10 s, and "
                                 "runs of jobs",
        [ROWLOCK_HISTORY_ALL] = "every lease and every run of a job, until its time has passed"};
    struct rowlock_history_rules rules;

    if (rowlock_history_rules(connection, &rules, NULL))
        return;
    message("no entry%s%s%s matches; the level of the history is %s, which records %s%s",
            name ? " of '" : "", name ? shown(name) : "", name ? "'" : "", levels[rules.level],
            recorded[rules.level],
            rules.level == ROWLOCK_HISTORY_ALL ? "" : "; rowlock schema set history changes that");
}

int rules_set(const struct command *command, struct rowlock_connection *connection,
              const struct rules_request *request)
{
    struct rowlock_history_rules rules;
    struct rowlock_error error;
    char *good, *bad;

    if (rowlock_history_rules(connection, &rules, &error))
        return report(&error);
    if (request->level)
        rules.level = (enum rowlock_history_level)find_level(request->level);
    if (request->keep_good_ms)
        rules.keep_good_ms = request->keep_good_ms;
    if (request->keep_bad_ms)
        rules.keep_bad_ms = request->keep_bad_ms;
    if ((request->level || request->keep_good_ms || request->keep_bad_ms) &&
        rowlock_set_history(connection, &rules, &error))
        return report(&error);
    good = cell_duration(rules.keep_good_ms);
    bad = cell_duration(rules.keep_bad_ms);
    if (command->json)
        printf("{\"history\":\"%s\",\"keep_good_ms\":%" PRId64 ",\"keep_bad_ms\":%" PRId64 "}\n",
               levels[rules.level], rules.keep_good_ms, rules.keep_bad_ms);
    else
        printf("history: %s; released leases are kept for %s, the others for %s\n",
               levels[rules.level], good ? good : "?", bad ? bad : "?");
    free(good);
    free(bad);
    return STATUS_OK;
}
