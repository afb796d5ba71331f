/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every call for leases, through a pooler that assigns a backend to each transaction only. Session
 * locks do not work there, so waiters poll.
 *
 * Runs on: postgresql
 * Quick: first
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/extra.h"
#include "lib/grants.h"
#include "lib/harness.h"
#include "lib/lease.h"
#include "lib/proxy.h"

static struct rowlock_connection *pooled(void)
{
    return extra_pooled(NULL);
}

/* Waits until the lost session waits for the table, and its replacement for the lock that blocks
   it. A client that has given up and reported it also counts. */
static void until_two_wait(const struct thread *thread)
{
    long long end = t_now() + 3000;

    while (!t_is_done(thread) && t_now() < end &&
           atoi(t_native_sql(t_admin(), "SELECT count(*) FROM pg_stat_activity WHERE datname = "
                                        "current_database() AND wait_event_type = 'Lock'")) < 2)
        t_pause(2);
}

/* Asserts that no backend keeps a session lock: another client would get that backend. */
static void no_session_locks(void)
{
    t_text(t_native_sql(t_native(), "SELECT count(*) FROM pg_locks l JOIN pg_stat_activity a USING "
                                    "(pid) WHERE locktype = 'advisory' AND a.datname = "
                                    "current_database() AND a.state = 'idle'"),
           "0");
}

static void is_clean(void *hand)
{
    no_session_locks();
    t_text(t_all_rows(hand), NO_ROWS);
}

TEST(p1_pooled_clients_acquire_renew_and_release)
{
    struct rowlock_connection *one = pooled(), *two = pooled(), *direct = t_open();

    for (int i = 0; i < 10; i++) {
        struct rowlock_connection *a = i % 2 ? one : two, *b = i % 3 ? direct : i % 2 ? two : one;
        struct rowlock_lease *lease = t_granted(a, t_x("pooled"), 0), *none = NULL;

        t_fails(t_acquire(b, t_x("pooled"), 0, 0, &none), EBUSY);
        t_fails(t_begin(b, t_x("pooled"), 0), EBUSY);
        t_ok(rowlock_renew(lease, 0, &t_error));
        t_give(lease);
        t_give(t_granted(b, t_x("pooled"), 0));
    }
    is_clean(t_native());
}

#define WAITERS 5

TEST(p7_pooled_and_other_waiters_are_served_in_their_order)
{
    struct rowlock_connection *one = pooled();
    struct rowlock_lease *lease = t_granted(one, t_x("queue"), HOUR);
    struct acquisition waiters[WAITERS] = {0};
    struct thread *threads[WAITERS];
    atomic_int turn = 0;
    void *hand = t_native();

    /* more waiters than the pooler has backends, and one without the pooler */
    for (int i = 0; i < WAITERS; i++) {
        waiters[i] = (struct acquisition){.wants = {t_x("queue")}, .wait_ms = -1, .turn = &turn};
        threads[i] = t_queue_thread(i == 2 ? t_open() : pooled(), &waiters[i], hand, i + 1);
    }
    t_ok(rowlock_renew(lease, 0, &t_error));
    t_give(lease);
    for (int i = 0; i < WAITERS; i++) {
        t_ok(t_join(threads[i]));
        t_int(waiters[i].order, i + 1);
    }
    is_clean(hand);
}

TEST(p1_a_pooled_waiter_for_a_transaction)
{
    struct rowlock_connection *one = t_open(), *two = pooled();
    struct acquisition us = {.wants = {t_x("pooled in T")}, .wait_ms = -1};
    struct thread *thread;

    t_ok(t_begin(one, t_x("pooled in T"), 0));
    thread = t_queue_thread(two, &us, t_native(), 1);
    t_int(t_is_done(thread), 0);
    t_ok(rowlock_commit(one, &t_error));
    t_join_and_give(thread, &us);
    no_session_locks();
}

/* If a session was lost while it queued, its ticket expires one and a half seconds after it was
   last seen. From then on it blocks no waiter, and vacuum deletes it. */
static void nothing_is_left(void *hand)
{
    int64_t removed;

    t_text(t_native_sql(
               hand,
               "SELECT count(*) FROM rowlock.waiter WHERE alive_until IS NULL OR alive_until > "
               "clock_timestamp() + interval '1500 ms'"),
           "0");
    t_until(t_number(hand, "SELECT count(*) FROM rowlock.waiter "
                           "WHERE alive_until > clock_timestamp()") == 0);
    t_ok(rowlock_vacuum(t_open(), &removed, &t_error));
    t_text(t_all_rows(hand), NO_ROWS);
}

/* The pooler's backend continues when its client is cut off, and no other session can end it,
   because none knows its number. The owner id settles the outcome. */
static void lost_at_work(struct rowlock_want want, rowlock_duration wait_ms)
{
    struct rowlock_connection *connection = NULL;
    struct acquisition us = {.wants = {want}, .ttl_ms = HOUR, .wait_ms = wait_ms};
    struct proxy *proxy;
    void *hand = t_native(), *locker = t_native();
    struct thread *thread;
    const char *url = extra_pooled_url();

    t_give(t_granted(t_open(), want, 0));
    proxy = proxy_start(atoi(strrchr(url, ':') + 1), 1);
    /* it must be cut off during its try, so the try must not time out and join the queue */
    t_ok(rowlock_open(t_say("%.*s:%d%s?sslmode=disable&gssencmode=disable",
                            (int)(strrchr(url, ':') - url), url, proxy_port(proxy),
                            strrchr(url, '/')),
                      &(struct rowlock_options){.statement_ms = HOUR}, &connection, &t_error));
    t_native_sql(locker, "BEGIN");
    t_native_sql(locker, "LOCK TABLE rowlock.lease IN SHARE MODE");
    thread = t_acquire_thread(connection, &us);
    t_until_somebody_waits();
    proxy_cut_all(proxy);
    until_two_wait(thread);
    t_native_sql(locker, "COMMIT");
    t_ok(t_join(thread));
    t_int(leases_of(hand, want.name), 1);
    t_int(lease_rows(hand, (long)rowlock_token(us.lease)), 1);
    t_give(us.lease);
    rowlock_close(connection);
    proxy_stop(proxy);
    nothing_is_left(hand);
}

TEST(p1_a_pooled_session_lost_at_work_grants_nothing_beside_us)
{
    lost_at_work(t_x("at work x"), 60000);
    lost_at_work(t_s("at work s"), 60000);
    lost_at_work(t_p("at work p", 3, 1), 60000);
}

static void lost(struct rowlock_lease *lease, const struct rowlock_error *why, void *data)
{
    (void)lease;
    (void)why;
    ++*(int *)data;
}

TEST(p5_a_pooled_lease_can_be_kept)
{
    struct rowlock_connection *one = pooled(), *two = pooled();
    struct rowlock_lease *lease = t_granted(one, t_x("kept"), 4000), *none = NULL;
    long long began = t_now();
    int times = 0;

    t_ok(rowlock_auto_renew(lease, lost, &times, &t_error));
    while (t_now() < began + 4400)
        t_fails(t_acquire(two, t_x("kept"), 0, 0, &none), EBUSY);
    t_true(rowlock_remaining(lease) > 0);
    t_give(lease);
    t_int(times, 0);
    no_session_locks();
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
    t_give_lost(lease);
    is_clean(hand);
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
    is_clean(t_native());
}

TEST(p5_a_pooled_lease_is_adopted_and_broken)
{
    struct rowlock_connection *one = pooled(), *two = pooled();
    struct rowlock_lease *lease = t_granted(one, t_x("broken"), 60000), *adopted = NULL;
    struct rowlock_lease *none = NULL;
    int64_t token = rowlock_token(lease), broken = 0;

    t_ok(rowlock_adopt(two, "broken", token, &adopted, &t_error));
    rowlock_lease_free(lease);
    t_ok(rowlock_renew(adopted, HOUR, &t_error));
    t_true(rowlock_remaining(adopted) > 60000);
    t_ok(rowlock_break(one, "broken", 0, 0, &broken, &t_error));
    t_int(broken, 1);
    t_fails(rowlock_renew(adopted, 0, &t_error), ELOST);
    t_fails(t_acquire(one, t_x("broken"), 0, 0, &none), EBUSY);
    t_give(adopted); /* the lease is lost, but a release of the holder's still succeeds */
    t_fails(rowlock_adopt(two, "broken", token, &adopted, &t_error), ELOST);
    t_give(t_granted(one, t_x("broken"), 0));
    is_clean(t_native());
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
    thread = t_queue_thread(two, &us, hand, 1);
    t_give(held);
    t_ok(t_join(thread));
    t_int(leases_of(hand, "several a") + leases_of(hand, "several b"), 2);
    t_fails(t_acquire(one, t_x("several a"), 0, 0, &none), EBUSY);
    lease = us.lease;
    t_give(lease);
    is_clean(hand);
}

TEST(p7_a_pooled_waiter_that_gives_up_leaves_the_queue)
{
    struct rowlock_connection *one = pooled(), *two;
    struct rowlock_lease *lease = t_granted(one, t_x("gives up"), HOUR), *none = NULL;
    struct acquisition us = {.wants = {t_x("gives up")}, .wait_ms = -1};
    struct thread *thread;
    void *hand = t_native();

    two = extra_pooled(&(struct rowlock_options){.interrupt_fd = t_interrupt_fd()});
    t_fails(t_acquire(two, t_x("gives up"), 0, 1200, &none), ETIMEDOUT);
    t_contains(t_error.text, "a note");
    t_int(waiters_of(hand, "gives up"), 0);
    thread = t_queue_thread(two, &us, hand, 1);
    t_interrupt();
    t_fails(t_join(thread), ECANCELED);
    t_int(waiters_of(hand, "gives up"), 0);
    t_give(lease);
    is_clean(hand);
}

/* A killed one would leave the same ticket: the server sees neither. */
TEST(p6_a_pooled_head_that_froze_is_overtaken_and_queues_again)
{
    t_overtakes_frozen(pooled(), pooled(), extra_pooled_url(), 15000);
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
    is_clean(t_native());
}
