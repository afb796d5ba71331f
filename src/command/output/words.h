/* SPDX-License-Identifier: Apache-2.0 */
/* Holders, waiters, jobs and runs in words: the same ones in every list, page and message. */
#ifndef ROWLOCK_OUTPUT_WORDS_H
#define ROWLOCK_OUTPUT_WORDS_H

#include "rowlock.h"

extern const char *const holder_modes[]; /* by enum rowlock_mode: "exclusive", ... */

/* Whether the lease lasts until its release, as that of `rowlock hold` without --for does. */
int is_endless(const struct rowlock_holder *holder);

/* Whether it is the lease of `rowlock hold`, or of a user of `rowlock serve`, whose command begins
   with HOLD_BY: no process works under it. */
#define HOLD_BY "hold by "
int is_hold(const struct rowlock_holder *holder);

/* Cells of a table, malloc'd as those of cell_text(). */

/* "held", "held, tx", "held, told to stop", "waiting". */
char *holder_state(const struct rowlock_holder *holder);
/* "exclusive", "2 of 3 permits" */
char *holder_mode(const struct rowlock_holder *holder);
/* The remaining time of a lease; "-" if it has no end, or for a transaction or a waiter. */
char *holder_left(const struct rowlock_holder *holder);
/* "web3:812 backup", as far as known: without a host "-", without a pid (0) "web3 backup". */
char *who_cell(const char *host, int64_t pid, const char *command);
/* The same; of a transaction with the server's id of the session instead of the pid. */
char *holder_who(const struct rowlock_holder *holder);

/* The state of a job and the result of a run in words. */

#define JOB_HEALTHS (ROWLOCK_HEALTH_LOST + 1)

/* The words of a job's health, by enum rowlock_health: "fine", "paused", ... */
extern const char *const job_healths[JOB_HEALTHS];

/* A run without a lease has ended: it is shown as the last one, even before a node
   has recorded it. */
struct rowlock_job_view settled(const struct rowlock_job_view *job);

/* "done", "exit 7", "timed out", "-"; malloc'd, NULL: out of memory. */
char *run_result(const struct rowlock_run *run);

/* Whether the run has a duration and an exit status: a lost run has none. */
int has_ended(const struct rowlock_run *run);

#endif
