/* SPDX-License-Identifier: Apache-2.0 */
/*
 * P6, P10: a waiter far behind in the queue learns at once that its predecessor has ended, and not
 * only from its next look. A refusal reports how many callers wait.
 *
 * Runs on: sqlite postgresql mariadb odbc jdbc
 * Quick: first
 */
#include <signal.h>

#include "lib/grants.h"

#define WOKEN_MS 20000 /* a waiter this far behind looks by itself only every 30 s */
#define MOST_FAR 16
#define FAR (t_is_jdbc() ? 8 : MOST_FAR) /* each starts a JVM */

/* Children that wait one behind the other. */
static void line_up(struct child *children, size_t n, const struct holder_plan *plan, void *hand)
{
    for (size_t i = 0; i < n; i++) {
        children[i] = t_child(t_hold_body, plan);
        t_until_queued(hand, plan->want.name, (long)i + 1);
    }
}

TEST(p6_a_waiter_far_behind_is_woken_though_all_before_it_were_killed)
{
    struct rowlock_connection *one = t_open(), *last = t_open();
    const char *name = t_name(0);
    struct holder_plan plan = {.want = t_x(name), .ttl_ms = HOUR, .wait_ms = -1};
    struct rowlock_lease *lease = t_granted(one, t_x(name), HOUR);
    struct acquisition us = {.wants = {t_x(name)}, .wait_ms = T_TIMEOUT_MS};
    struct child children[MOST_FAR];
    struct thread *thread;
    void *hand = t_native();
    long long began;

    line_up(children, FAR, &plan, hand);
    thread = t_queue_thread(last, &us, hand, FAR + 1);
    for (int i = 0; i < FAR; i++)
        t_end_child(&children[i], SIGKILL);
    t_int(t_is_done(thread), 0);
    began = t_now();
    t_give(lease);
    t_until_queued(hand, name, 0);
    t_true(t_now() - began < WOKEN_MS);
    t_join_and_give(thread, &us);
    t_text(t_all_rows(hand), NO_ROWS);
}

/* ---- how many wait --------------------------------------------------------------------------- */

static void is_told(struct rowlock_connection *connection, const char *name, const char *how_many)
{
    struct rowlock_lease *none = NULL;

    t_fails(t_acquire(connection, t_x(name), 0, 0, &none), EBUSY);
    t_contains(t_error.text, "a note");
    t_contains(t_error.text, how_many);
}

TEST(p7_a_refusal_reports_how_many_wait)
{
    struct rowlock_connection *one = t_open(), *other = t_open();
    const char *name = t_name(0);
    struct rowlock_lease *lease = t_granted(one, t_x(name), HOUR), *none = NULL;
    struct acquisition waiters[2];
    struct thread *threads[2];
    void *hand = t_native();

    t_fails(t_acquire(other, t_x(name), 0, 0, &none), EBUSY);
    t_lacks(t_error.text, "waiting");
    for (int i = 0; i < 2; i++) {
        waiters[i] = (struct acquisition){.wants = {t_x(name)}, .wait_ms = T_TIMEOUT_MS};
        threads[i] = t_queue_thread(t_open(), &waiters[i], hand, i + 1);
        is_told(other, name, i == 0 ? ", 1 waiting" : ", 2 waiting");
    }
    t_give(lease);
    for (int i = 0; i < 2; i++)
        t_join_and_give(threads[i], &waiters[i]);
    t_text(t_all_rows(hand), NO_ROWS);
}

TEST(a_caller_that_gives_up_does_not_count_itself)
{
    struct rowlock_connection *one = t_open(), *other = t_open();
    const char *name = t_name(0);
    struct rowlock_lease *lease = t_granted(one, t_x(name), HOUR), *none = NULL;
    struct acquisition waiter = {.wants = {t_x(name)}, .wait_ms = T_TIMEOUT_MS};
    struct thread *thread;
    void *hand = t_native();

    t_fails(t_acquire(other, t_x(name), 0, 300, &none), ETIMEDOUT);
    t_contains(t_error.text, "is held by");
    t_lacks(t_error.text, "waiting");
    thread = t_queue_thread(t_open(), &waiter, hand, 1);
    t_fails(t_acquire(other, t_x(name), 0, 300, &none), ETIMEDOUT);
    t_contains(t_error.text, ", 1 waiting");
    t_give(lease);
    t_join_and_give(thread, &waiter);
}

/* ---- the caller looks while it waits --------------------------------------------------------- */

struct looker {
    struct rowlock_connection *connection;
    const char *name;
    int calls, waiters;
};

static int count_waiter(const struct rowlock_holder *holder, void *data)
{
    struct looker *looker = data;

    looker->waiters += holder->holding == ROWLOCK_WAITS;
    return 0;
}

static int look_and_end(void *data)
{
    struct looker *looker = data;

    looker->calls++;
    if (rowlock_list(looker->connection, looker->name, count_waiter, looker, NULL))
        looker->waiters = -100;
    return 1;
}

TEST(p7_a_caller_may_look_while_it_waits_and_end_the_wait)
{
    struct rowlock_connection *one = t_open(), *two = t_open();
    struct looker looker = {.connection = two, .name = t_name(0)};
    struct rowlock_terms terms = {
        .wait_ms = T_TIMEOUT_MS, .on_wait = look_and_end, .data = &looker};
    struct rowlock_lease *lease = t_granted(one, t_x(looker.name), HOUR), *none = NULL;
    struct rowlock_want want = t_x(looker.name);

    t_fails(rowlock_acquire(two, &want, 1, &terms, &none, &t_error), ECANCELED);
    t_int(looker.calls, 1);
    t_int(looker.waiters, 1);
    t_int(none == NULL, 1);
    t_give(lease);
    t_text(t_all_rows(t_native()), NO_ROWS);
    t_give(t_granted(two, want, HOUR));
}
