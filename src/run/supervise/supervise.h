/* SPDX-License-Identifier: Apache-2.0 */
/* Inside of execute(): the thread that renews, the loop that supervises, and the end. */
#ifndef ROWLOCK_SUPERVISE_H
#define ROWLOCK_SUPERVISE_H

#include <pthread.h>
#include <stdatomic.h>

#include "guard/guard.h"
#include "run/supervise/holding.h"
#include "util/renewal.h"

struct output;

/* ---- renewal_thread.c ------------------------------------------------------------------------ */

/* The connection's own thread: whatever the server does, signals are passed on in time. */
struct keeper {
    struct holding *holding;
    const char *name; /* the first of the lease's */
    int64_t ttl_ms;
    /* The lease's end passed while this process was stopped: the database knows whether
       it is lost. */
    atomic_int overslept;
    pthread_t thread;
    int fd, thread_fd;          /* a socket pair: a question, an answer */
    int started, asking;        /* the thread; a question is open */
    struct ending ending;       /* for the question END */
    int code;                   /* of the last answer */
    struct rowlock_error error; /* of it */
};

/* The byte that the loop sends to the thread. */
enum question { KEEPER_KEEP = 'k', KEEPER_END = 'e' };

/* Starts the thread, which alone sends statements over the connection from then on. 0, or -1:
   keeper_stop() closes the descriptors. */
int keeper_start(struct keeper *keeper, struct holding *holding, const struct lock_options *lock);
/* Sends the question; `asking` is set until keeper_answer(). Does not block. KEEP: renew the lease,
   or check that the session lives. END: call holding->give_back, release, or commit. */
void keeper_ask(struct keeper *keeper, enum question question);
/* Takes the answer when keeper->fd is readable: the library's code. */
int keeper_answer(struct keeper *keeper);
/* Ends the thread; must not be called while a question is open. */
void keeper_stop(struct keeper *keeper);

/* ---- supervise.c ----------------------------------------------------------------------------- */

/* The command under the lock. Times are those of rowlock__now_ms(). */
struct watch {
    const struct run *run;
    struct holding *holding;
    const struct signals *signals;
    struct output *output; /* NULL: not kept */
    struct guard guard;
    struct keeper keeper;
    int64_t end_ms;                 /* the last end that was sent to the guard */
    struct rowlock_renewal renewal; /* of a lease */
    int64_t next_keep_ms;           /* when to renew, or to check the session, next */
    int64_t replace_ms;   /* when to replace a guard that does not react; ROWLOCK_NEVER: not now */
    int64_t stop_look_ms; /* when to look at the stopped command again; the same */
    int socket_fd, socket_quiet; /* the session's; it was readable: not polled till an answer */
    int lost, done;              /* the lock; the command has ended */
    int stale; /* the open question was asked before we were stopped: ignore its answer */
    int told;  /* a signal ordered us to end the command */
    struct guard_report end;      /* how it ended */
    struct guard_report left;     /* processes for which the lock is kept; NOTHING: none */
    int64_t say_ms, say_pause_ms; /* when to name them again; the pause before */
    int64_t look_ms; /* when to look at those of a guard that is gone; ROWLOCK_NEVER: not now */
};

/* When the guard must have ended the command, if nothing is renewed: before the lease's end, by
   margin_for_kill(); ROWLOCK_NEVER for a transaction. */
int64_t end_of(const struct run *run, const struct holding *holding);
/* Renews, passes signals on, and watches the guard, until the command has ended, whichever way, and
   with it every process that the guard had to end; or until the lock is lost. watch->end tells it;
   the lock is not released yet. */
void supervise(struct watch *watch);

/* ---- survivors.c ----------------------------------------------------------------------------- */

/* The lock is kept for these processes: prints that once, and then rarely. */
void survivors_take(struct watch *watch, const struct guard_report *report);
void survivors_say(struct watch *watch);
/* After the last report: those for which the lock is not kept. */
void survivors_say_left(const struct watch *watch);

/* ---- finish.c -------------------------------------------------------------------------------- */

/* Releases the lock and records the result, and prints messages about both. Waits for the database
   without a limit, but after a signal that ended the command for 5 s, and after a lost lock or
   another signal for less than a second. The exit status, or -N: signal N ended the command. */
int finish(struct watch *watch);

#endif
