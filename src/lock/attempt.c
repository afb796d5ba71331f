/* SPDX-License-Identifier: Apache-2.0 */
/* One attempt to lock names: sends the locking statements once and reads their status row. */
#include "lock/refusal.h"

#include <stdio.h>
#include <string.h>

#include "schema/check.h"
#include "util/error.h"

#define LEASE_WAIT_MS 30000 /* inside a transaction: the lease's holder may wait for our rows */
#define SWEEP_MIN_MS 1500   /* above PostgreSQL's deadlock_timeout, so that it detects cycles */

/* `first` (NULL: none) is sent before the statement that answers, with the same first values.
   Functions on the server end a wait themselves, and get the time of one statement more to report
   it. Without functions the driver's budget limits the wait. */
static int run(struct rowlock_attempt *attempt, const struct rowlock_statement *first,
               const struct rowlock_statement *statement, const struct rowlock_value *values,
               int64_t limit_ms, struct rowlock_error *error)
{
    struct rowlock_connection *connection = attempt->connection;
    int64_t now = rowlock__now_ms();
    struct rowlock_budget budget = {attempt->wait_ms < 0 ? ROWLOCK_NEVER : attempt->deadline_ms,
                                    connection->interrupt_fd, 0};
    struct rowlock_call calls[] = {{.statement = first, .values = values},
                                   {.statement = statement,
                                    .values = values,
                                    .limit_ms = limit_ms,
                                    .row = rowlock__answer_row,
                                    .data = &attempt->answer}};

    if (connection->dialect->procedural) {
        if (budget.deadline_ms != ROWLOCK_NEVER)
            budget.deadline_ms =
                rowlock__after(rowlock__most(budget.deadline_ms, now), connection->statement_ms);
        budget = rowlock__in_time(connection, budget, ROWLOCK_LATE_MS);
    }
    return connection->driver->run(
        connection->link, attempt->in_transaction ? ROWLOCK_INSIDE : ROWLOCK_BEGIN,
        &calls[first ? 0 : 1], first ? 2 : 1, &budget, &attempt->outcome, error);
}

int rowlock__try_once(struct rowlock_attempt *attempt, struct rowlock_error *error)
{
    const struct rowlock_connection *connection = attempt->connection;
    const struct rowlock_want *want = attempt->wants.want;
    const struct rowlock_statement *look = rowlock__sql(connection, ROWLOCK_SQL_LOOK_ONE);
    /* takes a lock without a limit; NULL: functions take it */
    const struct rowlock_statement *lock =
        attempt->wait_ms < 0 && look ? rowlock__sql(connection, ROWLOCK_SQL_NAME_LOCK) : NULL;
    rowlock_duration wait_ms = attempt->wait_ms;
    struct rowlock_value values[4];
    int code;

    memset(&attempt->answer, 0, sizeof attempt->answer);
    if (lock && !attempt->in_transaction && !attempt->the_long_way && attempt->wants.n == 1 &&
        !want->token && connection->driver->speaks_utf8(connection->link)) {
        /* the fast path: one name; the server's answer lacks it, so it is added here */
        size_t length = strlen(want->name);

        values[0] = rowlock__bytes_value(want->name, length);
        values[1] = rowlock__int_value(want->mode == ROWLOCK_SHARED);
        memcpy(attempt->answer.name, want->name, length + 1);
        return run(attempt, lock, look, values, 0, error);
    }
    if (attempt->wait_ms > 0)
        wait_ms = rowlock__most(attempt->deadline_ms - rowlock__now_ms(), 1);
    values[0] = rowlock__bytes_value(attempt->wants.packed, attempt->wants.length);
    values[1] = rowlock__int_value(wait_ms);
    values[2] =
        rowlock__int_value(wait_ms < 0 || wait_ms > LEASE_WAIT_MS ? LEASE_WAIT_MS : wait_ms);
    values[3] = rowlock__int_value(!connection->url);
    code = run(attempt, NULL,
               rowlock__sql(connection,
                            attempt->in_transaction ? ROWLOCK_SQL_LOCK : ROWLOCK_SQL_BEGIN_LOCK),
               values, rowlock__most(wait_ms, 0), error);
    if (attempt->unread)
        code = rowlock__check_late(attempt->connection, code, error);
    if (!code)
        code = rowlock__look_for_leftovers(attempt->connection, want, attempt->wants.n,
                                           &attempt->answer, error);
    return code;
}

struct tokens {
    int64_t token[64];
    size_t n;
};

static void token_row(void *data, const struct rowlock_value *columns, unsigned n)
{
    struct tokens *tokens = data;

    if (n > 0 && tokens->n < sizeof tokens->token / sizeof *tokens->token)
        tokens->token[tokens->n++] = rowlock__value_number(&columns[0]);
}

/* Runs a statement in a transaction of its own, with explicit modes, because the session's defaults
   may differ. */
static int run_alone(struct rowlock_connection *outside, enum rowlock_statement_id id,
                     const struct rowlock_value *values, const struct rowlock_budget *budget,
                     struct rowlock_error *error)
{
    struct rowlock_call call = rowlock__call(outside, id, values, NULL, NULL);
    int code = rowlock__send(outside, ROWLOCK_BEGIN | ROWLOCK_COMMIT, &call, budget, error);

    if (code != ROWLOCK_EUNKNOWN)
        return code;
    /* repeating it is harmless, whether it was done or not */
    code =
        rowlock__fail(error, ROWLOCK_ECONN, "the connection was lost (%s)", call.statement->name);
    return rowlock__left(error, code, ROWLOCK_TX_DEAD);
}

/* One short transaction per token, outside the name lock, so that no sweep holds one token while it
   waits for another. The next attempt handles tokens beyond the array's size. */
int rowlock__sweep(struct rowlock_attempt *attempt, struct rowlock_connection *outside,
                   struct rowlock_error *error)
{
    struct rowlock_value wants = rowlock__bytes_value(attempt->wants.packed, attempt->wants.length);
    struct tokens tokens = {.n = 0};
    struct rowlock_budget budget = {rowlock__now_ms() + SWEEP_MIN_MS,
                                    attempt->connection->interrupt_fd, 0};
    int code = rowlock__ask(outside, ROWLOCK_SQL_EXPIRED, &wants, token_row, &tokens, error);

    if (attempt->deadline_ms > budget.deadline_ms)
        budget.deadline_ms = attempt->deadline_ms;
    budget = rowlock__in_time(outside, budget, SWEEP_MIN_MS);
    for (size_t i = 0; !code && i < tokens.n; i++) {
        struct rowlock_value token = rowlock__int_value(tokens.token[i]);

        code = run_alone(outside, ROWLOCK_SQL_SWEEP, &token, &budget, error);
    }
    attempt->swept = tokens.n > 0;
    return code;
}

int rowlock__make_known(struct rowlock_attempt *attempt, struct rowlock_connection *outside,
                        struct rowlock_error *error)
{
    struct rowlock_value wants = rowlock__bytes_value(attempt->wants.packed, attempt->wants.length);
    struct rowlock_budget budget = rowlock__budget(outside);

    return run_alone(outside, ROWLOCK_SQL_PREPARE, &wants, &budget, error);
}

/* Without a statement KEEP there are no rows, or a vacuum may delete them. */
int rowlock__keep_known(struct rowlock_attempt *attempt, struct rowlock_error *error)
{
    struct rowlock_value wants = rowlock__bytes_value(attempt->wants.packed, attempt->wants.length);
    struct rowlock_budget budget = rowlock__budget(attempt->connection);

    if (!rowlock__sql(attempt->connection, ROWLOCK_SQL_KEEP))
        return rowlock__make_known(attempt, attempt->connection, error);
    return run_alone(attempt->connection, ROWLOCK_SQL_KEEP, &wants, &budget, error);
}
