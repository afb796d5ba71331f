/* SPDX-License-Identifier: Apache-2.0 */
/* Leases acquired through the library, in threads and in child processes (grants.h). */
#include "lib/grants.h"

#include <arpa/inet.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/harness.h"
#include "lib/lease.h"
#include "lib/proxy.h"

/* ---- one lease ------------------------------------------------------------------------------- */

struct rowlock_want t_p(const char *name, int limit, int count)
{
    return (struct rowlock_want){name, ROWLOCK_PERMIT, 0, limit, count};
}

int t_acquire_all(struct rowlock_connection *connection, const struct rowlock_want *wants, size_t n,
                  rowlock_duration ttl_ms, rowlock_duration wait_ms, struct rowlock_lease **out)
{
    struct rowlock_terms terms = {
        .ttl_ms = ttl_ms, .wait_ms = wait_ms, .note = "a note", .command = "a test"};

    return rowlock_acquire(connection, wants, n, &terms, out, &t_error);
}

int t_acquire(struct rowlock_connection *connection, struct rowlock_want want,
              rowlock_duration ttl_ms, rowlock_duration wait_ms, struct rowlock_lease **out)
{
    return t_acquire_all(connection, &want, 1, ttl_ms, wait_ms, out);
}

struct rowlock_lease *t_granted(struct rowlock_connection *connection, struct rowlock_want want,
                                rowlock_duration ttl_ms)
{
    struct rowlock_lease *lease = NULL;

    t_ok(t_acquire(connection, want, ttl_ms, 0, &lease));
    t_true(lease != NULL);
    return lease;
}

void t_give(struct rowlock_lease *lease)
{
    t_ok(rowlock_release(lease, &t_error));
    rowlock_lease_free(lease);
}

void t_give_lost(struct rowlock_lease *lease)
{
    t_fails(rowlock_release(lease, &t_error), ELOST);
    rowlock_lease_free(lease);
}

void t_grant_many(struct rowlock_connection *connection, struct rowlock_lease **leases, int n,
                  rowlock_duration ttl_ms)
{
    for (int i = 0; i < n; i++)
        leases[i] = t_granted(connection, t_x(t_say("many %d", i)), ttl_ms);
}

void t_give_many(struct rowlock_lease **leases, int n)
{
    for (int i = 0; i < n; i++)
        t_give(leases[i]);
}

int t_may_have(struct rowlock_want want)
{
    struct rowlock_connection *other = t_open();
    struct rowlock_lease *lease = NULL;
    int code = t_acquire(other, want, 0, 0, &lease);

    if (code != ROWLOCK_OK && code != ROWLOCK_EBUSY)
        t_fail(__FILE__, __LINE__, "t_may_have: %s", t_error.text);
    if (lease)
        t_give(lease);
    t_close(other);
    return code == ROWLOCK_OK;
}

long long t_until_free(struct rowlock_want want, long long limit_ms)
{
    struct rowlock_connection *other = t_open();
    struct rowlock_lease *lease = NULL;
    long long began = t_now();

    while (t_acquire(other, want, 0, 0, &lease) != 0) {
        if (t_error.code != ROWLOCK_EBUSY || t_now() > began + limit_ms)
            t_fail(__FILE__, __LINE__, "not free after %lld ms: %s", t_now() - began, t_error.text);
        t_pause(2);
    }
    t_give(lease);
    t_close(other);
    return t_now() - began;
}

/* ---- rows of the tables ---------------------------------------------------------------------- */

const char *waiter_table(void)
{
    return t_table("waiter");
}

static long count(void *hand, const char *table, const char *name)
{
    return atol(
        t_native_sql(hand, "SELECT count(*) FROM %s WHERE name = '%s'", table, t_key(name)));
}

long waiters_of(void *hand, const char *name)
{
    return count(hand, waiter_table(), name);
}

long leases_of(void *hand, const char *name)
{
    if (lease_has_one_row())
        return atol(t_native_sql(hand,
                                 "SELECT coalesce(sum(\"count\"), 0) FROM rowlock.lease "
                                 "WHERE token > 0 AND name = '%s'",
                                 name));
    return count(hand, lease_table(), name);
}

/* All threads of the test have ended, and it has no child process. */
static int nobody_queues(void)
{
    siginfo_t any;

    return t_reap(NULL) == 0 && waitid(P_ALL, 0, &any, WEXITED | WNOHANG | WNOWAIT) != 0;
}

void t_until_queued(void *hand, const char *name, long n)
{
    long long end = t_now() + T_TIMEOUT_MS;

    for (int ended = 0; waiters_of(hand, name) != n;) {
        if (t_now() > end || (ended && waiters_of(hand, name) < n))
            t_fail(__FILE__, __LINE__, "%ld wait for '%s', not %ld", waiters_of(hand, name), name,
                   n);
        ended = nobody_queues(); /* the next look is the last one */
        t_pause(2);
    }
}

void t_keep_places(void *hand, const char *name, const char *but)
{
    if (strcmp(t_facts()->engine, "sqlite") != 0)
        return;
    t_native_sql(hand, "DROP TRIGGER IF EXISTS \"keep %s\"", name);
    if (but)
        t_native_sql(hand,
                     "CREATE TRIGGER \"keep %s\" AFTER INSERT ON rowlock_waiter "
                     "WHEN new.name = '%s' AND new.pid NOT IN (%s) BEGIN UPDATE rowlock_waiter "
                     "SET alive_until = %s WHERE name = new.name AND ticket = new.ticket; END",
                     name, name, but, lease_instant(HOUR));
}

static long rows(void *hand, const char *table)
{
    return atol(t_native_sql(hand, "SELECT count(*) FROM %s", table));
}

const char *t_all_rows(void *hand)
{
    if (lease_has_one_row())
        return t_native_sql(hand, "SELECT 'leases ' || count(*) || ' heartbeats ' || "
                                  "count(DISTINCT token) || ' waiters ' || "
                                  "(SELECT count(*) FROM rowlock.waiter) FROM rowlock.lease "
                                  "WHERE token > 0");
    return t_say("leases %ld heartbeats %ld waiters %ld", rows(hand, lease_table()),
                 rows(hand, lease_heartbeat_table()), rows(hand, waiter_table()));
}

static long without(void *hand, const char *one, const char *other)
{
    return atol(t_native_sql(
        hand, "SELECT count(*) FROM %s WHERE token NOT IN (SELECT token FROM %s)", one, other));
}

long t_odd_rows(void *hand)
{
    return without(hand, lease_table(), lease_heartbeat_table()) +
           without(hand, lease_heartbeat_table(), lease_table());
}

void t_expire(void *hand, int64_t token)
{
    t_native_sql(hand, "UPDATE %s SET expires = %s WHERE token = %lld",
                 lease_heartbeat_table_of(token), lease_instant(-1000), (long long)token);
}

void t_forget_leases(void *hand)
{
    lease_delete_all(hand);
    t_native_sql(hand, "DELETE FROM %s", waiter_table());
}

/* ---- threads --------------------------------------------------------------------------------- */

static int acquire_work(struct rowlock_connection *connection, void *data,
                        struct rowlock_error *error)
{
    struct acquisition *a = data;
    struct rowlock_terms terms = {
        .ttl_ms = a->ttl_ms, .wait_ms = a->wait_ms, .note = "a note", .command = "a test"};
    int code = rowlock_acquire(connection, a->wants, a->n, &terms, &a->lease, error);

    if (code || !a->turn)
        return code;
    a->order = atomic_fetch_add(a->turn, 1) + 1;
    code = rowlock_release(a->lease, error);
    rowlock_lease_free(a->lease);
    a->lease = NULL;
    return code;
}

struct thread *t_acquire_thread(struct rowlock_connection *connection,
                                struct acquisition *acquisition)
{
    if (acquisition->n == 0)
        acquisition->n = 1;
    return t_thread(connection, acquire_work, acquisition);
}

struct thread *t_queue_thread(struct rowlock_connection *connection,
                              struct acquisition *acquisition, void *hand, long n)
{
    struct thread *thread = t_acquire_thread(connection, acquisition);

    t_until_queued(hand, acquisition->wants[0].name, n);
    return thread;
}

void t_join_and_give(struct thread *thread, const struct acquisition *acquisition)
{
    t_ok(t_join(thread));
    t_give(acquisition->lease);
}

/* ---- processes ------------------------------------------------------------------------------- */

struct child t_child(t_body *body, const void *data)
{
    struct child child;
    int fds[2];

    t_install();
    t_int(pipe(fds), 0);
    child.pid = t_fork(body, data, fds[1]);
    close(fds[1]);
    child.from = fds[0];
    return child;
}

static int speaks_within(const struct child *child, int ms)
{
    struct pollfd fd = {child->from, POLLIN, 0};

    return poll(&fd, 1, ms) > 0;
}

char t_hear(const struct child *child)
{
    char byte = '\0';

    if (!speaks_within(child, 60000))
        t_fail(__FILE__, __LINE__, "the child reports nothing");
    return read(child->from, &byte, 1) == 1 ? byte : '\0';
}

int t_has_spoken(const struct child *child)
{
    return speaks_within(child, 0);
}

int t_await_child(struct child *child)
{
    int status = 0;

    waitpid(child->pid, &status, 0);
    close(child->from);
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

void t_end_child(struct child *child, int signal)
{
    kill(child->pid, signal);
    t_await_child(child);
}

int t_hold_body(const void *data, int to)
{
    const struct holder_plan *plan = data;
    struct rowlock_terms terms = {.ttl_ms = plan->ttl_ms, .wait_ms = plan->wait_ms};
    struct rowlock_connection *connection = NULL;
    struct rowlock_lease *lease = NULL;
    struct rowlock_error error = {0};
    int code = rowlock_open(plan->url ? plan->url : t_url(), t_usual(), &connection, &error);

    if (!code)
        code = rowlock_acquire(connection, &plan->want, 1, &terms, &lease, &error);
    if (code)
        fprintf(stderr, "# a child: %s\n", error.text);
    if (write(to, code ? "x" : "!", 1) != 1)
        return 1;
    for (;;)
        pause();
}

void t_overtakes_frozen(struct rowlock_connection *one, struct rowlock_connection *two,
                        const char *url, int ms)
{
    struct rowlock_lease *lease = t_granted(one, t_x("frozen"), HOUR);
    struct holder_plan plan = {.want = t_x("frozen"), .ttl_ms = HOUR, .wait_ms = -1, .url = url};
    struct acquisition us = {.wants = {t_x("frozen")}, .ttl_ms = HOUR, .wait_ms = -1};
    struct child child = t_child(t_hold_body, &plan);
    struct thread *thread;
    long long began;
    void *hand = t_native();

    t_until_queued(hand, "frozen", 1);
    kill(child.pid, SIGSTOP);
    thread = t_acquire_thread(two, &us);
    t_until_queued(hand, "frozen", 2);
    began = t_now();
    t_give(lease);
    t_ok(t_join(thread));
    print_message("# overtaken after %lld ms\n", t_now() - began);
    t_within(began, ms);
    t_int(t_has_spoken(&child), 0);
    kill(child.pid, SIGCONT);
    t_until_queued(hand, "frozen", 1);
    t_int(t_has_spoken(&child), 0);
    t_give(us.lease);
    t_int(t_hear(&child), '!');
    t_int(leases_of(hand, "frozen"), 1);
    t_end_child(&child, SIGKILL);
    t_forget_leases(hand);
}

/* ---- sessions on the server ------------------------------------------------------------------ */

/* The digits in the URL under test: "Port=1433", "127.0.0.1,1433", "127.0.0.1:1433". */
static const char *port_in_url(void)
{
    const char *odbc = strstr(t_url(), "Port="), *host = strstr(t_url(), "127.0.0.1:");
    const char *server = strstr(t_url(), "127.0.0.1,");

    host = host ? host : server;
    return odbc ? odbc + 5 : host ? host + 10 : strrchr(t_url(), ':') + 1;
}

int t_port(void)
{
    return atoi(port_in_url());
}

int t_silent_port(int *fd)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;

    *fd = socket(AF_INET, SOCK_STREAM, 0);
    t_int(bind(*fd, (struct sockaddr *)&address, sizeof address), 0);
    t_int(listen(*fd, 5), 0);
    t_int(getsockname(*fd, (struct sockaddr *)&address, &length), 0);
    return ntohs(address.sin_port);
}

#define URL_SIZE 600

const char *t_url_at(int port)
{
    static char *url;
    const char *digits = port_in_url(), *more = ""; /* what the proxy can read */

    if (t_is_postgresql() && !t_facts()->plain)
        more = "?sslmode=disable&gssencmode=disable";
    else if (t_is_postgresql() && t_is_jdbc())
        more = "&sslmode=disable";
    if (!url)
        url = t_shared(URL_SIZE);
    snprintf(url, URL_SIZE, "%.*s%d%s%s", (int)(digits - t_url()), t_url(), port,
             digits + strspn(digits, "0123456789"), more);
    return url;
}

int t_next_cut(int n, int stride)
{
    return n + (n < 12 ? 1 : t_facts()->plain ? 7 : stride);
}

const char *t_url_of(const char *database)
{
    const char *name = strcasestr(t_url(), "Database="); /* or databaseName=, of SQL Server */
    const char *start;

    name = name ? name : strcasestr(t_url(), "databaseName=");
    start = name ? strchr(name, '=') : strrchr(t_url(), '/');
    return t_say("%.*s%s%s", (int)(start + 1 - t_url()), t_url(), database,
                 start + strcspn(start, ";?"));
}

/* The query counts that many; its %ld is `number`. */
static int count_of(const char *query, long number)
{
    return atoi(t_native_sql(t_admin(), query, number));
}

/* The id of the n-th session on the database under test, without the superuser's; 0: none. */
static long session_number(size_t n)
{
    if (!t_engine()->numbered)
        t_fail(__FILE__, __LINE__, "the sessions of %s cannot be listed", t_engine()->name);
    return atol(t_native_sql(t_admin(), t_engine()->numbered, n));
}

/* Kills the sessions that exist now. A session that reconnects meanwhile survives. */
void t_kill_all_sessions(void)
{
    long sessions[64];
    size_t n = 0;

    if (t_engine()->cut_all) {
        t_engine()->cut_all(t_admin());
        return;
    }
    while (n < sizeof sessions / sizeof *sessions && (sessions[n] = session_number(n)) > 0)
        n++;
    for (size_t i = 0; i < n; i++)
        t_engine()->kill(t_admin(), sessions[i]);
}

int t_sessions(void)
{
    int n = 0;

    if (t_engine()->sessions)
        return count_of(t_engine()->sessions, 0);
    while (session_number((size_t)n) > 0)
        n++;
    return n;
}

int t_lockers(void)
{
    return t_engine()->lockers ? count_of(t_engine()->lockers, 0) : 0;
}

int t_kill_session(int n)
{
    long session = session_number((size_t)n);

    if (session > 0)
        t_engine()->kill(t_admin(), session);
    return session > 0;
}

void t_until_sessions(int n)
{
    t_until(t_sessions() <= n);
}

int t_somebody_waits(void)
{
    long session;

    if (t_engine()->waits)
        return count_of(t_engine()->waits, 0) > 0;
    for (size_t i = 0; (session = session_number(i)) > 0; i++)
        if (t_engine()->is_waiting(t_admin(), session))
            return 1;
    return 0;
}

void t_until_somebody_waits(void)
{
    t_until(t_somebody_waits());
}

void t_until_table_waits(int n)
{
    const char *query = t_is_postgresql()
                            ? "SELECT count(*) FROM pg_stat_activity WHERE datname = "
                              "current_database() AND wait_event = 'relation'"
                            : "SELECT count(*) FROM " T_PROCESSLIST " WHERE db = "
                              "database() AND state = 'Waiting for table metadata lock'";

    t_until(count_of(query, 0) >= n);
}

int t_server_polls(struct rowlock_connection *connection)
{
    long session = t_engine()->session(t_handle(connection));
    const char *query = t_is_postgresql()
                            ? "SELECT count(*) FROM pg_stat_activity WHERE pid = %ld AND "
                              "wait_event = 'PgSleep'"
                            : "SELECT count(*) FROM " T_PROCESSLIST " WHERE id = %ld "
                              "AND state = 'User sleep'";

    return count_of(query, session) > 0;
}

void t_until_server_polls(struct rowlock_connection *connection)
{
    t_until(t_server_polls(connection));
}

int t_protocol(void)
{
    static const char *const mariadb[] = {"mariadb", "mysql", "tidb"};

    for (size_t i = 0; i < sizeof mariadb / sizeof *mariadb; i++)
        if (strcmp(t_engine()->name, mariadb[i]) == 0)
            return 0;
    return t_is_postgresql() ? 1 : -1;
}

const char *t_proxied_url(struct proxy **proxy)
{
    if (!*proxy)
        *proxy = proxy_start(t_port(), t_protocol());
    proxy_cut_all(*proxy);
    proxy_settle(*proxy);
    proxy_arm(*proxy, PROXY_NONE, PROXY_TO_SERVER, 0);
    return t_url_at(proxy_port(*proxy));
}
