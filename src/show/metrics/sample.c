/* SPDX-License-Identifier: Apache-2.0 */
/* Collects samples, and writes them in the text format of Prometheus, version 0.0.4. */
#include "show/metrics/sample.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>

static const struct {
    const char *name, *help;
    bool only_rises;
} metrics[METRICS] = {
    [BUILD_INFO] = {.name = "rowlock_build_info", .help = "The version of rowlock; always 1."},
    [UP] = {.name = "rowlock_up", .help = "1: the database answered; 0: it did not."},
    [SCRAPE_DURATION] = {.name = "rowlock_scrape_duration_seconds",
                         .help = "How long the database took."},
    [LOCKS] = {.name = "rowlock_locks", .help = "Locks by state, as `rowlock ls` lists them."},
    [OLDEST_WAIT] = {.name = "rowlock_oldest_wait_seconds",
                     .help = "The longest present wait for any lease."},
    [LEASE_HELD] = {.name = "rowlock_lease_held", .help = "Holders of the name, by mode."},
    [LEASE_WAITING] = {.name = "rowlock_lease_waiting", .help = "Waiters for the name."},
    [LEASE_LIMIT] = {.name = "rowlock_lease_limit", .help = "Permits that the name has in all."},
    [LEASE_ACQUIRED] = {.name = "rowlock_lease_acquired_timestamp_seconds",
                        .help = "When the earliest holder acquired the name."},
    [LEASE_EXPIRY] = {.name = "rowlock_lease_expiry_timestamp_seconds",
                      .help = "When the last lease of the name expires without a renewal."},
    [LEASE_OLDEST_WAIT] = {.name = "rowlock_lease_oldest_wait_seconds",
                           .help = "The longest present wait for the name."},
    [JOB_RUNNING] = {.name = "rowlock_job_running", .help = "1: the job runs now."},
    [JOB_STATE] = {.name = "rowlock_job_state", .help = "1: the job is in this state."},
    [JOB_NEXT_RUN] = {.name = "rowlock_job_next_run_timestamp_seconds",
                      .help = "The next due time of the job."},
    [JOB_LAST_RUN] = {.name = "rowlock_job_last_run_timestamp_seconds",
                      .help = "When the last finished run of the job started."},
    [JOB_LAST_DURATION] = {.name = "rowlock_job_last_duration_seconds",
                           .help = "The duration of the last finished run of the job."},
    [JOB_LAST_EXIT] = {.name = "rowlock_job_last_exit_code",
                       .help = "The exit status of the last finished run of the job."},
    [JOB_LAST_SUCCESS] = {.name = "rowlock_job_last_success_timestamp_seconds",
                          .help = "When the last successful run of the job ended."},
    [JOB_RUNS] = {.name = "rowlock_job_runs_total",
                  .help = "Ended runs of the job, by outcome.",
                  .only_rises = true},
    [SUBJECT_UPDATED] = {.name = "rowlock_subject_updated_timestamp_seconds",
                         .help = "When the refresh that made the subject's data ended."},
    [SUBJECT_ERROR] = {.name = "rowlock_subject_error",
                       .help = "1: the last refresh of the subject failed."},
};

int samples_open(struct samples *samples)
{
    *samples = (struct samples){0};
    for (int i = 0; i < METRICS; i++) {
        samples->of[i].out = open_memstream(&samples->of[i].text, &samples->of[i].size);
        if (!samples->of[i].out)
            return 1;
    }
    return 0;
}

static void put_value(FILE *out, const char *value)
{
    for (; *value; value++) {
        if (*value == '\n')
            fputs("\\n", out);
        else if (*value == '"' || *value == '\\')
            fprintf(out, "\\%c", *value);
        else
            putc(*value, out);
    }
}

static FILE *begin(struct samples *samples, enum metric metric, va_list labels)
{
    FILE *out = samples->of[metric].out;
    const char *label, *between = "{";

    fputs(metrics[metric].name, out);
    while ((label = va_arg(labels, const char *))) {
        fprintf(out, "%s%s=\"", between, label);
        put_value(out, va_arg(labels, const char *));
        putc('"', out);
        between = ",";
    }
    if (*between == ',')
        putc('}', out);
    return out;
}

void sample_count(struct samples *samples, enum metric metric, int64_t count, ...)
{
    va_list labels;

    va_start(labels, count);
    fprintf(begin(samples, metric, labels), " %" PRId64 "\n", count);
    va_end(labels);
}

void sample_time(struct samples *samples, enum metric metric, int64_t ms, ...)
{
    va_list labels;

    if (ms < 0)
        ms = 0;
    va_start(labels, ms);
    fprintf(begin(samples, metric, labels), " %" PRId64 ".%03d\n", ms / 1000, (int)(ms % 1000));
    va_end(labels);
}

int samples_write(struct samples *samples, FILE *out)
{
    for (int i = 0; i < METRICS; i++)
        if (fflush(samples->of[i].out))
            return 1;
    for (int i = 0; i < METRICS; i++)
        if (samples->of[i].size > 0)
            fprintf(out, "# HELP %s %s\n# TYPE %s %s\n%s", metrics[i].name, metrics[i].help,
                    metrics[i].name, metrics[i].only_rises ? "counter" : "gauge",
                    samples->of[i].text);
    return 0;
}

void samples_close(struct samples *samples)
{
    for (int i = 0; i < METRICS; i++) {
        if (samples->of[i].out)
            fclose(samples->of[i].out);
        free(samples->of[i].text);
    }
}
