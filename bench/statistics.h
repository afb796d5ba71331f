/* SPDX-License-Identifier: Apache-2.0 */
/* What is made of the numbers, and in which order they are taken. Pure functions. */
#ifndef BENCH_STATISTICS_H
#define BENCH_STATISTICS_H

#include <stddef.h>

struct bench_spread {
    double median, low, high;
};

/* Sorts `values`. The smallest value below or at which the share q of them lies; 0 of none. */
double bench_quantile(double *values, size_t n, double q);

/* Does not touch `values`. The median of an even number is the mean of the two in the middle. */
struct bench_spread bench_spread_of(const double *values, size_t n);

/*
 * The ratios of the values of the same repetition, so that what disturbed a repetition disturbs both
 * sides. Above 1 `ours` is the better one, also where a smaller value is better (better < 0).
 */
struct bench_spread bench_ratio(const double *ours, const double *theirs, size_t n, int better);

/* Who is measured as `turn` of `n` in a repetition: there and back again, A B C, C B A, A B C, so that
   nobody is always the first, and a machine that slows down slows down all. */
size_t bench_turn(int repetition, size_t turn, size_t n);

#endif
