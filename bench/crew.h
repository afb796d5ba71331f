/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The clients of one measurement: processes, each with a session. They begin together, stop
 * together, and have ended afterwards whatever happened.
 */
#ifndef BENCH_CREW_H
#define BENCH_CREW_H

#include <stdatomic.h>

#include "overlap.h"
#include "peer.h"

#define BENCH_CLIENTS 1024
#define BENCH_SAMPLES 100000
#define BENCH_WHY 400

enum bench_phase { BENCH_ASSEMBLE, BENCH_WORK, BENCH_STOP, BENCH_LEAVE };

struct bench_crew { /* in shared memory */
    atomic_int phase, ready, done;
    atomic_int step;      /* for a workload's own use */
    atomic_llong stamp;   /* for a workload's own use, nanoseconds */
    atomic_ullong cpu_us; /* of the clients, between WORK and STOP */
    double server_us;     /* of the server during that time, if the workload measures it */
    atomic_int failing;   /* 1: a client is writing `why` */
    atomic_int failed;    /* 1: `why` is complete */
    char why[BENCH_WHY];
    atomic_uint sampled;
    double sample[BENCH_SAMPLES];
    struct {
        _Alignas(64) atomic_ulong count; /* operations in phase WORK */
    } client[BENCH_CLIENTS];
};

/* the parameters of a measurement; the clients' processes read them too */
struct bench_measurement {
    const struct bench_peer *peer;
    const struct bench_place *place;
    struct bench_overlap *overlap;
    struct bench_crew *crew;
    int clients, repetition;
    double seconds;
    unsigned names, hold_us; /* of the workload */
    /* the name that all clients share; a new one each time, because a killed client may still
       hold the last */
    unsigned hot;
};

/* The operations of all clients so far. */
unsigned long bench_total(const struct bench_measurement *measurement);

/* CPU time of a process and its children, in microseconds; 0 if it does not exist. */
double bench_cpu_us(int pid);

/* The number of these processes. */
int bench_processes(int pid);

/* Waits until they are at most `processes` and use less than a tenth of a core; `seconds` at
   most. */
void bench_await_quiet(int pid, int processes, int seconds);

typedef void (*bench_work)(const struct bench_measurement *measurement, int client, void *session);

/* Returns NULL if there is no memory. One crew is enough for a whole run. */
struct bench_crew *bench_crew_new(void);
void bench_crew_free(struct bench_crew *crew);

/*
 * Starts the clients. Each opens its session, calls `warm` (may be NULL), waits for all others,
 * calls `work`, and waits again before it closes. Returns 0 when all of them wait for
 * bench_crew_go.
 */
int bench_crew_assemble(const struct bench_measurement *measurement, bench_work warm,
                        bench_work work);
void bench_crew_go(struct bench_crew *crew);

/* Waits at most `seconds` until `clients` clients have finished their work; returns 0 if they
   have. */
int bench_crew_await(const struct bench_measurement *measurement, double seconds);

/* Ends phase WORK: bench_working returns 0 from now on. Returns -1 if some client does not stop
   within half a minute. */
int bench_crew_stop(const struct bench_measurement *measurement);

/* Lets the clients close their sessions, kills those that do not, and returns the number of the
   killed. */
int bench_crew_dismiss(const struct bench_measurement *measurement);

/* The following functions are for clients. */
int bench_working(const struct bench_crew *crew);
void bench_sample(struct bench_crew *crew, double value);

/* Forks a child that is killed when this process dies. Returns 0 in the child. */
int bench_fork(void);

long long bench_now(void); /* monotonic nanoseconds */
void bench_rest(int us);

/* Where bench_die stores its text; NULL: on standard error. */
extern struct bench_crew *bench_reports_to;

/* Runs `setup` in a process of its own. Returns 0, or -1 with the reason in crew->why. */
int bench_guarded(struct bench_crew *crew, void (*setup)(const struct bench_place *),
                  const struct bench_place *place);

#endif
