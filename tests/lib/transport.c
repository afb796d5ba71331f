/* SPDX-License-Identifier: Apache-2.0 */
/* Sessions through ODBC and JDBC, whatever the database (transport.h). */
#include "lib/transport.h"

#include <arpa/inet.h>
#include <glob.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "emulate/work.h"
#include "lib/jdbc.h"
#include "lib/test.h"
#include "session/connection.h"
#include "util/clock.h"

#define MINUTE (&(struct rowlock_budget){rowlock__now_ms() + 60000, -1, 0})

struct transport *transport_open(const char *driver, const struct rowlock_source *source)
{
    struct transport *transport = calloc(1, sizeof *transport);
    const struct rowlock_dialect *dialect;
    struct rowlock_error error = {0};

    if (!transport)
        abort();
    transport->driver = rowlock__driver_named(driver, &error);
    if (transport->driver &&
        transport->driver->open(source, MINUTE, &transport->link, &dialect, &error) == 0)
        return transport;
    fprintf(stderr, "%s\n", error.text);
    free(transport);
    return NULL;
}

/* ---- the session of a connection ----------------------------------------------------------- */

static struct {
    const struct rowlock_connection *connection;
    struct transport *transport;
} known[500];
static size_t n_known;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

void transport_close(struct transport *transport)
{
    pthread_mutex_lock(&mutex);
    for (size_t i = 0; i < n_known; i++)
        if (known[i].transport == transport)
            known[i--] = known[--n_known];
    pthread_mutex_unlock(&mutex);
    transport->driver->close(transport->link);
    free(transport);
}

void transport_is_of(struct transport *transport, const struct rowlock_connection *connection)
{
    pthread_mutex_lock(&mutex);
    if (n_known == sizeof known / sizeof *known)
        abort();
    known[n_known].connection = connection;
    known[n_known++].transport = transport;
    pthread_mutex_unlock(&mutex);
}

/* The inner link: that of the driver which rowlock carries out its functions by. */
static struct rowlock_link *inner_of(const struct rowlock_connection *connection)
{
    return connection->link ? connection->link->inner : NULL;
}

/* A connection may be freed, and another one be at its address. */
static struct transport *find(const struct rowlock_connection *connection)
{
    void *handle = connection->transport->handle(inner_of(connection));
    struct transport *found = NULL;

    pthread_mutex_lock(&mutex);
    for (size_t i = 0; i < n_known && !found; i++)
        if (known[i].connection == connection &&
            known[i].transport->driver == connection->transport &&
            known[i].transport->dbc == (connection->wrapped ? handle : NULL))
            found = known[i].transport;
    pthread_mutex_unlock(&mutex);
    return found;
}

void *transport_handle(struct rowlock_connection *connection)
{
    struct transport *transport;

    if (!inner_of(connection))
        return NULL;
    transport = find(connection);
    if (!transport) {
        transport = calloc(1, sizeof *transport);
        if (!transport)
            abort();
        transport->driver = connection->transport;
        transport_is_of(transport, connection);
    }
    if (!transport->dbc) /* rowlock may have opened another session for it */
        transport->link = inner_of(connection);
    return transport;
}

/* ---- statements ---------------------------------------------------------------------------- */

static int begins_with(const char *text, const char *word)
{
    return strncmp(text, word, strlen(word)) == 0;
}

/* A driver knows a prepared statement by its address, so a text has one for the program's life. */
static const struct rowlock_statement *statement_of(const char *text)
{
    static struct {
        struct rowlock_statement statement;
        void *next;
    } * texts, *text_of;

    pthread_mutex_lock(&mutex);
    text_of = texts;
    while (text_of && strcmp(text_of->statement.text, text) != 0)
        text_of = text_of->next;
    if (!text_of) {
        text_of = calloc(1, sizeof *text_of);
        if (!text_of || !(text_of->statement.text = strdup(text)))
            abort();
        text_of->statement.name = "of a test";
        text_of->statement.types = "";
        text_of->next = texts;
        texts = text_of;
    }
    pthread_mutex_unlock(&mutex);
    return &text_of->statement;
}

int transport_rows(void *handle, const char *text, rowlock_row *row, void *data, char *out,
                   size_t size)
{
    struct transport *transport = handle;
    const struct rowlock_driver *driver = transport->driver;
    struct rowlock_call call = {.statement = statement_of(text), .row = row, .data = data};
    struct rowlock_outcome outcome;
    struct rowlock_error error = {0};
    int code;

    if (begins_with(text, "BEGIN"))
        code = driver->run(transport->link, ROWLOCK_BEGIN, NULL, 0, MINUTE, &outcome, &error);
    else if (strcmp(text, "COMMIT") == 0)
        code = driver->run(transport->link, ROWLOCK_COMMIT, NULL, 0, MINUTE, &outcome, &error);
    else if (strcmp(text, "ROLLBACK") == 0)
        code = driver->rollback(transport->link, MINUTE, &error);
    else if (begins_with(text, "LOCK TABLES") || begins_with(text, "UNLOCK TABLES"))
        code = driver->script(transport->link, text, MINUTE, &error); /* cannot be prepared */
    else
        code = driver->run(transport->link, ROWLOCK_INSIDE, &call, 1, MINUTE, &outcome, &error);
    if (code)
        snprintf(out, size, "%s", error.text);
    return code != 0;
}

struct first {
    char *out;
    size_t size;
    int rows;
};

static void take_first(void *data, const struct rowlock_value *columns, unsigned n)
{
    struct first *first = data;

    if (n == 0 || first->rows++ > 0)
        return;
    if (columns[0].type == ROWLOCK_INT)
        snprintf(first->out, first->size, "%" PRId64, columns[0].number);
    else if (columns[0].type == ROWLOCK_BYTES)
        snprintf(first->out, first->size, "%.*s", (int)columns[0].length, columns[0].bytes);
}

/* T-SQL has other words for savepoints. */
static const char *in_words_of_engine(const char *text)
{
    static const char *const words[][2] = {{"SAVEPOINT ", "SAVE TRANSACTION "},
                                           {"ROLLBACK TO SAVEPOINT ", "ROLLBACK TRANSACTION "}};

    for (size_t i = 0; i < 2; i++)
        if (begins_with(text, words[i][0]) && strcmp(t_engine()->name, "sqlserver") == 0)
            return t_say("%s%s", words[i][1], text + strlen(words[i][0]));
    return text;
}

int transport_sql(void *handle, const char *text, char *out, size_t size)
{
    struct first first = {out, size, 0};

    out[0] = '\0';
    return transport_rows(handle, in_words_of_engine(text), take_first, &first, out, size);
}

int transport_in_transaction(void *handle)
{
    const struct transport *transport = handle;
    enum rowlock_state state = transport->driver->state(transport->link);

    return state == ROWLOCK_STATE_OPEN || state == ROWLOCK_STATE_ABORTED;
}

static int port_of(const struct transport *transport)
{
    struct sockaddr_in address = {0};
    socklen_t length = sizeof address;
    int fd = transport->driver->socket(transport->link);

    return getsockname(fd, (struct sockaddr *)&address, &length) ? 0 : ntohs(address.sin_port);
}

long transport_session(void *handle)
{
    struct transport *transport = handle;
    const char *query = t_engine()->own_id;
    int port = port_of(transport);

    if (!query)
        return transport->session = transport->port = port;
    if (!transport->session || (!transport->dbc && (transport->port != port || !port)))
        transport->session = t_number(handle, "%s", query);
    transport->port = port;
    return transport->session;
}

void transport_cut(long session)
{
    pthread_mutex_lock(&mutex);
    for (size_t i = 0; i < n_known; i++) {
        struct transport *transport = known[i].transport;

        if (transport->session == session && transport->port &&
            transport->port == port_of(transport))
            shutdown(transport->driver->socket(transport->link), SHUT_RDWR);
    }
    pthread_mutex_unlock(&mutex);
}

void transport_cut_others(void *handle)
{
    const struct transport *transport = handle;
    int own = transport->driver->socket(transport->link);
    struct sockaddr_in server = {0}, peer;
    socklen_t length = sizeof server;

    if (getpeername(own, (struct sockaddr *)&server, &length))
        t_fail(__FILE__, __LINE__, "the handle has no socket");
    for (int fd = 0; fd < 1024; fd++) {
        length = sizeof peer;
        if (fd != own && getpeername(fd, (struct sockaddr *)&peer, &length) == 0 &&
            peer.sin_family == AF_INET && peer.sin_port == server.sin_port)
            shutdown(fd, SHUT_RDWR);
    }
}

const char *t_odbc_driver(const char *file)
{
    const char *path;
    glob_t found = {0};

    if (glob(t_say("/usr/lib*/{,*/}{,odbc/}%s", file), GLOB_BRACE, NULL, &found) != 0)
        t_fail(__FILE__, __LINE__, "the ODBC driver %s is not installed", file);
    path = t_say("%s", found.gl_pathv[0]);
    globfree(&found);
    return path;
}
