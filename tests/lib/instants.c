/* SPDX-License-Identifier: Apache-2.0 */
/* Instants as text, through the C library's time zones (instants.h). */
#include "lib/instants.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/test.h"
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

uint32_t t_random(uint64_t *seed, uint32_t most)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((*seed >> 33) % most);
}
