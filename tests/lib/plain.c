/* SPDX-License-Identifier: Apache-2.0 */
/* rowlock through ODBC and JDBC: engines, sessions, and threads that compete. */
#include <glob.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/jdbc.h"
#include "lib/plain.h"

const struct t_plain t_plain_postgresql = {"postgresql", "ROWLOCK_TEST_POSTGRESQL", "odbc",
                                           "psqlodbcw.so", "UID=tester"};
const struct t_plain t_plain_mariadb = {"mariadb", "ROWLOCK_TEST_MARIADB", "odbc", "libmaodbc.so",
                                        "UID=rowlock;PWD=secret"};
const struct t_plain t_plain_derby = {"derby", "ROWLOCK_TEST_DERBY", "jdbc", "", ""};
const struct t_plain t_plain_h2 = {"h2", "ROWLOCK_TEST_H2", "jdbc", "", ""};
const struct t_plain t_plain_hsqldb = {"hsqldb", "ROWLOCK_TEST_HSQLDB", "jdbc", "", ""};

int t_plain_runs(const struct t_plain *on)
{
    if (!strstr(rowlock_version(), on->driver))
        return 0;
    return t_effort(0, 1) || on == &t_plain_postgresql || on == &t_plain_h2;
}

const char *t_odbc_driver(const char *file)
{
    static char path[4][300];
    static unsigned turn;
    char pattern[300];
    glob_t found = {0};

    snprintf(pattern, sizeof pattern, "/usr/lib*/{,*/}{,odbc/}%s", file);
    if (glob(pattern, GLOB_BRACE, NULL, &found) != 0)
        t_fail(__FILE__, __LINE__, "the ODBC driver %s is not installed", file);
    turn = (turn + 1) % 4;
    snprintf(path[turn], sizeof path[turn], "%s", found.gl_pathv[0]);
    globfree(&found);
    return path[turn];
}

/* postgresql://tester@127.0.0.1:5432/test_1 as an odbc: URL. */
static void write_odbc_url(const struct t_plain *on, const char *own, char *url, size_t size)
{
    const char *port = strstr(own, "127.0.0.1:") + 10;

    snprintf(url, size, "odbc:Driver=%s;Server=127.0.0.1;Port=%d;Database=%s;%s",
             t_odbc_driver(on->file), atoi(port), strchr(port, '/') + 1, on->account);
}

const char *t_plain_url(const struct t_plain *on)
{
    static char url[500];
    const char *own = getenv(on->variable);

    if (!own)
        t_fail(__FILE__, __LINE__, "%s is not set: run it by tests/run", on->variable);
    if (strcmp(on->driver, "jdbc") == 0) {
        t_java_runs = 1;
        return own;
    }
    write_odbc_url(on, own, url, sizeof url);
    return url;
}

/* On a loaded machine, a JVM's first statements are slow. */
static const struct rowlock_options patient = {.connect_ms = 60000, .statement_ms = 60000};

struct rowlock_connection *t_plain_connect(const struct t_plain *on)
{
    struct rowlock_connection *connection = NULL;

    t_ok(rowlock_open(t_plain_url(on), &patient, &connection, &t_error));
    return t_adopt(connection);
}

struct rowlock_connection *t_plain_open(const struct t_plain *on)
{
    struct rowlock_connection *connection = t_plain_connect(on);

    t_ok(rowlock_install(connection, NULL, &t_error));
    return connection;
}

/* ---- threads that compete -------------------------------------------------------------------- */

void t_crowd_enter(struct t_crowd *crowd)
{
    int now = atomic_fetch_add(&crowd->inside, 1) + 1, most = atomic_load(&crowd->most);

    while (now > most && !atomic_compare_exchange_weak(&crowd->most, &most, now))
        continue;
    sched_yield();
}

void t_crowd_leave(struct t_crowd *crowd)
{
    atomic_fetch_sub(&crowd->inside, 1);
}

static void keep_first(struct t_crowd *crowd, const struct rowlock_error *error)
{
    pthread_mutex_lock(&crowd->mutex);
    if (!crowd->error.code)
        crowd->error = *error;
    pthread_mutex_unlock(&crowd->mutex);
}

static void *work(void *data)
{
    struct t_crowd *crowd = data;
    struct rowlock_connection *connection = NULL;
    struct rowlock_error error = {0};
    int code = rowlock_open(crowd->url, &patient, &connection, &error);

    for (int i = 0; !code && i < crowd->rounds; i++) {
        code = crowd->round(crowd, connection, &error);
        if (!code)
            atomic_fetch_add(&crowd->done, 1);
    }
    if (code)
        keep_first(crowd, &error);
    rowlock_close(connection);
    return NULL;
}

void t_crowd_run(struct t_crowd *crowd)
{
    pthread_t threads[T_CROWD_THREADS];

    if (!crowd->rounds)
        crowd->rounds = T_CROWD_ROUNDS;
    crowd->url = t_plain_url(crowd->on);
    pthread_mutex_init(&crowd->mutex, NULL);
    for (int i = 0; i < T_CROWD_THREADS; i++)
        if (pthread_create(&threads[i], NULL, work, crowd) != 0)
            abort();
    for (int i = 0; i < T_CROWD_THREADS; i++)
        pthread_join(threads[i], NULL);
    pthread_mutex_destroy(&crowd->mutex);
    t_error = crowd->error;
    t_ok(t_error.code);
    t_int(crowd->done, T_CROWD_THREADS * crowd->rounds);
    t_int(crowd->inside, 0);
}
