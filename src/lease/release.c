/* SPDX-License-Identifier: Apache-2.0 */
/* rowlock_release: by a plain statement, or the function that decides where it finds no row. */
#include "lease/lease.h"
#include "lease/query.h"
#include "schema/check.h"
#include "session/connection.h"
#include "util/error.h"

#define BRIEF_MS 1000 /* a lease so brief is only kept by a history of all leases */

static int say_released(struct rowlock_lease *lease, bool lost, struct rowlock_error *error)
{
    atomic_store(&lease->lost, lost);
    atomic_store(&lease->released, true);
    if (!lost)
        return ROWLOCK_OK;
    return rowlock__fail(error, ROWLOCK_ELOST,
                         "the lease of '%.100s' (token %lld) had been lost before it was released: "
                         "another may have had the name meanwhile",
                         lease->name[0], (long long)lease->token);
}

static int ended(struct rowlock_lease *lease, enum rowlock_statement_id id, int64_t status,
                 struct rowlock_error *error)
{
    /* Without a row, either the lease was lost, or an earlier release whose reply was lost deleted
       it. For the run of a job the history shows which. */
    bool lost = id == ROWLOCK_SQL_JOB_FINISH || !lease->release_unsure ||
                atomic_load(&lease->lost) || lease->release_ms >= atomic_load(&lease->end_ms);

    if (status < 0)
        return rowlock__fail(error, ROWLOCK_EDB, "the database returned no row to a release");
    return say_released(lease, status != ROWLOCK_STATUS_OK && lost, error);
}

static int give_back(struct rowlock_lease *lease, enum rowlock_statement_id id,
                     const struct rowlock_value *values, struct rowlock_error *error)
{
    struct rowlock_connection *connection = lease->connection;
    int64_t answer = -1, *marked;
    struct rowlock_query query = {.id = id,
                                  .values = values,
                                  .row = rowlock__take_number,
                                  .data = &answer,
                                  .deadline_ms = rowlock__query_deadline(connection),
                                  .until_ms = atomic_load(&lease->end_ms)};
    int code = rowlock__ready(connection, ROWLOCK_STATE_IDLE, error);

    if (!code)
        rowlock__check_former(connection, NULL);
    else if (code != ROWLOCK_ECONN)
        return code;
    rowlock__keeper_quiet(lease);
    if (atomic_load(&lease->released)) {
        rowlock__keeper_end(lease);
        return say_released(lease, atomic_load(&lease->lost), error);
    }
    if (!lease->release_ms)
        lease->release_ms = rowlock__now_ms();
    if (rowlock__check_replaced(connection, NULL)) {
        rowlock__keeper_end(lease);
        return say_released(lease, true, error);
    }
    /* most leases end by a plain statement; where it finds none such, the function decides */
    query.alone = id == ROWLOCK_SQL_RELEASE && atomic_load(&lease->simple) &&
                  !connection->logs_releases && connection->verified > 0 &&
                  rowlock__sql(connection, ROWLOCK_SQL_RELEASE_FREE);
    if (query.alone)
        query.id = ROWLOCK_SQL_RELEASE_FREE;
    code = rowlock__query_surely(connection, &query, &lease->release_unsure, error);
    if (!code && answer < 0 && query.id != id) {
        query.id = id;
        query.alone = false;
        code = rowlock__query_surely(connection, &query, &lease->release_unsure, error);
        connection->logs_releases = !code && answer == ROWLOCK_STATUS_OK &&
                                    lease->release_ms - atomic_load(&lease->sent_ms) < BRIEF_MS;
    }
    rowlock__keeper_end(lease);
    /* the release has released the session lock, too; after a failure that is not known */
    marked = code ? NULL : rowlock__mark_of(connection, lease->token);
    if (marked)
        *marked = 0;
    if (!code)
        return ended(lease, id, answer, error);
    code = rowlock__query_result(code, error);
    return rowlock__wrap_error(error, code, "releasing '%.100s', which will now expire",
                               lease->name[0]);
}

/* The signal that interrupted the program is often why it releases, and must not interrupt that
   too. */
int rowlock__end_lease(struct rowlock_lease *lease, enum rowlock_statement_id id,
                       const struct rowlock_value *values, struct rowlock_error *error)
{
    int interrupt_fd = lease->connection->interrupt_fd, code;

    lease->connection->interrupt_fd = -1;
    code = give_back(lease, id, values, error);
    lease->connection->interrupt_fd = interrupt_fd;
    return code;
}

int rowlock_release(struct rowlock_lease *lease, struct rowlock_error *error)
{
    struct rowlock_value values[4];

    if (!lease)
        return rowlock__no_lease(error);
    values[0] = rowlock__int_value(lease->token);
    values[1] = rowlock__text_value(lease->name[0]);
    values[2] = rowlock__text_value(lease->owner[0] ? lease->owner : NULL); /* NULL: any */
    values[3] = rowlock__session_of(lease);
    return rowlock__end_lease(lease, ROWLOCK_SQL_RELEASE, values, error);
}

void rowlock_lease_free(struct rowlock_lease *lease)
{
    if (!lease)
        return;
    rowlock__keeper_quiet(lease);
    rowlock__keeper_end(lease);
    rowlock__lease_delete(lease);
}
