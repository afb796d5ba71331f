/* SPDX-License-Identifier: Apache-2.0 */
/* The settings of a job, on the command line of `job` and in a line of a crontab. */
#ifndef ROWLOCK_JOB_SETTINGS_H
#define ROWLOCK_JOB_SETTINGS_H

#include <stddef.h>
#include <stdint.h>

#include "rowlock.h"

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

#endif
