/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The driver for MariaDB, MySQL and TiDB: the functions of driver.h. Waiting is in mariadb_wait.c,
 * connecting in mariadb_session.c, statements are in mariadb_statement.c, schema scripts in
 * mariadb_script.c, the begin of a transaction in mariadb_begin.c.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "driver/failure.h"
#include "driver/mariadb_link.h"
#include "util/error.h"

#define INTERRUPTED 1317  /* the error of a statement that KILL QUERY ended */
#define NO_PROCEDURE 1305 /* that of a CALL, or of one inside the called procedure */

static void close_link(struct rowlock_link *link)
{
    if (!link)
        return;
    if (link->own && link->mysql) {
        rowlock__mariadb_forget(link);
        rowlock__mariadb.close(link->mysql);
    }
    rowlock__mariadb_url_free(link->url);
    free(link->database);
    free(link);
}

static int check_handle(MYSQL *mysql, struct rowlock_error *error)
{
    if (mysql->net.pvio == NULL)
        return rowlock__fail(error, ROWLOCK_EINVAL, "the MYSQL handle is not connected");
    if (mysql->status != MYSQL_STATUS_READY || rowlock__mariadb.more_results(mysql))
        return rowlock__fail(error, ROWLOCK_EINVAL, "the MYSQL handle has a result pending");
    return ROWLOCK_OK;
}

/* A statement sent while the caller's result is pending would break the session for good. */
static int refuse_pending(const struct rowlock_link *link, struct rowlock_error *error)
{
    if (link->own || link->mysql->net.pvio == NULL) /* lost: reported elsewhere */
        return ROWLOCK_OK;
    return rowlock__left(error, check_handle(link->mysql, error),
                         rowlock__mariadb_in_transaction(link) ? ROWLOCK_TX_KEPT : ROWLOCK_TX_NONE);
}

static int open_source(struct rowlock_link *link, const struct rowlock_source *source,
                       const struct rowlock_budget *budget, struct rowlock_error *error)
{
    char **place;
    int code = ROWLOCK_OK;

    link->own = source->handle == NULL;
    link->cancel = rowlock__mariadb_cancel;
    if (source->url)
        code = rowlock__mariadb_url(source->url, &link->url, error);
    if (!code && source->database && !rowlock__mariadb_plain_database(source->database))
        code = rowlock__fail(error, ROWLOCK_EINVAL,
                             "the database's name may hold letters, digits, _, $ and - only");
    if (!code && source->database) {
        place = link->own ? &link->url->database : &link->database;
        free(*place);
        *place = strdup(source->database);
        code = *place ? ROWLOCK_OK : rowlock__no_memory(error);
    }
    if (code)
        return code;
    if (!link->own) {
        link->mysql = source->handle;
        if (!link->url && source->interrupt_fd >= 0)
            return rowlock__fail(
                error, ROWLOCK_EINVAL,
                "an interrupt_fd on a MYSQL handle needs options.url: a wait can be "
                "ended only over a second connection");
        code = check_handle(link->mysql, error);
        link->tls = !code && rowlock__mariadb.get_ssl_cipher(link->mysql) != NULL;
        return code ? code
                    : rowlock__refuse_product(rowlock__mariadb.server_info(link->mysql), error);
    }
    rowlock__mariadb_arm(link, budget);
    return rowlock__mariadb_connect(link, error);
}

static int open_link(const struct rowlock_source *source, const struct rowlock_budget *budget,
                     struct rowlock_link **out, const struct rowlock_dialect **dialect,
                     struct rowlock_error *error)
{
    struct rowlock_link *link;
    int code = rowlock__load(&rowlock__mariadb_client, error);

    if (code)
        return code;
    link = calloc(1, sizeof *link);
    if (!link)
        return rowlock__no_memory(error);
    code = open_source(link, source, budget, error);
    if (code) {
        close_link(link);
        return rowlock__left(error, code, ROWLOCK_TX_NONE);
    }
    link->dialect = rowlock__mariadb_dialect_of(rowlock__mariadb.server_info(link->mysql),
                                                rowlock__mariadb.is_mariadb(link->mysql));
    *dialect = link->dialect;
    *out = link;
    return ROWLOCK_OK;
}

static enum rowlock_state state(const struct rowlock_link *link)
{
    if (link->dead)
        return ROWLOCK_STATE_DEAD;
    if (rowlock__mariadb.number(link->mysql) != 0)
        return ROWLOCK_STATE_ASK; /* an error's answer carries no flags */
    return rowlock__mariadb_in_transaction(link) ? ROWLOCK_STATE_OPEN : ROWLOCK_STATE_IDLE;
}

/* A KILL QUERY that comes too late for one statement hits the next one. That one is sent again,
   unless the time has run out. */
static unsigned repeat_past_kill(struct rowlock_link *link, const char *text)
{
    unsigned failed;

    do
        failed = rowlock__mariadb_query(link, text, NULL, 0);
    while (failed == INTERRUPTED && link->wait.stage == STAGE_CALM);
    return failed;
}

/* Sends the cheapest statement, because every successful answer carries the transaction flag. */
static enum rowlock_transaction ask_what_is_left(struct rowlock_link *link, bool was_open)
{
    struct rowlock_budget budget = {
        .deadline_ms = rowlock__now_ms() + ROWLOCK_GRACE_MS,
        .interrupt_fd = -1,
    };
    unsigned failed;

    if (link->dead)
        return ROWLOCK_TX_DEAD;
    rowlock__mariadb_arm(link, &budget);
    failed = repeat_past_kill(link, "DO 0");
    rowlock__mariadb_disarm(link);
    if (failed) {
        rowlock__mariadb_query_failure(link, NULL);
        return ROWLOCK_TX_DEAD;
    }
    if (rowlock__mariadb_in_transaction(link))
        return ROWLOCK_TX_KEPT;
    return was_open ? ROWLOCK_TX_GONE : ROWLOCK_TX_NONE;
}

/* MySQL cannot replace a procedure at once. While another session upgrades the schema, a call that
   lacks one is repeated, and once more after that. In an open transaction only if it has changed
   nothing: there its changes cannot be undone alone. */
static int call_surely(struct rowlock_link *link, struct rowlock_call *call,
                       struct rowlock_error *error)
{
    static const char calls[] = "CALL ";
    int64_t installing = 1;
    struct rowlock_call question = {.statement = &link->dialect->statements[ROWLOCK_SQL_INSTALLING],
                                    .row = rowlock__take_number,
                                    .data = &installing};
    struct rowlock_pause pause = {.next_ms = 10, .most_ms = 100};
    const struct rowlock_budget *budget = &link->wait.budget;
    const char *text = call->statement->text;
    bool was_open = rowlock__mariadb_in_transaction(link), own;
    struct rowlock_error unseen;
    char lacking[100];

    if (!error)
        error = &unseen;
    for (;;) {
        int code = rowlock__mariadb_call(link, call, error);

        if (code != ROWLOCK_ESCHEMA || error->native != NO_PROCEDURE || !question.statement->text ||
            !installing)
            return code;
        /* Whether the missing procedure is the one that the statement calls, so that nothing has
           happened; and not one that it calls in turn. The server's text: PROCEDURE database.name
           does not exist. */
        own = strncmp(text, calls, strlen(calls)) == 0;
        if (own)
            snprintf(lacking, sizeof lacking, ".%.*s does not exist",
                     (int)strcspn(text + strlen(calls), " (;"), text + strlen(calls));
        if (was_open && !(own && strstr(error->text, lacking)))
            return code;
        /* undoes what the failed call has begun, unless the caller's transaction is gone */
        if (rowlock__mariadb_query(link, "DO 0", NULL, 0) != 0)
            return code;
        if (!was_open && rowlock__mariadb_in_transaction(link) &&
            rowlock__mariadb_query(link, "ROLLBACK AND NO CHAIN NO RELEASE", NULL, 0) != 0)
            return code;
        if ((was_open && !rowlock__mariadb_in_transaction(link)) ||
            rowlock__mariadb_call(link, &question, NULL) ||
            rowlock__pause(&pause, budget->interrupt_fd, budget->deadline_ms) != ROWLOCK_WAKE_READY)
            return code;
    }
}

/* After an error the transaction may be gone, although the server would still answer a COMMIT by
   OK. */
static int still_there(struct rowlock_link *link, bool was_open, struct rowlock_outcome *outcome,
                       struct rowlock_error *error)
{
    unsigned number = rowlock__mariadb.number(link->mysql);
    bool rolls_back = number == 1213 || number == 1205 || number == 1206; /* DDL commits instead */

    outcome->left = ask_what_is_left(link, was_open);
    if (outcome->left == ROWLOCK_TX_GONE && !rolls_back)
        outcome->left = ROWLOCK_TX_NONE;
    switch (outcome->left) {
    case ROWLOCK_TX_DEAD:
        return rowlock__had_been_lost(error);
    case ROWLOCK_TX_GONE:
        rowlock__fail(error, ROWLOCK_EROLLEDBACK,
                      "nothing is committed: the database rolled the transaction back when an "
                      "earlier statement failed");
        return rowlock__left(error, ROWLOCK_EROLLEDBACK, ROWLOCK_TX_GONE);
    case ROWLOCK_TX_NONE:
        return rowlock__fail(error, ROWLOCK_ENOTX,
                             "no transaction is open, after a statement that failed");
    default:
        return ROWLOCK_OK;
    }
}

static int run(struct rowlock_link *link, unsigned transaction_flags, struct rowlock_call *calls,
               size_t n, const struct rowlock_budget *budget, struct rowlock_outcome *outcome,
               struct rowlock_error *error)
{
    bool was_open, by_server;
    int code;

    *outcome = (struct rowlock_outcome){.left = ROWLOCK_TX_DEAD};
    if (link->dead)
        return rowlock__had_been_lost(error);
    was_open = rowlock__mariadb_in_transaction(link);
    outcome->left = was_open ? ROWLOCK_TX_KEPT : ROWLOCK_TX_NONE;
    code = refuse_pending(link, error);
    if (!code && transaction_flags == ROWLOCK_COMMIT && state(link) == ROWLOCK_STATE_ASK)
        code = still_there(link, was_open, outcome, error);
    if (code)
        return code;
    link->began = link->began && was_open;
    rowlock__mariadb_arm(link, budget);
    code = rowlock__mariadb_begin(link, transaction_flags, calls, n, error);
    for (size_t i = 0; i < n && !code; i++)
        code = call_surely(link, &calls[i], error);
    if (!code && (transaction_flags & ROWLOCK_COMMIT))
        code = rowlock__check_before_commit(rowlock__mariadb.get_socket(link->mysql), &link->dead,
                                            error);
    if (!code && (transaction_flags & ROWLOCK_COMMIT)) {
        outcome->sent_commit = true;
        code = rowlock__mariadb_execute(link, "COMMIT AND NO CHAIN NO RELEASE", error);
    }
    rowlock__mariadb_disarm(link);
    if (!code) {
        outcome->left = rowlock__mariadb_in_transaction(link) ? ROWLOCK_TX_KEPT : ROWLOCK_TX_NONE;
        return ROWLOCK_OK;
    }
    by_server = link->wait.stage == STAGE_CALM;
    outcome->left = ask_what_is_left(link, was_open);
    if (outcome->left == ROWLOCK_TX_DEAD && outcome->sent_commit) {
        code = ROWLOCK_EUNKNOWN;
        if (error)
            error->code = code;
    } else if (outcome->left == ROWLOCK_TX_DEAD && by_server && code == ROWLOCK_ECANCELED) {
        /* MySQL reports 1317 at its shutdown too */
        code = rowlock__fail(error, ROWLOCK_ECONN, "the server ended the session");
    }
    return rowlock__left(error, code, outcome->left);
}

static int rollback(struct rowlock_link *link, const struct rowlock_budget *budget,
                    struct rowlock_error *error)
{
    unsigned failed;

    if (link->dead)
        return rowlock__had_been_lost(error);
    if (refuse_pending(link, error))
        return ROWLOCK_EINVAL;
    rowlock__mariadb_arm(link, budget);
    failed = repeat_past_kill(link, "ROLLBACK AND NO CHAIN NO RELEASE");
    rowlock__mariadb_disarm(link);
    if (!failed)
        return ROWLOCK_OK;
    rowlock__mariadb_query_failure(link, error);
    rowlock__mariadb_give_up(link); /* the only way to be sure that no lock is held */
    return rowlock__left(error, error ? error->code : ROWLOCK_ECONN, ROWLOCK_TX_DEAD);
}

static int script(struct rowlock_link *link, const char *text, const struct rowlock_budget *budget,
                  struct rowlock_error *error)
{
    int code;

    if (link->dead)
        return rowlock__had_been_lost(error);
    rowlock__mariadb_arm(link, budget);
    code = rowlock__mariadb_script(link, text, error);
    rowlock__mariadb_disarm(link);
    return code;
}

static int64_t backend_id_of(const struct rowlock_link *link)
{
    return (int64_t)rowlock__mariadb.thread_id(link->mysql);
}

static int socket_of(const struct rowlock_link *link)
{
    return link->dead ? -1 : (int)rowlock__mariadb.get_socket(link->mysql);
}

static void *handle_of(const struct rowlock_link *link)
{
    return link->mysql;
}

static void library_of(char *out, size_t size)
{
    unsigned long version = rowlock__mariadb.client_version();

    snprintf(out, size, "libmariadb %lu.%lu.%lu", version / 10000, version / 100 % 100,
             version % 100);
}

extern const struct rowlock_driver rowlock__driver_mariadb;
const struct rowlock_driver rowlock__driver_mariadb = {
    .name = "mariadb",
    .schemes = "mysql,mariadb",
    .open = open_link,
    .close = close_link,
    .run = run,
    .rollback = rollback,
    .state = state,
    .script = script,
    .socket = socket_of,
    .backend_id = backend_id_of,
    .handle = handle_of,
    .client = &rowlock__mariadb_client,
    .library = library_of,
};
