/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The time from a release of a lease to the next grant: handover URL [WAITERS [HANDOVERS [AIM]]].
 * AIM is a limit for the median in milliseconds. Every waiter is a thread with a connection of its
 * own. A waiter that is granted the lease records the time, releases, and queues again.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "rate.h"
#include "rowlock.h"

struct race {
    const char *url;
    int wanted, interrupt[2];
    atomic_int ready, begun;
    /* time of the last release in seconds; the lease protects it and the fields below */
    double released;
    int done;
    double *ms;
};

/* Called under the lease. The first grants only fill the queue. */
static void stamp(struct race *race)
{
    if (race->released > 0 && race->done < race->wanted)
        race->ms[race->done++] = (bench_now() - race->released) * 1e3;
    if (race->done == race->wanted && write(race->interrupt[1], "!", 1) != 1)
        bench_die("no pipe");
    race->released = bench_now();
}

static void *wait_in_line(void *data)
{
    static const struct rowlock_want want = {.name = "bench:handover"};
    static const struct rowlock_terms terms = {.wait_ms = -1, .ttl_ms = 60000};
    struct race *race = data;
    struct rowlock_options options = {
        .interrupt_fd = race->interrupt[0], .connect_ms = 60000, .statement_ms = 60000};
    struct rowlock_connection *connection = NULL;
    struct rowlock_lease *lease;
    struct rowlock_error error;
    int code = rowlock_open(race->url, &options, &connection, &error);

    if (code)
        bench_die("%s", error.text);
    atomic_fetch_add(&race->ready, 1);
    while (!atomic_load(&race->begun))
        usleep(1000);
    while (!(code = rowlock_acquire(connection, &want, 1, &terms, &lease, &error))) {
        stamp(race);
        code = rowlock_release(lease, &error);
        rowlock_lease_free(lease);
        if (code)
            break;
    }
    if (code != ROWLOCK_ECANCELED)
        bench_die("%s", error.text);
    rowlock_close(connection);
    return NULL;
}

static void run_race(struct race *race, int waiters)
{
    pthread_t *threads = calloc((size_t)waiters, sizeof *threads);

    bench_start_threads(threads, waiters, wait_in_line, race);
    while (atomic_load(&race->ready) < waiters)
        usleep(10000);
    atomic_store(&race->begun, 1);
    bench_join_threads(threads, waiters);
}

int main(int argc, char **argv)
{
    struct race race = {.wanted = argc > 3 ? atoi(argv[3]) : 500};
    int waiters = argc > 2 ? atoi(argv[2]) : 10;
    double aim = argc > 4 ? atof(argv[4]) : 0, median;

    if (argc < 2 || waiters < 2 || race.wanted < 1)
        bench_die("usage: handover URL [WAITERS [HAND-OVERS [AIM]]]");
    race.url = argv[1];
    race.ms = calloc((size_t)race.wanted, sizeof *race.ms);
    if (pipe(race.interrupt) || !race.ms)
        bench_die("no pipe or memory");
    run_race(&race, waiters);
    qsort(race.ms, (size_t)race.wanted, sizeof *race.ms, bench_by_value);
    median = race.ms[race.wanted / 2];
    printf("hand-over, %4d waiters: p50 %.2f ms, p99 %.2f ms, most %.2f ms (%d of them)", waiters,
           median, race.ms[race.wanted * 99 / 100], race.ms[race.wanted - 1], race.wanted);
    if (aim > 0)
        printf(", aim p50 %.2f%s", aim, median <= aim ? "" : "  missed");
    putchar('\n');
    free(race.ms);
    return 0;
}
