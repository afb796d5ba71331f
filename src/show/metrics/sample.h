/* SPDX-License-Identifier: Apache-2.0 */
/* Samples, collected by their metric: the text format wants all samples of a metric together.
   collect.c adds them from the rows of the lists. */
#ifndef ROWLOCK_METRICS_SAMPLE_H
#define ROWLOCK_METRICS_SAMPLE_H

#include <stdint.h>
#include <stdio.h>

/* The metrics in the order in which they are written: name, type, help. Users' rules and dashboards
   depend on the names: seconds are in ..._seconds, and a counter ends in _total. */
#define METRICS_TABLE(XX)                                                                          \
    XX(BUILD_INFO, "rowlock_build_info", "gauge", "The version of rowlock; always 1.")             \
    XX(UP, "rowlock_up", "gauge", "1: the database answered; 0: it did not.")                      \
    XX(SCRAPE_DURATION, "rowlock_scrape_duration_seconds", "gauge", "How long the database took.") \
    XX(LOCKS, "rowlock_locks", "gauge", "Locks by state, as `rowlock ls` lists them.")             \
    XX(OLDEST_WAIT, "rowlock_oldest_wait_seconds", "gauge",                                        \
       "The longest present wait for any lease.")                                                  \
    XX(LEASE_HELD, "rowlock_lease_held", "gauge", "Holders of the name, by mode.")                 \
    XX(LEASE_WAITING, "rowlock_lease_waiting", "gauge", "Waiters for the name.")                   \
    XX(LEASE_LIMIT, "rowlock_lease_limit", "gauge", "Permits that the name has in all.")           \
    XX(LEASE_ACQUIRED, "rowlock_lease_acquired_timestamp_seconds", "gauge",                        \
       "When the earliest holder acquired the name.")                                              \
    XX(LEASE_EXPIRY, "rowlock_lease_expiry_timestamp_seconds", "gauge",                            \
       "When the last lease of the name expires without a renewal.")                               \
    XX(LEASE_OLDEST_WAIT, "rowlock_lease_oldest_wait_seconds", "gauge",                            \
       "The longest present wait for the name.")                                                   \
    XX(JOB_RUNNING, "rowlock_job_running", "gauge", "1: the job runs now.")                        \
    XX(JOB_STATE, "rowlock_job_state", "gauge", "1: the job is in this state.")                    \
    XX(JOB_NEXT_RUN, "rowlock_job_next_run_timestamp_seconds", "gauge",                            \
       "The next due time of the job.")                                                            \
    XX(JOB_LAST_RUN, "rowlock_job_last_run_timestamp_seconds", "gauge",                            \
       "When the last finished run of the job started.")                                           \
    XX(JOB_LAST_DURATION, "rowlock_job_last_duration_seconds", "gauge",                            \
       "The duration of the last finished run of the job.")                                        \
    XX(JOB_LAST_EXIT, "rowlock_job_last_exit_code", "gauge",                                       \
       "The exit status of the last finished run of the job.")                                     \
    XX(JOB_LAST_SUCCESS, "rowlock_job_last_success_timestamp_seconds", "gauge",                    \
       "When the last successful run of the job ended.")                                           \
    XX(JOB_RUNS, "rowlock_job_runs_total", "counter", "Ended runs of the job, by outcome.")        \
    XX(SUBJECT_UPDATED, "rowlock_subject_updated_timestamp_seconds", "gauge",                      \
       "When the refresh that made the subject's data ended.")                                     \
    XX(SUBJECT_ERROR, "rowlock_subject_error", "gauge",                                            \
       "1: the last refresh of the subject failed.")

/* The index of a metric in the table. */
enum metric {
#define XX(metric, ...) metric,
    METRICS_TABLE(XX)
#undef XX
        METRICS
};

/* The lines of each metric so far; "" if it has no sample. */
struct samples {
    struct {
        FILE *out;
        char *text;
        size_t size;
    } of[METRICS];
    int failed; /* no memory for a sample */
};

/* Nonzero: out of memory. Call samples_close() in any case. */
int samples_open(struct samples *samples);
/* Adds a sample. Its labels: pairs of label and value, ended by NULL; values are escaped. */
void sample_count(struct samples *samples, enum metric metric, int64_t count, ...)
    __attribute__((sentinel));
/* The same of milliseconds, written as seconds with three decimals; less than 0 becomes 0. */
void sample_time(struct samples *samples, enum metric metric, int64_t ms, ...)
    __attribute__((sentinel));
/* Writes every metric that has samples, with its help and type. Nonzero: out of memory. */
int samples_write(struct samples *samples, FILE *out);
void samples_close(struct samples *samples);

#endif
