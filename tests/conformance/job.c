/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Jobs on every engine and technique: one node claims each run that is due, and the database
 * records how it ended.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "lib/grants.h"
#include "lib/jobs.h"
#include "lib/lease.h"
#include "lib/test.h"

#define NODES 8

static struct rowlock_schedule *schedule;

static struct rowlock_job job_of(const char *text)
{
    rowlock_schedule_close(schedule);
    schedule = NULL;
    t_ok(rowlock_schedule_open(text, NULL, &schedule, NULL, &t_error));
    return (struct rowlock_job){.name = t_name(0), .schedule = schedule, .ttl_ms = HOUR};
}

static int64_t refused(struct rowlock_connection *connection, const struct rowlock_job *job,
                       enum rowlock_claimed why)
{
    struct rowlock_lease *lease;
    struct rowlock_claim answer = t_claim(connection, job, &lease);

    t_int(answer.claimed, why);
    return answer.next_ms - answer.now_ms;
}

/* The node has died, and the run's lease has expired. */
static void die(struct rowlock_connection *connection, struct rowlock_lease *lease)
{
    t_expire(t_handle(connection), rowlock_token(lease));
}

struct seen {
    struct rowlock_job_view job;
    struct rowlock_run run[8];
    int jobs, runs;
    char schedule[100], output[3000], node[300];
};

static int see_job(const struct rowlock_job_view *job, void *data)
{
    struct seen *seen = data;

    seen->job = *job;
    snprintf(seen->schedule, sizeof seen->schedule, "%s", job->schedule);
    snprintf(seen->output, sizeof seen->output, "%s", job->last.output);
    snprintf(seen->node, sizeof seen->node, "%s", job->running.node);
    seen->jobs++;
    return 0;
}

static int see_run(const struct rowlock_run *run, void *data)
{
    struct seen *seen = data;

    if (seen->runs < 8)
        seen->run[seen->runs++] = *run;
    return 0;
}

static struct seen look(struct rowlock_connection *connection, const struct rowlock_job *job)
{
    struct seen seen = {.jobs = 0};

    t_ok(rowlock_jobs(connection, job->name, see_job, &seen, &t_error));
    t_ok(rowlock_runs(connection, job->name, see_run, &seen, &t_error));
    return seen;
}

/* The counts of the job's ended runs, without those that are 0: "done 2, lost 1". */
static const char *counts(struct rowlock_connection *connection, const struct rowlock_job *job)
{
    static char text[200];
    struct seen seen = look(connection, job);
    size_t length = 0;

    text[0] = '\0';
    for (int i = 0; i <= ROWLOCK_RUN_NOTSTARTED; i++)
        if (seen.job.ended[i])
            length += (size_t)snprintf(
                text + length, sizeof text - length, "%s%s %lld", length ? ", " : "",
                rowlock_outcome_text((enum rowlock_run_outcome)i), (long long)seen.job.ended[i]);
    t_int(seen.job.succeeded_ms != 0, seen.job.ended[ROWLOCK_RUN_DONE] != 0);
    return text;
}

/* ---- claims ---------------------------------------------------------------------------------- */

TEST(a_period_never_seen_is_due_at_once_and_then_at_its_next_instant)
{
    struct rowlock_connection *one = t_open();
    struct rowlock_job job = job_of("every 1d");
    struct rowlock_lease *lease;
    struct rowlock_claim first = t_claim(one, &job, &lease);
    int64_t left;

    t_int(first.claimed, ROWLOCK_JOB_CLAIMED);
    t_int(first.due_ms % (24 * HOUR), 0);
    t_true(first.due_ms <= first.now_ms && first.now_ms - first.due_ms < 24 * HOUR);
    t_int(first.next_ms, first.due_ms + 24 * HOUR);
    t_finish(lease, 0, NULL);
    left = refused(one, &job, ROWLOCK_JOB_NOT_DUE);
    t_true(left > 0 && left <= 24 * HOUR);
}

/* The database's clock was hours ahead, and is right again: a due time planned by the wrong
   clock delays no run. */
TEST(a_job_planned_by_a_clock_that_was_hours_ahead_is_planned_again)
{
    struct rowlock_job job = job_of("every 5m");
    struct rowlock_connection *one = t_open();

    t_finish(t_claimed(one, &job), 0, NULL);
    t_sql(one, "UPDATE %s SET due = due + 3 * 3600000, %s = %s + 3 * 3600000 WHERE name = '%s'",
          t_table("job"), t_last_due(), t_last_due(), t_key(job.name));
    t_true(refused(one, &job, ROWLOCK_JOB_NOT_DUE) <= 300000);
    /* the claim has written the new plan */
    t_true(refused(one, &job, ROWLOCK_JOB_NOT_DUE) <= 300000);
}

TEST(while_one_runs_it_others_get_running)
{
    struct rowlock_connection *one = t_open(), *two = t_open();
    struct rowlock_job job = job_of("every 1s");
    struct rowlock_lease *lease = t_claimed(one, &job);
    int64_t left = refused(two, &job, ROWLOCK_JOB_RUNNING);

    t_true(left > 0 && left <= HOUR);
    t_finish(lease, 0, NULL);
}

static int claim_once(struct rowlock_connection *connection, void *data,
                      struct rowlock_error *error)
{
    struct rowlock_claim answer;
    struct rowlock_lease *lease = NULL;
    int code = rowlock_claim(connection, data, &answer, &lease, error);

    rowlock_lease_free(lease);
    return code ? code : answer.claimed == ROWLOCK_JOB_CLAIMED;
}

TEST(p1_of_nodes_that_wake_together_one_runs_it)
{
    struct rowlock_job job = job_of("every 50w");
    struct rowlock_connection *node[NODES];
    struct thread *thread[NODES];
    int runs = 0;

    for (int i = 0; i < NODES; i++)
        node[i] = t_open();
    for (int i = 0; i < NODES; i++)
        thread[i] = t_thread(node[i], claim_once, &job);
    for (int i = 0; i < NODES; i++) {
        int code = t_join(thread[i]);

        t_true(code == 0 || code == 1);
        runs += code == 1;
    }
    t_int(runs, 1);
    t_int(look(node[0], &job).runs, 1);
}

TEST(a_hold_on_its_name_prevents_it)
{
    struct rowlock_connection *one = t_open(), *two = t_open();
    struct rowlock_job job = job_of("every 50w");
    struct rowlock_lease *hold = t_granted(two, t_x(t_job_lock(&job)), HOUR);

    refused(one, &job, ROWLOCK_JOB_RUNNING);
    t_give(hold);
    t_finish(t_claimed(one, &job), 0, NULL);
}

TEST(a_transaction_that_holds_its_name_keeps_it_away)
{
    struct rowlock_connection *one = t_open(), *two = t_open();
    struct rowlock_job job = job_of("every 50w");

    t_ok(t_begin(two, t_x(t_job_lock(&job)), -1));
    t_true(refused(one, &job, ROWLOCK_JOB_RUNNING) <= 5000);
    t_int(look(one, &job).runs, 0);
    t_ok(rowlock_rollback(two, &t_error));
    t_finish(t_claimed(one, &job), 0, NULL);
}

TEST(another_schedule_takes_effect_by_being_asked_for)
{
    struct rowlock_connection *one = t_open();
    struct rowlock_job job = job_of("0 0 1 1 *");
    struct rowlock_job other;
    int64_t far = refused(one, &job, ROWLOCK_JOB_NOT_DUE);

    other = job_of("every 13d"); /* an hour may end while this test runs */
    t_text(look(one, &other).schedule, "cron 0 0 1 1 * UTC");
    t_true(refused(one, &other, ROWLOCK_JOB_NOT_DUE) <= 312LL * HOUR || far <= 312LL * HOUR);
    t_text(look(one, &other).schedule, "every 1w6d");
}

TEST(what_cannot_be_right_is_refused)
{
    struct rowlock_connection *one = t_open();
    struct rowlock_job job = job_of("every 1h");
    struct rowlock_claim answer;
    struct rowlock_lease *lease = NULL;
    char name[300];

    memset(name, 'n', sizeof name);
    name[252] = '\0';
    job.name = name;
    t_fails(rowlock_claim(one, &job, &answer, &lease, &t_error), EINVAL);
    name[251] = '\0';
    t_finish(t_claimed(one, &job), 0, NULL);
    job.name = "";
    t_fails(rowlock_claim(one, &job, &answer, &lease, &t_error), EINVAL);
    job.name = "a";
    job.early_ms = 30001;
    t_fails(rowlock_claim(one, &job, &answer, &lease, &t_error), EINVAL);
    job.early_ms = 0;
    job.schedule = NULL;
    t_fails(rowlock_claim(one, &job, &answer, &lease, &t_error), EINVAL);
}

TEST(a_call_that_comes_early_is_to_wait_and_holds_nothing)
{
    struct rowlock_connection *one = t_open();
    struct rowlock_job job = job_of("0 0 1 1 *");
    int64_t left;

    refused(one, &job, ROWLOCK_JOB_NOT_DUE);
    job.early_ms = 30000;
    t_job_is_due_in(one, job.name, 20000);
    left = refused(one, &job, ROWLOCK_JOB_EARLY);
    t_true(left > 0 && left <= 20000);
    t_int(t_engine()->in_transaction(t_handle(one)), 0);
    t_true(t_is_free(t_x(t_job_lock(&job))));
    t_int(look(one, &job).runs, 0);
    t_job_is_due_in(one, job.name, 40000);
    refused(one, &job, ROWLOCK_JOB_NOT_DUE);
    job.early_ms = 0; /* 0 as in the cron daemon */
    t_job_is_due_in(one, job.name, 20000);
    left = refused(one, &job, ROWLOCK_JOB_NOT_DUE);
    t_true(left > 0 && left <= 20000);
    t_job_is_due_in(one, job.name, 0);
    t_finish(t_claimed(one, &job), 0, NULL);
}

/* As after a step of the clock between the look and the claim: the claim's own transaction looks
   again. */
TEST(the_database_refuses_a_claim_before_its_due_time)
{
    static const struct {
        const char *engine, *claim;
    } words[] = {
        {"postgresql", "SELECT rowlock.claim_job('%s', %lld, 1, 'cron 0 0 1 1 * UTC', "
                       "floor(extract(epoch FROM clock_timestamp())::numeric * 1000)::bigint "
                       "+ (%lld), 9, 0, 0, 'lost', 'node', 1, 0, 1)"},
        {"mariadb",
         "CALL rowlock_claim_job('%s', %lld, 1, 'cron 0 0 1 1 * UTC', TIMESTAMPDIFF("
         "MICROSECOND, '1970-01-01', utc_timestamp(6)) DIV 1000 + (%lld), 9, 0, 0, 'lost', "
         "'node', 1, 0, 1)"},
    };
    struct rowlock_connection *one = t_open();
    struct rowlock_job job = job_of("0 0 1 1 *");

    if (t_facts()->plain)
        t_not_here(WHY_FUNCTION);
    refused(one, &job, ROWLOCK_JOB_NOT_DUE);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(words[i].engine, t_facts()->engine) == 0) {
            t_text(t_sql(one, words[i].claim, job.name, 7000000LL, 60000LL), "0");
            t_int(look(one, &job).runs, 0);
            t_text(t_sql(one, words[i].claim, job.name, 7000000LL, 0LL), "1");
            t_int(look(one, &job).runs, 1);
        }
}

/* ---- how a run ends -------------------------------------------------------------------------- */

TEST(what_became_of_it_is_known)
{
    struct rowlock_connection *one = t_open();
    struct rowlock_job job = job_of("every 50w");
    struct rowlock_lease *lease = t_claimed(one, &job);
    struct seen seen = look(one, &job);

    t_int(seen.job.running.token, rowlock_token(lease));
    t_int(seen.job.running.outcome, ROWLOCK_RUN_RUNNING);
    t_int(seen.job.running.pid, getpid());
    t_true(seen.node[0] != '\0');
    t_int(seen.job.last.token, 0);
    t_finish(lease, 3, "could not; \xc3\xa4rgerlich\n");
    seen = look(one, &job);
    t_int(seen.job.running.token, 0);
    t_int(seen.job.last.outcome, ROWLOCK_RUN_FAILED);
    t_int(seen.job.last.exit, 3);
    t_text(seen.output, "could not; \xc3\xa4rgerlich\n");
    t_true(seen.job.last.finished_ms >= seen.job.last.started_ms);
    t_int(seen.job.failed_since_ms, seen.job.last.started_ms);
    t_int(seen.job.runs, 0);
    t_true(t_is_free(t_x(t_job_lock(&job))));
}

TEST(the_last_bytes_of_the_output_are_kept_from_the_start_of_a_character)
{
    struct rowlock_connection *one = t_open();
    struct rowlock_job job = job_of("every 50w");
    struct rowlock_lease *lease = t_claimed(one, &job);
    char output[3002];

    for (int i = 0; i < 3000; i += 2)
        memcpy(output + i, "\xc3\xa4", 2);
    strcpy(output + 3000, "!");
    t_finish(lease, 0, output);
    t_int((long long)strlen(look(one, &job).output), 2047);
}

TEST(bytes_that_are_not_utf8_do_not_keep_a_run_from_being_recorded)
{
    struct rowlock_connection *one = t_open();
    struct rowlock_job job = job_of("every 50w");
    struct rowlock_lease *lease = t_claimed(one, &job);

    t_finish(lease, 3, "a\xff \xe2\x9c \xc3\xa4\xed\xa0\x80");
    t_text(look(one, &job).output, "a? ?? \xc3\xa4???");
    t_int(look(one, &job).job.last.exit, 3);
    t_true(t_is_free(t_x(t_job_lock(&job))));
}

TEST(a_lost_run_is_recorded_and_repeated_once)
{
    struct rowlock_connection *one = t_open(), *two = t_open();
    struct rowlock_job job = job_of("every 50w");
    struct rowlock_lease *first = t_claimed(one, &job), *second, *third;
    struct rowlock_claim answer;

    die(two, first);
    t_int(look(two, &job).job.running.outcome, ROWLOCK_RUN_LOST);
    answer = t_claim(two, &job, &second);
    t_int(answer.claimed, ROWLOCK_JOB_CLAIMED);
    t_int(answer.lost, rowlock_token(first));
    t_int(answer.retry_number, 1);
    t_int(look(two, &job).run[1].outcome, ROWLOCK_RUN_LOST);
    die(one, second);
    refused(one, &job, ROWLOCK_JOB_NOT_DUE); /* a run that was lost twice is not repeated again */
    t_int(look(two, &job).job.running.token, 0);
    t_int(look(two, &job).job.last.outcome, ROWLOCK_RUN_LOST);
    third = NULL;
    t_int(t_claim(one, &job, &third).claimed, ROWLOCK_JOB_NOT_DUE);
    rowlock_lease_free(first);
    rowlock_lease_free(second);
}

static void finish_as(struct rowlock_lease *lease, enum rowlock_run_outcome outcome)
{
    t_ok(rowlock_finish(lease, &(struct rowlock_result){.outcome = outcome, .output = "why"},
                        &t_error));
}

/* The exit status is 0, which alone would mean done. */
TEST(a_run_that_its_own_node_reports_as_lost_is_repeated_once)
{
    struct rowlock_connection *one = t_open(), *two = t_open();
    struct rowlock_job job = job_of("every 50w");
    struct rowlock_lease *first, *second;
    struct rowlock_claim answer;
    struct seen seen;

    job.at_least_ms = HOUR; /* the minimum hold is for runs that end by themselves */
    first = t_claimed(one, &job);
    finish_as(first, ROWLOCK_RUN_LOST);
    t_true(t_is_free(t_x(t_job_lock(&job))));
    seen = look(two, &job);
    t_int(seen.job.running.outcome, ROWLOCK_RUN_LOST);
    t_int(seen.run[0].outcome, ROWLOCK_RUN_LOST);
    t_true(seen.job.running.finished_ms > 0);
    answer = t_claim(two, &job, &second);
    t_int(answer.claimed, ROWLOCK_JOB_CLAIMED);
    t_int(answer.lost, rowlock_token(first));
    t_int(answer.retry_number, 1);
    finish_as(second, ROWLOCK_RUN_LOST);
    refused(one, &job, ROWLOCK_JOB_NOT_DUE);
    seen = look(two, &job);
    t_int(seen.job.last.outcome, ROWLOCK_RUN_LOST);
    t_text(seen.output, "why");
    t_int(seen.job.runs, 0);
    t_text(counts(two, &job), "lost 2");
    rowlock_lease_free(first);
    rowlock_lease_free(second);
}

TEST(a_run_that_was_not_started_is_no_try_and_is_claimed_again)
{
    struct rowlock_connection *one = t_open(), *two = t_open();
    struct rowlock_job job = job_of("every 50w");
    struct rowlock_lease *lease;
    struct rowlock_claim first, answer;
    struct seen seen;
    int64_t left;

    job.retry = -1;
    first = t_claim(one, &job, &lease);
    for (int i = 0; i < 3; i++) {
        finish_as(lease, ROWLOCK_RUN_NOTSTARTED);
        rowlock_lease_free(lease);
        seen = look(two, &job);
        t_int(seen.job.running.outcome, ROWLOCK_RUN_NOTSTARTED);
        t_int(seen.run[0].outcome, ROWLOCK_RUN_NOTSTARTED);
        t_true(seen.job.failed_since_ms > 0);
        job.backoff_ms = HOUR;
        left = refused(two, &job, ROWLOCK_JOB_NOT_DUE);
        t_true(left > 0 && left <= HOUR);
        job.backoff_ms = 1;
        do
            answer = t_claim(two, &job, &lease);
        while (!lease);
        t_int(answer.due_ms, first.due_ms);
        t_int(answer.retry_number, 0);
        t_int(answer.lost, 0);
    }
    t_finish(lease, 0, NULL);
    seen = look(one, &job);
    t_int(seen.run[0].outcome, ROWLOCK_RUN_DONE);
    t_int(seen.run[1].outcome, ROWLOCK_RUN_NOTSTARTED);
    t_int(seen.job.runs, 1);
    t_int(seen.job.failed_since_ms, 0);
    refused(two, &job, ROWLOCK_JOB_NOT_DUE);
}

/* Only due times without any claim are skipped as missed. */
TEST(a_run_that_was_not_started_is_claimed_again_though_a_later_instant_is_skipped)
{
    struct rowlock_connection *one = t_open();
    const long long period_ms = 50LL * 7 * 24 * HOUR;
    struct rowlock_job job = job_of("every 50w");
    struct rowlock_lease *lease;
    struct rowlock_claim first, answer;

    job.missed = ROWLOCK_MISSED_SKIP;
    job.retry = 5;
    job.backoff_ms = 1;
    first = t_claim(one, &job, &lease);
    t_true(lease != NULL);
    finish_as(lease, ROWLOCK_RUN_NOTSTARTED);
    rowlock_lease_free(lease);
    /* a period passes without a claim of the next due time */
    t_sql(one, "UPDATE %s SET due = due - %lld, %s = %s - %lld", t_table("job"), period_ms,
          t_last_due(), t_last_due(), period_ms);
    do
        answer = t_claim(one, &job, &lease);
    while (!lease);
    t_int(answer.due_ms, first.due_ms - period_ms);
    t_int(answer.retry_number, 0);
    t_finish(lease, 0, NULL);
}

/* As after a lost reply, and after the lease had expired. */
TEST(what_was_not_started_or_lost_stays_so_when_it_is_reported_again)
{
    struct rowlock_connection *one = t_open(), *two = t_open();
    enum rowlock_run_outcome reported[] = {ROWLOCK_RUN_LOST, ROWLOCK_RUN_NOTSTARTED,
                                           ROWLOCK_RUN_NOTSTARTED};

    for (int i = 0; i < 3; i++) {
        struct rowlock_job job = job_of("every 50w");
        struct rowlock_lease *lease, *again = NULL;

        job.name = t_name(i);
        lease = t_claimed(one, &job);
        t_ok(rowlock_adopt(two, t_job_lock(&job), rowlock_token(lease), &again, &t_error));
        if (i == 2) {
            die(two, lease);
            t_ok(rowlock_vacuum(two, NULL, &t_error));
        }
        finish_as(lease, reported[i]);
        finish_as(again, reported[i]);
        t_int(look(two, &job).job.running.outcome, reported[i]);
        rowlock_lease_free(lease);
        rowlock_lease_free(again);
        job.backoff_ms = 1;
        do
            t_claim(two, &job, &lease);
        while (!lease);
        t_finish(lease, 0, NULL);
        t_int(look(two, &job).run[1].outcome, reported[i]);
        t_text(counts(two, &job), i == 0 ? "done 1, lost 1" : "done 1, not started 1");
    }
}

/* The node has yet to learn of the break, or its lease had expired before. */
TEST(a_broken_run_is_broken_whatever_its_node_reports)
{
    struct rowlock_connection *one = t_open(), *two = t_open();
    const struct rowlock_result reported[] = {{.outcome = ROWLOCK_RUN_LOST},
                                              {.outcome = ROWLOCK_RUN_NOTSTARTED},
                                              {.outcome = ROWLOCK_RUN_TIMEDOUT},
                                              {.exit = 143},
                                              {.exit = 0}};

    for (int i = 0; i < 5; i++) {
        struct rowlock_job job = job_of("every 50w");
        struct rowlock_lease *lease;

        job.name = t_name(i);
        job.retry = 3;
        lease = t_claimed(one, &job);
        if (i == 4)
            die(two, lease);
        t_ok(rowlock_break(two, t_job_lock(&job), 0, 0, NULL, &t_error));
        if (i == 3)
            refused(two, &job, ROWLOCK_JOB_RUNNING);
        t_fails(rowlock_finish(lease, &reported[i], &t_error), ELOST);
        rowlock_lease_free(lease);
        t_int(look(two, &job).job.last.outcome, ROWLOCK_RUN_BROKEN);
        refused(two, &job, ROWLOCK_JOB_NOT_DUE);
        t_true(t_is_free(t_x(t_job_lock(&job))));
        t_text(counts(two, &job), "broken 1");
    }
}

TEST(only_an_outcome_that_its_node_can_know_is_reported)
{
    struct rowlock_connection *one = t_open();
    struct rowlock_job job = job_of("every 50w");
    struct rowlock_lease *lease = t_claimed(one, &job);
    int wrong[] = {ROWLOCK_RUN_BROKEN, ROWLOCK_RUN_LATE, -1, 99};

    for (int i = 0; i < 4; i++) {
        struct rowlock_result result = {.outcome = (enum rowlock_run_outcome)wrong[i]};

        t_fails(rowlock_finish(lease, &result, &t_error), EINVAL);
    }
    finish_as(lease, ROWLOCK_RUN_TIMEDOUT);
    rowlock_lease_free(lease);
    t_int(look(one, &job).job.last.outcome, ROWLOCK_RUN_TIMEDOUT);
    job.name = t_name(1);
    lease = t_claimed(one, &job);
    t_ok(rowlock_finish(lease, &(struct rowlock_result){.exit = 143, .timed_out = 1}, &t_error));
    rowlock_lease_free(lease);
    t_int(look(one, &job).job.last.outcome, ROWLOCK_RUN_TIMEDOUT);
    t_text(counts(one, &job), "timed out 1");
}

TEST(a_late_finish_does_not_clear_the_next_run)
{
    struct rowlock_connection *one = t_open(), *two = t_open();
    struct rowlock_job job = job_of("every 50w");
    struct rowlock_lease *first = t_claimed(one, &job), *second;
    struct seen seen;

    die(two, first);
    second = t_claimed(two, &job);
    t_fails(rowlock_finish(first, &(struct rowlock_result){.exit = 0, .output = "late"}, &t_error),
            ELOST);
    seen = look(two, &job);
    t_int(seen.job.running.token, rowlock_token(second));
    t_int(seen.job.running.outcome, ROWLOCK_RUN_RUNNING);
    t_int(seen.run[1].outcome, ROWLOCK_RUN_LATE);
    rowlock_lease_free(first);
    t_text(counts(two, &job), "lost 1, late 1");
    t_finish(second, 0, NULL);
    t_int(look(two, &job).run[0].outcome, ROWLOCK_RUN_DONE);
    t_text(counts(two, &job), "done 1, lost 1, late 1");
}

TEST(a_late_finish_is_still_followed_by_the_next_run)
{
    struct rowlock_connection *one = t_open(), *two = t_open();
    struct rowlock_job job = job_of("every 50w");
    struct rowlock_lease *first = t_claimed(one, &job);

    die(two, first);
    t_ok(rowlock_vacuum(two, NULL, &t_error));
    t_fails(rowlock_finish(first, &(struct rowlock_result){.exit = 0}, &t_error), ELOST);
    rowlock_lease_free(first);
    t_finish(t_claimed(two, &job), 0, NULL);
    t_int(look(two, &job).run[1].outcome, ROWLOCK_RUN_LATE);
    t_text(counts(two, &job), "done 1, late 1");
}

TEST(a_broken_run_is_recorded_as_broken_and_not_repeated)
{
    struct rowlock_connection *one = t_open(), *two = t_open();
    struct rowlock_job job = job_of("every 50w");
    struct rowlock_lease *lease;

    job.retry = 3;
    lease = t_claimed(one, &job);
    t_ok(rowlock_break(two, t_job_lock(&job), 0, 1, NULL, &t_error));
    t_int(look(two, &job).job.running.outcome, ROWLOCK_RUN_BROKEN);
    refused(two, &job, ROWLOCK_JOB_NOT_DUE);
    t_int(look(two, &job).job.last.outcome, ROWLOCK_RUN_BROKEN);
    t_text(counts(two, &job), "broken 1");
    t_fails(rowlock_finish(lease, &(struct rowlock_result){.exit = 0}, &t_error), ELOST);
    t_int(look(two, &job).job.last.outcome, ROWLOCK_RUN_BROKEN);
    t_text(counts(two, &job), "broken 1");
    rowlock_lease_free(lease);
}

TEST(a_lost_run_that_is_laid_to_rest_does_not_live_again)
{
    struct rowlock_connection *one = t_open(), *two = t_open();
    struct rowlock_job job = job_of("every 50w");
    struct rowlock_lease *lease;

    job.retry = -1;
    lease = t_claimed(one, &job);
    die(two, lease);
    refused(two, &job, ROWLOCK_JOB_NOT_DUE);
    t_int(look(two, &job).job.last.outcome, ROWLOCK_RUN_LOST);
    t_fails(rowlock_renew(lease, 0, &t_error), ELOST); /* the lease of a run under way is lost */
    t_fails(rowlock_finish(lease, &(struct rowlock_result){.exit = 0}, &t_error), ELOST);
    t_int(look(two, &job).job.last.outcome, ROWLOCK_RUN_LATE);
    t_text(counts(two, &job), "lost 1, late 1");
    rowlock_lease_free(lease);
}

/* A node that looked at the job before the break does not execute its decision. */
TEST(a_break_is_a_change_of_the_job)
{
    struct rowlock_connection *one = t_open(), *two = t_open();
    struct rowlock_job job = job_of("every 50w");
    struct rowlock_lease *lease = t_claimed(one, &job);
    const char *version = "SELECT version FROM %s WHERE name = '%s'";
    const char *before = t_say("%s", t_sql(two, version, t_table("job"), t_key(job.name)));

    t_ok(rowlock_break(two, t_job_lock(&job), 0, 1, NULL, &t_error));
    t_true(strcmp(before, t_sql(two, version, t_table("job"), t_key(job.name))) != 0);
    rowlock_lease_free(lease);
}

TEST(a_name_stays_taken_for_a_time)
{
    struct rowlock_connection *one = t_open(), *two = t_open();
    struct rowlock_job job = job_of("every 1s");
    struct rowlock_lease *lease;
    int64_t left;

    job.at_least_ms = HOUR / 2;
    lease = t_claimed(one, &job);
    t_finish(lease, 0, NULL);
    t_int(look(two, &job).job.running.token, 0);
    t_int(look(two, &job).job.last.outcome, ROWLOCK_RUN_DONE);
    left = refused(two, &job,
                   /* until the next due time, because the hold may be broken before */
                   ROWLOCK_JOB_RUNNING);
    t_true(left > 0 && left <= 1000);
    t_ok(rowlock_break(two, t_job_lock(&job), 0, 1, NULL, &t_error));
    t_int(look(two, &job).job.last.outcome, ROWLOCK_RUN_DONE);
}

/* As after a lost reply. Where the name stays held, another session breaks that hold. */
TEST(a_run_is_finished_once)
{
    struct rowlock_connection *one = t_open(), *two = t_open();

    for (int stays = 0; stays < 2; stays++) {
        struct rowlock_job job = job_of("every 50w");
        struct rowlock_lease *lease, *again = NULL;

        job.name = t_name(stays);
        job.at_least_ms = stays ? HOUR : 0;
        lease = t_claimed(one, &job);
        t_ok(rowlock_adopt(two, t_job_lock(&job), rowlock_token(lease), &again, &t_error));
        t_finish(lease, 0, "done");
        t_ok(rowlock_break(one, t_job_lock(&job), 0, 0, NULL, &t_error));
        t_ok(rowlock_finish(again, &(struct rowlock_result){.exit = 1, .output = "again"},
                            &t_error));
        rowlock_lease_free(again);
        t_int(look(one, &job).job.last.outcome, ROWLOCK_RUN_DONE);
        t_text(look(one, &job).output, "done");
        t_text(counts(one, &job), "done 1");
        t_ok(rowlock_break(one, t_job_lock(&job), 0, 1, NULL, &t_error));
    }
}

TEST(the_lease_of_no_job_is_not_finished)
{
    struct rowlock_connection *one = t_open();
    struct rowlock_lease *lease = t_granted(one, t_x(t_name(1)), HOUR);

    t_fails(rowlock_finish(lease, &(struct rowlock_result){.exit = 0}, &t_error), EINVAL);
    t_give(lease);
}

/* ---- the history ----------------------------------------------------------------------------- */

TEST(a_failed_run_is_repeated_after_its_backoff_and_the_history_is_trimmed)
{
    struct rowlock_connection *one = t_open();
    struct rowlock_job job = job_of("every 50w");
    struct rowlock_lease *lease;
    int64_t left;

    job.history = 2;
    job.retry = 3;
    for (int i = 0; i < 4; i++) {
        job.backoff_ms = 1;
        t_int(t_claim(one, &job, &lease).retry_number, i);
        t_finish(lease, i + 1, NULL);
        job.backoff_ms = 600000;
        left = refused(one, &job, ROWLOCK_JOB_NOT_DUE);
        t_true(i == 3 || (left > 0 && left <= 600000));
        usleep(2000);
    }
    job.backoff_ms = 1;
    refused(one, &job, ROWLOCK_JOB_NOT_DUE);
    t_int(look(one, &job).runs, 2);
    t_int(look(one, &job).run[0].exit, 4);
    t_int(look(one, &job).run[1].exit, 3);
}

/* ---- due now --------------------------------------------------------------------------------- */

TEST(a_job_that_is_due_now_is_claimed_once)
{
    struct rowlock_connection *one = t_open(), *other = t_open();
    struct rowlock_job job = job_of("every 50w");
    struct rowlock_lease *lease;
    struct rowlock_claim first, again;
    int64_t planned;

    job.missed = ROWLOCK_MISSED_SKIP;
    first = t_claim(one, &job, &lease);
    planned = first.next_ms;
    t_fails(rowlock_hasten_job(other, job.name, &t_error), EBUSY);
    t_finish(lease, 0, NULL);
    refused(one, &job, ROWLOCK_JOB_NOT_DUE);
    t_ok(rowlock_hasten_job(other, job.name, &t_error));
    t_ok(rowlock_hasten_job(other, job.name, &t_error));
    again = t_claim(one, &job, &lease);
    t_int(again.claimed, ROWLOCK_JOB_CLAIMED);
    t_true(again.due_ms > first.due_ms && again.due_ms <= again.now_ms);
    t_int(again.retry_number, 0);
    t_int(again.next_ms, planned);
    t_finish(lease, 0, NULL);
    refused(one, &job, ROWLOCK_JOB_NOT_DUE);
    refused(other, &job, ROWLOCK_JOB_NOT_DUE);
    t_int(look(one, &job).runs, 2);
}

TEST(only_a_known_job_whose_name_is_free_can_be_due_now)
{
    struct rowlock_connection *one = t_open(), *two = t_open();
    struct rowlock_job job = job_of("every 50w");
    struct rowlock_lease *lease;

    t_fails(rowlock_hasten_job(one, job.name, &t_error), EINVAL);
    t_contains(t_error.text, "no node has asked for it");
    t_fails(rowlock_hasten_job(one, "", &t_error), EINVAL);
    t_finish(t_claimed(one, &job), 0, NULL);
    lease = t_granted(one, t_x(t_job_lock(&job)), HOUR);
    t_fails(rowlock_hasten_job(one, job.name, &t_error), EBUSY);
    t_give(lease);
    if (t_facts()->server) { /* SQLite's transaction would lock the file */
        t_ok(t_begin(two, t_x(t_job_lock(&job)), 0));
        t_fails(rowlock_hasten_job(one, job.name, &t_error), EBUSY);
        t_ok(rowlock_rollback(two, &t_error));
    }
    refused(one, &job, ROWLOCK_JOB_NOT_DUE);
}

TEST(a_lost_run_of_a_job_that_is_due_now_is_still_recorded)
{
    struct rowlock_connection *one = t_open();
    struct rowlock_job job = job_of("every 50w");
    struct rowlock_lease *lease = t_claimed(one, &job), *next;
    struct rowlock_claim answer;

    die(one, lease);
    t_ok(rowlock_hasten_job(one, job.name, &t_error));
    answer = t_claim(one, &job, &next);
    t_int(answer.claimed, ROWLOCK_JOB_CLAIMED);
    t_int(answer.lost, rowlock_token(lease));
    t_int(answer.retry_number, 0);
    rowlock_lease_free(lease);
    t_finish(next, 0, NULL);
}

TEST(a_job_is_forgotten_unless_it_runs)
{
    struct rowlock_connection *one = t_open();
    struct rowlock_job job = job_of("every 50w");
    struct rowlock_lease *lease = t_claimed(one, &job);

    t_fails(rowlock_forget_job(one, job.name, &t_error), EBUSY);
    t_int(look(one, &job).runs, 1);
    t_finish(lease, 0, NULL);
    t_ok(rowlock_forget_job(one, job.name, &t_error));
    t_int(look(one, &job).jobs, 0);
    t_int(look(one, &job).runs, 0);
    t_ok(rowlock_forget_job(one, job.name, &t_error));
}
