/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The decisions of a lease, as pure functions: no I/O, no clock, no sleep, no memory of their own.
 * Whoever drives them performs the step they name, and comes back with its answer and the time: the
 * library (acquire.c, keep.c), or the simulation with a time of its own (tests/simulation).
 *
 * acquire: try; if somebody is in the way queue; wait on a hint, look again, and when first take T.
 * The rows decide; a session lock only tells when to look. Every wait ends, so that no hint
 * that is lost, and nobody who is frozen, stops the queue. The model is model/queue.pml.
 */
#ifndef ROWLOCK_MACHINE_H
#define ROWLOCK_MACHINE_H

#include <stdbool.h>
#include <stdint.h>

#include "dialect/dialect.h"

/* What is to be done next; each names the statement that does it (dialect.h). */
enum rowlock_act {
    ROWLOCK_ACT_GRANT, /* grant: ticket, limit_ms to wait for T (0: a try, committed in one trip) */
    ROWLOCK_ACT_ENQUEUE,  /* enqueue */
    ROWLOCK_ACT_PLACE,    /* place: good_ms */
    ROWLOCK_ACT_AWAIT,    /* await: the ticket or the token `number`, limit_ms */
    ROWLOCK_ACT_TURN,     /* turn: await, and the grant as soon as it is ours to take */
    ROWLOCK_ACT_PAUSE,    /* nothing, for limit_ms */
    ROWLOCK_ACT_OVERTAKE, /* overtake: called, limit_ms */
    ROWLOCK_ACT_WITHDRAW, /* withdraw */
    ROWLOCK_ACT_UNMARK,   /* unmark: the ticket's session lock, after the grant's COMMIT */
    ROWLOCK_ACT_RECONNECT, /* end the lost session at the server if it can be done, and open another */
    ROWLOCK_ACT_DONE       /* machine->code, and if it is 0 machine->token */
};

struct rowlock_step {
    enum rowlock_act act;
    bool token;       /* AWAIT, TURN: a token's lock, not a ticket's */
    int64_t called;   /* OVERTAKE: the roll call whose silent tickets are removed; 0: call */
    int64_t number;   /* AWAIT, TURN */
    int64_t ticket;   /* ours; 0: none */
    int64_t limit_ms; /* < 0: none */
    int64_t good_ms;  /* ENQUEUE, PLACE: how long we count as alive without a session lock */
};

/* How the step went. */
struct rowlock_reply {
    int code;                   /* 0, or what the call failed with: ECONN and EUNKNOWN mean that the
                                   session is lost, ECANCELED and ETIMEDOUT that nothing was done */
    enum rowlock_status status; /* GRANT, ENQUEUE, PLACE, TURN */
    int64_t number;             /* of the row; AWAIT: 1 came; OVERTAKE: of the call, 0: not now */
    int64_t token;              /* GRANT, TURN: granted */
    int64_t
        sent_ms; /* GRANT, TURN: when what it lasts from was sent, if that was later than the step; else 0 */
    int64_t before, expires_ms; /* PLACE */
    bool free, locked;          /* PLACE */
    bool unmarked;              /* GRANT, TURN: its COMMIT gave the ticket's session lock back */
};

struct rowlock_acquire_machine {
    /* given */
    int64_t deadline_ms;  /* of the holder's monotonic clock; ROWLOCK_NEVER */
    bool tries;           /* wait_ms was 0 */
    bool permits;         /* some want is a permit: a head cannot block on one holder */
    bool turns;           /* one name, exclusively, and the server has the statement turn */
    bool remote;          /* a server: it has session locks perhaps, and polling is kept slow */
    int64_t reconnect_ms; /* 0: never; for how long a try does so; who waits does it as long */
    /* kept */
    int state;
    int64_t ticket; /* 0: none, or not known */
    bool queued;    /* rows of ours may stand in the queue */
    bool locked;    /* our ticket may have a session lock */
    int64_t pause_ms, place, good_ms;
    int64_t due_ms;     /* when the next look is due, after a pause; 0: not known */
    int64_t late_ms;    /* how much later looks were answered */
    int64_t waited_for; /* whose session lock is awaited, or came: its row may stand */
    int64_t visit_ms;   /* the next visit of a roll call is due; 0: none, a lease is in the way */
    int64_t called;     /* the number of our roll call; 0: it is to be made */
    bool waited;        /* since then we had T after everybody who stood in its queue */
    bool lost;          /* the session, and nothing was answered since */
    int64_t lost_since_ms;
    bool settles,
        asked;         /* whether what is in the way is ours: to be asked first, and in the queue */
    int64_t moment_ms; /* until when a try may repeat itself; 0: not yet known */
    int result;        /* what to say once the ticket is withdrawn */
    /* out */
    int code; /* an error, or ROWLOCK_DECLINED (request.h) */
    int64_t token;
    /* The reply to a grant was lost, and never settled: a lease of ours may exist. */
    bool unsure;
    int64_t held_by; /* a token in the way, 0: unknown: for the error's text */
};

/* Begins; the first step. */
struct rowlock_step rowlock__acquire_start(struct rowlock_acquire_machine *machine, int64_t now_ms);
/* The next, after `reply` to the step before. `dice` are random bits, for jitter. */
struct rowlock_step rowlock__acquire_next(struct rowlock_acquire_machine *machine, int64_t now_ms,
                                          const struct rowlock_reply *reply, uint32_t dice);

/* ---- keeping it ---------------------------------------------------------------------------------- */

enum rowlock_keep_act {
    ROWLOCK_KEEP_SLEEP,     /* until until_ms */
    ROWLOCK_KEEP_RENEW,     /* with until_ms as its deadline */
    ROWLOCK_KEEP_RECONNECT, /* likewise */
    ROWLOCK_KEEP_LOST       /* tell it, once; the machine is done */
};

struct rowlock_keep_step {
    enum rowlock_keep_act act;
    int64_t until_ms;
};

struct rowlock_keep_machine {
    /* given */
    int64_t ttl_ms;
    int64_t statement_ms; /* how long a renewal may take at most */
    /* kept; end_ms is the holder's own deadline */
    int64_t end_ms, sent_ms, next_ms, pause_ms;
    int state;
    /* out */
    int code; /* why it is lost: ELOST (the database said so), ECONN (its end came first) */
};

/* `granted_ms`: when the grant was sent; `now_ms`: it has been answered. A grant that took long is
   renewed at once. */
struct rowlock_keep_step rowlock__keep_start(struct rowlock_keep_machine *machine,
                                             int64_t granted_ms, int64_t now_ms);
/* `code` is 0 or what the step before failed with; `status` is the renewal's. */
struct rowlock_keep_step rowlock__keep_next(struct rowlock_keep_machine *machine, int64_t now_ms,
                                            int code, enum rowlock_status status, uint32_t dice);

#endif
