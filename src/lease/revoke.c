/* SPDX-License-Identifier: Apache-2.0 */
/* rowlock_break: an operator ends a lease by its name. */
#include "lease/query.h"
#include "util/error.h"

static int not_broken(const struct rowlock_connection *connection, int code, const char *name,
                      struct rowlock_error *error)
{
    bool waited = code == ROWLOCK_ETIMEDOUT || code == ROWLOCK_ECANCELED;

    if (waited && rowlock__state(connection) == ROWLOCK_STATE_DEAD)
        return rowlock__fail(error, code == ROWLOCK_ETIMEDOUT ? ROWLOCK_ECONN : code,
                             "'%.100s': cancelled, but the server did not answer: "
                             "the lease may be broken; 'rowlock ls' shows it",
                             name);
    if (code == ROWLOCK_ECANCELED)
        return rowlock__fail(error, code,
                             "interrupted: the lease of '%.100s' that was waited for is not broken",
                             name);
    if (code == ROWLOCK_ETIMEDOUT)
        return rowlock__fail(error, code,
                             "'%.100s' was not broken: a transaction that has checked its token "
                             "(the fence) is still "
                             "open; try again when it has ended, or end that session",
                             name);
    return rowlock__wrap_error(error, code, "breaking '%.100s'", name);
}

int rowlock_break(struct rowlock_connection *connection, const char *name, int64_t token, int now,
                  int64_t *broken, struct rowlock_error *error)
{
    int64_t count = 0;
    int code = rowlock__query_check(connection, name, 0, token, error);

    if (!code) {
        struct rowlock_value values[] = {rowlock__text_value(name), rowlock__int_value(token),
                                         rowlock__int_value(now != 0)};
        struct rowlock_query query = {.id = ROWLOCK_SQL_BREAK,
                                      .values = values,
                                      .row = rowlock__take_number,
                                      .data = &count,
                                      .deadline_ms = rowlock__query_deadline(connection)};

        code = rowlock__query_result(rowlock__query(connection, &query, error), error);
        if (code)
            code = not_broken(connection, code, name, error);
    }
    if (!code && broken)
        *broken = count;
    return code;
}
