/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The guard: a small process between rowlock and the command, with a socket and a timer and nothing
 * of the database. It is the command's parent, and whatever the command starts is its descendant
 * however often it forks (a child subreaper). It knows until when the lock is certain. When that
 * time comes, or rowlock is gone, whatever stopped or killed it, the guard ends every descendant,
 * and never a process of the caller's.
 */
#ifndef ROWLOCK_GUARD_H
#define ROWLOCK_GUARD_H

#include <stdint.h>
#include <sys/types.h>

#define TREE_NAMED 8

struct tree {
    int alive;             /* descendants that run, stopped ones too */
    int refused;           /* those of them that we may not signal */
    pid_t pid[TREE_NAMED]; /* the first of them, for who is told */
};

/* ---- what rowlock knows of it: guard/guard.c ----------------------------------------- */

struct guard_plan {
    int64_t end_ms;     /* the command is dead by then; ROWLOCK_NEVER: the lock does not expire */
    int64_t max_run_ms; /* the command is ended after so long; < 0: never */
    int64_t kill_after_ms; /* from TERM to KILL */
    int own_group;         /* the command gets a process group of its own */
    int dies_with_rowlock; /* the lock is gone with rowlock: no time for TERM */
    /* Becomes the command, or returns errno. In a child of the guard. */
    int (*become)(void *data);
    /* Becomes the stand-in, which renews while job control stops the command and rowlock; writes orders
       to `fd`. Returns if it cannot. In a child of the guard. NULL: there is none. */
    void (*stand_in)(void *data, int fd);
    void *data;
};

struct guard {
    pid_t pid;
    int fd;          /* readable: guard_next() has something to say */
    int has_command; /* it was started */
    pid_t command;
    int own_group;
    int only_ours; /* we had no child before it: all that we inherit if it dies is the command's */
};

enum guard_event {
    GUARD_NOTHING,
    GUARD_NOT_STARTED, /* number: errno of the guard or of fork() */
    GUARD_STARTED,
    GUARD_NOT_EXECUTED, /* number: errno of exec */
    GUARD_STOPPED,      /* the command alone was stopped, or with us */
    GUARD_CONTINUED,
    GUARD_UNTIL,  /* end_ms: the answer to guard_ask() */
    GUARD_ENDING, /* it has begun to end the command; cause */
    GUARD_ENDED,  /* number: wait() status; cause; survivors */
    GUARD_GONE    /* the guard itself was killed */
};

enum guard_cause {
    GUARD_BY_ITSELF,
    GUARD_LOCK_OVER, /* end_ms came, or rowlock said so, or was gone */
    GUARD_TIME_OVER, /* max_run_ms */
    GUARD_TOLD       /* guard_stop() */
};

struct guard_report {
    enum guard_event event;
    int number;
    enum guard_cause cause;
    struct tree survivors; /* processes that outlived the command, and run on */
    pid_t command;
    int64_t end_ms; /* of UNTIL: the command is dead by then */
    int began; /* it was let go to become the command: GUARD_ENDED, GUARD_GONE as far as we know */
};

/* Starts guard and command. -1, errno set: there is neither. The command's process takes no signal and does
   not become the command before guard_next() has told GUARD_STARTED, so that a signal that reached it as well as
   us before that, and is passed on to it, is one signal. */
int guard_start(struct guard *guard, const struct guard_plan *plan);
/* None of these blocks, also if the guard is stopped. */
void guard_extend(struct guard *guard, int64_t end_ms);
void guard_ask(struct guard *guard); /* is it awake, and until when is the lock certain? */
void guard_signal(struct guard *guard, int number, int to_group);
void guard_end(struct guard *guard);  /* the lock is over */
void guard_stop(struct guard *guard); /* it is not */
/* The next report; never blocks. */
void guard_next(struct guard *guard, struct guard_report *out);
/* For a guard that is gone, or does not do its duty: kills it and ends what it should have ended, as
   far as that can be found. What it could not end. */
struct tree guard_replace(struct guard *guard);
/* After the last report. */
void guard_close(struct guard *guard);

/* ---- between the two ----------------------------------------------------------------- */

enum guard_order_kind { GUARD_BEGIN, GUARD_EXTEND, GUARD_ASK, GUARD_SIGNAL, GUARD_END, GUARD_STOP };

struct guard_order {
    enum guard_order_kind kind;
    int number, to_group;
    int64_t end_ms;
};

/* ---- the process: guard/process.c, guard/watch.c ------------------------------------- */

_Noreturn void guard_run(const struct guard_plan *plan, int fd);

/* ---- the stand-in: guard/stand_in.c -------------------------------------------------- */

/* A process of the guard's that renews the lease while the command is stopped. Job control stops
   rowlock together with the command, and neither the guard nor the stand-in. */
struct stand_in {
    pid_t pid; /* 0: there is none */
    int fd;    /* its orders; -1 */
};

/* Starts it, unless there is one. */
void stand_in_start(struct stand_in *stand_in, const struct guard_plan *plan);
/* Its next order: 1. It is gone, or has nothing to say: 0. Never blocks. */
int stand_in_next(struct stand_in *stand_in, struct guard_order *out);
/* Kills it, if there is one, and does not wait for its end. */
void stand_in_end(struct stand_in *stand_in);

/* ---- descendants: guard/tree.c ------------------------------------------------------- */

/* Looks at /proc once; sends `number` (0: none) to every descendant of `root`, but not to the members
   of the group `but` (0: none is left out). A descendant that runs before or after this look only is
   missed: look again. -1: there is no /proc. */
int tree_signal(pid_t root, int number, pid_t but, struct tree *out);
/* Is this one process stopped, now? */
int tree_is_stopped(pid_t pid);
/* 0: it has none, or is gone. */
pid_t tree_parent(pid_t pid);
/* It has ended, even if nobody has taken note of that. */
int tree_is_dead(pid_t pid);

#endif
