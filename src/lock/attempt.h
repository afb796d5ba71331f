/* SPDX-License-Identifier: Apache-2.0 */
/* One attempt to lock, and what is done outside the transaction before the next. */
#ifndef ROWLOCK_ATTEMPT_H
#define ROWLOCK_ATTEMPT_H

#include "lock/refusal.h"
#include "lock/wants.h"
#include "session/connection.h"
#include "util/pause.h"

struct rowlock_attempt {
    struct rowlock_connection *connection;
    struct rowlock_wants wants;
    rowlock_duration wait_ms;
    int64_t deadline_ms;
    int later;        /* in the caller's transaction; else begin-and-lock */
    int unread;       /* the schema is looked at after the first write: rowlock__check_late */
    int the_long_way; /* the fast path obeys the session's lock_timeout; the long way does not */
    int cleared;      /* the way was cleared outside once: a late try does not clear it again */
    struct rowlock_pause pause;
    struct rowlock_answer answer;
    struct rowlock_outcome outcome;
};

/* Sends the locking statements once. 0: attempt->answer says how it went; else the call failed and
   attempt->outcome says what is left. */
int rowlock__try_once(struct rowlock_attempt *attempt, struct rowlock_error *error);

/* Clears the names of expired leases, in short transactions on `outside`. ETIMEDOUT: not yet. */
int rowlock__sweep(struct rowlock_attempt *attempt, struct rowlock_connection *outside,
                   struct rowlock_error *error);

/* Creates the rows of technique row, committed, on `outside`. */
int rowlock__make_known(struct rowlock_attempt *attempt, struct rowlock_connection *outside,
                        struct rowlock_error *error);

#endif
