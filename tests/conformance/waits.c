/* SPDX-License-Identifier: Apache-2.0 */
/* Trying once, waiting with a timeout, waiting without one, being interrupted. */
#include <stdint.h>
#include <string.h>

#include "lib/test.h"

static struct rowlock_connection *interruptible(void)
{
    return t_open_with(&(struct rowlock_options){.interrupt_fd = t_interrupt_fd()});
}

TEST(a_wait_ends_after_its_time)
{
    struct rowlock_connection *holder = t_open(), *other = t_open();
    static const rowlock_duration waits[] = {1, 30, 250, 1100};

    t_ok(t_begin(holder, t_x(t_name(1)), 0));
    for (int i = 0; i < 4; i++) {
        long long began = t_now();

        t_fails(t_begin(other, t_x(t_name(1)), waits[i]), ETIMEDOUT);
        t_left(NONE);
        t_true(t_now() - began >= waits[i]);
        t_within(began, waits[i] + 5000);
        t_contains(t_error.text, t_name(1));
    }
}

TEST(a_wait_in_a_transaction_ends_after_its_time)
{
    struct rowlock_connection *holder = t_open(), *other = t_open();
    long long began;

    if (!t_facts()->names_independent) { /* the holder of a transaction holds the whole file */
        t_ok(t_begin(holder, t_x(t_name(1)), 0));
        t_ok(t_lock(holder, t_x(t_name(2)), T_TIMEOUT_MS));
        return;
    }
    t_ok(t_begin(holder, t_x(t_name(1)), 0));
    t_ok(t_begin(other, t_x(t_name(2)), 0));
    began = t_now();
    t_fails(t_lock(other, t_x(t_name(1)), 250), ETIMEDOUT);
    t_true(t_now() - began >= 250);
    t_within(began, 5250);
    t_contains(t_error.text, t_name(1));
}

/* Also where the length is absurd. */
TEST(a_wait_that_is_long_enough_gets_the_lock)
{
    static const rowlock_duration waits[] = {60000, INT64_MAX, INT64_MIN};
    struct rowlock_connection *holder = t_open(), *other = t_open();
    struct thread *thread;

    for (int i = 0; i < 3; i++) { /* the server may still end a session */
        t_ok(t_begin(holder, t_x(t_name(1)), T_TIMEOUT_MS));
        thread = t_waiting_thread(other, t_x(t_name(1)), waits[i]);
        t_ok(rowlock_commit(holder, &t_error));
        t_ok(t_join(thread));
        t_ok(rowlock_commit(other, &t_error));
    }
}

TEST(a_wait_is_no_statement_that_takes_too_long)
{
    struct rowlock_options options = {.statement_ms = 1000};
    struct rowlock_connection *holder = t_open(), *other = t_open_with(&options);
    struct thread *thread;
    long long began = t_now();

    t_ok(t_begin(holder, t_x(t_name(1)), 0));
    thread = t_begin_thread(other, t_x(t_name(1)), -1);
    while (t_now() < began + 2500)
        t_until_waiting(thread);
    t_ok(rowlock_commit(holder, &t_error));
    t_ok(t_join(thread));
}

TEST(a_connection_is_good_for_the_next_lock_after_a_refusal)
{
    struct rowlock_connection *holder = t_open(), *other = t_open();

    t_ok(t_begin(holder, t_x(t_name(1)), 0));
    for (int i = 0; i < 3; i++) {
        t_fails(t_begin(other, t_x(t_name(1)), 0), EBUSY);
        t_fails(t_begin(other, t_x(t_name(1)), 20), ETIMEDOUT);
    }
    t_ok(rowlock_commit(holder, &t_error));
    t_ok(t_begin(other, t_x(t_name(1)), T_TIMEOUT_MS));
    t_ok(rowlock_commit(other, &t_error));
}

static void is_interrupted(rowlock_duration wait_ms)
{
    struct rowlock_connection *holder = t_open(), *other = interruptible();
    struct thread *thread;

    t_ok(t_begin(holder, t_x(t_name(1)), 0));
    thread = t_waiting_thread(other, t_x(t_name(1)), wait_ms);
    t_interrupt();
    t_fails(t_join(thread), ECANCELED);
    if (t_facts()->cancel_ends_session) {
        t_left(DEAD);
        t_ok(rowlock_commit(holder, &t_error));
        t_int(t_is_free(t_x(t_name(1))), 1);
        t_close(other);
        return;
    }
    t_left(NONE);
    t_take_interrupt();
    t_fails(t_begin(other, t_x(t_name(1)), 0), EBUSY);
    t_ok(rowlock_commit(holder, &t_error));
    t_ok(t_begin(other, t_x(t_name(1)), 0));
    t_ok(rowlock_commit(other, &t_error)); /* the next test's names may be its neighbours */
    t_close(other);
}

TEST(an_interrupt_ends_a_wait_and_leaves_nothing_in_the_queue)
{
    is_interrupted(-1);
    is_interrupted(60000);
}

TEST(p11_an_interrupt_in_a_transaction_leaves_it_usable)
{
    struct rowlock_connection *holder = t_open(), *other = interruptible();
    struct thread *thread;

    if (!t_facts()->cancel_ends_session)
        t_sql(holder, "CREATE TABLE interrupted (n INTEGER)");
    if (t_facts()->names_independent) {
        t_ok(t_begin(holder, t_x(t_name(1)), 0));
        t_ok(t_begin(other, t_x(t_name(2)), 0));
        if (!t_facts()->cancel_ends_session)
            t_sql(other, "INSERT INTO interrupted VALUES (1)");
        thread = t_lock_thread(other, t_x(t_name(1)), -1);
        t_until_waiting(thread);
        t_interrupt();
        t_fails(t_join(thread), ECANCELED);
        if (t_facts()->limit_aborts) {
            t_left(ABORTED);
            t_not_here(WHY_INTERRUPT_ABORTS);
        }
        if (t_facts()->cancel_ends_session) {
            t_left(DEAD);
            t_not_here(WHY_INTERRUPT_ENDS);
        }
        t_true(t_error.transaction == ROWLOCK_TX_KEPT ||
               (t_facts()->busy_keeps_row && t_error.transaction == ROWLOCK_TX_KEPT_LOCKED));
        t_take_interrupt();
        t_int(t_is_free(t_x(t_name(2))), 0);
        t_sql(other, "INSERT INTO interrupted VALUES (2)");
        t_ok(rowlock_commit(other, &t_error));
        t_text(t_sql(holder, "SELECT count(*) FROM interrupted"), "2");
    }
    t_close(other);
}

TEST(an_interrupt_before_the_call_ends_it)
{
    struct rowlock_connection *holder = t_open(), *other = interruptible();

    t_ok(t_begin(holder, t_x(t_name(1)), 0));
    t_interrupt();
    t_fails(t_begin(other, t_x(t_name(1)), -1), ECANCELED);
    t_left(NONE);
    t_take_interrupt();
    t_ok(rowlock_commit(holder, &t_error));
    t_ok(t_begin(other, t_x(t_name(1)), 0));
    t_close(other);
}
