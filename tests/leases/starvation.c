/* SPDX-License-Identifier: Apache-2.0 */
/*
 * P7, O1: transaction locks queue in the engine's own queue, and leases in rowlock's. However busy
 * one kind keeps a name, the other kind acquires it.
 *
 * Runs on: postgresql mariadb odbc jdbc
 * Quick: first
 * Rest: postgresql mariadb derby/jdbc
 */
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "lib/grants.h"
#include "lib/lease.h"

#define BUSY 5 /* processes that keep the name busy */
#define TIMES 5

struct traffic {
    const char *name;
    struct common {
        atomic_int turns, stop;
    } * shared;
    struct timespec hold;
};

static void begin_traffic(struct traffic *traffic, int (*body)(const void *, int),
                          struct child *children)
{
    traffic->shared = t_shared(sizeof *traffic->shared);
    for (int i = 0; i < BUSY; i++)
        children[i] = t_child(body, traffic);
    for (int i = 0; i < BUSY; i++)
        t_int(t_hear(&children[i]), '!');
}

/* Asserts that none of them failed, or stopped before it should. */
static void end_traffic(struct traffic *traffic, struct child *children)
{
    atomic_store(&traffic->shared->stop, 1);
    for (int i = 0; i < BUSY; i++)
        t_int(t_await_child(&children[i]), 0);
    t_text(t_all_rows(t_native()), NO_ROWS);
}

/* Counts a turn; the first one is reported. */
static int turn_done(const struct traffic *traffic, int turn, int to)
{
    atomic_fetch_add(&traffic->shared->turns, 1);
    return turn == 0 && write(to, "!", 1) != 1;
}

static int said(const struct rowlock_error *error)
{
    fprintf(stderr, "# a child: %s\n", error->text);
    return 1;
}

/* ---- transaction locks against a lease ------------------------------------------------------- */

/* With technique insert the engine sometimes ends a transaction as a deadlock's victim, and
   reports it. */
static int is_victim(const struct rowlock_error *error)
{
    return t_facts()->begins_meet && error->code == ROWLOCK_EROLLEDBACK;
}

/* Keeps the name almost always locked: another transaction already waits when one ends. */
static int lock_on(const void *data, int to)
{
    const struct traffic *traffic = data;
    struct rowlock_want want = t_x(traffic->name);
    struct rowlock_connection *connection = NULL;
    struct rowlock_error error = {0};

    if (rowlock_open(t_url(), t_usual(), &connection, &error))
        return said(&error);
    for (int turn = 0; !atomic_load(&traffic->shared->stop); turn++) {
        while (rowlock_begin(connection, &want, 1, -1, &error))
            if (!is_victim(&error))
                return said(&error);
        nanosleep(&traffic->hold, NULL);
        if (rowlock_commit(connection, &error) || turn_done(traffic, turn, to))
            return said(&error);
    }
    rowlock_close(connection);
    return 0;
}

TEST(o1_lockers_without_a_pause_do_not_starve_a_lease)
{
    struct traffic traffic = {.name = t_name(0), .hold = {0, 5000000}};
    struct rowlock_connection *one = t_open();
    struct child children[BUSY];
    long long began;
    int turns;

    begin_traffic(&traffic, lock_on, children);
    began = t_now();
    turns = atomic_load(&traffic.shared->turns);
    for (int i = 0; i < TIMES; i++) {
        struct rowlock_lease *lease = NULL;

        t_ok(t_acquire(one, t_x(traffic.name), 0, T_TIMEOUT_MS, &lease));
        t_give(lease);
    }
    print_message("# %d leases between %d transactions in %lld ms\n", TIMES,
                  atomic_load(&traffic.shared->turns) - turns, t_now() - began);
    end_traffic(&traffic, children);
}

/* ---- leases against a transaction lock ------------------------------------------------------- */

static int lease_on(const void *data, int to)
{
    const struct traffic *traffic = data;
    struct rowlock_terms terms = {.wait_ms = -1};
    struct rowlock_want want = t_x(traffic->name);
    struct rowlock_connection *connection = NULL;
    struct rowlock_lease *lease = NULL;
    struct rowlock_error error = {0};

    if (rowlock_open(t_url(), t_usual(), &connection, &error))
        return said(&error);
    for (int turn = 0; !atomic_load(&traffic->shared->stop); turn++) {
        if (rowlock_acquire(connection, &want, 1, &terms, &lease, &error))
            return said(&error);
        nanosleep(&traffic->hold, NULL);
        if (rowlock_release(lease, &error) || turn_done(traffic, turn, to))
            return said(&error);
        rowlock_lease_free(lease);
    }
    rowlock_close(connection);
    return 0;
}

TEST(o1_a_stream_of_leases_does_not_starve_a_lock_in_a_transaction)
{
    struct traffic traffic = {.name = t_name(0), .hold = {0, 5000000}};
    struct rowlock_connection *one = t_open();
    struct child children[BUSY];
    long long began;
    int turns;

    begin_traffic(&traffic, lease_on, children);
    began = t_now();
    turns = atomic_load(&traffic.shared->turns);
    for (int i = 0; i < TIMES; i++) {
        t_ok(t_begin(one, t_x("another"), -1));
        t_ok(t_lock(one, t_x(traffic.name), T_TIMEOUT_MS));
        t_ok(rowlock_commit(one, &t_error));
    }
    print_message("# %d locks between %d leases in %lld ms\n", TIMES,
                  atomic_load(&traffic.shared->turns) - turns, t_now() - began);
    end_traffic(&traffic, children);
}

/* With MariaDB's technique row a lock cannot keep the row of a lease while it waits for its end, so
   leases may come first. Ends them in the order of the queue until the lock is there; returns how
   many came first. */
static int give_until_done(struct thread *lock, struct thread **threads,
                           struct acquisition *waiters)
{
    int first = 0;

    while (!t_is_done(lock)) {
        if (first < BUSY && t_is_done(threads[first])) {
            t_join_and_give(threads[first], &waiters[first]);
            first++;
        }
        t_pause(2);
    }
    return first;
}

TEST(o1_a_lock_in_a_transaction_comes_before_all_leases_that_are_waited_for)
{
    struct rowlock_connection *one, *locker;
    const char *name = t_name(0);
    struct acquisition waiters[BUSY];
    struct thread *threads[BUSY], *lock;
    struct rowlock_lease *lease;
    void *hand;
    int first = 0;

    if (t_facts()->plain)
        t_not_here(WHY_POLLS);
    one = t_open();
    locker = t_open();
    hand = t_native();
    lease = t_granted(one, t_x(name), 600000);
    for (int i = 0; i < BUSY; i++) {
        waiters[i] = (struct acquisition){.wants = {t_x(name)}, .wait_ms = -1};
        threads[i] = t_queue_thread(t_open(), &waiters[i], hand, i + 1);
    }
    t_ok(t_begin(locker, t_x("another"), -1));
    lock = t_lock_thread(locker, t_x(name), T_TIMEOUT_MS);
    t_until_server_polls(locker);
    t_give(lease);
    if (lease_has_views() && t_facts()->code == ROWLOCK_ROW)
        first = give_until_done(lock, threads, waiters);
    t_ok(t_join(lock));
    t_int(leases_of(hand, name), 0);
    t_int(waiters_of(hand, name), BUSY - first);
    t_ok(rowlock_commit(locker, &t_error));
    for (int i = first; i < BUSY; i++)
        t_join_and_give(threads[i], &waiters[i]);
    t_text(t_all_rows(hand), NO_ROWS);
}
