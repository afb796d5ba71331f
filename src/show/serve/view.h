/* SPDX-License-Identifier: Apache-2.0 */
/* A copy of the database's answers to one set of queries, from which the documents are written. */
#ifndef ROWLOCK_SERVE_VIEW_H
#define ROWLOCK_SERVE_VIEW_H

#include "rowlock.h"
#include "show/tree/tree_rows.h"
#include "util/rows.h"

enum view_kind {
    VIEW_ALL,     /* all locks, jobs and subjects */
    VIEW_NAME,    /* `ls NAME` */
    VIEW_JOB,     /* `jobs NAME`: the job and its history */
    VIEW_SUBJECT, /* `subjects NAME` */
    VIEW_LOG,     /* `log NAME`; "" is every name */
    VIEW_KINDS
};

/* The documents of /api. */
enum view_text { TEXT_LS, TEXT_JOBS, TEXT_SUBJECTS, TEXT_LOG, VIEW_TEXTS };

/* Copies of the rows of one list; the view's strings have their texts. */
struct view_part {
    union {
        void *any;
        const struct rowlock_job_view *job; /* settled */
        const struct rowlock_subject_view *subject;
        const struct rowlock_past *past;
    } items;
    size_t n, size;
};

/* Constant after view_fill(), except the references: the source and the thread of HTTP share it.
   The kind ALL has the rows of locks, jobs and subjects, LOG those of the history; each kind has
   the texts of its verbs. */
struct view {
    enum view_kind kind;
    char *name;                /* "" for VIEW_ALL */
    int references;            /* counted by the source */
    int64_t asked_ms, done_ms; /* by the monotonic clock: when the queries began and ended */
    int64_t now_ms;            /* the database's clock when they began */
    struct lock_tree locks;    /* holders and waiters by name */
    struct view_part jobs, subjects, pasts;
    struct rowlock_error error;  /* why the queries failed; code 0: they did not */
    char *texts[VIEW_TEXTS];     /* the JSON that the verbs print; NULL: not in this kind */
    struct rowlock_rows strings; /* its texts alone */
    int failed;                  /* no memory */
};

/* An empty view. NULL: no memory. */
struct view *view_new(enum view_kind kind, const char *name);
void view_free(struct view *view);

/* Asks the database, and fills the view. Blocks as its queries do. Returns a code of the library;
   the caller stores the error in the view. */
int view_fill(struct view *view, struct rowlock_connection *connection,
              struct rowlock_error *error);

#endif
