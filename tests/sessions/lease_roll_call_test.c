/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A roll call passes the waiters that do not answer it, and no others. Function by function, and
 * procedure by procedure.
 *
 * Runs on: postgresql mariadb
 * Quick: first
 */
#include <stdlib.h>

#include "lib/hand.h"
#include "lib/lease.h"
#include "lib/test.h"

#define X "a:x:0:0"

static const char *status(void *hand, const char *wants, long long ticket)
{
    return hand_field(hand_place(hand, wants, ticket, 1), 0);
}

TEST(p6_all_waiters_that_do_not_answer_a_roll_call_are_passed_at_once)
{
    void *frozen = hand_fresh(), *two = hand_open(), *alive = hand_open(), *four = hand_open(),
         *last = hand_open();
    long long first = hand_queue(frozen, "a:x:0:0,c:x:0:0", 1),
              second = hand_queue(two, "a:s:0:0", 1), third = hand_queue(alive, X, 1),
              fourth = hand_queue(four, X, 0), own = hand_queue(last, X, 1),
              call = hand_overtake(last, X, own, 0);
    const char *place;

    t_true(call > own);
    t_int(hand_waiters(last), 6);
    place = hand_place(alive, X, third, 1);
    t_text(hand_field(place, 0), "11");
    t_int(atoll(hand_field(place, 1)), second);
    t_text(hand_field(place, 2), "2");
    t_true(hand_overtake(last, X, own, call) == call);
    t_int(hand_waiters(last), 2);
    t_text(status(alive, X, third), "0");
    t_text(status(frozen, "a:x:0:0,c:x:0:0", first), "12");
    t_text(status(two, "a:s:0:0", second), "12");
    t_text(hand_field(hand_grant(frozen, X, first), 0), "12");
    t_text(hand_field(hand_grant(four, X, fourth), 0), "12");
    t_text(hand_field(hand_grant(alive, X, third), 0), "0");
}

/* Several callers: each one removes only waiters that were called by it or before it. */
TEST(p7_a_roll_call_does_not_judge_the_answers_to_a_later_one)
{
    void *head = hand_fresh(), *two = hand_open(), *three = hand_open();
    long long first = hand_queue(head, X, 1), second = hand_queue(two, X, 1),
              third = hand_queue(three, X, 1), early, late;

    early = hand_overtake(two, X, second, 0);
    t_text(status(head, X, first), "0");      /* answers the call, */
    late = hand_overtake(three, X, third, 0); /* and is called again */
    t_true(late > early);
    t_true(hand_overtake(two, X, second, early) == early);
    t_int(hand_waiters(two), 3);
    t_true(hand_overtake(two, X, second, late) == late);
    t_int(hand_waiters(two), 2);
    t_text(status(two, X, second), "0");
    t_true(hand_overtake(three, X, third, late) == late); /* the second has answered the call */
    t_int(hand_waiters(two), 2);
}

TEST(p7_no_waiter_is_called_while_the_name_is_held)
{
    void *head = hand_fresh(), *two = hand_open(), *three = hand_open();
    long long first = hand_queue(head, X, 1), second = hand_queue(two, X, 1), call, token;

    call = hand_overtake(two, X, second, 0);
    token = atoll(hand_field(hand_grant(head, X, first), 2));
    t_int(hand_overtake(two, X, second, call), 0);
    t_int(hand_overtake(two, X, second, 0), 0);
    hand_release(head, token);
    hand_queue(three, "b:x:0:0", 1);
    /* it calls neither later waiters nor those of another name */
    t_true(hand_overtake(two, X, second, 0) > call);
    t_int(hand_number(two, "SELECT count(roll_call) FROM %s", t_table("waiter")), 0);
}

TEST(p7_no_waiter_ahead_is_called_while_another_caller_holds_the_name)
{
    void *head = hand_fresh(), *two = hand_open(), *holder = hand_open();
    long long second;

    hand_lease(holder, X);
    hand_queue(head, X, 1);
    second = hand_queue(two, X, 1);
    t_int(hand_overtake(two, X, second, 0), 0);
    t_int(hand_number(two, "SELECT count(roll_call) FROM %s", t_table("waiter")), 0);
}

/* A transaction of this session, which a waiter may be waiting for. */
static void lock_in_a_transaction(void *hand, const char *name)
{
    hand_row(hand,
             t_is_postgresql() ? "BEGIN; SELECT rowlock.exclusive('%s')"
                               : "CALL rowlock_begin_exclusive('%s')",
             name);
}

TEST(p7_a_roll_call_removes_no_waiter_that_may_be_blocked)
{
    void *head = hand_fresh(), *two = hand_open(), *three = hand_open();
    long long both = hand_queue(head, "a:x:0:0,b:x:0:0", 1), second = hand_queue(two, X, 1),
              call = hand_overtake(two, X, second, 0), answer;

    lock_in_a_transaction(three, "b");
    answer = hand_overtake(two, X, second, call);
    t_true(answer == call || (t_facts()->code == ROWLOCK_INSERT && !t_is_postgresql()));
    t_int(hand_waiters(two), 3);
    hand_row(three, "COMMIT");
    if (t_is_postgresql()) {
        hand_row(two, "BEGIN");
        lock_in_a_transaction(three, "a");
        t_int(hand_number(two, "SELECT rowlock.overtake(%lld, %lld, 20)", second, call), 0);
        hand_row(two, "COMMIT");
        hand_row(three, "COMMIT");
        t_int(hand_waiters(two), 3);
        t_true(hand_overtake(two, X, second, call) == call);
    }
    for (int i = 0; i < 10 && !t_is_postgresql() && hand_waiters(two) > 1; i++)
        hand_overtake(two, X, second, call); /* with technique insert it may give up */
    t_int(hand_waiters(two), 1);
    t_text(status(head, "a:x:0:0,b:x:0:0", both), "12");
}

/* The waiter notices within a slice of its wait that it was called. */
TEST(p7_a_waiter_that_waits_for_long_answers_a_roll_call)
{
    void *frozen = hand_fresh(), *alive = hand_open(), *caller = hand_open();
    long long first = hand_queue(frozen, X, 1), second = hand_queue(alive, X, 1),
              third = hand_queue(caller, X, 1), call, began;

    hand_start_await(alive, 0, first, 30000, second);
    hand_until_waiting(alive);
    began = t_now();
    call = hand_overtake(caller, X, third, 0);
    t_text(hand_finish(alive), "0");
    t_within(began, 15000);
    t_text(status(alive, X, second), "11");
    t_true(hand_overtake(caller, X, third, call) == call);
    t_int(hand_waiters(caller), 2);
}
