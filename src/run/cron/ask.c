/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The cron daemon's queries. Every answer contains the time of the next query, so a job is queried
 * once per due time. Every minute all jobs are compared with the database, by one query, because a
 * user may have made a job due (jobs --now), because clocks drift, and because another program may
 * have deleted or changed a job.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "run/cron/daemon.h"
#include "run/job/job_run.h"
#include "util/clock.h"
#include "util/random.h"

#define DAY_MS INT64_C(86400000)
#define HELD_MS 60000   /* a name may be released before its lease ends, so look again after this */
#define SLACK_MS 2      /* clocks are read in whole milliseconds */
#define WRONG_MS 600000 /* a job that the library refuses stays wrong until the file changes */
#define LEAST_MS 20     /* minimum interval between two queries for one job */
#define PAUSE_LEAST_MS 500
#define PAUSE_MOST_MS 30000
#define STATEMENT_MS 10000

/* ---- outages of the database ----------------------------------------------------------------- */

static void there(struct cron *cron)
{
    cron->answered = 1;
    if (cron->away)
        message("the database is available again");
    cron->away = 0;
}

/* Notes a failed query. Before the first answer a permanent error ends the daemon, because its
   administrator watches the start. Later the daemon retries, because a server that is being
   reinstalled refuses only for a while. Intervals are random, so that not all nodes return at once.
   An error other than an outage needs a new session, because a session checks the schema only
   once. */
static void not_answered(struct cron *cron, const struct rowlock_error *error)
{
    int outage = is_outage(error->code);
    int is_reported = cron->away && cron->why.code == error->code &&
                      (outage || strcmp(cron->why.text, error->text) == 0);

    if (error->code == ROWLOCK_ECANCELED)
        return;
    if (!cron->answered && !outage) {
        cron->status = report(error);
        return;
    }
    if (!is_reported)
        message("%s, trying again: %s", outage_text(error->code), error->text);
    cron->why = *error;
    if (!outage) {
        rowlock_close(cron->connection);
        cron->connection = NULL;
    }
    cron->pause_ms = cron->away ? 2 * cron->pause_ms : PAUSE_LEAST_MS;
    if (cron->pause_ms > PAUSE_MOST_MS)
        cron->pause_ms = PAUSE_MOST_MS;
    cron->away = 1;
    cron->retry_ms = rowlock__now_ms() + cron->pause_ms +
                     (int64_t)(rowlock__dice() % (uint32_t)(cron->pause_ms / 4));
}

/* ---- one job --------------------------------------------------------------------------------- */

static int64_t in_time(int64_t now_ms, int64_t delay_ms)
{
    return rowlock__after(now_ms, delay_ms < LEAST_MS ? LEAST_MS : delay_ms + SLACK_MS);
}

/* The time until the next query for a job after an error of that job alone, for example of a
   trigger on its row. It does not delay the other jobs. */
static const struct {
    int code;
    int64_t pause_ms;
} refusals[] = {{ROWLOCK_EINVAL, WRONG_MS},     {ROWLOCK_EDB, HELD_MS},
                {ROWLOCK_EROLLEDBACK, HELD_MS}, {ROWLOCK_EABORTED, HELD_MS},
                {ROWLOCK_ELEFTOVER, HELD_MS},   {ROWLOCK_ELOST, LEAST_MS}};

static void refused(struct cron *cron, struct cron_job *job, const struct rowlock_error *error)
{
    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++)
        if (error->code == refusals[i].code) {
            message("%s: %s", job->entry->name, error->text);
            job->ask_ms = rowlock__after(rowlock__now_ms(), refusals[i].pause_ms);
            return;
        }
    not_answered(cron, error);
}

/* A previous run that was lost, and another node's schedule. That is reported once for each other
   schedule: if two nodes disagree, both see the other's after each claim. */
static void report_others(const struct cron *cron, struct cron_job *job,
                          const struct rowlock_claim *claim)
{
    const struct crontab_entry *entry = job->entry;
    struct change_hook hook = {entry->settings.on_failure, cron->callers, &cron->signals};
    struct job_change change;

    if (claim->lost)
        message("%s: the previous run (token %" PRId64 ") was lost", entry->name, claim->lost);
    if (claim->lost && hook.command &&
        job_change_read(cron->connection, entry->name, claim->lost, &change))
        job_change_run(&hook, &change, 0);
    if (claim->former_schedule[0] && strcmp(claim->former_schedule, job->other_schedule) != 0) {
        memcpy(job->other_schedule, claim->former_schedule, sizeof job->other_schedule);
        message(
            "%s: warning: it was planned by the schedule '%s', and is now by '%s': all nodes need "
            "the same",
            entry->name, claim->former_schedule, rowlock_schedule_text(entry->schedule));
    }
}

static void ask_for(struct cron *cron, struct cron_job *job)
{
    static const struct rowlock_result not_forked = {.outcome = ROWLOCK_RUN_NOTSTARTED,
                                                     .exit = STATUS_FAILED,
                                                     .output = "cron could not start a process\n"};
    const struct crontab_entry *entry = job->entry;
    struct rowlock_job what = job_of(&entry->settings, entry->name, entry->schedule, "/bin/sh");
    struct rowlock_lease *lease = NULL;
    struct rowlock_error error = {0};
    struct rowlock_claim claim;
    int64_t delay_ms;
    char retry[32] = "";

    if (rowlock_claim(cron->connection, &what, &claim, &lease, &error)) {
        refused(cron, job, &error);
        return;
    }
    there(cron);
    if (claim.claimed == ROWLOCK_JOB_CLAIMED) {
        cron->claimed = 1;
        if (claim.retry_number > 0)
            snprintf(retry, sizeof retry, ", retry %d", claim.retry_number);
        if (cron_start(cron, entry, &claim, rowlock_token(lease)) == 0)
            message("%s: started%s, token %" PRId64, entry->name, retry, rowlock_token(lease));
        else
            rowlock_finish(lease, &not_forked, NULL); /* another claim, by any node, may start it */
        rowlock_lease_free(lease);
    }
    report_others(cron, job, &claim);
    job->runs_somewhere = claim.claimed == ROWLOCK_JOB_RUNNING;
    job->next_ms = job->runs_somewhere || claim.next_ms == INT64_MAX ? 0 : claim.next_ms;
    delay_ms = claim.next_ms - claim.now_ms;
    if (job->runs_somewhere && delay_ms > HELD_MS)
        delay_ms = HELD_MS;
    job->ask_ms = claim.next_ms == INT64_MAX && !job->runs_somewhere
                      ? ROWLOCK_NEVER
                      : in_time(rowlock__now_ms(), delay_ms);
}

/* ---- all jobs -------------------------------------------------------------------------------- */

struct look {
    struct cron *cron;
    char *seen; /* a byte for each job; 1: the list has the job */
};

static int look_at(const struct rowlock_job_view *view, void *data)
{
    struct look *look = data;
    int64_t ask_ms = in_time(rowlock__now_ms(), view->next_ms - view->now_ms);

    for (size_t i = 0; i < look->cron->crontab.n; i++) {
        struct cron_job *job = &look->cron->jobs[i];
        const struct rowlock_schedule *schedule = job->entry->schedule;

        if (strcmp(job->entry->name, view->name) != 0)
            continue;
        look->seen[i] = 1;
        if (strcmp(view->schedule, rowlock_schedule_text(schedule)) != 0 ||
            /* it was planned while the database's clock was wrong: a query plans it again */
            view->next_ms > rowlock_schedule_next(schedule, view->now_ms + DAY_MS) ||
            (view->running.token && view->running.outcome != ROWLOCK_RUN_RUNNING))
            job->ask_ms = 0;
        else if (view->running.token || view->next_ms == INT64_MAX)
            continue; /* the previous answer contains the time of the next query */
        else if (ask_ms < job->ask_ms || !view->failed_since_ms)
            job->ask_ms = ask_ms;
    }
    return 0;
}

static void look_at_all(struct cron *cron)
{
    struct look look = {.cron = cron, .seen = calloc(cron->crontab.n + 1, 1)};
    struct rowlock_error error = {0};

    cron->look_ms = rowlock__after(rowlock__now_ms(), CRON_LOOK_MS);
    if (!look.seen)
        return;
    if (rowlock_jobs(cron->connection, NULL, look_at, &look, &error)) {
        cron->look_ms = 0;
        not_answered(cron, &error);
    } else {
        there(cron);
        for (size_t i = 0; i < cron->crontab.n; i++)
            if (!look.seen[i])
                cron->jobs[i].ask_ms = 0;
    }
    free(look.seen);
}

static int may_ask(const struct cron *cron)
{
    return !cron->status && !rowlock__is_readable(cron->stop_fd, 0) &&
           (!cron->away || rowlock__now_ms() >= cron->retry_ms);
}

void cron_ask(struct cron *cron)
{
    struct rowlock_options options = {.interrupt_fd = cron->stop_fd, .statement_ms = STATEMENT_MS};
    struct rowlock_error error = {0};
    int looks = rowlock__now_ms() >= cron->look_ms;

    if (cron->crontab.n == 0 || rowlock__now_ms() < cron_next_ms(cron) || !may_ask(cron))
        return;
    if (!cron->connection && open_database(&options, &cron->connection, &error)) {
        cron->connection = NULL;
        not_answered(cron, &error);
        return;
    }
    if (looks)
        look_at_all(cron);
    for (size_t i = 0; i < cron->crontab.n && cron->connection && may_ask(cron); i++)
        if (rowlock__now_ms() >= cron->jobs[i].ask_ms) {
            cron_alive(cron);
            ask_for(cron, &cron->jobs[i]);
        }
    if (looks || !cron->has_tidied) {
        /* At the start and once a minute, after the jobs: the history gets the expired leases,
           and loses its old entries. An account that may not do this still runs its jobs. */
        cron->has_tidied = 1;
        if (cron->connection && may_ask(cron))
            rowlock_sweep(cron->connection, NULL);
        if (cron->connection && may_ask(cron))
            rowlock_prune_history(cron->connection, NULL, NULL);
    }
    if (cron->claimed) {
        /* Closes the session, which keeps a session lock of every lease that it claimed, and so
           releases these. The runs have sessions of their own. */
        cron->claimed = 0;
        rowlock_close(cron->connection);
        cron->connection = NULL;
    }
}

int64_t cron_next_ms(const struct cron *cron)
{
    int64_t next_ms = cron->crontab.n ? cron->look_ms : ROWLOCK_NEVER;

    for (size_t i = 0; i < cron->crontab.n; i++)
        if (cron->jobs[i].ask_ms < next_ms)
            next_ms = cron->jobs[i].ask_ms;
    return cron->away && next_ms < cron->retry_ms ? cron->retry_ms : next_ms;
}
