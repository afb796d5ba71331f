/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The grant of a lease against concurrent events, function by function and procedure by procedure:
 * renewals under way, sweeps that fail, lost replies, killed waiters. postgresql_lease_test and
 * mariadb_lease_test have what only one engine does.
 *
 * Runs on: postgresql/native postgresql/insert mariadb
 * Quick: first
 * Rest: postgresql/native mariadb
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

/* A transaction of this session, which a grant may be waiting for. */
static void lock_in_a_transaction(void *hand, const char *name)
{
    hand_row(hand,
             t_is_postgresql() ? "BEGIN; SELECT rowlock.exclusive('%s')"
                               : "CALL rowlock_begin_exclusive('%s')",
             name);
}

/* ---- renewals under way ---------------------------------------------------------------------- */

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
        hand_row(hand, "UPDATE %s SET expires = %s WHERE token = %lld AND stop = 0",
                 lease_heartbeat_table_of(token), lease_instant(60000), token);
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
                      t_is_postgresql() ? "SELECT 8 - 8 * rowlock.end_lease(%lld)::int"
                                        : "CALL rowlock_release_lease(%lld, NULL, NULL)",
                      token),
          8);
}

TEST(a1_an_expired_lease_is_in_the_way_until_it_is_deleted)
{
    hangs_in_flight(hand_expire);
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
        hand_row(one, "SELECT FROM rowlock.lease WHERE token = %lld FOR UPDATE NOWAIT", dead);
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
    t_int(hand_number(one, "SELECT count(*) FROM %s WHERE token > 0", lease_table()), 2);
    /* its ttl counts from now, because the caller believes so */
    hand_expire(one, token);
    t_text(hand_grant_as(again, terms), first);
    t_true(atoll(hand_field(hand_row(one,
                                     t_is_postgresql()
                                         ? "SELECT 0, floor(extract(epoch FROM expires - "
                                           "clock_timestamp()) * 1000) FROM "
                                           "rowlock.lease WHERE name = 'a' AND token = %lld"
                                         : "CALL rowlock_check('a', %lld)",
                                     token),
                            1)) > 30000);
    /* a lease that was broken is not returned again */
    hand_row(one, t_is_postgresql() ? "SELECT rowlock.break('a', 0, false)"
                                    : "CALL rowlock_break('a', 0, 0)");
    next = atoll(hand_field(hand_grant_as(again, terms), 2));
    t_true(next > token);
    t_int(hand_number(one, "SELECT count(*) FROM %s WHERE token = %lld", lease_table(), next), 2);
    t_int(hand_number(one, "SELECT count(*) FROM %s WHERE token > 0", lease_table()), 2);
}

/* ---- a grant that is held open --------------------------------------------------------------- */

#define OWNER "0123456789abcdef"

/* How an owner, or an operator, ends what the owner has. */
struct ending {
    const char *what, *postgresql, *mariadb;
};
static const struct ending cancels = {"cancel", "SELECT rowlock.cancel('a', '" OWNER "')",
                                      "CALL rowlock_cancel('a', '" OWNER "', @canceled)"};
/* of a lease, by its token */
static const struct ending endings[] = {
    {"release", "SELECT rowlock.release(%lld)", "CALL rowlock_release(%lld, @released)"},
    {"the library's release", "SELECT rowlock.end_lease(%lld, 'a' COLLATE \"C\", '" OWNER "')",
     "CALL rowlock_release_lease(%lld, 'a', '" OWNER "')"},
    {"break --now", "SELECT rowlock.break('a', %lld, true)", "CALL rowlock_break('a', %lld, 1)"},
};

/* The rows of the owner, and of the lease of that token. */
static void nothing_remains(void *hand, const char *what, long long token)
{
    print_message("# %s\n", what);
    t_text(t_all_rows(hand), NO_ROWS);
    t_text(hand_rows(hand, token), "0|0");
}

static long long open_grant(void *hand, const char *wants, long long ticket)
{
    const char *row = hand_grant_as(
        hand,
        (struct hand_terms){.wants = wants, .owner = OWNER, .wait_ms = 60000, .ticket = ticket});

    t_text(hand_field(row, 0), "0");
    return atoll(hand_field(row, 2));
}

static const char *text_of(const struct ending *ending)
{
    return t_is_postgresql() ? ending->postgresql : ending->mariadb;
}

/* An earlier call of the owner, whose reply was lost, adopts the lease that a repetition got: its
   renewal is not committed yet when the lease is ended. */
static void ends_beside_an_adoption(const struct ending *ending, int renewed)
{
    void *hand = hand_fresh(), *late = hand_open(), *other = hand_open();
    struct hand_terms terms = {.wants = X, .owner = OWNER};
    long long token = atoll(hand_field(hand_grant_as(hand, terms), 2));

    if (renewed)
        t_int(hand_renew(hand, token, 60000), 0);
    t_int(open_grant(late, X, 0), token);
    hand_start(other, text_of(ending), token);
    hand_until_waiting(other);
    hand_row(late, "COMMIT");
    hand_finish(other);
    nothing_remains(hand, ending->what, token);
}

TEST(p6_a_lease_ends_beside_a_late_grant_of_its_owner)
{
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++)
        for (int renewed = 0; renewed <= 1; renewed++)
            ends_beside_an_adoption(&endings[i], renewed);
    for (int renewed = 0; renewed <= 1; renewed++)
        ends_beside_an_adoption(&cancels, renewed);
}

static long long ticket_of_owner(void *hand, const char *wants)
{
    return atoll(hand_field(hand_row(hand,
                                     t_is_postgresql()
                                         ? "SELECT status, number FROM rowlock.enqueue(%s, '" OWNER
                                           "', 0, 60000, 'here', 4711, 'work', 'a note')"
                                         : "CALL rowlock_enqueue('%s', '" OWNER
                                           "', 0, 60000, 'here', 4711, 'work', 'a note')",
                                     t_is_postgresql() ? hand_arrays(wants) : hand_wants(wants)),
                            t_is_postgresql() ? 1 : 3));
}

static void canceled(void *other)
{
    const char *answer = hand_finish(other);

    t_text(t_is_postgresql() ? answer : hand_row(other, "SELECT @canceled"),
           t_is_postgresql() ? "t" : "1");
}

/* The call that was given up is granting the lease. */
static void cancels_beside_a_grant(const char *wants)
{
    void *hand = hand_fresh(), *late = hand_open(), *other = hand_open();
    long long token = open_grant(late, wants, ticket_of_owner(hand, wants));

    hand_start(other, "%s", text_of(&cancels));
    hand_until_waiting(other);
    hand_row(late, "COMMIT");
    canceled(other);
    nothing_remains(hand, wants, token);
}

TEST(p6_a_cancel_ends_the_grant_to_a_ticket_that_is_about_to_be_committed)
{
    cancels_beside_a_grant(X);
    cancels_beside_a_grant("a:s:0:0");
    cancels_beside_a_grant("a:p:3:1");
}

/* On MariaDB a request ends its own transaction. So a trigger stops it until end_request. */
#define GATE "CONCAT('gate ', DATABASE())"

static void *start_gate(void)
{
    void *gate = hand_open();

    if (t_is_postgresql())
        return gate;
    hand_row(t_admin(), "DROP TRIGGER IF EXISTS gate");
    hand_row(t_admin(), "CREATE TRIGGER gate AFTER INSERT ON rowlock_lease FOR EACH ROW "
                        "SET @gate = GET_LOCK(" GATE ", 30)");
    hand_row(t_admin(), "DROP TRIGGER IF EXISTS gate_of_row");
    hand_row(t_admin(), "CREATE TRIGGER gate_of_row AFTER UPDATE ON rowlock_name FOR EACH ROW "
                        "SET @gate = IF(NEW.held AND NOT OLD.held, GET_LOCK(" GATE ", 30), 0)");
    t_int(hand_number(gate, "SELECT GET_LOCK(" GATE ", 0)"), 1);
    return gate;
}

static void start_request(void *late, const char *mode, const char *limit)
{
    if (!t_is_postgresql()) {
        hand_start(late,
                   "CALL rowlock_request_row('a', 60000, '" OWNER "', 0, '%s', %s, NULL, NULL, "
                   "NULL, NULL)",
                   mode, limit);
        hand_until_waiting(late);
        return;
    }
    hand_row(late, "BEGIN");
    t_true(hand_number(late,
                       "SELECT token FROM rowlock.request('a', '60 s', '" OWNER "', '0', '%s', %s)",
                       mode, limit) > 0);
    hand_row(late, "SET LOCAL idle_in_transaction_session_timeout = 0");
}

static void end_request(void *late, void *gate)
{
    if (t_is_postgresql()) {
        hand_row(late, "COMMIT");
        return;
    }
    t_int(hand_number(gate, "SELECT RELEASE_LOCK(" GATE ")"), 1);
    t_true(atoll(hand_finish(late)) > 0);
    t_int(hand_number(late, "SELECT RELEASE_LOCK(" GATE ")"), 1);
    hand_row(t_admin(), "DROP TRIGGER gate");
    hand_row(t_admin(), "DROP TRIGGER gate_of_row");
}

static void cancels_beside_a_request(const char *mode, const char *limit)
{
    void *hand = hand_fresh(), *late = hand_open(), *other = hand_open(), *gate = start_gate();

    start_request(late, mode, limit);
    hand_start(other, "%s", text_of(&cancels));
    hand_until_waiting(other);
    end_request(late, gate);
    canceled(other);
    nothing_remains(hand, mode, 0);
}

TEST(p6_a_cancel_ends_a_grant_without_a_ticket_that_is_about_to_be_committed)
{
    cancels_beside_a_request("exclusive", "NULL");
    cancels_beside_a_request("shared", "NULL");
    cancels_beside_a_request("permit", "3");
}

/* ---- a client that freezes between its grant and its COMMIT ---------------------------------- */

TEST(h5_a_client_frozen_before_its_commit_gives_way)
{
    void *holder = hand_fresh(), *frozen = hand_open(), *other = hand_open();
    long session = t_engine()->session(frozen);

    lock_in_a_transaction(holder, "a");
    hand_start_waiting(frozen, X);
    hand_row(holder, "COMMIT");
    t_text(hand_field(hand_finish(frozen), 0), "0"); /* and never commits */
    t_text(hand_field(hand_grant(other, X, 0), 0), "1");
    t_until(hand_number(t_admin(),
                        t_is_postgresql() ? "SELECT count(*) FROM pg_stat_activity WHERE pid = %ld"
                                          : "SELECT count(*) FROM " T_PROCESSLIST " WHERE id = %ld",
                        session) == 0);
    hand_lease(other, X);
    t_int(hand_number(other, "SELECT count(*) FROM %s WHERE token > 0", lease_table()), 1);
    if (t_is_postgresql()) {
        hand_start(frozen, "COMMIT");
        t_text(hand_finish(frozen), "25P03");
    }
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
