/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Time zones, read from the system's TZif files (RFC 9636, versions 1 to 4).
 *
 * C11 has no safe reader: localtime_r() knows only the zone of the process, and changing that zone
 * (setenv, tzset) races with all other threads. This reader is small, uses the system's up-to-date
 * files, and checks every byte.
 *
 * A zone is immutable after it was opened: any number of threads may read it.
 */
#ifndef ROWLOCK_ZONE_H
#define ROWLOCK_ZONE_H

#include <stddef.h>
#include <stdint.h>

#include "rowlock.h"

#define ROWLOCK_ZONE_NAME_MAX 63      /* bytes */
#define ROWLOCK_ZONE_OFFSET_MAX 93600 /* no zone is 26 hours from UTC */

struct rowlock_zone;

/* A time during which a zone's offset is the same: [from, until), seconds since 1970. */
struct rowlock_zone_span {
    int64_t from, until;
    int32_t offset; /* seconds east of UTC */
};

/*
 * Reads the zone from $TZDIR, or from the system's folder; "UTC" and an offset ("+05:30") need no
 * file. The name is relative, of letters, digits, '_', '+', '-', '/'. EINVAL: no valid name, no
 * such zone (the text lists the searched folders), no readable file. ENOMEM.
 */
int rowlock__zone_open(const char *name, struct rowlock_zone **out, struct rowlock_error *error);

/* The same from a file's bytes, which are not kept; the name is empty. On failure returns NULL, and
   `*what`, a constant, completes "PATH ...": "does not fit into memory", or the damage. */
struct rowlock_zone *rowlock__tzif_read(const unsigned char *bytes, size_t size, const char **what);

/* Frees the zone; no schedule may use it any more. Accepts NULL. */
void rowlock__zone_close(struct rowlock_zone *zone);

/* The name by which it was opened, which lives as long as the zone. NULL is UTC. */
const char *rowlock__zone_name(const struct rowlock_zone *zone);

/* The span in which `at` lies; `at` is within the calendar (calendar.h). NULL is UTC. */
struct rowlock_zone_span rowlock__zone_at(const struct rowlock_zone *zone, int64_t at);

/* The POSIX TZ rule at the end of a TZif file, valid forever: "CET-1CEST,M3.5.0,M10.5.0/3". */

struct rowlock_tz_day {
    char kind;            /* 'J': day 1 to 365, 29 Feb never counted; 'n': 0 to 365; 'M' */
    int month, week, day; /* 'M': the day-th weekday; week 5 is the last */
    int32_t seconds;      /* of that day's local time; RFC 9636 allows 167 hours before and after */
};

struct rowlock_posix_tz {
    int32_t standard, daylight; /* seconds east of UTC */
    int changes;                /* 0: `standard` is valid all year */
    struct rowlock_tz_day start, end;
};

/* Parses a rule. Returns 0, or -1 if `text` is not a rule. */
int rowlock__posix_tz(const char *text, struct rowlock_posix_tz *out);

/* The span in which `at` lies. It is unlimited if the rule has no changes. */
struct rowlock_zone_span rowlock__posix_tz_at(const struct rowlock_posix_tz *rule, int64_t at);

/* With its changes in the order of time. Only zone_file.c and tzif.c write it. */
struct rowlock_zone {
    char name[ROWLOCK_ZONE_NAME_MAX + 1];
    int32_t offset_before; /* the offset before the first change */
    int ruled;             /* 1: after the last change `rule` applies */
    struct rowlock_posix_tz rule;
    size_t n;
    struct {
        int64_t at;
        int32_t offset; /* from then on */
    } change[];
};

#endif
