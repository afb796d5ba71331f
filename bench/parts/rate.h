/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compares two ways of doing the same thing by their rates, in one run. Every worker process can do
 * both. They alternate in short slices of time, so that noise of the machine affects both. The
 * result is the ratio of neighbouring slices: median and spread.
 */
#ifndef BENCH_RATE_H
#define BENCH_RATE_H

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
struct rowlock_connection *bench_connect(const char *url);

/* Runs part(url, worker, data) in `workers` processes, and waits for all of them. */
void bench_fill(const char *url, unsigned long workers,
                void (*part)(const char *url, unsigned long worker, const void *data),
                const void *data);

/* Prints an error and exits with 1. */
void bench_die(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));

#endif
