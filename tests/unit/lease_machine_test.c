/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The decisions of a lease as stories: the answers of the database, and the next step after each.
 * Time is simulated, and the random numbers are always 0.
 * Runs on: alone
 */
#include <stdio.h>
#include <string.h>

#include "lease/machine/machine.h"
#include "lib/test.h"
#include "util/clock.h"

#define START 1000

/* ---- how a story of acquire is written ------------------------------------------------------- */

struct story {
    struct rowlock_acquire_machine machine;
    struct rowlock_step step;
    int64_t now;
    char text[2000];
};

static void write_down(struct story *s, const char *what, int64_t number, int64_t limit)
{
    size_t at = strlen(s->text);
    char first[24] = "", second[24] = "";

    if (number)
        snprintf(first, sizeof first, " %lld", (long long)number);
    if (limit)
        snprintf(second, sizeof second, " %lldms", (long long)limit);
    snprintf(s->text + at, sizeof s->text - at, "%s%s%s%s", at ? ", " : "", what, first, second);
}

static void write_step(struct story *s)
{
    const struct rowlock_step *step = &s->step;
    char done[40];

    switch (step->act) {
    case ROWLOCK_ACT_GRANT:
        write_down(s, step->ticket ? "take" : "try", step->ticket, step->limit_ms);
        break;
    case ROWLOCK_ACT_ENQUEUE:
        write_down(s, "enqueue", 0, 0);
        break;
    case ROWLOCK_ACT_PLACE:
        write_down(s, "place", step->ticket, 0);
        break;
    case ROWLOCK_ACT_AWAIT:
        write_down(s, step->token ? "await token" : "await ticket", step->number, step->limit_ms);
        break;
    case ROWLOCK_ACT_TURN:
        write_down(s, step->token ? "turn after token" : "turn after ticket", step->number,
                   step->limit_ms);
        break;
    case ROWLOCK_ACT_PAUSE:
        write_down(s, "pause", 0, step->limit_ms);
        break;
    case ROWLOCK_ACT_OVERTAKE:
        write_down(s, step->called ? "strike" : "call", step->called, 0);
        break;
    case ROWLOCK_ACT_WITHDRAW:
        write_down(s, "withdraw", step->ticket, 0);
        break;
    case ROWLOCK_ACT_SESSION_UNLOCK:
        write_down(s, "unmark", step->number, 0);
        break;
    case ROWLOCK_ACT_RECONNECT:
        write_down(s, "reconnect", 0, 0);
        break;
    case ROWLOCK_ACT_DONE:
        snprintf(done, sizeof done, s->machine.code ? "done %s" : "done",
                 rowlock_error_name(s->machine.code));
        write_down(s, done, s->machine.token, 0);
        break;
    }
}

/* A waiter on a server; a story may change its state before the first answer. */
static void begin_somewhere(struct story *s, int64_t wait_ms, bool remote)
{
    memset(s, 0, sizeof *s);
    s->now = START;
    s->machine.deadline_ms = rowlock__after(START, wait_ms);
    s->machine.tries = wait_ms == 0;
    s->machine.remote = remote;
    s->machine.reconnect_ms = remote ? 10000 : 0;
    s->step = rowlock__acquire_start(&s->machine, s->now);
    write_step(s);
}

static void begin(struct story *s, int64_t wait_ms)
{
    begin_somewhere(s, wait_ms, true);
}

static void begin_on_sqlite(struct story *s, int64_t wait_ms)
{
    begin_somewhere(s, wait_ms, false);
}

static void tell(struct story *s, int64_t after_ms, struct rowlock_reply reply)
{
    s->now += after_ms;
    s->step = rowlock__acquire_next(&s->machine, s->now, &reply, 0);
    write_step(s);
}

/* Checks the steps recorded since the last check. */
#define t_story(s, wanted)         \
    do {                           \
        t_text((s)->text, wanted); \
        (s)->text[0] = '\0';       \
    } while (0)

#define SAYS(...) ((struct rowlock_reply){__VA_ARGS__})
#define FAILS(name) SAYS(.code = ROWLOCK_##name)
#define NOTHING SAYS(.code = 0)
#define CAME SAYS(.number = 1)
#define GRANTED(t) SAYS(.token = (t))
#define BUSY SAYS(.status = ROWLOCK_STATUS_BUSY)
#define LEASED(t) SAYS(.status = ROWLOCK_STATUS_LEASED, .number = (t))
#define QUEUED(t) SAYS(.status = ROWLOCK_STATUS_QUEUED, .number = (t))
#define UNQUEUED SAYS(.status = ROWLOCK_STATUS_UNQUEUED)
#define LIMITS SAYS(.status = ROWLOCK_STATUS_LIMIT)
#define TICKET(t) SAYS(.number = (t))
/* answers of `place` */
#define FIRST SAYS(.locked = true)
#define HELD(t, expires) \
    SAYS(.status = ROWLOCK_STATUS_LEASED, .number = (t), .expires_ms = (expires), .locked = true)
#define BEHIND(last, n, is_free)                                                              \
    SAYS(.status = ROWLOCK_STATUS_QUEUED, .number = (last), .before = (n), .free = (is_free), \
         .locked = true)

/* ---- a try ----------------------------------------------------------------------------------- */

TEST(an_uncontended_lease_is_one_step)
{
    struct story s;

    begin(&s, -1);
    tell(&s, 1, GRANTED(70));
    t_story(&s, "try, done 70");
}

TEST(a_refused_try_names_the_holder)
{
    struct story s;

    begin(&s, 0);
    tell(&s, 1, LEASED(70));
    t_story(&s, "try, done EBUSY");
    t_int(s.machine.held_by, 70);
}

TEST(a_try_waits_a_moment_for_another_grant)
{
    struct story s;

    begin(&s, 0);
    tell(&s, 1, BUSY);
    tell(&s, 30, GRANTED(71));
    t_story(&s, "try, try 250ms, done 71");

    begin(&s, 0);
    tell(&s, 1, BUSY);
    tell(&s, 250, SAYS(.status = ROWLOCK_STATUS_TIMEDOUT));
    t_story(&s, "try, try 250ms, done EBUSY");
}

TEST(a_try_on_a_busy_file_is_repeated_for_that_moment)
{
    struct story s;

    begin_on_sqlite(&s, 0);
    tell(&s, 0, FAILS(ETIMEDOUT));
    tell(&s, 10, NOTHING);
    tell(&s, 0, GRANTED(5));
    t_story(&s, "try 250ms, pause 10ms, try 240ms, done 5");

    begin_on_sqlite(&s, 0);
    tell(&s, 0, BUSY);
    tell(&s, 250, NOTHING);
    tell(&s, 0, BUSY);
    t_story(&s, "try 250ms, pause 10ms, try 1ms, done EBUSY");
}

TEST(p6_a_try_behind_a_dead_ticket_removes_it)
{
    struct story s;

    begin(&s, 0);
    tell(&s, 1, QUEUED(9));
    tell(&s, 1, CAME);
    tell(&s, 1, QUEUED(8));
    tell(&s, 1, CAME);
    tell(&s, 1, GRANTED(72));
    t_story(&s, "try, await ticket 9, try, await ticket 8, try, done 72");
}

TEST(a_try_does_not_pass_a_living_ticket)
{
    struct story s;

    begin(&s, 0);
    tell(&s, 1, QUEUED(9));
    tell(&s, 1, NOTHING);
    t_story(&s, "try, await ticket 9, done EBUSY");

    begin(&s, 0); /* its owner has no session lock: the queue reports the same ticket again */
    tell(&s, 1, QUEUED(9));
    tell(&s, 1, CAME);
    tell(&s, 1, QUEUED(9));
    t_story(&s, "try, await ticket 9, try, done EBUSY");
}

TEST(p6_a_try_clears_dead_tickets_for_a_second_at_most)
{
    struct story s;

    begin(&s, 0);
    tell(&s, 1, QUEUED(9));
    tell(&s, 600, CAME);
    tell(&s, 1, QUEUED(8));
    tell(&s, 600, CAME);
    tell(&s, 1, QUEUED(7));
    t_story(&s, "try, await ticket 9, try, await ticket 8, try, done EBUSY");
}

TEST(permits_stated_differently_are_refused)
{
    struct story s;

    begin(&s, -1);
    tell(&s, 1, LIMITS);
    t_story(&s, "try, done ELIMIT");

    begin(&s, -1);
    tell(&s, 1, LEASED(70));
    tell(&s, 1, TICKET(7));
    tell(&s, 1, LIMITS);
    tell(&s, 1, NOTHING);
    t_story(&s, "try, enqueue, place 7, withdraw 7, done ELIMIT");
}

/* ---- the queue ------------------------------------------------------------------------------- */

TEST(p7_a_waiter_goes_through_the_queue)
{
    struct story s;

    begin(&s, -1);
    tell(&s, 1, LEASED(70));
    tell(&s, 1, TICKET(7));
    tell(&s, 1, BEHIND(5, 2, false));
    t_story(&s, "try, enqueue, place 7, await ticket 5 3000ms");
    tell(&s, 900, CAME);
    tell(&s, 1, HELD(71, 30000));
    tell(&s, 400, CAME);
    t_story(&s, "place 7, await token 71 1000ms, place 7");
    tell(&s, 1, FIRST);
    tell(&s, 1, GRANTED(72));
    tell(&s, 1, NOTHING);
    t_story(&s, "take 7 60000ms, unmark 7, done 72");
}

static void queue_up(struct story *s, int64_t ticket)
{
    tell(s, 1, LEASED(70));
    tell(s, 1, TICKET(ticket));
    s->text[0] = '\0';
}

/* ---- a try where the name looks free --------------------------------------------------------- */

#define SEIZED(t) SAYS(.token = (t), .session_unlocked = true)

static void begin_with_tries(struct story *s)
{
    begin(s, -1);
    s->machine.seizes = true;
    queue_up(s, 7);
}

TEST(a_head_tries_once_the_holder_has_released)
{
    struct story s;

    begin_with_tries(&s);
    tell(&s, 1, HELD(70, 30000));
    tell(&s, 100, CAME);
    tell(&s, 1, SEIZED(72));
    t_story(&s, "await token 70 1000ms, take 7, done 72");
}

TEST(a_head_whose_try_was_refused_waits_for_the_name_lock)
{
    struct story s;

    begin_with_tries(&s);
    tell(&s, 1, HELD(70, 30000));
    tell(&s, 100, CAME);
    tell(&s, 1, BUSY);
    tell(&s, 1, FIRST);
    tell(&s, 500, GRANTED(72));
    t_story(&s, "await token 70 1000ms, take 7, place 7, take 7 60000ms, unmark 7");
}

TEST(a_head_that_finds_the_name_free_tries_once)
{
    struct story s;

    begin_with_tries(&s);
    tell(&s, 1, FIRST);
    tell(&s, 1, BUSY);
    tell(&s, 1, FIRST);
    t_story(&s, "take 7, place 7, take 7 60000ms");
}

TEST(a_waiter_behind_another_looks_when_that_one_has_left)
{
    struct story s;

    begin_with_tries(&s);
    tell(&s, 1, BEHIND(5, 1, false));
    tell(&s, 100, CAME);
    t_story(&s, "await ticket 5 2000ms, place 7");
}

/* ---- wait and grant in one round trip -------------------------------------------------------- */

#define TURNED(t) SAYS(.token = (t), .session_unlocked = true)
#define ENDED SAYS(.status = ROWLOCK_STATUS_TIMEDOUT)

static void begin_with_turns(struct story *s)
{
    begin(s, -1);
    s->machine.turns = true;
    queue_up(s, 7);
}

TEST(a_turn_is_the_last_step)
{
    struct story s;

    begin_with_turns(&s);
    tell(&s, 1, BEHIND(5, 1, false));
    tell(&s, 900, TURNED(72));
    t_story(&s, "turn after ticket 5 2000ms, done 72");
}

TEST(a_head_takes_its_turn_after_the_holder)
{
    struct story s;

    begin_with_turns(&s);
    tell(&s, 1, HELD(70, 30000));
    tell(&s, 1000, ENDED);
    tell(&s, 1, HELD(70, 300));
    tell(&s, 100, TURNED(72));
    t_story(&s, "turn after token 70 1000ms, place 7, turn after token 70 300ms, done 72");
}

TEST(a_turn_that_finds_the_dead_removes_him_by_an_await)
{
    struct story s;

    begin_with_turns(&s);
    tell(&s, 1, BEHIND(5, 1, false));
    tell(&s, 900, QUEUED(5));
    tell(&s, 1, CAME);
    tell(&s, 1, HELD(70, 30000));
    t_story(&s,
            "turn after ticket 5 2000ms, await ticket 5 10ms, place 7, turn after token 70 1000ms");
}

TEST(a_turn_that_finds_another_before_it_looks_again)
{
    struct story s;

    begin_with_turns(&s);
    tell(&s, 1, BEHIND(5, 2, false));
    tell(&s, 900, QUEUED(4));
    tell(&s, 1, BEHIND(4, 1, false));
    t_story(&s, "turn after ticket 5 3000ms, place 7, turn after ticket 4 2000ms");
}

TEST(a_turn_behind_a_holder_without_a_session_is_not_tried_again_at_once)
{
    struct story s;

    begin_with_turns(&s);
    tell(&s, 1, BEHIND(5, 1, false));
    tell(&s, 900, LEASED(71));
    tell(&s, 1, HELD(71, 30000));
    t_story(&s, "turn after ticket 5 2000ms, place 7, pause 10ms");
}

TEST(a_turn_that_did_not_get_the_name_waits_for_it_as_the_first)
{
    struct story s;

    begin_with_turns(&s);
    tell(&s, 1, HELD(70, 30000));
    tell(&s, 100, BUSY);
    tell(&s, 1, FIRST);
    t_story(&s, "turn after token 70 1000ms, place 7, take 7 60000ms");
}

TEST(a_turn_whose_reply_is_lost_may_have_been_granted)
{
    struct story s;

    begin_with_turns(&s);
    tell(&s, 1, HELD(70, 30000));
    tell(&s, 100, FAILS(ECONN));
    t_true(s.machine.unsure);
    tell(&s, 1, NOTHING);
    tell(&s, 1, GRANTED(72));
    t_story(&s, "turn after token 70 1000ms, reconnect, try, done 72");
}

TEST(a_transaction_that_has_the_name_is_waited_for_in_the_queue)
{
    struct story s;

    begin(&s, 5000);
    tell(&s, 1, BUSY);
    tell(&s, 1, TICKET(7));
    tell(&s, 1, FIRST);
    t_story(&s, "try, enqueue, place 7, take 7 4997ms");
}

TEST(the_head_looks_again_at_the_expiry_or_after_a_second)
{
    struct story s;

    begin(&s, -1);
    queue_up(&s, 7);
    tell(&s, 1, HELD(70, 30000));
    tell(&s, 1000, NOTHING);
    tell(&s, 1, HELD(70, 300));
    tell(&s, 300, NOTHING);
    tell(&s, 1, FIRST);
    t_story(&s, "await token 70 1000ms, place 7, await token 70 300ms, place 7, take 7 60000ms");
}

TEST(a_holder_without_a_session_is_polled_more_and_more_seldom)
{
    struct story s;

    begin(&s, -1);
    queue_up(&s, 7);
    tell(&s, 1, HELD(70, 30000));
    for (int i = 0; i < 5; i++) {
        tell(&s, 1, CAME); /* a pause has no answer; the machine must accept any */
        tell(&s, 1, HELD(70, 30000));
    }
    t_story(&s, "await token 70 1000ms, place 7, pause 10ms, place 7, pause 20ms, place 7, "
                "pause 40ms, place 7, pause 80ms, place 7, pause 100ms");
    tell(&s, 1, NOTHING);
    tell(&s, 1, HELD(71, 30000)); /* another holder, whose session may be alive */
    t_story(&s, "place 7, await token 71 1000ms");
}

TEST(a_head_that_waits_for_permits_looks_often)
{
    struct story s;

    begin(&s, -1);
    s.machine.permits = true;
    queue_up(&s, 7);
    tell(&s, 1, HELD(70, 30000));
    t_story(&s, "await token 70 250ms");
}

TEST(a_wait_for_a_ticket_grows_with_the_place_and_ends)
{
    struct story s;

    begin(&s, -1);
    queue_up(&s, 900);
    tell(&s, 1, BEHIND(899, 400, false));
    tell(&s, 30000, NOTHING);
    tell(&s, 1, BEHIND(899, 1, false));
    t_story(&s, "await ticket 899 30000ms, place 900, await ticket 899 2000ms");
}

TEST(without_session_locks_waiters_poll)
{
    struct story s;
    struct rowlock_reply held = HELD(70, 30000), behind = BEHIND(5, 40, false);

    held.locked = behind.locked = false;
    begin(&s, -1);
    queue_up(&s, 50);
    /* the validity granted at the head of the queue is too short for this pause */
    tell(&s, 1, behind);
    t_true(s.step.good_ms >= 1500 + 2 * 410);
    tell(&s, 1, behind);
    tell(&s, 410, NOTHING);
    behind.before = 2;
    tell(&s, 1, behind);
    tell(&s, 15, NOTHING);
    t_true(s.step.good_ms < 1500 + 2 * 50);
    tell(&s, 1, held);
    tell(&s, 10, NOTHING);
    tell(&s, 1, held);
    t_story(&s, "place 50, pause 410ms, place 50, pause 15ms, place 50, pause 10ms, place 50, "
                "pause 20ms");
    tell(&s, 20, NOTHING);
    /* no session lock shows that it lives: it waits for the name lock in slices */
    tell(&s, 1, SAYS(.locked = false));
    t_story(&s, "place 50, take 50 761ms");
    tell(&s, 1000, SAYS(.status = ROWLOCK_STATUS_TIMEDOUT));
    tell(&s, 10, NOTHING);
    tell(&s, 1, SAYS(.locked = false));
    tell(&s, 1, GRANTED(73));
    t_story(&s, "pause 40ms, place 50, take 50 761ms, done 73");
}

TEST(on_sqlite_the_head_polls_every_10_ms)
{
    struct story s;
    struct rowlock_reply held = HELD(70, 30000);

    held.locked = false;
    begin_on_sqlite(&s, -1);
    queue_up(&s, 7);
    for (int i = 0; i < 3; i++) {
        tell(&s, 1, held);
        t_int(s.step.limit_ms, 10);
        tell(&s, 10, NOTHING);
        t_true(s.step.good_ms >= 1000 && s.step.good_ms < 1100);
    }
    t_story(&s, "pause 10ms, place 7, pause 10ms, place 7, pause 10ms, place 7");
}

TEST(a_busy_file_is_asked_again)
{
    struct story s;

    begin_on_sqlite(&s, -1);
    tell(&s, 0, LEASED(70));
    tell(&s, 0, FAILS(ETIMEDOUT));
    tell(&s, 10, NOTHING);
    tell(&s, 0, TICKET(7));
    tell(&s, 0, FAILS(ETIMEDOUT));
    tell(&s, 10, NOTHING);
    t_story(&s, "try 250ms, enqueue, pause 10ms, enqueue, place 7, pause 10ms, place 7");
}

TEST(a_waiter_that_never_queued_in_a_file_has_nothing_to_withdraw)
{
    struct story s;

    begin_on_sqlite(&s, 1000); /* another program holds the write lock all the time */
    tell(&s, 250, SAYS(.status = ROWLOCK_STATUS_TIMEDOUT));
    tell(&s, 750, FAILS(ETIMEDOUT));
    tell(&s, 1, NOTHING);
    t_story(&s, "try 250ms, enqueue, pause 1ms, done ETIMEDOUT");

    begin(&s, 1000); /* the server may have executed it before the reply was lost */
    tell(&s, 1, LEASED(70));
    tell(&s, 999, FAILS(ETIMEDOUT));
    tell(&s, 1, NOTHING);
    t_story(&s, "try, enqueue, pause 1ms, withdraw");
}

TEST(what_looked_free_and_was_not_is_looked_at_again)
{
    struct story s;

    begin(&s, -1);
    queue_up(&s, 7);
    tell(&s, 1, FIRST);
    tell(&s, 1, LEASED(70)); /* a renewal was under way */
    tell(&s, 10, NOTHING);
    tell(&s, 1, FIRST);
    tell(&s, 1, FAILS(EROLLEDBACK)); /* the victim of a deadlock */
    tell(&s, 10, NOTHING);
    t_story(&s, "take 7 60000ms, pause 10ms, place 7, take 7 60000ms, pause 10ms, place 7");
}

TEST(a_ticket_that_others_removed_is_drawn_again)
{
    struct story s;

    begin(&s, -1);
    queue_up(&s, 7);
    tell(&s, 1, UNQUEUED);
    tell(&s, 1, NOTHING);
    tell(&s, 1, TICKET(9));
    t_story(&s, "unmark 7, enqueue, place 9");
    tell(&s, 1, FIRST);
    tell(&s, 1, UNQUEUED);
    tell(&s, 1, NOTHING);
    t_story(&s, "take 9 60000ms, unmark 9, enqueue");
}

/* ---- waiters that are frozen ----------------------------------------------------------------- */

/* The name has been free for 2 s, and the roll call, number 90, has been made. */
static void call_roll(struct story *s)
{
    begin(s, -1);
    queue_up(s, 7);
    tell(s, 1, BEHIND(5, 1, true));
    tell(s, 2000, NOTHING);
    tell(s, 1, BEHIND(5, 1, true));
    tell(s, 1, SAYS(.number = 90));
    t_story(s, "await ticket 5 2000ms, place 7, call, place 7");
}

TEST(p6_frozen_waiters_are_passed_by_three_visits)
{
    struct story s;

    call_roll(&s);
    tell(&s, 1, BEHIND(5, 1, true));
    tell(&s, 2000, NOTHING);
    tell(&s, 1, BEHIND(5, 1, true));
    tell(&s, 2000, NOTHING);
    tell(&s, 1, BEHIND(5, 1, true));
    tell(&s, 997, NOTHING);
    t_story(&s, "await ticket 5 2000ms, place 7, await ticket 5 2000ms, place 7, "
                "await ticket 5 997ms, place 7");
    tell(&s, 1, BEHIND(5, 1, true)); /* to get the name lock after every waiter in its queue */
    tell(&s, 1, SAYS(.number = 95));
    tell(&s, 1, BEHIND(5, 1, true));
    tell(&s, 2000, NOTHING);
    tell(&s, 1, BEHIND(5, 1, true));
    t_story(&s, "call, place 7, await ticket 5 1999ms, place 7, strike 90");
    tell(&s, 1, SAYS(.number = 90));
    tell(&s, 1, FIRST);
    t_story(&s, "place 7, take 7 60000ms");
}

TEST(p7_a_name_that_is_held_again_ends_a_roll_call)
{
    struct story s;

    begin(&s, -1);
    queue_up(&s, 7);
    tell(&s, 1, BEHIND(5, 1, true));
    tell(&s, 2000, NOTHING);
    tell(&s, 1, BEHIND(5, 1, false));
    tell(&s, 2000, NOTHING);
    tell(&s, 1, BEHIND(5, 1, true));
    t_story(&s, "await ticket 5 2000ms, place 7, await ticket 5 2000ms, place 7, "
                "await ticket 5 2000ms");
    call_roll(&s);
    tell(&s, 1, BEHIND(5, 1, false));
    tell(&s, 2000, NOTHING);
    tell(&s, 1, BEHIND(5, 1, true));
    tell(&s, 2000, NOTHING);
    tell(&s, 1, BEHIND(5, 1, true));
    t_story(&s, "await ticket 5 2000ms, place 7, await ticket 5 2000ms, place 7, call");
}

TEST(p7_a_visit_that_did_not_get_t_is_repeated)
{
    struct story s;

    call_roll(&s);
    tell(&s, 4999, BEHIND(5, 1, true));
    tell(&s, 1, NOTHING);
    tell(&s, 1, BEHIND(5, 1, true));
    tell(&s, 1, SAYS(.number = 0));
    tell(&s, 1, BEHIND(5, 1, true));
    tell(&s, 2000, NOTHING);
    tell(&s, 1, BEHIND(5, 1, true));
    t_story(&s, "await ticket 5 1ms, place 7, call, place 7, await ticket 5 1999ms, place 7, call");
}

/* The other waiters may have slept too, as in a suspended machine: they had no time to answer. */
TEST(p7_a_caller_that_slept_calls_again)
{
    struct story s;

    call_roll(&s);
    tell(&s, 4999, BEHIND(5, 1, true));
    tell(&s, 1, NOTHING);
    tell(&s, 1, BEHIND(5, 1, true));
    tell(&s, 1, SAYS(.number = 95));
    tell(&s, 60000, BEHIND(5, 1, true));
    tell(&s, 1, SAYS(.number = 96));
    tell(&s, 1, BEHIND(5, 1, true));
    t_story(&s, "await ticket 5 1ms, place 7, call, place 7, call, place 7, await ticket 5 2000ms");
}

TEST(p6_the_first_17_waiters_look_every_3_s)
{
    struct story s;

    begin(&s, -1);
    queue_up(&s, 70);
    tell(&s, 1, BEHIND(69, 17, false));
    tell(&s, 30000, NOTHING);
    tell(&s, 1, BEHIND(69, 16, false));
    tell(&s, 4000, NOTHING);
    tell(&s, 1, BEHIND(69, 17, true));
    t_story(&s, "await ticket 69 30000ms, place 70, await ticket 69 3000ms, place 70, "
                "await ticket 69 10000ms");
}

/* ---- giving up ------------------------------------------------------------------------------- */

TEST(the_deadline_withdraws_the_ticket)
{
    struct story s;

    begin(&s, 3000);
    queue_up(&s, 7);
    tell(&s, 1, BEHIND(5, 3, false));
    tell(&s, 2997, NOTHING);
    tell(&s, 1, NOTHING);
    tell(&s, 1, NOTHING);
    t_story(&s, "await ticket 5 2997ms, withdraw 7, unmark 7, done ETIMEDOUT");
}

TEST(a_wait_that_ends_before_the_queue_ends_there)
{
    struct story s;

    begin(&s, 5);
    tell(&s, 5, BUSY);
    t_story(&s, "try, done ETIMEDOUT");
}

TEST(an_interrupt_withdraws_the_ticket)
{
    struct story s;

    begin(&s, -1);
    queue_up(&s, 7);
    tell(&s, 1, HELD(70, 30000));
    tell(&s, 1, FAILS(ECANCELED));
    /* even if withdrawing fails: without its session lock the ticket is dead */
    tell(&s, 1, FAILS(ETIMEDOUT));
    tell(&s, 1, NOTHING);
    t_story(&s, "await token 70 1000ms, withdraw 7, unmark 7, done ECANCELED");

    begin(&s, -1);
    tell(&s, 1, LEASED(70));
    tell(&s, 1, FAILS(ECANCELED)); /* whether the ticket exists or not */
    tell(&s, 1, NOTHING);
    t_story(&s, "try, enqueue, withdraw, done ECANCELED");

    begin(&s, -1);
    tell(&s, 1, FAILS(ECANCELED));
    t_story(&s, "try, done ECANCELED");
}

TEST(an_error_that_waiting_cannot_cure_is_reported_after_withdrawing)
{
    struct story s;

    begin(&s, -1);
    queue_up(&s, 7);
    tell(&s, 1, FAILS(EDENIED));
    tell(&s, 1, NOTHING);
    tell(&s, 1, NOTHING);
    t_story(&s, "withdraw 7, unmark 7, done EDENIED");
}

/* ---- a lost session -------------------------------------------------------------------------- */

TEST(a_lost_reply_is_settled_by_the_same_question)
{
    struct story s;

    begin(&s, 0);
    tell(&s, 1, FAILS(EUNKNOWN));
    t_true(s.machine.unsure);
    tell(&s, 30, NOTHING);
    tell(&s, 1, GRANTED(70)); /* the existing lease of this owner */
    t_story(&s, "try, reconnect, try, done 70");
    t_true(!s.machine.unsure);
}

TEST(a_lost_session_that_was_still_at_work_is_waited_for)
{
    struct story s;

    begin(&s, 0);
    tell(&s, 1, FAILS(ECONN));
    tell(&s, 30, NOTHING);
    tell(&s, 1, LEASED(70)); /* is the lease ours? */
    tell(&s, 1, GRANTED(70));
    t_story(&s, "try, reconnect, try, try 2000ms, done 70");

    begin(&s, 0);
    tell(&s, 1, FAILS(ECONN));
    tell(&s, 30, NOTHING);
    tell(&s, 1, LEASED(70));
    tell(&s, 1, LEASED(70)); /* it is another owner's */
    t_story(&s, "try, reconnect, try, try 2000ms, done EBUSY");

    begin(&s, -1);
    tell(&s, 1, FAILS(ECONN));
    tell(&s, 30, NOTHING);
    tell(&s, 1, LEASED(69));
    tell(&s, 1, LEASED(69));
    tell(&s, 1, TICKET(7));
    tell(&s, 1, HELD(70, 30000)); /* is this lease ours? */
    tell(&s, 1, LEASED(70));
    tell(&s, 10, NOTHING);
    tell(&s, 1, HELD(70, 30000));
    t_story(&s, "try, reconnect, try, try 2000ms, enqueue, place 7, take 7 60000ms, pause 10ms, "
                "place 7, await token 70 1000ms");
}

TEST(a_session_lost_in_the_queue_begins_again)
{
    struct story s;

    begin(&s, -1);
    queue_up(&s, 7);
    tell(&s, 1, HELD(70, 30000));
    tell(&s, 1, FAILS(ECONN));
    tell(&s, 1, NOTHING);
    tell(&s, 1, QUEUED(8));
    tell(&s, 1, TICKET(9));
    t_story(&s, "await token 70 1000ms, reconnect, try, enqueue, place 9");
}

TEST(reconnecting_is_tried_with_growing_pauses_and_ends)
{
    struct story s;

    begin(&s, 0);
    s.machine.reconnect_ms = 300;
    tell(&s, 1, FAILS(ECONN));
    tell(&s, 1, FAILS(ECONN));
    tell(&s, 50, NOTHING);
    tell(&s, 1, FAILS(ESERVER)); /* a standby that is not promoted yet */
    tell(&s, 100, NOTHING);
    tell(&s, 1, FAILS(ETIMEDOUT));
    tell(&s, 200, NOTHING);
    t_story(&s, "try, reconnect, pause 50ms, reconnect, pause 100ms, reconnect, pause 200ms, "
                "done ECONN");
    t_true(s.machine.unsure);
}

/* Answers as if the server could not be reached, until `until_ms` after the start. */
static void be_away(struct story *s, int64_t until_ms)
{
    while (s->now < START + until_ms && s->step.act != ROWLOCK_ACT_DONE) {
        s->text[0] = '\0';
        if (s->step.act == ROWLOCK_ACT_RECONNECT)
            tell(s, 1, FAILS(ECONN));
        else
            tell(s, s->step.limit_ms, NOTHING);
    }
}

TEST(a_wait_without_a_timeout_waits_for_the_database_too)
{
    struct story s;

    begin(&s, -1);
    queue_up(&s, 7);
    tell(&s, 1, FAILS(ECONN));
    t_story(&s, "reconnect");
    be_away(&s, 3600000);
    t_story(&s, s.step.act == ROWLOCK_ACT_PAUSE ? "pause 5000ms" : "reconnect");
    if (s.step.act == ROWLOCK_ACT_PAUSE)
        tell(&s, 5000, NOTHING);
    s.text[0] = '\0';
    tell(&s, 1, NOTHING);
    tell(&s, 1, QUEUED(8));
    tell(&s, 1, TICKET(9));
    t_story(&s, "try, enqueue, place 9");
}

TEST(a_wait_with_a_timeout_waits_for_the_database_until_then)
{
    struct story s;

    begin(&s, 120000);
    queue_up(&s, 7);
    tell(&s, 1, FAILS(ECONN));
    be_away(&s, 110000);
    t_true(s.step.act != ROWLOCK_ACT_DONE);
    be_away(&s, 130000);
    t_story(&s, "done ECONN");
    t_true(s.now >= START + 120000 && s.now <= START + 120001);
}

TEST(a_server_that_hangs_up_again_and_again_is_not_hammered)
{
    struct story s;

    begin(&s, -1);
    tell(&s, 1, FAILS(ECONN));
    tell(&s, 1, NOTHING);
    tell(&s, 1, FAILS(ECONN));
    tell(&s, 50, NOTHING);
    tell(&s, 1, NOTHING);
    tell(&s, 1, FAILS(ECONN));
    t_story(&s, "try, reconnect, try, pause 50ms, reconnect, try, pause 100ms");
}

TEST(a_session_that_is_not_ours_is_not_replaced)
{
    struct story s;

    begin(&s, -1);
    s.machine.reconnect_ms = 0;
    tell(&s, 1, FAILS(EUNKNOWN));
    t_story(&s, "try, done ECONN");
    t_true(s.machine.unsure);
}

TEST(an_interrupt_while_reconnecting_ends_it)
{
    struct story s;

    begin(&s, -1);
    tell(&s, 1, FAILS(ECONN));
    tell(&s, 1, FAILS(ECANCELED));
    t_story(&s, "try, reconnect, done ECANCELED");
}

/* ---- jitter ---------------------------------------------------------------------------------- */

TEST(p10_the_dice_shorten_a_pause_by_half_at_most)
{
    for (uint32_t dice = 0; dice < 100; dice++) {
        struct story s;
        struct rowlock_reply held = HELD(70, 30000);

        held.locked = false;
        begin_on_sqlite(&s, -1);
        queue_up(&s, 7);
        s.step = rowlock__acquire_next(&s.machine, s.now, &held, dice);
        t_true(s.step.limit_ms >= 5 && s.step.limit_ms <= 10);
    }
}
