/* SPDX-License-Identifier: Apache-2.0 */
/* What people read of bench.json: a table in Markdown, and the data of the plots. */
#ifndef BENCH_REPORT_H
#define BENCH_REPORT_H

#include <jansson.h>
#include <stdio.h>

void report_markdown(json_t *bench, FILE *out);

/* Writes *.dat, which plots.gp reads, into a folder. 0, or -1 and errno. */
int report_plots(json_t *bench, const char *folder);

/* "" and 0 where it is not there. */
const char *report_text(json_t *object, const char *key);
double report_number(json_t *object, const char *key);

/* The measurement of a contestant in a workload; NULL: none. */
json_t *report_find(json_t *bench, const char *workload, const char *contestant);

/* "spread" of its metric; NULL: none was taken. */
json_t *report_spread(json_t *measurement, const char *metric);

#endif
