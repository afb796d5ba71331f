/* SPDX-License-Identifier: Apache-2.0 */
/*
 * P6, P7, P10: a crowd of waiters that poll, as on one SQLite file. The waiters are the library's
 * own state machines; the answers of the file and the time are simulated. The bounds count looks
 * and writes, so a loaded machine does not change them.
 * Runs on: alone
 */
#include <stdlib.h>
#include <string.h>

#include "lease/machine/machine.h"
#include "lib/test.h"
#include "util/clock.h"

#define CROWD 1000
#define NEAREST 17 /* a look reports which of the nearest waiters before it are dead */
#define START 100000

struct waiter {
    struct rowlock_acquire_machine machine;
    struct rowlock_step step;
    int64_t ready_ms; /* when the answer to its step arrives */
    int64_t ticket, seen;
    int granted; /* position of its grant, from 1; 0: not yet */
    bool queued, killed;
};

static struct world {
    struct waiter waiter[CROWD];
    int n, served;
    int64_t now, number, late_ms;
    int64_t held_until;
    long looks, writes, calls, removed;
    unsigned random;
} w;

static unsigned below(unsigned n)
{
    w.random = w.random * 1103515245u + 12345u;
    return (w.random >> 8) % n;
}

/* ---- the file -------------------------------------------------------------------------------- */

static void remove_dead(const struct waiter *me)
{
    for (int i = 0; i < w.n; i++) {
        struct waiter *other = &w.waiter[i];

        if (other->queued && other->ticket < me->ticket && other->seen <= w.now) {
            other->queued = false;
            w.removed++;
        }
    }
}

static struct rowlock_reply stand(const struct waiter *me, bool *dead)
{
    struct rowlock_reply reply = {.free = w.now >= w.held_until, .expires_ms = 3600000};
    int near = NEAREST;

    /* tickets are in the order of the waiters */
    for (int i = (int)(me - w.waiter) - 1; i >= 0; i--) {
        const struct waiter *other = &w.waiter[i];

        if (!other->queued)
            continue;
        reply.before++;
        *dead |= near-- > 0 && other->seen <= w.now;
        if (other->seen > w.now && !reply.number)
            reply.number = other->ticket;
    }
    reply.status = reply.number  ? ROWLOCK_STATUS_QUEUED
                   : !reply.free ? ROWLOCK_STATUS_LEASED
                                 : ROWLOCK_STATUS_OK;
    return reply;
}

static struct rowlock_reply place(struct waiter *me)
{
    bool stale = false;
    struct rowlock_reply reply;

    w.looks++;
    if (!me->queued)
        return (struct rowlock_reply){.status = ROWLOCK_STATUS_UNQUEUED};
    reply = stand(me, &stale);
    if (stale || me->seen < w.now + me->step.good_ms / 2) {
        w.writes++;
        me->seen = me->seen > w.now + me->step.good_ms ? me->seen : w.now + me->step.good_ms;
        remove_dead(me);
    }
    return reply;
}

static struct rowlock_reply grant(struct waiter *me)
{
    bool dead = false;
    struct rowlock_reply reply;

    if (!me->ticket)
        return (struct rowlock_reply){.status = ROWLOCK_STATUS_LEASED};
    if (!me->queued)
        return (struct rowlock_reply){.status = ROWLOCK_STATUS_UNQUEUED};
    remove_dead(me);
    reply = stand(me, &dead);
    if (reply.status == ROWLOCK_STATUS_OK) {
        me->queued = false;
        me->granted = ++w.served;
        reply.token = ++w.number;
        w.held_until = w.now + 1;
    }
    return reply;
}

static struct rowlock_reply answer(struct waiter *me)
{
    switch (me->step.act) {
    case ROWLOCK_ACT_GRANT:
        return grant(me);
    case ROWLOCK_ACT_ENQUEUE:
        me->queued = true;
        me->seen = w.now + me->step.good_ms;
        return (struct rowlock_reply){.number = me->ticket = ++w.number};
    case ROWLOCK_ACT_PLACE:
        return place(me);
    case ROWLOCK_ACT_OVERTAKE:
        w.calls++;
        return (struct rowlock_reply){.number = 0};
    default:
        return (struct rowlock_reply){.number = 0};
    }
}

/* ---- the waiters ----------------------------------------------------------------------------- */

static void begin_step(struct waiter *me)
{
    bool pauses = me->step.act == ROWLOCK_ACT_PAUSE;

    if (me->step.act == ROWLOCK_ACT_DONE)
        me->ready_ms = INT64_MAX;
    else
        me->ready_ms = w.now + 1 + (pauses ? me->step.limit_ms + w.late_ms : 0);
}

static void next_step(struct waiter *me)
{
    struct rowlock_reply reply = answer(me);

    me->step = rowlock__acquire_next(&me->machine, w.now, &reply, below(1u << 20));
    begin_step(me);
}

/* Runs until a time, or until a number of waiters were served. */
static void play(int64_t until_ms, int served)
{
    while (w.served < served) {
        struct waiter *next = NULL;

        for (int i = 0; i < w.n; i++)
            if (!w.waiter[i].killed && (!next || w.waiter[i].ready_ms < next->ready_ms))
                next = &w.waiter[i];
        if (next->ready_ms > until_ms)
            break;
        w.now = next->ready_ms;
        next_step(next);
    }
    if (w.served < served)
        w.now = until_ms;
}

/* The waiters arrive 1 ms apart while the name is held; then 10 s pass. */
static void gather(int n, int64_t late_ms)
{
    memset(&w, 0, sizeof w);
    w.n = n;
    w.late_ms = late_ms;
    w.held_until = INT64_MAX;
    for (int i = 0; i < n; i++) {
        struct waiter *me = &w.waiter[i];

        w.now = START + 3LL * i;
        me->machine.in.deadline_ms = ROWLOCK_NEVER;
        me->step = rowlock__acquire_start(&me->machine, w.now);
        begin_step(me);
        while (!me->queued)
            w.now = me->ready_ms, next_step(me);
    }
    play(w.now + 10000, n);
    w.looks = w.writes = w.calls = w.removed = 0;
}

static void let_go(void)
{
    w.held_until = w.now;
}

static bool is_in_order(void)
{
    int last = 0;

    for (int i = 0; i < w.n; i++) {
        if (w.waiter[i].killed)
            continue;
        if (w.waiter[i].granted <= last)
            return false;
        last = w.waiter[i].granted;
    }
    return true;
}

TEST(p10_a_thousand_waiters_are_served_within_15_s_by_few_looks_and_writes)
{
    int64_t began;

    gather(CROWD, 0);
    let_go();
    began = w.now;
    play(began + 60000, CROWD);
    print_message("# %lld ms, %ld looks, %ld writes\n", (long long)(w.now - began), w.looks,
                  w.writes);
    t_int(w.served, CROWD);
    t_true(w.now - began <= 15000);
    t_true(w.looks <= 15L * CROWD);
    t_true(w.writes <= 5L * CROWD);
    t_int(w.calls, 0);
    t_true(is_in_order());
}

TEST(p10_a_thousand_waiters_leave_a_name_that_is_held_in_peace)
{
    gather(CROWD, 0);
    play(w.now + 10000, CROWD);
    print_message("# in 10 s %ld looks, %ld writes\n", w.looks, w.writes);
    t_int(w.served, 0);
    t_true(w.looks <= 15000);
    t_true(w.writes <= 5000);
    t_int(w.removed, 0);
}

TEST(p10_the_first_waiters_are_quick)
{
    int64_t began;

    gather(2, 0);
    let_go();
    began = w.now;
    play(began + 1000, 1);
    t_true(w.now - began <= 15);
    began = w.now;
    play(began + 1000, 2);
    t_true(w.now - began <= 25);
}

/* Each one is killed where it delays the others most: just after it has looked. */
TEST(p6_killed_waiters_of_a_crowd_delay_the_others_by_few_seconds)
{
    int64_t began;

    gather(CROWD, 0);
    for (int i = 0; i < CROWD; i += 100)
        w.waiter[i].killed = true;
    let_go();
    began = w.now;
    play(began + 60000, CROWD - 10);
    print_message("# %lld ms\n", (long long)(w.now - began));
    t_int(w.served, CROWD - 10);
    t_true(w.now - began <= 20000);
    t_true(is_in_order());

    gather(3, 0);
    w.waiter[0].killed = true;
    let_go();
    began = w.now;
    play(began + 60000, 2);
    t_true(w.now - began <= 1200);
}

/* On an overloaded machine a waiter keeps its place if all of its looks are about equally late. */
TEST(p7_waiters_keep_their_places_though_their_looks_are_late)
{
    gather(200, 450);
    for (w.late_ms = 500; w.late_ms <= 2000; w.late_ms += 250)
        play(w.now + 10000, 200);
    let_go();
    play(w.now + 1200000, 200);
    t_int(w.served, 200);
    t_int(w.removed, 0);
    t_true(is_in_order());
}
