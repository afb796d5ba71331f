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

static struct story {
    struct rowlock_acquire_machine machine;
    struct rowlock_step step;
    int64_t now;
    char text[2000];
} s;

static void write_down(const char *what, int64_t number, int64_t limit)
{
    size_t at = strlen(s.text);
    char first[24] = "", second[24] = "";

    if (number)
        snprintf(first, sizeof first, " %lld", (long long)number);
    if (limit)
        snprintf(second, sizeof second, " %lldms", (long long)limit);
    snprintf(s.text + at, sizeof s.text - at, "%s%s%s%s", at ? ", " : "", what, first, second);
}

static void write_step(void)
{
    const struct rowlock_step *step = &s.step;
    char done[40];

    switch (step->act) {
    case ROWLOCK_ACT_GRANT:
        write_down(step->ticket ? "take" : "try", step->ticket, step->limit_ms);
        break;
    case ROWLOCK_ACT_ENQUEUE:
        write_down("enqueue", 0, 0);
        break;
    case ROWLOCK_ACT_PLACE:
        write_down("place", step->ticket, 0);
        break;
    case ROWLOCK_ACT_AWAIT:
        write_down(step->token ? "await token" : "await ticket", step->number, step->limit_ms);
        break;
    case ROWLOCK_ACT_TURN:
        write_down(step->token ? "turn after token" : "turn after ticket", step->number,
                   step->limit_ms);
        break;
    case ROWLOCK_ACT_PAUSE:
        write_down("pause", 0, step->limit_ms);
        break;
    case ROWLOCK_ACT_OVERTAKE:
        write_down(step->called ? "strike" : "call", step->called, 0);
        break;
    case ROWLOCK_ACT_WITHDRAW:
        write_down("withdraw", step->ticket, 0);
        break;
    case ROWLOCK_ACT_SESSION_UNLOCK:
        write_down("unmark", step->number, 0);
        break;
    case ROWLOCK_ACT_RECONNECT:
        write_down("reconnect", 0, 0);
        break;
    case ROWLOCK_ACT_DONE:
        snprintf(done, sizeof done, s.machine.code ? "done %s" : "done",
                 rowlock_error_name(s.machine.code));
        write_down(done, s.machine.token, 0);
        break;
    }
}

/* A waiter on a server; a story may change its state before the first answer. */
static void begin_somewhere(int64_t wait_ms, bool remote)
{
    memset(&s, 0, sizeof s);
    s.now = START;
    s.machine.in.deadline_ms = rowlock__after(START, wait_ms);
    s.machine.in.tries = wait_ms == 0;
    s.machine.in.remote = remote;
    s.machine.in.reconnect_ms = remote ? 10000 : 0;
    s.machine.in.moves = remote;
    s.step = rowlock__acquire_start(&s.machine, s.now);
    write_step();
}

static void begin(int64_t wait_ms)
{
    begin_somewhere(wait_ms, true);
}

static void begin_on_sqlite(int64_t wait_ms)
{
    begin_somewhere(wait_ms, false);
}

struct heard {
    int64_t after_ms;
    struct rowlock_reply reply;
};

static void hear(const struct heard *heard, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        s.now += heard[i].after_ms;
        s.step = rowlock__acquire_next(&s.machine, s.now, &heard[i].reply, 0);
        write_step();
    }
}

static struct heard after(int64_t ms, struct heard heard)
{
    heard.after_ms = ms;
    return heard;
}

/* The answers to the steps, in their order: each comes after a millisecond, or after() so many. */
#define HEAR(...)                             \
    hear((const struct heard[]){__VA_ARGS__}, \
         sizeof(const struct heard[]){__VA_ARGS__} / sizeof(struct heard))

/* Checks the steps recorded since the last check. */
#define t_story(wanted)         \
    do {                        \
        t_text(s.text, wanted); \
        s.text[0] = '\0';       \
    } while (0)

#define SAYS(...) ((struct heard){1, {__VA_ARGS__}})
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
    begin(-1);
    HEAR(GRANTED(70));
    t_story("try, done 70");
}

TEST(a_refused_try_names_the_holder)
{
    begin(0);
    HEAR(LEASED(70));
    t_story("try, done EBUSY");
    t_int(s.machine.held_by, 70);
}

TEST(a_try_waits_a_moment_for_another_grant)
{
    begin(0);
    HEAR(BUSY, after(30, GRANTED(71)));
    t_story("try, try 250ms, done 71");

    begin(0);
    HEAR(BUSY, after(250, SAYS(.status = ROWLOCK_STATUS_TIMEDOUT)));
    t_story("try, try 250ms, done EBUSY");
}

TEST(a_try_on_a_busy_file_is_repeated_for_that_moment)
{
    begin_on_sqlite(0);
    HEAR(after(0, FAILS(ETIMEDOUT)), after(10, NOTHING), after(0, GRANTED(5)));
    t_story("try 250ms, pause 10ms, try 240ms, done 5");

    begin_on_sqlite(0);
    HEAR(after(0, BUSY), after(250, NOTHING), after(0, BUSY));
    t_story("try 250ms, pause 10ms, try 1ms, done EBUSY");
}

/* The victim of a deadlock may have waited for a vacuum, while the name was free. */
TEST(a_try_that_the_server_ended_is_repeated_for_two_seconds)
{
    begin(0);
    HEAR(FAILS(EROLLEDBACK), after(10, NOTHING), after(240, FAILS(EABORTED)), after(20, NOTHING),
         GRANTED(5));
    t_story("try, pause 10ms, try 250ms, pause 20ms, try 250ms, done 5");

    begin(0);
    HEAR(FAILS(EROLLEDBACK), after(10, NOTHING), FAILS(EROLLEDBACK), after(20, NOTHING));
    HEAR(BUSY); /* the grant of another lease */
    HEAR(after(10, NOTHING));
    t_story("try, pause 10ms, try 250ms, pause 20ms, try 250ms, pause 10ms, try 239ms");

    begin(0);
    HEAR(FAILS(EROLLEDBACK), after(1000, NOTHING), after(999, FAILS(EROLLEDBACK)),
         after(20, NOTHING), FAILS(EROLLEDBACK));
    t_story("try, pause 10ms, try 1ms, pause 20ms, try 250ms, done EBUSY");
}

TEST(a_try_that_the_server_ended_after_a_long_reconnection_is_repeated)
{
    begin(0);
    HEAR(FAILS(ECONN));
    for (int pause = 50; pause <= 400; pause *= 2)
        HEAR(FAILS(ECONN), after(pause, NOTHING));
    HEAR(NOTHING);
    s.text[0] = '\0';
    HEAR(BUSY, FAILS(EROLLEDBACK));
    t_story("try 2000ms, pause 10ms");
}

TEST(p6_a_try_behind_a_dead_ticket_removes_it)
{
    begin(0);
    HEAR(QUEUED(9), CAME, QUEUED(8), CAME, GRANTED(72));
    t_story("try, await ticket 9, try, await ticket 8, try, done 72");
}

TEST(a_try_does_not_pass_a_living_ticket)
{
    begin(0);
    HEAR(QUEUED(9), NOTHING);
    t_story("try, await ticket 9, done EBUSY");

    begin(0); /* its owner has no session lock: the queue reports the same ticket again */
    HEAR(QUEUED(9), CAME, QUEUED(9));
    t_story("try, await ticket 9, try, done EBUSY");
}

TEST(p6_a_try_clears_dead_tickets_for_a_second_at_most)
{
    begin(0);
    HEAR(QUEUED(9), after(600, CAME), QUEUED(8), after(600, CAME), QUEUED(7));
    t_story("try, await ticket 9, try, await ticket 8, try, done EBUSY");
}

TEST(permits_stated_differently_are_refused)
{
    begin(-1);
    HEAR(LIMITS);
    t_story("try, done ELIMIT");

    begin(-1);
    HEAR(LEASED(70), TICKET(7), LIMITS, NOTHING);
    t_story("try, enqueue, place 7, withdraw 7, done ELIMIT");
}

/* ---- the queue ------------------------------------------------------------------------------- */

TEST(p7_a_waiter_goes_through_the_queue)
{
    begin(-1);
    HEAR(LEASED(70), TICKET(7), BEHIND(5, 2, false));
    t_story("try, enqueue, place 7, await ticket 5 3000ms");
    HEAR(after(900, CAME), HELD(71, 30000), after(400, CAME));
    t_story("place 7, await token 71 1000ms, place 7");
    HEAR(FIRST, GRANTED(72), NOTHING);
    t_story("take 7 60000ms, unmark 7, done 72");
}

static void queue_up(int64_t ticket)
{
    HEAR(LEASED(70), TICKET(ticket));
    s.text[0] = '\0';
}

/* ---- a try where the name looks free --------------------------------------------------------- */

#define SEIZED(t) SAYS(.token = (t), .session_unlocked = true)

static void begin_with_tries(void)
{
    begin(-1);
    s.machine.in.seizes = true;
    queue_up(7);
}

TEST(a_head_tries_once_the_holder_has_released)
{
    begin_with_tries();
    HEAR(HELD(70, 30000), after(100, CAME), SEIZED(72));
    t_story("await token 70 1000ms, take 7, done 72");
}

TEST(a_head_whose_try_was_refused_waits_for_the_name_lock)
{
    begin_with_tries();
    HEAR(HELD(70, 30000), after(100, CAME), BUSY, FIRST, after(500, GRANTED(72)));
    t_story("await token 70 1000ms, take 7, place 7, take 7 60000ms, unmark 7");
}

TEST(a_head_that_finds_the_name_free_tries_once)
{
    begin_with_tries();
    HEAR(FIRST, BUSY, FIRST);
    t_story("take 7, place 7, take 7 60000ms");
}

TEST(a_waiter_behind_another_looks_when_that_one_has_left)
{
    begin_with_tries();
    HEAR(BEHIND(5, 1, false), after(100, CAME));
    t_story("await ticket 5 2000ms, place 7");
}

/* ---- wait and grant in one round trip -------------------------------------------------------- */

#define TURNED(t) SAYS(.token = (t), .session_unlocked = true)
#define ENDED SAYS(.status = ROWLOCK_STATUS_TIMEDOUT)

static void begin_with_turns(void)
{
    begin(-1);
    s.machine.in.turns = true;
    queue_up(7);
}

TEST(a_turn_is_the_last_step)
{
    begin_with_turns();
    HEAR(BEHIND(5, 1, false), after(900, TURNED(72)));
    t_story("turn after ticket 5 2000ms, done 72");
}

TEST(a_head_takes_its_turn_after_the_holder)
{
    begin_with_turns();
    HEAR(HELD(70, 30000), after(1000, ENDED), HELD(70, 300), after(100, TURNED(72)));
    t_story("turn after token 70 1000ms, place 7, turn after token 70 300ms, done 72");
}

TEST(a_turn_that_finds_the_dead_removes_him_by_an_await)
{
    begin_with_turns();
    HEAR(BEHIND(5, 1, false), after(900, QUEUED(5)), CAME, HELD(70, 30000));
    t_story("turn after ticket 5 2000ms, await ticket 5 10ms, place 7, turn after token 70 1000ms");
}

TEST(a_turn_that_finds_another_before_it_looks_again)
{
    begin_with_turns();
    HEAR(BEHIND(5, 2, false), after(900, QUEUED(4)), BEHIND(4, 1, false));
    t_story("turn after ticket 5 3000ms, place 7, turn after ticket 4 2000ms");
}

TEST(a_turn_behind_a_holder_without_a_session_is_not_tried_again_at_once)
{
    begin_with_turns();
    HEAR(BEHIND(5, 1, false), after(900, LEASED(71)), HELD(71, 30000));
    t_story("turn after ticket 5 2000ms, place 7, pause 10ms");
}

TEST(a_turn_that_did_not_get_the_name_waits_for_it_as_the_first)
{
    begin_with_turns();
    HEAR(HELD(70, 30000), after(100, BUSY), FIRST);
    t_story("turn after token 70 1000ms, place 7, take 7 60000ms");
}

TEST(a_turn_whose_reply_is_lost_may_have_been_granted)
{
    begin_with_turns();
    HEAR(HELD(70, 30000), after(100, FAILS(ECONN)));
    t_true(s.machine.unsure);
    HEAR(NOTHING, GRANTED(72));
    t_story("turn after token 70 1000ms, reconnect, try, done 72");
}

TEST(a_transaction_that_has_the_name_is_waited_for_in_the_queue)
{
    begin(5000);
    HEAR(BUSY, TICKET(7), FIRST);
    t_story("try, enqueue, place 7, take 7 4997ms");
}

TEST(the_head_looks_again_at_the_expiry_or_after_a_second)
{
    begin(-1);
    queue_up(7);
    HEAR(HELD(70, 30000), after(1000, NOTHING), HELD(70, 300), after(300, NOTHING), FIRST);
    t_story("await token 70 1000ms, place 7, await token 70 300ms, place 7, take 7 60000ms");
}

TEST(a_holder_without_a_session_is_polled_more_and_more_seldom)
{
    begin(-1);
    queue_up(7);
    HEAR(HELD(70, 30000));
    for (int i = 0; i < 5; i++) {
        HEAR(CAME); /* a pause has no answer; the machine must accept any */
        HEAR(HELD(70, 30000));
    }
    t_story("await token 70 1000ms, place 7, pause 10ms, place 7, pause 20ms, place 7, "
            "pause 40ms, place 7, pause 80ms, place 7, pause 100ms");
    HEAR(NOTHING);
    HEAR(HELD(71, 30000)); /* another holder, whose session may be alive */
    t_story("place 7, await token 71 1000ms");
}

TEST(a_head_that_waits_for_permits_looks_often)
{
    begin(-1);
    s.machine.in.permits = true;
    queue_up(7);
    HEAR(HELD(70, 30000));
    t_story("await token 70 250ms");
}

TEST(a_wait_for_a_ticket_grows_with_the_place_and_ends)
{
    begin(-1);
    queue_up(900);
    HEAR(BEHIND(899, 400, false), after(30000, NOTHING), BEHIND(899, 1, false));
    t_story("await ticket 899 30000ms, place 900, await ticket 899 2000ms");
}

TEST(without_session_locks_waiters_poll)
{
    struct heard held = HELD(70, 30000), behind = BEHIND(5, 40, false);

    held.reply.locked = behind.reply.locked = false;
    begin(-1);
    queue_up(50);
    /* the validity granted at the head of the queue is too short for this pause */
    HEAR(behind);
    t_true(s.step.good_ms >= 1500 + 2 * 410);
    HEAR(behind, after(410, NOTHING));
    behind.reply.before = 2;
    HEAR(behind, after(15, NOTHING));
    t_true(s.step.good_ms < 1500 + 2 * 50);
    HEAR(held, after(10, NOTHING), held);
    t_story("place 50, pause 410ms, place 50, pause 15ms, place 50, pause 10ms, place 50, "
            "pause 20ms");
    HEAR(after(20, NOTHING));
    /* no session lock shows that it lives: it waits for the name lock in slices */
    HEAR(SAYS(.locked = false));
    t_story("place 50, take 50 761ms");
    HEAR(after(1000, SAYS(.status = ROWLOCK_STATUS_TIMEDOUT)), after(10, NOTHING),
         SAYS(.locked = false), GRANTED(73));
    t_story("pause 40ms, place 50, take 50 761ms, done 73");
}

TEST(on_sqlite_the_head_polls_every_10_ms)
{
    struct heard held = HELD(70, 30000);

    held.reply.locked = false;
    begin_on_sqlite(-1);
    queue_up(7);
    for (int i = 0; i < 3; i++) {
        HEAR(held);
        t_int(s.step.limit_ms, 10);
        HEAR(after(10, NOTHING));
        t_true(s.step.good_ms >= 1000 && s.step.good_ms < 1100);
    }
    t_story("pause 10ms, place 7, pause 10ms, place 7, pause 10ms, place 7");
}

TEST(a_busy_file_is_asked_again)
{
    begin_on_sqlite(-1);
    HEAR(after(0, LEASED(70)), after(0, FAILS(ETIMEDOUT)), after(10, NOTHING), after(0, TICKET(7)),
         after(0, FAILS(ETIMEDOUT)), after(10, NOTHING));
    t_story("try 250ms, enqueue, pause 10ms, enqueue, place 7, pause 10ms, place 7");
}

TEST(a_waiter_that_never_queued_in_a_file_has_nothing_to_withdraw)
{
    begin_on_sqlite(1000); /* another program holds the write lock all the time */
    HEAR(after(250, SAYS(.status = ROWLOCK_STATUS_TIMEDOUT)), after(750, FAILS(ETIMEDOUT)),
         NOTHING);
    t_story("try 250ms, enqueue, pause 1ms, done ETIMEDOUT");

    begin(1000); /* the server may have executed it before the reply was lost */
    HEAR(LEASED(70), after(999, FAILS(ETIMEDOUT)), NOTHING);
    t_story("try, enqueue, pause 1ms, withdraw");
}

TEST(what_looked_free_and_was_not_is_looked_at_again)
{
    begin(-1);
    queue_up(7);
    HEAR(FIRST);
    HEAR(LEASED(70)); /* a renewal was under way */
    HEAR(after(10, NOTHING), FIRST);
    HEAR(FAILS(EROLLEDBACK)); /* the victim of a deadlock */
    HEAR(after(10, NOTHING));
    t_story("take 7 60000ms, pause 10ms, place 7, take 7 60000ms, pause 10ms, place 7");
}

TEST(a_ticket_that_others_removed_is_drawn_again)
{
    begin(-1);
    queue_up(7);
    HEAR(UNQUEUED, NOTHING, TICKET(9));
    t_story("unmark 7, enqueue, place 9");
    HEAR(FIRST, UNQUEUED, NOTHING);
    t_story("take 9 60000ms, unmark 9, enqueue");
}

/* ---- waiters that are frozen ----------------------------------------------------------------- */

/* The name has been free for 2 s, and the roll call, number 90, has been made. */
static void call_roll(void)
{
    begin(-1);
    queue_up(7);
    HEAR(BEHIND(5, 1, true), after(2000, NOTHING), BEHIND(5, 1, true), SAYS(.number = 90));
    t_story("await ticket 5 2000ms, place 7, call, place 7");
}

TEST(p6_frozen_waiters_are_passed_by_three_visits)
{
    call_roll();
    HEAR(BEHIND(5, 1, true), after(2000, NOTHING), BEHIND(5, 1, true), after(2000, NOTHING),
         BEHIND(5, 1, true), after(997, NOTHING));
    t_story("await ticket 5 2000ms, place 7, await ticket 5 2000ms, place 7, "
            "await ticket 5 997ms, place 7");
    HEAR(BEHIND(5, 1, true)); /* to get the name lock after every waiter in its queue */
    HEAR(SAYS(.number = 95), BEHIND(5, 1, true), after(2000, NOTHING), BEHIND(5, 1, true));
    t_story("call, place 7, await ticket 5 1999ms, place 7, strike 90");
    HEAR(SAYS(.number = 90), FIRST);
    t_story("place 7, take 7 60000ms");
}

TEST(p7_a_name_that_is_held_again_ends_a_roll_call)
{
    begin(-1);
    queue_up(7);
    HEAR(BEHIND(5, 1, true), after(2000, NOTHING), BEHIND(5, 1, false), after(2000, NOTHING),
         BEHIND(5, 1, true));
    t_story("await ticket 5 2000ms, place 7, await ticket 5 2000ms, place 7, "
            "await ticket 5 2000ms");
    call_roll();
    HEAR(BEHIND(5, 1, false), after(2000, NOTHING), BEHIND(5, 1, true), after(2000, NOTHING),
         BEHIND(5, 1, true));
    t_story("await ticket 5 2000ms, place 7, await ticket 5 2000ms, place 7, call");
}

TEST(p7_a_visit_that_did_not_get_t_is_repeated)
{
    call_roll();
    HEAR(after(4999, BEHIND(5, 1, true)), NOTHING, BEHIND(5, 1, true), SAYS(.number = 0),
         BEHIND(5, 1, true), after(2000, NOTHING), BEHIND(5, 1, true));
    t_story("await ticket 5 1ms, place 7, call, place 7, await ticket 5 1999ms, place 7, call");
}

/* The other waiters may have slept too, as in a suspended machine: they had no time to answer. */
TEST(p7_a_caller_that_slept_calls_again)
{
    call_roll();
    HEAR(after(4999, BEHIND(5, 1, true)), NOTHING, BEHIND(5, 1, true), SAYS(.number = 95),
         after(60000, BEHIND(5, 1, true)), SAYS(.number = 96), BEHIND(5, 1, true));
    t_story("await ticket 5 1ms, place 7, call, place 7, call, place 7, await ticket 5 2000ms");
}

TEST(p6_the_first_17_waiters_look_every_3_s)
{
    begin(-1);
    queue_up(70);
    HEAR(BEHIND(69, 17, false), after(30000, NOTHING), BEHIND(69, 16, false), after(4000, NOTHING),
         BEHIND(69, 17, true));
    t_story("await ticket 69 30000ms, place 70, await ticket 69 3000ms, place 70, "
            "await ticket 69 10000ms");
}

/* ---- giving up ------------------------------------------------------------------------------- */

TEST(the_deadline_withdraws_the_ticket)
{
    begin(3000);
    queue_up(7);
    HEAR(BEHIND(5, 3, false), after(2997, NOTHING), NOTHING, NOTHING);
    t_story("await ticket 5 2997ms, withdraw 7, unmark 7, done ETIMEDOUT");
}

TEST(a_wait_that_ends_before_the_queue_ends_there)
{
    begin(5);
    HEAR(after(5, BUSY));
    t_story("try, done ETIMEDOUT");
}

TEST(an_interrupt_withdraws_the_ticket)
{
    begin(-1);
    queue_up(7);
    HEAR(HELD(70, 30000), FAILS(ECANCELED));
    /* even if withdrawing fails: without its session lock the ticket is dead */
    HEAR(FAILS(ETIMEDOUT), NOTHING);
    t_story("await token 70 1000ms, withdraw 7, unmark 7, done ECANCELED");

    begin(-1);
    HEAR(LEASED(70));
    HEAR(FAILS(ECANCELED)); /* whether the ticket exists or not */
    HEAR(NOTHING);
    t_story("try, enqueue, withdraw, done ECANCELED");

    begin(-1);
    HEAR(FAILS(ECANCELED));
    t_story("try, done ECANCELED");
}

TEST(an_error_that_waiting_cannot_cure_is_reported_after_withdrawing)
{
    begin(-1);
    queue_up(7);
    HEAR(FAILS(EDENIED), NOTHING, NOTHING);
    t_story("withdraw 7, unmark 7, done EDENIED");
}

/* ---- a lost session -------------------------------------------------------------------------- */

TEST(a_lost_reply_is_settled_by_the_same_question)
{
    begin(0);
    HEAR(FAILS(EUNKNOWN));
    t_true(s.machine.unsure);
    HEAR(after(30, NOTHING));
    HEAR(GRANTED(70)); /* the existing lease of this owner */
    t_story("try, reconnect, try, done 70");
    t_true(!s.machine.unsure);
}

TEST(a_lost_session_that_was_still_at_work_is_waited_for)
{
    begin(0);
    HEAR(FAILS(ECONN), after(30, NOTHING));
    HEAR(LEASED(70)); /* is the lease ours? */
    HEAR(GRANTED(70));
    t_story("try, reconnect, try, try 2000ms, done 70");

    begin(0);
    HEAR(FAILS(ECONN), after(30, NOTHING), LEASED(70));
    HEAR(LEASED(70)); /* it is another owner's */
    t_story("try, reconnect, try, try 2000ms, done EBUSY");

    begin(-1);
    HEAR(FAILS(ECONN), after(30, NOTHING), LEASED(69), LEASED(69), TICKET(7));
    HEAR(HELD(70, 30000)); /* is this lease ours? */
    HEAR(LEASED(70), after(10, NOTHING), HELD(70, 30000));
    t_story("try, reconnect, try, try 2000ms, enqueue, place 7, take 7 60000ms, pause 10ms, "
            "place 7, await token 70 1000ms");
}

TEST(a_session_lost_in_the_queue_begins_again)
{
    begin(-1);
    queue_up(7);
    HEAR(HELD(70, 30000), FAILS(ECONN), NOTHING, QUEUED(8), TICKET(9));
    t_story("await token 70 1000ms, reconnect, try, enqueue, place 9");
}

TEST(reconnecting_is_tried_with_growing_pauses_and_ends)
{
    begin(0);
    s.machine.in.reconnect_ms = 300;
    HEAR(FAILS(ECONN), FAILS(ECONN), after(50, NOTHING));
    HEAR(FAILS(ESERVER)); /* a standby that is not promoted yet */
    HEAR(after(100, NOTHING), FAILS(ETIMEDOUT), after(200, NOTHING));
    t_story("try, reconnect, pause 50ms, reconnect, pause 100ms, reconnect, pause 200ms, "
            "done ECONN");
    t_true(s.machine.unsure);
}

/* Answers as if the server could not be reached, until `until_ms` after the start. */
static void be_away(int64_t until_ms)
{
    while (s.now < START + until_ms && s.step.act != ROWLOCK_ACT_DONE) {
        s.text[0] = '\0';
        if (s.step.act == ROWLOCK_ACT_RECONNECT)
            HEAR(FAILS(ECONN));
        else
            HEAR(after(s.step.limit_ms, NOTHING));
    }
}

TEST(a_wait_without_a_timeout_waits_for_the_database_too)
{
    begin(-1);
    queue_up(7);
    HEAR(FAILS(ECONN));
    t_story("reconnect");
    be_away(3600000);
    t_story(s.step.act == ROWLOCK_ACT_PAUSE ? "pause 5000ms" : "reconnect");
    if (s.step.act == ROWLOCK_ACT_PAUSE)
        HEAR(after(5000, NOTHING));
    s.text[0] = '\0';
    HEAR(NOTHING, QUEUED(8), TICKET(9));
    t_story("try, enqueue, place 9");
}

TEST(a_wait_with_a_timeout_waits_for_the_database_until_then)
{
    begin(120000);
    queue_up(7);
    HEAR(FAILS(ECONN));
    be_away(110000);
    t_true(s.step.act != ROWLOCK_ACT_DONE);
    be_away(130000);
    t_story("done ECONN");
    t_true(s.now >= START + 120000 && s.now <= START + 120001);
}

TEST(a_server_that_hangs_up_again_and_again_is_not_hammered)
{
    begin(-1);
    HEAR(FAILS(ECONN), NOTHING, FAILS(ECONN), after(50, NOTHING), NOTHING, FAILS(ECONN));
    t_story("try, reconnect, try, pause 50ms, reconnect, try, pause 100ms");
}

TEST(a_session_that_is_not_ours_is_not_replaced)
{
    begin(-1);
    s.machine.in.reconnect_ms = 0;
    HEAR(FAILS(EUNKNOWN));
    t_story("try, done ECONN");
    t_true(s.machine.unsure);
}

TEST(a_former_primary_is_left)
{
    begin(-1);
    queue_up(7);
    HEAR(HELD(70, 30000), FAILS(ESERVER), FAILS(ESERVER), NOTHING);
    t_story("await token 70 1000ms, withdraw 7, unmark 7, reconnect");
    HEAR(FAILS(ESERVER), after(50, NOTHING)); /* its successor is not promoted yet */
    HEAR(NOTHING, QUEUED(8), TICKET(9));
    t_story("pause 50ms, reconnect, try, enqueue, place 9");
    t_true(!s.machine.unsure);
}

TEST(a_try_on_a_former_primary_looks_once_for_another)
{
    begin(0);
    HEAR(FAILS(ESERVER), NOTHING, GRANTED(70));
    t_story("try, reconnect, try, done 70");

    begin(0);
    HEAR(FAILS(ESERVER), FAILS(ESERVER));
    t_story("try, reconnect, done ESERVER");

    begin(0); /* a server that is only read-only at the grant is not hammered */
    HEAR(FAILS(ESERVER), NOTHING, FAILS(ESERVER));
    t_story("try, reconnect, try, done ESERVER");
}

TEST(a_read_only_file_is_not_left)
{
    begin_on_sqlite(0);
    HEAR(FAILS(ESERVER));
    t_story("try 250ms, done ESERVER");
}

TEST(an_interrupt_while_reconnecting_ends_it)
{
    begin(-1);
    HEAR(FAILS(ECONN), FAILS(ECANCELED));
    t_story("try, reconnect, done ECANCELED");
}

/* ---- jitter ---------------------------------------------------------------------------------- */

TEST(p10_the_dice_shorten_a_pause_by_half_at_most)
{
    for (uint32_t dice = 0; dice < 100; dice++) {
        struct heard held = HELD(70, 30000);

        held.reply.locked = false;
        begin_on_sqlite(-1);
        queue_up(7);
        s.step = rowlock__acquire_next(&s.machine, s.now, &held.reply, dice);
        t_true(s.step.limit_ms >= 5 && s.step.limit_ms <= 10);
    }
}
