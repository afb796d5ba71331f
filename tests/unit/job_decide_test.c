/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The decision of what a node may do about a job now: each rule alone. tests/simulation/farm.h has
 * farms that live by it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "job/decide.h"
#include "lib/instants.h"
#include "lib/test.h"

static struct rowlock_schedule schedule;
static struct rowlock_job_rules rules;
static struct rowlock_job_state job;

static void given(const char *text, const char *now)
{
    t_ok(rowlock__schedule_read(text, NULL, NULL, &schedule, NULL, &t_error));
    rules = (struct rowlock_job_rules){.schedule = &schedule, .retry = -1, .backoff_ms = 10000};
    job = (struct rowlock_job_state){.now_ms = t_utc(now)};
}

/* The job was planned by the same schedule; its previous due time is `last`. */
static void known(const char *last, const char *due)
{
    job.known = job.same_schedule = true;
    job.last_ms = t_utc(last);
    job.due_ms = t_utc(due);
}

static struct rowlock_job_decision decides(enum rowlock_job_act act)
{
    struct rowlock_job_decision d = rowlock__job_decide(&job, &rules);

    t_int(d.act, act);
    return d;
}

static void waits(const char *until)
{
    t_int(decides(ROWLOCK_JOB_WAIT).until_ms, t_utc(until));
}

static void awaits(const char *due)
{
    t_int(decides(ROWLOCK_JOB_AWAIT).until_ms, t_utc(due));
}

static void plans(const char *due)
{
    t_int(decides(ROWLOCK_JOB_PLAN).due_ms, t_utc(due));
}

static struct rowlock_job_decision claims(const char *instant, const char *due, int repeats)
{
    struct rowlock_job_decision d = decides(ROWLOCK_JOB_CLAIM);

    t_int(d.instant_ms, t_utc(instant));
    t_int(d.due_ms, t_utc(due));
    t_int(d.repeats, repeats);
    return d;
}

static struct rowlock_job_decision settles(const char *due)
{
    struct rowlock_job_decision d = decides(ROWLOCK_JOB_SETTLE);

    t_int(d.due_ms, t_utc(due));
    return d;
}

/* ---- when it is due -------------------------------------------------------------------------- */

TEST(a_period_never_seen_is_due_at_once)
{
    given("every 1h", "2026-03-01T10:20Z");
    claims("2026-03-01T10:00Z", "2026-03-01T11:00Z", 0);
}

TEST(a_line_never_seen_is_planned)
{
    given("0 3 * * *", "2026-03-01T10:20Z");
    plans("2026-03-02T03:00Z");
}

TEST(a_plan_by_a_wrong_clock_is_made_again)
{
    given("every 5m", "2026-03-01T10:21Z");
    known("2027-03-01T10:20Z", "2027-03-01T10:25Z");
    plans("2026-03-01T10:25Z");
    job.running = 7;
    rules.retry = 0;
    settles("2026-03-01T10:25Z");
    known("2026-03-01T10:20Z", "2026-03-01T10:25Z");
    job.running = 0;
    waits("2026-03-01T10:25Z");
}

TEST(a_clock_that_was_put_back_a_little_repeats_nothing)
{
    given("0 4 * * *", "2026-03-02T03:30Z");
    known("2026-03-02T04:00Z", "2026-03-03T04:00Z");
    waits("2026-03-03T04:00Z");
    given("every 5m", "2026-03-02T10:26Z");
    known("2026-03-02T10:30Z", "2026-03-02T10:35Z");
    waits("2026-03-02T10:35Z");
}

/* A step back by less than a day: no job may wait that long for a wrong due time. */
TEST(a_clock_that_was_set_back_by_hours_plans_the_next_time_again)
{
    given("every 5m", "2026-03-02T10:31Z");
    known("2026-03-02T13:30Z", "2026-03-02T13:35Z");
    plans("2026-03-02T10:35Z");
    known("2026-03-02T10:35Z", "2026-03-02T10:40Z");
    waits("2026-03-02T10:40Z");
    known("2026-03-02T10:40Z", "2026-03-02T10:45Z");
    plans("2026-03-02T10:35Z");
    given("0 4 * * *", "2026-03-02T10:00Z"); /* by 20 hours */
    known("2026-03-03T04:00Z", "2026-03-04T04:00Z");
    plans("2026-03-03T04:00Z");
    given("*/10 * * * *", "2026-03-02T10:01Z"); /* by 40 minutes */
    known("2026-03-02T10:40Z", "2026-03-02T10:50Z");
    plans("2026-03-02T10:10Z");
}

TEST(what_is_due_is_claimed_once)
{
    given("0 3 * * *", "2026-03-02T02:59:59Z");
    known("2026-03-01T03:00Z", "2026-03-02T03:00Z");
    waits("2026-03-02T03:00Z");
    job.now_ms = t_utc("2026-03-02T03:00Z");
    claims("2026-03-02T03:00Z", "2026-03-03T03:00Z", 0);
}

TEST(a_call_that_comes_early_waits_for_the_due_time)
{
    given("every 5m", "2026-03-02T09:59:30Z");
    rules.early_ms = 30000;
    known("2026-03-02T09:55Z", "2026-03-02T10:00Z");
    awaits("2026-03-02T10:00Z");
    job.now_ms = t_utc("2026-03-02T09:59:59Z") + 999;
    awaits("2026-03-02T10:00Z");
    job.now_ms++;
    claims("2026-03-02T10:00Z", "2026-03-02T10:05Z", 0);
    job.now_ms = t_utc("2026-03-02T09:59:29Z");
    waits("2026-03-02T10:00Z");
    rules.early_ms = 0;
    job.now_ms = t_utc("2026-03-02T09:59:59Z");
    waits("2026-03-02T10:00Z");
}

TEST(no_call_waits_for_more_than_a_quarter_of_the_period)
{
    given("every 4s", "2026-03-02T09:59:59Z");
    rules.early_ms = 30000;
    known("2026-03-02T09:59:56Z", "2026-03-02T10:00Z");
    awaits("2026-03-02T10:00Z");
    job.now_ms--;
    waits("2026-03-02T10:00Z");
    given("* * * * *", "2026-03-02T09:59:45Z");
    rules.early_ms = 30000;
    known("2026-03-02T09:59Z", "2026-03-02T10:00Z");
    awaits("2026-03-02T10:00Z");
    job.now_ms--;
    waits("2026-03-02T10:00Z");
}

TEST(a_line_never_seen_is_planned_before_it_is_waited_for)
{
    given("31 13 * * *", "2026-03-02T13:30:35Z");
    rules.early_ms = 30000;
    plans("2026-03-02T13:31Z");
    job.known = job.same_schedule = true;
    job.due_ms = t_utc("2026-03-02T13:31Z");
    awaits("2026-03-02T13:31Z");
}

/* The clock was set back after the run had begun. */
TEST(a_repetition_waits_for_its_instant_too)
{
    given("0 3 * * *", "2026-03-02T02:50Z");
    known("2026-03-02T03:00Z", "2026-03-03T03:00Z");
    job.running = 77;
    waits("2026-03-02T03:00Z");
    job.running = 0;
    job.failed_ms = t_utc("2026-03-02T02:40Z");
    rules.retry = 1;
    waits("2026-03-02T03:00Z");
    job.now_ms = t_utc("2026-03-02T03:00Z");
    claims("2026-03-02T03:00Z", "2026-03-03T03:00Z", 1);
}

TEST(missed_due_times_are_repeated_by_one_run)
{
    given("every 1h", "2026-03-02T15:20Z");
    known("2026-03-02T10:00Z", "2026-03-02T11:00Z");
    claims("2026-03-02T15:00Z", "2026-03-02T16:00Z", 0);
}

TEST(missed_instants_are_skipped)
{
    given("every 1h", "2026-03-02T15:20Z");
    known("2026-03-02T10:00Z", "2026-03-02T11:00Z");
    rules.skips_missed = true;
    plans("2026-03-02T16:00Z");
    job.now_ms = t_utc("2026-03-02T15:01Z"); /* a minute late is in time */
    claims("2026-03-02T15:00Z", "2026-03-02T16:00Z", 0);
}

TEST(a_requested_due_time_is_claimed_once_and_never_skipped)
{
    given("every 1h", "2026-03-02T15:20Z");
    known("2026-03-02T15:00Z", "2026-03-02T15:10Z"); /* by rowlock_hasten_job */
    claims("2026-03-02T15:10Z", "2026-03-02T16:00Z", 0);
    rules.skips_missed = true;
    claims("2026-03-02T15:10Z", "2026-03-02T16:00Z", 0);
    job.now_ms = t_utc("2026-03-02T17:30Z"); /* one run for it and for those missed since */
    claims("2026-03-02T17:00Z", "2026-03-02T18:00Z", 0);
    job.last_ms = t_utc("2026-03-02T17:00Z");
    job.due_ms = t_utc("2026-03-02T18:00Z");
    decides(ROWLOCK_JOB_WAIT);
}

TEST(an_instant_without_a_next_one)
{
    given("0 0 31 12 *", "9999-12-31T12:00Z");
    known("9998-12-31T00:00Z", "9999-12-31T00:00Z");
    t_int(rowlock__job_decide(&job, &rules).due_ms, ROWLOCK_NEVER);
    job.last_ms = job.due_ms;
    job.due_ms = ROWLOCK_NEVER;
    t_int(rowlock__job_decide(&job, &rules).until_ms, ROWLOCK_NEVER);
}

/* ---- a changed schedule ---------------------------------------------------------------------- */

TEST(another_schedule_counts_from_now)
{
    given("0 5 * * *", "2026-03-02T10:00Z");
    known("2026-03-02T03:00Z", "2026-03-03T03:00Z");
    job.same_schedule = false;
    plans("2026-03-03T05:00Z");
}

TEST(two_nodes_that_disagree_do_not_put_it_off_for_ever)
{
    given("every 10m", "2026-03-02T10:10:05Z");
    /* planned a moment ago by the previous schedule, every 5m */
    known("2026-03-02T10:00Z", "2026-03-02T10:15Z");
    job.same_schedule = false;
    claims("2026-03-02T10:10Z", "2026-03-02T10:20Z", 0);
}

/* ---- while a run is under way, and after it -------------------------------------------------- */

TEST(every_kind_of_holder_is_waited_for)
{
    given("every 1h", "2026-03-02T15:20Z");
    known("2026-03-02T10:00Z", "2026-03-02T11:00Z");
    job.held = true;
    job.free_ms = t_utc("2026-03-02T15:20:30Z");
    waits("2026-03-02T15:20:30Z");
    job.known = false;
    waits("2026-03-02T15:20:30Z");
}

/* The node of that run may die, and no other node would look before the lease expires. */
TEST(while_another_runs_it_each_instant_is_a_reason_to_look)
{
    given("every 3s", "2026-03-02T15:20:01Z");
    known("2026-03-02T15:20:00Z", "2026-03-02T15:20:03Z");
    job.held = true;
    job.running = 7;
    job.free_ms = t_utc("2026-03-02T15:20:31Z");
    waits("2026-03-02T15:20:03Z");
    job.now_ms = t_utc("2026-03-02T15:20:29Z");
    waits("2026-03-02T15:20:30Z");
    job.free_ms = t_utc("2026-03-02T15:20:29Z") + 500;
    t_int(rowlock__job_decide(&job, &rules).until_ms, job.free_ms);
}

TEST(a_lost_run_is_repeated_once_and_without_a_pause)
{
    given("0 3 * * *", "2026-03-02T03:10Z");
    known("2026-03-02T03:00Z", "2026-03-03T03:00Z");
    job.running = 77;
    t_true(claims("2026-03-02T03:00Z", "2026-03-03T03:00Z", 1).lost);
    job.repeats = 1;
    t_true(settles("2026-03-03T03:00Z").lost);
    rules.retry = 3;
    claims("2026-03-02T03:00Z", "2026-03-03T03:00Z", 2);
    rules.retry = 0;
    job.repeats = 0;
    t_true(settles("2026-03-03T03:00Z").lost);
}

TEST(a_run_that_was_not_started_is_no_try_and_is_claimed_again_after_the_backoff)
{
    given("0 3 * * *", "2026-03-02T03:10Z");
    known("2026-03-02T03:00Z", "2026-03-03T03:00Z");
    job.running = 77;
    job.not_started = true;
    job.repeats = 1;
    rules.retry = 0;
    job.failed_ms = t_utc("2026-03-02T03:09:55Z");
    waits("2026-03-02T03:10:05Z");
    job.same_schedule = false; /* the claim must still record the new schedule */
    waits("2026-03-02T03:10:05Z");
    job.same_schedule = true;
    job.failed_ms = t_utc("2026-03-02T03:09:50Z");
    t_true(!claims("2026-03-02T03:00Z", "2026-03-03T03:00Z", 1).lost);
    job.failed_ms = 0; /* the lease had to expire, which is delay enough */
    t_true(!claims("2026-03-02T03:00Z", "2026-03-03T03:00Z", 1).lost);
}

TEST(a_later_instant_takes_the_place_of_a_run_that_was_not_started)
{
    struct rowlock_job_decision d;

    given("every 1m", "2026-03-02T03:01:20Z");
    known("2026-03-02T03:00Z", "2026-03-02T03:01Z");
    job.running = 77;
    job.not_started = true;
    job.failed_ms = t_utc("2026-03-02T03:01:19Z");
    d = claims("2026-03-02T03:01Z", "2026-03-02T03:02Z", 0);
    t_true(!d.lost && !d.broken);
}

TEST(a_broken_run_is_not_repeated)
{
    struct rowlock_job_decision d;

    given("0 3 * * *", "2026-03-02T03:10Z");
    known("2026-03-02T03:00Z", "2026-03-03T03:00Z");
    job.running = 77;
    job.broken = true;
    rules.retry = 3;
    d = settles("2026-03-03T03:00Z");
    t_true(d.broken && !d.lost);
}

TEST(a_later_instant_takes_the_place_of_a_lost_run)
{
    given("every 1m", "2026-03-02T03:01:20Z");
    known("2026-03-02T03:00Z", "2026-03-02T03:01Z");
    job.running = 77;
    t_true(claims("2026-03-02T03:01Z", "2026-03-02T03:02Z", 0).lost);
}

TEST(a_failed_run_is_repeated_after_its_backoff_if_that_was_asked_for)
{
    given("0 3 * * *", "2026-03-02T03:10:04Z");
    known("2026-03-02T03:00Z", "2026-03-03T03:00Z");
    job.failed_ms = t_utc("2026-03-02T03:10Z");
    waits("2026-03-03T03:00Z");
    rules.retry = 2;
    waits("2026-03-02T03:10:10Z");
    job.now_ms = t_utc("2026-03-02T03:10:10Z");
    claims("2026-03-02T03:00Z", "2026-03-03T03:00Z", 1);
    job.repeats = 2;
    waits("2026-03-03T03:00Z");
}

TEST(skipping_still_buries_what_was_lost)
{
    given("every 1h", "2026-03-02T11:20Z");
    known("2026-03-02T10:00Z", "2026-03-02T11:00Z");
    rules.skips_missed = true;
    job.running = 77;
    t_true(settles("2026-03-02T12:00Z").lost);
}

/* ---- nodes whose time-zone data differ ------------------------------------------------------- */

/* The same zone in two trees of zone files: one hour and two hours east of UTC. */
static struct rowlock_schedule *open_in_tree(const char *folder, const char *zone)
{
    struct rowlock_schedule *opened = NULL;
    char path[100];

    snprintf(path, sizeof path, "%s/City", folder);
    t_int(symlink(zone, path), 0);
    setenv("TZDIR", folder, 1);
    t_ok(rowlock_schedule_open("0 4 * * *", "City", &opened, NULL, &t_error));
    unsetenv("TZDIR");
    t_int(unlink(path), 0);
    t_int(rmdir(folder), 0);
    return opened;
}

/* Lets the nodes ask every half minute, and returns how many runs were claimed. */
static int runs_until(const char *end, struct rowlock_schedule *const *nodes, size_t n)
{
    int runs = 0;

    for (; job.now_ms < t_utc(end); job.now_ms += 30000)
        for (size_t i = 0; i < n; i++) {
            struct rowlock_job_decision d;

            rules.schedule = nodes[i];
            d = rowlock__job_decide(&job, &rules);
            if (d.act != ROWLOCK_JOB_CLAIM && d.act != ROWLOCK_JOB_PLAN)
                continue;
            runs += d.act == ROWLOCK_JOB_CLAIM;
            job.last_ms = d.act == ROWLOCK_JOB_CLAIM ? d.instant_ms : job.last_ms;
            job.due_ms = d.due_ms;
            job.known = job.same_schedule = true;
        }
    return runs;
}

TEST(nodes_with_different_zone_data_run_a_job_once_a_day)
{
    char early[] = "/tmp/rowlock-tree.XXXXXX", late[] = "/tmp/rowlock-tree.XXXXXX";
    struct rowlock_schedule *nodes[2], *others[2];

    t_true(mkdtemp(early) && mkdtemp(late));
    nodes[1] = others[0] = open_in_tree(early, "/usr/share/zoneinfo/Etc/GMT-2");
    nodes[0] = others[1] = open_in_tree(late, "/usr/share/zoneinfo/Etc/GMT-1");
    t_text(nodes[0]->text, nodes[1]->text);
    t_true(rowlock__schedule_next(nodes[0], 0) != rowlock__schedule_next(nodes[1], 0));
    for (int i = 0; i < 2; i++) {
        given("every 1h", "2026-03-01T00:00Z");
        t_int(runs_until("2026-03-05T12:00Z", i ? others : nodes, 2), 5);
        /* the node that planned is gone: the other continues by its own data */
        t_int(runs_until("2026-03-07T12:00Z", i ? &others[1] : &nodes[1], 1), 2);
        t_int(runs_until("2026-03-09T12:00Z", i ? others : nodes, 2), 2);
    }
    rowlock_schedule_close(nodes[0]);
    rowlock_schedule_close(nodes[1]);
}

TEST(a_due_time_that_a_user_requested_contradicts_no_zone_data)
{
    char tree[] = "/tmp/rowlock-tree.XXXXXX";
    struct rowlock_schedule *node;

    t_true(mkdtemp(tree) != NULL);
    node = open_in_tree(tree, "/usr/share/zoneinfo/Etc/GMT-2");
    given("every 1h", "2026-03-01T10:01Z");
    rules.schedule = node;
    known("2026-03-01T02:00Z", "2026-03-01T10:01Z");
    job.due_ms--;
    t_int(decides(ROWLOCK_JOB_CLAIM).instant_ms, job.due_ms);
    rowlock_schedule_close(node);
}
