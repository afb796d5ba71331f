/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The queue for leases on PostgreSQL, function by function: order, dead waiters, overtaken waiters,
 * and permits with their limit.
 *
 * Runs on: postgresql
 * Quick: first
 */
#include <libpq-fe.h>
#include <string.h>

#include "lib/harness.h"
#include "lib/hand.h"
#include "lib/test.h"

#define X "a:x:0:0"
#define S "a:s:0:0"

static const char *try_wants(void *hand, const char *wants)
{
    return hand_try(hand, (struct hand_terms){.wants = wants});
}

static const char *try_ticket(void *hand, const char *wants, long long ticket)
{
    return hand_try(hand, (struct hand_terms){.wants = wants, .ticket = ticket});
}

/* A session that the test may kill. */
static void *mortal(void)
{
    return t_native_at(t_url());
}

static void kill_it(void *hand)
{
    t_engine()->kill(t_admin(), PQbackendPID(hand));
    PQfinish(hand);
}

TEST(p7_a_ticket_of_several_names_is_first_for_each)
{
    void *one = hand_fresh(), *two = hand_open(), *three = hand_open();
    long long a = hand_queue(one, X, 1), both = hand_queue(two, "a:x:0:0,b:x:0:0", 1),
              b = hand_queue(three, "b:x:0:0", 1);

    t_text(hand_place(two, "a:x:0:0,b:x:0:0", both, 1), t_say("11|%lld|1|1|1", a));
    t_text(hand_place(three, "b:x:0:0", b, 1), t_say("11|%lld|1|1|1", both));
    t_text(try_ticket(two, "a:x:0:0,b:x:0:0", both), t_say("11|%lld", a));
    hand_row(one, "SELECT rowlock.withdraw(%lld, 'waiter %d', pg_backend_pid())", a,
             PQbackendPID(one));
    t_contains(try_ticket(two, "a:x:0:0,b:x:0:0", both), "0|");
    t_contains(hand_place(three, "b:x:0:0", b, 1), "3|");
    t_int(hand_waiters(one), 1);
}

TEST(p7_the_place_of_the_thousandth_waiter_is_distinguished_from_sixteen)
{
    void *hand = hand_fresh();
    long long last, before;

    hand_row(hand, "INSERT INTO rowlock.waiter (ticket, name, mode, owner, alive_until) SELECT "
                   "nextval('rowlock.number'), "
                   "'a', 'exclusive', 'many', clock_timestamp() + interval '60 s' FROM "
                   "generate_series(1, 1000)");
    last = hand_queue(hand, X, 1);
    before = hand_number(hand, "SELECT max(ticket) FROM rowlock.waiter WHERE owner = 'many'");
    t_contains(hand_place(hand, X, last, 1), t_say("11|%lld|17|1|1", before));
    /* no session holds it */
    t_int(hand_number(hand, "SELECT waiting FROM rowlock.holders('a')"), 0);
    hand_row(hand, "DELETE FROM rowlock.waiter WHERE owner = 'many' AND ticket > %lld",
             before - 900);
    t_contains(hand_place(hand, X, last, 1), t_say("11|%lld|17|", before - 900));
}

/* ---- the turn -------------------------------------------------------------------------------- */

static const char *turn(void *hand, long long ticket, int kind, long long awaited)
{
    return t_say("SELECT status, number FROM rowlock.turn('a', 'owner of %lld', 600000, 20000, "
                 "%lld, %d, 'host', 1, '', '', %d, %lld)",
                 ticket, ticket, PQbackendPID(hand), kind, awaited);
}

TEST(p7_a_turn_waits_for_the_ticket_and_then_for_its_lease)
{
    void *holder = hand_fresh(), *one = hand_open(), *two = hand_open();
    long long token = hand_lease(holder, X), first = hand_queue(one, X, 1),
              second = hand_queue(two, X, 1);

    hand_start(two, "BEGIN");
    hand_finish(two);
    hand_start(two, "%s", turn(two, second, 0, first));
    hand_until_waiting(two);
    hand_release(holder, token);
    t_contains(try_ticket(one, X, first), "0|");
    hand_until_waiting(two); /* now it waits for the lease */
    token = hand_number(one, "SELECT token FROM rowlock.lease WHERE token > 0");
    t_int(hand_waiters(one), 1);
    hand_release(one, token);
    t_contains(hand_finish(two), "0|");
    t_int(hand_waiters(one), 1); /* it has not committed yet */
    t_int(hand_is_marked(one, second), 1);
    hand_row(two, "COMMIT");
    t_int(hand_waiters(one), 0);
    t_int(hand_is_marked(one, second), 0);
    t_int(hand_is_marked(one, hand_number(one, "SELECT token FROM rowlock.lease WHERE token > 0")),
          1);
}

TEST(p7_a_turn_notices_that_another_session_has_ended_the_lease)
{
    void *holder = hand_fresh(), *one = hand_open(), *other = hand_open();
    long long token = hand_lease(holder, X), ticket = hand_queue(one, X, 1);

    hand_row(one, "BEGIN");
    hand_start(one, "%s", turn(one, ticket, 1, token));
    hand_until_waiting(one);
    t_int(hand_number(other, "SELECT rowlock.break('a', %lld, true)", token), 1);
    t_contains(hand_finish(one), "0|");
    t_int(hand_is_marked(other, token), 1); /* the holder does not know it */
    hand_row(one, "COMMIT");
}

TEST(p6_a_turn_that_is_not_committed_grants_no_lease)
{
    void *holder = hand_fresh(), *one = mortal(), *two = hand_open();
    long long token = hand_lease(holder, X), first = hand_queue(one, X, 1),
              second = hand_queue(two, X, 1);

    hand_row(one, "BEGIN");
    hand_start(one, "%s", turn(one, first, 1, token));
    hand_until_waiting(one);
    hand_release(holder, token);
    t_contains(hand_finish(one), "0|");
    kill_it(one);
    t_int(hand_number(two, "SELECT rowlock.await(0, %lld, 20000, 0)", first), 1);
    hand_row(two, "BEGIN");
    t_contains(hand_row(two, "%s", turn(two, second, 1, token)), "0|");
    hand_row(two, "COMMIT");
    t_int(hand_number(two, "SELECT count(*) FROM rowlock.lease WHERE token > 0"), 1);
}

TEST(p7_a_turn_takes_nothing_out_of_turn)
{
    void *holder = hand_fresh(), *one = hand_open(), *two = hand_open();
    long long token = hand_lease(holder, X), first = hand_queue(one, X, 1),
              second = hand_queue(two, X, 1);

    hand_release(holder, token);
    t_text(hand_row(two, "%s", turn(two, second, 1, token)),
           t_say("11|%lld", first)); /* another ticket comes first */
    t_int(hand_number(two, "SELECT count(*) FROM rowlock.lease WHERE token > 0"), 0);
    hand_row(one, "SELECT pg_advisory_unlock(rowlock.session_key(%lld))",
             first); /* as if its session had died */
    t_text(hand_row(two, "%s", turn(two, second, 0, first)), t_say("11|%lld", first));
    t_int(hand_waiters(two), 2);
    hand_row(two, "DELETE FROM rowlock.waiter");
    /* its own ticket has been deleted */
    t_text(hand_row(two, "%s", turn(two, second, 0, first)), "12|");
    t_int(hand_number(two, "SELECT count(*) FROM rowlock.lease WHERE token > 0"), 0);
}

TEST(p1_a_turn_acquires_nothing_beside_a_member)
{
    void *one = hand_fresh(), *two = hand_open(), *three = hand_open();
    long long first = hand_lease(one, S), second = hand_lease(two, S),
              ticket = hand_queue(three, X, 1);

    hand_release(one, first);
    t_text(hand_row(three, "%s", turn(three, ticket, 1, first)), t_say("3|%lld", second));
    hand_release(two, second);
    t_contains(hand_row(three, "%s", turn(three, ticket, 1, second)), "0|");
    t_int(hand_waiters(one), 0);
}

/* Without its own lock of the gate it would decide by a snapshot that lacks the ticket, and the
   lease would end as one without waiters. */
TEST(p7_a_turn_sees_a_ticket_that_is_committed_meanwhile)
{
    void *one = hand_fresh(), *two = hand_open();
    long long first = hand_queue(one, X, 1), second;

    hand_row(two, "BEGIN");
    second = hand_queue(two, X, 1);
    hand_start(one, "%s", turn(one, first, 1, 1)); /* no session has the session lock of 1 */
    hand_until_waiting(one);
    hand_row(two, "COMMIT");
    t_contains(hand_finish(one), "0|");
    t_text(hand_row(two, "SELECT queued FROM rowlock.lease WHERE token > 0"), "t");
    t_contains(hand_place(two, X, second, 1), "3|");
}

/* Otherwise it would keep the next waiter from it. */
TEST(p7_a_try_that_is_refused_needs_no_name_lock)
{
    void *holder = hand_fresh(), *one = hand_open(), *two = mortal(), *locker = hand_open();
    long long token = hand_lease(holder, X), first, second;

    hand_row(locker, "SELECT pg_advisory_lock(rowlock.key('a'))");
    t_text(try_wants(one, X), t_say("3|%lld", token));
    hand_row(locker, "SELECT pg_advisory_unlock(rowlock.key('a'))");
    first = hand_queue(one, X, 1);
    second = hand_queue(two, X, 1);
    hand_release(holder, token);
    hand_row(locker, "SELECT pg_advisory_lock(rowlock.key('a'))");
    t_text(try_wants(holder, X), t_say("11|%lld", second));
    t_text(try_wants(holder, S), t_say("11|%lld", second));
    kill_it(two);
    t_text(try_wants(holder, X), t_say("11|%lld", first));
    hand_row(one, "SELECT rowlock.withdraw(%lld, 'waiter %d', pg_backend_pid())", first,
             PQbackendPID(one));
    t_text(try_wants(holder, X), "1|");
    hand_row(locker, "SELECT pg_advisory_unlock(rowlock.key('a'))");
    t_contains(try_wants(holder, X), "0|");
}

TEST(p6_a_grant_removes_waiters_that_were_not_seen)
{
    void *one = hand_fresh(), *two = hand_open();
    long long first = hand_queue(one, X, 0);

    hand_row(one, "UPDATE rowlock.waiter SET alive_until = clock_timestamp() WHERE ticket = %lld",
             first);
    t_contains(try_wants(two, X), "0|");
    t_int(hand_waiters(two), 0);
}

/* ---- dead waiters ---------------------------------------------------------------------------- */

TEST(p6_a_try_ignores_waiters_that_died_in_the_queue)
{
    void *one = mortal(), *two = mortal(), *other = hand_fresh(), *alive = hand_open();
    long long ticket;

    hand_queue(one, X, 1);
    hand_queue(two, S, 1);
    kill_it(one);
    kill_it(two);
    ticket = hand_queue(alive, "b:x:0:0", 1);
    t_contains(try_wants(other, X), "0|");
    t_int(hand_waiters(other), 1);
    t_text(try_wants(other, "b:x:0:0"), t_say("11|%lld", ticket));
}

TEST(p6_a_waiter_without_a_lock_lives_as_long_as_it_was_seen)
{
    void *one = hand_fresh(), *two = hand_open();
    long long first = hand_queue(one, X, 0), second = hand_queue(two, X, 0);

    t_text(hand_place(one, X, first, 0), "0||0|1|0");
    t_text(hand_place(two, X, second, 0), t_say("11|%lld|1|1|0", first));
    t_int(hand_number(two, "SELECT rowlock.await(0, %lld, 1000, 0)", first), 1);
    t_int(hand_waiters(two),
          2); /* it has no session lock, which proves nothing about this waiter */
    hand_row(two, "UPDATE rowlock.waiter SET alive_until = clock_timestamp() WHERE ticket = %lld",
             first);
    t_text(hand_place(two, X, second, 0), "0||0|1|0");
    t_int(hand_waiters(two), 1);
    t_text(hand_place(one, X, first, 0), "12||0|1|0");
    t_text(try_ticket(one, X, first), "12|");
}

/* An interrupt rolls back the server's work; but a session lock belongs to the session. */
TEST(p11_what_was_rolled_back_leaves_no_lock_on_the_session)
{
    static const char *const work[] = {"rowlock.enqueue('{a}', '{exclusive}', '{NULL}', '{1}', "
                                       "'one', pg_backend_pid(), 1000, 'h', 1, 'c', NULL)",
                                       "rowlock.grant_lease('{a}', '{exclusive}', '{NULL}', '{1}', "
                                       "'one', 60000, 1000, 0, pg_backend_pid(), 'h', 1, 'c', "
                                       "NULL)"};
    void *hand = hand_fresh();

    for (int i = 0; i < 2; i++) {
        hand_row(hand, "BEGIN");
        hand_row(hand, "SELECT %s", work[i]);
        hand_row(hand, "ROLLBACK");
        hand_row(hand, "SELECT pg_advisory_unlock(rowlock.session_key(currval('rowlock.number')))");
        t_int(hand_number(hand, "SELECT count(*) FROM pg_locks WHERE pid = pg_backend_pid() AND "
                                "locktype = 'advisory'"),
              0);
    }
}

TEST(p6_a_second_ticket_of_an_owner_takes_the_first_ones_place)
{
    void *hand = hand_fresh();
    long long first = hand_queue(hand, X, 0), second = hand_queue(hand, X, 0);

    t_int(hand_waiters(hand), 1);
    t_text(hand_place(hand, X, first, 0), "12||0|1|0");
    t_text(hand_place(hand, X, second, 0), "0||0|1|0");
    hand_row(hand, "SELECT rowlock.withdraw(0, 'waiter %d', 0)", PQbackendPID(hand));
    t_int(hand_waiters(hand), 0);
}

/* ---- frozen waiters -------------------------------------------------------------------------- */

/* Its row is locked because another session is updating `seen`, which proves nothing else. */
TEST(p7_a_grant_passes_no_waiter_whose_row_is_being_updated)
{
    void *one = hand_fresh(), *two = hand_open();
    long long first = hand_queue(one, X, 0), second = hand_queue(two, X, 1);

    hand_row(two, "UPDATE rowlock.waiter SET alive_until = clock_timestamp() WHERE ticket = %lld",
             first);
    hand_row(one, "BEGIN");
    hand_place(one, X, first, 0);
    t_contains(hand_place(two, X, second, 1), t_say("11|%lld|", first));
    t_contains(try_ticket(two, X, second), t_say("11|%lld", first));
    hand_row(one, "COMMIT");
    t_contains(try_ticket(two, X, second), t_say("11|%lld", first));
    t_contains(try_ticket(one, X, first), "0|");
}

/* ---- listed holders and waiters -------------------------------------------------------------- */

TEST(list_names_the_holder_the_waiters_and_the_transaction)
{
    void *holder = hand_fresh(), *one = hand_open(), *two = hand_open(), *dead = mortal();
    long long token = hand_lease(holder, X), first, second;

    hand_queue(dead, X, 1);
    kill_it(dead);
    first = hand_queue(one, X, 1);
    second = hand_queue(two, S, 0);
    hand_row(one, "BEGIN; SELECT rowlock.exclusive('b')");
    t_text(hand_row(two, "SELECT string_agg(concat_ws(' ', state, mode, token, ticket, host, pid, "
                         "command, note), "
                         "', ') FROM rowlock.list('a')"),
           t_say("held exclusive %lld 0 here 4711 work a note, waiting exclusive 0 %lld here 4711 "
                 "work a note, "
                 "waiting shared 0 %lld here 4711 work a note",
                 token, first, second));
    t_text(hand_row(two, "SELECT state, mode, pid FROM rowlock.list('b')"),
           t_say("transaction|exclusive|%d", PQbackendPID(one)));
    hand_row(one, "COMMIT");
    t_contains(hand_row(two, "SELECT rowlock.holder('a')"),
               "a lease, pid 4711 on here (work), since 2");
    t_contains(hand_row(two, "SELECT rowlock.holder('a')"), "note: a note, ");
    t_contains(hand_row(two, "SELECT rowlock.holder('a')"), " waiting");
    hand_expire(two, token);
    t_int(hand_number(two, "SELECT count(*) FROM rowlock.list(NULL)"), 2);
}
