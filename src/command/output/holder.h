/* SPDX-License-Identifier: Apache-2.0 */
/* A holder or a waiter in words. */
#ifndef ROWLOCK_OUTPUT_HOLDER_H
#define ROWLOCK_OUTPUT_HOLDER_H

#include "rowlock.h"

extern const char *const holder_modes[]; /* "exclusive", ... */

/* Whether the lease lasts until its release, as that of `rowlock hold` without --for does. */
int is_endless(const struct rowlock_holder *holder);

/* Cells of a table, malloc'd as those of cell_text(). */
char *holder_state(const struct rowlock_holder *holder);
/* "exclusive", "2 of 3 permits" */
char *holder_mode(const struct rowlock_holder *holder);
/* The remaining time of a lease; "-" if it has no end, or for a transaction or a waiter. */
char *holder_left(const struct rowlock_holder *holder);
/* host:pid command, as far as known; for a transaction the server's id of the session. */
char *holder_who(const struct rowlock_holder *holder);

#endif
