/* SPDX-License-Identifier: Apache-2.0 */
/* A refresh under a lease. Its begin and the grant are one transaction; its result and the release
   are another. */
#include <stdio.h>
#include <string.h>

#include "job/job.h"
#include "lease/lease.h"
#include "refresh/subject.h"
#include "schema/check.h"
#include "util/error.h"
#include "util/utf8.h"

#define MESSAGE_SIZE 2049

struct marked {
    struct rowlock_marking marking;
    struct rowlock_refresh found;
};

/* Marks the subject in the transaction of the grant. Declines the lease if another node has
   refreshed the subject while this one waited. */
static int mark(void *data, __attribute__((unused)) struct rowlock_connection *connection,
                int64_t token, struct rowlock_error *error)
{
    struct marked *marked = data;
    int code = rowlock__subject_begin(&marked->marking, token, &marked->found, error);

    return !code && !marked->found.stale ? ROWLOCK_DECLINED : code;
}

int rowlock_refresh_acquire(struct rowlock_connection *connection,
                            const struct rowlock_subject *subject,
                            const struct rowlock_terms *terms, struct rowlock_refresh *out,
                            struct rowlock_lease **lease, struct rowlock_error *error)
{
    struct marked marked = {.found.stale = 0};
    struct rowlock_want want = {.name = marked.marking.lock, .mode = ROWLOCK_EXCLUSIVE};
    struct rowlock_lease *taken = NULL;
    struct rowlock_subject named = subject ? *subject : (struct rowlock_subject){0};
    int code = rowlock__ready(connection, ROWLOCK_STATE_IDLE, error);

    if (terms && terms->command)
        named.command = terms->command;
    if (!code)
        code = rowlock__marking_init(&marked.marking, connection, &named, error);
    if (!code && named.table)
        code = rowlock__fail(error, ROWLOCK_EMODE,
                             "a table is locked in a transaction; a lease cannot hold it");
    if (code)
        return code;
    /* Looks whether the subject is fresh, which then needs no lock; decides nothing else. The
       acquire machine handles a lost session. */
    code = rowlock__check_installed(connection, error);
    if (!code)
        code = rowlock__subject_look(&marked.marking, &marked.found, error);
    if (code == ROWLOCK_ECONN) {
        marked.found.stale = 1;
        code = ROWLOCK_OK;
    }
    if (!code && marked.found.stale)
        code = rowlock__acquire_with(connection, &want, 1, terms, mark, &marked, &taken, error);
    if (code)
        return code;
    *out = marked.found;
    *lease = taken;
    return ROWLOCK_OK;
}

/* ---- the result ------------------------------------------------------------------------------ */

static void say(const struct rowlock_result *result, enum rowlock_run_outcome outcome, char *out,
                size_t size)
{
    if (result->output && *result->output)
        rowlock__utf8_copy(out, size, result->output);
    else if (outcome == ROWLOCK_RUN_TIMEDOUT)
        snprintf(out, size, "it exceeded its time limit and was stopped");
    else if (outcome == ROWLOCK_RUN_LOST)
        snprintf(out, size, "the lock was lost");
    else if (outcome == ROWLOCK_RUN_NOTSTARTED)
        snprintf(out, size, "it was not started");
    else if (result->exit > 128)
        snprintf(out, size, "killed by signal %d", result->exit - 128);
    else
        snprintf(out, size, "exit %d", result->exit);
}

int rowlock_refresh_release(struct rowlock_lease *lease, const struct rowlock_result *result,
                            struct rowlock_error *error)
{
    static const struct rowlock_result fine;
    const size_t prefix = strlen(ROWLOCK_SUBJECT_PREFIX);
    char message[MESSAGE_SIZE];
    enum rowlock_run_outcome outcome;
    bool failed;
    int code;

    if (!lease)
        return rowlock__no_lease(error);
    if (lease->n != 1 || strncmp(lease->name[0], ROWLOCK_SUBJECT_PREFIX, prefix) != 0)
        return rowlock__fail(error, ROWLOCK_EINVAL,
                             "'%.100s' is not a subject: it is released by rowlock_release",
                             lease->name[0]);
    if (!result)
        result = &fine;
    code = rowlock__result_outcome(result, lease->name[0], &outcome, error);
    if (code)
        return code;
    failed = outcome != ROWLOCK_RUN_DONE;
    say(result, outcome, message, sizeof message);
    struct rowlock_value values[] = {rowlock__text_value(lease->name[0] + prefix),
                                     rowlock__int_value(lease->token),
                                     rowlock__int_value(failed),
                                     rowlock__text_value(failed ? message : NULL),
                                     rowlock__int_value(result->exit),
                                     rowlock__session_of(lease)};

    return rowlock__end_lease(lease, ROWLOCK_SQL_SUBJECT_FINISH, values, error);
}
