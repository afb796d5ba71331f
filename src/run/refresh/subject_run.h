/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by `refresh` and `use`: a command that refreshes a subject, and one that uses it, each
   under a lease of "subject:NAME". */
#ifndef ROWLOCK_SUBJECT_RUN_H
#define ROWLOCK_SUBJECT_RUN_H

#include "run/supervise/execute.h"

/* The command line of `refresh` or `use`; `run` refers to it, so it must not be copied. */
struct subject_options {
    const char *subject;
    char name[300];          /* of its lock: "subject:NAME" */
    struct run run;          /* the command after -- */
    int64_t max_age_ms;      /* -1: not set */
    int stale_ok;            /* while another session refreshes it, use the stale data */
    const char *description; /* NULL: unchanged */
    const char *shell;       /* --refresh; NULL: none */
    int quiet;               /* exit status if there was nothing to do */
};

enum subject_verb { SUBJECT_REFRESH, SUBJECT_USE };

/* Reads the command line of the verb. Ends the program on wrong usage. */
void read_subject_options(struct command *command, enum subject_verb verb,
                          struct subject_options *options);

/* One command after the other, over one connection: for `use`, a refresh and the command that uses
   its data. */
struct stage {
    struct signals signals;
    struct descriptors *callers;
    struct rowlock_connection *connection;
    struct outcome outcome; /* of the last command */
};

/* Opens the signals and the connection. 0, an exit status, or -N: signal N came; errors were
   printed. Call stage_close() in any case. */
int stage_open(struct stage *stage, const struct command *command, const struct run *run);
/* Closes everything. Ends the program if a signal came, or the connection hangs; else returns the
   status. */
int stage_close(struct stage *stage, int status);

/* The state of the data after refresh_if_stale(). */
enum made {
    MADE_NOT,      /* the command failed, or there was no lease */
    MADE_HERE,     /* refreshed by the command */
    MADE_FRESH,    /* it was fresh */
    MADE_ELSEWHERE /* another session refreshes it, and stale data is acceptable */
};

/* Runs the command of `run` under an exclusive lease if the subject is stale, and records how it
   ended. Waits for another refresh of it, as run->lock says. Returns as stage_open; 0 also if there
   was nothing to do. */
int refresh_if_stale(struct stage *stage, const struct subject_options *options,
                     const struct run *run, enum made *made);

enum used {
    USED,
    USED_NOT /* another refresh has failed since ours: nothing was run */
};

/* Runs the command of options->run under a shared lease; after our refresh only if the data is
   still complete. As stage_open. */
int use_it(struct stage *stage, const struct subject_options *options, enum used *used);

#endif
