/* SPDX-License-Identifier: Apache-2.0 */
/* Opens and closes a session through JDBC. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "dialect/plain.h"
#include "driver/credentials.h"
#include "driver/jdbc/jvm.h"
#include "driver/jdbc/link.h"
#include "util/bytes.h"
#include "util/error.h"
#include "util/thread.h"

/* ---- engines ------------------------------------------------------------------------------- */

/* The last one is any other. */
static const struct rowlock__jdbc_engine engines[] = {
    {"Apache Derby", "derby", false, NULL, NULL, ROWLOCK_JDBC_DERBY},
    {"H2", "h2", false, "WRITE_DELAY", "0", ROWLOCK_JDBC_H2},
    {"HSQL Database Engine", "hsqldb", false, NULL, NULL, ROWLOCK_JDBC_HSQLDB},
    {"PostgreSQL", "postgresql", true, "cancelSignalTimeout", "1", NULL},
    {"MariaDB", "mariadb", true, NULL, NULL, NULL},
    {"MySQL", "mariadb", true, NULL, NULL, NULL},
    {"Oracle", "oracle", true, NULL, NULL, NULL},
    /* as NVARCHAR, the default, a name would not use the index of a VARCHAR key */
    {"Microsoft SQL Server", "sqlserver", true, "sendStringParametersAsUnicode", "false", NULL},
    {"DB2", "db2", true, NULL, NULL, NULL},
    {"", "", true, NULL, NULL, NULL},
};

static const struct rowlock__jdbc_engine *engine_of(const char *product)
{
    size_t i = 0;

    while (strncasecmp(product, engines[i].product, strlen(engines[i].product)) != 0)
        i++;
    return &engines[i];
}

/* ---- connecting ---------------------------------------------------------------------------- */

static void put_property(struct rowlock__jdbc_message *message, const char *key, const char *value)
{
    if (!value)
        return;
    rowlock__jdbc_put_text(message, key, strlen(key));
    rowlock__jdbc_put_text(message, value, strlen(value));
}

static void put_open(struct rowlock__jdbc_message *message, const struct rowlock__jdbc_url *url,
                     const struct rowlock__jdbc_engine *engine,
                     const struct rowlock_credentials *credentials)
{
    const char *driver = url->driver ? url->driver : "";

    rowlock__jdbc_put(message, 'o');
    rowlock__jdbc_put_text(message, url->text, strlen(url->text));
    rowlock__jdbc_put_text(message, driver, strlen(driver));
    rowlock__jdbc_put_int(message,
                          !!engine->setting + !!credentials->user + !!credentials->password);
    if (engine->setting)
        put_property(message, engine->setting, engine->value);
    put_property(message, "user", credentials->user);
    put_property(message, "password", credentials->password);
}

/* With ROWLOCK_CLASSPATH, installing a package is not enough. */
static int no_driver(const struct rowlock__jdbc_url *url, struct rowlock_error *error)
{
    int length = (int)strcspn(url->text + 5, ":/") + 5;
    const char *own = getenv("ROWLOCK_CLASSPATH");

    if (url->package && own && *own)
        return rowlock__fail(error, ROWLOCK_EDRIVER,
                             "no JDBC driver for '%.*s:' in ROWLOCK_CLASSPATH; install the package "
                             "%s, and add %s to ROWLOCK_CLASSPATH",
                             length, url->text, url->package, url->jar);
    if (url->package)
        return rowlock__fail(error, ROWLOCK_EDRIVER,
                             "no JDBC driver for '%.*s:'; install the package %s, or name the "
                             "driver's jar in ROWLOCK_CLASSPATH",
                             length, url->text, url->package);
    return rowlock__fail(error, ROWLOCK_EDRIVER,
                         "no JDBC driver for '%.*s:'; name its jar%s%s%s in ROWLOCK_CLASSPATH",
                         length > 30 ? 30 : length, url->text, url->jar ? " (" : "",
                         url->jar ? url->jar : "", url->jar ? ")" : "");
}

/* The reply to an open request: the product, or a failure. */
static int read_reply(struct rowlock_link *link, const struct rowlock__jdbc_url *url, char *product,
                      size_t size, struct rowlock_error *error)
{
    int kind = rowlock__jdbc_get_byte(&link->message), code;

    if (kind == '+') {
        rowlock__jdbc_get_string(&link->message, product, size);
        return ROWLOCK_OK;
    }
    if (kind == '?')
        return no_driver(url, error);
    code = rowlock__jdbc_failure(link, error);
    if (code == ROWLOCK_EDB && error && strncmp(error->sqlstate, "08", 2) == 0)
        code = error->code = ROWLOCK_ECONN;
    return code;
}

static int call_open(struct rowlock_link *link, const struct rowlock__jdbc_url *url, char *product,
                     size_t size, struct rowlock_error *error)
{
    struct rowlock__jdbc_secrets secrets = {.url = url};
    struct rowlock_credentials credentials;
    int code = rowlock__credentials(&credentials, error);

    if (code)
        return code;
    secrets.password = credentials.password;
    link->secrets = &secrets;
    put_open(&link->message, url, link->engine, &credentials);
    code = rowlock__jdbc_call_open(&link->message, &link->session, error);
    if (!code)
        code = read_reply(link, url, product, size, error);
    link->secrets = NULL;
    rowlock__credentials_free(&credentials);
    rowlock__wipe(link->message.bytes, link->message.size);
    return code;
}

static int too_late(enum rowlock_wake why, struct rowlock_error *error)
{
    if (why == ROWLOCK_WAKE_INTERRUPT)
        return rowlock__fail(error, ROWLOCK_ECANCELED, "interrupted");
    return rowlock__fail(error, ROWLOCK_ECONN, "the server did not answer in time");
}

struct opening {
    struct rowlock_link *link;
    const struct rowlock__jdbc_url *url;
    char product[100];
    int code;
    struct rowlock_error *error;
};

static void *start_and_open(void *data)
{
    struct opening *opening = data;

    opening->code = rowlock__jdbc_start(opening->error);
    if (!opening->code)
        opening->code = call_open(opening->link, opening->url, opening->product,
                                  sizeof opening->product, opening->error);
    return NULL;
}

/* In a thread of its own, because the JVM and JDBC drivers start threads, which must handle no
   signal either. */
static int open_in_thread(struct opening *opening)
{
    pthread_t thread;

    if (rowlock__thread_start(&thread, start_and_open, opening) != 0)
        return rowlock__fail(opening->error, ROWLOCK_ENOMEM, "cannot start a thread for Java");
    pthread_join(thread, NULL);
    return opening->code;
}

/* The JVM starts meanwhile, so that its descriptors are found too. */
static int open_session(struct opening *opening, const struct rowlock_budget *budget)
{
    struct rowlock_link *link = opening->link;
    struct rowlock_watched watched;
    int code = rowlock__watch_opening(link->watch, budget, opening->url->port, opening->error);

    if (code == ROWLOCK_ETIMEDOUT)
        return too_late(ROWLOCK_WAKE_DEADLINE, opening->error);
    if (code)
        return code;
    code = open_in_thread(opening);
    watched = rowlock__watch_opened(link->watch, link->session != NULL);
    if (code == ROWLOCK_EDRIVER || watched.result == ROWLOCK_WATCH_CALM)
        return code;
    link->dead = true;
    return too_late(watched.why, opening->error);
}

/* The URL of a driver that wraps another (jdbc:p6spy:h2:...) hides whether the database runs inside
   this process, and the session was opened without the engine's setting. */
static int refuse_hidden(const struct rowlock__jdbc_engine *engine,
                         const struct rowlock__jdbc_url *url, struct rowlock_error *error)
{
    if (!engine->server || strcmp(engine->name, url->engine) == 0)
        return ROWLOCK_OK;
    return rowlock__fail(error, ROWLOCK_EINVAL,
                         "the database is %s, but the URL does not show it, so rowlock cannot "
                         "tell that a server has it, and that it keeps its commits; write %s",
                         engine->product, engine->server);
}

int rowlock__jdbc_connect(struct rowlock_link *link, const struct rowlock__jdbc_url *url,
                          const struct rowlock_budget *budget,
                          const struct rowlock_dialect **dialect, struct rowlock_error *error)
{
    struct opening opening = {.link = link, .url = url, .error = error};
    int code;
    size_t i = 0;

    while (*engines[i].name && strcmp(engines[i].name, url->engine) != 0)
        i++;
    link->engine = &engines[i];
    code = open_session(&opening, budget);
    if (code)
        return code;
    link->engine = engine_of(opening.product);
    code = refuse_hidden(link->engine, url, error);
    if (code)
        return code;
    *dialect = rowlock__plain_dialect(opening.product);
    if (!*dialect)
        return rowlock__fail(error, ROWLOCK_EDRIVER,
                             "rowlock does not know the database '%s'; docs/databases.md lists "
                             "those that it knows",
                             opening.product);
    return ROWLOCK_OK;
}

/* ---- closing ------------------------------------------------------------------------------- */

/*
 * A COMMIT or ROLLBACK by close() would depend on the JDBC driver, and Derby's refuses to close a
 * session whose transaction is open. So ROLLBACK comes first. It fails at once if the socket was
 * shut down; the driver then knows that the session has ended.
 */
static void release(void *data)
{
    struct rowlock_link *link = data;

    if (link->session && (link->open || link->dead)) {
        rowlock__jdbc_put(&link->message, 'r');
        rowlock__jdbc_call(link->session, &link->message, NULL);
    }
    if (link->session)
        rowlock__jdbc_call_close(link->session);
    free(link->message.bytes);
    free(link);
}

/* JDBC drivers wait for the server's answer to a close, but not for long here. */
static void close_idle(struct rowlock_link *link)
{
    struct rowlock_budget soon = {rowlock__now_ms() + 1000, -1, 0};

    rowlock__watch_begin(link->watch, &soon, NULL, NULL);
    rowlock__jdbc_call_close(link->session);
    rowlock__watch_end(link->watch);
    link->session = NULL;
}

void rowlock__jdbc_close(struct rowlock_link *link)
{
    if (!link)
        return;
    if (link->session && (link->open || link->dead))
        rowlock__watch_shut_down(link->watch);
    else if (link->session)
        close_idle(link);
    rowlock__watch_free(link->watch, release, link); /* after a cancel that still blocks */
}
