/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A thousand clients wait for one name, each once. Client 0 holds it until all others wait and the
 * server is idle, so that no client is still queuing up; then it releases the name. Measures how
 * fast the name passes from client to client. Stops after 15 s and reports how many were served.
 */
#include "workloads/workload.h"

#include <limits.h>
#include <stdio.h>

#define GATHER_S 60 /* the longest wait until all are queued */
#define SERVE_S 15  /* the longest time from then on */
#define SETTLE_US 500000
#define SETTLE_S 40    /* the longest time until the server has nothing left to do for them */
#define USUAL_RATE 200 /* handovers per second, for the estimate */

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
    bench_await_quiet(measurement->place->pid, INT_MAX, SETTLE_S);
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
    atomic_fetch_add(&measurement->crew->client[client].count, 1);
    bench_hold(measurement, measurement->hot, client);
    measurement->peer->release(session, measurement->hot);
}

/* Returns 0 when all were served, or the time has passed. */
static int watch(const struct bench_measurement *measurement)
{
    struct bench_crew *crew = measurement->crew;
    long long gather_until = bench_now() + GATHER_S * 1000000000LL, let_go_at;
    int rest;

    while ((rest = bench_crew_await(measurement, 0.02)) > 0) {
        let_go_at = atomic_load(&crew->stamp);
        if (let_go_at && bench_now() - let_go_at >= SERVE_S * 1000000000LL)
            return 0;
        if (!let_go_at && bench_now() > gather_until) {
            snprintf(crew->why, sizeof crew->why, "they did not all wait within %d s", GATHER_S);
            return -1;
        }
    }
    return rest;
}

double bench_about_crowd(const struct bench_measurement *measurement)
{
    double serve = (double)measurement->clients / USUAL_RATE;

    return SETTLE_S / 2.0 + 0.004 * measurement->clients + (serve < SERVE_S ? serve : SERVE_S);
}

int bench_crowd(const struct bench_measurement *measurement, double values[BENCH_METRICS])
{
    struct bench_crew *crew = measurement->crew;
    double seconds;

    if (bench_crew_assemble(measurement, hold_first, work))
        return -1;
    bench_crew_go(crew);
    if (watch(measurement))
        return -1;
    seconds = (double)(bench_now() - atomic_load(&crew->stamp)) / 1e9;
    values[1] = (double)bench_total(measurement);
    if (values[1] <= 0) {
        snprintf(crew->why, sizeof crew->why, "no client was served within %d s", SERVE_S);
        return -1;
    }
    values[0] = values[1] / seconds;
    if (atomic_load(&crew->done) == measurement->clients)
        atomic_store(&crew->phase, BENCH_STOP);
    return 0;
}
