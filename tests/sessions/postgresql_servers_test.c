/* SPDX-License-Identifier: Apache-2.0 */
/*
 * PostgreSQL with other components: a hot standby, which can hold no lock; a pooler that assigns a
 * backend to each transaction only; and a server that crashes.
 *
 * Runs on: postgresql
 * Quick: first
 * Rest: postgresql/native
 */
#include <libpq-fe.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/extra.h"
#include "lib/grants.h"
#include "lib/jdbc.h"
#include "lib/proxy.h"
#include "lib/test.h"
#include "lib/transport.h"
#include "rowlock/postgresql.h"

static void install_at(const char *url)
{
    struct rowlock_connection *connection;
    struct rowlock_want want = t_x("there");

    t_install_at(url);
    connection = t_open_at(url, NULL);
    t_ok(rowlock_prepare(connection, &want, 1, &t_error));
    t_close(connection);
}

TEST(trap_a_standby)
{
    const char *primary = extra_name("primary"), *standby = extra_name("standby");
    const char *url = extra_postgresql(primary, "");
    struct rowlock_connection *connection = NULL;
    struct rowlock_lease *none = NULL;
    void *handle;
    int port;

    install_at(url);
    port = atoi(strrchr(url, ':') + 1);
    url = extra_standby(standby, primary);
    t_fails(rowlock_open(url, NULL, &connection, &t_error), ESERVER);
    /* several hosts mean the primary */
    connection = t_open_at(t_say("postgresql://postgres@127.0.0.1:%d,127.0.0.1:%d/postgres",
                                 atoi(strrchr(url, ':') + 1), port),
                           NULL);
    t_ok(t_begin(connection, t_x("there"), 0));
    t_close(connection);
    handle = t_native_at(url);
    t_text(t_native_sql(handle, "SELECT pg_is_in_recovery()"), "t");
    connection = t_wrap_handle(handle, NULL);
    t_fails(t_begin(connection, t_x("there"), 0), ESERVER);
    t_left(NONE);
    t_fails(t_acquire(connection, t_x("there"), 0, 0, &none), ESERVER);
    t_native_sql(handle, "BEGIN");
    t_fails(t_lock(connection, t_x("there"), 0), ESERVER);
    t_native_sql(handle, "ROLLBACK");
    t_native_sql(handle, "BEGIN");
    t_fails(rowlock_fence(connection, "there", 1, &t_error), ESERVER);
    t_native_sql(handle, "ROLLBACK");
    t_int(t_try_sql(handle, "SELECT rowlock.exclusive('there')"), 1);
    t_close(connection);
    t_engine()->close(handle);
    extra_stop(standby);
    extra_stop(primary);
}

/* ---- a transaction pooler -------------------------------------------------------------------- */

static void exclude_each_other(struct rowlock_connection *one, struct rowlock_connection *two)
{
    struct rowlock_want want = t_x("pooled"), later = t_x("pooled later");
    struct rowlock_want both[] = {want, later};
    struct thread *thread;

    t_ok(rowlock_prepare(one, both, 2, &t_error));
    for (int i = 0; i < 12; i++) {
        struct rowlock_connection *a = i % 2 ? one : two, *b = i % 2 ? two : one;

        t_ok(t_begin(a, want, i % 3 ? -1 : 2000));
        t_fails(t_begin(b, want, 0), EBUSY);
        t_fails(t_begin(b, want, 20), ETIMEDOUT);
        t_ok(t_lock(a, later, 2000));
        thread = t_begin_thread(b, later, 60000);
        t_int(t_is_done(thread), 0);
        t_ok(rowlock_commit(a, &t_error));
        t_ok(t_join(thread));
        t_fails(t_begin(a, later, 0), EBUSY);
        t_ok(rowlock_commit(b, &t_error));
    }
}

TEST(trap_a_transaction_pooler)
{
    struct rowlock_connection *own[2], *borrowed[2], *direct = t_open();
    void *handle[2];

    for (int i = 0; i < 2; i++) {
        own[i] = extra_pooled(NULL);
        handle[i] = t_native_at(extra_pooled_url());
        borrowed[i] = t_wrap_handle(handle[i], NULL);
    }
    exclude_each_other(borrowed[0], borrowed[1]);
    exclude_each_other(borrowed[0], direct);
    exclude_each_other(own[0], own[1]);
    exclude_each_other(own[0], borrowed[1]);
    exclude_each_other(own[1], direct);
    /* no session setting is left on a backend that other clients get */
    t_text(t_sql(borrowed[0], "SHOW lock_timeout"), "0");
    for (int i = 0; i < 2; i++) {
        t_close(own[i]);
        t_close(borrowed[i]);
        t_engine()->close(handle[i]);
    }
}

/* ---- several hosts in one URL ---------------------------------------------------------------- */

/* The URL under test with three hosts: one that refuses, a silent one, and the server. */
static const char *url_of_three(int silent, const char *option)
{
    return t_say("postgresql://tester@127.0.0.1:1,127.0.0.1:%d,127.0.0.1:%d%s%s", silent, t_port(),
                 strrchr(t_url(), '/'), option);
}

TEST(a_silent_host_of_a_url_does_not_hide_the_next)
{
    static const char *const options[] = {"?target_session_attrs=read-write",
                                          "?target_session_attrs=read-write&connect_timeout=1"};
    struct rowlock_options times = {.connect_ms = 6000};
    struct rowlock_connection *connection;
    int fd, port = t_silent_port(&fd);

    t_install();
    for (int i = 0; i < 2; i++) {
        connection = t_open_at(url_of_three(port, options[i]), &times);
        t_text(t_error.text, "");
        t_ok(t_begin(connection, t_x("third"), 0));
        t_ok(rowlock_rollback(connection, &t_error));
    }
    close(fd);
}

TEST(the_error_of_several_hosts_names_each_of_them)
{
    struct rowlock_options times = {.connect_ms = 600};
    struct rowlock_connection *connection = NULL;
    int fd, port = t_silent_port(&fd);
    const char *silent = t_say("127.0.0.1:%d: the server did not answer in time", port);
    const char *first = t_say("postgresql://tester:hunter2@127.0.0.1:%d,127.0.0.1:1/x", port);
    const char *second = t_say("postgresql://tester:hunter2@127.0.0.1:1,127.0.0.1:%d/x", port);
    long long began = t_now();

    t_fails(rowlock_open(first, &times, &connection, &t_error), ECONN);
    t_contains(t_error.text, silent);
    t_contains(t_error.text, "; connection to server at \"127.0.0.1\", port 1 failed");
    t_fails(rowlock_open(second, &times, &connection, &t_error), ECONN);
    t_contains(t_error.text, "connection to server at \"127.0.0.1\", port 1 failed");
    t_contains(t_error.text, silent);
    t_lacks(t_error.text, "hunter2");
    t_true(t_now() - began >= 900);
    close(fd);
}

TEST(a_database_that_one_host_refuses_is_refused)
{
    struct rowlock_connection *connection = NULL;

    t_fails(rowlock_open(t_say("postgresql://tester@127.0.0.1:%d,127.0.0.1:1/nowhere", t_port()),
                         NULL, &connection, &t_error),
            EDENIED);
    t_contains(t_error.text, "nowhere");
}

/* ---- a commit that the synchronous standby does not confirm ---------------------------------- */

static struct rowlock_connection *open_within(const char *url, rowlock_duration statement_ms)
{
    struct rowlock_options options = {.connect_ms = 3000, .statement_ms = statement_ms};

    return t_open_at(url, &options);
}

/* The setting takes effect when the checkpointer has read it, which no session can see. */
static int commit_until_it_fails(struct rowlock_connection *connection)
{
    int code = ROWLOCK_OK;

    for (long long end = t_now() + T_TIMEOUT_MS; !code && t_now() < end;) {
        t_ok(t_begin(connection, t_x("another"), 0));
        t_sql(connection, "INSERT INTO written VALUES (1)");
        code = rowlock_commit(connection, &t_error);
    }
    return code;
}

/* If the wait for the standby is canceled, the server commits locally and reports success. After a
   fail-over that commit would be missing, so it must not be reported as one. */
TEST(p1_what_the_standby_did_not_confirm_is_not_granted)
{
    struct rowlock_want names[] = {t_x("another"), t_x("b"), t_x("c")};
    struct rowlock_connection *two, *keeper;
    struct rowlock_lease *lease = NULL, *another = NULL;
    const char *name = extra_name("unconfirmed"), *url = extra_postgresql(name, "");
    void *hand;

    install_at(url);
    keeper = open_within(url, 1500);
    two = open_within(url, 1500);
    t_ok(t_acquire(keeper, t_x("there"), 60000, 0, &lease));
    t_ok(rowlock_prepare(two, names, 3, &t_error));
    hand = t_engine()->open(url);
    t_native_sql(hand, "CREATE TABLE written (n integer)");
    t_native_sql(hand, "ALTER SYSTEM SET synchronous_standby_names = 'absent'");
    t_native_sql(hand, "SELECT pg_reload_conf()");
    t_until(strcmp(t_native_sql(hand, "SHOW synchronous_standby_names"), "absent") == 0);
    /* a transaction, a renewal, a grant, a grant with a wait */
    t_fails(commit_until_it_fails(two), EUNKNOWN);
    t_contains(t_error.text, "standby");
    t_left(DEAD);
    t_fails(rowlock_renew(lease, 0, &t_error), ECONN);
    two = open_within(url, 1500);
    t_fails(t_acquire(two, t_x("b"), 60000, 0, &another), ECONN);
    t_contains(t_error.text, "standby");
    two = open_within(url, 1500);
    t_fails(t_acquire(two, t_x("c"), 60000, 2000, &another), ECONN);
    /* the standby is given up: the lease is still there, and continues */
    t_native_sql(hand, "ALTER SYSTEM RESET synchronous_standby_names");
    t_native_sql(hand, "SELECT pg_reload_conf()");
    t_until(strcmp(t_native_sql(hand, "SHOW synchronous_standby_names"), "") == 0);
    t_until(rowlock_renew(lease, 0, &t_error) == ROWLOCK_OK);
    t_give(lease);
    t_engine()->close(hand);
    t_close(keeper);
    t_close(two);
    extra_stop(name);
}

/* ---- the same through ODBC and JDBC ---------------------------------------------------------- */

/* The setting takes effect when the checkpointer has read it. */
static int commit_repeatedly(struct rowlock_connection *connection, void *none,
                             struct rowlock_error *error)
{
    struct rowlock_want want = t_x("there");
    int code = ROWLOCK_OK;

    (void)none;
    for (long long end = t_now() + 60000; !code && t_now() < end;) {
        code = rowlock_begin(connection, &want, 1, 0, error);
        if (!code)
            code = rowlock_commit(connection, error);
    }
    return code;
}

/* An operator cancels the wait of a COMMIT for its standby. */
static void unconfirmed_through(const char *format, const char *driver)
{
    struct rowlock_connection *committer;
    struct rowlock_want want = t_x("there");
    const char *name = extra_name("unconfirmed-plain"), *admin = extra_postgresql(name, "");
    struct thread *thread;
    void *hand;

    committer = t_open_at(t_say(format, atoi(strrchr(admin, ':') + 1), driver),
                          &(struct rowlock_options){.connect_ms = 60000, .statement_ms = 60000});
    t_ok(rowlock_install(committer, NULL, &t_error));
    t_ok(rowlock_prepare(committer, &want, 1, &t_error));
    hand = t_engine()->open(admin);
    t_native_sql(hand, "ALTER SYSTEM SET synchronous_standby_names = 'absent'");
    t_native_sql(hand, "SELECT pg_reload_conf()");
    thread = t_thread(committer, commit_repeatedly, NULL);
    while (!t_is_done(thread))
        t_native_sql(hand, "SELECT count(pg_cancel_backend(pid)) FROM pg_stat_activity "
                           "WHERE wait_event = 'SyncRep'");
    t_fails(t_join(thread), EUNKNOWN);
    t_contains(t_error.text, "the synchronous standby did not confirm it");
    t_left(DEAD);
    t_engine()->close(hand);
    t_close(committer);
    extra_stop(name);
}

TEST(p1_what_the_standby_did_not_confirm_is_not_granted_through_odbc)
{
    if (strstr(rowlock_version(), "odbc"))
        unconfirmed_through("odbc:Server=127.0.0.1;Port=%d;Database=postgres;UID=postgres;"
                            "Driver=%s",
                            t_odbc_driver("psqlodbcw.so"));
}

TEST(p1_what_the_standby_did_not_confirm_is_not_granted_through_jdbc)
{
    t_java_runs = 1;
    if (strstr(rowlock_version(), "jdbc"))
        unconfirmed_through("jdbc:postgresql://127.0.0.1:%d/postgres?user=%s", "postgres");
}

/* ---- sessions that end ----------------------------------------------------------------------- */

static int wait_for_ever(const void *want, int to)
{
    struct rowlock_connection *connection = NULL;

    (void)to;
    return rowlock_open(t_url(), NULL, &connection, NULL) ||
           rowlock_begin(connection, want, 1, -1, NULL);
}

/* The server can report the lost client while the wait continues. */
TEST(p6_a_waiter_that_is_killed_is_noticed_while_it_waits)
{
    struct rowlock_connection *holder = t_open();
    struct rowlock_want want = t_x("noticed");
    struct child child;
    int sessions;

    extra_needs_version(14); /* client_connection_check_interval */
    t_ok(t_begin(holder, want, 0));
    sessions = t_sessions();
    child = t_child(wait_for_ever, &want);
    t_until_somebody_waits();
    t_end_child(&child, SIGKILL);
    t_until_sessions(sessions);
    t_ok(rowlock_commit(holder, &t_error));
}

/* jit=on is PostgreSQL's default; the servers of the tests have it off. */
TEST(a_session_of_rowlocks_own_compiles_no_query_and_a_wrapped_one_keeps_its_setting)
{
    struct rowlock_connection *own, *wrapped;
    void *handle;
    const char *url =
        t_say("%s%coptions=-c%%20jit%%3Don", t_url(), strchr(t_url(), '?') ? '&' : '?');

    own = t_open_at(url, NULL);
    handle = t_native_at(url);
    wrapped = t_wrap_handle(handle, NULL);
    t_ok(t_begin(wrapped, t_x(t_name(1)), 0));
    t_text(t_sql(own, "SHOW jit"), "off");
    t_text(t_sql(wrapped, "SHOW jit"), "on");
    t_ok(rowlock_commit(wrapped, &t_error));
    t_close(wrapped);
    t_engine()->close(handle);
}

/* The client's socket is replaced by a dead one, and a copy of it stays open: the server cannot
   notice. */
TEST(a_lost_session_that_the_server_still_has_is_ended_after_reconnecting)
{
    struct rowlock_connection *connection = t_open(), *other = t_open();
    struct rowlock_want want = t_x(t_name(1));
    struct rowlock_terms terms = {.ttl_ms = 60000, .wait_ms = 5000};
    struct rowlock_lease *lease = NULL;
    int pair[2], kept, sessions = t_sessions();

    /* the next session of the connection does not have these settings */
    PQclear(PQexec(rowlock_postgresql_handle(connection),
                   "SET TimeZone = 'Asia/Tokyo'; SET DateStyle = 'German'"));
    t_ok(rowlock_acquire(connection, &want, 1, &terms, &lease, &t_error));
    t_ok(rowlock_release(lease, &t_error));
    rowlock_lease_free(lease);
    kept = dup(rowlock_socket(connection));
    t_int(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    close(pair[1]);
    t_int(dup2(pair[0], rowlock_socket(connection)) < 0, 0);
    close(pair[0]);
    t_ok(rowlock_acquire(connection, &want, 1, &terms, &lease, &t_error));
    t_until_sessions(sessions);
    t_ok(rowlock_release(lease, &t_error));
    rowlock_lease_free(lease);
    close(kept);
    t_close(other);
}

/* The reply of the statement that grants a free name is on its way, and the lease committed. */
TEST(p1_a_lease_whose_reply_a_crash_took_is_found_by_its_owner)
{
    const char *name = extra_name("crashes"), *url = extra_postgresql(name, "");
    struct proxy *proxy = proxy_start(atoi(strrchr(url, ':') + 1), 1);
    struct acquisition acquisition = {{t_x("there")}, .ttl_ms = 600000, .wait_ms = 60000};
    struct rowlock_connection *connection;
    struct thread *thread;
    void *hand;

    install_at(url);
    hand = t_native_at(url);
    connection =
        t_open_at(t_say("postgresql://postgres@127.0.0.1:%d/postgres", proxy_port(proxy)), NULL);
    t_give(t_granted(connection, t_x("there"), 0)); /* it verifies the session */
    proxy_hold(proxy, PROXY_TO_CLIENT, 0, -1);
    thread = t_acquire_thread(connection, &acquisition);
    t_until(atoi(t_native_sql(hand, "SELECT count(*) FROM rowlock.lease WHERE token > 0")) == 1);
    t_engine()->close(hand);
    extra_shell("stop_server %s KILL; start_postgresql %s", name, name);
    proxy_arm(proxy, PROXY_NONE, PROXY_TO_CLIENT, 0);
    proxy_cut_all(proxy);
    t_ok(t_join(thread));
    hand = t_native_at(url);
    t_int(atoll(t_native_sql(hand, "SELECT max(token) FROM rowlock.lease")),
          rowlock_token(acquisition.lease));
    t_text(t_native_sql(hand, "SELECT count(*) FROM rowlock.lease WHERE token > 0"), "1");
    t_give(acquisition.lease);
    t_close(connection);
    t_engine()->close(hand);
    proxy_stop(proxy);
    extra_stop(name);
}
