/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The clients of one measurement: processes, or threads of one (peer->threads), each with a session of its
 * own, that begin together, stop together, and are dead afterwards whatever happened.
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
    atomic_llong stamp;   /* likewise: nanoseconds */
    atomic_ullong cpu_us; /* of the clients, from WORK to STOP */
    double server_us;     /* of the server meanwhile, where a workload looks */
    atomic_int failing;   /* 1: `why` is being written, or */
    atomic_int failed;    /* 1: it is written */
    char why[BENCH_WHY];
    atomic_uint sampled;
    double sample[BENCH_SAMPLES];
    struct {
        _Alignas(64) atomic_ulong count; /* operations in phase WORK */
    } client[BENCH_CLIENTS];
};

struct bench_measurement { /* what is to be measured; the crew's processes see it too */
    const struct bench_peer *peer;
    const struct bench_place *place;
    struct bench_overlap *overlap;
    struct bench_crew *crew;
    int clients, repetition;
    double seconds;
    unsigned names, hold_us; /* of the workload */
    unsigned hot; /* the one name: another each time, for who was killed may hold the last */
};

/* Operations of all clients so far. */
unsigned long bench_total(const struct bench_measurement *measurement);

/* CPU time of a process and its children, in microseconds; 0: it is not there. */
double bench_cpu_us(int pid);

/* How many these are. */
int bench_processes(int pid);

/* Until they are no more than `processes`, and use less than a tenth of a core; half a minute at most. */
void bench_await_quiet(int pid, int processes);

typedef void (*bench_work)(const struct bench_measurement *measurement, int client, void *session);

/* NULL: no memory. One will do for a whole run. */
struct bench_crew *bench_crew_new(void);
void bench_crew_free(struct bench_crew *crew);

/*
 * Starts the clients. Each opens its session, does `warm` (may be NULL), waits for all others, does `work`,
 * and waits again before it closes. 0: all of them wait for bench_crew_go.
 */
int bench_crew_assemble(const struct bench_measurement *measurement, bench_work warm,
                        bench_work work);
void bench_crew_go(struct bench_crew *crew);

/* Waits until `clients` have done their work, in `seconds` at most. 0: they have. */
int bench_crew_await(const struct bench_measurement *measurement, double seconds);

/* Ends phase WORK: who looks at bench_working stops. -1: some did not within half a minute. */
int bench_crew_stop(const struct bench_measurement *measurement);

/* Lets them close their sessions, and kills who does not. How many were killed. */
int bench_crew_dismiss(const struct bench_measurement *measurement);

/* For clients. */
int bench_working(const struct bench_crew *crew);
void bench_sample(struct bench_crew *crew, double value);

/* A child process that is killed when this one dies. In the child: 0. */
int bench_fork(void);

long long bench_now(void); /* monotonic nanoseconds */
void bench_rest(int us);

/* Where bench_die leaves its text; NULL: on the standard error. */
extern struct bench_crew *bench_reports_to;

/* Runs `setup` in a process of its own. 0, or -1 with the reason in crew->why. */
int bench_guarded(struct bench_crew *crew, void (*setup)(const struct bench_place *),
                  const struct bench_place *place);

#endif
