/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The guard: a small process between rowlock and the command, with a socket and a timer but without
 * a database connection. It is the command's parent, and a child subreaper, so all processes that
 * the command starts stay its descendants. It knows until when the lock is certain. At that time,
 * or when rowlock has ended for any reason, it ends every descendant, but no process of the
 * caller's.
 */
#ifndef ROWLOCK_GUARD_H
#define ROWLOCK_GUARD_H

#include <stdint.h>
#include <sys/types.h>

#define TREE_NAMED 8 /* descendants with a pid in a message */

/* The descendants of a process, as one scan of /proc found them. */
struct tree {
    int alive;             /* running descendants, including stopped ones */
    int refused;           /* those of them that we are not permitted to signal */
    pid_t pid[TREE_NAMED]; /* the first of them, for messages; 0: /proc does not show it */
};

/* ---- rowlock's side: guard/guard.c ----------------------------------------------------- */

/* The order for a guard. Times are those of rowlock__now_ms(). The functions run in children of the
   guard, which have a copy of the caller's memory. */
struct guard_plan {
    int64_t end_ms;     /* the command is dead by then; ROWLOCK_NEVER: the lock does not expire */
    int64_t max_run_ms; /* the command's time limit; < 0: none */
    int64_t kill_after_ms; /* from TERM to KILL */
    int own_group;         /* the command gets a process group of its own */
    int dies_with_rowlock; /* the lock ends with rowlock: then KILL without TERM */
    /* Becomes the command, or returns errno. In a child of the guard. */
    int (*become)(void *data);
    /* Becomes the stand-in, which renews while job control stops the command and rowlock, and
       writes orders to `fd`. Returns if it cannot. In a child of the guard. NULL: none. */
    void (*stand_in)(void *data, int fd);
    void *data;
};

/* Rowlock's end of a running guard; guard_start() fills it. */
struct guard {
    pid_t pid;
    int fd;                  /* readable: guard_next() has a report */
    int has_command;         /* it was started */
    pid_t command;           /* its pid */
    unsigned long long born; /* when it started (tree_born) */
    int own_group;           /* as in the plan */
    int only_ours; /* we had no child before: all orphans that become ours are the command's */
};

/* NOTHING: no report is waiting. The guard sends the others, except GONE. */
enum guard_event {
    GUARD_NOTHING,
    GUARD_NOT_STARTED, /* number: errno of the guard or of fork() */
    GUARD_STARTED,
    GUARD_NOT_EXECUTED, /* number: errno of exec */
    GUARD_STOPPED,      /* the command was stopped, alone or together with us */
    GUARD_CONTINUED,
    GUARD_UNTIL,  /* end_ms: the answer to ASK */
    GUARD_ENDING, /* the guard has begun to end the command; cause */
    /* Survivors do not end, and the lock is still certain: keep it for them, until ENDED. Again if
       they change; cause; survivors. */
    GUARD_SURVIVED,
    GUARD_ENDED, /* number: wait() status; cause; survivors: they have no lock */
    GUARD_GONE   /* the guard itself was killed */
};

/* Why the command ends. */
enum guard_cause {
    GUARD_BY_ITSELF,
    GUARD_LOCK_OVER, /* end_ms passed, rowlock ordered it, or rowlock has ended */
    GUARD_TIME_OVER, /* max_run_ms */
    GUARD_TOLD       /* STOP */
};

/* Members that the event does not name have no meaning. */
struct guard_report {
    enum guard_event event;
    int number;
    enum guard_cause cause;
    struct tree survivors; /* processes that outlived the command, or do not end */
    pid_t command;
    int64_t end_ms; /* of UNTIL: the command is dead by then */
    int began;      /* the command's program was started, as far as ENDED and GONE know */
};

/* Starts guard and command, by fork(). -1 with errno: neither exists. The command's process blocks
   all signals, and does not start its program before guard_next() has returned GUARD_STARTED. So a
   signal that reached both it and us before, and is passed on to it, counts once. */
int guard_start(struct guard *guard, const struct guard_plan *plan);

/* EXTEND and END come from rowlock or from the stand-in; the others from rowlock. */
enum guard_order_kind {
    GUARD_BEGIN,  /* of guard_next() */
    GUARD_EXTEND, /* the lock is certain until end_ms; never shortens that */
    GUARD_ASK,    /* requests UNTIL: is it awake, and how long is the lock certain? */
    GUARD_SIGNAL, /* of guard_signal() */
    GUARD_END,    /* ends the command because the lock has ended */
    GUARD_STOP    /* ends the command for another reason */
};

/* Sends an order; `fd` leads to the guard. Never blocks, even if the guard is stopped, and reports
   no failure: a guard that has gone is reported by guard_next(). */
void guard_give(int fd, enum guard_order_kind kind, int64_t end_ms);
/* The same, to pass a signal on to the command, or with `to_group` to its process group. */
void guard_signal(const struct guard *guard, int number, int to_group);
/* The next report; never blocks. At STARTED it lets the command start its program. */
void guard_next(struct guard *guard, struct guard_report *out);
/* For a guard that has died or does not react: kills it, and ends those of its descendants that can
   be found, within a second. Returns the processes that it could not end. */
struct tree guard_replace(struct guard *guard);
/* Tries that again, once: those that are left. */
struct tree guard_orphans(const struct guard *guard);
/* After the last report, or guard_replace(): closes the socket, and collects the guard, which ends
   then. */
void guard_close(struct guard *guard);

/* ---- between the two ----------------------------------------------------------------- */

/* A message to the guard; a report is the message back. */
struct guard_order {
    enum guard_order_kind kind;
    int number, to_group;
    int64_t end_ms;
};

/* ---- the process: guard/process.c, guard/watch.c ------------------------------------- */

/* The guard process, after the fork: starts the command, watches it, and exits. `fd` is the socket
   to rowlock; when that is closed, rowlock has ended. */
_Noreturn void guard_run(const struct guard_plan *plan, int fd);

/* ---- the stand-in: guard/start_stand_in.c -------------------------------------------- */

/* The stand-in: a process of the guard's that renews the lease while the command is stopped. Job
   control stops rowlock together with the command, but neither the guard nor the stand-in. */
struct stand_in {
    pid_t pid; /* 0: there is none */
    int fd;    /* sends its orders; -1: none */
};

/* Starts it, unless it exists or the plan has none. If that fails, the lock is not renewed
   meanwhile, and the guard ends the command in time. */
void stand_in_start(struct stand_in *stand_in, const struct guard_plan *plan);
/* 1: its next order. 0: it is gone, or has sent none. Never blocks. */
int stand_in_next(struct stand_in *stand_in, struct guard_order *out);
/* Kills it, if there is one, and does not wait for its end. */
void stand_in_end(struct stand_in *stand_in);

/* ---- descendants: guard/descendants.c ------------------------------------------------ */

/* Scans /proc once, and sends `number` (0: none) to every running descendant of `root`, except the
   members of the group `but` (0: no exception), which are only counted. Misses descendants that
   exist only before or after the scan, so repeat it. -1: there is no /proc, or no memory. */
int tree_signal(pid_t root, int number, pid_t but, struct tree *out);
/* "4711, 4712", of many the first: for a message. */
void tree_pids(const struct tree *tree, char *out, size_t size);
#define TREE_PIDS_SIZE (16 * (TREE_NAMED + 1))
/* Whether it has ended, even if its parent has not collected it. */
int tree_is_dead(pid_t pid);
/* When it started (struct process); 0: /proc does not show it. */
unsigned long long tree_born(pid_t pid);
/* Whether it is an ancestor of this process: 1, 0; -1: /proc does not show that. */
int tree_is_above(pid_t pid, unsigned long long born);
/* Collects the children of this process that have ended. 1: it has no others. */
int reap_all(void);

#endif
