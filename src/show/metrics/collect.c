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

int metrics_lock(const struct rowlock_holder *holder, void *data)
{
    struct metrics *metrics = data;
    enum lock_state state = holder->holding == ROWLOCK_WAITS      ? WAITING
                            : holder->holding == ROWLOCK_HOLDS_TX ? IN_TRANSACTION
                            : holder->stop                        ? STOPPING
                                                                  : HELD;

    metrics->states[state]++;
    if (state == WAITING)
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

static void put_name(struct metrics *metrics, const struct tree_name *of)
{
    struct samples *samples = &metrics->samples;
    const char *name = of->text;
    int64_t held[MODES] = {0}, limit = 0;
    int64_t acquired_ms = 0, expires_ms = 0; /* the earliest, the last; or 0 */
    int endless = 0;                         /* a lease lasts until it is released */

    for (size_t i = 0; i < of->n_holders + of->n_waiters; i++) {
        const struct rowlock_holder *holder = &metrics->locks.items[of->first + i].holder;

        limit = rowlock__most(limit, holder->limit);
        if (holder->holding == ROWLOCK_WAITS)
            continue;
        held[holder->mode] += holder->count > 1 ? holder->count : 1;
        note_earliest(&acquired_ms, holder->since_ms);
        if (holder->holding != ROWLOCK_HOLDS)
            continue;
        endless |= is_endless(holder);
        expires_ms = rowlock__most(expires_ms, holder->expires_ms);
    }
    for (int mode = 0; mode < MODES; mode++)
        if (held[mode] > 0)
            sample_count(samples, LEASE_HELD, held[mode], "name", name, "mode", holder_modes[mode],
                         NULL);
    sample_count(samples, LEASE_WAITING, (int64_t)of->n_waiters, "name", name, NULL);
    sample_time(samples, LEASE_OLDEST_WAIT, waited(metrics, of->since_ms), "name", name, NULL);
    if (limit)
        sample_count(samples, LEASE_LIMIT, limit, "name", name, NULL);
    if (acquired_ms)
        sample_time(samples, LEASE_ACQUIRED, acquired_ms, "name", name, NULL);
    if (expires_ms && !endless)
        sample_time(samples, LEASE_EXPIRY, expires_ms, "name", name, NULL);
}

/* ---- jobs and subjects ----------------------------------------------------------------------- */

int metrics_job(const struct rowlock_job_view *view, void *data)
{
    struct samples *samples = &((struct metrics *)data)->samples;
    struct rowlock_job_view job = settled(view);
    const struct rowlock_run *last = &job.last;
    int64_t since_ms;
    enum rowlock_health health = rowlock_job_health(&job, &since_ms);

    sample_count(samples, JOB_RUNNING, job.running.token != 0, "job", job.name, NULL);
    for (int i = 0; i < JOB_HEALTHS; i++)
        sample_count(samples, JOB_STATE, i == (int)health, "job", job.name, "state", job_healths[i],
                     NULL);
    if (job.next_ms != INT64_MAX)
        sample_time(samples, JOB_NEXT_RUN, job.next_ms, "job", job.name, NULL);
    if (last->token)
        sample_time(samples, JOB_LAST_RUN, last->started_ms, "job", job.name, NULL);
    if (last->token && has_ended(last)) {
        sample_time(samples, JOB_LAST_DURATION,
                    rowlock__between(last->started_ms, last->finished_ms), "job", job.name, NULL);
        sample_count(samples, JOB_LAST_EXIT, last->exit, "job", job.name, NULL);
    }
    /* All outcomes from the first on: a rate needs the 0 before the first 1. */
    for (int i = ROWLOCK_RUN_DONE; i <= ROWLOCK_RUN_NOTSTARTED; i++)
        sample_count(samples, JOB_RUNS, job.ended[i], "job", job.name, "outcome",
                     rowlock_outcome_text((enum rowlock_run_outcome)i), NULL);
    if (job.succeeded_ms)
        sample_time(samples, JOB_LAST_SUCCESS, job.succeeded_ms, "job", job.name, NULL);
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

int metrics_end(struct metrics *metrics, int status, int64_t took_ms, FILE *out)
{
    if (!status && (!metrics || tree_gather_names(&metrics->locks)))
        status = out_of_memory();
    if (!status) {
        struct samples *samples = &metrics->samples;

        for (int i = 0; i < LOCK_STATES; i++)
            sample_count(samples, LOCKS, metrics->states[i], "state", lock_states[i], NULL);
        sample_time(samples, OLDEST_WAIT, waited(metrics, metrics->waits_since_ms), NULL);
        for (size_t i = 0; i < metrics->locks.n_names; i++)
            put_name(metrics, &metrics->locks.names[i]);
        sample_time(samples, SCRAPE_DURATION, took_ms, NULL);
        put_build(samples, 1);
        status = samples_write(samples, out) ? out_of_memory() : STATUS_OK;
    }
    free_metrics(metrics);
    if (!status)
        return STATUS_OK;
    metrics = metrics_new(NULL);
    if (metrics)
        put_build(&metrics->samples, 0);
    if (!metrics || samples_write(&metrics->samples, out))
        out_of_memory();
    free_metrics(metrics);
    return status;
}
