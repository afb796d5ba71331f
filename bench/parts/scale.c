/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How far one database carries a farm.
 * scale wait URL N: so many callers, each with a connection of its own, wait for one lease. Prints
 * a line when all are in the queue. After a line on standard input the holder releases, and each
 * caller holds the lease once: prints how fast it passes from one to the next, in a minute at most.
 * scale hold URL N: 8 connections acquire so many leases together, and renew all of them 5 times.
 * Prints a line for each, and then holds them until its standard input ends.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "rate.h"
#include "rowlock.h"

#define HOUR 3600000
#define OWNERS 8
#define RENEWALS 5
#define MINUTE_S 60

static const struct rowlock_want hot = {.name = "scale:hot"};
static const char *url;
static double *released; /* the times of the releases, in seconds; the lease protects it */
static atomic_int served;
static int share; /* the leases of each owner */
static atomic_int owners;
static pthread_barrier_t together;

/* ---- callers that wait ----------------------------------------------------------------------- */

static void *wait_once(void *data)
{
    struct rowlock_connection *connection = bench_connect(url);
    struct rowlock_lease *lease;

    (void)data;
    bench_acquire(connection, &hot, 1, &lease);
    released[atomic_load(&served) + 1] = bench_now();
    atomic_fetch_add(&served, 1);
    bench_release(lease);
    rowlock_close(connection);
    return NULL;
}

static int count(const struct rowlock_holder *holder, void *data)
{
    *(int *)data += !holder->token;
    return 0;
}

static void await_queue(struct rowlock_connection *connection, int n)
{
    struct rowlock_error error;
    int found = 0;

    while (found < n) {
        usleep(500000);
        found = 0;
        if (rowlock_list(connection, hot.name, count, &found, &error))
            bench_die("%s", error.text);
    }
}

static void print_handovers(void)
{
    int n = atomic_load(&served);
    double all = released[n] - released[0];

    for (int i = 0; i < n; i++)
        released[i] = released[i + 1] - released[i];
    qsort(released, (size_t)n, sizeof *released, bench_by_value);
    if (n)
        printf("%d hand-overs in %.1f s, %.0f a second; median %.1f ms, p99 %.1f, longest %.1f\n",
               n, all, n / all, released[n / 2] * 1e3, released[n * 99 / 100] * 1e3,
               released[n - 1] * 1e3);
    else
        printf("no hand-over\n");
}

static void wait_in_crowd(int n)
{
    struct rowlock_connection *connection = bench_connect(url);
    struct rowlock_lease *lease;
    pthread_t *threads = calloc((size_t)n, sizeof *threads);
    double began = bench_now();

    bench_acquire(connection, &hot, 1, &lease);
    released = calloc((size_t)n + 1, sizeof *released);
    bench_start_threads(threads, n, wait_once, NULL);
    await_queue(connection, n);
    printf("%d callers wait, after %.0f s\n", n, bench_now() - began);
    fflush(stdout);
    getchar();
    released[0] = bench_now();
    bench_release(lease);
    while (atomic_load(&served) < n && bench_now() - released[0] < MINUTE_S)
        usleep(10000);
    print_handovers();
    exit(0); /* the callers that still wait end with the process */
}

/* ---- leases that are held -------------------------------------------------------------------- */

static void renew_all(struct rowlock_lease **leases)
{
    int *codes = calloc((size_t)share, sizeof *codes);
    struct rowlock_error error;

    if (rowlock_renew_all(leases, (size_t)share, HOUR, codes, &error))
        bench_die("%s", error.text);
    free(codes);
}

static void *hold_share(void *data)
{
    struct rowlock_connection *connection = bench_connect(url);
    struct rowlock_lease **leases = calloc((size_t)share, sizeof(struct rowlock_lease *));
    int owner = atomic_fetch_add(&owners, 1);
    char name[64];
    struct rowlock_want want = {.name = name};

    (void)data;
    for (int i = 0; i < share; i++) {
        snprintf(name, sizeof name, "scale:%d:%d", owner, i);
        bench_acquire(connection, &want, 1, &leases[i]);
    }
    pthread_barrier_wait(&together);
    for (int i = 0; i < RENEWALS; i++) {
        pthread_barrier_wait(&together);
        renew_all(leases);
        pthread_barrier_wait(&together);
    }
    pthread_barrier_wait(&together);
    for (int i = 0; i < share; i++)
        rowlock_lease_free(leases[i]);
    free(leases);
    rowlock_close(connection);
    return NULL;
}

static void hold_many(int n)
{
    pthread_t *threads = calloc(OWNERS, sizeof *threads);
    double began = bench_now();

    share = n / OWNERS;
    pthread_barrier_init(&together, NULL, OWNERS + 1);
    bench_start_threads(threads, OWNERS, hold_share, NULL);
    pthread_barrier_wait(&together);
    printf("%d leases acquired in %.0f s, %.0f a second\n", share * OWNERS, bench_now() - began,
           share * OWNERS / (bench_now() - began));
    for (int i = 0; i < RENEWALS; i++) {
        began = bench_now();
        pthread_barrier_wait(&together);
        pthread_barrier_wait(&together);
        printf("all renewed in %.2f s\n", bench_now() - began);
    }
    fflush(stdout);
    while (getchar() != EOF)
        ;
    pthread_barrier_wait(&together);
    bench_join_threads(threads, OWNERS);
}

int main(int argc, char **argv)
{
    int n = argc == 4 ? atoi(argv[3]) : 0;

    if (n < OWNERS)
        bench_die("usage: scale wait|hold URL N");
    url = argv[2];
    if (!strcmp(argv[1], "wait"))
        wait_in_crowd(n);
    else
        hold_many(n);
    return 0;
}
