/* SPDX-License-Identifier: Apache-2.0 */
/* What `refresh` and `use` have in common: a command that makes a subject anew, and one that uses it, each
   under a lease of "subject:NAME". */
#ifndef ROWLOCK_SUBJECT_RUN_H
#define ROWLOCK_SUBJECT_RUN_H

#include "command/run/run.h"

struct subject_options {
    const char *subject;
    char name[300];          /* of its lock */
    struct run run;          /* the command after -- */
    int64_t max_age_ms;      /* -1: not said */
    int stale_ok;            /* while another makes it anew, go on with what is there */
    const char *description; /* NULL: as it was */
    const char *shell;       /* --refresh; NULL: none */
    int quiet;               /* exit status where there was nothing to do */
};

enum subject_verb { SUBJECT_REFRESH, SUBJECT_USE };

/* Ends the program on wrong usage. */
void read_subject_options(struct command *command, enum subject_verb verb,
                          struct subject_options *options);

/* One after the other, over one connection. */
struct stage {
    struct signals signals;
    struct descriptors *callers;
    struct rowlock_connection *connection;
    struct outcome outcome; /* of the command that was run last */
};

/* 0, an exit status, or -N; what is wrong has been said. */
int stage_open(struct stage *stage, const struct command *command, const struct run *run);
/* Ends the program where a signal ended the command; else the status, when all is closed. */
int stage_close(struct stage *stage, int status);

enum made {
    MADE_NOT,      /* the command failed, or there was no lease */
    MADE_ANEW,     /* by the command */
    MADE_FRESH,    /* before */
    MADE_ELSEWHERE /* another is at it: what is there will do */
};

/* Runs the command of `run` under a lease if the subject is stale. As stage_open. */
int make_anew(struct stage *stage, const struct subject_options *options, const struct run *run,
              enum made *made);
enum used {
    USED,
    USED_NOT /* another's refresh has failed since ours: nothing was run */
};

/* Runs the command of options->run under the lease of it; if it is to be made before, only while it is whole.
   As stage_open. */
int use_it(struct stage *stage, const struct subject_options *options, enum used *used);

#endif
