/* SPDX-License-Identifier: Apache-2.0 */
/* Opening, wrapping and closing; and the small questions every other file here asks. */
#include "session/connection.h"

#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "session/reconnect.h"
#include "util/error.h"

#define DEFAULT_CONNECT_MS 10000
#define DEFAULT_STATEMENT_MS 10000
#define CANCEL_MS 400 /* what is left at the end of a wait for the answer to a cancel */

static char version[80];

static void make_version(void)
{
    snprintf(version, sizeof version, "%s %s", ROWLOCK_VERSION, rowlock__driver_list());
}

const char *rowlock_version(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, make_version);
    return version;
}

static int set_options(struct rowlock_connection *connection, const char *url,
                       const struct rowlock_options *options, struct rowlock_error *error)
{
    static const struct rowlock_options defaults;

    if (!options)
        options = &defaults;
    connection->connect_ms = options->connect_ms ? options->connect_ms : DEFAULT_CONNECT_MS;
    connection->statement_ms = options->statement_ms ? options->statement_ms : DEFAULT_STATEMENT_MS;
    connection->interrupt_fd = options->interrupt_fd > 0 ? options->interrupt_fd : -1;
    if (!url)
        url = options->url;
    if (url && !(connection->url = strdup(url)))
        return rowlock__fail(error, ROWLOCK_ENOMEM, "out of memory");
    if (options->database && !(connection->database = strdup(options->database)))
        return rowlock__fail(error, ROWLOCK_ENOMEM, "out of memory");
    return ROWLOCK_OK;
}

static int check_url(const struct rowlock_connection *connection, struct rowlock_error *error)
{
    const struct rowlock_driver *driver = connection->driver;

    if (connection->url)
        driver = rowlock__driver_for_url(connection->url, error);
    if (!driver)
        return error->code;
    if (driver != connection->driver)
        return rowlock__fail(error, ROWLOCK_EINVAL,
                             "the url for a second connection is of another database engine");
    return ROWLOCK_OK;
}

static int open_link(struct rowlock_connection *connection, void *handle,
                     struct rowlock_error *error)
{
    struct rowlock_source source = {connection->url, handle, connection->database,
                                    connection->interrupt_fd};
    int64_t deadline_ms = rowlock__after(rowlock__now_ms(), connection->connect_ms);
    struct rowlock_budget budget = {deadline_ms, connection->interrupt_fd, deadline_ms};

    return connection->driver->open(&source, &budget, &connection->link, &connection->dialect,
                                    error);
}

static int set_up(struct rowlock_connection *connection, const char *driver, void *handle,
                  const char *url, const struct rowlock_options *options,
                  struct rowlock_error *error)
{
    int code;

    connection->wrapped = handle != NULL;
    connection->pid = getpid();
    connection->driver =
        driver ? rowlock__driver_named(driver, error) : rowlock__driver_for_url(url, error);
    if (!connection->driver)
        return error->code;
    code = set_options(connection, url, options, error);
    if (!code)
        code = check_url(connection, error);
    return code ? code : open_link(connection, handle, error);
}

int rowlock__connect(const char *driver, void *handle, const char *url,
                     const struct rowlock_options *options, struct rowlock_connection **out,
                     struct rowlock_error *error)
{
    struct rowlock_connection *connection = calloc(1, sizeof *connection);
    struct rowlock_error unseen;
    int code;

    if (!error)
        error = &unseen;
    rowlock__clear_error(error);
    if (!connection)
        return rowlock__fail(error, ROWLOCK_ENOMEM, "out of memory");
    code = set_up(connection, driver, handle, url, options, error);
    if (code)
        rowlock_close(connection);
    else
        *out = connection;
    return code;
}

int rowlock__connect_later(const struct rowlock_connection *like, struct rowlock_connection **out,
                           struct rowlock_error *error)
{
    struct rowlock_options options = {.connect_ms = like->connect_ms,
                                      .statement_ms = like->statement_ms,
                                      .interrupt_fd = like->interrupt_fd,
                                      .database = like->database};
    struct rowlock_connection *connection = calloc(1, sizeof *connection);
    int code;

    if (!connection)
        return rowlock__fail(error, ROWLOCK_ENOMEM, "out of memory");
    connection->driver = like->driver;
    connection->dialect = like->dialect;
    connection->pid = getpid();
    code = set_options(connection, like->url, &options, error);
    if (code)
        rowlock_close(connection);
    else
        *out = connection;
    return code;
}

enum rowlock_state rowlock__state(const struct rowlock_connection *connection)
{
    return connection->link ? connection->driver->state(connection->link) : ROWLOCK_STATE_DEAD;
}

int rowlock__check_replaced(struct rowlock_connection *connection, struct rowlock_error *error)
{
    const struct rowlock_driver *driver = connection->driver;

    if (!connection->link || !driver->replaced || !driver->replaced(connection->link))
        return ROWLOCK_OK;
    return rowlock__fail(
        error, ROWLOCK_ELOST,
        "the database file was deleted or replaced, and every lease in it is lost");
}

/* A standby, a read-only server, a Galera node: said at once, not at the first lock. */
int rowlock__check_server(struct rowlock_connection *connection, struct rowlock_error *error)
{
    char *why = NULL;
    int code = rowlock__ask(connection, ROWLOCK_SQL_SERVER, NULL, rowlock__take_text, &why, error);

    if (!code && why)
        code = rowlock__fail(error, ROWLOCK_ESERVER, "no lock can be kept on this server: %s", why);
    free(why);
    return code;
}

int rowlock_open(const char *url, const struct rowlock_options *options,
                 struct rowlock_connection **out, struct rowlock_error *error)
{
    struct rowlock_connection *connection = NULL;
    int64_t began_ms = rowlock__now_ms();
    int code = rowlock__connect(NULL, NULL, url, options, &connection, error);

    if (!code) {
        rowlock__wait_begins(connection, rowlock__after(began_ms, connection->connect_ms));
        code = rowlock__check_server(connection, error);
        code = rowlock__given_up(connection, code, error);
        rowlock__wait_ends(connection);
    }
    if (code)
        rowlock_close(connection);
    else
        *out = connection;
    return code;
}

void rowlock_close(struct rowlock_connection *connection)
{
    if (!connection)
        return;
    rowlock_close(connection->second);
    /* in a child, closing would say goodbye in the parent's name */
    if (connection->link && connection->pid == getpid())
        connection->driver->close(connection->link);
    for (size_t i = 0; i < ROWLOCK_SQL_COUNT; i++)
        free((char *)connection->renamed[i].text);
    free(connection->url);
    free(connection->database);
    free(connection);
}

int rowlock__second(struct rowlock_connection *connection, struct rowlock_connection **out,
                    struct rowlock_error *error)
{
    struct rowlock_options options = {.connect_ms = connection->connect_ms,
                                      .statement_ms = connection->statement_ms,
                                      .interrupt_fd = connection->interrupt_fd,
                                      .database = connection->database};
    int code = ROWLOCK_OK;

    /* it may have been idle for hours, and the server may have tired of it */
    if (connection->second && rowlock_ping(connection->second, NULL) == ROWLOCK_ECONN) {
        rowlock_close(connection->second);
        connection->second = NULL;
    }
    if (!connection->second && connection->url)
        code = rowlock_open(connection->url, &options, &connection->second, error);
    if (code)
        return rowlock__wrap_error(error, code, "second connection");
    *out = connection->second;
    return ROWLOCK_OK;
}

const struct rowlock_statement *rowlock__sql(const struct rowlock_connection *connection,
                                             enum rowlock_statement_id id)
{
    const struct rowlock_statement *own = &connection->renamed[id];

    if (own->text)
        return own;
    own = &connection->dialect->statements[id];
    return own->text ? own : NULL;
}

struct rowlock_budget rowlock__budget(const struct rowlock_connection *connection)
{
    struct rowlock_budget budget = {rowlock__after(rowlock__now_ms(), connection->statement_ms),
                                    connection->interrupt_fd, 0};

    return rowlock__in_time(connection, budget, ROWLOCK_LATE_MS);
}

void rowlock__wait_begins(struct rowlock_connection *connection, int64_t deadline_ms)
{
    if (!connection->wrapped && deadline_ms != ROWLOCK_NEVER)
        connection->deadline_ms = deadline_ms;
}

void rowlock__wait_ends(struct rowlock_connection *connection)
{
    connection->deadline_ms = 0;
}

struct rowlock_budget rowlock__in_time(const struct rowlock_connection *connection,
                                       struct rowlock_budget budget, int64_t late_ms)
{
    int64_t late, least;

    if (!connection->deadline_ms)
        return budget;
    late = rowlock__after(connection->deadline_ms, ROWLOCK_LATE_MS);
    least = rowlock__after(rowlock__now_ms(), late_ms);
    if (late < least)
        late = least;
    if (budget.deadline_ms > late)
        budget.deadline_ms = late;
    budget.give_up_ms = rowlock__after(late, CANCEL_MS);
    return budget;
}

int rowlock__given_up(const struct rowlock_connection *connection, int code,
                      struct rowlock_error *error)
{
    if (code != ROWLOCK_ETIMEDOUT || rowlock__state(connection) != ROWLOCK_STATE_DEAD)
        return code;
    if (error)
        error->code = ROWLOCK_ECONN;
    return ROWLOCK_ECONN;
}

static int no_transaction(struct rowlock_error *error)
{
    return rowlock__fail(error, ROWLOCK_ENOTX,
                         "no transaction is open; rowlock_begin opens one and locks");
}

/* After an error of the caller's own libmariadb cannot tell whether a transaction is open. Who is
   about to begin one asks first: the refusal would be cleaned up after, and DDL commits. */
static int find_state(struct rowlock_connection *connection, enum rowlock_state wanted,
                      enum rowlock_state *out, struct rowlock_error *error)
{
    int code = ROWLOCK_OK;

    *out = rowlock__state(connection);
    if (*out != ROWLOCK_STATE_ASK || wanted != ROWLOCK_STATE_IDLE)
        return ROWLOCK_OK;
    code = rowlock__ask(connection, ROWLOCK_SQL_PING, NULL, NULL, NULL, error);
    if (!code)
        *out = rowlock__state(connection);
    return code;
}

int rowlock__was_interrupted(const struct rowlock_connection *connection)
{
    return connection->interrupt_fd >= 0 &&
           rowlock__wait_fd(-1, 0, connection->interrupt_fd, 0) == ROWLOCK_WAKE_INTERRUPT;
}

bool rowlock__was_cancelled(const struct rowlock_connection *connection, int code,
                            int64_t deadline_ms)
{
    if ((code != ROWLOCK_ECANCELED && code != ROWLOCK_ETIMEDOUT) ||
        rowlock__now_ms() >= deadline_ms || rowlock__state(connection) == ROWLOCK_STATE_DEAD)
        return false;
    return !rowlock__was_interrupted(connection);
}

int rowlock__ready(struct rowlock_connection *connection, enum rowlock_state wanted,
                   struct rowlock_error *error)
{
    enum rowlock_state state;
    int code = ROWLOCK_OK;

    rowlock__clear_error(error);
    if (!connection)
        return rowlock__fail(error, ROWLOCK_EINVAL, "the connection is NULL: was it opened?");
    if (connection->pid != getpid())
        return rowlock__fail(error, ROWLOCK_EINVAL,
                             "the connection was opened by process %ld; open one after fork",
                             (long)connection->pid);
    if (!connection->link && wanted == ROWLOCK_STATE_OPEN)
        return no_transaction(error);
    if (!connection->link)
        code = rowlock__reconnect(connection,
                                  rowlock__after(rowlock__now_ms(), connection->connect_ms), error);
    if (!code)
        code = find_state(connection, wanted, &state, error);
    if (code)
        return code;
    switch (state) {
    case ROWLOCK_STATE_DEAD:
        return rowlock__left(
            error, rowlock__fail(error, ROWLOCK_ECONN, "the connection is lost; open another"),
            ROWLOCK_TX_DEAD);
    case ROWLOCK_STATE_ABORTED:
        return rowlock__left(error,
                             rowlock__fail(error, ROWLOCK_EABORTED,
                                           "an earlier statement of the transaction failed; roll "
                                           "back"),
                             ROWLOCK_TX_ABORTED);
    case ROWLOCK_STATE_OPEN:
        if (wanted == ROWLOCK_STATE_IDLE)
            return rowlock__left(error,
                                 rowlock__fail(error, ROWLOCK_EINTX,
                                               "a transaction is open; lock in it with "
                                               "rowlock_lock, or end it before"),
                                 ROWLOCK_TX_KEPT);
        break;
    case ROWLOCK_STATE_IDLE:
        if (wanted == ROWLOCK_STATE_OPEN)
            return no_transaction(error);
        break;
    case ROWLOCK_STATE_ASK:
        break;
    }
    return ROWLOCK_OK;
}

int rowlock__ready_or_lost(struct rowlock_connection *connection, struct rowlock_error *error)
{
    if (!connection || connection->link || connection->pid != getpid())
        return rowlock__ready(connection, ROWLOCK_STATE_IDLE, error);
    return rowlock__fail(error, ROWLOCK_ECONN, "no session is open");
}

int rowlock__ask(struct rowlock_connection *connection, enum rowlock_statement_id id,
                 const struct rowlock_value *values, rowlock_row *row, void *data,
                 struct rowlock_error *error)
{
    struct rowlock_call call = {
        .statement = rowlock__sql(connection, id), .values = values, .row = row, .data = data};
    struct rowlock_budget budget = rowlock__budget(connection);
    struct rowlock_outcome outcome = {0};
    enum rowlock_state before = rowlock__state(connection);
    int code;

    if (!call.statement)
        return ROWLOCK_OK;
    if (!connection->link)
        return rowlock__fail(error, ROWLOCK_ECONN, "no session is open");
    code = connection->driver->run(connection->link, ROWLOCK_INSIDE, &call, 1, &budget, &outcome,
                                   error);
    /* with autocommit off a mere question opens a transaction, and nobody would end it */
    if (before == ROWLOCK_STATE_IDLE)
        rowlock__clean_up(connection, &outcome);
    return code;
}

void rowlock__clean_up(struct rowlock_connection *connection, const struct rowlock_outcome *outcome)
{
    struct rowlock_budget budget = rowlock__budget(connection);

    budget.interrupt_fd = -1; /* to leave nothing half-done matters more */
    if (outcome->left != ROWLOCK_TX_NONE && outcome->left != ROWLOCK_TX_GONE &&
        outcome->left != ROWLOCK_TX_DEAD)
        connection->driver->rollback(connection->link, &budget, NULL);
}

int rowlock__cleaned_up(struct rowlock_connection *connection,
                        const struct rowlock_outcome *outcome, int code,
                        struct rowlock_error *error)
{
    rowlock__clean_up(connection, outcome);
    return rowlock__left(error, code,
                         outcome->left == ROWLOCK_TX_DEAD ? ROWLOCK_TX_DEAD : ROWLOCK_TX_NONE);
}

void rowlock__take_number(void *data, const struct rowlock_value *columns, unsigned n)
{
    if (n > 0)
        *(int64_t *)data = rowlock__value_number(&columns[0]);
}

void rowlock__column_text(const struct rowlock_value *column, char *out, size_t size)
{
    if (column->type == ROWLOCK_INT)
        snprintf(out, size, "%" PRId64, column->number);
    else if (column->type == ROWLOCK_BYTES)
        snprintf(out, size, "%.*s", (int)(column->length < size ? column->length : size - 1),
                 column->bytes);
    else
        out[0] = '\0';
}

void rowlock__take_text(void *data, const struct rowlock_value *columns, unsigned n)
{
    char **text = data, buffer[1024];

    if (n == 0 || columns[0].type == ROWLOCK_NULL)
        return;
    rowlock__column_text(&columns[0], buffer, sizeof buffer);
    free(*text);
    *text = strdup(buffer);
}

int rowlock_socket(const struct rowlock_connection *connection)
{
    return connection && connection->link ? connection->driver->socket(connection->link) : -1;
}

int rowlock_ping(struct rowlock_connection *connection, struct rowlock_error *error)
{
    int code = rowlock__ready(connection, ROWLOCK_STATE_ASK, error);

    return code ? code : rowlock__ask(connection, ROWLOCK_SQL_PING, NULL, NULL, NULL, error);
}
