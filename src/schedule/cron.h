/* SPDX-License-Identifier: Apache-2.0 */
/* The five fields of a crontab line as sets of numbers, and the wall times that match them. */
#ifndef ROWLOCK_CRON_H
#define ROWLOCK_CRON_H

#include <stddef.h>
#include <stdint.h>

#include "rowlock.h"

#define ROWLOCK_CRON_TEXT_MAX 255 /* bytes of a line in its normal form */

/* In the order of a line. */
enum rowlock_cron_field {
    ROWLOCK_MINUTE,
    ROWLOCK_HOUR,
    ROWLOCK_DAY,
    ROWLOCK_MONTH,
    ROWLOCK_WEEKDAY,
    ROWLOCK_CRON_FIELDS
};

/* A parsed line. Its normal form is text enough to parse it again, without the job's name. */
struct rowlock_cron {
    uint64_t set[ROWLOCK_CRON_FIELDS];          /* bit n: the set contains n; Sunday is bit 0 */
    unsigned char starred[ROWLOCK_CRON_FIELDS]; /* the field begins with '*' */
    /* The normal form: one blank between fields, lower case, numbers for every H. */
    char text[ROWLOCK_CRON_TEXT_MAX + 1];
};

/*
 * Parses five fields or a name like "@daily". `name` is the job's name, for H; NULL: H is refused.
 * Refuses a line that never matches within 400 years. EINVAL: `*column` (from 1; may be NULL) is
 * the position of the mistake in `text`.
 */
int rowlock__cron_read(const char *text, const char *name, struct rowlock_cron *out, size_t *column,
                       struct rowlock_error *error);

/*
 * The number from 0 to span - 1 that H means in a field of the job `name`: FNV-1a of 64 bits over
 * the field's digit ('0' minute to '4' day of week) and the bytes of the name, the finalizer of
 * MurmurHash3 (fmix64), modulo `span`. Nodes of different versions must agree: it never changes.
 */
int rowlock__cron_hash(enum rowlock_cron_field field, const char *name, int span);

/* The five fields that "@daily" or the like at the head of `text` means; NULL: no such name. */
const char *rowlock__cron_named(const char *text);

/*
 * The first wall time at or after `minute` (step 1), or the last at or before it (step -1), that
 * matches the line, in minutes since 1970-01-01 00:00 of wall time. Returns 0, or -1 if there is
 * none within 400 years.
 */
int rowlock__cron_seek(const struct rowlock_cron *line, int64_t minute, int step, int64_t *found);

#endif
