/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Acquire and release repeatedly: each client on names of its own, on one of a million, or all on
 * one.
 */
#include <stdio.h>

#include "workloads/workload.h"

static void once(const struct bench_measurement *measurement, int client, void *session,
                 unsigned long i)
{
    unsigned name = bench_pick(measurement, client, i);

    measurement->peer->acquire(session, name);
    bench_hold(measurement, name, client);
    measurement->peer->release(session, name);
}

/* Uses every name once in the first repetition, so that creating names is not measured. With a
   million names it is. */
static void warm(const struct bench_measurement *measurement, int client, void *session)
{
    unsigned long n = measurement->repetition == 0 ? measurement->names : 3;

    for (unsigned long i = 0; i < n && measurement->names; i++)
        once(measurement, client, session, i);
}

static void work(const struct bench_measurement *measurement, int client, void *session)
{
    atomic_ulong *count = &measurement->crew->client[client].count;

    for (unsigned long i = 0; bench_working(measurement->crew); i++) {
        once(measurement, client, session, i);
        if (bench_working(measurement->crew))
            atomic_fetch_add_explicit(count, 1, memory_order_relaxed);
    }
}

int bench_throughput(const struct bench_measurement *measurement, double values[BENCH_METRICS])
{
    struct bench_crew *crew = measurement->crew;
    long long began;
    double used;

    if (bench_crew_assemble(measurement, warm, work))
        return -1;
    used = bench_cpu_us(measurement->place->pid);
    began = bench_now();
    bench_crew_go(crew);
    if (bench_crew_await(measurement, measurement->seconds) < 0)
        return -1;
    values[1] = (double)bench_total(measurement);
    if (values[1] <= 0) {
        snprintf(crew->why, sizeof crew->why, "no client acquired it in %g s",
                 measurement->seconds);
        bench_crew_stop(measurement);
        return -1;
    }
    values[0] = values[1] * 1e9 / (double)(bench_now() - began);
    crew->server_us = bench_cpu_us(measurement->place->pid) - used;
    return bench_crew_stop(measurement);
}

int bench_hot(const struct bench_measurement *measurement, double values[BENCH_METRICS])
{
    double least = 100, most = 0, sum;

    if (bench_throughput(measurement, values))
        return -1;
    sum = (double)bench_total(measurement);
    for (int i = 0; i < measurement->clients && sum > 0; i++) {
        double share = 100 * (double)atomic_load(&measurement->crew->client[i].count) / sum;

        least = share < least ? share : least;
        most = share > most ? share : most;
    }
    values[1] = most;
    values[2] = least;
    return 0;
}
