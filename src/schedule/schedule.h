/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Schedules: "every 5m", or a line of five fields as in crontab(5), in a time zone. Pure: no clock,
 * no database. Instants are milliseconds since 1970-01-01 00:00 UTC.
 *
 * every DURATION: the instants are the multiples of the period since 1970, whoever asks, whenever.
 *
 * MINUTE HOUR DAY-OF-MONTH MONTH DAY-OF-WEEK: numbers, names (jan-dec, sun-sat, any case; 7 is
 * Sunday), ranges, lists, steps after '*' or a range. "5/15" is refused, as Debian's cron does.
 * @yearly @annually @monthly @weekly @daily @midnight @hourly; not @reboot. If both day fields are
 * restricted (neither begins with '*') a day that matches either will do, else it must match both.
 *
 * When the clocks change it is as in Vixie's and Debian's cron: what counts is whether minute or
 * hour begins with '*'.
 * - Neither ("30 2 * * *"): a wall time that is named comes exactly once. If the clocks jump over
 *   it, at the first instant after the jump; several of them then make one instant. If they go back
 *   over it, in the first pass.
 * - Either ("0 * * * *"): follows real time. What the clocks show counts, in both passes, and
 *   nothing in a gap. "0 0-23 * * *" begins with no '*': where every hour is meant, write '*'.
 * Unlike cron, which takes a change of three hours or more for a clock put right, this holds for
 * every change that a zone makes, were it a whole day (Pacific/Apia, 30 December 2011).
 */
#ifndef ROWLOCK_SCHEDULE_H
#define ROWLOCK_SCHEDULE_H

#include <stddef.h>
#include <stdint.h>

#include "schedule/cron.h"
#include "schedule/zone.h"
#include "util/clock.h"

struct rowlock_schedule {
    int64_t period_ms;               /* "every"; 0: a line */
    struct rowlock_cron line;        /* in `zone` */
    const struct rowlock_zone *zone; /* the caller's; NULL: UTC */
    struct rowlock_zone *opened;     /* by rowlock_schedule_open, to be closed with it */
    char text[sizeof "cron  " + ROWLOCK_CRON_TEXT_MAX + ROWLOCK_ZONE_NAME_MAX];
};

/*
 * Reads "every DURATION" or a line of cron. `zone` is kept by reference and must live as long as
 * the schedule is used; NULL is UTC. `out->text` becomes the text to store and to compare: "every
 * 1h30m", "cron 0 4 * * mon Europe/Berlin"; equal texts are equal schedules. Nothing to free.
 * EINVAL: the error says what is wrong and what is allowed, `*column` (from 1; NULL is fine) where.
 */
int rowlock__schedule_read(const char *text, const struct rowlock_zone *zone,
                           struct rowlock_schedule *out, size_t *column,
                           struct rowlock_error *error);

/* A period that was read already. EINVAL: it is less than a millisecond. */
int rowlock__schedule_every(int64_t period_ms, struct rowlock_schedule *out,
                            struct rowlock_error *error);

/* How many bytes at the head of a crontab's line are its schedule, blanks before it included: two
   words after "every", one that begins with '@', else five, or as many as there are. */
size_t rowlock__schedule_length(const char *line);

/* The first instant after `after_ms`, or ROWLOCK_NEVER: a line ends with the year 9999. */
int64_t rowlock__schedule_next(const struct rowlock_schedule *schedule, int64_t after_ms);

/* The last instant at or before `at_ms`, or ROWLOCK_NEVER: a line begins with the year 1. */
int64_t rowlock__schedule_previous(const struct rowlock_schedule *schedule, int64_t at_ms);

#endif
