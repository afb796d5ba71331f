/* SPDX-License-Identifier: Apache-2.0 */
/* rowlock_hasten_job: the due time becomes now, on condition that the row is unchanged since it was
   read. A claim in between changes it. */
#include <stdio.h>

#include "dialect/job.h"
#include "job/job.h"
#include "lease/lease.h"
#include "lease/query.h"
#include "schema/check.h"
#include "session/connection.h"
#include "util/error.h"

#define GRANT_MS 500 /* a grant holds the name briefly; a transaction may hold it for long */
#define ROUNDS 100   /* each round except the last lost a race against a node */

struct state {
    int64_t now_ms, version;
    bool held;
};

static void state_row(void *data, const struct rowlock_value *columns, unsigned n)
{
    if (n >= ROWLOCK_STATE_COLUMNS)
        *(struct state *)data =
            (struct state){.now_ms = rowlock__value_number(&columns[ROWLOCK_STATE_NOW]),
                           .version = rowlock__value_number(&columns[ROWLOCK_STATE_VERSION]),
                           .held = rowlock__value_number(&columns[ROWLOCK_STATE_HELD]) != 0};
}

/* EBUSY with the holder's description if a transaction holds the name: no node can claim the job
   before its end. */
static int check_transactions(struct rowlock_connection *connection, const char *job,
                              struct rowlock_error *error)
{
    char name[ROWLOCK_NAME_MAX + 1];
    struct rowlock_want want = {.name = name, .mode = ROWLOCK_EXCLUSIVE};
    struct rowlock_error later;
    int code;

    snprintf(name, sizeof name, ROWLOCK_JOB_PREFIX "%s", job);
    code = rowlock_begin(connection, &want, 1, 0, error);
    if (code == ROWLOCK_EBUSY && rowlock_begin(connection, &want, 1, GRANT_MS, &later) == 0)
        code = ROWLOCK_OK;
    if (!code)
        return rowlock_rollback(connection, error);
    return code == ROWLOCK_EBUSY
               ? rowlock__wrap_error(error, code, "the job '%.100s' is not made due", job)
               : code;
}

/* One round; `*done`: the due time is set. */
static int hasten(struct rowlock_connection *connection, const char *job, int64_t *done,
                  struct rowlock_error *error)
{
    struct state state = {0};
    struct rowlock_value values[3] = {rowlock__text_value(job)};
    int code = rowlock__ask_alone(connection, ROWLOCK_SQL_JOB_STATE, values, true, state_row,
                                  &state, error);

    if (!code && !state.version)
        return rowlock__fail(error, ROWLOCK_EINVAL,
                             "no job '%.100s' is known: no node has asked for it", job);
    if (!code && state.held)
        return rowlock__fail(
            error, ROWLOCK_EBUSY,
            "the job '%.100s' runs, or its name is held: rowlock ls " ROWLOCK_JOB_PREFIX
            "%.100s shows the holder",
            job, job);
    if (!code)
        code = check_transactions(connection, job, error);
    values[1] = rowlock__int_value(state.version);
    /* not a whole minute, which would be a due time of the schedule */
    values[2] = rowlock__int_value(state.now_ms - (state.now_ms % 60000 == 0));
    if (!code)
        code = rowlock__ask_alone(connection, ROWLOCK_SQL_JOB_DUE, values, false,
                                  rowlock__take_number, done, error);
    return code;
}

int rowlock_hasten_job(struct rowlock_connection *connection, const char *name,
                       struct rowlock_error *error)
{
    static const int64_t logged_as = ROWLOCK_LOG_DUE_NOW;
    char lock[ROWLOCK_NAME_MAX + 1];
    int64_t done = 0;
    int code = rowlock__ready(connection, ROWLOCK_STATE_IDLE, error);

    if (!code)
        code = rowlock__job_name_check(name, error);
    if (!code)
        code = rowlock__check_present(connection, error);
    for (int i = 0; !code && !done && i < ROUNDS; i++)
        code = hasten(connection, name, &done, error);
    if (!code && !done)
        code = rowlock__fail(error, ROWLOCK_EBUSY,
                             "the job '%.100s' changes all the time: try again", name);
    if (!code) {
        snprintf(lock, sizeof lock, ROWLOCK_JOB_PREFIX "%s", name);
        rowlock__log_user(connection, lock, &logged_as, 1);
    }
    return code;
}
