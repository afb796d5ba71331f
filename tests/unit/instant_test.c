/* SPDX-License-Identifier: Apache-2.0 */
/* Instants as people read them. */
#include <stdlib.h>
#include <time.h>

#include "lib/test.h"
#include "util/calendar.h"

#define NOON 1795262400000 /* 2026-11-21 12:00:00 UTC */
#define DAY 86400000

static void in_zone(const char *zone)
{
    setenv("TZ", zone, 1);
    tzset();
}

TEST(a_time_is_local_and_says_its_offset)
{
    char text[ROWLOCK_INSTANT_SIZE];

    in_zone("UTC");
    rowlock__local_time(NOON + 999, text, sizeof text);
    t_text(text, "2026-11-21 12:00:00 +0000");
    in_zone("IST-5:30");
    rowlock__local_time(NOON, text, sizeof text);
    t_text(text, "2026-11-21 17:30:00 +0530");
    in_zone("CET-1CEST,M3.5.0,M10.5.0/3");
    rowlock__local_time(NOON - 150LL * DAY, text, sizeof text);
    t_text(text, "2026-06-24 14:00:00 +0200");
    rowlock__local_time(0, text, sizeof text);
    t_text(text, "");
}

TEST(in_a_column_a_date_is_left_out_where_it_is_today_s)
{
    char text[ROWLOCK_INSTANT_SIZE];

    in_zone("CET-1");
    rowlock__local_time_short(NOON, NOON + 3600000, text, sizeof text);
    t_text(text, "13:00:00");
    rowlock__local_time_short(NOON, NOON + DAY, text, sizeof text);
    t_text(text, "2026-11-21 13:00:00");
    rowlock__local_time_short(NOON, NOON + 365LL * DAY, text, sizeof text);
    t_text(text, "2026-11-21 13:00:00");
    rowlock__local_time_short(NOON, NOON + 11LL * 3600000, text,
                              sizeof text); /* past midnight in the local zone */
    t_text(text, "2026-11-21 13:00:00");
    rowlock__local_time_short(0, NOON, text, sizeof text);
    t_text(text, "");
}

TEST(what_the_database_says_in_utc_becomes_local)
{
    static const char *const kept[] = {"", "yesterday", "2026-11-21T12:00:00",
                                       "2026-11-21T12:00:00+01"};
    char text[ROWLOCK_INSTANT_SIZE];

    in_zone("CET-1");
    rowlock__local_time_of("2026-11-21T12:00:00Z", text, sizeof text);
    t_text(text, "2026-11-21 13:00:00 +0100");
    rowlock__local_time_of("2026-11-21T12:00:00.999Z", text, sizeof text);
    t_text(text, "2026-11-21 13:00:00 +0100");
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++) {
        rowlock__local_time_of(kept[i], text, sizeof text);
        t_text(text, kept[i]);
    }
}
