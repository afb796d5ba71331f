/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compares two ways of doing the same thing by their rates, in one run. Every worker process can do
 * both. They alternate in short slices of time, so that noise of the machine affects both. The
 * result is the ratio of neighbouring slices: median and spread.
 *
 * The functions below bench_headline() serve all programs; each exits the process on an error.
 */
#ifndef BENCH_RATE_H
#define BENCH_RATE_H

#include <pthread.h>
#include <stddef.h>

/* Both contestants use one session, opened once per worker, because the core on which the
   server's end runs must not decide. once() exits the process on any error. */
struct comparison {
    const char *title;
    void *(*open)(const char *url, int worker);
    void (*ours)(void *state, unsigned long i);
    void (*theirs)(void *state, unsigned long i);
    void (*close)(void *state);
    double aim; /* of the ratio ours / theirs; 0: none */
};

/* Runs `rounds` pairs of slices with `workers` processes, and prints one line of the table. */
void bench_compare(const struct comparison *comparison, const char *url, int workers, int rounds,
                   int slice_ms);

void bench_headline(void);

struct rowlock_connection;
struct rowlock_lease;
struct rowlock_want;
struct rowlock_connection *bench_connect(const char *url); /* its timeouts are a minute */

/* Waits without a limit for a lease of a day; the caller frees it by bench_release(). */
void bench_acquire(struct rowlock_connection *connection, const struct rowlock_want *wants,
                   size_t n, struct rowlock_lease **out);
void bench_release(struct rowlock_lease *lease);

/* Acquires a lease of one name by the default terms, and releases it. */
void bench_pair(struct rowlock_connection *connection, const char *name);

/* Begins a transaction with a lock on one name, and commits it. */
void bench_lock_and_commit(struct rowlock_connection *connection, const char *name);

/* Runs part(url, worker, data) in `workers` processes, and waits for all of them. */
void bench_fill(const char *url, unsigned long workers,
                void (*part)(const char *url, unsigned long worker, const void *data),
                const void *data);

/* Starts n threads with small stacks; join frees the array. */
void bench_start_threads(pthread_t *threads, int n, void *(*start)(void *), void *data);
void bench_join_threads(pthread_t *threads, int n);

double bench_now(void); /* in seconds, of a clock that is never set */

/* Compares two doubles, for qsort(). */
int bench_by_value(const void *left, const void *right);

/* Prints an error and exits with 1. */
void bench_die(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));

#endif
