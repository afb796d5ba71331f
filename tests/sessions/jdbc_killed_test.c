/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Servers in Java whose settings would let them forget grants: the settings are changed, or refused
 * with a statement that helps. The servers are this test's own, with databases in files.
 * Runs on: alone
 * Quick: never
 */
#include <signal.h>
#include <string.h>

#include "lib/jdbc.h"
#include "lib/test.h"
#include "lib/transport.h"

#define ROUNDS 2 /* the second one with a database that a session has opened again */
#define GRANTS 5
#define LONG_MS 600000 /* a ttl that does not pass in a test */

/* On a loaded machine, a JVM's first statements are slow. */
static const struct rowlock_options patient = {.connect_ms = 60000, .statement_ms = 60000};

static pid_t start(const struct t_jdbc_facts *on, const char *name, char *url, size_t size)
{
    t_java_runs = 1;
    return t_jdbc_start_server(on, name, url, size);
}

static int try_open(const char *url, struct rowlock_connection **out)
{
    int code = rowlock_open(url, &patient, out, &t_error);

    if (!code)
        t_adopt(*out);
    return code;
}

/* HSQLDB opens the files of a killed server only when its heartbeat in them is 10 s old. */
static void until_open(const char *url, struct rowlock_connection **out)
{
    int64_t end = t_now() + 60000;
    int code = try_open(url, out);

    while (code == ROWLOCK_EDB && strstr(t_error.text, "checkHeartbeat") && t_now() < end)
        code = try_open(url, out);
    t_ok(code);
}

static int grant(struct rowlock_connection *connection, int number)
{
    struct rowlock_terms terms = {.ttl_ms = LONG_MS};
    struct rowlock_lease *lease = NULL;
    struct rowlock_want want;
    int code;
    const char *name = t_say("grant %d", number);

    want = (struct rowlock_want){.name = name, .mode = ROWLOCK_EXCLUSIVE};
    code = rowlock_acquire(connection, &want, 1, &terms, &lease, &t_error);
    if (!code)
        rowlock_lease_free(lease);
    return code;
}

/* Kills the server right after it has answered, and starts it again. */
static void keeps_grants(const struct t_jdbc_facts *on)
{
    struct rowlock_connection *connection;
    char url[500];
    int granted = 0;
    pid_t server = start(on, "killed", url, sizeof url);

    t_ok(try_open(url, &connection));
    t_ok(rowlock_install(connection, NULL, &t_error));
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < GRANTS; i++)
            t_ok(grant(connection, granted++));
        kill(server, SIGKILL);
        server = start(on, "killed", url, sizeof url);
        until_open(url, &connection);
        for (int i = 0; i < granted; i++)
            t_fails(grant(connection, i), EBUSY);
    }
    kill(server, SIGKILL);
}

TEST(jdbc_p1_a_killed_derby_keeps_every_grant)
{
    keeps_grants(&t_jdbc_derby);
}

TEST(jdbc_p1_a_killed_h2_keeps_every_grant)
{
    keeps_grants(&t_jdbc_h2);
}

TEST(jdbc_p1_a_killed_hsqldb_keeps_every_grant)
{
    keeps_grants(&t_jdbc_hsqldb);
}

/* ---- refusals -------------------------------------------------------------------------------- */

static void run_as_admin(const char *url, const char *statement)
{
    struct rowlock_source source = {.url = url, .interrupt_fd = -1};
    struct transport *admin = transport_open("jdbc", &source);
    char answer[300] = "";

    t_true(admin != NULL);
    if (transport_sql(admin, statement, answer, sizeof answer) != 0)
        t_fail(__FILE__, __LINE__, "%s: %s", statement, answer);
    transport_close(admin);
}

/* The URL, of the account app. */
static const char *of_app(const char *url)
{
    const char *user = strcasestr(url, "user=");

    return t_say("%.*s%.5sAPP;%s", (int)(user - url), url, user,
                 *user == 'U' ? "PASSWORD=secret" : "password=secret");
}

/* The refusal of `opened` ends with a statement, which an administrator runs. */
static void is_refused_until_followed(const char *opened, const char *admin, const char *statement)
{
    struct rowlock_connection *connection;
    const char *advice, *name;

    t_fails(try_open(opened, &connection), ESERVER);
    advice = strstr(t_error.text, "run: ");
    t_true(advice != NULL);
    t_text(advice + strlen("run: "), statement);
    name = strstr(statement, "NAME");
    run_as_admin(admin, t_say("%.*s%s%s", (int)(name ? name - statement : 0), statement,
                              name ? "app" : "", name ? name + strlen("NAME") : statement));
    t_ok(try_open(opened, &connection));
}

TEST(jdbc_h2_refuses_an_account_that_cannot_turn_the_write_delay_off_and_a_delay_in_the_url)
{
    struct rowlock_connection *connection;
    char url[500];
    pid_t server = start(&t_jdbc_h2, "refuses", url, sizeof url);

    run_as_admin(url, "CREATE USER app PASSWORD 'secret'");
    is_refused_until_followed(of_app(url), url, "ALTER USER NAME ADMIN TRUE");
    strncat(url, ";WRITE_DELAY=500", sizeof url - strlen(url) - 1);
    t_fails(try_open(url, &connection), EINVAL);
    t_contains(t_error.text, "leave WRITE_DELAY out of the URL");
    strcpy(strstr(url, ";WRITE_DELAY"), ";WRITE_DELAY=0");
    t_ok(try_open(url, &connection));
    kill(server, SIGKILL);
}

TEST(jdbc_hsqldb_refuses_settings_that_keep_no_lock_and_an_account_that_cannot_see_them)
{
    static const char *const settings[][2] = {
        {"SET FILES LOG FALSE", "SET FILES LOG TRUE"},
        {"SET DATABASE TRANSACTION CONTROL LOCKS", "SET DATABASE TRANSACTION CONTROL MVCC"},
        {"SET DATABASE TRANSACTION CONTROL MVLOCKS", "SET DATABASE TRANSACTION CONTROL MVCC"},
    };
    char url[500];
    pid_t server = start(&t_jdbc_hsqldb, "settings", url, sizeof url);

    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) {
        run_as_admin(url, settings[i][0]);
        is_refused_until_followed(url, url, settings[i][1]);
    }
    run_as_admin(url, "CREATE USER app PASSWORD 'secret'");
    is_refused_until_followed(of_app(url), url, "GRANT DBA TO \"APP\"");
    kill(server, SIGKILL);
}
