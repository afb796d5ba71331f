/* SPDX-License-Identifier: Apache-2.0 */
/* rowlock_vacuum, rowlock_vacuum_name and rowlock_sweep: remove unused rows. */
#include "schema/check.h"
#include "session/connection.h"
#include "util/error.h"

static int run(struct rowlock_connection *connection, enum rowlock_statement_id id,
               const struct rowlock_value *values, int64_t *removed, struct rowlock_error *error)
{
    int64_t count = 0;
    struct rowlock_call call = rowlock__call(connection, id, values, rowlock__take_number, &count);
    int code = rowlock__send(connection, ROWLOCK_BEGIN | ROWLOCK_COMMIT, &call, NULL, error);

    *removed += id == ROWLOCK_SQL_VACUUM_OBJECT ? call.affected : count;
    return code;
}

int rowlock_vacuum(struct rowlock_connection *connection, int64_t *removed,
                   struct rowlock_error *error)
{
    int64_t count = 0;
    int code = rowlock__ready(connection, ROWLOCK_STATE_IDLE, error);

    if (!code)
        code = rowlock__check_installed(connection, error);
    if (!code)
        code = run(connection, ROWLOCK_SQL_VACUUM, NULL, &count, error);
    if (!code && connection->installed.technique == ROWLOCK_INSERT &&
        rowlock__sql(connection, ROWLOCK_SQL_VACUUM_OBJECT))
        code = run(connection, ROWLOCK_SQL_VACUUM_OBJECT, NULL, &count, error);
    if (!code && removed)
        *removed = count;
    return code;
}

int rowlock_vacuum_name(struct rowlock_connection *connection, const char *name,
                        struct rowlock_error *error)
{
    struct rowlock_value value;
    int64_t count = 0;
    int code = rowlock__ready(connection, ROWLOCK_STATE_IDLE, error);

    if (!code && !name)
        code = rowlock__fail(error, ROWLOCK_EINVAL, "the name must not be NULL");
    if (!code)
        code = rowlock__check_installed(connection, error);
    if (code || connection->installed.technique != ROWLOCK_ROW)
        return code;
    value = rowlock__text_value(name);
    return run(connection, ROWLOCK_SQL_FORGET_NAME, &value, &count, error);
}

int rowlock_sweep(struct rowlock_connection *connection, struct rowlock_error *error)
{
    int64_t count = 0;
    int code = rowlock__ready(connection, ROWLOCK_STATE_IDLE, error);

    if (!code)
        code = rowlock__check_installed(connection, error);
    if (code || !rowlock__sql(connection, ROWLOCK_SQL_SWEEP_SOME))
        return code;
    return run(connection, ROWLOCK_SQL_SWEEP_SOME, NULL, &count, error);
}
