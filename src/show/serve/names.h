/* SPDX-License-Identifier: Apache-2.0 */
/* The holders and waiters of a view, grouped by name. */
#ifndef ROWLOCK_SERVE_NAMES_H
#define ROWLOCK_SERVE_NAMES_H

#include "show/serve/view.h"

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
