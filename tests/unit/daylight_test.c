/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Schedules across changes of the clocks. Each expected instant is written as wall time and as UTC;
 * the test checks both, the wall time with the C library.
 */
#include <stdio.h>
#include <string.h>

#include "lib/instants.h"
#include "lib/test.h"
#include "schedule/schedule.h"

static char zone_name[64];
static struct rowlock_zone *zone;

static void in(const char *name)
{
    rowlock__zone_close(zone);
    zone = NULL;
    t_ok(rowlock__zone_open(name, &zone, &t_error));
    snprintf(zone_name, sizeof zone_name, "%s", name);
}

static void is_shown(const char *line, const char *after, size_t i, int64_t at, const char *wanted)
{
    const char *shown = t_shown(zone_name, at);

    if (strcmp(shown, wanted) != 0)
        t_fail(__FILE__, __LINE__, "%s, \"%s\" after %s, number %zu:\n  %s, not\n  %s", zone_name,
               line, after, i + 1, shown, wanted);
}

/* From any time between two instants, the search finds the same next and previous instant. */
static void is_found_again(const struct rowlock_schedule *schedule, int64_t before, int64_t at)
{
    int64_t step = (at - before) / 97 + 1;

    for (int64_t ms = at - 1; ms > before; ms -= step) {
        t_int(rowlock__schedule_next(schedule, ms), at);
        t_int(rowlock__schedule_previous(schedule, ms), before);
    }
    t_int(rowlock__schedule_next(schedule, before), at);
    t_int(rowlock__schedule_previous(schedule, at), at);
    t_int(rowlock__schedule_previous(schedule, at + 1), at);
}

static void comes(const char *line, const char *after, const char *const wanted[])
{
    struct rowlock_schedule schedule;
    int64_t before, at;

    t_ok(rowlock__schedule_read(line, zone, &schedule, NULL, &t_error));
    at = t_utc(after);
    before = rowlock__schedule_previous(&schedule, at);
    for (size_t i = 0; wanted[i]; i++, before = at) {
        at = rowlock__schedule_next(&schedule, at);
        is_shown(line, after, i, at, wanted[i]);
        is_found_again(&schedule, before, at);
    }
}
#define COMES(line, after, ...) comes(line, after, (const char *const[]){__VA_ARGS__, NULL})

TEST(berlin_forward)
{
    in("Europe/Berlin");
    COMES("30 2 * * *", "2025-03-28T12:00Z", "2025-03-29T02:30+0100=01:30Z",
          "2025-03-30T03:00+0200=01:00Z", "2025-03-31T02:30+0200=00:30Z");
    COMES("0,30 2 * * *", "2025-03-29T12:00Z", "2025-03-30T03:00+0200=01:00Z",
          "2025-03-31T02:00+0200=00:00Z");
    COMES("30 2,3 * * *", "2025-03-29T12:00Z", "2025-03-30T03:00+0200=01:00Z",
          "2025-03-30T03:30+0200=01:30Z", "2025-03-31T02:30+0200=00:30Z");
    COMES("0 2,3 * * *", "2025-03-29T12:00Z", "2025-03-30T03:00+0200=01:00Z",
          "2025-03-31T02:00+0200=00:00Z");
    COMES("15 2 30 3 *", "2025-01-01T00:00Z", "2025-03-30T03:00+0200=01:00Z",
          "2026-03-30T02:15+0200=00:15Z");
    COMES("0 * * * *", "2025-03-29T23:30Z", "2025-03-30T01:00+0100=00:00Z",
          "2025-03-30T03:00+0200=01:00Z", "2025-03-30T04:00+0200=02:00Z");
    COMES("*/30 2 * * *", "2025-03-29T12:00Z", "2025-03-31T02:00+0200=00:00Z",
          "2025-03-31T02:30+0200=00:30Z");
    COMES("30 */2 * * *", "2025-03-29T22:00Z", "2025-03-30T00:30+0100=23:30Z",
          "2025-03-30T04:30+0200=02:30Z");
}

TEST(berlin_back)
{
    in("Europe/Berlin");
    COMES("30 2 * * *", "2025-10-25T12:00Z", "2025-10-26T02:30+0200=00:30Z",
          "2025-10-27T02:30+0100=01:30Z");
    COMES("0,30 2,3 * * *", "2025-10-25T12:00Z", "2025-10-26T02:00+0200=00:00Z",
          "2025-10-26T02:30+0200=00:30Z", "2025-10-26T03:00+0100=02:00Z",
          "2025-10-26T03:30+0100=02:30Z");
    COMES("*/30 2 * * *", "2025-10-25T12:00Z", "2025-10-26T02:00+0200=00:00Z",
          "2025-10-26T02:30+0200=00:30Z", "2025-10-26T02:00+0100=01:00Z",
          "2025-10-26T02:30+0100=01:30Z", "2025-10-27T02:00+0100=01:00Z");
    COMES("@hourly", "2025-10-25T23:30Z", "2025-10-26T02:00+0200=00:00Z",
          "2025-10-26T02:00+0100=01:00Z", "2025-10-26T03:00+0100=02:00Z");
    /* without a star each wall time counts once, so two hours lie between */
    COMES("0 0-23 * * *", "2025-10-25T23:30Z", "2025-10-26T02:00+0200=00:00Z",
          "2025-10-26T03:00+0100=02:00Z");
    COMES("0 3 * * *", "2025-10-25T12:00Z", "2025-10-26T03:00+0100=02:00Z");
}

TEST(far_from_now_by_the_rule_at_the_end_of_the_file)
{
    in("America/New_York");
    COMES("30 2 * * *", "2450-03-12T12:00Z", "2450-03-13T03:00-0400=07:00Z",
          "2450-03-14T02:30-0400=06:30Z");
}

TEST(lord_howe_moves_by_half_an_hour)
{
    in("Australia/Lord_Howe");
    /* 2:00 becomes 2:30 */
    COMES("15 2 * * *", "2024-10-05T00:00Z", "2024-10-06T02:30+1100=15:30Z",
          "2024-10-07T02:15+1100=15:15Z");
    COMES("30 2 * * *", "2024-10-05T00:00Z", "2024-10-06T02:30+1100=15:30Z");
    COMES("*/15 2 * * *", "2024-10-05T00:00Z", "2024-10-06T02:30+1100=15:30Z",
          "2024-10-06T02:45+1100=15:45Z", "2024-10-07T02:00+1100=15:00Z");
    /* 2:00 becomes 1:30 */
    COMES("45 1 * * *", "2025-04-05T00:00Z", "2025-04-06T01:45+1100=14:45Z",
          "2025-04-07T01:45+1030=15:15Z");
    COMES("*/15 1 * * *", "2025-04-05T14:20Z", "2025-04-06T01:30+1100=14:30Z",
          "2025-04-06T01:45+1100=14:45Z", "2025-04-06T01:30+1030=15:00Z",
          "2025-04-06T01:45+1030=15:15Z", "2025-04-07T01:00+1030=14:30Z");
    COMES("0 2 * * *", "2025-04-05T00:00Z", "2025-04-06T02:00+1030=15:30Z");
}

TEST(a_zone_that_changes_at_midnight)
{
    in("America/Sao_Paulo"); /* 0:00 becomes 1:00; back, 0:00 becomes 23:00 of the day before */
    COMES("@daily", "2018-11-03T12:00Z", "2018-11-04T01:00-0200=03:00Z",
          "2018-11-05T00:00-0200=02:00Z");
    COMES("30 23 * * *", "2018-02-17T12:00Z", "2018-02-17T23:30-0200=01:30Z",
          "2018-02-18T23:30-0300=02:30Z");
    COMES("0 0 18 2 *", "2018-01-01T00:00Z", "2018-02-18T00:00-0300=03:00Z");
    COMES("*/30 23 17 2 *", "2018-01-01T00:00Z", "2018-02-17T23:00-0200=01:00Z",
          "2018-02-17T23:30-0200=01:30Z", "2018-02-17T23:00-0300=02:00Z",
          "2018-02-17T23:30-0300=02:30Z", "2019-02-17T23:00-0300=02:00Z");
}

TEST(apia_had_no_30_december)
{
    in("Pacific/Apia");
    COMES("0 12 * * *", "2011-12-29T00:00Z", "2011-12-29T12:00-1000=22:00Z",
          "2011-12-31T00:00+1400=10:00Z", "2011-12-31T12:00+1400=22:00Z");
    COMES("0 9 30 * *", "2011-12-01T12:00Z", "2011-12-31T00:00+1400=10:00Z",
          "2012-01-30T09:00+1400=19:00Z");
    COMES("0 */12 * * *", "2011-12-29T12:00Z", "2011-12-29T12:00-1000=22:00Z",
          "2011-12-31T00:00+1400=10:00Z", "2011-12-31T12:00+1400=22:00Z");
    COMES("* * 30 12 *", "2011-12-01T00:00Z", "2012-12-30T00:00+1400=10:00Z");
}

TEST(kwajalein_had_a_day_nearly_twice)
{
    in("Pacific/Kwajalein");
    COMES("30 6 * * *", "1969-09-29T12:00Z", "1969-09-30T06:30+1100=19:30Z",
          "1969-10-01T06:30-1200=18:30Z");
    COMES("30 */6 * * *", "1969-09-29T19:00Z", "1969-09-30T06:30+1100=19:30Z",
          "1969-09-30T12:30+1100=01:30Z", "1969-09-30T18:30+1100=07:30Z",
          "1969-09-30T06:30-1200=18:30Z", "1969-09-30T12:30-1200=00:30Z");
}

TEST(offsets_with_seconds)
{
    in("Africa/Monrovia"); /* -0:44:30 until 1972-01-07 */
    COMES("0 12 * * *", "1972-01-05T13:00Z", "1972-01-06T12:00-0044=12:44:30Z",
          "1972-01-07T12:00+0000=12:00Z");
    COMES("* * * * *", "1972-01-07T00:42:30Z", "1972-01-06T23:59-0044=00:43:30Z",
          "1972-01-07T00:45+0000=00:45Z");
    COMES("44 0 * * *", "1972-01-06T12:00Z", "1972-01-07T00:44:30+0000=00:44:30Z",
          "1972-01-08T00:44+0000=00:44Z");
}

TEST(the_leap_day_and_weekdays_are_the_zones_own)
{
    in("Pacific/Kiritimati");
    COMES("0 1 * * mon", "2025-01-01T00:00Z", "2025-01-06T01:00+1400=11:00Z");
    in("America/Los_Angeles");
    COMES("*/30 22 29 2 *", "2096-01-01T00:00Z", "2096-02-29T22:00-0800=06:00Z",
          "2096-02-29T22:30-0800=06:30Z", "2104-02-29T22:00-0800=06:00Z");
}

TEST(a_period_knows_no_zone)
{
    in("Europe/Berlin");
    COMES("every 12h", "2025-03-29T01:00Z", "2025-03-29T13:00+0100=12:00Z",
          "2025-03-30T01:00+0100=00:00Z", "2025-03-30T14:00+0200=12:00Z");
}
