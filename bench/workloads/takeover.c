/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The holder is killed by SIGKILL while another client waits. Measures the time until that one has
 * the lock. A lock of a session ends when the server notices; a lock that expires was granted, for
 * its ttl, a third of a second before.
 */
#include "workloads/workload.h"

#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#define LATE_S 15 /* a takeover later than the ttl is a failure */
#define QUEUE_US 300000

enum { NOBODY, HELD, WAITING, TAKEN }; /* values of crew->step */

static void hold(const struct bench_measurement *measurement)
{
    void *session;

    bench_reports_to = measurement->crew;
    session = measurement->peer->open(measurement->place, 0);
    measurement->peer->acquire(session, measurement->hot);
    bench_enter(measurement->overlap, measurement->hot, 0);
    atomic_store(&measurement->crew->step, HELD);
    for (;;)
        pause();
}

static void wait_for_it(const struct bench_measurement *measurement)
{
    struct bench_crew *crew = measurement->crew;
    void *session;

    bench_reports_to = crew;
    session = measurement->peer->open(measurement->place, 1);
    while (atomic_load(&crew->step) != HELD)
        bench_rest(500);
    atomic_store(&crew->step, WAITING);
    measurement->peer->acquire(session, measurement->hot);
    atomic_store(&crew->stamp, bench_now());
    bench_enter(measurement->overlap, measurement->hot, 1);
    atomic_store(&crew->step, TAKEN);
    bench_leave(measurement->overlap, measurement->hot, 1);
    measurement->peer->release(session, measurement->hot);
    measurement->peer->close(session);
    _exit(0);
}

static int until(const struct bench_measurement *measurement, int step)
{
    struct bench_crew *crew = measurement->crew;
    int most_s = measurement->place->ttl_ms / 1000 + LATE_S;
    long long end = bench_now() + most_s * 1000000000LL;

    while (atomic_load(&crew->step) < step) {
        if (atomic_load(&crew->failed))
            return -1;
        if (bench_now() > end) {
            snprintf(crew->why, sizeof crew->why, "not taken over in %d s", most_s);
            return -1;
        }
        bench_rest(500);
    }
    return 0;
}

static void bury(int pid)
{
    if (pid > 0) {
        kill(pid, SIGKILL);
        waitpid(pid, NULL, 0);
    }
}

static int race(const struct bench_measurement *measurement, int *holder, double *seconds)
{
    struct bench_crew *crew = measurement->crew;
    long long killed;

    if (until(measurement, WAITING))
        return -1;
    bench_rest(QUEUE_US); /* the waiter is in the queue by now */
    /* The holder is marked as gone before it is killed: the waiter may be inside before this
       process continues. */
    bench_buried(measurement->overlap, measurement->hot, 0);
    killed = bench_now();
    kill(*holder, SIGKILL);
    if (until(measurement, TAKEN))
        return -1;
    *seconds = (double)(atomic_load(&crew->stamp) - killed) / 1e9;
    return 0;
}

double bench_about_takeover(const struct bench_measurement *measurement)
{
    return 0.4 + (measurement->peer->expires ? measurement->place->ttl_ms / 1000.0 : 0);
}

int bench_takeover(const struct bench_measurement *measurement, double values[BENCH_METRICS])
{
    int holder, waiter, result;

    if (bench_guarded(measurement->crew, NULL, measurement->place))
        return -1;
    holder = bench_fork();
    if (holder == 0)
        hold(measurement);
    waiter = bench_fork();
    if (waiter == 0)
        wait_for_it(measurement);
    result = race(measurement, &holder, &values[0]);
    bury(holder);
    if (result == 0 && waiter > 0) /* the waiter releases by itself */
        waitpid(waiter, NULL, 0);
    else
        bury(waiter);
    return result;
}
