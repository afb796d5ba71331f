/* SPDX-License-Identifier: Apache-2.0 */
/* A copy of the database's answers to one set of queries, from which the pages are written. */
#ifndef ROWLOCK_SERVE_VIEW_H
#define ROWLOCK_SERVE_VIEW_H

#include "rowlock.h"

enum view_kind {
    VIEW_ALL,     /* all locks, jobs and subjects */
    VIEW_NAME,    /* `ls NAME` and `log NAME` */
    VIEW_JOB,     /* `jobs NAME`: the job and its history */
    VIEW_SUBJECT, /* `subjects NAME` */
    VIEW_LOG,     /* `log NAME`; "" is every name */
    VIEW_KINDS
};

enum view_text { TEXT_LS, TEXT_JOBS, TEXT_SUBJECTS, TEXT_LOG, VIEW_TEXTS };

struct view_part {
    void *items;
    size_t n, size;
};

struct view_step { /* a name in a cycle of waiters: the holder of the next name waits for it */
    const char *name;
    int is_first;
};

struct view {
    enum view_kind kind;
    char *name;                /* "" for VIEW_ALL */
    int references;            /* counted by the source */
    int64_t asked_ms, done_ms; /* by the monotonic clock: when the queries began and ended */
    int64_t now_ms;            /* the database's clock when they began */
    struct view_part holders, jobs, runs, subjects, pasts;
    struct view_part cycles;    /* view_steps of VIEW_ALL: callers that wait for each other */
    struct rowlock_error error; /* why the queries failed; code 0: they did not */
    char *texts[VIEW_TEXTS];    /* the JSON that the verbs print; NULL: not in this kind */
    struct view_string *strings;
    int failed; /* no memory */
};

/* NULL: no memory. */
struct view *view_new(enum view_kind kind, const char *name);
void view_free(struct view *view);

/* Asks the database, and fills the view. Returns a code of the library. */
int view_fill(struct view *view, struct rowlock_connection *connection,
              struct rowlock_error *error);

const struct rowlock_holder *view_holders(const struct view *view);
const struct rowlock_job_view *view_jobs(const struct view *view); /* settled */
const struct rowlock_run *view_runs(const struct view *view);
const struct rowlock_subject_view *view_subjects(const struct view *view);
const struct view_step *view_cycles(const struct view *view);
const struct rowlock_past *view_pasts(const struct view *view);

#endif
