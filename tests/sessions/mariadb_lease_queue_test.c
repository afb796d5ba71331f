/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The queue for leases on MariaDB: session locks as hints, dead tickets, listed waiters. The
 * procedures of the schema are called step by step from plain sessions.
 *
 * Runs on: mariadb
 * Quick: first
 */
#include <mysql.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/harness.h"
#include "lib/hand_mariadb.h"
#include "lib/lease.h"
#include "lib/test.h"

/* ---- session locks, tickets ------------------------------------------------------------------ */

TEST(h7_locks_are_there_as_long_as_their_rows)
{
    void *holder = hand_fresh(), *waiter = hand_open(), *other = hand_open();
    long long token = hand_lease(holder, "a:x:0:0"), ticket = hand_queue(waiter, "a:x:0:0", 1);
    const char *name;

    t_int(my_marker(other, token), (long long)mysql_thread_id(holder));
    t_int(my_marker(other, ticket), (long long)mysql_thread_id(waiter));
    name = hand_row(other, "SELECT LENGTH(CONCAT('rowlock:', %s, ':', %lld))", my_database_hash(),
                    9223372036854775807LL);
    t_true(atoi(name) <= 64);
    t_text(hand_field(hand_place(waiter, "a:x:0:0", ticket, 1), 5), "1");
    /* it waits for the holder's session lock, and does not keep it afterwards */
    hand_start_await(waiter, 1, token, 30000, 0);
    hand_until_waiting(waiter);
    hand_release(holder, token);
    t_text(hand_finish(waiter), "1");
    t_int(my_marker(other, token), 0);
    t_text(hand_field(hand_grant(waiter, "a:x:0:0", ticket), 0), "0");
    t_int(my_marker(other, ticket), 0);
    t_int(hand_waiters(other), 0);
}

TEST(h7_a_sessions_own_lock_is_not_counted_twice)
{
    void *hand = hand_fresh();
    long long token = hand_lease(hand, "a:x:0:0");

    hand_row(hand, "CALL rowlock_session_lock(1, %lld, CONNECTION_ID())", token);
    t_text(hand_row(hand, "CALL rowlock_await(1, %lld, 1000, 0, CONNECTION_ID())", token), "1");
    t_int(my_marker(hand, token), (long long)mysql_thread_id(hand));
    hand_row(hand, "CALL rowlock_session_unlock(1, %lld, CONNECTION_ID())", token);
    t_int(my_marker(hand, token), 0);
    /* the backend is another one, as behind a pooler */
    hand_row(hand, "CALL rowlock_session_lock(1, %lld, CONNECTION_ID() + 1)", token);
    t_int(my_marker(hand, token), 0);
}

TEST(p6_a_wait_on_a_ticket_ends)
{
    void *holder = hand_fresh(), *one = hand_open(), *two = hand_open();
    long long ticket;

    hand_lease(holder, "a:x:0:0");
    ticket = hand_queue(one, "a:x:0:0", 1);
    t_text(hand_row(two, "CALL rowlock_await(0, %lld, 30, 0, CONNECTION_ID())", ticket), "0");
    t_text(hand_row(two, "CALL rowlock_await(0, %lld, 0, 0, CONNECTION_ID())", ticket), "0");
    t_int(hand_waiters(two), 1);
    /* the lock is held by the caller's own session: that proves no waiter dead */
    t_text(hand_row(one, "CALL rowlock_await(0, %lld, 30, 0, CONNECTION_ID())", ticket), "1");
    t_int(hand_waiters(two), 1);
}

/* It then waits for the lease of the waiter that was ahead, but only where that lease conflicts and
   no other ticket is ahead. */
TEST(a_wait_on_a_ticket_goes_on_to_the_end_of_the_lease)
{
    void *holder = hand_fresh(), *one = hand_open(), *two = hand_open(), *three = hand_open();
    long long token = hand_lease(holder, "a:x:0:0"), first = hand_queue(one, "a:x:0:0", 1),
              second = hand_queue(two, "a:x:0:0", 1), third = hand_queue(three, "a:s:0:0", 1);
    const char *call = "CALL rowlock_await(0, %lld, %d, %lld, CONNECTION_ID())", *row;

    hand_start(two, call, first, 30000, second);
    hand_until_waiting(two);
    hand_release(holder, token);
    row = hand_grant(one, "a:x:0:0", first);
    token = atoll(hand_field(row, 2));
    hand_until_waiting(two);
    hand_release(one, token);
    t_true(strcmp(hand_finish(two), "0") != 0); /* 1 if more than a second has passed */
    /* at once, because the name is free; the ticket ahead is gone */
    t_text(hand_row(two, call, first, 30000, second), "2");
    /* another ticket is ahead */
    t_text(hand_row(three, call, first, 30000, third), "1");
    /* the lease may be shared */
    token = hand_lease(holder, "b:s:0:0");
    third = hand_queue(one, "b:s:0:0", 1);
    t_text(hand_row(one, call, first, 30000, third), "1");
    /* the lease does not end */
    first = my_draw(holder);
    third = hand_queue(holder, "b:x:0:0", 1);
    t_text(hand_row(holder, call, first, 200, third), "1");
    t_int(my_marker(two, token), (long long)mysql_thread_id(holder));
}

TEST(p6_a_cycle_of_session_locks_does_no_harm)
{
    void *one = hand_fresh(), *two = hand_open();
    long long a = hand_lease(one, "a:x:0:0"), b = hand_lease(two, "b:x:0:0");

    /* each session waits for a lease of the other: a deadlock of their own, which the timeouts
       end */
    hand_start_await(one, 1, b, 1500, 0);
    hand_until_waiting(one);
    t_text(hand_row(two, "CALL rowlock_await(1, %lld, 200, 0, CONNECTION_ID())", a), "0");
    t_text(hand_finish(one), "0");
    t_int(my_marker(one, a), (long long)mysql_thread_id(one));
    t_int(my_marker(two, b), (long long)mysql_thread_id(two));
}

/* ---- abandoned session locks ----------------------------------------------------------------- */

TEST(p6_a_wait_that_is_killed_at_any_moment_leaves_no_lock)
{
    void *hand = hand_fresh(), *other = hand_open();

    for (int i = 0; i < t_effort(400, 2000); i++) {
        my_kill_at_any_moment(hand, other, i, "CALL rowlock_await(0, 42, 1000, 0, CONNECTION_ID())",
                              "ROLLBACK");
        t_int(my_marker(other, 42), 0);
    }
}

/* Calls the procedure that the library calls after such a failure, and asserts that the session
   has no lock left. */
static void has_no_lock_after(void *hand, const char *owner)
{
    hand_row(hand, "CALL rowlock_session_unlock_lost()");
    hand_row(hand, "CALL rowlock_withdraw(0, '%s')", owner);
    lease_delete_all(hand);
    /* drops the lock of a lease that was granted and is gone */
    hand_row(hand, "CALL rowlock_session_unlock_lost()");
    t_int(hand_number(hand, "SELECT RELEASE_ALL_LOCKS()"), 0);
}

TEST(p6_a_grant_or_a_ticket_that_is_killed_at_any_moment_leaves_no_lock)
{
    void *hand = hand_fresh(), *other = hand_open();
    char enqueue[200];

    snprintf(enqueue, sizeof enqueue,
             "CALL rowlock_enqueue('%s', 'one', CONNECTION_ID(), 1000, '', 1, '', '')",
             hand_wants("a:x:0:0"));
    for (int i = 0; i < t_effort(200, 1000); i++) {
        struct hand_terms terms = {.wants = "a:x:0:0", .owner = "one", .wait_ms = i % 2 ? 1000 : 0};

        my_kill_at_any_moment(hand, other, i, hand_grant_call(hand, terms), "ROLLBACK");
        has_no_lock_after(hand, "one");
        my_kill_at_any_moment(hand, other, i, enqueue, "ROLLBACK");
        has_no_lock_after(hand, "one");
    }
}

/* A DELETE that is killed while it is planned deletes nothing and reports no error. */
TEST(p6_a_grant_that_is_killed_at_any_moment_leaves_the_queue_or_stays_in_it)
{
    /* the fast path, and the general one */
    static const char *const wants[] = {"a:x:0:0", "a:s:0:0"};
    void *hand = hand_fresh(), *other = hand_open();

    for (int i = 0; i < t_effort(300, 1500); i++) {
        struct hand_terms terms = {
            .wants = wants[i % 2], .owner = "one", .ticket = hand_queue(hand, wants[i % 2], 1)};
        const char *answer =
            my_kill_at_any_moment(hand, other, i, hand_grant_call(hand, terms), "ROLLBACK");

        t_int(hand_number(other, "SELECT count(*) FROM rowlock_waiter"),
              hand_number(other, "SELECT count(*) = 0 FROM rowlock_held"));
        if (answer[0] == '0')
            t_int(hand_number(other, "SELECT count(*) FROM rowlock_held"), 1);
        hand_row(hand, "CALL rowlock_withdraw(%lld, '')", terms.ticket);
        lease_delete_all(hand);
    }
}

TEST(p6_a_withdrawal_that_is_killed_at_any_moment_tells_the_truth)
{
    void *hand = hand_fresh(), *other = hand_open();
    char withdraw[100];

    for (int i = 0; i < t_effort(300, 1500); i++) {
        long long ticket = hand_queue(hand, "a:x:0:0", 1);

        snprintf(withdraw, sizeof withdraw, "CALL rowlock_withdraw(%lld, '')", ticket);
        if (strncmp(my_kill_at_any_moment(hand, other, i, withdraw, "ROLLBACK"), "error", 5) != 0)
            t_int(hand_waiters(other), 0);
        hand_row(hand, "%s", withdraw);
    }
}

TEST(p6_a_lock_whose_rows_exist_is_not_lost)
{
    void *hand = hand_fresh();
    long long token = hand_lease(hand, "a:x:0:0"), ticket;

    hand_row(hand, "CALL rowlock_session_unlock_lost()");
    t_int(my_marker(hand, token), (long long)mysql_thread_id(hand));
    ticket = hand_queue(hand, "a:x:0:0", 1);
    hand_row(hand, "CALL rowlock_session_unlock_lost()");
    t_int(my_marker(hand, ticket), (long long)mysql_thread_id(hand));
    hand_row(hand, "DELETE FROM rowlock_waiter");
    hand_row(hand, "CALL rowlock_session_unlock_lost()");
    t_int(my_marker(hand, ticket), 0);
    t_int(my_marker(hand, token), (long long)mysql_thread_id(hand));
}

/* ---- listed holders and waiters -------------------------------------------------------------- */

TEST(list_names_a_transaction_with_a_waiter)
{
    void *holder = hand_fresh(), *waiter = hand_open();
    const char *row;

    if (t_facts()->code != ROWLOCK_ROW)
        return;
    hand_row(holder, "CALL rowlock_begin_exclusive('a')");
    hand_start_waiting(waiter, "a:x:0:0");
    /* InnoDB refreshes this snapshot every 100 ms */
    t_until(strncmp(row = hand_row(t_admin(), "CALL rowlock_list('a')"), "transaction|a|exclusive|",
                    24) == 0);
    t_int(atoll(hand_field(row, 7)), (long long)mysql_thread_id(holder));
    hand_row(holder, "COMMIT");
    hand_finish(waiter);
    hand_row(waiter, "ROLLBACK");
}

TEST(a_probe_reports_a_transaction_without_a_waiter)
{
    void *holder = hand_fresh(), *other = hand_open();

    t_text(hand_row(other, "CALL rowlock_probe('a')"), "");
    hand_row(holder, "CALL rowlock_begin_exclusive('a')");
    t_text(hand_row(other, "CALL rowlock_probe('a')"), "exclusive");
    t_int(t_engine()->in_transaction(other), 0);
    hand_row(holder, "COMMIT");
    t_text(hand_row(other, "CALL rowlock_probe('a')"), "");
    if (t_facts()->code == ROWLOCK_ROW) {
        hand_row(holder, "CALL rowlock_begin_shared('a')");
        t_text(hand_row(other, "CALL rowlock_probe('a')"), "shared");
        hand_row(holder, "COMMIT");
    }
    /* it leaves no name and no lock, and does not change the caller's transaction */
    t_text(hand_row(other, "CALL rowlock_probe('never seen')"), "");
    t_int(hand_number(other, "SELECT count(*) FROM rowlock_name WHERE name = 'never seen'"), 0);
    hand_row(other, "CALL rowlock_begin_exclusive('b')");
    t_text(hand_row(other, "CALL rowlock_probe('a')"), "");
    t_int(t_engine()->in_transaction(other), 1);
    /* neighbouring names may conflict under technique insert */
    if (t_facts()->code == ROWLOCK_ROW) {
        hand_row(holder, "CALL rowlock_begin_exclusive('a')");
        hand_row(holder, "COMMIT");
    }
    hand_row(other, "ROLLBACK");
}

/* ---- another database of the same server ----------------------------------------------------- */

static void *open_other(char *url, size_t size)
{
    struct rowlock_connection *connection;
    struct rowlock_want want = t_x("a");

    snprintf(url, size, "%s_too", t_url());
    t_native_sql(t_native(), "CREATE DATABASE %s", strrchr(url, '/') + 1);
    t_install_at(url);
    connection = t_open_at(url, NULL);
    t_ok(rowlock_prepare(connection, &want, 1, &t_error));
    t_close(connection);
    return t_native_at(url);
}

/* Session locks are server-wide, and two databases may draw the same number: here they do. */
TEST(gl5_two_databases_of_a_server_know_nothing_of_each_other)
{
    void *here = hand_fresh(), *waiter = hand_open(), *there;
    char url[300];
    long long token, next;

    there = open_other(url, sizeof url);
    token = (my_draw(here) + 3600000000LL) | 1; /* an hour ahead */
    my_set_next(here, token);
    my_set_next(there, token);
    t_int(hand_lease(here, "a:s:0:0"), token);
    t_int(hand_lease(there, "a:s:0:0"), token);
    t_int(my_marker(here, token), (long long)mysql_thread_id(here));
    t_int(my_marker(there, token), (long long)mysql_thread_id(there));
    /* a waiter here is neither woken nor delayed by a lease there */
    next = hand_queue(waiter, "a:x:0:0", 1);
    hand_start_await(waiter, 1, token, 30000, 0);
    hand_until_waiting(waiter);
    hand_release(there, token);
    t_int(hand_waiters(there), 0);
    t_true(hand_lease(there, "a:x:0:0") > token);
    hand_until_waiting(waiter);
    hand_release(here, token);
    t_text(hand_finish(waiter), "1");
    t_text(hand_field(hand_grant(waiter, "a:x:0:0", next), 0), "0");
    t_native_sql(there, "DROP DATABASE %s", strrchr(url, '/') + 1);
    t_engine()->close(there);
}
