/* SPDX-License-Identifier: Apache-2.0 */
/* The table of workloads, and functions that several of them use (workload.h). */
#include "workloads/workload.h"

#define MANY 50 /* names of each client */
#define PER_SECOND "rate", "per second", 1

#define SLICE .variants = 1, .about = bench_about_slice

const struct bench_workload bench_workloads[] = {
    {.name = "uncontended-1",
     .title = "acquire and release, uncontended, 1 client",
     .clients = 1,
     .names = MANY,
     .metrics = {{PER_SECOND}},
     .measure = bench_throughput,
     .about = bench_about_slice},
    {.name = "uncontended-8",
     .title = "acquire and release, uncontended, 8 clients",
     .clients = 8,
     .names = MANY,
     .metrics = {{PER_SECOND}},
     .measure = bench_throughput,
     SLICE},
    {.name = "uncontended-32",
     .title = "acquire and release, uncontended, 32 clients",
     .clients = 32,
     .names = MANY,
     .metrics = {{PER_SECOND}},
     .measure = bench_throughput,
     SLICE},
    {.name = "names",
     .title = "acquire and release, each time another name of the pool, 8 clients",
     .clients = 8,
     .names = BENCH_ALL,
     .metrics = {{PER_SECOND}, {"names", "touched", 0}},
     .measure = bench_throughput,
     SLICE},
    {.name = "hot",
     .title = "one hot name, 8 clients",
     .clients = 8,
     .names = BENCH_ONE,
     .metrics = {{PER_SECOND}, {"luckiest", "%", 0}, {"unluckiest", "%", 0}},
     .measure = bench_hot,
     SLICE},
    {.name = "handover",
     .title = "hand-over, 8 clients",
     .clients = 8,
     .names = BENCH_ONE,
     .hold_us = 2000,
     .metrics = {{"p50", "ms", -1}, {"p99", "ms", -1}, {"samples", "hand-overs", 0}},
     .measure = bench_handover,
     SLICE},
    {.name = "takeover",
     .title = "take-over after kill -9 of the holder",
     .clients = 2,
     .names = BENCH_ONE,
     .metrics = {{"delay", "s", -1}},
     .measure = bench_takeover,
     .about = bench_about_takeover},
    {.name = "process",
     .title = "run x -- true as a process",
     .wrong = "",
     .clients = 1,
     .names = BENCH_ONE,
     .need = BENCH_COMMAND,
     .metrics = {{"time", "ms", -1}},
     .measure = bench_process,
     .about = bench_about_process},
    {.name = "crowd",
     .title = "1,000 waiters on one name (short run: 100)",
     .clients = 1000,
     .quick_clients = 100,
     .names = BENCH_ONE,
     .metrics = {{"rate", "hand-overs per second", 1}, {"served", "waiters", 0}},
     .measure = bench_crowd,
     .about = bench_about_crowd},
    {.name = "documents",
     .title = "the document loader, 3 workers",
     .clients = 1,
     .names = BENCH_ONE,
     .need = BENCH_LOAD,
     .durability = "equal: the same transactions, with the lock and without",
     .wrong = "lost updates",
     .metrics = {{"rate", "documents per second", 1},
                 {"read", "documents", 0},
                 {"refused", "documents", 0},
                 {"lost", "updates", 0}},
     .measure = bench_documents,
     .about = bench_about_documents},
    {.name = NULL},
};

/* Clients must be started and connect first. */
double bench_about_slice(const struct bench_measurement *measurement)
{
    return measurement->seconds + 0.05 + 0.008 * measurement->clients;
}

unsigned bench_pick(const struct bench_measurement *measurement, int client, unsigned long i)
{
    unsigned part;

    if (measurement->names == BENCH_ONE)
        return measurement->hot;
    if (measurement->names)
        return 1 + (unsigned)client * measurement->names + (unsigned)(i % measurement->names);
    part = measurement->place->names / (unsigned)measurement->clients;
    /* 7919 is prime, and no part is a multiple of it: each name occurs once, and consecutive
       ones are far apart. */
    i += (unsigned long)measurement->repetition * (part / 5);
    return (unsigned)client * part + (unsigned)(i * 7919 % part);
}

void bench_hold(const struct bench_measurement *measurement, unsigned name, int client)
{
    bench_enter(measurement->overlap, name, client);
    if (measurement->hold_us)
        bench_rest((int)measurement->hold_us);
    bench_leave(measurement->overlap, name, client);
}

const char *bench_wrong(const struct bench_workload *workload)
{
    return workload->wrong ? workload->wrong : "overlaps";
}

int bench_can(const struct bench_peer *peer, enum bench_need need)
{
    switch (need) {
    case BENCH_SESSION:
        return peer->open != NULL;
    case BENCH_COMMAND:
        return peer->command != NULL;
    default:
        return peer->load != NULL;
    }
}
