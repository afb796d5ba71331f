/* SPDX-License-Identifier: Apache-2.0 */
/* The options of a command under a lock: of `run`, or made by `job`, `refresh` and `use`. */
#ifndef ROWLOCK_RUN_OPTIONS_H
#define ROWLOCK_RUN_OPTIONS_H

#include "command/lock_options.h"

/* Durations are milliseconds; kill_after_ms < 0: not set, until settle_run(). */
struct run {
    struct lock_options lock;
    int transaction; /* --tx: no lease, but an open transaction */
    int64_t kill_after_ms;
    int64_t max_run_ms; /* < 0: no limit */
    int terminal;       /* stay in the caller's process group */
    int verbose;
    int keeps_output;   /* pass on all output of the command, and keep its end */
    int keeps_errors;   /* the same for its standard error only */
    const char *prefix; /* the job's name before each line that is passed through; NULL: none */
    int ends_on_term;   /* TERM is for us: end the command */
    int no_process;     /* no process of ours keeps the lease */
    const char *report; /* a file, or NULL */
    char **argv;        /* of the command */
    char *shell[4];     /* -c TEXT: that argv, "/bin/sh -c TEXT" */
};

/* After all options are read: sets the ttl and kill_after where they are not given, and detects a
   terminal. */
void settle_run(struct run *run);
/* Reads the command line of `run`. Ends the program on wrong usage. */
void read_run_options(struct command *command, struct run *run);
/* Whether this process is in the foreground of a terminal, or reads from one: then the command
   stays in the caller's process group. */
int has_terminal(void);

#endif
