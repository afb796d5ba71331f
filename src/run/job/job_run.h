/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A claimed run of a job: a command under the job's lease, whose result is recorded at its end. The
 * verb `job` claims by itself; as a child of `cron` it adopts the lease that cron has claimed. Then
 * execute() runs run_of_job(), and at last the hook of --on-failure runs, if the state has changed.
 */
#ifndef ROWLOCK_JOB_RUN_H
#define ROWLOCK_JOB_RUN_H

#include <stddef.h>
#include <stdint.h>

#include "command/output/words.h"
#include "command/url_lookup.h"
#include "rowlock.h"
#include "run/supervise/holding.h"

/* --on-failure: a command that runs when the record of a run changes the state of its job. */

struct change_hook {
    const char *command; /* for /bin/sh; NULL: none */
    /* its process gets the caller's descriptors, and the caller's signals back */
    const struct descriptors *callers;
    const struct signals *signals;
};

/* The change that a run made, for the command's environment. */
struct job_change {
    const char *job;
    int64_t token, due_ms;           /* of the run; the due time is since 1970 */
    enum rowlock_health before, now; /* of the job */
    int found;                       /* the run is in the history */
    int exit, has_exit;              /* its exit status, if it has one */
    char *output;                    /* its end; malloc'd: job_change_run() frees it */
};

/* Reads from the history whether the recorded run `token` changes the state of the job, compared
   with the latest run before it that was not broken by a user. 1: it does; then job_change_run()
   must follow, which needs no connection. 0: not, or a message was printed. */
int job_change_read(struct rowlock_connection *connection, const char *job, int64_t token,
                    struct job_change *out);
/* Runs the command in a process group of its own, with the end of the run's output as its input and
   ROWLOCK_JOB, ROWLOCK_STATE, ROWLOCK_DUE and ROWLOCK_EXIT in its environment. `waits`: returns
   after its end, and a signal may end us meanwhile; else init collects its process. */
void job_change_run(const struct change_hook *hook, struct job_change *change, int waits);

/* The settings of a job, on the command line of `job` and in a line of a crontab. */

/* Durations are milliseconds; the members are as in struct rowlock_job and struct run. */
struct job_settings {
    const char *on_failure;  /* NULL: not set */
    const char *zone, *note; /* NULL: not set; the memory of the given value */
    int64_t at_least_ms, backoff_ms;
    int64_t max_run_ms;            /* < 0: no limit */
    int64_t ttl_ms, kill_after_ms; /* 0, < 0: not set, until job_settings_settle() */
    int retry, history;
    enum rowlock_missed missed;
};

/* Nothing is set, and the time of a run has no limit. */
struct job_settings job_settings_default(void);

/* The names, without the dashes; ends with NULL. Each has a value. */
extern const char *const job_setting_names[];

/* Sets `name` to `value`. 0; 1: no such setting; -1: the value is wrong, `why` explains it. */
int job_setting_take(struct job_settings *settings, const char *name, const char *value, char *why,
                     size_t size);

/* Chooses ttl and kill_after where they are not set. Call it after all settings are read. 0, or -1
   and why: the settings contradict each other. */
int job_settings_settle(struct job_settings *settings, char *why, size_t size);

/* The job as rowlock_claim expects it; it refers to the texts, and to the schedule. */
struct rowlock_job job_of(const struct job_settings *settings, const char *name,
                          const struct rowlock_schedule *schedule, const char *command);

/* A verb `job`: the caller fills it from the command line. */
struct job_run {
    const char *name;
    struct job_settings settings;
    struct rowlock_schedule *schedule; /* NULL: adopted */
    int64_t token;                     /* of the lease that cron has claimed for us; 0: we claim */
    int64_t due_ms;                    /* of that run */
    int attempt;                       /* of that due time, from 1 */
    struct url url;                    /* that cron gave us; text NULL: none */
    char **argv;
    int conflict; /* exit status if there is nothing to do */
    int verbose;
    struct change_hook hook;
    int recorded; /* this node recorded the result of the run */
    int prefix;   /* the time and `name` before each line of output */

    struct rowlock_want want;
    char lock[256]; /* its name */
};

/* The run for execute(), which refers to `job`; fills want and lock. All other members are set. */
struct run run_of_job(struct job_run *job);

/* Claims the run if it is due; if the due time is a little later, waits for it. An exit status, or
   -N: signal N came; `*claimed`: holding->lease is set. Not due: job->conflict. */
int claim_job(struct job_run *job, const struct signals *signals, struct holding *holding,
              int *claimed);
/* The same for a lease that cron has claimed. */
int adopt_job(struct job_run *job, const struct signals *signals, struct holding *holding,
              int *claimed);

#endif
