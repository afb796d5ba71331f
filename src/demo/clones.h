/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `rowlock demo clones`: five clones of a server, one crontab, one mail due; four acts. The parts:
 * the conductor (demo/clones.c, demo/clones_act.c), which kills or freezes a clone in the way in
 * which machines fail; a clone and its sender (demo/clones_node.c, demo/clones_sender.c), which do
 * not know the act, and begin by exec (demo/clones_exec.c); the log of their events
 * (demo/clones_log.c); the counts and the picture (demo/clones_count.c, demo/clones_draw.c).
 */
#ifndef ROWLOCK_DEMO_CLONES_H
#define ROWLOCK_DEMO_CLONES_H

#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "rowlock.h"
#include "system/system.h"

#define CLONES 5
#define CLONES_NAME "demo:mails" /* locked by the transaction that writes a mail */

/* ---- events: demo/clones_log.c ------------------------------------------------------- */

/* The process itself reports its events, except KILLED, FROZEN and WOKEN. */
enum clones_event {
    CLONES_READY,
    CLONES_SKIPPED, /* another clone sends, or nothing is due */
    CLONES_CLAIMED,
    CLONES_SENDING,
    CLONES_SENT,
    CLONES_KILLED,
    CLONES_FROZEN,
    CLONES_WOKEN,
    CLONES_REFUSED, /* the fence refused the write */
    CLONES_LOST,    /* the clone learned that its lease is lost */
    CLONES_FINISHED
};

/* One event in the log. */
struct clones_item {
    atomic_int filled; /* set last: a process may be killed while it writes */
    int clone;         /* from 0 */
    enum clones_event event;
    int64_t at_ms; /* by the machine's monotonic clock */
    int64_t token; /* 0: none */
    pid_t pid;     /* the reporting process */
};

#define CLONES_ITEMS 512 /* events of an act; later ones are not recorded */

/* ---- shared by the processes of an act ----------------------------------------------- */

#define CLONES_TEXT 4096

/* The setting of an act; the conductor fills it before it starts the clones. */
struct clones_farm {
    char url[CLONES_TEXT];
    char job[64];            /* "": without rowlock */
    char lock[80];           /* the name of its lease */
    char mails[CLONES_TEXT]; /* the file that receives the mails */
    int64_t ttl_ms;
    int act;
    struct rowlock_wakeup told; /* sent after each event */
    int go[2], over[2];         /* pipes; their end of file is the signal to begin, and to end */
    int gate[CLONES][2]; /* the mail server: a byte when it has taken the mail of this clone */
    sigset_t signals;    /* the signals that were blocked when the program began */
    pid_t conductor;
    struct clones_log *log;
};

/* One piece of memory for all processes: a file without a name, whose descriptor has the same
   number in each of them. */
struct clones_log {
    int fd;
    struct clones_farm farm; /* for processes that began by exec; its pointer is not valid */
    atomic_size_t used;
    atomic_int failed; /* a clone failed; `error` is that of the first one */
    struct rowlock_error error;
    atomic_int asking[CLONES]; /* the clone runs a statement, or is about to */
    struct clones_item items[CLONES_ITEMS];
};

struct clones_log *clones_log_new(void); /* NULL: no memory */
void clones_log_free(struct clones_log *log);
/* Removes the events and the failure, before the next act; no clone may run. */
void clones_log_empty(struct clones_log *log);
/* Adds an event of this moment, and wakes the conductor. */
void clones_tell(const struct clones_farm *farm, int clone, enum clones_event event, int64_t token);
/* Records a failure; only the first one counts. */
void clones_fail(const struct clones_farm *farm, const struct rowlock_error *error);
/* The events so far, by time, up to CLONES_ITEMS; returns their number. They stay in the log. */
size_t clones_events(const struct clones_log *log, const struct clones_item **out);
/* The last event of a kind, of that clone (-1: of any); NULL: there is none. */
const struct clones_item *clones_find(const struct clones_log *log, int clone,
                                      enum clones_event event);

/* ---- a clone, and its sender --------------------------------------------------------- */

/* Becomes a clone (token 0) or its sender by exec: a JVM does not survive a fork. Returns errno. */
int clones_exec(const struct clones_farm *farm, int clone, int64_t token);
/* The same in the new program: `words` are its operands. -1: the program was not started by
   clones_exec. */
int clones_begun(char *const *words, int n, struct clones_farm *farm, int *clone, int64_t *token);

/* Runs a clone until it ends. Returns its exit status. */
int clones_node(const struct clones_farm *farm, int clone);
/* Sends the mail, under the token if the farm has a lock: 0, or why not. */
int clones_send(const struct clones_farm *farm, int clone, int64_t token);

/* ---- start, kill, freeze, wake: demo/clones_farm.c ----------------------------------- */

/* Starts the clones, each with a process group of its own: 0, or -1, errno set. `pids` gets CLONES
   of them. */
int clones_start(struct clones_farm *farm, pid_t *pids);
/* Kills every process of the clone; its sender may be one. */
void clones_kill(pid_t clone);
/* Stops every process of the clone: 0. Otherwise it does nothing: 1, the clone is in the middle of
   a statement; -1, it no longer sends. */
int clones_freeze(const struct clones_farm *farm, int clone, pid_t pid);
/* Continues every process of the clone. */
void clones_wake(pid_t clone);
/* Ends the clones that have not ended, and all other descendants of this program. */
void clones_end_all(const pid_t *pids);

/* ---- an act -------------------------------------------------------------------------- */

/* The failure that strikes the clone that sends. */
enum clones_blow { CLONES_NO_BLOW, CLONES_KILL, CLONES_FREEZE };

/* The plan of an act; clones.c has the four of them. */
struct clones_script {
    const char *title, *name; /* name: in the table of counts */
    int locked;               /* the clones use rowlock */
    enum clones_blow blow;
};

/* Mails: due, sent, sent twice, and writes that the fence refused. */
struct clones_counts {
    int due, sent, twice, refused;
    int runs, lost; /* counted in the job's history */
};

/* An act while the conductor plays it. Times are those of the machine's monotonic clock. */
struct clones_act {
    const struct clones_script *script;
    struct clones_farm farm;
    struct rowlock_connection *connection; /* the conductor's own */
    int number;                            /* from 1 */
    int signals_fd, children_fd;           /* readable: a signal to end; a child has ended */
    int live;                              /* draw while the act runs */
    int64_t began_ms, ended_ms;            /* began_ms 0: not yet */
    pid_t pids[CLONES];                    /* 0: ended */
    int victim, struck;                    /* -1: none yet */
    pid_t sender;                          /* the victim's sender */
    int64_t token;                         /* the victim's token */
    int woken, recovered;                  /* of the frozen victim: its sender; all of it */
    int finished;                          /* a clone has recorded the result */
    /* When to strike the victim; when the mail server has taken the mail of a clone. ROWLOCK_NEVER:
       not now. */
    int64_t strike_ms, gate_ms[CLONES];
    unsigned char seen[CLONES_ITEMS]; /* the event was handled */
    int signal;                       /* the signal that ended it early */
    struct clones_counts counts;
};

/* Plays the act to its end. Returns an exit status, or -N if signal N came. All its processes have
   ended then. */
int clones_play(struct clones_act *act);

/* ---- counts and pictures ------------------------------------------------------------- */

/* Counts from the file of mails, the events, and the job's history. 0, or an exit status. */
int clones_count(struct clones_act *act);
/* To standard output: each event of the act, as a line of JSON, with its time since `start_ms`; and
   the counts. */
void clones_print_json(const struct clones_act *act, int64_t start_ms);
/* Prints the outcome of the act in one line. */
void clones_print_outcome(const struct clones_act *act, int coloured);
/* Prints the counts of all acts as a table. */
void clones_print_counts(const struct clones_act *acts, int n, int coloured);

/* Prints the meaning of the signs in the pictures, in one line. */
void clones_print_legend(int coloured);
/* Whether the terminal can draw over an earlier picture. */
int clones_can_be_live(void);
/* Draws a bar for each clone, up to `now_ms`. */
void clones_draw(FILE *out, const struct clones_act *act, int64_t now_ms, int coloured);

/* ---- the verb ------------------------------------------------------------------------ */

/* Plays all acts, and prints them. Returns an exit status, or -N: by signal N. */
struct command;
int demo_clones(struct command *command, int64_t ttl_ms);

#endif
