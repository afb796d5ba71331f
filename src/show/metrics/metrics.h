/* SPDX-License-Identifier: Apache-2.0 */
/* The state of a farm in the text format of Prometheus, for the verb `metrics` and for /metrics of
   serve: gather the rows of three lists, then write them. */
#ifndef ROWLOCK_METRICS_H
#define ROWLOCK_METRICS_H

#include <stdio.h>

#include "rowlock.h"

struct metrics;

/* Names of locks are written only if they match the pattern `names`; NULL: none, locks are only
   counted. Returns NULL without memory. */
struct metrics *metrics_new(const char *names);

/* Each adds one lock, job or subject: the visitors of rowlock_list, rowlock_jobs and
   rowlock_subjects, with the metrics as their data. Out of memory is remembered for
   metrics_end(). */
int metrics_lock(const struct rowlock_holder *holder, void *metrics);
int metrics_job(const struct rowlock_job_view *job, void *metrics);
int metrics_subject(const struct rowlock_subject_view *subject, void *metrics);

/* Writes a sample for each, and frees the metrics. `status` is that of the queries, which took
   `took_ms`: when it is not STATUS_OK, or `metrics` is NULL, it writes rowlock_up 0. Returns
   `status`, or STATUS_FAILED after a message. */
int metrics_end(struct metrics *metrics, int status, int64_t took_ms, FILE *out);

#endif
