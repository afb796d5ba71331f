/* SPDX-License-Identifier: Apache-2.0 */
/* A claimed run of a job: a command under the job's lease, whose result is recorded at its end. */
#ifndef ROWLOCK_JOB_RUN_H
#define ROWLOCK_JOB_RUN_H

#include <stddef.h>
#include <stdint.h>

#include "command/output/words.h"
#include "rowlock.h"
#include "run/supervise/holding.h"

/* --on-failure: a command that runs when the record of a run changes the state of its job. */

struct change_hook {
    const char *command; /* for /bin/sh; NULL: none */
    const struct descriptors *callers;
    const struct signals *signals;
};

struct job_change {
    const char *job;
    int64_t token, due_ms;
    enum rowlock_health before, now;
    int found, exit, has_exit;
    char *output;
};

/* Reads what the recorded run `token` means for the state of the job. 1: it changes the state; then
   job_change_run() must follow, which needs no connection. */
int job_change_read(struct rowlock_connection *connection, const char *job, int64_t token,
                    struct job_change *out);
/* Runs the command. `waits`: returns after its end; else init collects its process. */
void job_change_run(const struct change_hook *hook, struct job_change *change, int waits);

/* The settings of a job, on the command line of `job` and in a line of a crontab. */

struct job_settings {
    const char *on_failure;  /* NULL: not set */
    const char *zone, *note; /* NULL: not set; the memory of the given value */
    int64_t at_least_ms, backoff_ms;
    int64_t max_run_ms; /* < 0: no limit */
    int64_t ttl_ms, kill_after_ms;
    int retry, history; /* as in struct rowlock_job */
    enum rowlock_missed missed;
};

struct job_settings job_settings_default(void);

/* The names, without the dashes; ends with NULL. Each has a value. */
extern const char *const job_setting_names[];

/* Sets `name` to `value`. 0; 1: no such setting; -1: the value is wrong, `why` explains it. */
int job_setting_take(struct job_settings *settings, const char *name, const char *value, char *why,
                     size_t size);

/* 0, or -1 and why: the settings contradict each other. */
int job_settings_check(const struct job_settings *settings, char *why, size_t size);
/* Call it after all settings are read. */
void job_settings_settle(struct job_settings *settings);

struct rowlock_job job_of(const struct job_settings *settings, const char *name,
                          const struct rowlock_schedule *schedule, const char *command);

struct job_run {
    const char *name;
    struct job_settings settings;
    struct rowlock_schedule *schedule; /* NULL: adopted */
    int64_t token;                     /* of the lease that cron has claimed for us; 0: we claim */
    int64_t due_ms;                    /* of that run */
    int attempt;
    char *url; /* that cron gave us; NULL: none */
    char **argv;
    int conflict; /* exit status if there is nothing to do */
    int verbose;
    struct change_hook hook;
    int recorded; /* this node recorded the result of the run */
    int prefix;   /* the time and `name` before each line of output */

    struct rowlock_want want;
    char lock[256]; /* its name */
};

/* The run for execute(). `verbose` and the other members are set. */
struct run run_of_job(struct job_run *job);

/* Claims the run if it is due. An exit status, or -N: signal N came; `*claimed`: holding->lease is
   set. */
int claim_job(struct job_run *job, const struct signals *signals, struct holding *holding,
              int *claimed);
/* The same for a lease that cron has claimed. */
int adopt_job(struct job_run *job, const struct signals *signals, struct holding *holding,
              int *claimed);

#endif
