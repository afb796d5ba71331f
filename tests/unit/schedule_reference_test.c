/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random schedules in random zones around a change of the clocks, compared with a reference that
 * steps minute by minute and asks the C library for the wall time.
 */
#include <stdio.h>
#include <string.h>

#include "lib/cron_line.h"
#include "lib/instants.h"
#include "lib/test.h"
#include "schedule/schedule.h"

#define DAY 86400
#define WARM_DAYS 2 /* days before the window, to learn which wall times have already been shown */
#define WINDOW_DAYS 5
#define FOUND_MAX (WINDOW_DAYS * 1440)

static const char *const zones[] = {"Europe/Berlin",
                                    "Europe/Dublin",
                                    "Europe/Lisbon",
                                    "Europe/Moscow",
                                    "Europe/Istanbul",
                                    "America/New_York",
                                    "America/St_Johns",
                                    "America/Sao_Paulo",
                                    "America/Santiago",
                                    "America/Caracas",
                                    "America/Havana",
                                    "America/Nuuk",
                                    "America/Scoresbysund",
                                    "Asia/Beirut",
                                    "Asia/Gaza",
                                    "Asia/Jerusalem",
                                    "Asia/Pyongyang",
                                    "Asia/Tehran",
                                    "Asia/Kathmandu",
                                    "Asia/Amman",
                                    "Africa/Cairo",
                                    "Africa/Casablanca",
                                    "Africa/Windhoek",
                                    "Antarctica/Troll",
                                    "Antarctica/Casey",
                                    "Australia/Lord_Howe",
                                    "Australia/Sydney",
                                    "Pacific/Apia",
                                    "Pacific/Auckland",
                                    "Pacific/Chatham",
                                    "Pacific/Easter",
                                    "Pacific/Fakaofo",
                                    "Pacific/Kwajalein",
                                    "Pacific/Norfolk",
                                    "UTC"};
#define ZONES (sizeof zones / sizeof *zones)

static uint64_t seed;

/* ---- the reference --------------------------------------------------------------------------- */

static int matches(const struct cron_line *line, const struct tm *tm)
{
    int date = line->has[2][tm->tm_mday], weekday = line->has[4][tm->tm_wday];
    int both = line->starred[2] || line->starred[4];

    return line->has[0][tm->tm_min] && line->has[1][tm->tm_hour] && line->has[3][tm->tm_mon + 1] &&
           (both ? date && weekday : date || weekday);
}

/* Whether one of the wall times after `from`, up to `to`, matches. */
static int matches_between(const struct cron_line *line, time_t from, time_t to)
{
    for (time_t wall = from + 60; wall <= to; wall += 60) {
        struct tm tm;

        gmtime_r(&wall, &tm);
        if (matches(line, &tm))
            return 1;
    }
    return 0;
}

static size_t reference(const struct cron_line *line, const char *zone, int64_t start,
                        int64_t *found)
{
    int real = line->starred[0] || line->starred[1];
    time_t latest = 0;
    size_t n = 0;

    for (int64_t at = start - WARM_DAYS * DAY; at < start + WINDOW_DAYS * DAY; at += 60) {
        struct tm tm = t_clocks(zone, at);
        time_t wall = (time_t)(at + tm.tm_gmtoff);
        int comes = real ? matches(line, &tm) : latest && matches_between(line, latest, wall);

        if (comes && at >= start)
            found[n++] = at * 1000;
        latest = wall > latest ? wall : latest;
    }
    return n;
}

/* A whole minute, a day or two before a change of the zone's clocks between 1975 and 2100. Any
   minute if eight attempts find no change. */
static int64_t before_a_change(const char *zone)
{
    int64_t first = t_utc("1975-01-01T00:00Z") / 1000, at = first;

    for (int i = 0; i < 8; i++) {
        int64_t last;

        at = first + (int64_t)t_random(&seed, t_random(&seed, 2) ? 125 * 365 : 45 * 365) * DAY;
        last = at + 400 * DAY;
        while (at < last && t_clocks(zone, at).tm_gmtoff == t_clocks(zone, at + DAY).tm_gmtoff)
            at += DAY;
        if (at < last)
            break;
    }
    return at - DAY - 60 * (int64_t)t_random(&seed, 1440);
}

/* From a random time between two instants, the search finds the same neighbours. */
static void lies_between(const struct rowlock_schedule *schedule, int64_t before, int64_t next)
{
    int64_t length = next - before < UINT32_MAX ? next - before : UINT32_MAX;

    for (int i = 0; i < 4; i++) {
        int64_t at = i > 0 ? before + t_random(&seed, (uint32_t)length) : next - 1;

        t_int(rowlock__schedule_next(schedule, at), next);
        t_int(rowlock__schedule_previous(schedule, at), before);
    }
}

static void compare(const struct cron_line *line, const struct rowlock_zone *zone)
{
    static int64_t wanted[FOUND_MAX];
    const char *name = rowlock__zone_name(zone);
    int64_t start = before_a_change(name), at = start * 1000 - 1;
    size_t n = reference(line, name, start, wanted);
    struct rowlock_schedule schedule;

    t_ok(rowlock__schedule_read(line->text, NULL, zone, &schedule, NULL, &t_error));
    for (size_t i = 0; i <= n; i++) {
        int64_t next = rowlock__schedule_next(&schedule, at);
        int past = i == n && next >= (start + WINDOW_DAYS * DAY) * 1000;

        if (!past && (i == n || next != wanted[i]))
            t_fail(__FILE__, __LINE__, "%s, \"%s\", number %zu of %zu since %lld: %s", name,
                   line->text, i + 1, n, (long long)start, t_shown(name, next));
        if (i > 0)
            lies_between(&schedule, wanted[i - 1], next);
        t_int(rowlock__schedule_previous(&schedule, next), next);
        at = next;
    }
}

static int never_comes(const struct cron_line *line)
{
    struct rowlock_schedule schedule;

    return rowlock__schedule_read(line->text, NULL, NULL, &schedule, NULL, NULL) != 0;
}

/* A second check without the library: no day in 28 years matches. */
static void never_comes_indeed(const struct cron_line *line)
{
    for (time_t day = 0; day < 28 * 366 * (time_t)DAY; day += DAY) {
        struct cron_line any_time = *line;
        struct tm tm;

        memset(any_time.has, 1, 2 * sizeof any_time.has[0]);
        gmtime_r(&day, &tm);
        t_true(!matches(&any_time, &tm));
    }
}

TEST(random_lines_in_random_zones)
{
    int lines = t_effort(60, 300);

    for (int i = 0; i < lines; i++) {
        struct rowlock_zone *zone;
        struct cron_line line = t_cron_line(&seed);

        if (never_comes(&line)) {
            never_comes_indeed(&line);
            continue;
        }
        t_ok(rowlock__zone_open(zones[t_random(&seed, ZONES)], &zone, &t_error));
        compare(&line, zone);
        rowlock__zone_close(zone);
    }
}
