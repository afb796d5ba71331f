/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A thousand wait for one name, each once. Client 0 holds it until all others wait, and then lets go:
 * how fast does it go from hand to hand. After half a minute it is enough: who was not served by then is told.
 */
#include "workloads/workload.h"

#include <stdio.h>

#define MOST_S 30
#define SETTLE_US 500000

static void hold_first(const struct bench_measurement *measurement, int client, void *session)
{
    if (client == 0) {
        measurement->peer->acquire(session, measurement->hot);
        bench_enter(measurement->overlap, measurement->hot, 0);
    }
}

static void let_go(const struct bench_measurement *measurement, void *session)
{
    struct bench_crew *crew = measurement->crew;

    while (atomic_load(&crew->step) < measurement->clients - 1)
        bench_rest(1000);
    bench_rest(SETTLE_US);
    bench_leave(measurement->overlap, measurement->hot, 0);
    atomic_store(&crew->stamp, bench_now());
    measurement->peer->release(session, measurement->hot);
}

static void work(const struct bench_measurement *measurement, int client, void *session)
{
    if (client == 0) {
        let_go(measurement, session);
        return;
    }
    atomic_fetch_add(&measurement->crew->step, 1);
    measurement->peer->acquire(session, measurement->hot);
    bench_hold(measurement, measurement->hot, client);
    measurement->peer->release(session, measurement->hot);
}

int bench_crowd(const struct bench_measurement *measurement, double values[BENCH_METRICS])
{
    struct bench_crew *crew = measurement->crew;
    double seconds;

    if (bench_crew_assemble(measurement, hold_first, work))
        return -1;
    bench_crew_go(crew);
    if (bench_crew_await(measurement, MOST_S) < 0)
        return -1;
    if (atomic_load(&crew->stamp) == 0) {
        snprintf(crew->why, sizeof crew->why, "they did not all wait within %d s", MOST_S);
        return -1;
    }
    seconds = (double)(bench_now() - atomic_load(&crew->stamp)) / 1e9;
    values[1] = atomic_load(&crew->done) - 1;
    values[0] = values[1] / seconds;
    if (atomic_load(&crew->done) == measurement->clients)
        atomic_store(&crew->phase, BENCH_STOP);
    return 0;
}
