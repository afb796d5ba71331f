/* SPDX-License-Identifier: Apache-2.0 */
/* All contestants in all workloads, alternated. */
#ifndef BENCH_RUN_H
#define BENCH_RUN_H

#include "result.h"

struct bench_options {
    struct bench_place place; /* without url and pid */
    const char
        *workloads; /* these only, with spaces between; "": all, a short run without documents */
    double seconds; /* of a slice; a short run takes a quarter of it */
    int repetitions, quick;
    int takeover_ttl_ms;
    /* Where the server of that name is; *pid of it. NULL: it is not there. */
    const char *(*url_of)(const char *server, int *pid);
    /* A line of progress; may be NULL. */
    void (*progress)(const struct bench_workload *workload, const char *contestant, int repetition,
                     const struct bench_cell *cell);
};

/* Is it one of the words, with spaces between? */
int bench_is_word(const char *words, const char *word);

/* About how many seconds bench_run will take. */
double bench_estimate(const struct bench_options *options, const struct bench_results *results);

/* Fills the cells of results->contestant. 0, or -1: no memory for the clients. */
int bench_run(const struct bench_options *options, struct bench_results *results);

#endif
