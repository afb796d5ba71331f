/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The grant of a lease against concurrent events, function by function and procedure by procedure:
 * renewals under way, sweeps that fail, lost replies, killed waiters. postgresql_lease_test and
 * mariadb_lease_test have what only one engine does.
 *
 * Runs on: postgresql/native postgresql/row postgresql/insert mariadb
 * Quick: first
 * Rest: postgresql/native postgresql/row mariadb
 */
#include <stdlib.h>
#include <string.h>

#include "lib/grants.h"
#include "lib/harness.h"
#include "lib/hand.h"
#include "lib/lease.h"
#include "lib/test.h"

#define X "a:x:0:0"

/* The answer to a grant of the name "a": this lease is in the way. */
static void is_blocked(const char *row, long long token)
{
    t_text(hand_field(row, 0), "3");
    t_text(hand_field(row, 1), "a");
    t_true(atoll(hand_field(row, 2)) == 0);
    t_int(atoll(hand_field(row, 3)), token);
}

/* ---- renewals under way ---------------------------------------------------------------------- */

/* PostgreSQL: a lease has no heartbeat before its first renewal, which inserts it. */
static void expire_without_heartbeat(void *hand, long long token)
{
    hand_row(hand, "UPDATE %s SET expires = %s WHERE token = %lld", lease_table(),
             lease_instant(-1000), token);
}

static void begin(void *hand)
{
    if (!t_is_postgresql())
        hand_row(hand, "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED");
    hand_row(hand,
             t_is_postgresql() ? "BEGIN ISOLATION LEVEL READ COMMITTED" : "START TRANSACTION");
}

/* A renewal without its COMMIT. */
static void renew_halfway(void *hand, long long token)
{
    begin(hand);
    if (t_is_postgresql())
        t_int(hand_renew(hand, token, 60000), 0);
    else
        hand_row(hand, "UPDATE rowlock_heartbeat SET expires = %s WHERE token = %lld AND stop = 0",
                 lease_instant(60000), token);
}

static void renews_in_flight(void (*expire)(void *, long long))
{
    void *renewer = hand_fresh(), *other = hand_open(), *third = hand_open();
    long long token = hand_lease(renewer, X);

    expire(renewer, token);
    renew_halfway(renewer, token);
    /* the old row says expired; a try waits a moment, a grant longer, and neither bypasses the
       renewal */
    is_blocked(hand_grant(other, X, 0), token);
    t_text(hand_rows(other, token), "1|1");
    hand_start_waiting(other, "a:s:0:0");
    hand_row(renewer, "COMMIT");
    is_blocked(hand_finish(other), token);
    hand_row(other, "ROLLBACK");
    t_text(hand_rows(third, token), "1|1");
    is_blocked(hand_grant(third, X, 0), token);
    hand_release(renewer, token);
    t_true(hand_lease(other, X) > token);
}

TEST(a1_renewal_in_flight_keeps_its_lease)
{
    renews_in_flight(hand_expire);
    if (t_is_postgresql())
        renews_in_flight(expire_without_heartbeat);
}

static void hangs_in_flight(void (*expire)(void *, long long))
{
    void *renewer = hand_fresh(), *other = hand_open();
    long long token = hand_lease(renewer, X);

    /* the renewal hangs for longer than every timeout: an expired clock alone gives the name to
       no other client */
    expire(renewer, token);
    renew_halfway(renewer, token);
    is_blocked(hand_grant_as(other, (struct hand_terms){.wants = X, .wait_ms = 60000}), token);
    hand_row(other, "ROLLBACK");
    hand_row(renewer, "ROLLBACK");
    t_text(hand_rows(other, token), "1|1");
    t_true(hand_lease(other, X) > token);
    t_text(hand_rows(other, token), "0|0");
    t_int(hand_renew(renewer, token, 60000), 8);
    t_int(hand_number(renewer,
                      t_is_postgresql() ? "SELECT rowlock.release_lease(%lld)"
                                        : "CALL rowlock_release_lease(%lld, NULL, NULL)",
                      token),
          8);
}

TEST(a1_an_expired_lease_is_in_the_way_until_it_is_deleted)
{
    hangs_in_flight(hand_expire);
    if (t_is_postgresql())
        hangs_in_flight(expire_without_heartbeat);
}

/* ---- sweeps ---------------------------------------------------------------------------------- */

/* In a transaction at READ COMMITTED. */
static void fence(void *hand, long long token)
{
    begin(hand);
    t_text(
        hand_field(hand_row(hand,
                            t_is_postgresql() ? "SELECT status FROM rowlock.fence('a', %lld, 100)"
                                              : "CALL rowlock_fence_row('a', %lld, 30000)",
                            token),
                   0),
        "0");
}

TEST(h1_a_sweep_that_fails_leaves_every_lease_its_heartbeat)
{
    void *one = hand_fresh(), *two = hand_open(), *other = hand_open();
    long long first = hand_lease(one, "a:s:0:0"), second = hand_lease(two, "a:s:0:0");

    hand_expire(one, first);
    hand_expire(one, second);
    fence(two, second);
    /* the second cannot be swept: none of its rows is gone, also while the grant's transaction
       lasts, and the grant holds no lock on them */
    is_blocked(hand_grant_as(other, (struct hand_terms){.wants = X, .open = 1}),
               t_is_postgresql() ? first : second);
    if (t_is_postgresql()) { /* so the first is kept too; MariaDB sweeps each one alone */
        t_text(hand_rows(other, first), "1|1");
        t_int(hand_renew(one, first, 1), 0);
    }
    t_text(hand_rows(other, second), "1|1");
    t_int(hand_renew(one, second, 60000), 0);
    hand_row(other, "COMMIT");
    t_int(t_odd_rows(other), 0);
    hand_row(two, "COMMIT");
    is_blocked(hand_grant(other, X, 0), second);
    hand_expire(one, first);
    hand_expire(one, second);
    t_true(hand_lease(other, X) > second);
    t_text(hand_rows(other, first), "0|0");
    t_text(hand_rows(other, second), "0|0");
}

TEST(h2_a_live_lease_in_the_way_and_nothing_is_swept)
{
    void *one = hand_fresh(), *other = hand_open();
    long long dead = hand_lease(one, "a:s:0:0"), live = hand_lease(one, "a:s:0:0");

    hand_expire(one, dead);
    is_blocked(hand_grant_as(other, (struct hand_terms){.wants = X, .open = 1}), live);
    t_text(hand_rows(one, dead), "1|1");
    if (t_is_postgresql()) /* the grant's transaction lasts, and has locked nothing */
        hand_row(one, "SELECT FROM rowlock.heartbeat WHERE token = %lld FOR UPDATE NOWAIT", dead);
    t_int(hand_renew(one, dead, 60000), 0); /* its heartbeat was only late */
    hand_row(other, "ROLLBACK");
}

/* ---- lost replies ---------------------------------------------------------------------------- */

TEST(b5_b7_a_lost_reply_is_settled_by_the_owner)
{
    void *one = hand_fresh(), *again = hand_open();
    struct hand_terms terms = {.wants = "a:x:0:0,b:s:0:0", .owner = "0123456789abcdef"};
    const char *first = hand_grant_as(one, terms);
    long long token = atoll(hand_field(first, 2)), next;

    t_text(hand_field(first, 0), "0");
    t_text(hand_grant_as(again, terms), first);
    terms.wait_ms = 1000;
    t_text(hand_grant_as(again, terms), first);
    hand_row(again, "COMMIT");
    terms.wait_ms = 0;
    t_int(hand_number(one, "SELECT count(*) FROM %s", lease_table()), 2);
    /* its ttl counts from now, because the caller believes so */
    hand_expire(one, token);
    t_text(hand_grant_as(again, terms), first);
    t_true(
        atoll(hand_field(hand_row(one,
                                  t_is_postgresql() ? "SELECT * FROM rowlock.check_lease('a', %lld)"
                                                    : "CALL rowlock_check('a', %lld)",
                                  token),
                         1)) > 30000);
    /* a lease that was broken is not returned again */
    hand_row(one, t_is_postgresql() ? "SELECT rowlock.break('a', 0, false)"
                                    : "CALL rowlock_break('a', 0, 0)");
    next = atoll(hand_field(hand_grant_as(again, terms), 2));
    t_true(next > token);
    t_int(hand_number(one, "SELECT count(*) FROM %s WHERE token = %lld", lease_table(), next), 2);
    t_int(hand_number(one, "SELECT count(*) FROM %s", lease_table()), 2);
}

/* ---- dead waiters ---------------------------------------------------------------------------- */

TEST(p6_a_killed_waiter_is_removed_by_the_session_that_gets_its_lock)
{
    void *dead = t_native_at(t_url()), *two = hand_fresh(), *three = hand_open();
    long long first, second;

    if (!t_is_postgresql()) /* there the waiters have a holder ahead of them */
        hand_lease(three, X);
    first = hand_queue(dead, X, 1);
    second = hand_queue(two, X, 1);
    hand_start_await(two, 0, first, 60000, 0);
    hand_until_waiting(two);
    hand_start_await(three, 0, first, 60000, 0); /* any number may wait */
    hand_until_waiting(three);
    t_engine()->kill(t_admin(), t_engine()->session(dead));
    t_engine()->close(dead);
    t_text(hand_finish(two), "1");
    t_text(hand_finish(three), "1");
    t_int(hand_waiters(two), 1);
    if (t_is_postgresql()) /* the name is free */
        t_text(hand_place(two, X, second, 1), "0||0|1|1");
    t_text(hand_field(hand_place(two, X, second, 1), 2), "0");
}
