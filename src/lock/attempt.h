/* SPDX-License-Identifier: Apache-2.0 */
/* One attempt to lock names, and the work outside the transaction before the next attempt. */
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
    int in_transaction; /* locks in the caller's transaction; else begin-and-lock */
    int unread;         /* the schema is checked after the first write: rowlock__check_late */
    int the_long_way;   /* not the fast path, which obeys the session's lock_timeout */
    int cleared;        /* obstacles were removed once; late attempts do not repeat that */
    struct rowlock_pause pause;
    struct rowlock_answer answer;
    struct rowlock_outcome outcome;
};

/* Sends the locking statements once. 0: attempt->answer has the result; else the call failed and
   attempt->outcome has the transaction's state. */
int rowlock__try_once(struct rowlock_attempt *attempt, struct rowlock_error *error);

/* Sweeps expired leases of the names, in short transactions on `outside`.
   ETIMEDOUT: not finished. */
int rowlock__sweep(struct rowlock_attempt *attempt, struct rowlock_connection *outside,
                   struct rowlock_error *error);

/* Creates the rows of technique row, committed, on `outside`. */
int rowlock__make_known(struct rowlock_attempt *attempt, struct rowlock_connection *outside,
                        struct rowlock_error *error);

#endif
