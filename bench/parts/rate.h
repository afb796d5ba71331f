/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compares ways of doing the same thing by their rates, in one run: every worker process can do
 * each of them, and slices of time are dealt to them in turn, so that a noisy machine is noisy for
 * all. What counts is the ratio of neighbouring slices: median and spread.
 */
#ifndef BENCH_RATE_H
#define BENCH_RATE_H

/* Both contestants use one session, opened once a worker: which core the scheduler gave to its other
   end must not decide. once() exits the process on any error. */
struct comparison {
    const char *title;
    void *(*open)(const char *url, int worker);
    void (*ours)(void *state, unsigned long i);
    void (*theirs)(void *state, unsigned long i);
    void (*close)(void *state);
    double aim; /* of the ratio ours / theirs */
};

/* Runs `rounds` pairs of slices with `workers` processes and prints one line of the table. */
void bench_compare(const struct comparison *comparison, const char *url, int workers, int rounds,
                   int slice_ms);

void bench_headline(void);

/* Prints and exits with 1. */
void bench_die(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));

#endif
