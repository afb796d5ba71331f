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

/* ---- connecting ---------------------------------------------------------------------------- */

static void put_property(struct rowlock__jdbc_message *message, const char *key, const char *value)
{
    if (!value)
        return;
    rowlock__jdbc_put_text(message, key, strlen(key));
    rowlock__jdbc_put_text(message, value, strlen(value));
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

static int call_open(struct rowlock_link *link, const struct rowlock__jdbc_url *url, char *product,
                     size_t size, struct rowlock_error *error)
{
    const struct rowlock__jdbc_engine *engine = link->engine;
    struct rowlock__jdbc_message *message = &link->message;
    struct rowlock__jdbc_secrets secrets = {.url = url};
    const char *driver = url->driver ? url->driver : "";
    struct rowlock_credentials credentials;
    int kind, code = rowlock__credentials(&credentials, error);

    if (code)
        return code;
    secrets.password = credentials.password;
    link->secrets = &secrets;
    rowlock__jdbc_put(message, 'o');
    rowlock__jdbc_put_text(message, url->text, strlen(url->text));
    rowlock__jdbc_put_text(message, driver, strlen(driver));
    rowlock__jdbc_put_int(message, !!engine->setting + !!credentials.user + !!credentials.password);
    if (engine->setting)
        put_property(message, engine->setting, engine->value);
    put_property(message, "user", credentials.user);
    put_property(message, "password", credentials.password);
    link->session = NULL;
    code = rowlock__jdbc_call(NULL, message, &link->session, error);
    kind = code ? 0 : rowlock__jdbc_get_byte(message);
    if (kind == '+') {
        rowlock__jdbc_get_string(message, product, size);
    } else if (kind == '?') {
        code = no_driver(url, error);
    } else if (!code) {
        code = rowlock__jdbc_failure(link, error);
        if (code == ROWLOCK_EDB && error && strncmp(error->sqlstate, "08", 2) == 0)
            code = error->code = ROWLOCK_ECONN;
    }
    link->secrets = NULL;
    rowlock__credentials_free(&credentials);
    rowlock__wipe(link->message.bytes, link->message.size);
    return code;
}

#define NO_ANSWER "the server did not answer in time"

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
   signal either. The JVM starts meanwhile, so that its descriptors are found too. */
static int open_session(struct opening *opening, const struct rowlock_budget *budget)
{
    struct rowlock_link *link = opening->link;
    struct rowlock_watched watched;
    pthread_t thread;
    int code = rowlock__watch_opening(link->watch, budget, opening->url->port, opening->error);

    if (code == ROWLOCK_ETIMEDOUT)
        return rowlock__fail(opening->error, ROWLOCK_ECONN, NO_ANSWER);
    if (code)
        return code;
    if (rowlock__thread_start(&thread, start_and_open, opening) == 0) {
        pthread_join(thread, NULL);
        code = opening->code;
    } else {
        code = rowlock__fail(opening->error, ROWLOCK_ENOMEM, "cannot start a thread for Java");
    }
    watched = rowlock__watch_opened(link->watch, link->session != NULL);
    if (code == ROWLOCK_EDRIVER || watched.result == ROWLOCK_WATCH_CALM)
        return code;
    link->dead = true;
    if (watched.why == ROWLOCK_WAKE_INTERRUPT)
        return rowlock__fail(opening->error, ROWLOCK_ECANCELED, "interrupted");
    return rowlock__fail(opening->error, ROWLOCK_ECONN, NO_ANSWER);
}

int rowlock__jdbc_connect(struct rowlock_link *link, const struct rowlock__jdbc_url *url,
                          const struct rowlock_budget *budget,
                          const struct rowlock_dialect **dialect, struct rowlock_error *error)
{
    struct opening opening = {.link = link, .url = url, .error = error};
    const struct rowlock__jdbc_engine *engine = engines;
    int code;

    while (*engine->name && strcmp(engine->name, url->engine) != 0)
        engine++;
    link->engine = engine;
    code = open_session(&opening, budget);
    if (code)
        return code;
    engine = engines;
    while (strncasecmp(opening.product, engine->product, strlen(engine->product)) != 0)
        engine++;
    link->engine = engine;
    /* The URL of a driver that wraps another (jdbc:p6spy:h2:...) hides whether the database runs
       inside this process, and the session was opened without the engine's setting. */
    if (engine->server && strcmp(engine->name, url->engine) != 0)
        return rowlock__fail(error, ROWLOCK_EINVAL,
                             "the database is %s, but the URL does not show it, so rowlock cannot "
                             "tell that a server has it, and that it keeps its commits; write %s",
                             engine->product, engine->server);
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
        rowlock__jdbc_call(link->session, &link->message, NULL, NULL);
    }
    if (link->session)
        rowlock__jdbc_call_close(link->session);
    free(link->message.bytes);
    free(link);
}

void rowlock__jdbc_close(struct rowlock_link *link)
{
    struct rowlock_budget soon = {rowlock__now_ms() + 1000, -1, 0};

    if (!link)
        return;
    if (link->session && (link->open || link->dead)) {
        rowlock__watch_shut_down(link->watch);
    } else if (link->session) {
        /* JDBC drivers wait for the server's answer to a close, but not for long here */
        rowlock__watch_begin(link->watch, &soon, NULL, NULL);
        rowlock__jdbc_call_close(link->session);
        rowlock__watch_end(link->watch);
        link->session = NULL;
    }
    rowlock__watch_free(link->watch, release, link); /* after a cancel that still blocks */
}
