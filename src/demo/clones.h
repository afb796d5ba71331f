/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `rowlock demo clones`: five clones of a server, one crontab, one mail due; four acts. The parts:
 * the demonstration (demo/clones.c); one act (demo/clones_act.c), which kills or freezes a clone in
 * the way in which machines fail; a clone (demo/clones_node.c), which does not know the act; the
 * picture and the counts (demo/clones_draw.c).
 */
#ifndef ROWLOCK_DEMO_CLONES_H
#define ROWLOCK_DEMO_CLONES_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "command/signals.h"
#include "rowlock.h"

#define CLONES 5
#define CLONES_NAME "demo:mails" /* locked by the transaction that writes a mail */

/* The clone itself reports its events, except KILLED, FROZEN and WOKEN. */
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

struct clones_item {
    int clone; /* from 0 */
    enum clones_event event;
    int64_t at_ms; /* by the machine's monotonic clock */
    int64_t token; /* 0: none */
};

/* Mails: due, sent, sent twice, and writes that the fence refused. */
struct clones_counts {
    int due, sent, twice, refused;
    int runs, lost; /* counted in the job's history */
};

#define CLONES_ITEMS 512 /* events of an act; later ones are not recorded */
#define CLONES_TEXT 4096

/* The setting of an act, in memory that the conductor shares with the clones. */
struct clones_farm {
    const char *url;
    const char *lock;        /* the name of the job's lease; "": without rowlock */
    char mails[CLONES_TEXT]; /* the file that receives the mails */
    int64_t ttl_ms;
    int act;
    int events[2]; /* a pipe: struct clones_item of all clones */
    /* A pipe to each clone. A byte: begin; then, when a clone sends: the mail server has taken the
       mail. Its end: the act has ended. */
    int orders[CLONES][2];
    atomic_int asking[CLONES]; /* the clone runs a statement, or is about to */
    atomic_int failed;         /* a clone failed; `error` is that of the first one */
    struct rowlock_error error;
    struct clones_counts counts;
};

/* ---- a clone ------------------------------------------------------------------------- */

/* Is a clone, until the act ends. Returns its exit status. */
int clones_node(struct clones_farm *farm, int clone);

/* ---- an act -------------------------------------------------------------------------- */

/* The failure that strikes the clone that sends. */
enum clones_blow { CLONES_NO_BLOW, CLONES_KILL, CLONES_FREEZE };

/* The plan of an act; clones.c has the four of them. */
struct clones_script {
    const char *title, *name; /* name: in the table of counts */
    int locked;               /* the clones use rowlock */
    enum clones_blow blow;
};

/* An act while the conductor plays it. */
struct clones_act {
    const struct clones_script *script;
    struct clones_farm *farm;
    const struct signals *signals;
    int children_fd;                         /* readable: a child has ended */
    int live;                                /* draw while the act runs */
    int64_t began_ms, ended_ms;              /* began_ms 0: not yet */
    struct clones_item events[CLONES_ITEMS]; /* by time */
    size_t n;
    pid_t pids[CLONES]; /* 0: ended */
    int victim;         /* -1: none yet */
    int64_t token;      /* the victim's */
    int struck, woken;
    int64_t strike_ms, gate_ms[CLONES]; /* when to do it next; ROWLOCK_NEVER: not now */
    struct clones_counts counts;
};

/* Plays the act to its end. Returns an exit status, or -N if signal N came. All its processes have
   ended then. */
int clones_play(struct clones_act *act);

/* ---- pictures and counts: demo/clones_draw.c, to standard output --------------------- */

/* The last event of a kind, of that clone (-1: of any); NULL: there is none. */
const struct clones_item *clones_find(const struct clones_act *act, int clone,
                                      enum clones_event event);
/* Prints the meaning of the signs in the pictures, in one line. */
void clones_print_legend(int coloured);
/* Whether the terminal can draw over an earlier picture. */
int clones_can_be_live(void);
/* Draws a bar for each clone, up to `now_ms`; `again`: over the last picture. */
void clones_draw(const struct clones_act *act, int64_t now_ms, int coloured, int again);
/* Prints the outcome of the act in one line. */
void clones_print_outcome(const struct clones_act *act, int coloured);
/* Prints the counts of all acts as a table. */
void clones_print_counts(const struct clones_act *acts, int n, int coloured);
/* Each event of the act, as a line of JSON, with its time since `start_ms`; and the counts. */
void clones_print_json(const struct clones_act *act, int64_t start_ms);

/* ---- the verb ------------------------------------------------------------------------ */

/* Plays all acts, and prints them. Returns an exit status, or -N: by signal N. */
struct command;
int demo_clones(struct command *command, int64_t ttl_ms);

#endif
