/* SPDX-License-Identifier: Apache-2.0 */
/* Instants as text, through the C library's time zones (instants.h). */
#include "lib/instants.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/test.h"
#include "schedule/schedule.h"
#include "util/clock.h"

int64_t t_utc(const char *text)
{
    struct tm tm = {0};
    const char *end = strptime(text, "%Y-%m-%dT%H:%M", &tm);

    if (end && *end == ':')
        end = strptime(end, ":%S", &tm);
    if (!end || strcmp(end, "Z") != 0)
        t_fail(__FILE__, __LINE__, "\"%s\" is not an instant", text);
    return (int64_t)timegm(&tm) * 1000;
}

struct tm t_clocks(const char *zone, int64_t seconds)
{
    static char now[100];
    time_t at = (time_t)seconds;
    struct tm tm;

    if (strcmp(now, zone) != 0) {
        snprintf(now, sizeof now, "%s", zone);
        setenv("TZ", zone, 1);
        tzset();
    }
    if (!localtime_r(&at, &tm))
        t_fail(__FILE__, __LINE__, "%s has no %lld", zone, (long long)seconds);
    return tm;
}

const char *t_shown(const char *zone, int64_t ms)
{
    static char text[100];
    time_t seconds = (time_t)(ms / 1000);
    struct tm local, utc;
    size_t length;

    if (ms == ROWLOCK_NEVER)
        return "never";
    if (ms % 1000 != 0)
        t_fail(__FILE__, __LINE__, "%lld is not a whole second", (long long)ms);
    local = t_clocks(zone, seconds);
    gmtime_r(&seconds, &utc);
    length = strftime(text, sizeof text, "%Y-%m-%dT%H:%M", &local);
    if (local.tm_sec != 0)
        length += strftime(text + length, sizeof text - length, ":%S", &local);
    length += strftime(text + length, sizeof text - length, "%z=", &local);
    length += strftime(text + length, sizeof text - length, "%H:%M", &utc);
    if (utc.tm_sec != 0)
        length += strftime(text + length, sizeof text - length, ":%S", &utc);
    strftime(text + length, sizeof text - length, "Z", &utc);
    return text;
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
    t_int(rowlock__schedule_previous(schedule, at + 999), at);
}

void t_comes(const struct rowlock_zone *zone, const char *line, const char *after,
             const char *const wanted[])
{
    const char *name = zone ? rowlock__zone_name(zone) : "UTC";
    struct rowlock_schedule schedule;
    int64_t before, at = t_utc(after);

    t_ok(rowlock__schedule_read(line, NULL, zone, &schedule, NULL, &t_error));
    before = rowlock__schedule_previous(&schedule, at);
    for (size_t i = 0; wanted[i]; i++, before = at) {
        at = rowlock__schedule_next(&schedule, at);
        if (strchr(wanted[i], '=') ? strcmp(t_shown(name, at), wanted[i]) != 0
                                   : at != t_utc(wanted[i]))
            t_fail(__FILE__, __LINE__, "%s, \"%s\" after %s, number %zu:\n  %s, not\n  %s", name,
                   line, after, i + 1, t_shown(name, at), wanted[i]);
        is_found_again(&schedule, before, at);
    }
}

uint32_t t_random(uint64_t *seed, uint32_t most)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((*seed >> 33) % most);
}
