/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The only database session of serve, on a thread of its own. A request names the view that it
 * needs. Requests within a second share a view, because the thread sends at most one set of queries
 * a second. While the database does not answer, requests get the last views and the reason.
 */
#ifndef ROWLOCK_SERVE_SOURCE_H
#define ROWLOCK_SERVE_SOURCE_H

#include <stddef.h>

#include "command/url_lookup.h"
#include "show/serve/view.h"

#define SOURCE_SHARED_MS 1000 /* a view is shared this long, and no set of queries comes sooner */

struct source;

/* The answer to a request: views, or why there are none. */
struct shown {
    const struct view *all;    /* NULL: the database has not answered yet */
    const struct view *detail; /* NULL: none was needed, it failed, or is not answered yet */
    int code;                  /* the last view of all failed with this code; 0: it did not */
    char why[500];
    char detail_why[500]; /* why the detail failed; "": it did not */
    int64_t age_ms;       /* time since the queries of the oldest of these views were sent */
    int64_t now_ms;       /* the database's present time: its time then, plus age_ms */
};

/* Starts the thread, which sends a first set of queries. `wake` is called on it after each set.
   NULL: no memory or no thread. */
struct source *source_open(void (*wake)(void *data), void *data);

/* Whether the first set of queries was answered, or has failed. */
int source_has_asked(struct source *source);

/*
 * The views for a request. 1: `out` is filled; the caller passes it to source_release(). 0: the
 * thread asks for the views, and calls `wake`; then the caller calls this again. A request that
 * arrived at `arrived_ms` gets views that are at most SOURCE_SHARED_MS older; after `deadline_ms`,
 * and at once if the last set of queries failed shortly before, it gets the views that exist.
 * `kind` VIEW_ALL: without a detail. Any thread; does not block.
 */
int source_get(struct source *source, enum view_kind kind, const char *name, int64_t arrived_ms,
               int64_t deadline_ms, struct shown *out);
/* The views are freed when no request and not the source has them. */
void source_release(struct source *source, struct shown *shown);

/* An order was carried out: later requests get views that were asked for after it. Any thread. */
void source_changed(struct source *source);

/* The error of the last view of all. Returns its code; 0 if the database answered. */
int source_error(struct source *source, struct rowlock_error *error);

/* Interrupts the queries, ends the thread and frees all. Accepts NULL. */
void source_close(struct source *source);

#endif
