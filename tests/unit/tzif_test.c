/* SPDX-License-Identifier: Apache-2.0 */
/* Hand-made TZif files, hostile ones among them, and the rules at their end. */
#include <stdlib.h>
#include <string.h>

#include "lib/instants.h"
#include "lib/test.h"
#include "schedule/zone.h"
#include "util/calendar.h"

/* ---- rules, against the C library ------------------------------------------------------------ */

static struct rowlock_posix_tz rule_of(const char *text)
{
    struct rowlock_posix_tz rule;

    if (rowlock__posix_tz(text, &rule) != 0)
        t_fail(__FILE__, __LINE__, "\"%s\" was not read", text);
    return rule;
}

TEST(rules_are_as_the_c_library_reads_them)
{
    static const char *const rules[] = {"UTC0",
                                        "CET-1",
                                        "<+0330>-3:30",
                                        "<-1145>11:45:30",
                                        "CET-1CEST,M3.5.0,M10.5.0/3",
                                        "EST5EDT,M3.2.0,M11.1.0",
                                        "IST-1GMT0,M10.5.0,M3.5.0/1",
                                        "<+1030>-10:30<+11>-11,M10.1.0,M4.1.0",
                                        "<-02>2<-01>,M3.5.0/-1,M10.5.0/0",
                                        "EET-2EEST,M4.5.5/0,M10.5.4/24",
                                        "IST-2IDT,M3.4.4/26,M10.5.0",
                                        "EET-2EEST,M3.4.4/50,M10.4.4/50",
                                        "AAA3BBB,J59/2,J60/2",
                                        "AAA3BBB,J60,J365/1",
                                        "AAA3BBB,58/2,59/2",
                                        "AAA3BBB,59,300/1:30:15",
                                        "AAA-3BBB-4:30,J100/-100,J200/167",
                                        "NZST-12NZDT,M9.5.0,M4.1.0/3"};
    uint64_t seed = 9636;

    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        struct rowlock_posix_tz rule = rule_of(rules[i]);

        for (int n = 0; n < 3000; n++) {
            int64_t at = t_random(&seed, 47846) * (int64_t)ROWLOCK_DAY_SECONDS +
                         t_random(&seed, ROWLOCK_DAY_SECONDS);
            struct rowlock_zone_span span = rowlock__posix_tz_at(&rule, at);

            if (n % 3 && span.until != INT64_MAX)
                at = span.until - n % 3 / 2;
            t_int(rowlock__posix_tz_at(&rule, at).offset, t_clocks(rules[i], at).tm_gmtoff);
        }
    }
}

TEST(daylight_time_all_the_year_round_never_ends)
{
    struct rowlock_posix_tz rule = rule_of("XXX3EDT4,0/0,J365/23");

    for (int64_t at = t_utc("2023-12-28T00:00Z") / 1000; at < t_utc("2025-01-05T00:00Z") / 1000;
         at += 1800)
        t_int(rowlock__posix_tz_at(&rule, at).offset, -4 * 3600);
}

TEST(a_rule_may_lie_a_week_beyond_its_year)
{
    struct rowlock_posix_tz rule = rule_of("AAA0BBB,0/-167,J365/167");
    int64_t start = t_utc("2024-12-25T01:00Z") / 1000, end = t_utc("2025-01-06T22:00Z") / 1000;

    t_int(rowlock__posix_tz_at(&rule, start - 1).offset, 0);
    t_int(rowlock__posix_tz_at(&rule, start).offset, 3600);
    t_int(rowlock__posix_tz_at(&rule, end - 1).offset, 3600);
    t_int(rowlock__posix_tz_at(&rule, end).offset, 0);
    t_int(rowlock__posix_tz_at(&rule, end).until, t_utc("2025-12-25T01:00Z") / 1000);
}

TEST(both_changes_may_lie_beyond_the_year)
{
    struct rowlock_posix_tz rule = rule_of("AAA0BBB,J365/167,J365/160");
    int64_t start = t_utc("2024-01-06T23:00Z") / 1000; /* by the rule for 2023 */

    t_int(rowlock__posix_tz_at(&rule, t_utc("2025-01-03T00:00Z") / 1000).from, start);
    t_int(rowlock__posix_tz_at(&rule, t_utc("2025-01-03T00:00Z") / 1000).offset, 3600);
    rule = rule_of("AAA0BBB,0/-167,0/-160");
    start = t_utc("2025-12-25T01:00Z") / 1000; /* by the rule for 2026 */
    t_int(rowlock__posix_tz_at(&rule, t_utc("2024-12-28T00:00Z") / 1000).until, start);
    t_int(rowlock__posix_tz_at(&rule, t_utc("2024-12-28T00:00Z") / 1000).offset, 0);
}

TEST(what_is_no_rule)
{
    static const char *const rules[] = {"",
                                        "U0",
                                        "UTC",
                                        "UTC-",
                                        "UTC+25",
                                        "UTC1:60",
                                        "UTC1:",
                                        "<+1>-1",
                                        "<+01-1",
                                        "<>0",
                                        "<+0.1>0",
                                        "UTC0 ",
                                        "CET-1CEST",
                                        "CET-1CEST,M3.5.0",
                                        "CET-1CEST,M3.5.0,M10.5.0,",
                                        "CET-1CEST,M3.5.0,M10.5.0/168",
                                        "CET-1CEST,M0.5.0,M10.5.0",
                                        "CET-1CEST,M13.5.0,M10.5.0",
                                        "CET-1CEST,M3.0.0,M10.5.0",
                                        "CET-1CEST,M3.6.0,M10.5.0",
                                        "CET-1CEST,M3.5.7,M10.5.0",
                                        "CET-1CEST,M3.5,M10.5.0",
                                        "CET-1CEST,J0,J1",
                                        "CET-1CEST,J366,J1",
                                        "CET-1CEST,366,1",
                                        "CET-1CEST,1,1000",
                                        "CET-1CEST,1,2/",
                                        "CET-1CEST25,1,2",
                                        "CET-1CES\nT,1,2",
                                        "CET-1,1,2",
                                        "CET-0001"};
    struct rowlock_posix_tz rule = {.standard = 7};

    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        if (rowlock__posix_tz(rules[i], &rule) != -1)
            t_fail(__FILE__, __LINE__, "\"%s\" was read", rules[i]);
    t_int(rule.standard, 7);
}

/* ---- files ---------------------------------------------------------------------------------- */

static unsigned char file[4000];
static size_t file_size;

static void put(int64_t value, int bytes)
{
    while (bytes-- > 0)
        file[file_size++] = (unsigned char)((uint64_t)value >> 8 * bytes);
}

static void put_zeros(size_t n)
{
    memset(file + file_size, 0, n);
    file_size += n;
}

static void put_text(const char *text)
{
    memcpy(file + file_size, text, strlen(text));
    file_size += strlen(text);
}

struct made {
    char version;
    int64_t times[4]; /* 0 ends them */
    unsigned char types[4];
    int32_t offsets[3]; /* two types */
    uint32_t leaps;
    const char *footer;
};

static void put_block(const struct made *made, int time_bytes)
{
    int n = 0;

    while (n < 4 && made->times[n])
        n++;
    put_text("TZif");
    put(made->version, 1);
    put_zeros(15);
    put(2, 4); /* isut */
    put(2, 4); /* isstd */
    put(made->leaps, 4);
    put(n, 4);
    put(2, 4); /* types */
    put(4, 4); /* abbreviations */
    for (int i = 0; i < n; i++)
        put(made->times[i], time_bytes);
    for (int i = 0; i < n; i++)
        put(made->types[i], 1);
    for (int i = 0; i < 2; i++) {
        put(made->offsets[i], 4);
        put(0, 2);
    }
    put_text("AAA");
    put_zeros(1 + made->leaps * ((size_t)time_bytes + 4) + 4);
}

static void make(struct made made)
{
    static const struct made nothing = {0};
    struct made first = nothing; /* of a version 2 file, readers ignore the first block */

    file_size = 0;
    if (made.version == 0) {
        put_block(&made, 4);
        return;
    }
    first.version = made.version;
    first.times[0] = 12345;
    first.types[0] = 9;
    put_block(&first, 4);
    put_block(&made, 8);
    put_text(made.footer);
}

/* From a copy of exact length, so that sanitizers detect a read beyond the end. */
static struct rowlock_zone *try(size_t size, const char **what)
{
    unsigned char *copy = malloc(size > 0 ? size : 1);
    struct rowlock_zone *zone;

    memcpy(copy, file, size);
    zone = rowlock__tzif_read(copy, size, what);
    free(copy);
    t_true((zone == NULL) == (*what != NULL));
    return zone;
}

static void offset_is(const struct rowlock_zone *zone, int64_t at, int32_t offset)
{
    t_int(rowlock__zone_at(zone, at).offset, offset);
}

static struct rowlock_zone *read_made(struct made made)
{
    const char *what;
    struct rowlock_zone *zone;

    make(made);
    zone = try(file_size, &what);
    t_text(what ? what : "", "");
    return zone;
}

static const struct made good = {.version = '2',
                                 .times = {-5000000000LL, 1000, 5000000000LL},
                                 .types = {1, 0, 1},
                                 .offsets = {3600, -1800},
                                 .footer = "\nAAA-2\n"};

TEST(versions_2_to_4_have_times_of_64_bits_and_a_rule)
{
    for (char version = '2'; version <= '5'; version++) {
        struct made made = good;
        struct rowlock_zone *zone;

        made.version = version;
        zone = read_made(made);
        offset_is(zone, -5000000001LL, 3600);
        offset_is(zone, -5000000000LL, -1800);
        offset_is(zone, 999, -1800);
        offset_is(zone, 1000, 3600);
        offset_is(zone, 4999999999LL, 3600);
        offset_is(zone, 5000000000LL, 7200);
        t_int(rowlock__zone_at(zone, 6000000000LL).from, 5000000000LL);
        t_int(rowlock__zone_at(zone, 6000000000LL).until, ROWLOCK_CALENDAR_LAST);
        t_int(rowlock__zone_at(zone, -6000000000LL).from, ROWLOCK_CALENDAR_FIRST);
        rowlock__zone_close(zone);
    }
}

TEST(version_1_has_times_of_32_bits_and_the_last_offset_stays)
{
    struct rowlock_zone *zone = read_made((struct made){
        .times = {-2000000000, -1, 2000000000}, .types = {1, 0, 1}, .offsets = {60, -60}});

    offset_is(zone, -2000000001, 60);
    offset_is(zone, -2000000000, -60);
    offset_is(zone, -1, 60);
    offset_is(zone, 1999999999, 60);
    offset_is(zone, 90000000000LL, -60);
    rowlock__zone_close(zone);
}

TEST(without_a_rule_the_last_offset_stays_and_without_changes_the_rule_is_all)
{
    struct made made = good;
    struct rowlock_zone *zone;

    made.footer = "\n\n";
    zone = read_made(made);
    offset_is(zone, 90000000000LL, -1800);
    rowlock__zone_close(zone);
    zone = read_made((struct made){.version = '2', .footer = "\nAAA-2BBB,J1/0,J2/0\n"});
    offset_is(zone, t_utc("1980-01-01T12:00Z") / 1000, 10800);
    offset_is(zone, t_utc("1980-06-01T12:00Z") / 1000, 7200);
    rowlock__zone_close(zone);
}

static void refused(struct made made, const char *wanted)
{
    const char *what;

    make(made);
    t_true(try(file_size, &what) == NULL);
    t_text(what, wanted);
}

TEST(what_is_wrong_with_a_file_is_said)
{
    struct made made = good;

    made.times[1] = made.times[0];
    refused(made, "has changes that are not in order");
    made = good;
    made.types[2] = 2;
    refused(made, "names a type that it does not have");
    made = good;
    made.offsets[0] = ROWLOCK_ZONE_OFFSET_MAX;
    refused(made, "has an offset of more than 26 hours");
    made.offsets[0] = INT32_MIN;
    refused(made, "has an offset of more than 26 hours");
    made = good;
    made.leaps = 1;
    refused(made,
            "counts leap seconds, as the zones under right/ do: take the zone without right/");
    made = good;
    made.version = '1';
    refused(made, "has an unknown version");
}

TEST(a_footer_that_is_no_rule_is_refused)
{
    static const char *const footers[] = {"\nAAA\n", "\nAAA-2BBB\n", "\n-2\n", "\n \n"};
    struct made made = good;
    char longest[400];

    for (size_t i = 0; i < sizeof footers / sizeof *footers; i++) {
        made.footer = footers[i];
        refused(made, "ends in an invalid rule");
    }
    memset(longest, 'A', sizeof longest);
    memcpy(longest + sizeof longest - 5, "-2\n", 4);
    longest[0] = '\n';
    made.footer = longest;
    refused(made, "ends in an invalid rule");
    made.footer = "AAA-2\n";
    refused(made, "is truncated");
}

TEST(a_file_cut_anywhere_is_refused)
{
    const char *what;

    make(good);
    for (size_t size = 0; size < file_size; size++)
        t_true(try(size, &what) == NULL);
    make((struct made){.times = {-1, 1}, .types = {1, 0}});
    for (size_t size = 0; size < file_size; size++)
        t_true(try(size, &what) == NULL);
}

TEST(counts_that_lie_are_refused)
{
    const char *what;

    for (size_t count = 20; count < 44; count++) {
        make((struct made){.times = {-1, 1}, .types = {1, 0}});
        file[count] = 0xff;
        t_true(try(file_size, &what) == NULL);
    }
    make((struct made){.times = {-1, 1}, .types = {1, 0}});
    memset(file + 36, 0, 4);
    t_true(try(file_size, &what) == NULL);
    t_text(what, "has no types");
}
