/* SPDX-License-Identifier: Apache-2.0 */
/* Refreshes or uses a subject in the caller's own transaction. */

#include "refresh/subject.h"
#include "schema/check.h"
#include "util/clock.h"
#include "util/error.h"
#include "util/utf8.h"

#define MESSAGE_SIZE 2049
#define LOCKED 2             /* dialect.h, subject_fail */
#define LOST_SESSION_MS 2000 /* a server usually notices a lost session within this time */

/* ---- the table lock against programs that do not use rowlock --------------------------------- */

static int check_table(const struct rowlock_connection *connection, const char *table,
                       struct rowlock_error *error)
{
    if (!table || rowlock__sql(connection, ROWLOCK_SQL_LOCK_TABLE) ||
        !connection->dialect->procedural)
        return ROWLOCK_OK;
    return rowlock__fail(error, ROWLOCK_EMODE,
                         "the table '%.100s' cannot be locked %s: name no table, and let all who "
                         "write to it lock the subject",
                         table,
                         connection->dialect->plain
                             ? "through ODBC and JDBC"
                             : "in a transaction on this engine, whose LOCK TABLES commits");
}

static int lock_table(struct rowlock_connection *connection, const char *table, bool shared,
                      int64_t wait_ms, struct rowlock_error *error)
{
    struct rowlock_value values[] = {rowlock__text_value(table), rowlock__int_value(shared),
                                     rowlock__int_value(wait_ms)};
    struct rowlock_call call =
        rowlock__call(connection, ROWLOCK_SQL_LOCK_TABLE, values, NULL, NULL);
    struct rowlock_budget budget = rowlock__budget(connection);
    int code;

    if (!table)
        return ROWLOCK_OK;
    call.limit_ms = wait_ms > 0 ? wait_ms : 0;
    budget.deadline_ms = wait_ms < 0 ? ROWLOCK_NEVER : rowlock__after(budget.deadline_ms, wait_ms);
    code = rowlock__send(connection, ROWLOCK_INSIDE, &call, &budget, error);
    if (code == ROWLOCK_ETIMEDOUT)
        return rowlock__fail(error, wait_ms ? ROWLOCK_ETIMEDOUT : ROWLOCK_EBUSY,
                             "the table '%.100s' is being written to, or locked by another program",
                             table);
    return code ? rowlock__wrap_error(error, code, "locking the table '%.100s'", table) : code;
}

/* ---- begin ----------------------------------------------------------------------------------- */

/* Rolls back after a failure, and keeps the error. */
static int abandon(struct rowlock_connection *connection, int code, struct rowlock_error *error)
{
    enum rowlock_transaction left =
        rowlock_rollback(connection, NULL) ? ROWLOCK_TX_DEAD : ROWLOCK_TX_NONE;

    return rowlock__left(error, code, left);
}

static int begin_locked(struct rowlock_connection *connection, const char *lock,
                        enum rowlock_mode mode, const char *table, rowlock_duration wait_ms,
                        struct rowlock_error *error)
{
    struct rowlock_want want = {.name = lock, .mode = mode};
    int64_t deadline_ms = rowlock__after(rowlock__now_ms(), wait_ms), left_ms = wait_ms;
    int code = rowlock_begin(connection, &want, 1, wait_ms, error);

    if (code)
        return code;
    if (wait_ms > 0)
        left_ms = deadline_ms > rowlock__now_ms() ? deadline_ms - rowlock__now_ms() : 1;
    code = lock_table(connection, table, mode == ROWLOCK_SHARED, left_ms, error);
    return code ? abandon(connection, code, error) : ROWLOCK_OK;
}

int rowlock_refresh_begin(struct rowlock_connection *connection,
                          const struct rowlock_subject *subject, rowlock_duration wait_ms,
                          struct rowlock_refresh *out, struct rowlock_error *error)
{
    struct rowlock_marking marking;
    struct rowlock_refresh found;
    int code = rowlock__ready(connection, ROWLOCK_STATE_IDLE, error);

    if (!code)
        code = rowlock__marking_init(&marking, connection, subject, error);
    if (!code)
        code = check_table(connection, subject->table, error);
    if (!code)
        code = rowlock__check_installed(connection, error);
    if (!code)
        code = rowlock__subject_look(&marking, &found, error);
    if (!code && found.stale) {
        code = begin_locked(connection, marking.lock, ROWLOCK_EXCLUSIVE, subject->table, wait_ms,
                            error);
        if (code)
            return code;
        /* Checks again under the lock: its previous holder may have refreshed the subject. */
        code = rowlock__subject_begin(&marking, 0, &found, error);
        if (code)
            return abandon(connection, code, error);
        if (!found.stale)
            code = rowlock_rollback(connection, error);
    }
    if (!code)
        *out = found;
    return code;
}

int rowlock_use_begin(struct rowlock_connection *connection, const char *subject,
                      enum rowlock_mode mode, const char *table, rowlock_duration wait_ms,
                      struct rowlock_error *error)
{
    struct rowlock_subject named = {.name = subject};
    struct rowlock_marking marking;
    int code = rowlock__ready(connection, ROWLOCK_STATE_IDLE, error);

    if (!code)
        code = rowlock__marking_init(&marking, connection, &named, error);
    if (!code)
        code = check_table(connection, table, error);
    return code ? code : begin_locked(connection, marking.lock, mode, table, wait_ms, error);
}

/* ---- done ------------------------------------------------------------------------------------ */

static int is_over(const struct rowlock_refresh *refresh, enum rowlock_transaction left,
                   struct rowlock_error *error)
{
    return rowlock__left(
        error,
        rowlock__fail(error, ROWLOCK_ELOST,
                      "the transaction that refreshes '%.100s' has ended already: "
                      "it was committed or rolled back, and its locks are released; roll "
                      "back, and call rowlock_refresh_failed",
                      refresh->subject),
        left);
}

/* Fails if the client library reports no open transaction: that of the refresh has ended. */
static int check_open(struct rowlock_connection *connection, const struct rowlock_refresh *refresh,
                      struct rowlock_error *error)
{
    int code = rowlock__ready(connection, ROWLOCK_STATE_OPEN, error);

    if (code == ROWLOCK_ENOTX)
        return is_over(refresh, ROWLOCK_TX_NONE, error);
    if (!code && (!refresh->subject[0] || !refresh->stale))
        return rowlock__left(error,
                             rowlock__fail(error, ROWLOCK_EINVAL,
                                           "no refresh was begun: was it stale, and did "
                                           "rowlock_refresh_begin succeed?"),
                             ROWLOCK_TX_KEPT);
    return code;
}

static int run(struct rowlock_connection *connection, enum rowlock_statement_id id,
               const struct rowlock_value *values, int64_t *answer, struct rowlock_error *error)
{
    struct rowlock_call call = rowlock__call(connection, id, values, rowlock__take_number, answer);
    struct rowlock_budget budget = rowlock__budget(connection);

    budget.interrupt_fd = -1; /* the work is done, so recording it is more important */
    return rowlock__send(connection, ROWLOCK_INSIDE, &call, &budget, error);
}

int rowlock_refresh_done(struct rowlock_connection *connection,
                         const struct rowlock_refresh *refresh, struct rowlock_error *error)
{
    struct rowlock_value values[2];
    int64_t status = ROWLOCK_STATUS_LOST;
    struct rowlock_error unseen;
    int code;

    error = error ? error : &unseen;
    code = check_open(connection, refresh, error);
    if (code)
        return code;
    values[0] = rowlock__text_value(refresh->subject);
    values[1] = rowlock__int_value(refresh->version);
    code = run(connection, ROWLOCK_SQL_SUBJECT_STILL, NULL, NULL, error);
    if (code == ROWLOCK_EDB) /* no such savepoint */
        return is_over(refresh, ROWLOCK_TX_KEPT, error);
    if (!code)
        code = run(connection, ROWLOCK_SQL_SUBJECT_DONE, values, &status, error);
    if (code)
        return rowlock__wrap_error(error, code, "the subject '%.100s'", refresh->subject);
    if (status != ROWLOCK_STATUS_OK)
        return is_over(refresh, ROWLOCK_TX_KEPT, error);
    return rowlock_commit(connection, error);
}

/* ---- failed ---------------------------------------------------------------------------------- */

/* If the row is locked, either another session refreshes the subject, and there is nothing to
   record; or our lost session still holds it, and the server has not rolled it back yet. */
static int mark_failed(struct rowlock_connection *connection, const struct rowlock_refresh *refresh,
                       const char *message, struct rowlock_error *error)
{
    struct rowlock_subject subject = {.name = refresh->subject};
    struct rowlock_pause pause = ROWLOCK_PAUSE_LEASE;
    int64_t until_ms = rowlock__after(rowlock__now_ms(), LOST_SESSION_MS), marked = LOCKED;
    struct rowlock_marking marking;
    char text[MESSAGE_SIZE];
    int code = rowlock__marking_init(&marking, connection, &subject, error);

    rowlock__utf8_copy(text, sizeof text, message ? message : "");
    if (!code) {
        struct rowlock_value values[] = {rowlock__text_value(marking.name),
                                         rowlock__int_value(refresh->version),
                                         rowlock__text_value(NULL),
                                         rowlock__text_value(marking.host),
                                         rowlock__int_value(marking.pid),
                                         rowlock__text_value(marking.program),
                                         rowlock__text_value(*text ? text : NULL)};

        do
            code =
                rowlock__subject_ask(connection, ROWLOCK_SQL_SUBJECT_FAIL, values, &marked, error);
        while (!code && marked == LOCKED &&
               rowlock__pause(&pause, -1, until_ms) != ROWLOCK_WAKE_DEADLINE);
    }
    return code ? rowlock__wrap_error(error, code, "the ERROR of '%.100s'", refresh->subject)
                : ROWLOCK_OK;
}

int rowlock_refresh_failed(struct rowlock_connection *connection,
                           const struct rowlock_refresh *refresh, const char *message,
                           struct rowlock_error *error)
{
    int code = rowlock_rollback(connection, error), interrupt_fd;

    if (!code && (!refresh->subject[0] || refresh->version < 1))
        code = rowlock__fail(error, ROWLOCK_EINVAL,
                             "no refresh was begun: did rowlock_refresh_begin succeed?");
    if (!code)
        code = rowlock__ready(connection, ROWLOCK_STATE_IDLE, error);
    if (!code)
        code = rowlock__check_installed(connection, error);
    if (code)
        return code;
    interrupt_fd =
        connection->interrupt_fd; /* the interrupt that ended the work must not end this */
    connection->interrupt_fd = -1;
    code = mark_failed(connection, refresh, message, error);
    connection->interrupt_fd = interrupt_fd;
    return code;
}
