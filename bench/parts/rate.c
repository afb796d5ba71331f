/* SPDX-License-Identifier: Apache-2.0 */
/* Alternates two contestants and compares their rates (rate.h). */
#include "rate.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "rowlock.h"

#define MAX_WORKERS 64
#define MAX_ROUNDS 64
#define DAY 86400000

struct shared {
    atomic_int turn; /* -1: stop, 0: rest, 1: ours, 2: theirs */
    atomic_int ready;
    _Alignas(64) struct {
        atomic_ulong count;
        char apart[64 - sizeof(atomic_ulong)];
    } worker[MAX_WORKERS];
};

void bench_die(const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
    exit(1);
}

static void rest(int ms)
{
    struct timespec time = {ms / 1000, ms % 1000 * 1000000L};

    nanosleep(&time, NULL);
}

double bench_now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static void work(const struct comparison *comparison, const char *url, int worker,
                 struct shared *shared)
{
    void (*once[])(void *, unsigned long) = {NULL, comparison->ours, comparison->theirs};
    void *state = comparison->open(url, worker);
    int turn;

    for (unsigned long i = 0; i < 100; i++)
        once[1 + i % 2](state, i / 2);
    atomic_fetch_add(&shared->ready, 1);
    for (unsigned long i = 0; (turn = atomic_load(&shared->turn)) >= 0; i++) {
        if (turn == 0) {
            rest(1);
            continue;
        }
        once[turn](state, i);
        atomic_fetch_add_explicit(&shared->worker[worker].count, 1, memory_order_relaxed);
    }
    comparison->close(state);
    exit(0);
}

static unsigned long total(struct shared *shared, int workers)
{
    unsigned long sum = 0;

    for (int i = 0; i < workers; i++)
        sum += atomic_load(&shared->worker[i].count);
    return sum;
}

static double slice(struct shared *shared, int workers, int turn, int slice_ms)
{
    unsigned long before = total(shared, workers);
    double began = bench_now(), rate;

    atomic_store(&shared->turn, turn);
    rest(slice_ms);
    rate = (double)(total(shared, workers) - before) / (bench_now() - began);
    atomic_store(&shared->turn, 0);
    rest(5);
    return rate;
}

int bench_by_value(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;

    return a < b ? -1 : a > b;
}

void bench_headline(void)
{
    printf("%-58s %4s %9s %9s %7s %15s %6s\n", "ours / theirs", "con.", "ours/s", "theirs/s",
           "ratio", "spread", "aim");
}

static void print_line(const struct comparison *comparison, int workers, double *ratio,
                       double *ours, double *theirs, int rounds)
{
    qsort(ratio, (size_t)rounds, sizeof *ratio, bench_by_value);
    qsort(ours, (size_t)rounds, sizeof *ours, bench_by_value);
    qsort(theirs, (size_t)rounds, sizeof *theirs, bench_by_value);
    printf("%-58s %4d %9.0f %9.0f %7.2f   %5.2f .. %5.2f", comparison->title, workers,
           ours[rounds / 2], theirs[rounds / 2], ratio[rounds / 2], ratio[0], ratio[rounds - 1]);
    if (comparison->aim > 0)
        printf(" %6.2f%s", comparison->aim, ratio[rounds / 2] >= comparison->aim ? "" : "  missed");
    putchar('\n');
    fflush(stdout);
}

void bench_compare(const struct comparison *comparison, const char *url, int workers, int rounds,
                   int slice_ms)
{
    double ratio[MAX_ROUNDS], ours[MAX_ROUNDS], theirs[MAX_ROUNDS];
    struct shared *shared =
        mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    int status;

    if (shared == MAP_FAILED || workers > MAX_WORKERS || rounds > MAX_ROUNDS)
        bench_die("too many workers or rounds");
    fflush(stdout);
    for (int i = 0; i < workers; i++)
        if (fork() == 0)
            work(comparison, url, i, shared);
    while (atomic_load(&shared->ready) < workers) {
        if (waitpid(-1, &status, WNOHANG) > 0)
            bench_die("%s: a worker failed", comparison->title);
        rest(1);
    }
    for (int i = 0; i < rounds; i++) {
        int first = 1 + i % 2;
        double rates[3];

        rates[first] = slice(shared, workers, first, slice_ms);
        rates[3 - first] = slice(shared, workers, 3 - first, slice_ms);
        ours[i] = rates[1];
        theirs[i] = rates[2];
        ratio[i] = rates[1] / rates[2];
    }
    atomic_store(&shared->turn, -1);
    while (wait(&status) > 0)
        if (status != 0)
            bench_die("%s: a worker failed", comparison->title);
    munmap(shared, sizeof *shared);
    print_line(comparison, workers, ratio, ours, theirs, rounds);
}

/* ---- databases to compare -------------------------------------------------------------------- */

struct rowlock_connection *bench_connect(const char *url)
{
    static const struct rowlock_options patient = {.connect_ms = 60000, .statement_ms = 60000};
    struct rowlock_connection *connection = NULL;
    struct rowlock_error error;

    if (rowlock_open(url, &patient, &connection, &error))
        bench_die("%s", error.text);
    return connection;
}

void bench_fill(const char *url, unsigned long workers,
                void (*part)(const char *url, unsigned long worker, const void *data),
                const void *data)
{
    int status;

    for (unsigned long i = 0; i < workers; i++)
        if (fork() == 0) {
            part(url, i, data);
            exit(0);
        }
    while (wait(&status) > 0)
        if (status != 0)
            bench_die("filling %s failed", url);
}

void bench_acquire(struct rowlock_connection *connection, const struct rowlock_want *wants,
                   size_t n, struct rowlock_lease **out)
{
    static const struct rowlock_terms terms = {.ttl_ms = DAY, .wait_ms = -1};
    struct rowlock_error error;

    if (rowlock_acquire(connection, wants, n, &terms, out, &error))
        bench_die("%s", error.text);
}

void bench_release(struct rowlock_lease *lease)
{
    struct rowlock_error error;

    if (rowlock_release(lease, &error))
        bench_die("%s", error.text);
    rowlock_lease_free(lease);
}

void bench_pair(struct rowlock_connection *connection, const char *name)
{
    struct rowlock_want want = {.name = name};
    struct rowlock_lease *lease = NULL;
    struct rowlock_error error;

    if (rowlock_acquire(connection, &want, 1, NULL, &lease, &error))
        bench_die("%s", error.text);
    bench_release(lease);
}

void bench_lock_and_commit(struct rowlock_connection *connection, const char *name)
{
    struct rowlock_want want = {.name = name};
    struct rowlock_error error;

    if (rowlock_begin(connection, &want, 1, -1, &error) || rowlock_commit(connection, &error))
        bench_die("%s", error.text);
}

void bench_start_threads(pthread_t *threads, int n, void *(*start)(void *), void *data)
{
    pthread_attr_t attributes;

    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, 256 * 1024);
    for (int i = 0; i < n; i++)
        if (pthread_create(&threads[i], &attributes, start, data))
            bench_die("no thread");
    pthread_attr_destroy(&attributes);
}

void bench_join_threads(pthread_t *threads, int n)
{
    for (int i = 0; i < n; i++)
        pthread_join(threads[i], NULL);
    free(threads);
}
