/* SPDX-License-Identifier: Apache-2.0 */
/* The states of an acquire machine, private to this folder. Each is named after the step whose
   reply the machine awaits. */
#ifndef ROWLOCK_MACHINE_STATE_H
#define ROWLOCK_MACHINE_STATE_H

#include "lease/machine/machine.h"
#include "rowlock.h"

#define STEP_MS 10 /* the head's polling interval; others multiply it by their place */

/* Of machine->state. */
enum state {
    TRYING,      /* GRANT without a ticket */
    PROBING,     /* AWAIT of a ticket that blocks a try: is it dead? */
    TRY_PAUSE,   /* PAUSE before GRANT */
    QUEUING,     /* ENQUEUE */
    QUEUE_PAUSE, /* PAUSE before ENQUEUE */
    LOOKING,     /* PLACE */
    AWAITING,    /* AWAIT before PLACE */
    TURNING,     /* TURN */
    WAITING,     /* PAUSE before PLACE */
    TAKING,      /* GRANT with our ticket */
    SEIZING,     /* the same without a wait */
    OVERTAKING,  /* OVERTAKE */
    DROPPING,    /* SESSION_UNLOCK of a ticket that others removed, before ENQUEUE */
    CONNECTING,  /* RECONNECT */
    CONNECT_PAUSE,
    WITHDRAWING, /* WITHDRAW */
    LEAVING,     /* SESSION_UNLOCK: the last step */
    ENDED
};

typedef struct rowlock_acquire_machine machine;
typedef struct rowlock_step step;
typedef struct rowlock_reply reply;

/* ---- step.c: steps for tries and queued waiters ---------------------------------------------- */

/* The deadline has passed. A try has none. */
bool rowlock__step_is_late(const machine *m, int64_t now);
/* `limit`, but not beyond the deadline; at least 1, because 0 would be a try. */
int64_t rowlock__step_within(const machine *m, int64_t now, int64_t limit);
/* The next backoff after a pause without a result: doubled, from `first` up to `limit`. */
int64_t rowlock__step_backoff(machine *m, int64_t first, int64_t limit);
/* PAUSE in that state, for half of `ms` to `ms`, but not beyond the deadline. */
step rowlock__step_pause(machine *m, int64_t now, int state, int64_t ms, uint32_t dice);
/* DONE, with that result. */
step rowlock__step_finish(machine *m, int code);
/* finish, after the ticket's session lock has been released. */
step rowlock__step_leave(machine *m, int code);
/* leave, after the ticket has been withdrawn. */
step rowlock__step_give_up(machine *m, int code);
/* leave with success: the reply has the token. */
step rowlock__step_granted(machine *m, const reply *r);

/* ---- queue.c --------------------------------------------------------------------------------- */

/* Forgets the ticket and the roll call, without a step: the next ENQUEUE begins at the end of the
   queue. */
void rowlock__queue_forget(machine *m);
/* ENQUEUE, and PLACE: the beginning and the centre of the waiting. After the deadline they give up
   instead. */
step rowlock__queue_enter(machine *m, int64_t now);
step rowlock__queue_look(machine *m, int64_t now);

/* The steps after the replies; acquire.c has handled the errors of the calls. */

/* ENQUEUE: keeps the ticket, and looks. */
step rowlock__queue_entered(machine *m, int64_t now, const reply *r);
/* PLACE: the first acquires, or waits for the holder; the others wait for the ticket before theirs,
   or for the next visit of a roll call; a ticket that was removed queues again. */
step rowlock__queue_looked(machine *m, int64_t now, const reply *r, uint32_t dice);
/* AWAIT: if the name seems to be free, tries to acquire at once; else looks. */
step rowlock__queue_awaited(machine *m, int64_t now, const reply *r);
/* TURN: done; a dead ticket before ours is removed; else looks. */
step rowlock__queue_turned(machine *m, int64_t now, const reply *r);
/* GRANT that waited for the name lock (TAKING): done, queues again, or pauses before the next
   look. */
step rowlock__queue_took(machine *m, int64_t now, const reply *r, uint32_t dice);
/* OVERTAKE: plans the next visit of the roll call, and looks. */
step rowlock__queue_overtook(machine *m, int64_t now, const reply *r);

#endif
