/* SPDX-License-Identifier: Apache-2.0 */
/* Claims, finishes and reads jobs (jobs.h). */
#include "lib/jobs.h"

#include "lib/grants.h"
#include "lib/lease.h"

struct rowlock_job t_daily_job(const char *name)
{
    static struct rowlock_schedule *daily; /* for the program's life */

    if (!daily)
        t_ok(rowlock_schedule_open("every 1d", NULL, &daily, NULL, &t_error));
    return (struct rowlock_job){.name = name, .schedule = daily, .ttl_ms = HOUR};
}

const char *t_job_lock(const struct rowlock_job *job)
{
    return t_say("job:%s", job->name);
}

struct rowlock_claim t_claim(struct rowlock_connection *connection, const struct rowlock_job *job,
                             struct rowlock_lease **lease)
{
    struct rowlock_claim claim = {.now_ms = 0};

    *lease = NULL;
    t_ok(rowlock_claim(connection, job, &claim, lease, &t_error));
    t_int(claim.claimed == ROWLOCK_JOB_CLAIMED, *lease != NULL);
    return claim;
}

struct rowlock_lease *t_claimed(struct rowlock_connection *connection,
                                const struct rowlock_job *job)
{
    struct rowlock_lease *lease;
    enum rowlock_claimed answer = t_claim(connection, job, &lease).claimed;

    if (answer != ROWLOCK_JOB_CLAIMED)
        print_message("# not claimed: %s; %s\n", t_error.text, t_all_rows(t_native()));
    t_int(answer, ROWLOCK_JOB_CLAIMED);
    return lease;
}

void t_finish(struct rowlock_lease *lease, int status, const char *output)
{
    t_ok(rowlock_finish(lease, &(struct rowlock_result){.exit = status, .output = output},
                        &t_error));
    rowlock_lease_free(lease);
}

void t_job_is_due_in(struct rowlock_connection *connection, const char *name, long long ms)
{
    t_sql(connection, "UPDATE %s SET due = %s + (%lld) WHERE name = '%s'", t_table("job"),
          t_engine()->now_ms, ms, t_key(name));
}

static int see_job(const struct rowlock_job_view *job, void *data)
{
    struct job_seen *seen = data;

    seen->token = job->running.token;
    return 0;
}

static int see_run(const struct rowlock_run *run, void *data)
{
    struct job_seen *seen = data;

    if (seen->runs++ == 0) {
        seen->newest = run->token;
        seen->outcome = run->outcome;
        seen->exit = run->exit;
        seen->retry_number = run->retry_number;
    }
    seen->running += run->outcome == ROWLOCK_RUN_RUNNING;
    return 0;
}

struct job_seen t_job_seen(struct rowlock_connection *connection, void *hand,
                           const struct rowlock_job *job)
{
    struct job_seen seen = {.runs = 0};

    t_ok(rowlock_jobs(connection, job->name, see_job, &seen, &t_error));
    t_ok(rowlock_runs(connection, job->name, see_run, &seen, &t_error));
    seen.leases = leases_of(hand, t_job_lock(job));
    return seen;
}

int t_job_runs(struct rowlock_connection *connection, void *hand, const struct rowlock_job *job)
{
    struct job_seen seen = t_job_seen(connection, hand, job);

    t_true(seen.running <= 1);
    t_int(seen.leases, seen.running);
    t_int(seen.token, seen.running ? seen.newest : 0);
    t_int(t_odd_rows(hand), 0);
    if (seen.running)
        t_int(lease_rows(hand, (long)seen.token), 1);
    return seen.running;
}

const char *t_last_due(void)
{
    return t_facts()->plain ? "last_due" : "last";
}
