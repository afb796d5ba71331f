/* SPDX-License-Identifier: Apache-2.0 */
/* The results of all measurements, and bench.json. */
#ifndef BENCH_RESULT_H
#define BENCH_RESULT_H

#include <jansson.h>

#include "crew.h"
#include "peers/list.h"
#include "workloads/workload.h"

#define BENCH_REPETITIONS 50
#define BENCH_CONTESTANTS 40
#define BENCH_QUANTILES 101 /* 0 % to 100 % */

struct bench_cell { /* a contestant in a workload */
    int taken;      /* repetitions that were measured */
    int failed;
    char why[BENCH_WHY];
    double values[BENCH_METRICS][BENCH_REPETITIONS];
    unsigned long overlaps;
    double client_us, server_us; /* CPU time per operation in the last repetition; 0: unknown */
    double quantile[BENCH_QUANTILES]; /* of the samples in the last repetition; all 0: no samples */
};

struct bench_results {
    const struct bench_peer *contestant[BENCH_CONTESTANTS];
    int contestants;
    const struct bench_workload *workloads; /* a table like bench_workloads */
    const struct bench_pair *pairs;
    int volatile_storage;     /* 1: the folder is in memory, so nothing is durable */
    struct bench_cell *cells; /* [workload][BENCH_CONTESTANTS] */
};

/* The results of `workloads`; free with bench_results_free. NULL if there is no memory. */
struct bench_results *bench_results_new(const struct bench_workload *workloads,
                                        const struct bench_pair *pairs);
void bench_results_free(struct bench_results *results);
struct bench_cell *bench_cell_of(const struct bench_results *results, int workload, int contestant);

/* Adds the results of one repetition from the crew. */
void bench_cell_take(struct bench_cell *cell, struct bench_crew *crew,
                     const double values[BENCH_METRICS], unsigned long overlaps,
                     unsigned long operations);
void bench_cell_fail(struct bench_cell *cell, const char *why);

/* Whether `ours` and `theirs` had the same on disk when their calls returned; *out describes it
   in words. */
int bench_durability(int ours, int theirs, int volatile_storage, const char **out);

/* "contestants", "measurements", "rows"; the caller adds the rest, and owns the reference. */
json_t *bench_results_json(const struct bench_results *results);

#endif
