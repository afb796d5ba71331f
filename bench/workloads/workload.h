/* SPDX-License-Identifier: Apache-2.0 */
/* The workloads: each is a row of a table, with a function that measures any contestant. */
#ifndef BENCH_WORKLOAD_H
#define BENCH_WORKLOAD_H

#include "crew.h"

#define BENCH_METRICS 4

struct bench_metric {
    const char *name, *unit; /* a NULL name ends the array */
    int better;              /* 1: more is better; -1: less; 0: reported, not compared */
};

enum { BENCH_ALL = 0, BENCH_ONE = 1 };
enum bench_need { BENCH_SESSION, BENCH_COMMAND, BENCH_LOAD };

struct bench_workload {
    const char *name;           /* as in bench.json */
    const char *title;          /* for people */
    int clients, quick_clients; /* quick: in a short run; 0: the same number */
    unsigned names;             /* names of each client, or one of the two values above */
    unsigned hold_us;           /* how long the lock is held */
    enum bench_need need;       /* what the contestant must provide */
    int variants;               /* 1: variants that differ only in durability are measured too */
    const char *durability;     /* of a row, if not that of the locks; NULL: that of the locks */
    const char *wrong;          /* the name of the detected failure; NULL: overlaps */
    struct bench_metric metrics[BENCH_METRICS];
    /* Returns 0, or -1 with the reason in crew->why. */
    int (*measure)(const struct bench_measurement *measurement, double values[BENCH_METRICS]);
    double (*about)(
        const struct bench_measurement *measurement); /* estimates the duration in seconds */
};

extern const struct bench_workload bench_workloads[]; /* a NULL name ends the table */

int bench_throughput(const struct bench_measurement *measurement, double values[BENCH_METRICS]);
int bench_hot(const struct bench_measurement *measurement, double values[BENCH_METRICS]);
int bench_handover(const struct bench_measurement *measurement, double values[BENCH_METRICS]);
int bench_takeover(const struct bench_measurement *measurement, double values[BENCH_METRICS]);
int bench_crowd(const struct bench_measurement *measurement, double values[BENCH_METRICS]);
int bench_process(const struct bench_measurement *measurement, double values[BENCH_METRICS]);
int bench_documents(const struct bench_measurement *measurement, double values[BENCH_METRICS]);

double bench_about_slice(const struct bench_measurement *measurement);
double bench_about_takeover(const struct bench_measurement *measurement);
double bench_about_process(const struct bench_measurement *measurement);
double bench_about_crowd(const struct bench_measurement *measurement);
double bench_about_documents(const struct bench_measurement *measurement);

/* Whether the contestant provides what the workload needs. */
int bench_can(const struct bench_peer *peer, enum bench_need need);

/*
 * The name that a client uses in its i-th operation. It takes its own names in turn. If the clients
 * share all names, each uses a part of its own, in scattered order, and a different section in
 * later repetitions.
 */
unsigned bench_pick(const struct bench_measurement *measurement, int client, unsigned long i);

/* The name of the failure that the detector counts: "overlaps", or the workload's own; "": no
   detector. */
const char *bench_wrong(const struct bench_workload *workload);

/* Holds the lock for the workload's time, between entering and leaving the detector. */
void bench_hold(const struct bench_measurement *measurement, unsigned name, int client);

#endif
