/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Jobs: the connection is cut after every message of rowlock_claim and rowlock_finish, one after
 * the other. There are never two runs, and never a lease without its run or a live run without its
 * lease. A finish whose reply was lost can be repeated without harm.
 *
 * Runs on: postgresql mariadb odbc jdbc
 * Quick: first
 */
#include <stdlib.h>
#include <string.h>

#include "lib/cut.h"
#include "lib/grants.h"
#include "lib/jobs.h"

#define MOST_MESSAGES 3000

static const struct cuts every = {.least = 3, .most = MOST_MESSAGES, .stride = 1};
static const struct cuts every_third = {.least = 3, .most = MOST_MESSAGES, .stride = 3};

static int finish(struct rowlock_lease *lease, int status)
{
    return rowlock_finish(lease, &(struct rowlock_result){.exit = status}, &t_error);
}

/* ---- claims ---------------------------------------------------------------------------------- */

/* Claims until no session that was cut off is still at work with the job's name. */
static void claim_again(struct rowlock_connection *one, const struct rowlock_job *job,
                        struct rowlock_claim *answer, struct rowlock_lease **lease)
{
    long long end = t_now() + T_TIMEOUT_MS;

    do
        t_ok(rowlock_claim(one, job, answer, lease, &t_error));
    while (answer->claimed == ROWLOCK_JOB_RUNNING && t_now() < end);
}

/* One claim that is cut. `repeat` is the expected repeat number. */
static void cut_claim(struct rowlock_connection *one, void *hand, struct cuts *cuts,
                      const struct rowlock_job *job, int repeat)
{
    struct rowlock_connection *connection = t_through_proxy();
    struct rowlock_claim answer = {.now_ms = 0};
    struct rowlock_lease *lease = NULL;
    int code, runs = t_job_seen(one, hand, job).runs;

    proxy_arm(t_proxy, PROXY_CUT, cuts->direction, cuts->n);
    code = rowlock_claim(connection, job, &answer, &lease, &t_error);
    cuts->struck = proxy_disarm(t_proxy);
    if (code) { /* possible only where a lost claim leaves nothing */
        t_int(code, ROWLOCK_ECONN);
        t_int(cuts->struck, 1);
        t_int(t_job_seen(one, hand, job).running, 0);
        t_int(t_job_seen(one, hand, job).runs, runs);
    }
    if (code || (cuts->struck && answer.claimed == ROWLOCK_JOB_RUNNING))
        claim_again(one, job, &answer, &lease);
    t_int(answer.claimed, ROWLOCK_JOB_CLAIMED);
    t_int(answer.retry_number, repeat);
    t_int(t_job_runs(one, hand, job), 1);
    t_int(t_job_seen(one, hand, job).runs, runs + 1);
    t_int(t_job_seen(one, hand, job).token, rowlock_token(lease));
    t_ok(finish(lease, 0));
    t_int(t_job_seen(one, hand, job).outcome, ROWLOCK_RUN_DONE);
    rowlock_lease_free(lease);
    t_close_through_proxy(connection);
    t_text(t_all_rows(hand), NO_ROWS);
    t_ok(rowlock_forget_job(one, job->name, &t_error));
}

TEST(p1_cut_after_every_message_of_a_claim)
{
    struct rowlock_job job = t_daily_job(t_name(0));
    struct rowlock_connection *one = t_open();
    struct cuts cuts = every;
    void *hand = t_native();

    t_give(t_granted(one, t_x(t_job_lock(&job)), 0)); /* the name is prepared, in every technique */
    while (t_next_cut_of(&cuts))
        cut_claim(one, hand, &cuts, &job, 0);
}

/* The previous run was lost: the claim sweeps its lease, records the outcome, and repeats its
   due time. */
TEST(p1_cut_after_every_message_of_a_claim_after_a_lost_run)
{
    struct rowlock_job job = t_daily_job(t_name(0));
    struct rowlock_connection *one = t_open();
    struct cuts cuts = every_third;
    void *hand = t_native();

    while (t_next_cut_of(&cuts)) {
        struct rowlock_lease *dead = t_claimed(one, &job);

        t_expire(hand, rowlock_token(dead));
        rowlock_lease_free(dead);
        cut_claim(one, hand, &cuts, &job, 1);
    }
}

/* A lost run that must not be repeated gets its outcome once, whichever replies were lost. */
TEST(p1_cut_after_every_message_that_lays_a_lost_run_to_rest)
{
    struct rowlock_job job = t_daily_job(t_name(0));
    struct rowlock_connection *one = t_open();
    struct cuts cuts = every_third;
    void *hand = t_native();

    job.retry = -1;
    while (t_next_cut_of(&cuts)) {
        struct rowlock_lease *dead = t_claimed(one, &job), *lease = NULL;
        struct rowlock_connection *connection = t_through_proxy();
        struct rowlock_claim answer = {.now_ms = 0};
        int code;

        t_expire(hand, rowlock_token(dead));
        proxy_arm(t_proxy, PROXY_CUT, cuts.direction, cuts.n);
        code = rowlock_claim(connection, &job, &answer, &lease, &t_error);
        cuts.struck = proxy_has_struck(t_proxy);
        t_true(code == 0 || (code == ROWLOCK_ECONN && cuts.struck));
        t_true(lease == NULL);
        if (code || answer.claimed == ROWLOCK_JOB_RUNNING)
            claim_again(one, &job, &answer, &lease);
        t_int(answer.claimed, ROWLOCK_JOB_NOT_DUE);
        t_int(t_job_runs(one, hand, &job), 0);
        t_int(t_job_seen(one, hand, &job).outcome, ROWLOCK_RUN_LOST);
        t_text(t_all_rows(hand), NO_ROWS);
        rowlock_lease_free(dead);
        t_close_through_proxy(connection);
        t_ok(rowlock_forget_job(one, job.name, &t_error));
    }
}

/* ---- finishes -------------------------------------------------------------------------------- */

/* With `at_least_ms` the name stays held, so the lease still exists when the run is finished
   again. */
static void cut_finishes(int64_t at_least_ms)
{
    struct rowlock_job job = t_daily_job(t_name(0));
    struct rowlock_connection *one = t_open();
    struct cuts cuts = {.least = 2, .most = MOST_MESSAGES, .stride = 1};
    void *hand = t_native();

    job.at_least_ms = at_least_ms;
    while (t_next_cut_of(&cuts)) {
        struct rowlock_connection *connection = t_through_proxy();
        struct rowlock_lease *lease = t_claimed(connection, &job);
        struct job_seen seen;
        int code;

        proxy_arm(t_proxy, PROXY_CUT, cuts.direction, cuts.n);
        code = finish(lease, 3);
        cuts.struck = proxy_has_struck(t_proxy);
        /* it is finished, whether the first or the second try was answered: never "lost" */
        t_true(code == 0 || (code == ROWLOCK_ECONN && cuts.struck));
        proxy_arm(t_proxy, PROXY_NONE, cuts.direction, 0);
        if (code)
            t_ok(finish(lease, 3));
        seen = t_job_seen(one, hand, &job);
        t_int(seen.runs, 1);
        t_int(seen.token, 0);
        t_int(seen.outcome, ROWLOCK_RUN_FAILED);
        t_int(seen.exit, 3);
        t_int(seen.leases, at_least_ms > 0);
        t_ok(rowlock_break(one, t_job_lock(&job), 0, 1, NULL, &t_error));
        rowlock_lease_free(lease);
        t_close_through_proxy(connection);
        t_text(t_all_rows(hand), NO_ROWS);
        t_ok(rowlock_forget_job(one, job.name, &t_error));
    }
}

TEST(p5_cut_after_every_message_of_a_finish)
{
    cut_finishes(0);
    cut_finishes(HOUR);
}

/* The reply is lost, and the database is unreachable for the rest of the call. The next call
   finds the run finished; by then another node may be running the job. */
static int finishes_unheard(enum proxy_direction direction)
{
    struct rowlock_job job = t_daily_job(t_name(0));
    struct rowlock_connection *one = t_open();
    void *hand = t_native();
    int done_unheard = 0, sessions;

    job.retry = 1;
    job.backoff_ms = 1;
    t_job_seen(one, hand, &job);
    sessions = t_sessions();
    for (int n = 0, struck = 1; struck && n < MOST_MESSAGES; n++) {
        struct rowlock_connection *connection = t_through_proxy();
        struct rowlock_lease *lease = t_claimed(connection, &job), *next = NULL;
        int code, unheard;

        proxy_arm(t_proxy, PROXY_DOWN, direction, n);
        code = finish(lease, 3);
        struck = proxy_has_struck(t_proxy);
        t_true(code == 0 || (struck && code == ROWLOCK_ECONN));
        if (code)
            t_until_sessions(sessions); /* the session that was cut off has done its work */
        proxy_arm(t_proxy, PROXY_NONE, direction, 0);
        unheard = code && !t_job_runs(one, hand, &job);
        if (unheard) {
            t_pause(5); /* the backoff */
            next = t_claimed(one, &job);
        }
        t_ok(finish(lease, 3));
        if (unheard) {
            t_int(t_job_runs(one, hand, &job), 1);
            t_ok(finish(next, 0));
            rowlock_lease_free(next);
        }
        t_int(t_job_runs(one, hand, &job), 0);
        done_unheard += unheard;
        rowlock_lease_free(lease);
        t_close_through_proxy(connection);
        t_ok(rowlock_forget_job(one, job.name, &t_error));
    }
    return done_unheard;
}

TEST(p5_a_finish_repeated_after_a_lost_reply_does_no_harm)
{
    int sent = finishes_unheard(PROXY_TO_SERVER), got = finishes_unheard(PROXY_TO_CLIENT);

    t_true(sent + got > 0); /* the reply to COMMIT may be a single message */
}

/* A finish that never arrived, and is repeated after another node has recorded the run as lost,
   reports the loss. */
TEST(p5_a_finish_that_comes_too_late_says_so)
{
    struct rowlock_job job = t_daily_job(t_name(0));
    struct rowlock_connection *one = t_open(), *connection = t_through_proxy();
    struct rowlock_lease *lease = t_claimed(connection, &job), *next;
    void *hand = t_native();

    proxy_arm(t_proxy, PROXY_DOWN, PROXY_TO_SERVER, 0);
    t_fails(finish(lease, 0), ECONN);
    t_int(t_job_runs(one, hand, &job), 1);
    t_expire(hand, rowlock_token(lease));
    next = t_claimed(one, &job);
    proxy_arm(t_proxy, PROXY_NONE, PROXY_TO_SERVER, 0);
    t_fails(finish(lease, 0), ELOST);
    t_fails(finish(lease, 0), ELOST);
    t_int(t_job_runs(one, hand, &job), 1);
    t_int(t_job_seen(one, hand, &job).token, rowlock_token(next));
    t_ok(finish(next, 0));
    rowlock_lease_free(lease);
    rowlock_lease_free(next);
    t_close_through_proxy(connection);
}
