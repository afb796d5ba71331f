/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of `run`: options, signals, acquiring the lock, the environment with ancestors' locks,
   the renewal thread, and the loop that supervises all of them. The command's process and its guard
   are in guard.h. */
#ifndef ROWLOCK_RUN_H
#define ROWLOCK_RUN_H

#include <pthread.h>
#include <stdatomic.h>
#include <sys/types.h>

#include "command/command.h"
#include "command/guard/guard.h"
#include "command/lock_options.h"
#include "command/signals.h"
#include "system/wakeup.h"
#include "util/clock.h"
#include "util/owner.h"
#include "util/random.h"
#include "util/renewal.h"

/* ---- options.c ------------------------------------------------------------------- */

struct run {
    struct lock_options lock;
    int transaction; /* --tx: no lease, but an open transaction */
    int64_t kill_after_ms;
    int64_t max_run_ms; /* < 0: no limit */
    int terminal;       /* stay in the caller's process group */
    int verbose;
    int keeps_output;   /* pass the command's output through, and keep its end; or: */
    int keeps_errors;   /* what it writes to standard error alone */
    const char *prefix; /* the job's name before each line that is passed through; NULL: none */
    int ends_on_term;   /* TERM is for us: end the command */
    int no_process;     /* no process of ours keeps the lease */
    const char *report; /* a file, or NULL */
    char **argv;        /* of the command */
    char *shell[4];
};

/* After all options are read: sets consistent times, and detects a terminal. */
void settle_run(struct run *run);
/* Ends the program on wrong usage. */
void read_run_options(struct command *command, struct run *run);
/* With a terminal the command stays in the caller's process group. */
int has_terminal(void);

/* ---- times.c --------------------------------------------------------------------- */

/* The time from TERM to KILL: the given one (< 0: none given), else 5 s; for a lease at most a
   quarter of the ttl, so that the rest is left for renewals. ttl_ms 0: it does not expire. */
int64_t kill_after_of(int64_t said_ms, int64_t ttl_ms);
/* By the clock of rowlock__now_ms; of no lease: ROWLOCK_NEVER. */
int64_t end_of_lease(const struct rowlock_lease *lease);
/* The time between KILL and the end of the lease. */
int64_t margin_for_kill(int64_t ttl_ms);
/* statement_ms of a connection that renews in time. */
int64_t statement_limit(const struct run *run);

/* ---- connect.c ------------------------------------------------------------------- */

/* An exit status, or -N: signal N came. */
int connect_to_run(const struct command *command, const struct run *run,
                   const struct signals *signals, struct rowlock_connection **out);

/* ---- acquire.c ------------------------------------------------------------------- */

#define INTERRUPTED "interrupted before it was started\n"

/* How the command ended, for the record: run/finish.c. */
struct ending {
    enum rowlock_run_outcome outcome; /* DONE: ended by itself, with 0, under the lock.
                                         Otherwise FAILED, TIMEDOUT, LOST or NOTSTARTED */
    int exit;                         /* the status; 128 + N: by signal N; 0 only if DONE */
    const char *output;               /* its end, UTF-8; NULL: not kept */
};

struct holding {
    struct rowlock_connection *connection;
    struct rowlock_lease *lease; /* NULL: the lock of the connection's transaction */
    int64_t waited_ms;
    struct waiting *waiting;        /* the line that explains the wait; NULL: none */
    const struct run *nested;       /* waits beneath a lock of an ancestor; NULL: not known to */
    char owner[ROWLOCK_OWNER_SIZE]; /* of the attempt under way; "": chosen by the library */
    int hopeless;     /* the index of the name that an ancestor keeps from us; -1: none */
    int said_away;    /* the outage of the database was reported */
    int64_t renew_ms; /* the ttl of renewals; 0: as it was acquired */
    int64_t due_ms;   /* of a job's run, since 1970 */
    int attempt;      /* of that due time, from 1; 0: not a run of a job */
    /* Acquires the lease; success with a NULL lease: none is needed. NULL: rowlock_acquire or
       rowlock_begin. */
    int (*take)(struct holding *holding, const struct rowlock_terms *terms,
                struct rowlock_error *error);
    /* Releases the lease and records the result, on the keeper's thread; repeated while the lease
       lasts. Returns the library's code. NULL: release, or commit. */
    int (*give_back)(const struct holding *holding, const struct ending *ending,
                     struct rowlock_error *error);
    void *data; /* of take and give_back */
};

/* 0, an exit status, or -N: signal N came; errors were printed. Check `*acquired`, because -E may
   have set the status to 0. */
int acquire(const struct run *run, const struct signals *signals, struct holding *holding,
            int *acquired);

/* A signal may have come after the last wait and before the command existed. Then releases the lock
   and returns -N; otherwise returns the status. */
int not_started_if_interrupted(const struct signals *signals, struct holding *holding, int status);

/* ---- environment.c --------------------------------------------------------------- */

/* From ROWLOCK_HELD, the locks of our ancestors: whether there are any; whether a token is theirs;
   the index of a name that they lock by a transaction, or -1. */
int has_holding_ancestor(void);
int is_token_of_ancestor(int64_t token);
int held_by_ancestor(const struct rowlock_want *wants, size_t n);
/* Sets ROWLOCK_NAME, ROWLOCK_TOKEN, ROWLOCK_OWNER and ROWLOCK_HELD, and for a run of a job
   ROWLOCK_DUE and ROWLOCK_ATTEMPT. */
int set_environment(const struct rowlock_want *wants, size_t n, const struct holding *holding);

/* ---- kept.c ---------------------------------------------------------------------- */

#define KEPT_NAMES 2

/* For the keeper of `acquire --while-pid`: descendants of `pid` must not wait for this lease. `fds`
   stay open; a readable one is for announce_again(); -1 if the name was bound already. */
void announce_kept(pid_t pid, int64_t token, int fds[KEPT_NAMES]);
/* Is this process, or an ancestor, one whose lease `token` is kept so, by this user or root? 0: any
   lease. */
int is_kept_for_ancestor(int64_t token);

/* ---- child.c --------------------------------------------------------------------- */

struct descriptors;
/* The descriptors that the caller passed to us: the command gets these and no others. */
struct descriptors *descriptors_of_caller(void);
/* Call it before any descriptor is opened: otherwise one of ours could get the number of a standard
   descriptor that the caller closed, and receive the command's output. */
int fill_standard_descriptors(void);
/* Sets FD_CLOEXEC on all except `callers`. */
void hide_ours(const struct descriptors *callers);

struct output;
struct child {
    const struct run *run;
    const struct signals *signals;
    const struct descriptors *callers;
    const struct holding *holding;
    const struct output *output; /* NULL: the caller's descriptors are the command's */
};

/* guard_plan.become of a struct child. */
int become_command(void *child);
/* Writes to stderr why `program` could not be executed: errno was `number`. */
void say_not_executed(const char *program, int number);

/* ---- prefix.c -------------------------------------------------------------------- */

#define PREFIX_NAME_MOST 1200 /* a name of 255 bytes, escaped */

/* The line of a stream that is being read. */
struct prefix {
    const char *name; /* NULL: bytes are passed on unchanged */
    char line[4096];  /* a pipe takes so much at once; a longer line is passed on in parts */
    size_t n;
    int in_line;
};

typedef int prefix_emit(void *data, const char *bytes, size_t n);

/* Calls `emit` for each complete line. Its result other than 0 ends the call, and is returned. */
int prefix_take(struct prefix *prefix, const char *bytes, size_t n, prefix_emit *emit, void *data);
/* Completes a last line that has no end. */
int prefix_end(struct prefix *prefix, prefix_emit *emit, void *data);

/* ---- output.c -------------------------------------------------------------------- */

#define OUTPUT_KEPT 2048

/* Threads pass the command's output to ours, so a reader of ours that stops reading does not stop
   our own work. */
struct output {
    struct stream {
        struct output *output;
        int from, into; /* the pipe; -1: closed */
        int to;
        pthread_t thread;
        int started, broken;
        struct prefix prefix;
    } streams[2];
    int n;                      /* 1: both are one file, and one pipe keeps the order; or: */
    int only_errors;            /* standard output is the command's */
    struct rowlock_wakeup stop; /* sent: the command has ended */
    struct rowlock_wakeup done; /* sent for each stream that is passed on to its end */
    pthread_mutex_t lock;
    pthread_cond_t drained;
    int undrained; /* streams of which there may be more to read */
    char tail[OUTPUT_KEPT];
    size_t total; /* bytes that came */
    char text[OUTPUT_KEPT + 1];
};

/* only_errors: of standard output nothing is kept, unless it is the same file. `prefix` as in
   struct run. */
int output_open(struct output *output, int only_errors, const char *prefix);
/* In the command's process: its standard output and error are pipes. */
int output_become(const struct output *output);
/* After the fork. */
int output_start(struct output *output);
/* After the command's end: returns the end of its output, as UTF-8. Later output of its descendants
   is not read. */
const char *output_end(struct output *output);
/* Waits until all is passed on, one of our signals comes, or nothing was passed on for wait_ms (-1:
   no limit). */
void output_close(struct output *output, const struct signals *signals, int wait_ms);

/* ---- keeper.c -------------------------------------------------------------------- */

/* The connection's own thread: whatever the server does, signals are passed on in time. */
struct keeper {
    struct holding *holding;
    const char *name; /* the first of the lease's */
    int64_t ttl_ms;
    /* The lease's end passed while this process was stopped: the database knows whether
       it is lost. */
    atomic_int overslept;
    pthread_t thread;
    int fd, thread_fd; /* a socket pair: a question, an answer */
    int started, asking;
    struct ending ending;       /* for the question END */
    int code;                   /* of the last answer */
    struct rowlock_error error; /* of it */
};

enum question { KEEPER_KEEP = 'k', KEEPER_END = 'e' };

int keeper_start(struct keeper *keeper, struct holding *holding, const struct lock_options *lock);
/* KEEP: renew the lease, or check that the session lives. END: call holding->give_back, release, or
   commit. */
void keeper_ask(struct keeper *keeper, enum question question);
/* Takes the answer when keeper->fd is readable: the library's code. */
int keeper_answer(struct keeper *keeper);
/* Ends the thread; must not be called while a question is open. */
void keeper_stop(struct keeper *keeper);

/* ---- supervise.c ----------------------------------------------------------------- */

struct watch {
    const struct run *run;
    struct holding *holding;
    const struct signals *signals;
    struct output *output; /* NULL: not kept */
    struct guard guard;
    struct keeper keeper;
    int64_t end_ms;                 /* the last end that was sent to the guard */
    struct rowlock_renewal renewal; /* of a lease */
    int64_t next_keep_ms;
    int64_t replace_ms, stop_look_ms; /* ROWLOCK_NEVER: not now */
    int socket_fd, socket_quiet;
    int lost, done;
    int stale; /* the open question was asked before we were stopped: ignore its answer */
    int told;  /* a signal ordered us to end the command */
    struct guard_report end; /* how it ended */
};

/* When the guard must have ended the command, if nothing is renewed. */
int64_t end_of(const struct run *run, const struct holding *holding);
/* Until the command has ended, whichever way. */
void supervise(struct watch *watch);

/* ---- finish.c -------------------------------------------------------------------- */

/* Releases the lock. The exit status, or -N: signal N ended the command. */
int finish(struct watch *watch);
/* Releases the lock if no guard was started: the command did not start, for the reason `status`. */
void finish_not_started(const struct holding *holding, int status, const char *why);

/* ---- execute.c ------------------------------------------------------------------- */

struct outcome {
    int acquired, lost;
    int stuck;                /* the connection's thread hangs in the client library */
    int64_t waited_ms, token; /* token 0: none */
    int status;               /* -N: by signal N */
};

/* Runs the command under the lock, releases the lock, prints errors, and sets outcome->status, lost
   and stuck. Stuck: `holding` is in use, so end with _exit(). */
int execute(const struct run *run, struct signals *signals, const struct descriptors *callers,
            struct holding *holding, struct outcome *outcome);

/* ---- stand_in.c ------------------------------------------------------------------ */

/* guard_plan.stand_in of a struct child: becomes `rowlock renew` with hidden options. */
void become_stand_in(void *child, int fd);
/* The stand-in's work: renews the lease, and sends orders to the guard, until the guard ends it. An
   exit status. */
struct stand_in_argument {
    const char *name;
    int64_t token, ttl_ms;
    int url_fd, guard_fd;
};
int stand_in(const struct stand_in_argument *argument);

/* ---- report.c -------------------------------------------------------------------- */

/* Opens the file of --report. -1: failed, with a message. */
int report_open(const char *path);
/* One line of JSON. */
void report_write(int fd, const struct outcome *outcome, const struct lock_options *lock);

#endif
