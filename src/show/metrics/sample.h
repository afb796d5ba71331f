/* SPDX-License-Identifier: Apache-2.0 */
/* Samples, collected by their metric: the text format wants all samples of a metric together. */
#ifndef ROWLOCK_METRICS_SAMPLE_H
#define ROWLOCK_METRICS_SAMPLE_H

#include <stdint.h>
#include <stdio.h>

enum metric {
    BUILD_INFO,
    UP,
    SCRAPE_DURATION,
    LOCKS,
    OLDEST_WAIT,
    LEASE_HELD,
    LEASE_WAITING,
    LEASE_LIMIT,
    LEASE_ACQUIRED,
    LEASE_EXPIRY,
    LEASE_OLDEST_WAIT,
    JOB_RUNNING,
    JOB_STATE,
    JOB_NEXT_RUN,
    JOB_LAST_RUN,
    JOB_LAST_DURATION,
    JOB_LAST_EXIT,
    JOB_LAST_SUCCESS,
    JOB_RUNS,
    SUBJECT_UPDATED,
    SUBJECT_ERROR,
    METRICS
};

struct samples {
    struct {
        FILE *out;
        char *text;
        size_t size;
    } of[METRICS];
};

/* Nonzero: out of memory. */
int samples_open(struct samples *samples);
/* Pairs of label and value, ended by NULL; values are escaped. */
void sample_count(struct samples *samples, enum metric metric, int64_t count, ...)
    __attribute__((sentinel));
/* Milliseconds, written as seconds. */
void sample_time(struct samples *samples, enum metric metric, int64_t ms, ...)
    __attribute__((sentinel));
/* Writes every metric that has samples, with its help and type. Nonzero: out of memory. */
int samples_write(struct samples *samples, FILE *out);
void samples_close(struct samples *samples);

#endif
