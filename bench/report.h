/* SPDX-License-Identifier: Apache-2.0 */
/* Reports made from bench.json: tables in Markdown, all numbers as data, and those of the plots. */
#ifndef BENCH_REPORT_H
#define BENCH_REPORT_H

#include <jansson.h>
#include <stdio.h>

/* The first page, for people who decide, and the detailed tables. */
void report_page(json_t *bench, FILE *out);
void report_markdown(json_t *bench, FILE *out);

/* Writes contestants.tsv, values.tsv and ratios.tsv into a folder. Returns 0, or -1 with errno. */
int report_data(json_t *bench, const char *folder);

/* Write the files *.dat and *.gp for plots.gp into a folder: those of the first page, and those of
   the tables. Return 0, or -1 with errno. */
int report_page_plots(json_t *bench, const char *folder);
int report_plots(json_t *bench, const char *folder);

/* Return "" and 0 if the field does not exist. */
const char *report_text(json_t *object, const char *key);
double report_number(json_t *object, const char *key);

/* The measurement of a contestant in a workload; NULL if there is none. */
json_t *report_find(json_t *bench, const char *workload, const char *contestant);

/* The "spread" of its metric; NULL if it was not measured. */
json_t *report_spread(json_t *measurement, const char *metric);

/* Prints three significant digits. */
void report_value(double value, FILE *out);

/* Creates FOLDER/NAME.ENDING. NULL with errno: it cannot. */
FILE *report_create(const char *folder, const char *name, const char *ending);

#endif
