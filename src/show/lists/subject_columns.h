/* SPDX-License-Identifier: Apache-2.0 */
/* The subjects of refresh: words for people, and JSON. */
#ifndef ROWLOCK_SUBJECT_COLUMNS_H
#define ROWLOCK_SUBJECT_COLUMNS_H

#include <stdio.h>

#include "rowlock.h"

/* By enum rowlock_subject_status. */
extern const char *const subject_statuses[];

/* Complete, and marked as stale since. */
int is_expired(const struct rowlock_subject_view *subject);

/* One object of JSON. */
void put_subject(FILE *out, const struct rowlock_subject_view *subject);

#endif
