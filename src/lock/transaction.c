/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Transaction locks: begin-and-lock, and further locks in an open transaction. Both repeat
 * attempts: the database answers each with a status row. Work that must happen outside the
 * transaction (sweep an expired lease, create a name's row) is done before the next attempt. A call
 * that waits for a lease at begin holds nothing meanwhile.
 */
#include <string.h>

#include "driver/failure.h"
#include "lock/refusal.h"
#include "schema/check.h"
#include "session/connection.h"
#include "util/error.h"

#define OVERTIME_MS 1000 /* for this long after its deadline an attempt may remove obstacles */

static int is_over(const struct rowlock_attempt *attempt)
{
    return attempt->wait_ms == 0 ||
           (attempt->wait_ms > 0 && rowlock__now_ms() >= attempt->deadline_ms);
}

/* Whether it is too late to remove obstacles again. Even a call that does not wait may remove them
   a few times. */
static int is_far_over(const struct rowlock_attempt *attempt)
{
    return attempt->wait_ms >= 0 &&
           rowlock__now_ms() >= rowlock__after(attempt->deadline_ms, OVERTIME_MS);
}

/* Does the work outside the caller's transaction that the next attempt needs. In an open
   transaction it needs a second connection. */
static int do_outside(struct rowlock_attempt *attempt,
                      int (*todo)(struct rowlock_attempt *, struct rowlock_connection *,
                                  struct rowlock_error *),
                      int *again, struct rowlock_error *error)
{
    struct rowlock_connection *outside = attempt->connection;
    int code = ROWLOCK_OK;

    if (attempt->cleared && is_far_over(attempt))
        return ROWLOCK_OK;
    attempt->cleared = 1;
    if (attempt->in_transaction)
        code = rowlock__second(attempt->connection, &outside, error);
    if (!code && outside)
        code = rowlock__given_up(outside, todo(attempt, outside, error), error);
    if (code && !attempt->in_transaction && rowlock__state(outside) == ROWLOCK_STATE_DEAD)
        attempt->outcome.left = ROWLOCK_TX_DEAD;
    *again = !code && outside;
    return code;
}

/* Judges an answered attempt: `*again` is set if another attempt is useful. */
static int settle(struct rowlock_attempt *attempt, int *again, struct rowlock_error *error)
{
    int code;

    *again = 0;
    switch (attempt->answer.status) {
    case ROWLOCK_STATUS_EXPIRED:
        code = do_outside(attempt, rowlock__sweep, again, error);
        return code == ROWLOCK_ETIMEDOUT ? ROWLOCK_OK : code;
    case ROWLOCK_STATUS_UNPREPARED:
        return do_outside(attempt, rowlock__make_known, again, error);
    case ROWLOCK_STATUS_LEASED:
        /* where grants have a TURN (PostgreSQL, YugabyteDB), the answer does not tell an expired
           lease from a live one */
        code = ROWLOCK_OK;
        if (rowlock__sql(attempt->connection, ROWLOCK_SQL_TURN)) {
            attempt->swept = false;
            code = do_outside(attempt, rowlock__sweep, again, error);
            *again = *again && attempt->swept;
            code = code == ROWLOCK_ETIMEDOUT ? ROWLOCK_OK : code;
        }
        if (code || *again || attempt->in_transaction || is_over(attempt))
            return code;
        if (rowlock__pause(&attempt->pause, attempt->connection->interrupt_fd,
                           attempt->deadline_ms) == ROWLOCK_WAKE_INTERRUPT)
            return rowlock__fail(error, ROWLOCK_ECANCELED, "interrupted while waiting for '%s'",
                                 attempt->answer.name);
        *again = 1;
        return ROWLOCK_OK;
    default:
        return ROWLOCK_OK;
    }
}

/* ---- the loop -------------------------------------------------------------------------------- */

static int refuse(struct rowlock_attempt *attempt, struct rowlock_error *error)
{
    struct rowlock_connection *connection = attempt->connection, *informant = connection;
    /* A lease refuses a lock in the caller's transaction on a file. That transaction has the write
       lock, so a wait would keep the holder from releasing the lease. */
    bool in_file = attempt->in_transaction && !connection->dialect->procedural &&
                   attempt->answer.status == ROWLOCK_STATUS_LEASED;
    int interrupted = rowlock__was_interrupted(connection);

    /* In the caller's transaction the second connection is asked for the holder, because a query
       that fails could abort the transaction; on a file it cannot. */
    if (attempt->in_transaction && !in_file)
        informant = connection->second;
    /* On MariaDB a very short limit may end the statement itself: that counts as a timeout. */
    if (attempt->answer.status == ROWLOCK_STATUS_CANCELED && attempt->wait_ms > 0 &&
        is_over(attempt) && !interrupted)
        attempt->answer.status = ROWLOCK_STATUS_TIMEDOUT;
    if (!attempt->answer.name[0]) /* the wait ended before the procedure read its first name */
        rowlock__find_held(&attempt->answer, &attempt->wants, informant);
    return rowlock__refuse(&attempt->answer, in_file ? 0 : attempt->wait_ms, informant, interrupted,
                           error);
}

static int judge_failure(struct rowlock_attempt *attempt, int code, struct rowlock_error *error)
{
    struct rowlock_connection *connection = attempt->connection;
    struct rowlock_error was;

    if (!attempt->in_transaction)
        code = rowlock__given_up(connection, code, error);
    if (code == ROWLOCK_ETIMEDOUT) {
        /* the server or the driver ended the wait: reports the lock that was not acquired */
        was = *error;
        attempt->answer.status = ROWLOCK_STATUS_TIMEDOUT;
        rowlock__find_held(&attempt->answer, &attempt->wants,
                           attempt->in_transaction ? connection->second : connection);
        code = refuse(attempt, error);
        error->native = was.native;
        memcpy(error->sqlstate, was.sqlstate, sizeof was.sqlstate);
        return code;
    }
    /* the schema was not read before: finds out whether it is missing, older or newer */
    if (code == ROWLOCK_ESCHEMA && !connection->checked && !attempt->in_transaction)
        return rowlock__check_installed(connection, error) ? error->code : code;
    return code;
}

/* If the server had no memory for an attempt, waits and sets `*again`; else returns the code. */
static int wait_for_room(struct rowlock_attempt *attempt, int code, int *again,
                         struct rowlock_error *error)
{
    if (attempt->in_transaction || is_over(attempt) ||
        !rowlock__had_no_room(attempt->connection, code, error))
        return code;
    switch (
        rowlock__pause(&attempt->pause, attempt->connection->interrupt_fd, attempt->deadline_ms)) {
    case ROWLOCK_WAKE_DEADLINE:
        return code;
    case ROWLOCK_WAKE_INTERRUPT:
        return rowlock__fail(error, ROWLOCK_ECANCELED, "interrupted while waiting for '%s'",
                             attempt->wants.want->name);
    case ROWLOCK_WAKE_READY:
        break;
    }
    *again = 1;
    return ROWLOCK_OK;
}

static int check_widths(const struct rowlock_attempt *attempt, struct rowlock_error *error)
{
    int code = ROWLOCK_OK;

    for (size_t i = 0; !code && i < attempt->wants.n; i++) {
        const struct rowlock_want *want = &attempt->wants.want[i];

        if (rowlock__inserts(attempt->connection) && want->mode == ROWLOCK_SHARED)
            return rowlock__fail(error, ROWLOCK_EMODE, "'%s': technique insert has no shared lock",
                                 want->name);
        code = rowlock__check_width(attempt->connection, want->name, error);
    }
    return code;
}

static int attempt_once(struct rowlock_attempt *attempt, int *again, struct rowlock_error *error)
{
    int code = rowlock__try_once(attempt, error);

    *again = 0;
    if (!code && attempt->answer.status == ROWLOCK_STATUS_OK)
        return attempt->unread ? check_widths(attempt, error) : ROWLOCK_OK;
    if (!attempt->in_transaction) {
        rowlock__clean_up(attempt->connection, &attempt->outcome);
        /* the engine ended this call before it held anything, as the victim of a deadlock or by
           DDL: another attempt is harmless */
        *again = (code == ROWLOCK_EROLLEDBACK ||
                  (code == ROWLOCK_EABORTED && (strncmp(error->sqlstate, "40", 2) == 0 ||
                                                rowlock__failure_is_by_ddl(error)))) &&
                 !is_far_over(attempt);
        /* the session's own lock_timeout ended the wait too early: retry on the path that sets it
           aside */
        if (code == ROWLOCK_ETIMEDOUT && strcmp(error->sqlstate, "55P03") == 0 &&
            !attempt->the_long_way && !is_over(attempt))
            *again = attempt->the_long_way = 1;
        if (*again)
            return ROWLOCK_OK;
    }
    if (code)
        return judge_failure(attempt, code, error);
    code = settle(attempt, again, error);
    if (code || *again)
        return code;
    return refuse(attempt, error);
}

/* Limits a call by its deadline. In the caller's transaction there is no such limit, because the
   connection must not be given up. */
static int acquire_in_time(struct rowlock_attempt *attempt, int code, struct rowlock_error *error)
{
    struct rowlock_connection *connection = attempt->connection;
    /* The schema is not checked when a wrapped connection begins a transaction: a failure costs the
       caller nothing there, and programs that wrap for every transaction would pay a round trip
       each time. (They pay it if an older schema needs other statements.) */
    bool unchecked = attempt->unread || (connection->wrapped && connection->dialect->procedural &&
                                         !connection->dialect->former && !attempt->in_transaction);
    int again = !unchecked;

    if (!attempt->in_transaction && attempt->wait_ms > 0)
        rowlock__wait_begins(attempt->connection, attempt->deadline_ms);
    for (; again && !code; code = wait_for_room(attempt, code, &again, error)) {
        again = 0;
        code = rowlock__check_installed(connection, error);
        if (!attempt->in_transaction)
            code = rowlock__given_up(connection, code, error);
        if (!code)
            code = check_widths(attempt, error);
    }
    /* nothing was requested yet; but reading the schema may have found the connection lost */
    if (code && attempt->in_transaction && error->transaction == ROWLOCK_TX_NONE)
        rowlock__left(error, code, ROWLOCK_TX_KEPT);
    for (again = 1; again && !code;) {
        const char *name = attempt->wants.want->name;
        enum rowlock_transaction left;

        code = attempt_once(attempt, &again, error);
        code = wait_for_room(attempt, code, &again, error);
        if (!code)
            continue;
        if (code != ROWLOCK_ESCHEMA && code != ROWLOCK_ENOTX && code != ROWLOCK_EINTX &&
            !strstr(error->text, name)) /* an engine's message that lacks the name of the lock */
            rowlock__wrap_error(
                error, code,
                attempt->wants.n > 1 ? "locking '%.100s' and others" : "locking '%.100s'", name);
        left = attempt->outcome.left;
        if (!attempt->in_transaction && left != ROWLOCK_TX_DEAD)
            left = ROWLOCK_TX_NONE;
        else if (left == ROWLOCK_TX_KEPT &&
                 (attempt->answer.stays || rowlock__failure_is_by_ddl(error)))
            left = ROWLOCK_TX_KEPT_LOCKED;
        rowlock__left(error, code, left);
    }
    rowlock__wait_ends(attempt->connection);
    return code;
}

static int acquire(struct rowlock_connection *connection, int later,
                   const struct rowlock_want *wants, size_t n, rowlock_duration wait_ms,
                   struct rowlock_error *error)
{
    struct rowlock_error unseen;
    struct rowlock_attempt attempt = {.connection = connection,
                                      .in_transaction = later,
                                      .wait_ms = wait_ms,
                                      .deadline_ms = rowlock__after(rowlock__now_ms(), wait_ms),
                                      .pause = ROWLOCK_PAUSE_LEASE};
    int code;

    if (!error)
        error = &unseen;
    code = rowlock__ready(connection, later ? ROWLOCK_STATE_OPEN : ROWLOCK_STATE_IDLE, error);
    if (code)
        return code;
    code = rowlock__wants_init(&attempt.wants, wants, n, error);
    attempt.unread = later && !connection->dialect->procedural && !connection->checked;
    if (!code && rowlock__was_interrupted(connection))
        code = rowlock__fail(error, ROWLOCK_ECANCELED, "interrupted before anything was sent");
    code = acquire_in_time(&attempt, code, error);
    rowlock__wants_clear(&attempt.wants);
    return code;
}

int rowlock_begin(struct rowlock_connection *connection, const struct rowlock_want *wants, size_t n,
                  rowlock_duration wait_ms, struct rowlock_error *error)
{
    return acquire(connection, 0, wants, n, wait_ms, error);
}

int rowlock_lock(struct rowlock_connection *connection, const struct rowlock_want *wants, size_t n,
                 rowlock_duration wait_ms, struct rowlock_error *error)
{
    return acquire(connection, 1, wants, n, wait_ms, error);
}

int rowlock_prepare(struct rowlock_connection *connection, const struct rowlock_want *wants,
                    size_t n, struct rowlock_error *error)
{
    struct rowlock_attempt attempt = {.connection = connection};
    struct rowlock_error unseen;
    int code;

    if (!error)
        error = &unseen;
    code = rowlock__ready(connection, ROWLOCK_STATE_IDLE, error);
    if (!code)
        code = rowlock__wants_init(&attempt.wants, wants, n, error);
    if (!code)
        code = rowlock__check_installed(connection, error);
    if (!code)
        code = rowlock__keep_known(&attempt, error);
    rowlock__wants_clear(&attempt.wants);
    return code;
}

/* COMMIT and ROLLBACK of the caller's transaction, which also release its locks. */

int rowlock_commit(struct rowlock_connection *connection, struct rowlock_error *error)
{
    struct rowlock_budget budget;
    struct rowlock_outcome outcome = {0};
    int code = rowlock__ready(connection, ROWLOCK_STATE_ASK, error);

    if (code == ROWLOCK_EABORTED) {
        rowlock_rollback(connection, NULL);
        return rowlock__fail(error, code,
                             "an earlier statement of the transaction had failed, so it was rolled "
                             "back; nothing of it was committed");
    }
    if (code)
        return code;
    budget = rowlock__budget(connection);
    budget.interrupt_fd = -1; /* an interrupted COMMIT would leave its outcome unknown */
    if (rowlock__state(connection) == ROWLOCK_STATE_IDLE)
        return rowlock__fail(error, ROWLOCK_ENOTX, "no transaction is open");
    code = connection->driver->run(connection->link, ROWLOCK_COMMIT, NULL, 0, &budget, &outcome,
                                   error);
    if (code && outcome.left == ROWLOCK_TX_DEAD && outcome.sent_commit) {
        rowlock__advise(error, "read your data to learn whether it happened");
        return rowlock__left(error, ROWLOCK_EUNKNOWN, ROWLOCK_TX_DEAD);
    }
    return code;
}

int rowlock_rollback(struct rowlock_connection *connection, struct rowlock_error *error)
{
    struct rowlock_budget budget;
    int code = rowlock__ready(connection, ROWLOCK_STATE_ASK, error);

    if (code && code != ROWLOCK_EABORTED)
        return code;
    budget = rowlock__budget(connection);
    budget.interrupt_fd = -1;
    rowlock__clear_error(error);
    return connection->driver->rollback(connection->link, &budget, error);
}
