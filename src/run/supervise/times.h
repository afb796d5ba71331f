/* SPDX-License-Identifier: Apache-2.0 */
/* The times at which a command under a lease must end. In order: TERM, KILL after kill_after_of(),
   the end of the lease after margin_for_kill(). */
#ifndef ROWLOCK_RUN_TIMES_H
#define ROWLOCK_RUN_TIMES_H

#include <stdint.h>

#include "rowlock.h"

struct run;

/* The time from TERM to KILL: the given one (< 0: none given), else 5 s; for a lease at most a
   quarter of the ttl, so that the rest is left for renewals. ttl_ms 0: it does not expire. */
int64_t kill_after_of(int64_t said_ms, int64_t ttl_ms);
/* By the clock of rowlock__now_ms; of no lease: ROWLOCK_NEVER, of a lost one: now. */
int64_t end_of_lease(const struct rowlock_lease *lease);
/* The time between KILL and the end of the lease: a tenth of the ttl, within limits. */
int64_t margin_for_kill(int64_t ttl_ms);
/* statement_ms of a connection that renews, a sixth of the ttl, within limits: a renewal that hangs
   must leave time for others. */
int64_t statement_limit(const struct run *run);

#endif
