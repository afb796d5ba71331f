/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The syntax of schedules: accepted lines, refused lines with the position of the mistake, and due
 * times in UTC.
 */
#include <string.h>

#include "lib/instants.h"
#include "lib/test.h"
#include "schedule/schedule.h"

static struct rowlock_schedule read_in(const char *text, const struct rowlock_zone *zone)
{
    struct rowlock_schedule schedule;

    t_ok(rowlock__schedule_read(text, NULL, zone, &schedule, NULL, &t_error));
    return schedule;
}

#define COMES(text, after, ...) t_comes(NULL, text, after, (const char *const[]){__VA_ARGS__, NULL})

/* ---- the fields ------------------------------------------------------------------------------ */

TEST(numbers_lists_ranges_steps)
{
    COMES("30 4 * * *", "2025-01-01T04:30Z", "2025-01-02T04:30Z", "2025-01-03T04:30Z");
    COMES("0,15,45 * * * *", "2025-01-01T00:00Z", "2025-01-01T00:15Z", "2025-01-01T00:45Z",
          "2025-01-01T01:00Z");
    COMES("*/25 * * * *", "2025-01-01T00:00Z", "2025-01-01T00:25Z", "2025-01-01T00:50Z",
          "2025-01-01T01:00Z");
    COMES("10-30/15 23 * * *", "2025-01-01T00:00Z", "2025-01-01T23:10Z", "2025-01-01T23:25Z",
          "2025-01-02T23:10Z");
    COMES("59 23 31 12 *", "2025-01-01T00:00Z", "2025-12-31T23:59Z", "2026-12-31T23:59Z");
    COMES("5-5,1-3/2,59 8-9 * * *", "2025-01-01T00:00Z", "2025-01-01T08:01Z", "2025-01-01T08:03Z",
          "2025-01-01T08:05Z", "2025-01-01T08:59Z", "2025-01-01T09:01Z");
    COMES("*/60 */24 * * *", "2025-01-01T00:00Z", "2025-01-02T00:00Z", "2025-01-03T00:00Z");
    COMES("* * * * *", "2024-12-31T23:59Z", "2025-01-01T00:00Z", "2025-01-01T00:01Z");
    COMES(" \t007\t 1  *\t*   * ", "2025-01-01T00:00Z", "2025-01-01T01:07Z", "2025-01-02T01:07Z");
}

TEST(names_in_any_case)
{
    COMES("0 0 1 feb *", "2025-01-01T00:00Z", "2025-02-01T00:00Z", "2026-02-01T00:00Z");
    COMES("0 0 1 JAN,Dec-dec *", "2025-01-01T00:00Z", "2025-12-01T00:00Z", "2026-01-01T00:00Z");
    COMES("0 0 * * Mon-WED/2", "2025-01-01T00:00Z", "2025-01-06T00:00Z", "2025-01-08T00:00Z",
          "2025-01-13T00:00Z");
    COMES("0 0 * * sat", "2025-01-01T00:00Z", "2025-01-04T00:00Z", "2025-01-11T00:00Z");
}

TEST(sunday_is_0_and_7_and_may_end_a_week)
{
    static const char *const lines[] = {"0 0 * * 0",   "0 0 * * 7",   "0 0 * * sun",
                                        "0 0 * * 7,0", "0 0 * * 7-7", "0 0 * * Sun-Sun"};

    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        COMES(lines[i], "2025-01-01T00:00Z", "2025-01-05T00:00Z", "2025-01-12T00:00Z");
    COMES("0 0 * * 6-7", "2025-01-01T00:00Z", "2025-01-04T00:00Z", "2025-01-05T00:00Z",
          "2025-01-11T00:00Z");
    COMES("0 0 * * fri-sun", "2025-01-01T00:00Z", "2025-01-03T00:00Z", "2025-01-04T00:00Z",
          "2025-01-05T00:00Z", "2025-01-10T00:00Z");
    COMES("0 0 * * sun-mon", "2025-01-01T00:00Z", "2025-01-05T00:00Z", "2025-01-06T00:00Z",
          "2025-01-12T00:00Z");
    COMES("0 0 * * 0-7", "2025-01-01T00:00Z", "2025-01-02T00:00Z", "2025-01-03T00:00Z");
    COMES("0 0 * * 1-7/3", "2025-01-01T00:00Z", "2025-01-02T00:00Z", "2025-01-05T00:00Z",
          "2025-01-06T00:00Z");
}

TEST(either_day_will_do_where_both_are_restricted)
{
    /* Monday the 6th, the 13th, and the 15th, a Wednesday */
    COMES("0 0 15 * mon", "2025-01-01T00:00Z", "2025-01-06T00:00Z", "2025-01-13T00:00Z",
          "2025-01-15T00:00Z", "2025-01-20T00:00Z");
    COMES("0 0 13 * 5", "2025-06-07T00:00Z", "2025-06-13T00:00Z", "2025-06-20T00:00Z");
    /* a field that begins with a star, though not every day: both fields must match */
    COMES("0 0 */2 * mon", "2025-01-01T00:00Z", "2025-01-13T00:00Z", "2025-01-27T00:00Z",
          "2025-02-03T00:00Z");
    COMES("0 0 1-7 * */7", "2025-01-01T00:00Z", "2025-01-05T00:00Z", "2025-02-02T00:00Z");
    COMES("0 0 1-7 * *,1", "2025-01-05T00:00Z", "2025-01-06T00:00Z", "2025-01-07T00:00Z",
          "2025-02-01T00:00Z");
}

TEST(names_of_whole_schedules)
{
    static const char *const years[] = {"@yearly", "@annually", "@YEARLY", " @annually "};
    static const char *const days[] = {"@daily", "@midnight"};

    for (size_t i = 0; i < sizeof years / sizeof *years; i++)
        COMES(years[i], "2025-01-01T00:00Z", "2026-01-01T00:00Z", "2027-01-01T00:00Z");
    COMES("@monthly", "2025-01-01T00:00Z", "2025-02-01T00:00Z", "2025-03-01T00:00Z");
    COMES("@weekly", "2025-01-01T00:00Z", "2025-01-05T00:00Z", "2025-01-12T00:00Z");
    for (size_t i = 0; i < sizeof days / sizeof *days; i++)
        COMES(days[i], "2025-01-01T00:00Z", "2025-01-02T00:00Z", "2025-01-03T00:00Z");
    COMES("@hourly", "2025-01-01T00:00Z", "2025-01-01T01:00Z", "2025-01-01T02:00Z");
}

/* ---- the calendar ---------------------------------------------------------------------------- */

TEST(the_ends_of_months)
{
    COMES("0 12 31 * *", "2025-01-01T00:00Z", "2025-01-31T12:00Z", "2025-03-31T12:00Z",
          "2025-05-31T12:00Z", "2025-07-31T12:00Z", "2025-08-31T12:00Z", "2025-10-31T12:00Z",
          "2025-12-31T12:00Z", "2026-01-31T12:00Z");
    COMES("0 12 30 */2 *", "2025-11-30T12:00Z", "2026-01-30T12:00Z", "2026-03-30T12:00Z");
    COMES("59 23 28-31 2 *", "2024-02-01T00:00Z", "2024-02-28T23:59Z", "2024-02-29T23:59Z",
          "2025-02-28T23:59Z", "2026-02-28T23:59Z");
}

TEST(the_leap_day)
{
    COMES("0 0 29 2 *", "2023-01-01T00:00Z", "2024-02-29T00:00Z", "2028-02-29T00:00Z");
    COMES("0 0 29 2 *", "2095-01-01T00:00Z", "2096-02-29T00:00Z", "2104-02-29T00:00Z");
    COMES("0 0 29 2 *", "1999-01-01T00:00Z", "2000-02-29T00:00Z", "2004-02-29T00:00Z");
    COMES("0 0 29 2 *", "1895-01-01T00:00Z", "1896-02-29T00:00Z", "1904-02-29T00:00Z");
    /* either day matches */
    COMES("0 0 29 2 1", "2024-02-20T00:00Z", "2024-02-26T00:00Z", "2024-02-29T00:00Z",
          "2025-02-03T00:00Z");
    /* a leap day that is a Sunday: 28 years apart, 12 or 40 across 2100 */
    COMES("0 0 29 2 */7", "2004-03-01T00:00Z", "2032-02-29T00:00Z", "2060-02-29T00:00Z",
          "2088-02-29T00:00Z", "2128-02-29T00:00Z");
    COMES("*/30 0 29 2 *", "2096-02-29T00:00Z", "2096-02-29T00:30Z", "2104-02-29T00:00Z");
}

TEST(a_line_ends_with_the_year_9999_and_begins_with_the_year_1)
{
    struct rowlock_schedule schedule = read_in("0 0 1 1 *", NULL);

    t_text(t_shown("UTC", rowlock__schedule_next(&schedule, t_utc("9998-06-01T00:00Z"))),
           "9999-01-01T00:00+0000=00:00Z");
    t_int(rowlock__schedule_next(&schedule, t_utc("9999-01-01T00:00Z")), ROWLOCK_NEVER);
    t_int(rowlock__schedule_next(&schedule, INT64_MAX), ROWLOCK_NEVER);
    t_int(rowlock__schedule_previous(&schedule, INT64_MAX), t_utc("9999-01-01T00:00Z"));
    t_int(rowlock__schedule_previous(&schedule, INT64_MIN), ROWLOCK_NEVER);
    t_int(rowlock__schedule_previous(&schedule, t_utc("0001-06-01T00:00Z")), ROWLOCK_NEVER);
    t_int(rowlock__schedule_next(&schedule, INT64_MIN), t_utc("0002-01-01T00:00Z"));
}

/* ---- periods --------------------------------------------------------------------------------- */

TEST(a_period_counts_from_1970)
{
    COMES("every 5m", "2025-01-01T00:00Z", "2025-01-01T00:05Z", "2025-01-01T00:10Z");
    COMES("every\t1d ", "2025-01-01T00:00:01Z", "2025-01-02T00:00Z", "2025-01-03T00:00Z");
    COMES("  every 1w", "2025-01-01T00:00Z", "2025-01-02T00:00Z", "2025-01-09T00:00Z");
    COMES("every 90", "1970-01-01T00:00Z", "1970-01-01T00:01:30Z", "1970-01-01T00:03Z");
    COMES("every 1h30m", "1969-12-31T22:00Z", "1969-12-31T22:30Z", "1970-01-01T00:00Z",
          "1970-01-01T01:30Z");
}

TEST(a_period_that_leaves_the_numbers_never_comes)
{
    struct rowlock_schedule schedule;

    t_ok(rowlock__schedule_every(INT64_MAX, &schedule, &t_error));
    t_int(rowlock__schedule_next(&schedule, 0), INT64_MAX);
    t_int(rowlock__schedule_next(&schedule, INT64_MAX), ROWLOCK_NEVER);
    t_int(rowlock__schedule_previous(&schedule, -1), -INT64_MAX);
    t_int(rowlock__schedule_previous(&schedule, INT64_MIN), ROWLOCK_NEVER);
    t_ok(rowlock__schedule_every(1, &schedule, &t_error));
    t_int(rowlock__schedule_next(&schedule, -1), 0);
    t_int(rowlock__schedule_previous(&schedule, -1), -1);
    t_fails(rowlock__schedule_every(0, &schedule, &t_error), EINVAL);
    t_fails(rowlock__schedule_every(-1, &schedule, &t_error), EINVAL);
}

/* ---- texts ----------------------------------------------------------------------------------- */

static void normal(const char *text, const char *wanted)
{
    struct rowlock_schedule schedule = read_in(text, NULL);

    t_text(schedule.text, wanted);
}

TEST(the_text_to_compare)
{
    struct rowlock_zone *zone;
    struct rowlock_schedule schedule;

    normal("every 300s", "every 5m");
    normal(" every  90 ", "every 1m30s");
    normal("every 788645006ms", "every 1w2d3h4m5s6ms");
    normal("every 0.1ms", "every 1ms");
    normal(" \t0  4 *\t* MON ", "cron 0 4 * * mon UTC");
    normal("@Daily", "cron 0 0 * * * UTC");
    t_ok(rowlock__zone_open("Europe/Berlin", &zone, &t_error));
    schedule = read_in("*/5 4 1-31/2 JAN-Mar *", zone);
    t_text(schedule.text, "cron */5 4 1-31/2 jan-mar * Europe/Berlin");
    rowlock__zone_close(zone);
}

/* ---- H --------------------------------------------------------------------------------------- */

static const char *text_for(const char *name, const char *text)
{
    static struct rowlock_schedule schedule;

    t_ok(rowlock__schedule_read(text, name, NULL, &schedule, NULL, &t_error));
    return schedule.text;
}

/* A job must not move when its node gets a new version of rowlock. */
TEST(h_is_the_same_number_for_ever)
{
    t_int(rowlock__cron_hash(ROWLOCK_MINUTE, "", 1000000), 58860);
    t_text(text_for("mail", "H H H H H"), "cron 56 7 7 11 2 UTC");
    t_text(text_for("nightly", "H H H H H"), "cron 34 12 4 3 3 UTC");
    t_text(text_for("mail", "H/15 H(0-5) H(1-9)/3 * H(fri-sun)"), "cron 11-59/15 1 3-9/3 * 6 UTC");
    t_text(text_for("\xc3\xa4", "H,H(0-29)/10,30 */2 * * MON,H"),
           "cron 47,7-29/10,30 */2 * * mon,4 UTC");
}

TEST(h_is_a_number_of_its_range)
{
    static const struct {
        const char *text;
        int field, low, high, step;
    } wanted[] = {{"H * * * *", ROWLOCK_MINUTE, 0, 59, 0},
                  {"* H * * *", ROWLOCK_HOUR, 0, 23, 0},
                  {"* * H * *", ROWLOCK_DAY, 1, 28, 0},
                  {"* * * H *", ROWLOCK_MONTH, 1, 12, 0},
                  {"* * * * H", ROWLOCK_WEEKDAY, 0, 6, 0},
                  {"H(7-9) * * * *", ROWLOCK_MINUTE, 7, 9, 0},
                  {"H/15 * * * *", ROWLOCK_MINUTE, 0, 59, 15},
                  {"* H/1 * * *", ROWLOCK_HOUR, 0, 23, 1},
                  {"H(0-29)/10 * * * *", ROWLOCK_MINUTE, 0, 29, 10},
                  {"* * H/28 * *", ROWLOCK_DAY, 1, 28, 28}};
    struct rowlock_schedule schedule;

    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        uint64_t seen = 0, all = 0;

        for (int job = 0; job < 2000; job++) {
            uint64_t set, steps = 0;
            int first = wanted[i].low;

            t_ok(rowlock__schedule_read(wanted[i].text, t_say("job%d", job), NULL, &schedule, NULL,
                                        &t_error));
            set = schedule.line.set[wanted[i].field];
            seen |= set;
            while (!(set >> first & 1))
                first++;
            for (int n = first; n <= wanted[i].high; n += wanted[i].step ? wanted[i].step : 64)
                steps |= (uint64_t)1 << n;
            t_true(set == steps && (!wanted[i].step || first < wanted[i].low + wanted[i].step));
        }
        for (int n = wanted[i].low; n <= wanted[i].high; n++)
            all |= (uint64_t)1 << n;
        t_true(seen == all);
    }
}

/* 1440 minutes of a day, 1440 jobs: chance alone leaves 1/e of the minutes without a job. */
TEST(h_spreads_the_jobs_of_a_farm)
{
    char taken[1440] = {0};
    struct rowlock_schedule schedule;
    int minutes = 0;

    for (int job = 0; job < 1440; job++) {
        int64_t at;

        t_ok(rowlock__schedule_read("H H * * *", t_say("backup-%04d", job), NULL, &schedule, NULL,
                                    &t_error));
        at = rowlock__schedule_next(&schedule, -1) / 60000;
        t_true(at >= 0 && at < 1440);
        minutes += !taken[at];
        taken[at] = 1;
    }
    t_true(minutes > 860);
}

TEST(the_text_with_the_numbers_of_h_is_the_same_schedule)
{
    struct rowlock_schedule hashed, plain;

    t_ok(rowlock__schedule_read(" H/7  H(8-17) H\t* MON ", "mail", NULL, &hashed, NULL, &t_error));
    plain = read_in(t_say("%.*s", (int)strlen(hashed.text) - 9, hashed.text + 5), NULL);
    t_text(plain.text, hashed.text);
    t_int(memcmp(&plain.line, &hashed.line, sizeof plain.line), 0);
}

TEST(h_may_make_a_text_too_long)
{
    char text[ROWLOCK_CRON_TEXT_MAX + 1] = "";
    struct rowlock_schedule schedule;
    size_t column = 0;

    for (int i = 0; i < 60; i++)
        strcat(text, i ? ",H/2" : "H/2");
    strcat(text, " * * * *");
    t_fails(rowlock__schedule_read(text, "mail", NULL, &schedule, &column, &t_error), EINVAL);
    t_contains(t_error.text, "with numbers for every H");
    t_int((long long)column, 1);
}

TEST(the_longest_text)
{
    char text[ROWLOCK_CRON_TEXT_MAX + 3] = "* * * * ";
    struct rowlock_schedule schedule;
    size_t column = 0;

    for (size_t i = strlen(text); i < ROWLOCK_CRON_TEXT_MAX; i++)
        text[i] = i % 2 ? ',' : '1';
    text[ROWLOCK_CRON_TEXT_MAX] = '\0';
    schedule = read_in(text, NULL);
    t_int((long long)strlen(schedule.text), ROWLOCK_CRON_TEXT_MAX + (long long)strlen("cron  UTC"));
    strcat(text, ",1");
    t_fails(rowlock__schedule_read(text, NULL, NULL, &schedule, &column, &t_error), EINVAL);
    t_contains(t_error.text, "too long");
    t_int((long long)column, ROWLOCK_CRON_TEXT_MAX + 1);
}

TEST(where_a_schedule_ends_in_a_line)
{
    t_int((long long)rowlock_schedule_length("0 4 * * * mail -- true"), 9);
    t_int((long long)rowlock_schedule_length("  0\t4  * * mon\tmail"), 14);
    t_int((long long)rowlock_schedule_length("@daily mail -- true"), 6);
    t_int((long long)rowlock_schedule_length("every  5m mail"), 9);
    t_int((long long)rowlock_schedule_length("every"), 5);
    t_int((long long)rowlock_schedule_length("everything 1 2 3 4 5"), 18);
    t_int((long long)rowlock_schedule_length("0 4 *  "), 5);
    t_int((long long)rowlock_schedule_length(" \t "), 3);
    t_int((long long)rowlock_schedule_length(""), 0);
}
