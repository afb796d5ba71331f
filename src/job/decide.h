/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decides what a node may do about a job now. A pure function of the database's state and the
 * node's configuration: no I/O, no clock. The caller must execute the decision on condition that
 * the row still has the version that was judged; so 25 nodes that wake together start one run.
 *
 * A due time that the node's own schedule lacks, because another node planned it by other time-zone
 * data, is left to the nodes that agree with it for a minute.
 *
 * No run begins before its due time, by the database's clock. Each due time is claimed once. Missed
 * due times are replaced by one run, that of the last of them, or skipped. A failed or lost run may
 * be retried; a due time that a user requested is not skipped; a run that did not start is claimed
 * again and does not count as a try. A later due time replaces an earlier one.
 */
#ifndef ROWLOCK_JOB_DECIDE_H
#define ROWLOCK_JOB_DECIDE_H

#include <stdbool.h>
#include <stdint.h>

#include "schedule/schedule.h"

/* The job as this node configures it; other nodes may differ. */
struct rowlock_job_rules {
    const struct rowlock_schedule *schedule;
    int64_t early_ms; /* a caller at most this early waits for the due time */
    int retry;        /* maximum retries per due time, of failed and lost runs; < 0: one, if lost */
    int64_t backoff_ms; /* before the retry of a run that failed or did not start; a lost run has
                           already waited its ttl */
    bool skips_missed;  /* missed due times are skipped, not replaced by one run */
};

/* The job's state in the database; times in milliseconds since 1970 UTC, by its clock. */
struct rowlock_job_state {
    bool known; /* there is a row; otherwise only now_ms and `held` are valid */
    bool same_schedule;
    int64_t now_ms;
    int64_t version;   /* of the row: every change increments it */
    int64_t due_ms;    /* the next unclaimed due time */
    int64_t last_ms;   /* the last claimed due time; 0: none */
    int64_t failed_ms; /* when its run failed, or was found not to start; 0: neither */
    int repeats;       /* retries of that due time so far */
    int64_t running;   /* the token of its run; 0: none */
    bool held;         /* a live lease has the name: that of the run, or another one */
    int64_t free_ms;   /* held: when that lease expires, if it is not renewed */
    bool broken;       /* the run was broken on purpose */
    bool not_started;  /* the run was claimed, and never began */
};

/* The action of the node. */
enum rowlock_job_act {
    ROWLOCK_JOB_WAIT,  /* nothing to do before until_ms */
    ROWLOCK_JOB_AWAIT, /* as WAIT, and the caller is early: it should call again at until_ms */
    ROWLOCK_JOB_PLAN,  /* store the schedule and due_ms: a new job, or a changed schedule */
    ROWLOCK_JOB_CLAIM, /* acquire the lease and store instant_ms, due_ms, repeats */
    ROWLOCK_JOB_SETTLE /* record how the run without a lease ended, and plan due_ms */
};

struct rowlock_job_decision {
    enum rowlock_job_act act;
    int64_t until_ms;   /* WAIT, AWAIT */
    int64_t instant_ms; /* CLAIM: the due time of this run */
    int64_t due_ms;     /* the due time after it */
    int repeats;        /* CLAIM */
    bool lost, broken;  /* CLAIM, SETTLE: the reason why the previous run left no lease */
};

/* Exactly one decision; the caller carries it out on condition that the version is still the one of
   `state`, and asks again if it is not. */
struct rowlock_job_decision rowlock__job_decide(const struct rowlock_job_state *state,
                                                const struct rowlock_job_rules *rules);

#endif
