/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The line that explains a wait: on a terminal one status line, updated in place; otherwise, with
 * --verbose, a message at the beginning and once a minute.
 *
 * A thread with a session of its own reads the queue: the session that waits is blocked, and must
 * not be disturbed. Neither begins before the wait has lasted a second. The thread never writes
 * after waiting_end(), and whatever happens to it or to its session only removes the line.
 */
#ifndef ROWLOCK_WAITING_H
#define ROWLOCK_WAITING_H

#include <stddef.h>
#include <stdint.h>

#include "command/lock_options.h"
#include "rowlock.h"
#include "util/random.h"

struct waiting;

/* Call it before the wait begins. NULL: no line is wanted, or possible. */
struct waiting *waiting_begin(const struct lock_options *lock, int verbose);
/* The owner id of the call that waits from now on. Accepts NULL, as the following do. */
void waiting_as(struct waiting *waiting, const char *owner);
/* Removes the line until its next update, for a message. */
void waiting_hide(struct waiting *waiting);
/* Removes the line for good, and ends the thread; one that hangs in its session frees `waiting`
   later. */
void waiting_end(struct waiting *waiting);

/* The content of the line that explains a wait: a view of one name's queue, and its text. */

/* waiting_view_begin() and waiting_view_add() fill it, the caller the first three members and
   at_ms. */
struct waiting_view {
    size_t name, next_name;         /* index of the name, and of the one to ask about next */
    size_t others;                  /* number of further names */
    char owner[ROWLOCK_OWNER_SIZE]; /* of the call that waits */
    int64_t at_ms;                  /* of the last complete view, by this node's clock; 0: none */
    char *text;                     /* the name */
    int64_t place, queue;           /* place 0: not in the queue, as of a transaction */
    int64_t holders;
    char *who, *note; /* of the first holder */
    int64_t since_ms; /* of its lock, by the database's clock */
    int stop;         /* it must stop: rowlock break */
};

/* Empties the view, for a list of that name. */
void waiting_view_begin(struct waiting_view *view, const char *name);
/* A rowlock_visit: adds a holder or a waiter. */
int waiting_view_add(const struct rowlock_holder *holder, void *view);
/* Whether a holder or an earlier waiter is known. */
int waiting_view_explains(const struct waiting_view *view);
/* Frees its texts. */
void waiting_view_clear(struct waiting_view *view);

/* "rowlock: waiting 12s for 'a' ...", control characters escaped; malloc'd, with room for
   WAITING_MORE bytes. A text that is wider than `columns` (0: any width) has fewer words, no
   command of the holder, and then each of its parts is cut; it fits if there is room for the
   numbers. The thread has called begin_width(). NULL: out of memory. */
#define WAITING_MORE 16
char *waiting_text(const struct waiting_view *view, int64_t waited_ms, size_t columns);

#endif
