/* SPDX-License-Identifier: Apache-2.0 */
/* A copy of the database's answers to one set of queries, from which the pages are written. */
#ifndef ROWLOCK_SERVE_VIEW_H
#define ROWLOCK_SERVE_VIEW_H

#include "rowlock.h"
#include "util/rows.h"

enum view_kind {
    VIEW_ALL,     /* all locks, jobs and subjects */
    VIEW_NAME,    /* `ls NAME` and `log NAME` */
    VIEW_JOB,     /* `jobs NAME`: the job and its history */
    VIEW_SUBJECT, /* `subjects NAME` */
    VIEW_LOG,     /* `log NAME`; "" is every name */
    VIEW_KINDS
};

enum view_text { TEXT_LS, TEXT_JOBS, TEXT_SUBJECTS, TEXT_LOG, VIEW_TEXTS };

struct view_step { /* a name in a cycle of waiters: the holder of the next name waits for it */
    const char *name;
    int is_first;
};

struct view_part {
    union {
        void *any;
        const struct rowlock_holder *holder;
        const struct rowlock_job_view *job; /* settled */
        const struct rowlock_run *run;
        const struct rowlock_subject_view *subject;
        const struct rowlock_past *past;
        const struct view_step *step;
    } items;
    size_t n, size;
};

struct view {
    enum view_kind kind;
    char *name;                /* "" for VIEW_ALL */
    int references;            /* counted by the source */
    int64_t asked_ms, done_ms; /* by the monotonic clock: when the queries began and ended */
    int64_t now_ms;            /* the database's clock when they began */
    struct view_part holders, jobs, runs, subjects, pasts;
    struct view_part cycles;     /* VIEW_ALL: struct view_step, callers that wait for each other */
    struct rowlock_error error;  /* why the queries failed; code 0: they did not */
    char *texts[VIEW_TEXTS];     /* the JSON that the verbs print; NULL: not in this kind */
    struct rowlock_rows strings; /* its texts alone */
    int failed;                  /* no memory */
};

/* NULL: no memory. */
struct view *view_new(enum view_kind kind, const char *name);
void view_free(struct view *view);

/* Asks the database, and fills the view. Returns a code of the library. */
int view_fill(struct view *view, struct rowlock_connection *connection,
              struct rowlock_error *error);

/* The holders and waiters of a view, grouped by name. */

struct lock_name {
    const char *name;
    const struct rowlock_holder *const *items; /* the holders, then the waiters in their order */
    size_t held, waiting;
    int64_t waits_since_ms; /* when the longest wait began */
    int stops;              /* a lease is broken, but still held */
};

struct lock_names {
    struct lock_name *at; /* sorted by name */
    size_t n;
    const struct rowlock_holder **items;
};

/* Groups a view. Nonzero: no memory. The caller calls names_free() in any case. */
int names_of(const struct view *view, struct lock_names *out);
/* Sorts by the number of waiters, then by the longest wait. */
void names_by_queue(struct lock_names *names);
void names_free(struct lock_names *names);

/* The tone and the text of its state, for html_pill(). */
const char *name_tone(const struct lock_name *name);
const char *name_state(const struct lock_name *name);

#endif
