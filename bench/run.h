/* SPDX-License-Identifier: Apache-2.0 */
/* Runs all contestants in all workloads, alternated. */
#ifndef BENCH_RUN_H
#define BENCH_RUN_H

#include "result.h"

struct bench_options {
    struct bench_place place; /* without url and pid */
    const char
        /* only these, separated by spaces; "": all, but in a short run without documents */
        *workloads;
    double seconds; /* of a slice; a short run uses a quarter of it */
    int repetitions, quick;
    int takeover_ttl_ms;
    /* The URL of the server of that name, with its *pid. NULL if it does not run. */
    const char *(*url_of)(const char *server, int *pid);
    /* Receives a line of progress; may be NULL. */
    void (*progress)(const struct bench_workload *workload, const char *contestant, int repetition,
                     const struct bench_cell *cell);
};

/* Whether `word` is among the words, which are separated by spaces. */
int bench_is_word(const char *words, const char *word);

/* Estimates how many seconds bench_run will take. */
double bench_estimate(const struct bench_options *options, const struct bench_results *results);

/* Fills the cells of results->contestant. Returns 0, or -1 if there is no memory for the
   clients. */
int bench_run(const struct bench_options *options, struct bench_results *results);

#endif
