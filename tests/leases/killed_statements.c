/* SPDX-License-Identifier: Apache-2.0 */
/*
 * P5: an operator cancels statements (KILL QUERY, pg_cancel_backend) while the end of a run, of a
 * refresh, of a lease or of a wait is recorded. The end is still recorded, and once. The technique
 * has no influence on this.
 *
 * Runs on: postgresql mariadb postgresql/odbc
 * Quick: first
 */
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "lib/grants.h"
#include "lib/lease.h"
#include "lib/jobs.h"
#include "lib/subject.h"

#define MOMENTS t_effort(15, 30) /* cancellations of each kind of end */
#define PLACES 400               /* the cancel comes within this many microseconds */

static void cancel_text(char *out, size_t size, long session)
{
    snprintf(out, size, t_is_postgresql() ? "SELECT pg_cancel_backend(%ld)" : "KILL QUERY %ld",
             session);
}

/* ---- the operator, in a process of its own --------------------------------------------------- */

static struct aim {
    atomic_long session; /* 0: none */
    atomic_int after_us, shots, stop;
} * aim;

static int shoot(const void *data, int to)
{
    char text[80], answer[80];
    void *hand = t_engine()->open(t_url());

    (void)data;
    (void)to;
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* if the test fails, the operator must not survive it */
    while (!atomic_load(&aim->stop)) {
        long session = atomic_load(&aim->session);

        if (session == 0) {
            usleep(50);
            continue;
        }
        usleep((useconds_t)atomic_load(&aim->after_us));
        cancel_text(text, sizeof text, session);
        t_engine()->sql(hand, text, answer, sizeof answer);
        atomic_fetch_add(&aim->shots, 1);
        atomic_compare_exchange_strong(&aim->session, &session, 0);
    }
    t_engine()->close(hand);
    return 0;
}

static struct child operator(void)
{
    aim = t_shared(sizeof *aim);
    t_install();
    t_forget_leases(t_native());
    return t_child(shoot, NULL);
}

static void dismiss(struct child *child)
{
    print_message("# %d statements were cancelled\n", atomic_load(&aim->shots));
    t_true(atomic_load(&aim->shots) >= MOMENTS);
    atomic_store(&aim->stop, 1);
    t_int(t_await_child(child), 0);
}

static struct rowlock_connection *one; /* no statement of it is cancelled */

/* Calls it once for each moment. */
static void at_each_moment(void (*cancelled)(void *hand, int i))
{
    struct child child = operator();
    void *hand = t_native();

    one = t_open();
    for (int i = 0; i < MOMENTS; i++)
        cancelled(hand, i);
    dismiss(&child);
}

/* Schedules one cancel, the `i`-th of many delays from now. */
static void provoke(struct rowlock_connection *connection, int i)
{
    atomic_store(&aim->after_us, i * 37 % PLACES);
    atomic_store(&aim->session, t_engine()->session(t_handle(connection)));
}

/* Waits until the cancel has been sent, so that it does not hit the next statement. */
static int after_the_shot(int code)
{
    while (atomic_load(&aim->session) != 0)
        usleep(50);
    return code;
}

/* The code of a call, during which the `i`-th cancel may come. */
#define CANCELLED(connection, i, call) (provoke(connection, i), after_the_shot(call))

static struct rowlock_connection *fresh(void)
{
    struct rowlock_connection *connection = t_open();

    /* makes the connection check the schema */
    t_ok(rowlock_break(connection, "never held", 0, 0, NULL, &t_error));
    return connection;
}

/* Of the subject t_name(0). */
static const char *subject_says(void *hand, const char *column)
{
    return t_native_sql(hand, "SELECT %s FROM %s WHERE name = '%s'", column, t_table("subject"),
                        t_key(t_name(0)));
}

/* On a busy machine a claim can come so late that another node holds the name. */
static struct rowlock_lease *claimed(struct rowlock_connection *connection,
                                     const struct rowlock_job *job)
{
    struct rowlock_claim claim = {.now_ms = 0};
    struct rowlock_lease *lease = NULL;
    long long end = t_now() + 60000;

    do
        t_ok(rowlock_claim(connection, job, &claim, &lease, &t_error));
    while (!lease && t_now() < end);
    t_int(claim.claimed, ROWLOCK_JOB_CLAIMED);
    return lease;
}

/* ---- cancelled at many points ---------------------------------------------------------------- */

static void cancel_finish(void *hand, int i)
{
    struct rowlock_job job = t_daily_job(t_name(0));
    struct rowlock_connection *connection = fresh();
    struct rowlock_lease *lease = claimed(connection, &job);
    struct job_seen seen;

    t_ok(CANCELLED(connection, i,
                   rowlock_finish(lease, &(struct rowlock_result){.exit = i % 2 * 3}, &t_error)));
    seen = t_job_seen(one, hand, &job);
    t_int(seen.runs, 1);
    t_int(seen.running, 0);
    t_int(seen.token, 0);
    t_int(seen.outcome, i % 2 ? ROWLOCK_RUN_FAILED : ROWLOCK_RUN_DONE);
    rowlock_lease_free(lease);
    t_close(connection);
    t_text(t_all_rows(hand), NO_ROWS);
    t_ok(rowlock_forget_job(one, job.name, &t_error));
}

TEST(p5_a_finish_that_is_cancelled_at_any_moment_is_recorded)
{
    at_each_moment(cancel_finish);
}

/* A lost run that is not repeated gets its outcome. */
static void cancel_settling(void *hand, int i)
{
    struct rowlock_job job = t_daily_job(t_name(0));
    struct rowlock_connection *connection = fresh();
    struct rowlock_claim claim = {.now_ms = 0};
    struct rowlock_lease *dead = claimed(one, &job), *lease = NULL;

    job.retry = -1;
    t_expire(hand, rowlock_token(dead));
    rowlock_lease_free(dead);
    t_ok(CANCELLED(connection, i * 3, rowlock_claim(connection, &job, &claim, &lease, &t_error)));
    t_true(lease == NULL);
    t_int(t_job_seen(one, hand, &job).outcome, ROWLOCK_RUN_LOST);
    t_text(t_all_rows(hand), NO_ROWS);
    t_close(connection);
    t_ok(rowlock_forget_job(one, job.name, &t_error));
}

TEST(p5_a_lost_run_is_settled_though_that_is_cancelled)
{
    at_each_moment(cancel_settling);
}

static void cancel_release(void *hand, int i)
{
    struct rowlock_connection *connection = fresh();
    struct rowlock_lease *lease = t_granted(connection, t_x(t_name(0)), 0);

    t_ok(CANCELLED(connection, i, rowlock_release(lease, &t_error)));
    t_text(t_all_rows(hand), NO_ROWS);
    rowlock_lease_free(lease);
    t_close(connection);
}

TEST(p5_a_release_that_is_cancelled_at_any_moment_is_done)
{
    at_each_moment(cancel_release);
}

static void cancel_refresh(void *hand, int i)
{
    struct rowlock_connection *connection = fresh();
    struct rowlock_subject subject = subject_here();
    struct rowlock_terms terms = {.wait_ms = -1};
    struct rowlock_refresh refresh;
    struct rowlock_lease *lease = NULL;
    struct rowlock_result failure = {.exit = 3};

    subject.max_age_ms = 0;
    t_ok(rowlock_refresh_acquire(connection, &subject, &terms, &refresh, &lease, &t_error));
    t_ok(CANCELLED(connection, i,
                   rowlock_refresh_release(lease, i % 2 ? &failure : NULL, &t_error)));
    t_text(subject_says(hand, "status"), i % 2 ? "ERROR" : "COMPLETE");
    t_text(t_all_rows(hand), NO_ROWS);
    rowlock_lease_free(lease);
    t_close(connection);
}

TEST(p5_the_result_of_a_refresh_is_recorded_though_that_is_cancelled)
{
    at_each_moment(cancel_refresh);
}

/* In a transaction: it is rolled back, and the subject records why. */
static void cancel_refresh_failed(void *hand, int i)
{
    struct rowlock_connection *connection = fresh();
    struct rowlock_subject subject = subject_here();
    struct rowlock_refresh refresh;

    subject.max_age_ms = 0;
    t_ok(rowlock_refresh_begin(connection, &subject, -1, &refresh, &t_error));
    t_ok(CANCELLED(connection, i,
                   rowlock_refresh_failed(connection, &refresh, "no source", &t_error)));
    t_text(subject_says(hand, "status"), "ERROR");
    t_text(subject_says(hand, t_facts()->plain ? "error_text" : "error"), "no source");
    t_close(connection);
}

TEST(p5_the_error_of_a_refresh_is_recorded_though_that_is_cancelled)
{
    at_each_moment(cancel_refresh_failed);
}

/* A waiter that gives up leaves no ticket that would block others while its session lives. */
static void cancel_withdrawal(void *hand, int i)
{
    struct rowlock_connection *connection = fresh();
    struct rowlock_lease *held = t_granted(one, t_x(t_name(0)), 0), *lease = NULL;
    int code;

    code = CANCELLED(connection, i * 11, t_acquire(connection, t_x(t_name(0)), 0, 1, &lease));
    t_true(code == ROWLOCK_ETIMEDOUT || code == ROWLOCK_ECANCELED || code == ROWLOCK_EBUSY);
    t_int(waiters_of(hand, t_name(0)), 0);
    t_give(held);
    t_close(connection);
}

TEST(p6_a_waiter_that_gives_up_leaves_no_ticket_though_that_is_cancelled)
{
    at_each_moment(cancel_withdrawal);
}

/* ---- cancelled repeatedly -------------------------------------------------------------------- */

static int finish_it(struct rowlock_connection *connection, void *lease,
                     struct rowlock_error *error)
{
    (void)connection;
    return rowlock_finish(lease, &(struct rowlock_result){.exit = 0}, error);
}

/* The finish waits for a row, so that each cancel hits the finish. */
TEST(p5_a_finish_that_is_cancelled_again_and_again_is_recorded_once)
{
    struct rowlock_job job = t_daily_job(t_name(0));
    struct rowlock_connection *connection = t_open();
    void *hand = t_native(), *locker = t_native();
    struct rowlock_lease *lease;
    struct thread *thread;
    char text[80];

    one = t_open();
    t_forget_leases(hand);
    lease = claimed(connection, &job);
    cancel_text(text, sizeof text, t_engine()->session(t_handle(connection)));
    t_native_sql(locker, "BEGIN");
    t_native_sql(locker, "SELECT count(*) FROM (SELECT token FROM %s FOR UPDATE) locked",
                 t_table("run"));
    thread = t_thread(connection, finish_it, lease);
    for (int i = 0; i < 5; i++) {
        t_until_waiting(thread);
        t_native_sql(hand, "%s", text);
    }
    t_until_waiting(thread);
    t_native_sql(locker, "ROLLBACK");
    t_ok(t_join(thread));
    t_int(t_job_seen(one, hand, &job).runs, 1);
    t_int(t_job_seen(one, hand, &job).outcome, ROWLOCK_RUN_DONE);
    t_ok(rowlock_finish(lease, &(struct rowlock_result){.exit = 0}, &t_error)); /* a no-op */
    t_int(t_job_seen(one, hand, &job).outcome, ROWLOCK_RUN_DONE);
    rowlock_lease_free(lease);
    t_text(t_all_rows(hand), NO_ROWS);
}
