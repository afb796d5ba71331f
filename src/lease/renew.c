/* SPDX-License-Identifier: Apache-2.0 */
/* rowlock_renew, and the renewal that it shares with the keeper's thread. */
#include "lease/lease.h"
#include "lease/query.h"
#include "schema/check.h"
#include "session/connection.h"
#include "util/clock.h"
#include "util/error.h"

static int say_lost(struct rowlock_lease *lease, enum rowlock_status status,
                    struct rowlock_error *error)
{
    atomic_store(&lease->lost, true);
    return rowlock__fail(error, ROWLOCK_ELOST, "the lease of '%.100s' (token %lld) %s",
                         lease->name[0], (long long)lease->token,
                         status == ROWLOCK_STATUS_STOPPED
                             ? "was broken; stop the work under it, and release it"
                             : "has ended; stop the work under it");
}

int rowlock__renew_once(struct rowlock_lease *lease, struct rowlock_connection *connection,
                        int64_t ttl_ms, int64_t deadline_ms, enum rowlock_status *status,
                        struct rowlock_error *error)
{
    struct rowlock_value values[] = {
        rowlock__int_value(lease->token), rowlock__int_value(ttl_ms),
        rowlock__text_value(lease->name[0]),
        rowlock__text_value(lease->owner[0] ? lease->owner : NULL)}; /* NULL: any */
    int64_t answer = -1, sent_ms = rowlock__now_ms();
    struct rowlock_query query = {.id = ROWLOCK_SQL_RENEW,
                                  .values = values,
                                  .row = rowlock__take_number,
                                  .data = &answer,
                                  .deadline_ms = deadline_ms,
                                  .end_ms = atomic_load(&lease->end_ms)};
    struct rowlock_budget budget = {deadline_ms, connection->interrupt_fd, query.end_ms};
    int code = rowlock__check_replaced(connection, error);

    if (code)
        atomic_store(&lease->lost, true);
    else
        code = rowlock__check_former(connection, error);
    if (!code)
        code = rowlock__verify(connection, &budget, error);
    query.alone = connection->verified > 0 && rowlock__sql(connection, ROWLOCK_SQL_RENEW_FREE) &&
                  lease->owner[0];
    if (!code && query.alone) {
        query.id = ROWLOCK_SQL_RENEW_FREE;
        code = rowlock__query_alone(connection, &query, error);
        query.id = ROWLOCK_SQL_RENEW;
        query.alone = false;
    }
    if (!code && answer < 0)
        code = rowlock__query(connection, &query, error);
    if (code)
        return code;
    if (answer < 0)
        return rowlock__fail(error, ROWLOCK_EDB, "the database returned no row to a renewal");
    *status = (enum rowlock_status)answer;
    if (answer == ROWLOCK_STATUS_OK)
        rowlock__lease_renewed(lease, sent_ms, ttl_ms);
    else
        atomic_store(&lease->lost, true);
    return ROWLOCK_OK;
}

int rowlock__renew_over(struct rowlock_connection *connection, struct rowlock_lease *lease,
                        int64_t ttl_ms, int64_t deadline_ms, enum rowlock_status *status,
                        struct rowlock_error *error)
{
    struct rowlock_error unseen;
    int code;

    if (!error)
        error = &unseen;
    code = rowlock__ready(connection, ROWLOCK_STATE_IDLE, error);
    deadline_ms = rowlock__least(deadline_ms, atomic_load(&lease->end_ms));
    if (!code)
        code = rowlock__renew_once(lease, connection, ttl_ms, deadline_ms, status, error);
    if (!rowlock__must_reconnect(connection, code, error))
        return code;
    code = rowlock__reconnect(connection, deadline_ms, error);
    if (code)
        return code;
    return rowlock__renew_once(lease, connection, ttl_ms, deadline_ms, status, error);
}

int rowlock__renew_until(struct rowlock_lease *lease, int64_t ttl_ms, int64_t deadline_ms,
                         struct rowlock_error *error)
{
    enum rowlock_status status = ROWLOCK_STATUS_OK;
    int code;

    if (ttl_ms == 0)
        ttl_ms = atomic_load(&lease->ttl_ms);
    code = rowlock__ttl_check(ttl_ms, error);
    if (code)
        return code;
    if (atomic_load(&lease->released))
        return rowlock__fail(error, ROWLOCK_ELOST, "the lease of '%.100s' was released",
                             lease->name[0]);
    if (rowlock_remaining(lease) <= 0)
        return say_lost(lease, ROWLOCK_STATUS_LOST, error);
    rowlock__clear_error(error);
    code = rowlock__renew_over(lease->connection, lease, ttl_ms, deadline_ms, &status, error);
    if (!code && status != ROWLOCK_STATUS_OK)
        return say_lost(lease, status, error);
    if (!code)
        return ROWLOCK_OK;
    code = rowlock__query_result(code, error);
    rowlock__wrap_error(error, code, "renewing '%.100s'", lease->name[0]);
    return code;
}

int rowlock_renew(struct rowlock_lease *lease, rowlock_duration ttl_ms, struct rowlock_error *error)
{
    if (!lease)
        return rowlock__no_lease(error);
    return rowlock__renew_until(lease, ttl_ms, rowlock__query_deadline(lease->connection), error);
}
