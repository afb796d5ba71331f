/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every call for leases, through a pooler that assigns a backend to each transaction only.
 *
 * Runs on: postgresql
 * Quick: first
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib/extra.h"
#include "lib/grants.h"
#include "lib/lease.h"

#define HOUR 3600000

static struct rowlock_connection *pooled(void)
{
    return extra_pooled(NULL);
}

static void nothing_is_left(void *hand)
{
    t_text(t_native_sql(t_native(), "SELECT count(*) FROM pg_locks l JOIN pg_stat_activity a USING "
                                    "(pid) WHERE locktype = 'advisory' AND a.datname = "
                                    "current_database() AND a.state = 'idle'"),
           "0");
    t_text(t_all_rows(hand), NO_ROWS);
}

TEST(p4_a_pooled_fence_holds_off_a_break)
{
    struct rowlock_connection *one = pooled(), *own = pooled();
    struct rowlock_connection *breaker =
        extra_pooled(&(struct rowlock_options){.statement_ms = 3000});
    struct rowlock_lease *lease = t_granted(one, t_x("fenced"), HOUR);
    int64_t token = rowlock_token(lease), broken = 0;
    void *hand = t_native();

    t_ok(t_begin(own, t_x("another"), 0));
    t_ok(rowlock_fence(own, "fenced", token, &t_error));
    t_fails(rowlock_break(breaker, "fenced", token, 1, &broken, &t_error), ETIMEDOUT);
    t_int(leases_of(hand, "fenced"), 1);
    t_ok(rowlock_commit(own, &t_error));
    t_ok(rowlock_break(breaker, "fenced", token, 1, &broken, &t_error));
    t_int(broken, 1);
    t_ok(t_begin(own, t_x("another"), 0));
    t_fails(rowlock_fence(own, "fenced", token, &t_error), ELOST);
    t_ok(rowlock_rollback(own, &t_error));
    t_fails(rowlock_release(lease, &t_error), ELOST);
    rowlock_lease_free(lease);
    nothing_is_left(hand);
}

TEST(p4_a_pooled_lock_beneath_its_own_lease)
{
    struct rowlock_connection *one = pooled(), *two = pooled(), *three = pooled();
    struct rowlock_lease *lease = t_granted(one, t_x("own"), HOUR);
    struct rowlock_want want = t_x("own");
    struct thread *thread;

    want.token = rowlock_token(lease);
    t_ok(t_begin(two, want, 0));
    t_fails(t_begin(three, want, 0), EBUSY);
    t_fails(t_begin(three, t_x("own"), 0), EBUSY);
    thread = t_begin_thread(three, want, -1);
    t_until_somebody_waits();
    t_int(t_is_done(thread), 0);
    t_ok(rowlock_commit(two, &t_error));
    t_ok(t_join(thread));
    t_ok(rowlock_commit(three, &t_error));
    t_give(lease);
    t_fails(t_begin(two, want, 0), ELOST);
    nothing_is_left(t_native());
}

TEST(p5_a_pooled_lease_is_broken_and_its_holder_learns_of_it)
{
    struct rowlock_connection *one = pooled(), *two = pooled();
    struct rowlock_lease *lease = t_granted(one, t_x("broken"), HOUR), *none = NULL;
    int64_t broken = 0;

    t_ok(rowlock_break(two, "broken", 0, 0, &broken, &t_error));
    t_int(broken, 1);
    t_fails(rowlock_renew(lease, 0, &t_error), ELOST);
    t_fails(t_acquire(two, t_x("broken"), 0, 0, &none), EBUSY);
    t_give(lease); /* the lease is lost, but a release of the holder's still succeeds */
    t_give(t_granted(two, t_x("broken"), 0));
    nothing_is_left(t_native());
}

struct counted {
    int holds, waits;
    int64_t token;
};

static int count(const struct rowlock_holder *holder, void *data)
{
    struct counted *counted = data;

    counted->holds += holder->holding == ROWLOCK_HOLDS;
    counted->waits += holder->holding == ROWLOCK_WAITS;
    if (holder->holding == ROWLOCK_HOLDS)
        counted->token = holder->token;
    return 0;
}

TEST(a_pooled_list_names_holder_and_waiter)
{
    struct rowlock_connection *one = pooled(), *two = pooled();
    struct rowlock_lease *lease = t_granted(one, t_x("listed"), HOUR);
    struct acquisition us = {.wants = {t_x("listed")}, .wait_ms = -1};
    struct thread *thread = t_acquire_thread(two, &us);
    struct counted counted = {0};

    t_until_queued(t_native(), "listed", 1);
    t_ok(rowlock_list(pooled(), "listed", count, &counted, &t_error));
    t_int(counted.holds, 1);
    t_int(counted.waits, 1);
    t_true(counted.token == rowlock_token(lease));
    t_give(lease);
    t_ok(t_join(thread));
    t_give(us.lease);
    nothing_is_left(t_native());
}

TEST(p5_a_pooled_lease_is_adopted)
{
    struct rowlock_connection *one = pooled(), *two = pooled();
    struct rowlock_lease *lease = t_granted(one, t_x("adopted"), 60000), *adopted = NULL;
    int64_t token = rowlock_token(lease);

    t_ok(rowlock_adopt(two, "adopted", token, &adopted, &t_error));
    rowlock_lease_free(lease);
    t_ok(rowlock_renew(adopted, HOUR, &t_error));
    t_true(rowlock_remaining(adopted) > 60000);
    t_give(adopted);
    t_fails(rowlock_adopt(two, "adopted", token, &adopted, &t_error), ELOST);
    nothing_is_left(t_native());
}

TEST(p1_several_pooled_names_all_or_none)
{
    struct rowlock_connection *one = pooled(), *two = pooled();
    struct rowlock_want both[] = {t_x("several b"), t_x("several a")};
    struct rowlock_lease *held = t_granted(one, t_x("several b"), HOUR), *none = NULL, *lease;
    struct acquisition us = {.wants = {both[0], both[1]}, .n = 2, .ttl_ms = HOUR, .wait_ms = -1};
    struct thread *thread;
    void *hand = t_native();

    t_fails(t_acquire_all(two, both, 2, 0, 0, &none), EBUSY);
    t_int(leases_of(hand, "several a"), 0);
    thread = t_acquire_thread(two, &us);
    t_until_queued(hand, "several b", 1);
    t_give(held);
    t_ok(t_join(thread));
    t_int(leases_of(hand, "several a") + leases_of(hand, "several b"), 2);
    t_fails(t_acquire(one, t_x("several a"), 0, 0, &none), EBUSY);
    lease = us.lease;
    t_give(lease);
    nothing_is_left(hand);
}

TEST(p7_a_pooled_wait_is_interrupted)
{
    struct rowlock_connection *one = pooled(), *two;
    struct rowlock_lease *lease = t_granted(one, t_x("interrupted"), HOUR);
    struct acquisition us = {.wants = {t_x("interrupted")}, .wait_ms = -1};
    struct thread *thread;
    void *hand = t_native();
    int fds[2];

    t_int(pipe(fds), 0);
    two = extra_pooled(&(struct rowlock_options){.interrupt_fd = fds[0]});
    thread = t_acquire_thread(two, &us);
    t_until_queued(hand, "interrupted", 1);
    t_int(write(fds[1], "!", 1), 1);
    t_fails(t_join(thread), ECANCELED);
    t_int(waiters_of(hand, "interrupted"), 0);
    t_give(lease);
    nothing_is_left(hand);
    close(fds[0]);
    close(fds[1]);
}

TEST(p7_a_pooled_wait_for_a_time_ends_and_leaves_the_queue)
{
    struct rowlock_connection *one = pooled(), *two = pooled();
    struct rowlock_lease *lease = t_granted(one, t_x("in time"), HOUR), *none = NULL;
    void *hand = t_native();

    t_fails(t_acquire(two, t_x("in time"), 0, 1200, &none), ETIMEDOUT);
    t_contains(t_error.text, "a note");
    t_int(waiters_of(hand, "in time"), 0);
    t_give(lease);
    t_give(t_granted(two, t_x("in time"), 0));
    nothing_is_left(hand);
}

TEST(p6_a_pooled_head_that_froze_is_overtaken_and_queues_again)
{
    struct rowlock_connection *one = pooled(), *two = pooled();
    struct holder_plan plan = {
        .want = t_x("frozen"), .ttl_ms = HOUR, .wait_ms = -1, .url = extra_pooled_url()};
    struct rowlock_lease *lease = t_granted(one, t_x("frozen"), HOUR);
    struct acquisition us = {.wants = {t_x("frozen")}, .ttl_ms = HOUR, .wait_ms = -1};
    struct child child = t_child(t_hold_body, &plan);
    struct thread *thread;
    void *hand = t_native();

    t_until_queued(hand, "frozen", 1);
    kill(child.pid, SIGSTOP);
    thread = t_acquire_thread(two, &us);
    t_until_queued(hand, "frozen", 2);
    t_give(lease);
    t_ok(t_join(thread));
    t_int(t_has_spoken(&child), 0);
    kill(child.pid, SIGCONT);
    t_until_queued(hand, "frozen", 1);
    t_int(t_has_spoken(&child), 0);
    t_give(us.lease);
    t_int(t_hear(&child), '!');
    t_int(leases_of(hand, "frozen"), 1);
    t_end_child(&child, SIGKILL);
    t_forget_leases(hand);
}

/* ---- requests by SQL ------------------------------------------------------------------------- */

struct requester {
    void *hand;
    int number;
    long long token;
    atomic_int *turn;
    int order;
};

static int request_until_granted(struct rowlock_connection *none, void *data,
                                 struct rowlock_error *error)
{
    struct requester *requester = data;
    long long end = t_now() + 60000;
    char text[200], answer[500] = "no token";

    (void)none;
    snprintf(text, sizeof text,
             "SELECT token FROM rowlock.request('pooled', '1 hour', 'the owner number %d', '5 s')",
             requester->number);
    while (!requester->token && t_now() < end) {
        if (t_engine()->sql(requester->hand, text, answer, sizeof answer))
            break;
        requester->token = atoll(answer);
    }
    requester->order = atomic_fetch_add(requester->turn, 1) + 1;
    snprintf(text, sizeof text, "SELECT rowlock.release(%lld)", requester->token);
    if (requester->token && !t_engine()->sql(requester->hand, text, answer, sizeof answer))
        return ROWLOCK_OK;
    snprintf(error->text, sizeof error->text, "%s", answer);
    return error->code = ROWLOCK_EDB;
}

TEST(p7_pooled_requests_are_served_in_their_order)
{
    struct rowlock_lease *lease = t_granted(t_open(), t_x("pooled"), HOUR);
    struct requester requesters[3];
    struct thread *threads[3];
    atomic_int turn = 0;

    for (int i = 0; i < 3; i++) {
        requesters[i] = (struct requester){
            .hand = t_engine()->open(extra_pooled_url()), .number = i, .turn = &turn};
        threads[i] = t_thread(NULL, request_until_granted, &requesters[i]);
        t_until_queued(t_native(), "pooled", i + 1);
    }
    t_give(lease);
    for (int i = 0; i < 3; i++) {
        t_ok(t_join(threads[i]));
        t_int(requesters[i].order, i + 1);
        t_engine()->close(requesters[i].hand);
    }
    nothing_is_left(t_native());
}
