/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The decisions of a lease as pure functions: no I/O, no clock, no sleep, no memory of their own. A
 * driver performs the step that they return, and calls again with its answer and the time: the
 * library (acquire.c), or the simulation with a virtual clock (tests/simulation).
 *
 * Acquire: try; on a conflict queue; wait for a hint, look again, and when first take the name
 * lock, the engine's own lock on the name. The rows decide; a session lock is only a hint when to
 * look. Every wait has a time limit, so that no lost hint and no frozen waiter stops the queue. The
 * model is model/queue.pml.
 */
#ifndef ROWLOCK_MACHINE_H
#define ROWLOCK_MACHINE_H

#include <stdbool.h>
#include <stdint.h>

#include "dialect/dialect.h"

/* The next step; each is named after the statement that performs it (dialect.h). */
enum rowlock_act {
    ROWLOCK_ACT_GRANT,    /* grant: ticket, limit_ms for the name lock (0: a try, one round trip) */
    ROWLOCK_ACT_ENQUEUE,  /* enqueue */
    ROWLOCK_ACT_PLACE,    /* place: good_ms */
    ROWLOCK_ACT_AWAIT,    /* await: the ticket or the token `number`, limit_ms */
    ROWLOCK_ACT_TURN,     /* turn: await, then grant if it is our turn */
    ROWLOCK_ACT_PAUSE,    /* sleep for limit_ms */
    ROWLOCK_ACT_OVERTAKE, /* overtake: called, limit_ms */
    ROWLOCK_ACT_WITHDRAW, /* withdraw */
    ROWLOCK_ACT_SESSION_UNLOCK, /* session_unlock: of the ticket, after the COMMIT of the grant */
    ROWLOCK_ACT_RECONNECT, /* end the lost session at the server if possible, and open another */
    ROWLOCK_ACT_DONE       /* machine->code, and if it is 0 machine->token */
};

/* A step; members that its act does not name have no meaning. */
struct rowlock_step {
    enum rowlock_act act;
    bool token;       /* AWAIT, TURN: wait for a token's lock, not a ticket's */
    int64_t called;   /* OVERTAKE: the roll call whose silent tickets are removed; 0: a new call */
    int64_t number;   /* AWAIT, TURN */
    int64_t ticket;   /* ours; 0: none */
    int64_t limit_ms; /* < 0: none */
    int64_t good_ms;  /* ENQUEUE, PLACE: how long we count as alive without a session lock */
};

/* The answer to a step; the caller zeroes it first. After a `code` the rest has no meaning. */
struct rowlock_reply {
    /* 0, or the error of the call: ECONN and EUNKNOWN mean that the session is lost, ECANCELED and
       ETIMEDOUT that nothing was done. */
    int code;
    enum rowlock_status status; /* GRANT, ENQUEUE, PLACE, TURN */
    /* The number of the row (dialect.h). AWAIT: 1 or 2: it got the session lock. OVERTAKE: that of
       the roll call, 0: not now. */
    int64_t number;
    int64_t token; /* GRANT, TURN: granted */
    /* GRANT, TURN: the start of the lease, if it is later than the sending of the step; else 0. */
    int64_t sent_ms;
    int64_t before, expires_ms; /* PLACE */
    bool free, locked;          /* PLACE */
    bool session_unlocked;      /* the COMMIT released the ticket's session lock */
};

/* The wish of the caller, and the abilities of the engine. */
struct rowlock_acquire_input {
    int64_t deadline_ms; /* ROWLOCK_NEVER: none */
    bool tries;   /* wait_ms was 0: only a free name is acquired, and the deadline is unused */
    bool permits; /* some request is a permit: the head cannot block on one holder */
    bool turns;   /* one name, exclusively, and the server has the statement turn */
    bool remote;  /* a server: it may have session locks, and is polled slowly */
    bool seizes;  /* a try with a ticket is one round trip, a grant that may wait is three */
    /* How long a try reconnects after its session was lost; a waiter does so until its deadline. 0:
       neither reconnects. */
    int64_t reconnect_ms;
    /* ESERVER means that the session's server has become read-only, as a former primary does: a new
       session may find its successor. */
    bool moves;
};

/* Our row in the queue. */
struct rowlock_acquire_ticket {
    int64_t number;  /* 0: none, or unknown */
    bool queued;     /* our rows may be in the queue */
    bool locked;     /* it may have a session lock */
    int64_t place;   /* at the last look, from 1: first */
    int64_t good_ms; /* as of the last ENQUEUE or PLACE: how long we count as alive */
};

/* The time between looks. */
struct rowlock_acquire_pace {
    int64_t pause_ms; /* the last backoff; 0: none since the last success */
    int64_t due_ms;   /* when the next look is due, after a pause; 0: unknown */
    int64_t late_ms;  /* how late recent looks were answered */
};

/* A roll call (queue.c). */
struct rowlock_acquire_roll {
    int64_t visit_ms; /* when its next visit is due; 0: none, a lease conflicts */
    int64_t called;   /* its number; 0: none yet */
    bool waited;      /* since then we got the name lock, after all earlier waiters for it */
};

/* How long a try is repeated. */
struct rowlock_acquire_repeat {
    int64_t until_ms; /* 0: not yet known */
    int64_t ended_ms; /* the same after the server ended it; 0: it never did */
};

/* One acquisition. The caller sets `in`, and the rest to 0. Times are milliseconds of the holder's
   monotonic clock (clock.h), given by the caller, and above 0. */
struct rowlock_acquire_machine {
    struct rowlock_acquire_input in;

    int state; /* the step under way, as state.h names it */
    struct rowlock_acquire_ticket ticket;
    struct rowlock_acquire_pace pace;
    struct rowlock_acquire_roll roll;
    struct rowlock_acquire_repeat repeat;
    bool seized; /* the last grant of a waiter was a try: the next one waits */
    /* The number whose session lock is awaited, or was free although its row may exist: a wait for
       it would end at once. */
    int64_t waited_for;
    /* The session was lost then for the first time since anything was answered; 0: it was not. */
    int64_t lost_since_ms;
    bool left; /* the session was left, because its server has become read-only */
    /* A grant may have been committed without our knowledge: a conflicting lease may be our own. A
       try checks that under the name lock (settles); a queued waiter once more (asked: it has). */
    bool settles, asked;

    /* output, after DONE */
    int code;      /* 0, an error, or ROWLOCK_DECLINED (request.h) */
    int64_t token; /* if the code is 0 */
    /* The reply to a grant was lost, and its outcome never settled: we may have a lease. */
    bool unsure;
    int64_t held_by; /* a conflicting token, for the error's text; 0: unknown */
};

/* Begins; the first step. */
struct rowlock_step rowlock__acquire_start(struct rowlock_acquire_machine *machine, int64_t now_ms);
/* The next step, after `reply` to the previous one. DONE is the last. A waiter that does not
   acquire withdraws its ticket before DONE, also after the deadline. `dice` are random bits, for
   jitter. */
struct rowlock_step rowlock__acquire_next(struct rowlock_acquire_machine *machine, int64_t now_ms,
                                          const struct rowlock_reply *reply, uint32_t dice);

#endif
