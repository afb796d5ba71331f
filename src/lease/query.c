/* SPDX-License-Identifier: Apache-2.0 */
/* One statement about a lease, in a transaction of its own. */
#include "lease/query.h"

#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "lock/wants.h"
#include "schema/check.h"
#include "session/connection.h"
#include "util/bytes.h"
#include "util/clock.h"
#include "util/error.h"
#include "util/random.h"

#define CANCEL_MS 500 /* reserved for the answer to a cancel request */
#define NO_WAIT 1205  /* InnoDB's error of a lock for which the statement does not wait */
#define TIMES 5 /* attempts: a deadlock's victim has changed nothing, so its query is repeated */

/* For a lease that is held: a query that has no answer is cancelled shortly before the lease ends,
   and its session is abandoned when the lease ends. BEGIN is explicit where it costs no round trip,
   because the session's defaults may differ. A dialect without BEGIN has procedures that begin and
   commit by themselves. */
int rowlock__query_once(struct rowlock_connection *connection, const struct rowlock_query *query,
                        struct rowlock_error *error)
{
    struct rowlock_call call =
        rowlock__call(connection, query->id, query->values, query->row, query->data);
    struct rowlock_budget budget = {query->deadline_ms, connection->interrupt_fd, 0};
    int64_t left_ms = query->end_ms - rowlock__now_ms();
    unsigned flags = query->alone ? ROWLOCK_ALONE
                     : rowlock__sql(connection, ROWLOCK_SQL_BEGIN) && !query->reads
                         ? ROWLOCK_BEGIN | ROWLOCK_COMMIT
                         : ROWLOCK_INSIDE;

    if (left_ms > 0) {
        budget.give_up_ms = query->end_ms;
        budget.deadline_ms = rowlock__least(budget.deadline_ms,
                                            query->end_ms - rowlock__least(left_ms / 4, CANCEL_MS));
    }
    return rowlock__send(connection, flags, &call, &budget, error);
}

int rowlock__query(struct rowlock_connection *connection, const struct rowlock_query *query,
                   struct rowlock_error *error)
{
    int code = ROWLOCK_EDB;

    for (int i = 0; i < TIMES; i++) {
        code = rowlock__query_once(connection, query, error);
        if (code != ROWLOCK_EROLLEDBACK && code != ROWLOCK_EABORTED)
            break;
    }
    return code;
}

int rowlock__query_alone(struct rowlock_connection *connection, const struct rowlock_query *query,
                         struct rowlock_error *error)
{
    struct rowlock_error unseen;
    int code;

    if (!error)
        error = &unseen;
    rowlock__clear_error(error);
    code = rowlock__query(connection, query, error);
    if (!code || !query->alone || error->native != NO_WAIT ||
        rowlock__sql(connection, ROWLOCK_SQL_BEGIN) ||
        rowlock__state(connection) == ROWLOCK_STATE_DEAD)
        return code;
    rowlock__clear_error(error);
    return ROWLOCK_OK;
}

size_t rowlock__room_of_lease(const char *name)
{
    return sizeof "-9223372036854775808::," + 2 * strlen(name) + ROWLOCK_OWNER_SIZE;
}

size_t rowlock__put_lease(char *out, int64_t token, const char *name, const char *owner)
{
    char *at = out + sprintf(out, "%" PRId64 ":", token);

    at = rowlock__put_hex(at, name, strlen(name));
    return (size_t)(at + sprintf(at, ":%s,", owner) - out);
}

int64_t rowlock__query_deadline(const struct rowlock_connection *connection)
{
    return rowlock__after(rowlock__now_ms(), connection->statement_ms);
}

int rowlock__query_result(int code, struct rowlock_error *error)
{
    if (code != ROWLOCK_EUNKNOWN)
        return code;
    if (error)
        error->code = ROWLOCK_ECONN;
    return ROWLOCK_ECONN;
}

bool rowlock__must_reconnect(const struct rowlock_connection *connection, int code,
                             const struct rowlock_error *error)
{
    if (code == ROWLOCK_ESERVER)
        return rowlock__can_move(connection);
    return (code == ROWLOCK_ECONN || code == ROWLOCK_EUNKNOWN) &&
           !rowlock__had_no_room(connection, code, error) && rowlock__can_reconnect(connection);
}

/* The statements are idempotent. */
int rowlock__query_surely(struct rowlock_connection *connection, struct rowlock_query *query,
                          bool *unsure, struct rowlock_error *error)
{
    struct rowlock_error unseen;
    int code;

    if (!error)
        error = &unseen;
    code = rowlock__ready(connection, ROWLOCK_STATE_IDLE, error);
    for (bool again = false;; again = true) {
        struct rowlock_pause pause = ROWLOCK_PAUSE_LEASE;
        bool sends = !code;

        while (sends) {
            int fd = rowlock_socket(connection);
            /* the server has ended the idle session: it will read nothing more */
            bool hung_up = fd >= 0 && rowlock__wait_fd(fd, POLLIN, -1, 0) == ROWLOCK_WAKE_READY;
            bool heard = !hung_up && !rowlock__sql(connection, ROWLOCK_SQL_BEGIN), no_room;

            code = rowlock__query_alone(connection, query, error);
            no_room = rowlock__had_no_room(connection, code, error);
            if (code == ROWLOCK_EUNKNOWN ||
                (heard && !no_room &&
                 (code == ROWLOCK_ECONN || code == ROWLOCK_ETIMEDOUT || code == ROWLOCK_ECANCELED)))
                *unsure = true; /* it may have been executed, but no answer came */
            /* with a new time limit after each cancel, and while the server has no memory for it */
            sends = (no_room || rowlock__was_cancelled(connection, code, query->deadline_ms)) &&
                    rowlock__pause(&pause, connection->interrupt_fd, query->until_ms) ==
                        ROWLOCK_WAKE_READY;
            if (sends)
                query->deadline_ms = rowlock__query_deadline(connection);
        }
        if (again || !rowlock__must_reconnect(connection, code, error))
            return code;
        code = rowlock__reconnect(connection, query->deadline_ms, error);
        if (code)
            return code;
    }
}

int rowlock__ask_alone(struct rowlock_connection *connection, enum rowlock_statement_id id,
                       const struct rowlock_value *values, bool reads, rowlock_row *row, void *data,
                       struct rowlock_error *error)
{
    int64_t deadline_ms = rowlock__query_deadline(connection);
    struct rowlock_query query = {.id = id,
                                  .values = values,
                                  .row = row,
                                  .data = data,
                                  .deadline_ms = deadline_ms,
                                  .reads = reads,
                                  .until_ms = deadline_ms};
    bool unsure = false;
    int code = rowlock__query_surely(connection, &query, &unsure, error);

    return rowlock__query_result(rowlock__given_up(connection, code, error), error);
}

int rowlock__query_check(struct rowlock_connection *connection, const char *name,
                         int64_t least_token, int64_t token, struct rowlock_error *error)
{
    int code = rowlock__ready(connection, ROWLOCK_STATE_IDLE, error);

    if (!code)
        code = rowlock__name_check(name, error);
    if (!code && token < least_token)
        code = rowlock__fail(error, ROWLOCK_EINVAL, "'%.100s': token must be positive", name);
    return code ? code : rowlock__check_present(connection, error);
}

enum rowlock_mode rowlock__mode_column(const struct rowlock_value *column)
{
    char text[16];

    rowlock__column_text(column, text, sizeof text);
    return text[0] == 's' ? ROWLOCK_SHARED : text[0] == 'p' ? ROWLOCK_PERMIT : ROWLOCK_EXCLUSIVE;
}

int rowlock__list_check(struct rowlock_connection *connection, bool has_visitor,
                        struct rowlock_error *error)
{
    if (!has_visitor)
        return rowlock__fail(error, ROWLOCK_EINVAL, "visit must not be NULL");
    return rowlock__check_present(connection, error);
}
