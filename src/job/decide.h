/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a node may do about a job now, as a pure function of what the database says and of the node's
 * own configuration: no I/O, no clock. Whoever carries it out must do so under the condition that the
 * row is still the one that was judged (its version); so 25 nodes that wake together give one run.
 *
 * No run begins before its instant, by the database's clock. An instant of the schedule is claimed once.
 * Several that were missed are made up by one run, that of the last of them, or skipped. A run that failed
 * or was lost may be repeated; one that was not started is claimed again, and does not count as a try. A
 * later instant that has come meanwhile takes its place.
 */
#ifndef ROWLOCK_JOB_DECIDE_H
#define ROWLOCK_JOB_DECIDE_H

#include <stdbool.h>
#include <stdint.h>

#include "schedule/schedule.h"

/* What this node was told of the job. */
struct rowlock_job_rules {
    const struct rowlock_schedule *schedule;
    int64_t early_ms; /* a caller that comes at most this much before the due time waits for it */
    int retry;        /* repeats of one instant, of failed and lost runs; < 0: one, of a lost run */
    int64_t backoff_ms; /* before a failed run is repeated, or one that was not started; a lost one
                           has waited its ttl */
    bool skips_missed;
};

/* What the database says of it; instants in milliseconds since 1970 UTC, by its own clock. */
struct rowlock_job_state {
    bool known; /* there is a row; else only now_ms and `held` count */
    bool same_schedule;
    int64_t now_ms;
    int64_t version;   /* of the row: every change of it is another */
    int64_t due_ms;    /* the next instant that nobody has claimed */
    int64_t last_ms;   /* the instant claimed last; 0: none */
    int64_t failed_ms; /* when its run failed, or was found not to start; 0: neither */
    int repeats;       /* of that instant, so far */
    int64_t running;   /* the token of its run; 0: none */
    bool held;         /* a live lease has the name: of that run, or somebody else's */
    int64_t free_ms;   /* held: when that lease ends, if it is not renewed */
    bool broken;       /* the run was broken on purpose */
    bool not_started;  /* the run was claimed, and never began */
};

enum rowlock_job_act {
    ROWLOCK_JOB_WAIT,  /* nothing before until_ms */
    ROWLOCK_JOB_AWAIT, /* the same, and the caller is early: it looks again at until_ms */
    ROWLOCK_JOB_PLAN, /* write down the schedule and due_ms: a job never seen, or planned otherwise */
    ROWLOCK_JOB_CLAIM, /* acquire the lease and write down instant_ms, due_ms, repeats */
    ROWLOCK_JOB_SETTLE /* record how the run ended that left no lease, and plan due_ms */
};

struct rowlock_job_decision {
    enum rowlock_job_act act;
    int64_t until_ms;   /* WAIT, AWAIT */
    int64_t instant_ms; /* CLAIM: which is run now */
    int64_t due_ms;     /* the next after it */
    int repeats;        /* CLAIM */
    bool lost, broken;  /* CLAIM, SETTLE: the run before left no lease; why */
};

struct rowlock_job_decision rowlock__job_decide(const struct rowlock_job_state *state,
                                                const struct rowlock_job_rules *rules);

#endif
