/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The harness's sessions on the database under test: opened on demand, closed when the test ends.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "lib/harness.h"
#include "lib/jdbc.h"
#include "lib/lease.h"
#include "lib/nursery.h"
#include "lib/test.h"

#define MOST 64

static struct rowlock_connection *sessions[MOST];
static void *handles[MOST];
static size_t n_sessions, n_handles;
static void *admin;
static int installed;
static unsigned tests_begun;

static const char *environment(const char *name)
{
    const char *value = getenv(name);

    if (!value || !*value) {
        fprintf(stderr, "%s is not set: run it by tests/run\n", name);
        exit(2);
    }
    return value;
}

const struct facts *t_facts(void)
{
    static const struct facts *found;

    if (!found)
        found =
            t_find_facts(environment("ROWLOCK_TEST_ENGINE"), environment("ROWLOCK_TEST_TECHNIQUE"));
    if (!found) {
        fprintf(stderr, "lib/facts.c knows no such engine and technique\n");
        exit(2);
    }
    return found;
}

int t_is_postgresql(void)
{
    return strcmp(t_facts()->engine, "postgresql") == 0;
}

int t_is_jdbc(void)
{
    return strcmp(t_facts()->technique, "jdbc") == 0;
}

int t_is_mysql(void)
{
    const char *programs = getenv("MYSQL_BIN");

    return strcmp(t_facts()->engine, "mariadb") == 0 && programs && *programs;
}

const struct engine *t_engine(void)
{
    static const struct engine *const engines[] = {
#ifdef ROWLOCK_WITH_SQLITE
        &t_engine_sqlite,
#endif
#ifdef ROWLOCK_WITH_POSTGRESQL
        &t_engine_postgresql,
#endif
#ifdef ROWLOCK_WITH_MARIADB
        &t_engine_mariadb, &t_engine_tidb,
#endif
        NULL};

#ifdef ROWLOCK_WITH_ODBC
    if (strcmp(t_facts()->technique, "odbc") == 0)
        return t_odbc_engine(t_facts()->engine);
#endif
#ifdef ROWLOCK_WITH_JDBC
    if (strcmp(t_facts()->technique, "jdbc") == 0)
        return t_jdbc_engine(t_facts()->engine);
#endif
    for (size_t i = 0; engines[i]; i++)
        if (strcmp(engines[i]->name, t_facts()->engine) == 0)
            return engines[i];
    fprintf(stderr, "this build has no driver for %s\n", t_facts()->engine);
    exit(2);
}

const char *t_url(void)
{
    t_java_runs |= t_is_jdbc();
    return environment("ROWLOCK_TEST_URL");
}

void *t_admin(void)
{
    if (!admin && t_facts()->server)
        admin = t_engine()->open(environment("ROWLOCK_TEST_ADMIN"));
    return admin;
}

/* ---- sessions ------------------------------------------------------------------------------ */

/* On a loaded machine, a JVM and its first statements are slow. */
const struct rowlock_options *t_usual(void)
{
    static const struct rowlock_options patient = {.connect_ms = 60000, .statement_ms = 60000};

    return t_is_jdbc() ? &patient : NULL;
}

void t_install_at(const char *url)
{
    struct rowlock_plan plan = {.technique = t_facts()->code};
    struct rowlock_connection *connection = t_open_at(url, t_usual());

    t_ok(rowlock_install(connection, &plan, &t_error));
    t_close(connection);
}

void t_install(void)
{
    if (!installed)
        t_install_at(t_url());
    installed = 1;
}

struct rowlock_connection *t_adopt(struct rowlock_connection *connection)
{
    size_t place = 0;

    while (place < n_sessions && sessions[place])
        place++;
    if (place == MOST)
        t_fail(__FILE__, __LINE__, "more than %d sessions at a time", MOST);
    n_sessions += place == n_sessions;
    return sessions[place] = connection;
}

struct rowlock_connection *t_open_at(const char *url, const struct rowlock_options *options)
{
    struct rowlock_connection *connection = NULL;

    t_ok(rowlock_open(url, options, &connection, &t_error));
    return t_adopt(connection);
}

struct rowlock_connection *t_open_with(const struct rowlock_options *options)
{
    t_install();
    return t_open_at(t_url(), options);
}

struct rowlock_connection *t_open(void)
{
    return t_open_with(t_usual());
}

void *t_native_at(const char *url)
{
    void *handle = t_engine()->open(url);

    t_true(handle != NULL);
    return handle;
}

void *t_native(void)
{
    t_install();
    if (n_handles == MOST)
        t_fail(__FILE__, __LINE__, "more than %d handles in one test", MOST);
    return handles[n_handles++] = t_native_at(t_url());
}

struct rowlock_connection *t_wrap_handle(void *handle, const struct rowlock_options *options)
{
    struct rowlock_connection *connection = NULL;

    t_ok(t_engine()->wrap(handle, options, &connection, &t_error));
    return t_adopt(connection);
}

struct rowlock_connection *t_wrap(void **handle, const struct rowlock_options *options)
{
    return t_wrap_handle(*handle = t_native(), options);
}

void t_close(struct rowlock_connection *connection)
{
    for (size_t i = 0; i < n_sessions; i++)
        if (sessions[i] == connection)
            sessions[i] = NULL;
    rowlock_close(connection);
}

void *t_handle(struct rowlock_connection *connection)
{
    return t_engine()->handle(connection);
}

/* ---- interrupts ------------------------------------------------------------------------------ */

static int interrupt[2];

static void close_interrupt(void)
{
    if (interrupt[0]) {
        close(interrupt[0]);
        close(interrupt[1]);
    }
    interrupt[0] = 0;
}

int t_interrupt_fd(void)
{
    close_interrupt();
    t_int(pipe(interrupt), 0);
    return interrupt[0];
}

void t_interrupt(void)
{
    t_int(write(interrupt[1], "!", 1), 1);
}

void t_take_interrupt(void)
{
    char byte;

    t_int(read(interrupt[0], &byte, 1), 1);
}

/* ---- cleaning up ----------------------------------------------------------------------------- */

/*
 * Closing a session may be what another session's thread waits for, so threads are joined last. The
 * server notices a closed connection a little later, and the next test must not meet this test's
 * locks.
 */
static void close_idle_sessions(void)
{
    for (size_t i = 0; i < n_sessions; i++)
        if (sessions[i] && t_reap(sessions[i]) == 0) {
            rowlock_rollback(sessions[i], NULL);
            t_close(sessions[i]);
        }
}

static void roll_back_handles(void)
{
    char ignored[200];

    for (size_t i = 0; i < n_handles; i++)
        if (handles[i])
            t_engine()->sql(handles[i], "ROLLBACK", ignored, sizeof ignored);
}

/* A thread may wait for a lease that a closed session has left: the test has failed before it
   released it. */
static void delete_leases(void)
{
    static const char *const tables[] = {"DELETE FROM %s", "DELETE FROM %s",
                                         "UPDATE rowlock_name SET held = 0 WHERE held = 1"};
    void *handle = t_engine()->open(t_url());
    char ignored[200], text[100];

    for (size_t i = 0; handle && i < (lease_has_one_row() ? 1 : lease_has_views() ? 3 : 2); i++) {
        snprintf(text, sizeof text, tables[i], t_table(i ? "heartbeat" : "lease"));
        t_engine()->sql(handle, text, ignored, sizeof ignored);
    }
    if (handle)
        t_engine()->close(handle);
}

void t_enter_harness(void)
{
    t_error = (struct rowlock_error){0};
    tests_begun++;
}

void t_clean_harness(void)
{
    long long since = t_now();

    close_idle_sessions();
    if (t_reap(NULL) == 0)
        roll_back_handles();
    while (t_reap(NULL) > 0) {
        close_idle_sessions();
        t_pause(2);
        if (t_now() > since + 1000) {
            delete_leases();
            since = t_now();
        }
    }
    close_idle_sessions();
    t_free_threads();
    for (size_t i = 0; i < n_handles; i++)
        if (handles[i])
            t_engine()->close(handles[i]);
    if (n_sessions && getenv("ROWLOCK_TEST_TECHNIQUE") && t_engine()->end_forgotten)
        t_engine()->end_forgotten(t_admin());
    n_sessions = n_handles = 0;
    close_interrupt();
}

/* After fork the child uses neither the parent's sessions nor its threads. */
void t_enter_child(void)
{
    installed = 1;
    n_sessions = n_handles = 0;
    admin = NULL;
    t_forget_threads();
}

void t_close_harness(void)
{
    if (admin)
        t_engine()->close(admin);
    admin = NULL;
}

/* ---- the application's own statements -------------------------------------------------------- */

void t_left_is_true(struct rowlock_connection *connection)
{
    enum rowlock_transaction said = t_error.transaction;
    int open = t_engine()->in_transaction(t_handle(connection));
    const char *one = t_engine()->one ? t_engine()->one : "SELECT 1";
    int usable = !t_try_sql(t_handle(connection), "%s", one);

    t_int(open,
          said == ROWLOCK_TX_KEPT || said == ROWLOCK_TX_KEPT_LOCKED || said == ROWLOCK_TX_ABORTED);
    t_int(usable, said != ROWLOCK_TX_ABORTED && said != ROWLOCK_TX_DEAD);
}

void t_own_begin(void *handle, const char *const statements[2])
{
    for (int i = 0; i < 2; i++)
        if (statements[i])
            t_native_sql(handle, "%s", statements[i]);
}

/* ---- names and locks ------------------------------------------------------------------------- */

const char *t_name(int number)
{
    static char(*names)[64];
    static unsigned next;
    char *name;

    if (!names)
        names = t_shared(16 * sizeof *names);
    name = names[next++ % 16];
    snprintf(name, sizeof *names, "name %d of test %u of %ld", number, tests_begun, (long)getpid());
    return name;
}

struct rowlock_want t_x(const char *name)
{
    return (struct rowlock_want){.name = name, .mode = ROWLOCK_EXCLUSIVE};
}

struct rowlock_want t_s(const char *name)
{
    return (struct rowlock_want){.name = name, .mode = ROWLOCK_SHARED};
}

int t_begin(struct rowlock_connection *connection, struct rowlock_want want,
            rowlock_duration wait_ms)
{
    return rowlock_begin(connection, &want, 1, wait_ms, &t_error);
}

int t_lock(struct rowlock_connection *connection, struct rowlock_want want,
           rowlock_duration wait_ms)
{
    return rowlock_lock(connection, &want, 1, wait_ms, &t_error);
}

void t_lock_once(struct rowlock_connection *connection, struct rowlock_want want,
                 rowlock_duration wait_ms)
{
    t_ok(t_begin(connection, want, wait_ms));
    t_ok(rowlock_commit(connection, &t_error));
}

int t_is_free(struct rowlock_want want)
{
    struct rowlock_connection *other = t_open();
    int tries = t_facts()->limit_ends_session ? 3 : 1; /* see t_freed */
    int code;

    do
        code = t_begin(other, want, 0);
    while (code == ROWLOCK_EBUSY && --tries > 0);
    if (code != ROWLOCK_OK && code != ROWLOCK_EBUSY)
        t_fail(__FILE__, __LINE__, "t_is_free: %s", t_error.text);
    rowlock_rollback(other, NULL); /* the server notices a closed connection a little later */
    t_close(other);
    return code == ROWLOCK_OK;
}

int t_freed(int (*attempt)(struct rowlock_connection *connection, const void *data),
            struct rowlock_connection *connection, const void *data)
{
    long long begun = t_now();
    int code;

    do {
        code = attempt(connection, data);
        if (code == ROWLOCK_EBUSY && t_now() > begun + 15000 && t_engine()->end_forgotten)
            t_engine()->end_forgotten(t_admin());
    } while (code == ROWLOCK_EBUSY && t_facts()->limit_ends_session &&
             t_now() < begun + T_TIMEOUT_MS);
    return code;
}

struct wants {
    const struct rowlock_want *want;
    size_t count;
};

static int begin_wants(struct rowlock_connection *connection, const void *data)
{
    const struct wants *wants = data;

    return rowlock_begin(connection, wants->want, wants->count, 0, &t_error);
}

int t_begin_freed(struct rowlock_connection *connection, const struct rowlock_want *wants,
                  size_t count)
{
    return t_freed(begin_wants, connection, &(struct wants){wants, count});
}

int t_effort(int quick, int full)
{
    const char *effort = getenv("ROWLOCK_TEST_EFFORT");

    return effort && strcmp(effort, "quick") == 0 ? quick : full;
}

long long t_now(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000LL + now.tv_nsec / 1000000;
}

void t_pause(int milliseconds)
{
    nanosleep(&(struct timespec){milliseconds / 1000, milliseconds % 1000 * 1000000L}, NULL);
}
