/* SPDX-License-Identifier: Apache-2.0 */
/* The decisions over the rows of a name, as pure functions: no I/O, no clock. They decide as the
   functions of sql/postgresql and sql/mariadb do. Times are those of the database's clock. */
#ifndef ROWLOCK_EMULATE_JUDGE_H
#define ROWLOCK_EMULATE_JUDGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dialect/dialect.h"
#include "rowlock.h"
#include "util/rows.h"

/* A lease's row and its heartbeat: one row per permit. */
struct rowlock_held {
    int64_t token, limit, expires_ms;
    char kind;  /* 'x', 's', 'p' */
    bool alive; /* it has a heartbeat that has not expired */
    bool own;   /* its owner is the caller */
};

/* A row of the queue. `roll_call`: the number of the call that it has not answered; 0: none. */
struct rowlock_queued {
    int64_t ticket, limit, roll_call;
    char kind;
    bool alive; /* its last sign of life is recent enough */
    bool own;
};

/* The request for one name. */
struct rowlock_asked {
    char kind;
    int64_t limit, count; /* permits */
    int64_t ticket;       /* ours; 0: none */
};

/* The answer; members that the status does not name are 0. */
struct rowlock_judged {
    enum rowlock_status status;
    int64_t number;     /* LEASED: the token that ends first; QUEUED: the ticket directly before */
    int64_t expires_ms; /* LEASED: when that lease ends */
    int64_t limit;      /* LIMIT: the limit of the other lease */
    int64_t before;     /* QUEUED: number of waiters before the caller */
};

/*
 * Judges a request by the leases of its name: OK, LEASED, LIMIT, or EXPIRED if only expired leases
 * conflict. A renewal of those may be in progress, so each must be deleted on condition that it has
 * expired. A row of `leases` begins with a struct rowlock_held; one of `waiters` (below) with a
 * struct rowlock_queued.
 */
struct rowlock_judged rowlock__judge_leases(const struct rowlock_rows *leases,
                                            const struct rowlock_asked *asked);
/* Whether the modes of a request and of a lease conflict. Two permits do, although more permits may
   be free. */
bool rowlock__conflicts(char asked, char held);

/* Judges a request by the queue: OK if it is first, QUEUED, or UNQUEUED if its ticket is not in the
   queue. A request without a ticket is behind the whole queue. Ignores tickets that are not alive,
   and the caller's own ones. */
struct rowlock_judged rowlock__judge_queue(const struct rowlock_rows *waiters,
                                           const struct rowlock_asked *asked);

/* For a permit: the limit of a live lease, or of a live ticket before ours, that differs from the
   requested one; 0: none. `*is_held`: it is that of a lease. */
int64_t rowlock__other_limit(const struct rowlock_rows *leases, const struct rowlock_rows *waiters,
                             const struct rowlock_asked *asked, bool *is_held);

/* ---- the history ---- */

/* For how many milliseconds from now the release of a new lease leaves no row in the history; -1:
   it always leaves one. `level` is an enum rowlock_history_level, also below. */
int64_t rowlock__judge_quiet(int64_t level, int64_t waited_ms);

/* How a lease ended, as a word of the history: revoked, expired or released. `stopped`: it was
   broken. */
const char *rowlock__judge_end(bool stopped, bool expired);
/* Whether the history keeps an end: on the level "slow" that of a lease that waited a second or was
   held ten, or a problem; ALL: any; below "slow" only a problem; OFF: none. */
bool rowlock__judge_history(int64_t level, const char *how, int64_t waited_ms, int64_t held_ms);
/* Whether a waiter that gives up leaves a row. After a short wait the caller may try again. */
bool rowlock__judge_gave_up(int64_t level, int64_t waited_ms);
/* Whether that end is a problem, which the history keeps longer: every one but "released". */
bool rowlock__is_problem(const char *how);

/* The end of a run: the rows that job_finish has read and locked, and the changes that it makes. */
struct rowlock_run_end {
    /* in */
    enum rowlock_run_outcome outcome; /* the result of its command */
    enum rowlock_run_outcome was;     /* the outcome in its row */
    bool has_lease, stopped;          /* its lease exists; its lease was broken */
    bool is_current;                  /* the job's row names this run */
    int64_t now_ms, taken_until_ms;
    /* out */
    bool ends_job;                    /* the job's row changes: */
    bool stays;                       /* it keeps this run, until a claim settles it */
    int64_t failed_ms;                /* 0: it did not fail */
    bool touches;                     /* the version of the job changes once more */
    enum rowlock_run_outcome becomes; /* the run's outcome; RUNNING: it stays as it was */
    bool keeps_lease;                 /* until taken_until_ms; otherwise it is deleted */
    enum rowlock_status status;
};
/* Fills the second part of `end` from the first. */
void rowlock__judge_run_end(struct rowlock_run_end *end);

/* LIKE with the escape character '!': '_' matches one character of UTF-8. */
bool rowlock__is_like(const char *name, const char *pattern);

/* Whether the data of a subject is stale (dialect.h). updated_ms < 0: never refreshed. */
bool rowlock__judge_stale(bool complete, int64_t basis_ms, int64_t expired_ms, int64_t updated_ms,
                          int64_t now_ms, int64_t max_age_ms);

#endif
