/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Schedules: "every 5m", or a line of five fields as in crontab(5), in a time zone. Pure: no clock,
 * no database. Times are milliseconds since 1970-01-01 00:00 UTC.
 *
 * every DURATION: due at the multiples of the period since 1970, independent of the caller.
 *
 * MINUTE HOUR DAY-OF-MONTH MONTH DAY-OF-WEEK: numbers, names (jan-dec, sun-sat, any case; 7 is
 * Sunday), ranges, lists, steps after '*' or a range. "5/15" is refused, as Debian's cron does. H
 * is a number from the hash of the job's name, as in Jenkins: H (of a day of the month 1 to 28),
 * H/15 (beginning with one of the first 15), H(0-29), H(0-29)/10. The normal form has the numbers.
 * @yearly @annually @monthly @weekly @daily @midnight @hourly; not @reboot. If both day fields are
 * restricted (neither begins with '*'), a day must match one of them, else it must match both.
 *
 * Changes of the clocks are handled as in Vixie's and Debian's cron, by whether minute or hour
 * begins with '*':
 * - Neither ("30 2 * * *"): each named wall time is due exactly once. If the clocks skip it, it is
 *   due at the first instant after the jump; several skipped times share one due time. If the
 *   clocks repeat it, it is due in the first pass.
 * - Either ("0 * * * *"): the line follows real time. Every matching time that the clocks show is
 *   due, in both passes of a repeated hour; in a gap none is. In "0 0-23 * * *" neither begins with
 *   '*': for every hour write '*'.
 * cron treats a change of three hours or more as a corrected clock; here the rules hold for every
 * change of a zone, even of a whole day (Pacific/Apia, 30 December 2011).
 */
#ifndef ROWLOCK_SCHEDULE_H
#define ROWLOCK_SCHEDULE_H

#include <stddef.h>
#include <stdint.h>

#include "schedule/cron.h"
#include "schedule/zone.h"
#include "util/clock.h"

/* Constant after it was read: any number of threads may use it. */
struct rowlock_schedule {
    int64_t period_ms;               /* "every"; 0: a line */
    struct rowlock_cron line;        /* in `zone` */
    const struct rowlock_zone *zone; /* the caller's; NULL: UTC */
    struct rowlock_zone *opened;     /* by rowlock_schedule_open, to be closed with it */
    char text[sizeof "cron  " + ROWLOCK_CRON_TEXT_MAX + ROWLOCK_ZONE_NAME_MAX];
};

/*
 * Parses "every DURATION" or a crontab line. `name` is that of the job, which H requires; or NULL.
 * `zone` is kept by reference and must outlive the schedule; NULL is UTC. `out->text` becomes the
 * normal form for storing and comparing: "every 1h30m", "cron 0 4 * * mon Europe/Berlin"; equal
 * texts mean equal schedules. Nothing to free. EINVAL: the error names the mistake and the allowed
 * values; `*column` (from 1; may be NULL) is the position of the mistake.
 */
int rowlock__schedule_read(const char *text, const char *name, const struct rowlock_zone *zone,
                           struct rowlock_schedule *out, size_t *column,
                           struct rowlock_error *error);

/* Makes a schedule of a parsed period. EINVAL: the period is less than a millisecond. */
int rowlock__schedule_every(int64_t period_ms, struct rowlock_schedule *out,
                            struct rowlock_error *error);

/* The first due time after `after_ms`, or ROWLOCK_NEVER: a line ends with the year 9999. */
int64_t rowlock__schedule_next(const struct rowlock_schedule *schedule, int64_t after_ms);

/* The last due time at or before `at_ms`, or ROWLOCK_NEVER: a line begins with the year 1. */
int64_t rowlock__schedule_previous(const struct rowlock_schedule *schedule, int64_t at_ms);

#endif
