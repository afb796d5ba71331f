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

#include "command/lock_options.h"

struct waiting;

/* NULL: no line is wanted, or possible. */
struct waiting *waiting_begin(const struct lock_options *lock, int verbose);
/* The owner id of the call that waits from now on. Accepts NULL, as the following do. */
void waiting_as(struct waiting *waiting, const char *owner);
/* Removes the line until its next update, for a message. */
void waiting_hide(struct waiting *waiting);
void waiting_end(struct waiting *waiting);

#endif
