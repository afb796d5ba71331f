/* SPDX-License-Identifier: Apache-2.0 */
/* What is measured: a workload is a row of a table, its measurement a function that any contestant can take. */
#ifndef BENCH_WORKLOAD_H
#define BENCH_WORKLOAD_H

#include "crew.h"

#define BENCH_METRICS 4

struct bench_metric {
    const char *name, *unit; /* a name of NULL ends them */
    int better;              /* 1: more is better; -1: less; 0: told, not compared */
};

enum { BENCH_ALL = 0, BENCH_ONE = 1 };
enum bench_need { BENCH_SESSION, BENCH_COMMAND, BENCH_LOAD };

struct bench_workload {
    const char *name;           /* for bench.json */
    const char *title;          /* for people */
    int clients, quick_clients; /* quick: in a short run; 0: as many */
    unsigned names;             /* each client's own, or one of the two below */
    unsigned hold_us;           /* how long the lock is held */
    enum bench_need need;       /* of the contestant */
    int variants; /* 1: who differs from another only in what is on disk is measured too */
    const char *durability; /* of a row, where it is not that of the locks; NULL: it is */
    const char *wrong;      /* what the detector counts; NULL: overlaps */
    struct bench_metric metrics[BENCH_METRICS];
    /* 0, or -1 with the reason in crew->why. */
    int (*measure)(const struct bench_measurement *measurement, double values[BENCH_METRICS]);
    double (*about)(
        const struct bench_measurement *measurement); /* seconds that it takes, more or less */
};

extern const struct bench_workload bench_workloads[]; /* ends with one that has no name */

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

/* Whether the contestant has what the workload needs. */
int bench_can(const struct bench_peer *peer, enum bench_need need);

/* Which name a client takes as its i-th: its own in turn, or, of all there are, a part
   that is its alone, scattered, and in a later repetition others. */
unsigned bench_pick(const struct bench_measurement *measurement, int client, unsigned long i);

/* What the detector counts: "overlaps", or what the workload says; "": it does not run. */
const char *bench_wrong(const struct bench_workload *workload);

/* Under the lock, the detector told. */
void bench_hold(const struct bench_measurement *measurement, unsigned name, int client);

#endif
