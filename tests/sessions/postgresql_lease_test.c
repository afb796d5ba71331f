/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The grant of a lease on PostgreSQL against concurrent events: fences under way, the order of a
 * sweep, frozen clients, session locks. The functions of the schema are called step by step from
 * plain sessions; lease_steps_test has what MariaDB does too.
 *
 * Runs on: postgresql
 * Quick: first
 * Rest: postgresql/native
 */
#include <libpq-fe.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/grants.h"
#include "lib/harness.h"
#include "lib/hand.h"
#include "lib/lease.h"
#include "lib/test.h"

#define X(name) ((struct hand_terms){.wants = name ":x:0:0"})
#define BEGIN "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE"

static const char *in_the_way(int status, long long number)
{
    static char text[60];

    snprintf(text, sizeof text, "%d|%lld", status, number);
    return text;
}

TEST(a2_a3_no_grant_in_a_frozen_snapshot)
{
    void *hand = hand_fresh();

    hand_row(hand, "SET default_transaction_isolation = 'repeatable read'");
    hand_row(hand, "BEGIN");
    hand_start(hand, "SELECT * FROM rowlock.grant_lease(%s, 'o', 1000, 0, 0, 0, '', 0, '', '')",
               hand_arrays("a:x:0:0"));
    t_text(hand_finish(hand), "RL001");
    hand_row(hand, "ROLLBACK");
    t_forget_leases(hand);
    hand_lease(hand, "a:x:0:0"); /* its BEGIN states the isolation level */
}

/* ---- fences ---------------------------------------------------------------------------------- */

TEST(p4_p11_a_fence_leaves_the_transaction_usable)
{
    void *holder = hand_fresh(), *other = hand_open();
    long long token = hand_lease(holder, "a:x:0:0");

    hand_row(other, BEGIN "; DELETE FROM rowlock.lease WHERE token = %lld", token);
    hand_row(holder, BEGIN);
    t_int(hand_number(holder, "SELECT status FROM rowlock.fence('a', %lld, 30)", token), 2);
    t_text(hand_row(holder, "SHOW lock_timeout"), "0");
    t_int(hand_number(holder, "SELECT status FROM rowlock.fence('b', %lld, 30)", token), 8);
    hand_row(holder, "COMMIT");
    /* above READ COMMITTED the server raises an error for a deleted row */
    hand_row(holder, "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM rowlock.lease");
    hand_row(other, "COMMIT");
    t_int(hand_number(holder, "SELECT status FROM rowlock.fence('a', %lld, 30)", token), 8);
    hand_row(holder, "COMMIT");
    hand_row(holder, "BEGIN READ ONLY");
    t_text(
        hand_row(holder, "SELECT status, left(detail, 5) FROM rowlock.fence('a', %lld, 30)", token),
        "10|25006");
    hand_row(holder, "COMMIT");
    hand_row(holder, BEGIN);
    hand_start(holder, "SELECT rowlock.fence('a', %lld)", token);
    t_text(hand_finish(holder), "RL005");
    hand_row(holder, "ROLLBACK");
}

/* ---- sweeps ---------------------------------------------------------------------------------- */

TEST(h3_a_sweep_of_several_names_goes_by_name)
{
    void *one = hand_fresh(), *other = hand_open();
    long long first = hand_lease(one, "b:x:0:0"), second = hand_lease(one, "a:x:0:0");

    hand_expire(one, first);
    hand_expire(one, second);
    hand_row(one, BEGIN "; SELECT token FROM rowlock.lease WHERE token = %lld FOR UPDATE", second);
    hand_start_waiting(other, "b:x:0:0,a:x:0:0");
    /* it waits for the first name, whatever the order of tokens, and has not touched the second */
    t_text(hand_row(one, "SELECT token FROM rowlock.lease WHERE token = %lld FOR UPDATE NOWAIT",
                    first),
           in_the_way(3, first) + 2);
    hand_row(one, "COMMIT");
    t_contains(hand_finish(other), "0||");
    hand_row(other, "COMMIT");
    t_int(hand_number(one, "SELECT count(DISTINCT token) FROM rowlock.lease"), 1);
    t_int(hand_number(one, "SELECT count(*) FROM rowlock.lease WHERE token > 0"), 2);
}

/* A sweep in the order of tokens would have the gate of b and wait for that of a, which the release
   has, and a deadlock would end one of them. */
TEST(h3_a_sweep_waits_for_the_gates_in_the_order_of_a_release)
{
    void *fence = hand_fresh(), *one = hand_open(), *other = hand_open();
    long long first = hand_lease(one, "b:s:0:0"), second = hand_lease(one, "a:s:0:0,b:s:0:0");

    hand_expire(one, first);
    hand_expire(one, second);
    hand_row(fence,
             BEGIN "; SELECT FROM rowlock.lease WHERE token = %lld AND name = 'a' FOR KEY SHARE",
             second);
    hand_start(one, "SELECT rowlock.end_lease(%lld)", second);
    hand_until_waiting(one); /* it has the gate of a */
    hand_start(other, "SELECT rowlock.sweep('{a,b}', '{exclusive,exclusive}', 60000)");
    hand_until_waiting(other);
    hand_row(fence, "COMMIT");
    t_text(hand_finish(one), "t");
    t_text(hand_finish(other), "t");
    t_int(hand_number(one, "SELECT count(*) FROM rowlock.lease"), 0);
}

/* A break in the order of tokens would have the gate of z and wait for that of b. */
TEST(h3_a_break_of_several_leases_waits_for_the_gates_in_the_order_of_a_release)
{
    void *fence = hand_fresh(), *one = hand_open(), *other = hand_open();
    long long ended;

    hand_lease(one, "a:s:0:0,z:s:0:0");
    hand_lease(one, "a:s:0:0,b:s:0:0");
    ended = hand_lease(one, "b:s:0:0,z:s:0:0");
    hand_row(fence,
             BEGIN "; SELECT FROM rowlock.lease WHERE token = %lld AND name = 'b' FOR KEY SHARE",
             ended);
    hand_start(one, "SELECT rowlock.end_lease(%lld)", ended);
    hand_until_waiting(one); /* it has the gate of b */
    hand_start(other, "SELECT rowlock.break('a', 0, true)");
    hand_until_waiting(other);
    hand_row(fence, "COMMIT");
    t_text(hand_finish(one), "t");
    t_text(hand_finish(other), "2");
    t_int(hand_number(one, "SELECT count(*) FROM rowlock.lease"), 0);
}

/* ---- clients that freeze, die, or miss a reply ----------------------------------------------- */

/* Shared leases share the name lock, which therefore does not show that the first call has yet
   to commit. */
TEST(b5_b7_a_reply_lost_before_its_commit_grants_no_second_lease)
{
    void *zombie = hand_fresh(), *again = hand_open();
    struct hand_terms terms = {.wants = "a:s:0:0", .owner = "fedcba9876543210"}, waits = terms;
    const char *first;
    char pid[80], start[60], *bar;

    waits.wait_ms = 1000;
    first = hand_grant_as(zombie, waits);
    t_contains(first, "0||");
    t_text(hand_try(again, terms), "1|");
    hand_row(zombie, "COMMIT");
    t_contains(first, hand_try(again, terms) + 2);
    t_int(hand_number(again, "SELECT count(*) FROM rowlock.lease WHERE token > 0"), 1);
    t_forget_leases(again);
    /* and the orphaned session can be ended by its pid and start time */
    snprintf(start, sizeof start, "%s",
             hand_row(zombie, "SELECT pid, (extract(epoch FROM backend_start) * 1000000)::bigint "
                              "FROM pg_stat_activity WHERE pid = pg_backend_pid()"));
    bar = strchr(start, '|');
    t_true(bar != NULL);
    *bar = '\0';
    snprintf(pid, sizeof pid, "%s", start);
    hand_grant_as(zombie, waits);
    t_text(hand_row(again,
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid = %s AND "
                    "(extract(epoch FROM backend_start) * 1000000)::bigint = %s + 1",
                    pid, bar + 1),
           "(none)");
    t_int(hand_number(again,
                      "SELECT count(*) FROM pg_stat_activity WHERE pid = %s "
                      "AND (extract(epoch FROM backend_start) * 1000000)::bigint = %s",
                      pid, bar + 1),
          1);
    t_engine()->kill(again, atol(pid));
    t_int(hand_number(again, "SELECT count(*) FROM rowlock.lease WHERE token > 0"), 0);
    hand_lease(again, "a:x:0:0");
}

/* ---- session lock and commit: each of the four orders ---------------------------------------- */

static int came(void *hand, int kind, long long number)
{
    return (int)hand_number(hand, "SELECT rowlock.await(%d, %lld, 1, 0)", kind, number);
}

TEST(h7_a_tickets_lock_is_there_before_its_row)
{
    void *waiter = hand_fresh(), *other = hand_open();
    long long ticket;

    hand_row(waiter, BEGIN);
    ticket = hand_queue(waiter, "a:x:0:0", 1);
    t_int(hand_is_marked(other, ticket), 1);
    t_int(came(other, 0, ticket), 0);
    hand_row(waiter, "COMMIT");
    t_int(came(other, 0, ticket), 0);
    t_int(hand_number(other, "SELECT count(*) FROM rowlock.waiter"), 1);
    hand_row(waiter, BEGIN);
    hand_row(waiter, "SELECT rowlock.withdraw(%lld, 'waiter %d', pg_backend_pid())", ticket,
             PQbackendPID(waiter));
    /* other sessions still see the row, so the session lock stays */
    t_int(came(other, 0, ticket), 0);
    hand_row(waiter, "COMMIT");
    t_int(hand_number(other, "SELECT count(*) FROM rowlock.waiter"), 0);
    t_int(came(other, 0, ticket), 1);
    t_int(hand_is_marked(other, ticket), 0);
}

TEST(h7_a_tokens_lock_is_there_before_and_as_long_as_its_row)
{
    void *holder = hand_fresh(), *other = hand_open();
    long long token;

    hand_row(holder, BEGIN);
    token = hand_number(holder,
                        "SELECT token FROM rowlock.grant_lease(%s, 'o', 60000, 0, 0, "
                        "pg_backend_pid(), '', 0, '', '')",
                        hand_arrays("a:x:0:0"));
    t_int(came(other, 1, token), 0);
    hand_row(holder, "COMMIT");
    t_int(came(other, 1, token), 0);
    hand_row(holder, BEGIN "; SELECT rowlock.end_lease(%lld, session => pg_backend_pid())", token);
    t_int(came(other, 1, token), 0);
    t_text(hand_rows(other, token), "1|1");
    hand_start(other, "SELECT rowlock.await(1, %lld, 60000, 0)", token);
    hand_until_waiting(other);
    hand_row(holder, "COMMIT");
    t_text(hand_finish(other), "1");
    t_text(hand_rows(other, token), "0|0");
    t_int(hand_is_marked(other, token), 0);
}

TEST(h7_a_granted_tickets_lock_goes_after_its_row)
{
    void *holder = hand_fresh(), *waiter = hand_open(), *other = hand_open();
    long long token = hand_lease(holder, "a:x:0:0"), ticket = hand_queue(waiter, "a:x:0:0", 1);

    hand_row(holder, "SELECT rowlock.end_lease(%lld, session => pg_backend_pid())", token);
    t_contains(
        hand_grant_as(waiter,
                      (struct hand_terms){.wants = "a:x:0:0", .wait_ms = 1000, .ticket = ticket}),
        "0||");
    t_int(came(other, 0, ticket), 0);
    t_int(hand_number(other, "SELECT count(*) FROM rowlock.waiter"), 1);
    hand_start(other, "SELECT rowlock.await(0, %lld, 60000, 0)", ticket);
    hand_until_waiting(other);
    hand_row(waiter, "COMMIT");
    t_text(hand_finish(other), "1");
    t_int(hand_number(other, "SELECT count(*) FROM rowlock.waiter"), 0);
    t_int(hand_number(other, "SELECT count(*) FROM rowlock.lease WHERE token > 0"), 1);
}

/* ---- the cost of durability ------------------------------------------------------------------ */

TEST(p6_a_grant_is_durable_whatever_the_role_prefers)
{
    void *hand = hand_fresh();
    long long token;

    hand_row(hand, "SET synchronous_commit = off; " BEGIN);
    token = hand_number(
        hand, "SELECT token FROM rowlock.grant_lease(%s, 'o', 60000, 0, 0, 0, '', 0, '', '')",
        hand_arrays("a:x:0:0"));
    t_text(hand_row(hand, "SHOW synchronous_commit"), "on");
    hand_row(hand, "COMMIT");
    t_text(hand_row(hand, "SHOW synchronous_commit"), "off");
    hand_row(hand, "SET synchronous_commit = local; " BEGIN);
    hand_row(hand, "SELECT rowlock.renew_lease(%lld, 60000)", token);
    t_text(hand_row(hand, "SHOW synchronous_commit"), "on");
    hand_row(hand, "COMMIT");
    t_text(hand_row(hand, "SHOW synchronous_commit"), "local");
}

/* Errors in the server's log: the functions catch their own timeouts, which must not appear
   there. */
static long errors_in_log(long session)
{
    char path[300], line[600], mark[40];
    const char *folder = getenv("ROWLOCK_TEST_POSTGRESQL_SOCKET");
    long n = 0;
    FILE *log;

    snprintf(path, sizeof path, "%s/log", folder ? folder : "");
    snprintf(mark, sizeof mark, "[%ld]", session);
    log = fopen(path, "r");
    t_true(log != NULL);
    while (fgets(line, sizeof line, log))
        n += strstr(line, mark) && (strstr(line, "ERROR") || strstr(line, "WARNING"));
    fclose(log);
    return n;
}

TEST(no_wait_leaves_an_error_in_the_servers_log)
{
    void *holder = hand_fresh(), *hand = hand_open();
    /* an earlier session may have had the same process ID */
    long errors = errors_in_log(PQbackendPID(hand));
    long long token = hand_lease(holder, "a:x:0:0"), ticket = hand_queue(hand, "a:x:0:0", 1), own;

    hand_row(holder, BEGIN "; SELECT rowlock.exclusive('b'), rowlock.fence('a', %lld, 100)", token);
    t_contains(hand_grant_as(hand, (struct hand_terms){.wants = "b:x:0:0", .wait_ms = 20}), "2|b|");
    hand_row(hand, "ROLLBACK");
    t_int(came(hand, 1, token), 0);
    t_int(came(hand, 0, ticket + 1000), 1);
    t_text(hand_try(hand, X("a")), in_the_way(3, token));
    hand_expire(hand, token);
    t_text(hand_try(hand, X("a")), in_the_way(3, token));
    hand_row(holder, "COMMIT");
    own = hand_number(hand,
                      "SELECT token FROM rowlock.grant_lease(%s, 'o', 60000, 0, %lld, "
                      "pg_backend_pid(), '', 0, '', '')",
                      hand_arrays("a:x:0:0"), ticket);
    t_true(own > token);
    t_int(errors_in_log(PQbackendPID(hand)), errors);
    hand_start(hand, "SELECT 1 / 0");
    t_text(hand_finish(hand), "22012");
    /* proves that the function reads the right log */
    t_int(errors_in_log(PQbackendPID(hand)), errors + 1);
}

/* ---- batches --------------------------------------------------------------------------------- */

/* The grant comes late, so the lease is renewed before use. The server ignores the cancel of that
   renewal, and the lease expires. */
TEST(p1_a_late_grant_that_expires_before_its_use_is_reported_as_lost)
{
    void *admin = t_admin();
    struct rowlock_connection *connection = t_open();
    struct rowlock_lease *lease = NULL;

    t_native_sql(admin, "CREATE FUNCTION public.late() RETURNS trigger LANGUAGE plpgsql AS "
                        "$$BEGIN PERFORM pg_sleep(0.2); RETURN NULL; END$$");
    t_native_sql(admin, "CREATE FUNCTION public.stubborn() RETURNS trigger LANGUAGE plpgsql AS "
                        "$$BEGIN LOOP BEGIN PERFORM pg_sleep(9); RETURN NULL; "
                        "EXCEPTION WHEN query_canceled THEN NULL; END; END LOOP; END$$");
    t_native_sql(admin, "CREATE TRIGGER late AFTER INSERT ON rowlock.lease "
                        "FOR EACH ROW EXECUTE FUNCTION public.late()");
    t_native_sql(admin, "CREATE TRIGGER stubborn AFTER UPDATE ON rowlock.lease "
                        "FOR EACH ROW EXECUTE FUNCTION public.stubborn()");
    t_fails(t_acquire(connection, t_x("late"), 1000, 20000, &lease), ELOST);
    t_contains(t_error.text, "'late' was granted, but lost before it could be used");
    t_contains(t_error.text, "(its renewal failed): ");
    t_native_sql(admin, "DROP FUNCTION public.late() CASCADE");
    t_native_sql(admin, "DROP FUNCTION public.stubborn() CASCADE");
    t_ok(t_acquire(connection, t_x("late"), 60000, 20000, &lease));
    t_give(lease);
}

/* Nothing was sent before the session was lost, so the grant is not late, and not renewed. */
TEST(p5_a_session_that_was_lost_before_the_grant_costs_no_renewal)
{
    void *admin = t_admin();
    struct rowlock_connection *connection;
    struct rowlock_lease *lease = NULL;

    t_native_sql(admin, "CREATE FUNCTION public.renewed() RETURNS trigger LANGUAGE plpgsql AS "
                        "$$BEGIN RAISE 'renewed'; END$$");
    t_native_sql(admin, "CREATE TRIGGER renewed BEFORE UPDATE ON rowlock.lease "
                        "FOR EACH ROW EXECUTE FUNCTION public.renewed()");
    connection = t_open();
    t_kill_all_sessions();
    t_ok(t_acquire(connection, t_x("not late"), 60000, 0, &lease));
    t_native_sql(admin, "DROP FUNCTION public.renewed() CASCADE");
    t_give(lease);
}

/* ---- a server without memory ----------------------------------------------------------------- */

/* From now on the server has no memory for such statements; it counts them. */
static void lack_memory(const char *event, const char *table)
{
    void *admin = t_admin();

    t_native_sql(admin, "CREATE SEQUENCE public.lacks");
    t_native_sql(admin, "GRANT ALL ON SEQUENCE public.lacks TO public");
    t_native_sql(admin, "CREATE FUNCTION public.lack() RETURNS trigger LANGUAGE plpgsql AS "
                        "$$BEGIN PERFORM nextval('public.lacks'); "
                        "RAISE 'out of shared memory' USING ERRCODE = '53200'; END$$");
    t_native_sql(admin,
                 "CREATE TRIGGER lack BEFORE %s ON rowlock.%s "
                 "FOR EACH ROW EXECUTE FUNCTION public.lack()",
                 event, table);
}

static void t_until_lacked(int times)
{
    t_until(t_number(t_admin(), "SELECT last_value FROM public.lacks WHERE is_called") >= times);
}

static void have_memory(void)
{
    t_native_sql(t_admin(), "DROP FUNCTION public.lack() CASCADE");
    t_native_sql(t_admin(), "DROP SEQUENCE public.lacks");
}

static const char *session_of(struct rowlock_connection *connection)
{
    return t_say("%s", t_sql(connection, "SELECT pg_backend_pid()"));
}

TEST(a_renewal_without_memory_keeps_the_session)
{
    struct rowlock_connection *connection = t_open();
    struct rowlock_lease *leases[2];
    const char *session = session_of(connection);
    int codes[2];

    t_ok(t_acquire(connection, t_x(t_name(1)), HOUR, 0, &leases[0]));
    t_ok(t_acquire(connection, t_x(t_name(2)), HOUR, 0, &leases[1]));
    lack_memory("UPDATE", "lease");
    t_fails(rowlock_renew(leases[0], 0, &t_error), ECONN);
    t_int(rowlock_is_full(&t_error), 2);
    t_fails(rowlock_renew(leases[0], 0, NULL), ECONN);
    t_fails(rowlock_renew_all(leases, 2, 0, codes, &t_error), ECONN);
    t_int(codes[0], ROWLOCK_ECONN);
    t_int(codes[1], ROWLOCK_ECONN);
    t_text(session_of(connection), session);
    have_memory();
    t_ok(rowlock_renew_all(leases, 2, 0, codes, &t_error));
    t_text(session_of(connection), session);
    t_give(leases[0]);
    t_give(leases[1]);
}

TEST(a_sweep_without_memory_is_waited_for)
{
    struct rowlock_connection *connection =
        t_open_with(&(struct rowlock_options){.interrupt_fd = t_interrupt_fd()});
    struct thread *thread;

    lease_put(t_native(), 1, t_name(1), "exclusive", -HOUR);
    lack_memory("DELETE", "lease");
    t_fails(t_begin(connection, t_x(t_name(1)), 100), ECONN);
    t_int(rowlock_is_full(&t_error), 2);
    t_left(NONE);
    t_left_is_true(connection);

    thread = t_begin_thread(connection, t_x(t_name(1)), -1);
    t_until_lacked(6); /* by then it pauses most of the time */
    t_interrupt();
    t_fails(t_join(thread), ECANCELED);
    t_left(NONE);
    t_take_interrupt();

    thread = t_begin_thread(connection, t_x(t_name(1)), -1);
    t_until_lacked(12);
    have_memory();
    t_ok(t_join(thread));
    t_ok(rowlock_rollback(connection, &t_error));
}
