/* SPDX-License-Identifier: Apache-2.0 */
/* The POSIX TZ rule at the end of a TZif file, valid forever: "CET-1CEST,M3.5.0,M10.5.0/3". */
#ifndef ROWLOCK_POSIX_TZ_H
#define ROWLOCK_POSIX_TZ_H

#include <stdint.h>

#include "schedule/zone.h"

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

#endif
