/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The driver for JDBC: the functions of driver.h. Java is in jvm.c, connecting in session.c, a
 * call of Java in request.c.
 */
#include <stdlib.h>

#include "driver/failure.h"
#include "driver/jdbc/jvm.h"
#include "driver/jdbc/link.h"
#include "driver/script.h"
#include "util/clock.h"
#include "util/error.h"

static int open_link(const struct rowlock_source *source, const struct rowlock_budget *budget,
                     struct rowlock_link **out, const struct rowlock_dialect **dialect,
                     struct rowlock_error *error)
{
    struct rowlock__jdbc_url url;
    struct rowlock_link *link;
    int code;

    if (source->handle)
        return rowlock__fail(error, ROWLOCK_EINVAL, "a JDBC connection cannot be wrapped");
    code = rowlock__jdbc_url(source->url, &url, error);
    if (code)
        return code;
    link = calloc(1, sizeof *link);
    if (!link)
        return rowlock__no_memory(error);
    code = rowlock__watch_new(&link->watch, error);
    if (!code)
        code = rowlock__jdbc_connect(link, &url, budget, dialect, error);
    if (code) {
        rowlock__jdbc_close(link);
        return rowlock__left(error, code, ROWLOCK_TX_NONE);
    }
    *out = link;
    return ROWLOCK_OK;
}

static enum rowlock_state state(const struct rowlock_link *link)
{
    if (link->dead)
        return ROWLOCK_STATE_DEAD;
    if (link->aborted)
        return ROWLOCK_STATE_ABORTED;
    return link->open ? ROWLOCK_STATE_OPEN : ROWLOCK_STATE_IDLE;
}

/* ---- run ----------------------------------------------------------------------------------- */

/* If no transaction is open, each call is a transaction of its own. */
static int send_calls(struct rowlock_link *link, unsigned transaction_flags,
                      struct rowlock_call *calls, size_t n, struct rowlock_outcome *outcome,
                      struct rowlock_error *error)
{
    int code = ROWLOCK_OK;

    for (size_t i = 0; i < n && !code; i++) {
        code = rowlock__jdbc_execute(link, &calls[i], error);
        if (!code && !link->open)
            code = rowlock__jdbc_order(link, 'c', error);
    }
    if (code || !(transaction_flags & ROWLOCK_COMMIT))
        return code;
    code = rowlock__check_before_commit(rowlock__watch_socket(link->watch), &link->dead, error);
    if (!code) {
        outcome->sent_commit = true;
        code = rowlock__jdbc_order(link, 'c', error);
    }
    if (!code)
        link->open = false;
    return code;
}

/* If the server has ended the transaction, or it was that of a single call, rolls back, so that the
   JDBC driver knows. */
static int run_fails(struct rowlock_link *link, int code, struct rowlock_outcome *outcome,
                     struct rowlock_error *error)
{
    enum rowlock_transaction left = rowlock__failure_left(link->engine->name, error->sqlstate,
                                                          error->native, ROWLOCK_TX_ABORTED);
    struct rowlock_budget soon = {rowlock__now_ms() + 2000, -1, 0};

    if (!link->dead) {
        link->aborted = link->open && left == ROWLOCK_TX_ABORTED;
        if (!link->open)
            left = ROWLOCK_TX_NONE;
        if (!link->open || left == ROWLOCK_TX_GONE) {
            link->open = false;
            rowlock__jdbc_begin(link, &soon);
            if (rowlock__jdbc_end(link, rowlock__jdbc_order(link, 'r', NULL), NULL))
                rowlock__jdbc_give_up(link);
        }
    }
    outcome->left = link->dead ? ROWLOCK_TX_DEAD : left;
    if (outcome->left == ROWLOCK_TX_DEAD && outcome->sent_commit)
        code = error->code = ROWLOCK_EUNKNOWN;
    return rowlock__left(error, code, outcome->left);
}

static int refuse(struct rowlock_link *link, unsigned transaction_flags, size_t n,
                  struct rowlock_outcome *outcome, struct rowlock_error *error)
{
    int code = ROWLOCK_OK;

    if (link->dead)
        return rowlock__had_been_lost(error);
    outcome->left = link->open ? ROWLOCK_TX_KEPT : ROWLOCK_TX_NONE;
    if (link->aborted) {
        outcome->left = ROWLOCK_TX_ABORTED;
        code = rowlock__fail(error, ROWLOCK_EABORTED,
                             "an earlier statement of the transaction failed; roll back");
    } else if (n == 0 && transaction_flags == ROWLOCK_COMMIT && !link->open) {
        code = rowlock__fail(error, ROWLOCK_ENOTX, "no transaction is open");
    }
    return code ? rowlock__left(error, code, outcome->left) : ROWLOCK_OK;
}

static int run(struct rowlock_link *link, unsigned transaction_flags, struct rowlock_call *calls,
               size_t n, const struct rowlock_budget *budget, struct rowlock_outcome *outcome,
               struct rowlock_error *error)
{
    struct rowlock_error unseen;
    int code;

    if (!error)
        error = &unseen;
    *outcome = (struct rowlock_outcome){.left = ROWLOCK_TX_DEAD};
    code = refuse(link, transaction_flags, n, outcome, error);
    if (code)
        return code;
    link->open = link->open || transaction_flags != ROWLOCK_INSIDE;
    rowlock__jdbc_begin(link, budget);
    code = rowlock__jdbc_end(link, send_calls(link, transaction_flags, calls, n, outcome, error),
                             error);
    if (code)
        return run_fails(link, code, outcome, error);
    outcome->left = link->open ? ROWLOCK_TX_KEPT : ROWLOCK_TX_NONE;
    return ROWLOCK_OK;
}

static int rollback(struct rowlock_link *link, const struct rowlock_budget *budget,
                    struct rowlock_error *error)
{
    int code;

    if (link->dead)
        return rowlock__had_been_lost(error);
    if (!link->open)
        return ROWLOCK_OK;
    do { /* a cancel that comes too late for one statement hits the next */
        rowlock__jdbc_begin(link, budget);
        code = rowlock__jdbc_end(link, rowlock__jdbc_order(link, 'r', error), error);
    } while (rowlock__failure_is_cancel(code) && !link->dead &&
             rowlock__now_ms() < budget->deadline_ms);
    if (code) { /* the only way to be sure that no lock is held */
        rowlock__jdbc_give_up(link);
        return rowlock__left(error, code, ROWLOCK_TX_DEAD);
    }
    link->open = link->aborted = false;
    return ROWLOCK_OK;
}

/* ---- scripts ------------------------------------------------------------------------------- */

static int script(struct rowlock_link *link, const char *text, const struct rowlock_budget *budget,
                  struct rowlock_error *error)
{
    struct rowlock_outcome outcome = {0};
    struct rowlock_error unseen;
    const char *statement;
    size_t length;
    int code;

    if (!error)
        error = &unseen;
    code = refuse(link, ROWLOCK_INSIDE, 1, &outcome, error);
    if (code)
        return code;
    rowlock__jdbc_begin(link, budget);
    while (!code && rowlock__script_next(&text, &statement, &length)) {
        rowlock__jdbc_put(&link->message, 's');
        rowlock__jdbc_put_text(&link->message, statement, length);
        code = rowlock__jdbc_request(link, error);
    }
    if (!code && !link->open)
        code = rowlock__jdbc_order(link, 'c', error);
    code = rowlock__jdbc_end(link, code, error);
    return code ? run_fails(link, code, &outcome, error) : ROWLOCK_OK;
}

/* ---- the rest ------------------------------------------------------------------------------ */

static int socket_of(const struct rowlock_link *link)
{
    return link->dead ? -1 : rowlock__watch_socket(link->watch);
}

static void *no_handle(__attribute__((unused)) const struct rowlock_link *link)
{
    return NULL;
}

extern const struct rowlock_driver rowlock__driver_jdbc;
const struct rowlock_driver rowlock__driver_jdbc = {
    .name = "jdbc",
    .schemes = "jdbc",
    .open = open_link,
    .close = rowlock__jdbc_close,
    .run = run,
    .rollback = rollback,
    .state = state,
    .script = script,
    .socket = socket_of,
    .handle = no_handle,
    .describe = rowlock__jdbc_describe,
};
