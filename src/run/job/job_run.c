/* SPDX-License-Identifier: Apache-2.0 */
/* Claims or adopts a job's run, for the verb job. */
#include "run/job/job_run.h"

#include <stdio.h>
#include <stdlib.h>

#include "command/command.h"
#include "command/job_name.h"
#include "command/output/table.h"
#include "util/clock.h"

#define PAUSE_MS 200
#define EARLY_MS \
    30000 /* a crontab follows its node's clock, which may be ahead of the database's */

struct run run_of_job(struct job_run *job)
{
    snprintf(job->lock, sizeof job->lock, JOB_LOCK_PREFIX "%s", job->name);
    job->want = (struct rowlock_want){.name = job->lock, .mode = ROWLOCK_EXCLUSIVE};
    return (struct run){.lock = {.wants = &job->want, .n = 1, .ttl_ms = job->settings.ttl_ms},
                        .kill_after_ms = job->settings.kill_after_ms,
                        .max_run_ms = job->settings.max_run_ms,
                        .terminal = !job->token && has_terminal(),
                        .verbose = job->verbose,
                        .keeps_output = 1,
                        .prefix = job->prefix ? job->name : NULL,
                        .ends_on_term = job->token != 0,
                        .argv = job->argv};
}

/* ---- its end --------------------------------------------------------------------------------- */

static int give_back(const struct holding *holding, const struct ending *ending,
                     struct rowlock_error *error)
{
    struct rowlock_result result = {
        .outcome = ending->outcome, .exit = ending->exit, .output = ending->output};

    int code = rowlock_finish(holding->lease, &result, error);

    /* the next claim records a lost run, and reports it */
    if (!code && ending->outcome != ROWLOCK_RUN_LOST)
        ((struct job_run *)holding->data)->recorded = 1;
    return code;
}

static int claimed_run(const struct signals *signals, struct holding *holding, int *claimed)
{
    int status;

    holding->give_back = give_back;
    status = not_started_if_interrupted(signals, holding, STATUS_OK);
    *claimed = !status;
    return status;
}

/* The library's call was interrupted, usually by a signal. */
static int failed(const struct signals *signals, struct holding *holding,
                  const struct rowlock_error *error)
{
    int status;

    if (error->code != ROWLOCK_ECANCELED)
        return report(error);
    status = not_started_if_interrupted(signals, holding, STATUS_FAILED);
    if (status == STATUS_FAILED)
        report(error);
    return status;
}

/* ---- claiming -------------------------------------------------------------------------------- */

static int say_holder(const struct rowlock_holder *holder, void *data)
{
    const struct job_run *job = data;
    char *since = cell_instant(holder->since_ms), pid[32] = "";

    if (holder->pid)
        snprintf(pid, sizeof pid, ":%lld", (long long)holder->pid);
    message("'%s' is not run: '%s' is held by %s%s since %s%s%s", job->name, job->lock,
            *holder->host ? holder->host : "-", pid, since ? since : "-", *holder->note ? ", " : "",
            holder->note);
    free(since);
    return 1;
}

static void say_claim(const struct job_run *job, struct rowlock_connection *connection,
                      const struct rowlock_claim *claim)
{
    char *when;

    if (claim->lost)
        message("the previous run of '%s' (token %lld) was lost: its node died, or could not renew",
                job->name, (long long)claim->lost);
    if (!job->verbose)
        return;
    when = cell_instant(claim->next_ms);
    if (claim->claimed == ROWLOCK_JOB_CLAIMED && claim->retry_number > 0)
        message("'%s' runs again, retry %d", job->name, claim->retry_number);
    else if (claim->claimed == ROWLOCK_JOB_CLAIMED)
        message("'%s' runs", job->name);
    else if (claim->claimed == ROWLOCK_JOB_RUNNING)
        rowlock_list(connection, job->lock, say_holder, (void *)job, NULL);
    else if (claim->next_ms == INT64_MAX)
        message("'%s' is no longer due", job->name);
    else
        message("'%s' is not due before %s", job->name, when ? when : "-");
    free(when);
}

/* -N: signal N ended the wait. Only the connection is open meanwhile. */
static int wait_until_due(const struct job_run *job, const struct signals *signals,
                          struct holding *holding, const struct rowlock_claim *claim)
{
    int64_t deadline_ms = rowlock__after(rowlock__now_ms(), claim->next_ms - claim->now_ms);
    char *when = cell_instant(claim->next_ms),
         *left = cell_duration(deadline_ms - rowlock__now_ms());

    if (job->verbose)
        message("'%s' is due at %s: waiting %s", job->name, when ? when : "-", left ? left : "-");
    free(when);
    free(left);
    rowlock__wait_fd(-1, 0, signals->wait_fd, deadline_ms);
    return not_started_if_interrupted(signals, holding, STATUS_OK);
}

int claim_job(struct job_run *job, const struct signals *signals, struct holding *holding,
              int *claimed)
{
    struct rowlock_job what = job_of(&job->settings, job->name, job->schedule, job->argv[0]);
    struct rowlock_error error = {0};
    struct rowlock_claim claim;
    struct job_change change;
    int status;

    *claimed = 0;
    what.early_ms = EARLY_MS;
    for (;;) {
        if (rowlock_claim(holding->connection, &what, &claim, &holding->lease, &error))
            return failed(signals, holding, &error);
        /* The --on-failure command for a lost run runs beside the command of a run that this node
           may have claimed. */
        if (claim.lost && job->hook.command &&
            job_change_read(holding->connection, job->name, claim.lost, &change))
            job_change_run(&job->hook, &change, 0);
        if (claim.claimed != ROWLOCK_JOB_EARLY)
            break;
        if ((status = wait_until_due(job, signals, holding, &claim)))
            return status;
    }
    say_claim(job, holding->connection, &claim);
    holding->data = job;
    holding->due_ms = claim.due_ms;
    holding->attempt = claim.retry_number + 1;
    return claim.claimed == ROWLOCK_JOB_CLAIMED ? claimed_run(signals, holding, claimed)
                                                : job->conflict;
}

/* ---- adopting -------------------------------------------------------------------------------- */

/* Renews at once, because the age of the claim is unknown. A short outage of the database is
   tolerated while the lease lasts. */
static int adopt(const struct job_run *job, const struct signals *signals, struct holding *holding,
                 struct rowlock_error *error)
{
    int64_t until = rowlock__after(rowlock__now_ms(), job->settings.ttl_ms);

    for (;;) {
        int code = holding->lease ? ROWLOCK_OK
                                  : rowlock_adopt(holding->connection, job->lock, job->token,
                                                  &holding->lease, error);

        if (!code)
            code = rowlock_renew(holding->lease, holding->renew_ms, error);
        if (!is_outage(code) || rowlock__now_ms() >= until)
            return code;
        if (rowlock__is_readable(signals->wait_fd, PAUSE_MS))
            return error->code = ROWLOCK_ECANCELED;
    }
}

int adopt_job(struct job_run *job, const struct signals *signals, struct holding *holding,
              int *claimed)
{
    struct rowlock_error error = {0};

    *claimed = 0;
    holding->renew_ms = job->settings.ttl_ms;
    holding->due_ms = job->due_ms;
    holding->attempt = job->attempt;
    holding->give_back = give_back;
    holding->data = job;
    if (!adopt(job, signals, holding, &error))
        return claimed_run(signals, holding, claimed);
    /* The daemon that claimed the run, or another one, claims it again. failed() records an
       interruption. */
    if (error.code != ROWLOCK_ECANCELED) {
        message("'%s' is not started", job->name);
        finish_not_started(holding, exit_status(error.code), "its lease was not renewed in time\n");
        rowlock_lease_free(holding->lease);
        holding->lease = NULL;
    }
    return failed(signals, holding, &error);
}
