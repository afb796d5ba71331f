/* SPDX-License-Identifier: Apache-2.0 */
/*
 * P7, P10: a crowd that waits for one name in a SQLite file. The waiters poll, so a look from far
 * behind must not read everyone before it.
 * Runs on: sqlite
 */
#include <sqlite3.h>
#include <string.h>

#include "lib/grants.h"
#include "lib/lease.h"

/* ---- the cost of a look ---------------------------------------------------------------------- */

#define STEPS 10 /* SQLite counts its instructions in units of this many */

static struct {
    void *look; /* the statement, while it runs: only its steps are counted */
    long steps;
    atomic_long looks; /* that ended */
} cost;

static int count_steps(void *data)
{
    (void)data;
    cost.steps += cost.look != NULL;
    return 0;
}

static int count_looks(unsigned event, void *data, void *statement, void *text)
{
    (void)data;
    if (event == SQLITE_TRACE_PROFILE) {
        if (statement == cost.look)
            atomic_fetch_add(&cost.looks, 1);
        cost.look = NULL;
    } else if (strncmp(text, "SELECT", 6) == 0 && strstr(text, "rowlock_waiter")) {
        cost.look = statement;
    }
    return 0;
}

static void queue_up(void *hand, const char *name, int n)
{
    t_native_sql(hand,
                 "WITH RECURSIVE place(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM place "
                 "WHERE n < %d) INSERT INTO rowlock_waiter (ticket, name, mode, owner, host, pid, "
                 "since, alive_until) SELECT n, '%s', 'exclusive', 'owner' || n, 'elsewhere', n, "
                 "0, %s FROM place",
                 n, name, lease_instant(HOUR));
}

/* The instructions of a look behind `n` waiters. */
static long steps_of_a_look(const char *name, int n)
{
    struct rowlock_connection *borrowed;
    struct acquisition us = {.wants = {t_x(name)}, .wait_ms = -1};
    struct thread *thread;
    void *hand = t_native(), *handle;
    long looks, steps;

    borrowed = t_wrap(&handle, &(struct rowlock_options){.interrupt_fd = t_interrupt_fd()});
    queue_up(hand, name, n);
    cost.look = NULL;
    cost.steps = 0;
    atomic_store(&cost.looks, 0);
    sqlite3_progress_handler(handle, STEPS, count_steps, NULL);
    sqlite3_trace_v2(handle, SQLITE_TRACE_STMT | SQLITE_TRACE_PROFILE, count_looks, NULL);
    thread = t_acquire_thread(borrowed, &us);
    t_until(atomic_load(&cost.looks) >= 4);
    t_interrupt();
    t_int(t_join(thread), ROWLOCK_ECANCELED);
    steps = cost.steps * STEPS;
    looks = atomic_load(&cost.looks);
    t_close(borrowed);
    t_native_sql(hand, "DELETE FROM rowlock_waiter");
    print_message("# behind %d: %ld steps of %ld looks\n", n, steps, looks);
    return steps / looks;
}

TEST(p10_a_look_behind_thousands_costs_what_it_costs_behind_hundreds)
{
    struct rowlock_lease *lease = t_granted(t_open(), t_x("crowd"), HOUR);
    long hundreds = steps_of_a_look("crowd", 400), thousands = steps_of_a_look("crowd", 4000);

    t_true(thousands <= 2 * hundreds);
    t_give(lease);
}

/* ---- order ----------------------------------------------------------------------------------- */

#define CROWD 30

/* Most of them look from far behind, and never read the tickets before their own. */
TEST(p7_a_crowd_is_served_in_its_order_and_passes_the_dead)
{
    static struct acquisition waiters[CROWD];
    struct rowlock_lease *lease = t_granted(t_open(), t_x("order"), HOUR);
    struct thread *threads[CROWD];
    static atomic_int turn; /* like the waiters: the threads may outlive a failed test */
    void *hand = t_native();

    t_keep_places(hand, "order", "");
    for (int i = 0; i < CROWD; i++) {
        waiters[i] = (struct acquisition){.wants = {t_x("order")}, .wait_ms = -1, .turn = &turn};
        threads[i] = t_queue_thread(t_open(), &waiters[i], hand, i + 1);
    }
    t_keep_places(hand, "order", NULL);
    /* a waiter before them all was killed */
    t_native_sql(hand,
                 "INSERT INTO rowlock_waiter (ticket, name, mode, owner, host, pid, since, "
                 "alive_until) VALUES (1, 'order', 'exclusive', 'dead', 'elsewhere', 1, 0, 0)");
    t_give(lease);
    for (int i = 0; i < CROWD; i++) {
        t_ok(t_join(threads[i]));
        t_int(waiters[i].order, i + 1);
    }
    t_text(t_all_rows(hand), NO_ROWS);
}

/* ---- a crowd of leases ----------------------------------------------------------------------- */

static int count_commit(void *commits)
{
    ++*(int *)commits;
    return 0;
}

TEST(a_renewal_of_many_leases_is_one_commit)
{
    void *handle;
    struct rowlock_connection *one = t_wrap(&handle, NULL);
    struct rowlock_lease *leases[CROWD];
    int commits = 0;

    t_grant_many(one, leases, CROWD, HOUR);
    sqlite3_commit_hook(handle, count_commit, &commits);
    t_ok(rowlock_renew_all(leases, CROWD, 2 * HOUR, NULL, &t_error));
    sqlite3_commit_hook(handle, NULL, NULL);
    t_int(commits, 1);
    for (int i = 0; i < CROWD; i++)
        t_true(rowlock_remaining(leases[i]) > HOUR);
    t_give_many(leases, CROWD);
}
