/* SPDX-License-Identifier: Apache-2.0 */
/* Zones by name, and every zone of the system compared with the C library. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/instants.h"
#include "lib/test.h"
#include "schedule/zone.h"
#include "util/calendar.h"

#define SYSTEM_ZONES "/usr/share/zoneinfo"
#define ZONES_MAX 2000

static struct rowlock_zone *opened(const char *name)
{
    struct rowlock_zone *zone = NULL;

    t_ok(rowlock__zone_open(name, &zone, &t_error));
    t_text(rowlock__zone_name(zone), name);
    return zone;
}

static int refused(const char *name)
{
    struct rowlock_zone *zone = NULL;

    t_fails(rowlock__zone_open(name, &zone, &t_error), EINVAL);
    t_true(zone == NULL);
    return 1;
}

/* ---- names -------------------------------------------------------------------------------- */

TEST(utc_is_known_without_a_file)
{
    struct rowlock_zone *zone;
    struct rowlock_zone_span span;

    setenv("TZDIR", "/nowhere", 1);
    zone = opened("UTC");
    unsetenv("TZDIR");
    span = rowlock__zone_at(zone, 1700000000);
    t_int(span.offset, 0);
    t_int(span.from, ROWLOCK_CALENDAR_FIRST);
    t_int(span.until, ROWLOCK_CALENDAR_LAST);
    rowlock__zone_close(zone);
    rowlock__zone_close(NULL);
    t_text(rowlock__zone_name(NULL), "UTC");
    t_int(rowlock__zone_at(NULL, 0).offset, 0);
}

TEST(an_offset_is_known_without_a_file)
{
    static const struct {
        const char *name;
        int32_t offset;
    } zones[] = {{"+05:30", 19800}, {"-03:00", -10800}, {"+00:00", 0}, {"-25:59", -93540}};
    static const char *const wrong[] = {"+5:30", "+05:60", "+26:01", "05:30", "+05:300", "+0a:00"};

    setenv("TZDIR", "/nowhere", 1);
    for (size_t i = 0; i < sizeof zones / sizeof *zones; i++) {
        struct rowlock_zone *zone = opened(zones[i].name);

        t_int(rowlock__zone_at(zone, 1700000000).offset, zones[i].offset);
        rowlock__zone_close(zone);
    }
    unsetenv("TZDIR");
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        refused(wrong[i]);
}

TEST(a_name_is_a_relative_path_without_dots)
{
    static const char *const names[] = {"",
                                        "/etc/localtime",
                                        "../zoneinfo/UTC",
                                        "Europe/../UTC",
                                        ".",
                                        "Europe//Berlin",
                                        "Europe/",
                                        "Europe/Berl in",
                                        "tzdata.zi",
                                        ":UTC",
                                        "Europe\n",
                                        "Z\xc3\xbcrich",
                                        "CET-1CEST,M3.5.0,M10.5.0/3"};
    char longest[ROWLOCK_ZONE_NAME_MAX + 2] = "";

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        refused(names[i]);
        t_contains(t_error.text, "is not a time zone name");
    }
    memset(longest, 'a', ROWLOCK_ZONE_NAME_MAX + 1);
    refused(longest);
    t_contains(t_error.text, "is not a time zone name");
    longest[ROWLOCK_ZONE_NAME_MAX] = '\0';
    refused(longest);
    t_contains(t_error.text, "is unknown");
}

TEST(an_unknown_zone_says_where_it_looked)
{
    refused("Europe/Nowhere");
    t_contains(t_error.text, "Europe/Nowhere is unknown: searched in /usr/share/zoneinfo, "
                             "/usr/lib/zoneinfo, /usr/share/lib/zoneinfo");
    setenv("TZDIR", "/nowhere", 1);
    refused("Europe/Berlin");
    t_contains(t_error.text, "searched in /nowhere.");
    setenv("TZDIR", "", 1);
    rowlock__zone_close(opened("Europe/Berlin"));
    unsetenv("TZDIR");
}

static void write_file(const char *folder, const char *name, const void *bytes, size_t size)
{
    FILE *file;

    file = fopen(t_say("%s/%s", folder, name), "wb");
    t_true(file != NULL);
    t_int((long long)fwrite(bytes, 1, size, file), (long long)size);
    t_int(fclose(file), 0);
}

TEST(tzdir_is_where_zones_are_and_what_is_no_zone_is_refused)
{
    static const char large[65536] = "TZif";
    char folder[] = "/tmp/rowlock-zones.XXXXXX", path[100];
    static const char *const names[] = {"text", "empty", "large", "pipe", "Folder"};

    t_true(mkdtemp(folder) != NULL);
    setenv("TZDIR", folder, 1);
    write_file(folder, "text", "CET-1", 5);
    write_file(folder, "empty", "", 0);
    write_file(folder, "large", large, sizeof large);
    snprintf(path, sizeof path, "%s/pipe", folder);
    t_int(mkfifo(path, 0600), 0);
    snprintf(path, sizeof path, "%s/Folder", folder);
    t_int(mkdir(path, 0700), 0);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        refused(names[i]);
        t_contains(t_error.text,
                   strcmp(names[i], "large") == 0 ? "is too large" : "is not a TZif file");
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        t_contains(t_error.text, path);
        t_int(remove(path), 0);
    }
    refused("gone/as/well");
    t_int(rmdir(folder), 0);
    unsetenv("TZDIR");
}

/* ---- every zone of the system ------------------------------------------------------------- */

static char zones[ZONES_MAX][ROWLOCK_ZONE_NAME_MAX + 1];
static size_t n_zones;

static int is_zone_file(const char *path)
{
    char magic[4] = "";
    FILE *file = fopen(path, "rb");
    size_t got = file ? fread(magic, 1, 4, file) : 0;

    if (file)
        fclose(file);
    return got == 4 && memcmp(magic, "TZif", 4) == 0;
}

/* posix/ has the same zones again; right/ counts leap seconds. */
static void find_zones(const char *folder)
{
    char path[400];
    DIR *directory;
    struct dirent *entry;
    struct stat status;

    snprintf(path, sizeof path, SYSTEM_ZONES "/%s", folder);
    directory = opendir(path);
    t_true(directory != NULL);
    while ((entry = readdir(directory)) != NULL) {
        char name[300];

        if (entry->d_name[0] == '.' || strcmp(entry->d_name, "posix") == 0 ||
            strcmp(entry->d_name, "right") == 0)
            continue;
        snprintf(name, sizeof name, "%s%s%s", folder, *folder ? "/" : "", entry->d_name);
        snprintf(path, sizeof path, SYSTEM_ZONES "/%s", name);
        if (stat(path, &status) == 0 && S_ISDIR(status.st_mode))
            find_zones(name);
        else if (is_zone_file(path) && n_zones < ZONES_MAX && strlen(name) < sizeof zones[0])
            memcpy(zones[n_zones++], name, strlen(name) + 1);
    }
    closedir(directory);
}

static void agrees(const struct rowlock_zone *zone, int64_t at)
{
    struct rowlock_zone_span span = rowlock__zone_at(zone, at);
    const char *name = rowlock__zone_name(zone);
    long wanted = t_clocks(name, at).tm_gmtoff;

    if (span.offset != wanted || span.from > at || span.until <= at)
        t_fail(__FILE__, __LINE__, "%s at %lld: offset %ld in [%lld, %lld), the C library says %ld",
               name, (long long)at, (long)span.offset, (long long)span.from, (long long)span.until,
               wanted);
}

/* Compares at every change and a second before it. Each span begins where the one before ends. */
static void agrees_at_changes(const struct rowlock_zone *zone, int64_t from, int64_t until)
{
    while (from < until) {
        struct rowlock_zone_span span = rowlock__zone_at(zone, from);

        agrees(zone, from);
        agrees(zone, span.until - 1);
        t_int(rowlock__zone_at(zone, span.until - 1).until, span.until);
        if (span.until < until)
            t_int(rowlock__zone_at(zone, span.until).from, span.until);
        from = span.until;
    }
}

TEST(every_zone_of_the_system_is_as_the_c_library_reads_it)
{
    int64_t first = t_utc("1900-01-01T00:00Z") / 1000, last = t_utc("2500-01-01T00:00Z") / 1000;
    uint64_t seed = 8536;

    find_zones("");
    t_true(n_zones > 100);
    for (size_t i = 0; i < n_zones; i++) {
        struct rowlock_zone *zone = opened(zones[i]);

        for (int n = 0; n < 100; n++) {
            int64_t days = t_random(&seed, (uint32_t)((last - first) / ROWLOCK_DAY_SECONDS));

            agrees(zone, first + days * ROWLOCK_DAY_SECONDS + t_random(&seed, ROWLOCK_DAY_SECONDS));
        }
        agrees_at_changes(zone, first, t_utc("2100-01-01T00:00Z") / 1000);
        rowlock__zone_close(zone);
    }
}

TEST(dates_and_days_are_each_other)
{
    int64_t first = ROWLOCK_CALENDAR_FIRST / ROWLOCK_DAY_SECONDS;
    int64_t last = ROWLOCK_CALENDAR_LAST / ROWLOCK_DAY_SECONDS;
    struct rowlock_date before = {.year = 0, .month = 12, .day = 31};

    for (int64_t day = first; day < last; day++) {
        struct rowlock_date date = rowlock__date(day);

        if (rowlock__days(date) != day)
            t_fail(__FILE__, __LINE__, "day %lld", (long long)day);
        if (date.day == 1)
            t_int(before.day, rowlock__month_length(before.year, before.month));
        else
            t_int(date.day, before.day + 1);
        before = date;
    }
    t_int(before.year, 9999);
    t_int(rowlock__weekday(0), 4);
    t_int(rowlock__weekday(-1), 3);
    t_int(rowlock__weekday(-5), 6);
}
