/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Leases through a pooler that assigns a backend to each transaction only. Session locks do not
 * work there, so waiters poll.
 *
 * Runs on: postgresql
 * Quick: first
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
    no_session_locks();
    t_text(t_all_rows(t_native()), NO_ROWS);
}

#define WAITERS 5

TEST(p7_pooled_and_other_waiters_are_served_in_their_order)
{
    struct rowlock_connection *one = pooled();
    struct rowlock_lease *lease = t_granted(one, t_x("queue"), 600000);
    struct acquisition waiters[WAITERS] = {0};
    struct thread *threads[WAITERS];
    atomic_int turn = 0;
    void *hand = t_native();

    /* more waiters than the pooler has backends, and one without the pooler */
    for (int i = 0; i < WAITERS; i++) {
        waiters[i] =
            (struct acquisition){.wants = {t_x("queue")}, .n = 1, .wait_ms = -1, .turn = &turn};
        threads[i] = t_acquire_thread(i == 2 ? t_open() : pooled(), &waiters[i]);
        t_until_queued(hand, "queue", i + 1);
    }
    t_ok(rowlock_renew(lease, 0, &t_error));
    t_give(lease);
    for (int i = 0; i < WAITERS; i++) {
        t_ok(t_join(threads[i]));
        t_int(waiters[i].order, i + 1);
    }
    no_session_locks();
    t_text(t_all_rows(hand), NO_ROWS);
}

TEST(p1_a_pooled_waiter_for_a_transaction)
{
    struct rowlock_connection *one = t_open(), *two = pooled();
    struct acquisition us = {.wants = {t_x("pooled in T")}, .wait_ms = -1};
    struct thread *thread;

    t_ok(t_begin(one, t_x("pooled in T"), 0));
    thread = t_acquire_thread(two, &us);
    t_until_queued(t_native(), "pooled in T", 1);
    t_int(t_is_done(thread), 0);
    t_ok(rowlock_commit(one, &t_error));
    t_ok(t_join(thread));
    t_give(us.lease);
    no_session_locks();
}

TEST(p6_a_pooled_waiter_that_is_killed_delays_the_others_briefly)
{
    struct rowlock_connection *one = pooled(), *two = pooled();
    struct holder_plan plan = {
        .want = t_x("dead"), .ttl_ms = 3600000, .wait_ms = -1, .url = extra_pooled_url()};
    struct rowlock_lease *lease = t_granted(one, t_x("dead"), 0);
    struct acquisition us = {.wants = {t_x("dead")}, .wait_ms = -1};
    struct child child = t_child(t_hold_body, &plan);
    struct thread *thread;
    long long began;
    void *hand = t_native();

    t_until_queued(hand, "dead", 1);
    thread = t_acquire_thread(two, &us);
    t_until_queued(hand, "dead", 2);
    t_end_child(&child, SIGKILL);
    began = t_now();
    t_give(lease);
    t_ok(t_join(thread));
    print_message("# %lld ms after its death\n", t_now() - began);
    t_within(began, 15000);
    t_give(us.lease);
    t_text(t_all_rows(hand), NO_ROWS);
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
    while (strcmp(t_native_sql(hand, "SELECT count(*) FROM rowlock.waiter WHERE alive_until > "
                                     "clock_timestamp()"),
                  "0") != 0)
        t_pause(2);
    t_ok(rowlock_vacuum(t_open(), &removed, &t_error));
    t_text(t_all_rows(hand), NO_ROWS);
}

/* The pooler's backend continues when its client is cut off, and no other session can end it,
   because none knows its number. The owner id settles the outcome. */
static void lost_at_work(struct rowlock_want want, rowlock_duration wait_ms)
{
    struct rowlock_connection *connection = NULL;
    struct acquisition us = {.wants = {want}, .ttl_ms = 3600000, .wait_ms = wait_ms};
    struct proxy *proxy;
    void *hand = t_native(), *locker = t_native();
    struct thread *thread;
    const char *url = extra_pooled_url();
    char through[200];

    t_give(t_granted(t_open(), want, 0));
    proxy = proxy_start(atoi(strrchr(url, ':') + 1), 1);
    snprintf(through, sizeof through, "%.*s:%d%s?sslmode=disable&gssencmode=disable",
             (int)(strrchr(url, ':') - url), url, proxy_port(proxy), strrchr(url, '/'));
    /* it must be cut off during its try, so the try must not time out and join the queue */
    t_ok(rowlock_open(through, &(struct rowlock_options){.statement_ms = 3600000}, &connection,
                      &t_error));
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
