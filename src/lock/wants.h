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

/* Checks, sorts and packs the requests before anything is sent. Fails with EINVAL for a bad name,
   EMODE for a permit, ENOMEM. The caller clears `wants`, also after a failure. */
int rowlock__wants_init(struct rowlock_wants *wants, const struct rowlock_want *want, size_t n,
                        struct rowlock_error *error);
/* The same for a lease: accepts permits, refuses tokens; sets count to at least 1. */
int rowlock__wants_init_lease(struct rowlock_wants *wants, const struct rowlock_want *want,
                              size_t n, struct rowlock_error *error);
void rowlock__wants_clear(struct rowlock_wants *wants);

/* 0, or EINVAL with the reason. */
int rowlock__name_check(const char *name, struct rowlock_error *error);

#endif
