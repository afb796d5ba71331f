/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The time from a call that releases to the return of another client's call that acquires. The
 * holder waits a moment, so that the others queue, records the time, releases, and queues again. A
 * client that acquires the lock twice in a row does not count as a handover.
 */
#include "workloads/workload.h"

#include "statistics.h"

#include <stdio.h>

/* Called under the lock; crew->step is the client that released last, from 1. */
static void take(const struct bench_measurement *measurement, int client)
{
    struct bench_crew *crew = measurement->crew;
    int last = atomic_load(&crew->step);

    if (last != 0 && last != client + 1 && bench_working(crew))
        bench_sample(crew, (double)(bench_now() - atomic_load(&crew->stamp)) / 1e6);
}

static void work(const struct bench_measurement *measurement, int client, void *session)
{
    struct bench_crew *crew = measurement->crew;

    while (bench_working(crew)) {
        measurement->peer->acquire(session, measurement->hot);
        take(measurement, client);
        bench_hold(measurement, measurement->hot, client);
        atomic_store(&crew->step, client + 1);
        atomic_store(&crew->stamp, bench_now());
        measurement->peer->release(session, measurement->hot);
    }
}

int bench_handover(const struct bench_measurement *measurement, double values[BENCH_METRICS])
{
    struct bench_crew *crew = measurement->crew;
    unsigned n;

    if (bench_crew_assemble(measurement, NULL, work))
        return -1;
    bench_crew_go(crew);
    if (bench_crew_await(measurement, measurement->seconds) < 0 || bench_crew_stop(measurement))
        return -1;
    n = atomic_load(&crew->sampled);
    n = n < BENCH_SAMPLES ? n : BENCH_SAMPLES;
    if (n == 0) {
        snprintf(crew->why, sizeof crew->why, "no hand-over in %g s", measurement->seconds);
        return -1;
    }
    values[0] = bench_quantile(crew->sample, n, 0.5);
    values[1] = bench_quantile(crew->sample, n, 0.99);
    values[2] = n;
    return 0;
}
