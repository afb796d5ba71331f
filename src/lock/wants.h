/* SPDX-License-Identifier: Apache-2.0 */
/* The lock requests of one call: checked, sorted, each name once, and packed for the statement. */
#ifndef ROWLOCK_WANTS_H
#define ROWLOCK_WANTS_H

#include "rowlock.h"

#define ROWLOCK_NAME_MAX 255 /* bytes */

struct rowlock_wants {
    struct rowlock_want *want; /* sorted by the names' bytes; the names are the caller's memory */
    size_t n;
    char *packed; /* dialect.h, "wants" or "lease wants" */
    size_t length;
};

/* Checks, sorts and packs the requests before anything is sent. A name that is given twice becomes
   one request, with the stronger mode. Fails with EINVAL for a bad name, mode or token, EMODE for a
   permit, ENOMEM. The caller clears `wants`, also after a failure. */
int rowlock__wants_init(struct rowlock_wants *wants, const struct rowlock_want *want, size_t n,
                        struct rowlock_error *error);
/* The same for a lease: accepts permits, refuses tokens. Sets the count of a permit to at least
   1, and limit and count of the other modes to 0. EINVAL also for a permit's name that is given
   twice. */
int rowlock__wants_init_lease(struct rowlock_wants *wants, const struct rowlock_want *want,
                              size_t n, struct rowlock_error *error);
void rowlock__wants_clear(struct rowlock_wants *wants);

/* 0, or EINVAL with the reason: a name is UTF-8 of 1 to 255 bytes. */
int rowlock__name_check(const char *name, struct rowlock_error *error);

#endif
