/* SPDX-License-Identifier: Apache-2.0 */
/*
 * P7, P10: waiters are served in the order of their arrival. A waiter that dies, freezes or gives
 * up delays the others for a short time only.
 *
 * Runs on: sqlite postgresql mariadb odbc jdbc
 * Quick: first
 */
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "lib/grants.h"
#include "lib/harness.h"

/* A killed waiter delays the others by about a second if it had a session lock; one that polled,
   by as long as it counts as alive. The limit is generous: the machine may be busy. */
#define SOON_MS 8000

/* ---- order ----------------------------------------------------------------------------------- */

#define WAITERS 8

TEST(p7_waiters_of_any_mode_are_served_in_their_order)
{
    struct rowlock_lease *lease = t_granted(t_open(), t_x("order"), HOUR);
    struct acquisition waiters[WAITERS] = {0};
    struct thread *threads[WAITERS];
    atomic_int turn = 0;
    void *hand = t_native();

    t_keep_places(hand, "order", "");
    for (int i = 0; i < WAITERS; i++) {
        waiters[i] = (struct acquisition){
            .wants = {i % 3 ? t_x("order") : t_p("order", 3, 3)}, .wait_ms = -1, .turn = &turn};
        threads[i] = t_queue_thread(t_open(), &waiters[i], hand, i + 1);
    }
    t_give(lease);
    for (int i = 0; i < WAITERS; i++) {
        t_ok(t_join(threads[i]));
        t_int(waiters[i].order, i + 1);
    }
    t_text(t_all_rows(hand), NO_ROWS);
}

TEST(p7_a_reader_queues_behind_a_waiting_writer)
{
    struct rowlock_connection *one = t_open(), *two = t_open(), *three = t_open(), *four = t_open();
    struct rowlock_lease *lease = t_granted(one, t_s("starved"), 0), *none = NULL;
    struct acquisition writer = {.wants = {t_x("starved")}, .wait_ms = -1},
                       reader = {.wants = {t_s("starved")}, .wait_ms = -1};
    struct thread *threads[2];
    void *hand = t_native();

    threads[0] = t_queue_thread(two, &writer, hand, 1);
    t_fails(t_acquire(three, t_s("starved"), 0, 0, &none), EBUSY);
    t_fails(t_acquire(three, t_s("starved"), 0, 100, &none), ETIMEDOUT);
    threads[1] = t_queue_thread(four, &reader, hand, 2);
    t_give(lease);
    t_ok(t_join(threads[0]));
    t_int(t_is_done(threads[1]), 0);
    t_give(writer.lease);
    t_join_and_give(threads[1], &reader);
    t_text(t_all_rows(hand), NO_ROWS);
}

/* With three of these readers, the name almost always has one. */
static int read_on(const void *data, int to)
{
    struct rowlock_terms terms = {.wait_ms = -1};
    struct rowlock_want want = t_s(data);
    struct rowlock_connection *connection = NULL;
    struct rowlock_lease *lease = NULL;

    if (rowlock_open(t_url(), t_usual(), &connection, NULL))
        return 1;
    for (int i = 0;; i++) {
        if (rowlock_acquire(connection, &want, 1, &terms, &lease, NULL))
            return 1;
        if (i == 1 && write(to, "!", 1) != 1)
            return 1;
        t_pause(2);
        t_pause(2);
        if (rowlock_release(lease, NULL))
            return 1;
        rowlock_lease_free(lease);
    }
}

TEST(p7_a_stream_of_readers_does_not_starve_a_writer)
{
    struct rowlock_connection *one = t_open();
    struct child readers[3];
    struct rowlock_lease *lease = NULL;
    int sessions = t_facts()->server ? t_sessions() : 0;

    for (int i = 0; i < 3; i++)
        readers[i] = t_child(read_on, "stream");
    for (int i = 0; i < 3; i++)
        t_int(t_hear(&readers[i]), '!');
    for (int i = 0; i < 5; i++) {
        t_ok(t_acquire(one, t_x("stream"), 0, 30000, &lease));
        t_give(lease);
    }
    for (int i = 0; i < 3; i++)
        t_end_child(&readers[i], SIGKILL);
    if (t_facts()->server) /* it may still be granting a lease to a killed reader */
        t_until_sessions(sessions);
    t_forget_leases(t_native());
}

/* ---- waiters that give up -------------------------------------------------------------------- */

TEST(p7_a_wait_for_a_time_ends_and_leaves_the_queue)
{
    struct rowlock_connection *one = t_open(), *two = t_open(), *three = t_open();
    struct rowlock_lease *lease = t_granted(one, t_x("a time"), 0), *none = NULL;
    struct acquisition behind = {.wants = {t_x("a time")}, .wait_ms = -1};
    struct thread *thread;
    long long began = t_now();
    void *hand = t_native();

    t_fails(t_acquire(two, t_x("a time"), 0, 300, &none), ETIMEDOUT);
    t_true(t_now() - began >= 290);
    t_within(began, 300 + SOON_MS);
    t_int(waiters_of(hand, "a time"), 0);
    thread = t_queue_thread(three, &behind, hand, 1);
    /* not the first in the queue */
    t_fails(t_acquire(two, t_x("a time"), 0, 300, &none), ETIMEDOUT);
    t_int(waiters_of(hand, "a time"), 1);
    t_give(lease);
    t_join_and_give(thread, &behind);
}

TEST(p7_an_interrupt_while_waiting_for_a_transaction_leaves_nothing)
{
    struct rowlock_connection *one = t_open(), *two;
    struct acquisition waiter = {.wants = {t_x("interrupted")}, .wait_ms = -1};
    struct thread *thread;
    void *hand = t_native();

    /* On SQLite, while the file is locked, a waiter cannot be observed, and cannot withdraw. */
    if (!t_facts()->server)
        return;
    two = t_open_with(&(struct rowlock_options){.interrupt_fd = t_interrupt_fd()});
    t_ok(t_begin(one, t_x("interrupted"), 0));
    thread = t_acquire_thread(two, &waiter);
    t_until_waiting(thread);
    t_interrupt();
    t_fails(t_join(thread), ECANCELED);
    t_ok(rowlock_commit(one, &t_error));
    if (!t_facts()->cancel_ends_session)
        t_int(waiters_of(hand, "interrupted"), 0);
    t_int(leases_of(hand, "interrupted"), 0);
    if (!t_facts()->cancel_ends_session)
        t_int(t_may_have(t_x("interrupted")), 1);
    else /* the interrupt may have cost the session that withdraws: then the ticket dies */
        t_until_free(t_x("interrupted"), SOON_MS);
}

TEST(p7_a_waiter_in_the_middle_goes_away)
{
    struct rowlock_connection *one = t_open(), *two = t_open(), *three, *four = t_open();
    struct rowlock_lease *lease = t_granted(one, t_x("middle"), 0);
    struct acquisition a = {.wants = {t_x("middle")}, .wait_ms = -1}, b = a, c = a;
    struct thread *threads[3];
    void *hand = t_native();

    three = t_open_with(&(struct rowlock_options){.interrupt_fd = t_interrupt_fd()});
    threads[0] = t_queue_thread(two, &a, hand, 1);
    threads[1] = t_queue_thread(three, &b, hand, 2);
    threads[2] = t_queue_thread(four, &c, hand, 3);
    t_interrupt();
    t_fails(t_join(threads[1]), ECANCELED);
    if (!t_facts()->cancel_ends_session) /* else its ticket dies */
        t_int(waiters_of(hand, "middle"), 2);
    t_give(lease);
    t_ok(t_join(threads[0]));
    t_int(t_is_done(threads[2]), 0);
    t_give(a.lease);
    t_join_and_give(threads[2], &c);
}

/* ---- waiters that die ------------------------------------------------------------------------ */

#define DEAD 3

/* Three children wait, then this process. Those whose bit is set are killed, and the rest follow
   in order. */
static void killed(unsigned who)
{
    struct rowlock_connection *one = t_open(), *last = t_open();
    const char *name = t_name((int)who);
    struct holder_plan plan = {.want = t_x(name), .ttl_ms = HOUR, .wait_ms = -1};
    struct rowlock_lease *lease = t_granted(one, t_x(name), HOUR);
    struct acquisition us = {.wants = {t_x(name)}, .wait_ms = -1};
    struct child children[DEAD];
    struct thread *thread;
    char dying[80] = ""; /* if one is suspended, it may queue again */
    size_t at = 0;
    long long began;
    void *hand = t_native();

    for (int i = 0; i < DEAD; i++) {
        t_keep_places(hand, name, who & 1U << i ? NULL : dying);
        children[i] = t_child(t_hold_body, &plan);
        if (who & 1U << i)
            at += (size_t)snprintf(dying + at, sizeof dying - at, "%s%d", at ? ", " : "",
                                   (int)children[i].pid);
        t_until_queued(hand, name, i + 1);
    }
    t_keep_places(hand, name, dying);
    thread = t_queue_thread(last, &us, hand, DEAD + 1);
    for (int i = 0; i < DEAD; i++)
        if (who & 1U << i)
            t_end_child(&children[i], SIGKILL);
    began = t_now();
    t_give(lease);
    for (int i = 0; i < DEAD; i++)
        if (!(who & 1U << i)) {
            t_int(t_hear(&children[i]), '!');
            t_int(t_is_done(thread), 0);
            t_end_child(&children[i], SIGKILL); /* it holds the lease, which is then broken */
            t_ok(rowlock_break(one, name, 0, 1, NULL, &t_error));
        }
    t_ok(t_join(thread));
    print_message("# %lld ms after the end of waiters %u\n", t_now() - began, who);
    t_within(began, SOON_MS * (DEAD + 1));
    t_give(us.lease);
    if (!t_facts()->server) /* one that was suspended may have queued again, behind us */
        t_until_free(t_x(name), SOON_MS);
    t_text(t_all_rows(hand), NO_ROWS);
    t_close(one);
    t_close(last);
}

TEST(p6_a_waiter_in_the_middle_is_killed)
{
    killed(2);
}

/* leases/waiters kills all of them. */
TEST(p6_the_first_waiter_and_the_one_before_us_are_killed)
{
    killed(5);
}

TEST(p6_a_try_behind_a_dead_waiter_succeeds)
{
    struct rowlock_lease *lease = t_granted(t_open(), t_x("dead"), HOUR);
    struct holder_plan plan = {.want = t_x("dead"), .ttl_ms = HOUR, .wait_ms = -1};
    struct child child = t_child(t_hold_body, &plan);
    void *hand = t_native();

    t_until_queued(hand, "dead", 1);
    t_end_child(&child, SIGKILL);
    t_give(lease);
    print_message("# free after %lld ms\n", t_until_free(t_x("dead"), SOON_MS));
    t_text(t_all_rows(hand), NO_ROWS);
}

/* No other waiter would remove the ticket, and no client asks for the name. */
TEST(p6_vacuum_removes_a_killed_waiter_and_no_living_one)
{
    struct rowlock_connection *one = t_open(), *two = t_open();
    const char *name = t_name(0);
    struct holder_plan plan = {.want = t_x(name), .ttl_ms = HOUR, .wait_ms = -1};
    struct rowlock_lease *lease = t_granted(one, t_x(name), HOUR);
    struct acquisition us = {.wants = {t_x(name)}, .wait_ms = -1};
    struct child child = t_child(t_hold_body, &plan);
    struct thread *thread;
    void *hand = t_native();
    long long began = t_now();
    int64_t removed;

    t_until_queued(hand, name, 1);
    t_ok(rowlock_vacuum(one, &removed, &t_error));
    t_int(waiters_of(hand, name), 1);
    t_end_child(&child, SIGKILL);
    while (waiters_of(hand, name) > 0) {
        t_within(began, SOON_MS);
        t_ok(rowlock_vacuum(one, &removed, &t_error));
        t_pause(2);
    }
    thread = t_queue_thread(two, &us, hand, 1);
    t_ok(rowlock_vacuum(one, &removed, &t_error));
    t_int(waiters_of(hand, name), 1);
    t_give(lease);
    t_join_and_give(thread, &us);
}

TEST(p6_a_waiter_killed_while_the_name_is_in_a_transaction)
{
    struct rowlock_connection *one = t_open();
    struct holder_plan plan = {.want = t_x("in T"), .ttl_ms = HOUR, .wait_ms = -1};
    struct child child;
    void *hand = t_native();

    t_ok(t_begin(one, t_x("in T"), 0));
    child = t_child(t_hold_body, &plan);
    if (t_facts()->server)
        t_until_somebody_waits();
    t_end_child(&child, SIGKILL);
    t_ok(rowlock_commit(one, &t_error));
    print_message("# free after %lld ms\n", t_until_free(t_x("in T"), SOON_MS));
    t_text(t_all_rows(hand), NO_ROWS);
}

/* ---- waiters that freeze --------------------------------------------------------------------- */

TEST(p6_a_frozen_head_is_overtaken_and_queues_again)
{
    t_overtakes_frozen(t_open(), t_open(), NULL, 20000);
}

/* While the name is held, the first waiter may be as slow as it likes. */
TEST(p7_a_frozen_head_that_wakes_in_time_keeps_its_place)
{
    struct rowlock_connection *one = t_open(), *two = t_open();
    struct rowlock_lease *lease = t_granted(one, t_x("in time"), HOUR);
    struct holder_plan plan = {.want = t_x("in time"), .ttl_ms = HOUR, .wait_ms = -1};
    struct acquisition us = {.wants = {t_x("in time")}, .wait_ms = -1};
    struct child child;
    struct thread *thread;
    void *hand = t_native();

    t_keep_places(hand, "in time", "");
    child = t_child(t_hold_body, &plan);
    t_until_queued(hand, "in time", 1);
    thread = t_queue_thread(two, &us, hand, 2);
    kill(child.pid, SIGSTOP);
    t_pause(2);
    kill(child.pid, SIGCONT);
    t_give(lease);
    t_int(t_hear(&child), '!');
    t_int(t_is_done(thread), 0);
    t_end_child(&child, SIGKILL);
    t_ok(rowlock_break(one, "in time", 0, 1, NULL, &t_error));
    t_join_and_give(thread, &us);
}

/* It froze in the queue for the name lock. It is granted that lock, and the server's time limit
   releases it. */
TEST(p6_a_waiter_frozen_while_it_waits_for_a_transaction_closes_no_name)
{
    struct rowlock_connection *one = t_open();
    struct holder_plan plan = {.want = t_x("frozen in T"), .ttl_ms = HOUR, .wait_ms = -1};
    struct child child;
    void *hand = t_native();

    if (!t_facts()->server)
        return;
    t_forget_leases(hand);
    if (t_facts()->plain)
        t_not_here(WHY_IDLE_LIMIT);
    t_ok(t_begin(one, t_x("frozen in T"), 0));
    child = t_child(t_hold_body, &plan);
    t_until_somebody_waits();
    kill(child.pid, SIGSTOP);
    t_ok(rowlock_commit(one, &t_error));
    print_message("# free after %lld ms\n", t_until_free(t_x("frozen in T"), PROMISE_MS));
    kill(child.pid, SIGCONT);
    t_int(t_hear(&child), '!');
    t_int(leases_of(hand, "frozen in T"), 1);
    t_end_child(&child, SIGKILL);
    t_forget_leases(hand);
}

/* ---- waiters whose connection is lost -------------------------------------------------------- */

TEST(p7_a_wait_on_a_wrapped_connection_ends_with_it)
{
    void *handle;
    struct rowlock_connection *one = t_open(), *two = t_wrap(&handle, NULL);
    struct rowlock_lease *lease;
    struct acquisition us = {.wants = {t_x("wrapped")}, .wait_ms = -1};
    struct thread *thread;
    void *hand = t_native();

    if (!t_facts()->server)
        return;
    lease = t_granted(one, t_x("wrapped"), 0);
    thread = t_queue_thread(two, &us, hand, 1);
    t_engine()->kill(t_admin(), t_engine()->session(handle));
    t_fails(t_join(thread), ECONN);
    t_give(lease);
    t_until_free(t_x("wrapped"), SOON_MS);
    t_text(t_all_rows(hand), NO_ROWS);
}
