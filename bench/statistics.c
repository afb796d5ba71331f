/* SPDX-License-Identifier: Apache-2.0 */
/* Quantiles, ratios, and the order of the contestants (statistics.h). */
#include "statistics.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MOST 1000

static int by_value(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;

    return a < b ? -1 : a > b;
}

double bench_quantile(double *values, size_t n, double q)
{
    size_t rank;

    if (n == 0)
        return 0;
    qsort(values, n, sizeof *values, by_value);
    rank = (size_t)ceil(q * (double)n);
    return values[rank == 0 ? 0 : rank - 1];
}

struct bench_spread bench_spread_of(const double *values, size_t n)
{
    struct bench_spread spread = {0, 0, 0};
    double sorted[MOST];

    if (n == 0 || n > MOST)
        return spread;
    memcpy(sorted, values, n * sizeof *values);
    qsort(sorted, n, sizeof *sorted, by_value);
    spread.low = sorted[0];
    spread.high = sorted[n - 1];
    spread.median = (sorted[(n - 1) / 2] + sorted[n / 2]) / 2;
    return spread;
}

struct bench_spread bench_ratio(const double *ours, const double *theirs, size_t n, int better)
{
    double ratio[MOST];

    if (n > MOST)
        n = MOST;
    for (size_t i = 0; i < n; i++)
        ratio[i] = better < 0 ? theirs[i] / ours[i] : ours[i] / theirs[i];
    return bench_spread_of(ratio, n);
}

size_t bench_turn(int repetition, size_t turn, size_t n)
{
    return repetition % 2 == 0 ? turn : n - 1 - turn;
}
