/* SPDX-License-Identifier: Apache-2.0 */
/*
 * P6, P7: how long frozen waiters, however many, delay live ones. The waiters are the library's own
 * state machines; the server with its session locks and the time are simulated. An hour of waiting
 * takes little time, and the bounds are exact.
 * Runs on: alone
 */
#include <stdlib.h>
#include <string.h>

#include "lease/machine/machine.h"
#include "lib/test.h"
#include "util/clock.h"

#define TICK_MS 20
#define SLICE_MS 3000 /* a wait checks this often whether it was called (rowlock.await) */
#define PLACES 17     /* a look counts at most this many waiters before it */
#define MOST 400
#define SLOWEST_MS 100 /* the longest duration of a statement */
#define HOUR 3600000

struct waiter {
    struct rowlock_acquire_machine machine;
    struct rowlock_step step;
    int64_t ready_ms; /* when the answer arrives at the latest */
    int64_t slice_ms; /* when it next checks whether it was called */
    int64_t ticket;
    int64_t called;
    bool queued, frozen, granted, struck;
};

static struct world {
    struct waiter waiter[MOST];
    int n;
    int64_t now, number;
    bool held;
    unsigned random;
} w;

static unsigned below(unsigned n)
{
    w.random = w.random * 1103515245u + 12345u;
    return (w.random >> 8) % n;
}

/* ---- the server ------------------------------------------------------------------------------ */

static struct rowlock_reply place(struct waiter *me)
{
    struct rowlock_reply reply = {.free = !w.held, .locked = true, .expires_ms = HOUR};

    me->called = 0;
    if (!me->queued)
        return (struct rowlock_reply){.status = ROWLOCK_STATUS_UNQUEUED};
    for (int i = 0; i < w.n; i++) {
        const struct waiter *other = &w.waiter[i];

        if (!other->queued || other->ticket >= me->ticket)
            continue;
        reply.status = ROWLOCK_STATUS_QUEUED;
        reply.before += reply.before < PLACES;
        if (other->ticket > reply.number)
            reply.number = other->ticket;
    }
    if (reply.status == ROWLOCK_STATUS_OK && w.held)
        reply.status = ROWLOCK_STATUS_LEASED;
    return reply;
}

static struct rowlock_reply overtake(const struct waiter *me)
{
    int64_t called = me->step.called;

    if (w.held)
        return (struct rowlock_reply){0};
    w.number++;
    for (int i = 0; i < w.n; i++) {
        struct waiter *other = &w.waiter[i];

        if (!other->queued || other->ticket >= me->ticket)
            continue;
        if (!called && !other->called)
            other->called = w.number;
        if (called && other->called && other->called <= called) {
            other->queued = false;
            other->struck = true;
        }
    }
    return (struct rowlock_reply){.number = called ? called : w.number};
}

static struct rowlock_reply grant(struct waiter *me)
{
    struct rowlock_reply reply = place(me);

    if (!me->step.ticket)
        return (struct rowlock_reply){.status = ROWLOCK_STATUS_LEASED};
    if (reply.status == ROWLOCK_STATUS_OK) {
        me->queued = false;
        reply.token = ++w.number;
    }
    return reply;
}

/* As MariaDB's await: after a ticket it reports that the turn of the waiter has come. It does not
   answer a roll call. */
static struct rowlock_reply await(const struct waiter *me, bool came)
{
    bool next = came && me->machine.in.seizes && !me->step.token && me->queued && !w.held;

    for (int i = 0; i < w.n; i++)
        next = next && !(w.waiter[i].queued && w.waiter[i].ticket < me->ticket);
    return (struct rowlock_reply){.number = came + next};
}

static struct rowlock_reply answer(struct waiter *me, bool came)
{
    switch (me->step.act) {
    case ROWLOCK_ACT_GRANT:
        return grant(me);
    case ROWLOCK_ACT_ENQUEUE:
        me->queued = true;
        return (struct rowlock_reply){.number = me->ticket = ++w.number};
    case ROWLOCK_ACT_PLACE:
        return place(me);
    case ROWLOCK_ACT_OVERTAKE:
        return overtake(me);
    default:
        return await(me, came);
    }
}

/* A frozen waiter keeps the session lock of its ticket, also after the ticket was removed. */
static bool is_locked(int64_t ticket)
{
    for (int i = 0; i < w.n; i++)
        if (w.waiter[i].ticket == ticket)
            return !w.waiter[i].granted;
    return w.held;
}

/* ---- the waiters ----------------------------------------------------------------------------- */

static void begin_step(struct waiter *me)
{
    bool waits = me->step.act == ROWLOCK_ACT_AWAIT || me->step.act == ROWLOCK_ACT_PAUSE;

    me->ready_ms = w.now + below(SLOWEST_MS) + (waits ? me->step.limit_ms : 0);
    me->slice_ms = w.now + SLICE_MS;
    if (me->step.act == ROWLOCK_ACT_DONE)
        me->granted = true;
}

static void tick(struct waiter *me)
{
    bool awaits = me->step.act == ROWLOCK_ACT_AWAIT, came = awaits && !is_locked(me->step.number);
    struct rowlock_reply reply;

    if (me->granted || me->frozen)
        return;
    if (awaits && w.now >= me->slice_ms) {
        me->slice_ms += SLICE_MS;
        if (me->called)
            me->ready_ms = w.now;
    }
    if (!came && w.now < me->ready_ms)
        return;
    reply = answer(me, came);
    me->step = rowlock__acquire_next(&me->machine, w.now, &reply, below(1u << 30));
    begin_step(me);
}

static void pass(int64_t ms)
{
    for (int64_t end = w.now + ms; w.now < end; w.now += TICK_MS)
        for (int i = 0; i < w.n; i++)
            tick(&w.waiter[i]);
}

static struct waiter *come(void)
{
    struct waiter *me = &w.waiter[w.n++];

    *me = (struct waiter){.machine.in = {.remote = true,
                                         .seizes = w.n % 2 == 0,
                                         .deadline_ms = ROWLOCK_NEVER,
                                         .reconnect_ms = 10000}};
    me->step = rowlock__acquire_start(&me->machine, w.now);
    begin_step(me);
    pass(3 * SLOWEST_MS);
    return me;
}

/* All of the `n` waiters except those at `live` are frozen at random moments of their waits.
   They arrive while the name is held. */
static void queue(unsigned seed, int n, const bool *live)
{
    memset(&w, 0, sizeof w);
    w.random = seed;
    w.held = true;
    for (int i = 0; i < n; i++)
        come();
    for (int i = 0; i < n; i++)
        w.waiter[i].frozen = !live[i];
}

/* The time from the release to its grant. */
static int64_t delay_of(const struct waiter *me)
{
    int64_t began = w.now;

    w.held = false;
    while (!me->granted && w.now < began + HOUR)
        pass(TICK_MS);
    return w.now - began;
}

static void bound(int frozen, int64_t limit_ms, int seeds)
{
    static const bool nobody[MOST];
    int64_t longest = 0;

    for (int seed = 1; seed <= seeds; seed++) {
        const struct waiter *me;
        int64_t delay;

        queue((unsigned)seed, frozen, nobody);
        me = come();
        pass(below(40000)); /* at a random point in its own waits */
        delay = delay_of(me);
        longest = delay > longest ? delay : longest;
        t_int(me->struck, 0);
    }
    print_message("# %d frozen: %lld ms\n", frozen, (long long)longest);
    t_true(longest <= limit_ms);
}

TEST(p6_up_to_16_frozen_waiters_delay_by_15_s_at_most)
{
    for (int n = 1; n <= 16; n++)
        bound(n, 15000, 20);
}

TEST(p6_any_number_of_frozen_waiters_delays_by_60_s_at_most)
{
    bound(17, 60000, 20);
    bound(40, 60000, 10);
    bound(300, 60000, 1);
}

/* Every other waiter is alive, also far behind, where waits are long and the queue before them
   has shrunk. */
TEST(p7_live_waiters_among_frozen_ones_are_served_in_their_order)
{
    bool live[60];

    for (unsigned seed = 1; seed <= 10; seed++) {
        int served = 0;

        for (int i = 0; i < 60; i++)
            live[i] = i % (int)(2 + seed % 5) == 0;
        queue(seed, 60, live);
        pass(below(40000));
        w.held = false;
        for (int i = 0; i < 60; i++) {
            if (!live[i])
                continue;
            delay_of(&w.waiter[i]);
            t_int(w.waiter[i].granted, 1);
            t_int(w.waiter[i].struck, 0);
            for (int k = i + 1; k < 60; k++)
                t_int(w.waiter[k].granted, 0);
            served++;
        }
        t_true(served > 0);
    }
}

/* The holder is alive: there is no roll call, and all waiters keep their places. */
TEST(p10_no_waiter_is_called_while_the_name_is_held)
{
    static bool all[40];

    memset(all, true, sizeof all);
    queue(1, 40, all);
    pass(600000);
    for (int i = 0; i < 40; i++)
        t_int((int)w.waiter[i].machine.roll.visit_ms, 0);
}
