/* SPDX-License-Identifier: Apache-2.0 */
/* The statistics of the results, and the order of the contestants. Pure functions. */
#ifndef BENCH_STATISTICS_H
#define BENCH_STATISTICS_H

#include <stddef.h>

struct bench_spread {
    double median, low, high;
};

/* Sorts `values`. Returns the smallest value that is at least as large as the share q of them; 0
   if there are none. */
double bench_quantile(double *values, size_t n, double q);

/* The median; of an even number, the mean of the middle two. Does not change `values`. */
struct bench_spread bench_spread_of(const double *values, size_t n);

/* The ratios of values from the same repetition, so that a disturbance affects both sides. Above
   1 `ours` is better, also where a smaller value is better (better < 0). */
struct bench_spread bench_ratio(const double *ours, const double *theirs, size_t n, int better);

/*
 * The contestant that is measured as number `turn` of `n` in a repetition. The order alternates: A
 * B C, C B A, A B C. So no contestant is always first, and a machine that slows down slows down all
 * of them.
 */
size_t bench_turn(int repetition, size_t turn, size_t n);

#endif
