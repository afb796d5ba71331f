/* SPDX-License-Identifier: Apache-2.0 */
/* Makes the samples of locks, jobs and subjects. */
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "command/command.h"
#include "command/output/words.h"
#include "show/metrics/metrics.h"
#include "show/metrics/sample.h"
#include "show/tree/tree_rows.h"
#include "util/calendar.h"
#include "util/clock.h"

/* ---- locks ----------------------------------------------------------------------------------- */

enum { MODES = ROWLOCK_PERMIT + 1 };

enum lock_state { HELD, STOPPING, IN_TRANSACTION, WAITING, LOCK_STATES };

static const char *const lock_states[LOCK_STATES] = {[HELD] = "held",
                                                     [STOPPING] = "stopping",
                                                     [IN_TRANSACTION] = "transaction",
                                                     [WAITING] = "waiting"};

struct metrics {
    struct samples samples;
    /* of the locks: */
    const char *names;
    struct lock_tree locks; /* those whose names match */
    int64_t states[LOCK_STATES], waits_since_ms;
    int64_t now_ms; /* by the database's clock, if a lease is held */
};

static void note_earliest(int64_t *earliest_ms, int64_t since_ms)
{
    if (since_ms && (!*earliest_ms || since_ms < *earliest_ms))
        *earliest_ms = since_ms;
}

static enum lock_state state_of(const struct rowlock_holder *holder)
{
    return holder->holding == ROWLOCK_WAITS      ? WAITING
           : holder->holding == ROWLOCK_HOLDS_TX ? IN_TRANSACTION
           : holder->stop                        ? STOPPING
                                                 : HELD;
}

int metrics_lock(const struct rowlock_holder *holder, void *data)
{
    struct metrics *metrics = data;

    metrics->states[state_of(holder)]++;
    if (holder->holding == ROWLOCK_WAITS)
        note_earliest(&metrics->waits_since_ms, holder->since_ms);
    if (holder->holding == ROWLOCK_HOLDS)
        metrics->now_ms = rowlock__between(holder->remaining_ms, holder->expires_ms);
    if (!metrics->names || fnmatch(metrics->names, holder->name, 0))
        return 0;
    return tree_add(holder, &metrics->locks);
}

/* Without a lease only this node's clock is known. */
static int64_t waited(const struct metrics *metrics, int64_t since_ms)
{
    if (!since_ms)
        return 0;
    return rowlock__between(since_ms, metrics->now_ms ? metrics->now_ms : rowlock__wall_ms());
}

struct name_sum {
    int64_t held[MODES], limit;
    int64_t acquired_ms, expires_ms; /* the earliest, the last; or 0 */
    int is_endless;                  /* a lease lasts until it is released */
};

static struct name_sum add_up(const struct tree_name *name, const struct tree_item *items)
{
    struct name_sum sum = {0};

    for (size_t i = 0; i < name->n_holders + name->n_waiters; i++) {
        const struct rowlock_holder *holder = &items[i].holder;

        sum.limit = rowlock__most(sum.limit, holder->limit);
        if (holder->holding == ROWLOCK_WAITS)
            continue;
        sum.held[holder->mode] += holder->count > 1 ? holder->count : 1;
        note_earliest(&sum.acquired_ms, holder->since_ms);
        if (holder->holding != ROWLOCK_HOLDS)
            continue;
        sum.is_endless |= is_endless(holder);
        sum.expires_ms = rowlock__most(sum.expires_ms, holder->expires_ms);
    }
    return sum;
}

static void put_name(struct metrics *metrics, const struct tree_name *of)
{
    struct name_sum sum = add_up(of, metrics->locks.items + of->first);
    struct samples *samples = &metrics->samples;
    const char *name = of->text;

    for (int mode = 0; mode < MODES; mode++)
        if (sum.held[mode] > 0)
            sample_count(samples, LEASE_HELD, sum.held[mode], "name", name, "mode",
                         holder_modes[mode], NULL);
    sample_count(samples, LEASE_WAITING, (int64_t)of->n_waiters, "name", name, NULL);
    sample_time(samples, LEASE_OLDEST_WAIT, waited(metrics, of->since_ms), "name", name, NULL);
    if (sum.limit)
        sample_count(samples, LEASE_LIMIT, sum.limit, "name", name, NULL);
    if (sum.acquired_ms)
        sample_time(samples, LEASE_ACQUIRED, sum.acquired_ms, "name", name, NULL);
    if (sum.expires_ms && !sum.is_endless)
        sample_time(samples, LEASE_EXPIRY, sum.expires_ms, "name", name, NULL);
}

static void put_locks(struct metrics *metrics)
{
    for (int i = 0; i < LOCK_STATES; i++)
        sample_count(&metrics->samples, LOCKS, metrics->states[i], "state", lock_states[i], NULL);
    sample_time(&metrics->samples, OLDEST_WAIT, waited(metrics, metrics->waits_since_ms), NULL);
    for (size_t i = 0; i < metrics->locks.n_names; i++)
        put_name(metrics, &metrics->locks.names[i]);
}

/* ---- jobs and subjects ----------------------------------------------------------------------- */

static void put_last_run(struct samples *samples, const struct rowlock_job_view *job)
{
    const struct rowlock_run *last = &job->last;

    if (!last->token)
        return;
    sample_time(samples, JOB_LAST_RUN, last->started_ms, "job", job->name, NULL);
    if (!has_ended(last))
        return;
    sample_time(samples, JOB_LAST_DURATION, rowlock__between(last->started_ms, last->finished_ms),
                "job", job->name, NULL);
    sample_count(samples, JOB_LAST_EXIT, last->exit, "job", job->name, NULL);
}

/* All outcomes from the first on: a rate needs the 0 before the first 1. */
static void put_ended(struct samples *samples, const struct rowlock_job_view *job)
{
    for (int i = ROWLOCK_RUN_DONE; i <= ROWLOCK_RUN_NOTSTARTED; i++)
        sample_count(samples, JOB_RUNS, job->ended[i], "job", job->name, "outcome",
                     rowlock_outcome_text((enum rowlock_run_outcome)i), NULL);
    if (job->succeeded_ms)
        sample_time(samples, JOB_LAST_SUCCESS, job->succeeded_ms, "job", job->name, NULL);
}

int metrics_job(const struct rowlock_job_view *view, void *data)
{
    struct samples *samples = &((struct metrics *)data)->samples;
    struct rowlock_job_view job = settled(view);
    int64_t since_ms;
    enum rowlock_health health = rowlock_job_health(&job, &since_ms);

    sample_count(samples, JOB_RUNNING, job.running.token != 0, "job", job.name, NULL);
    for (int i = 0; i < JOB_HEALTHS; i++)
        sample_count(samples, JOB_STATE, i == (int)health, "job", job.name, "state", job_healths[i],
                     NULL);
    if (job.next_ms != INT64_MAX)
        sample_time(samples, JOB_NEXT_RUN, job.next_ms, "job", job.name, NULL);
    put_last_run(samples, &job);
    put_ended(samples, &job);
    return 0;
}

int metrics_subject(const struct rowlock_subject_view *subject, void *data)
{
    struct samples *samples = &((struct metrics *)data)->samples;

    if (subject->updated_ms)
        sample_time(samples, SUBJECT_UPDATED, subject->updated_ms, "subject", subject->name, NULL);
    sample_count(samples, SUBJECT_ERROR, subject->status == ROWLOCK_SUBJECT_ERROR, "subject",
                 subject->name, NULL);
    return 0;
}

/* ---- begin and end --------------------------------------------------------------------------- */

static void free_metrics(struct metrics *metrics)
{
    if (!metrics)
        return;
    tree_free(&metrics->locks);
    samples_close(&metrics->samples);
    free(metrics);
}

struct metrics *metrics_new(const char *names)
{
    struct metrics *metrics = calloc(1, sizeof *metrics);

    if (metrics && samples_open(&metrics->samples) == 0) {
        metrics->names = names;
        return metrics;
    }
    free_metrics(metrics);
    return NULL;
}

static void put_build(struct samples *samples, int is_up)
{
    char version[32];

    snprintf(version, sizeof version, "%.*s", (int)strcspn(rowlock_version(), " "),
             rowlock_version());
    sample_count(samples, BUILD_INFO, 1, "version", version, NULL);
    sample_count(samples, UP, is_up, NULL);
}

static int write_down(FILE *out)
{
    struct metrics *metrics = metrics_new(NULL);
    int failed = !metrics;

    if (!failed) {
        put_build(&metrics->samples, 0);
        failed = samples_write(&metrics->samples, out);
    }
    free_metrics(metrics);
    return failed ? out_of_memory() : STATUS_OK;
}

int metrics_end(struct metrics *metrics, int status, int64_t took_ms, FILE *out)
{
    if (!status && (!metrics || tree_gather_names(&metrics->locks)))
        status = out_of_memory();
    if (!status) {
        put_locks(metrics);
        sample_time(&metrics->samples, SCRAPE_DURATION, took_ms, NULL);
        put_build(&metrics->samples, 1);
        status = samples_write(&metrics->samples, out) ? out_of_memory() : STATUS_OK;
    }
    free_metrics(metrics);
    if (status)
        write_down(out);
    return status;
}
