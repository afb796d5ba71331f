/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The driver for databases behind ODBC: the functions of driver.h. Connecting is in connect.c,
 * statements are in statement.c, time limits and errors in call.c. Everything that
 * depends on the product is in the table of product.c.
 */
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "dialect/plain.h"
#include "driver/failure.h"
#include "driver/odbc/link.h"
#include "driver/script.h"
#include "util/bytes.h"
#include "util/clock.h"
#include "util/error.h"

#define O rowlock__odbc
#define CLOSE_MS 1000 /* limit for ROLLBACK and disconnect when a session is closed */

/* ---- opening and closing ------------------------------------------------------------------- */

/* Drivers write a last message to the socket even if it was shut down. A SIGPIPE that this causes
   is discarded, because it would end a process that does not know of the socket. */
static void disconnect(struct rowlock_link *link)
{
    struct timespec now = {0, 0};
    sigset_t pipe_only, before, pending;
    SQLRETURN result;

    sigemptyset(&pipe_only);
    sigaddset(&pipe_only, SIGPIPE);
    sigpending(&pending);
    pthread_sigmask(SIG_BLOCK, &pipe_only, &before);
    result = O.SQLDisconnect(link->dbc);
    if (!sigismember(&pending, SIGPIPE))
        sigtimedwait(&pipe_only, NULL, &now);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (SQL_SUCCEEDED(result)) { /* it has freed the statements */
        link->connected = false;
        link->n_prepared = 0;
    }
}

/* The statements are freed with their session, because psqlODBC sends a DEALLOCATE for each that is
   freed before. */
static void free_handles(struct rowlock_link *link)
{
    if (link->own && link->connected)
        disconnect(link);
    rowlock__odbc_forget(link);
    if (!link->own)
        return;
    if (link->connected) /* a driver that refuses while there are statements */
        disconnect(link);
    if (link->dbc)
        O.SQLFreeHandle(SQL_HANDLE_DBC, link->dbc);
    if (link->env)
        O.SQLFreeHandle(SQL_HANDLE_ENV, link->env);
    link->env = link->dbc = NULL;
    link->connected = false;
}

/* Runs in the thread of a cancel if that was still blocked when the session was closed. */
static void release(void *data)
{
    struct rowlock_link *link = data;

    free_handles(link);
    for (size_t i = 0; i < sizeof link->passwords / sizeof *link->passwords; i++) {
        if (link->passwords[i])
            rowlock__wipe(link->passwords[i], strlen(link->passwords[i]));
        free(link->passwords[i]);
    }
    free(link->row);
    free(link);
}

/* Rolls an open transaction back: some drivers refuse to disconnect otherwise. */
static void close_link(struct rowlock_link *link)
{
    if (!link)
        return;
    if (link->watch && link->own && link->connected && !link->dead) {
        link->budget = (struct rowlock_budget){
            .deadline_ms = rowlock__after(rowlock__now_ms(), CLOSE_MS), .interrupt_fd = -1};
        link->budget.give_up_ms = link->budget.deadline_ms;
        rowlock__odbc_begins(link, SQL_NULL_HSTMT);
        O.SQLEndTran(SQL_HANDLE_DBC, link->dbc, SQL_ROLLBACK);
        free_handles(link);
        rowlock__watch_end(link->watch);
    }
    rowlock__watch_free(link->watch, release, link);
}

/* `*told`: whether the driver tells the mode. It may be NULL. */
static bool is_autocommit(const struct rowlock_link *link, bool *told)
{
    SQLUINTEGER mode = SQL_AUTOCOMMIT_ON;
    SQLRETURN result =
        O.SQLGetConnectAttr(link->dbc, SQL_ATTR_AUTOCOMMIT, &mode, sizeof mode, NULL);

    if (told)
        *told = SQL_SUCCEEDED(result);
    return mode == SQL_AUTOCOMMIT_ON;
}

static int adopt(struct rowlock_link *link, const struct rowlock_source *source, char *product,
                 size_t size, struct rowlock_error *error)
{
    bool told = true;
    int code;

    link->dbc = source->handle;
    code = rowlock__odbc_product_name(link, product, size, error);
    if (!code)
        is_autocommit(link, &told);
    if (!told)
        code = rowlock__fail(error, ROWLOCK_EINVAL,
                             "the driver of this HDBC does not report SQL_ATTR_AUTOCOMMIT, so "
                             "whether a transaction is open is unknown; let rowlock_open open the "
                             "session by an odbc: URL");
    if (!code && source->interrupt_fd >= 0 && !link->product->cancels)
        code = rowlock__fail(error, ROWLOCK_EINVAL,
                             "an interrupt_fd on this HDBC has no effect: SQLCancel does not end a "
                             "wait on %s",
                             product[0] ? product : "this database");
    return code;
}

static int open_link(const struct rowlock_source *source, const struct rowlock_budget *budget,
                     struct rowlock_link **out, const struct rowlock_dialect **dialect,
                     struct rowlock_error *error)
{
    struct rowlock_link *link;
    const struct rowlock_dialect *found = NULL;
    char product[64];
    int code = rowlock__load(&rowlock__odbc_client, error);

    if (code)
        return code;
    link = calloc(1, sizeof *link);
    if (!link)
        return rowlock__no_memory(error);
    link->own = source->handle == NULL;
    link->product = rowlock__odbc_product("");
    code = rowlock__watch_new(&link->watch, error);
    if (!code)
        code = link->own ? rowlock__odbc_connect(link, source->url, budget, product, sizeof product,
                                                 error)
                         : adopt(link, source, product, sizeof product, error);
    if (!code && !(found = rowlock__plain_dialect(product)))
        code = rowlock__fail(error, ROWLOCK_EDRIVER,
                             "rowlock has no SQL dialect for the database product '%s' behind ODBC",
                             product);
    if (code) {
        close_link(link);
        return rowlock__left(error, code, ROWLOCK_TX_NONE);
    }
    *dialect = found;
    *out = link;
    return ROWLOCK_OK;
}

/* ---- transactions -------------------------------------------------------------------------- */

static int set_autocommit(struct rowlock_link *link, bool on, struct rowlock_error *error)
{
    return rowlock__odbc_set(link, SQL_ATTR_AUTOCOMMIT, on ? SQL_AUTOCOMMIT_ON : SQL_AUTOCOMMIT_OFF,
                             error);
}

/* The caller ended our transaction on its handle, and has returned to autocommit. */
static bool is_taken_back(const struct rowlock_link *link)
{
    return !link->own && link->autocommits && is_autocommit(link, NULL);
}

static void take_back(struct rowlock_link *link)
{
    if (!is_taken_back(link))
        return;
    link->work = WORK_NONE;
    link->autocommits = false;
}

/* A borrowed handle in manual commit: the caller's transaction is open, or opens with the next
   statement. */
static bool is_open(const struct rowlock_link *link)
{
    return link->work == WORK_OPEN || link->work == WORK_ABORTED ||
           (!link->own && !link->autocommits && !is_autocommit(link, NULL));
}

static enum rowlock_state state(const struct rowlock_link *link)
{
    if (link->dead)
        return ROWLOCK_STATE_DEAD;
    if (is_taken_back(link))
        return ROWLOCK_STATE_IDLE;
    if (link->work == WORK_ABORTED)
        return ROWLOCK_STATE_ABORTED;
    if (link->work == WORK_GONE) /* a COMMIT reaches the driver, which refuses it */
        return ROWLOCK_STATE_ASK;
    return is_open(link) ? ROWLOCK_STATE_OPEN : ROWLOCK_STATE_IDLE;
}

/* Returns a borrowed handle to autocommit after a transaction of ours. If that fails, the outcome
   stays the same, and the next call reports the failure. */
static void ended(struct rowlock_link *link)
{
    link->work = WORK_NONE;
    if (link->autocommits)
        set_autocommit(link, true, NULL);
    link->autocommits = false;
}

static int end_transaction(struct rowlock_link *link, SQLSMALLINT how, struct rowlock_error *error)
{
    rowlock__odbc_begins(link, SQL_NULL_HSTMT);
    return rowlock__odbc_ended(link, O.SQLEndTran(SQL_HANDLE_DBC, link->dbc, how), SQL_HANDLE_DBC,
                               link->dbc, error);
}

/* Refuses the COMMIT of a transaction that an error has ended: the driver would report success. */
static int commit(struct rowlock_link *link, struct rowlock_outcome *outcome,
                  struct rowlock_error *error)
{
    int code;

    if (link->work == WORK_GONE) {
        rowlock__fail(error, ROWLOCK_EROLLEDBACK,
                      "nothing is committed: the database rolled the transaction back when an "
                      "earlier statement failed");
        return rowlock__left(error, ROWLOCK_EROLLEDBACK, ROWLOCK_TX_GONE);
    }
    if (link->work == WORK_ABORTED) {
        rowlock__fail(error, ROWLOCK_EABORTED,
                      "an earlier statement of the transaction failed; roll back");
        return rowlock__left(error, ROWLOCK_EABORTED, ROWLOCK_TX_ABORTED);
    }
    code = rowlock__check_before_commit(rowlock__watch_socket(link->watch), &link->dead, error);
    if (code)
        return code;
    outcome->sent_commit = true;
    code = link->product->warns ? rowlock__odbc_commit(link, error)
                                : end_transaction(link, SQL_COMMIT, error);
    if (!code)
        ended(link);
    return code;
}

static int send_calls(struct rowlock_link *link, struct rowlock_call *calls, size_t n,
                      bool one_by_one, struct rowlock_outcome *outcome, struct rowlock_error *error)
{
    enum rowlock_transaction left;
    int code = ROWLOCK_OK;

    for (size_t i = 0; i < n && !code; i++) {
        bool open = is_open(link);

        code = rowlock__odbc_call(link, &calls[i], error);
        left = code && open && !link->dead ? rowlock__odbc_left(link, error) : ROWLOCK_TX_KEPT;
        if (left != ROWLOCK_TX_KEPT)
            link->work = left == ROWLOCK_TX_GONE ? WORK_GONE : WORK_ABORTED;
        else if (!code && link->own)
            link->work = WORK_OPEN;
        if (!code && one_by_one && link->own)
            code = commit(link, outcome, error);
    }
    return code;
}

static int run(struct rowlock_link *link, unsigned transaction_flags, struct rowlock_call *calls,
               size_t n, const struct rowlock_budget *budget, struct rowlock_outcome *outcome,
               struct rowlock_error *error)
{
    struct rowlock_error unseen;
    bool one_by_one;
    int code = ROWLOCK_OK;

    *outcome = (struct rowlock_outcome){.left = ROWLOCK_TX_DEAD};
    if (link->dead)
        return rowlock__had_been_lost(error);
    error = error ? error : &unseen;
    take_back(link);
    rowlock__odbc_arm(link, budget);
    one_by_one = transaction_flags == ROWLOCK_INSIDE && !is_open(link);
    if (transaction_flags & ROWLOCK_BEGIN) {
        if (!link->own && link->work == WORK_NONE && is_autocommit(link, NULL)) {
            code = set_autocommit(link, false, error);
            link->autocommits = !code;
        }
        link->work = code ? link->work : WORK_OPEN;
    }
    if (!code)
        code = send_calls(link, calls, n, one_by_one, outcome, error);
    if (!code && (transaction_flags & ROWLOCK_COMMIT))
        code = commit(link, outcome, error);
    if (code && one_by_one && link->own && !link->dead &&
        end_transaction(link, SQL_ROLLBACK, NULL) == ROWLOCK_OK)
        link->work = WORK_NONE;
    outcome->left =
        rowlock__left_in(state(link), link->work == WORK_GONE ? ROWLOCK_TX_GONE : ROWLOCK_TX_NONE);
    /* the failed COMMIT shows the caller that the transaction has ended */
    if (link->work == WORK_GONE && (transaction_flags & ROWLOCK_COMMIT))
        ended(link);
    if (code && outcome->left == ROWLOCK_TX_DEAD && outcome->sent_commit)
        code = error->code = ROWLOCK_EUNKNOWN;
    return code ? rowlock__left(error, code, outcome->left) : ROWLOCK_OK;
}

static int rollback(struct rowlock_link *link, const struct rowlock_budget *budget,
                    struct rowlock_error *error)
{
    struct rowlock_error unseen;
    int code;

    error = error ? error : &unseen;
    if (link->dead)
        return rowlock__had_been_lost(error);
    take_back(link);
    rowlock__odbc_arm(link, budget);
    do { /* a cancel that comes too late for one statement hits the next */
        code = end_transaction(link, SQL_ROLLBACK, error);
    } while (rowlock__failure_is_cancel(code) && !link->dead &&
             rowlock__now_ms() < budget->deadline_ms);
    /* FreeTDS sends ROLLBACK also after an error by which SQL Server has ended the transaction */
    if (code && !link->dead && strcmp(link->product->engine, "sqlserver") == 0 &&
        error->native == 3903) {
        rowlock__clear_error(error);
        code = ROWLOCK_OK;
    }
    if (!code) {
        ended(link);
        return ROWLOCK_OK;
    }
    rowlock__watch_shut_down(link->watch); /* the only way to be sure that no lock is held */
    link->dead = true;
    return rowlock__left(error, code, ROWLOCK_TX_DEAD);
}

static int script(struct rowlock_link *link, const char *text, const struct rowlock_budget *budget,
                  struct rowlock_error *error)
{
    struct rowlock_outcome outcome = {0};
    bool open;
    const char *statement;
    size_t length;
    int code = ROWLOCK_OK;

    if (link->dead)
        return rowlock__had_been_lost(error);
    rowlock__odbc_arm(link, budget);
    open = is_open(link);
    while (!code && rowlock__script_next(&text, &statement, &length))
        code = rowlock__odbc_text(link, statement, length, error);
    if (open || !link->own || link->dead)
        return code;
    if (!code)
        return commit(link, &outcome, error);
    end_transaction(link, SQL_ROLLBACK, NULL);
    return code;
}

/* ---- the rest ------------------------------------------------------------------------------ */

static int socket_of(const struct rowlock_link *link)
{
    return link->dead ? -1 : rowlock__watch_socket(link->watch);
}

static void *handle_of(const struct rowlock_link *link)
{
    return link->dbc;
}

extern const struct rowlock_driver rowlock__driver_odbc;
const struct rowlock_driver rowlock__driver_odbc = {
    .name = "odbc",
    .schemes = "odbc",
    .open = open_link,
    .close = close_link,
    .run = run,
    .rollback = rollback,
    .state = state,
    .script = script,
    .socket = socket_of,
    .handle = handle_of,
    .describe = rowlock__odbc_describe,
};
