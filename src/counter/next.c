/* SPDX-License-Identifier: Apache-2.0 */
/* Counters: numbers without gaps, drawn under a lock that lasts as long as the caller's
   transaction. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "lock/wants.h"
#include "session/connection.h"
#include "util/error.h"

#define PREFIX "counter:"
#define COUNT_MOST 1000000000
#define START_MOST (INT64_C(1) << 62) /* keeps every sum within 64 bits */

struct drawn {
    int64_t first;
    int rows;
};

static void drawn_row(void *data, const struct rowlock_value *columns, unsigned n)
{
    struct drawn *drawn = data;

    if (n == 0)
        return;
    drawn->first = rowlock__value_number(&columns[0]);
    drawn->rows++;
}

static int check(const char *counter, int64_t start, int64_t count, char *name, size_t size,
                 struct rowlock_error *error)
{
    int length = snprintf(name, size, PREFIX "%s", counter ? counter : "");

    if (!counter || !*counter || length < 0 || (size_t)length >= size)
        return rowlock__fail(error, ROWLOCK_EINVAL, "a counter's name has 1 to %zu bytes",
                             size - sizeof PREFIX);
    if (count < 1 || count > COUNT_MOST)
        return rowlock__fail(error, ROWLOCK_EINVAL,
                             "'%.100s': 1 to %d numbers at a time, not %" PRId64, counter,
                             COUNT_MOST, count);
    if (start < -START_MOST || start > START_MOST)
        return rowlock__fail(error, ROWLOCK_EINVAL,
                             "'%.100s': a counter begins between -2^62 and 2^62", counter);
    return rowlock__name_check(name, error);
}

static int draw(struct rowlock_connection *connection, const char *counter, int64_t start,
                int64_t count, struct drawn *drawn, struct rowlock_error *error)
{
    struct rowlock_value values[] = {
        {.type = ROWLOCK_BYTES, .bytes = counter, .length = strlen(counter)},
        {.type = ROWLOCK_INT, .number = start},
        {.type = ROWLOCK_INT, .number = count}};
    int code = rowlock__ask(connection, ROWLOCK_SQL_NEXT, values, drawn_row, drawn, error);

    if (!code && drawn->rows == 0)
        code = rowlock__left(error,
                             rowlock__fail(error, ROWLOCK_EDB, "the database returned no number"),
                             ROWLOCK_TX_KEPT);
    return code ? rowlock__wrap_error(error, code, "counter '%.100s'", counter) : ROWLOCK_OK;
}

int rowlock_next(struct rowlock_connection *connection, const char *counter, int64_t start,
                 int64_t count, rowlock_duration wait_ms, int64_t *first,
                 struct rowlock_error *error)
{
    char name[ROWLOCK_NAME_MAX + 1];
    struct rowlock_want want = {.name = name, .mode = ROWLOCK_EXCLUSIVE};
    struct drawn drawn = {.rows = 0};
    struct rowlock_error unseen;
    int code;

    if (!error)
        error = &unseen;
    code = rowlock__ready(connection, ROWLOCK_STATE_OPEN, error);
    if (code)
        return code;
    code = check(counter, start, count, name, sizeof name, error);
    if (code)
        return rowlock__left(error, code, ROWLOCK_TX_KEPT);
    code = rowlock_lock(connection, &want, 1, wait_ms, error);
    if (!code)
        code = draw(connection, counter, start, count, &drawn, error);
    if (!code)
        *first = drawn.first;
    return code;
}
