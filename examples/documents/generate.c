/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Documents come as they do from a feed: the versions of one id arrive within some thousand
 * documents of each other and in any order, so that sometimes two workers have two versions
 * of one id in hand at the same time. Times are written in every form the parser knows.
 */
#include "generate.h"

#include <inttypes.h>
#include <stdio.h>

#include "timestamp.h"

#define BLOCK 4096                                 /* documents that share their ids */
#define FIRST_TIME (INT64_C(1262304000) * 1000000) /* 2010-01-01 */
#define TIMES_SPAN (UINT64_C(86400) * 1000000)

/* splitmix64: every input bit affects every output bit. */
static uint64_t stir(uint64_t x)
{
    x += UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

static uint64_t id_of(const struct generator *g, uint64_t number, uint64_t luck)
{
    uint64_t block = number / BLOCK;
    uint64_t size = g->documents - block * BLOCK < BLOCK ? g->documents - block * BLOCK : BLOCK;
    uint64_t ids = size / g->versions ? size / g->versions : 1;

    return block * BLOCK + luck % ids;
}

static void write_time(char *text, size_t size, int64_t time, unsigned form)
{
    static const struct {
        int minutes;
        const char *zone;
    } zones[] = {{0, "Z"}, {0, ""}, {120, "+02:00"}, {-300, "-05:00"}, {330, "+05:30"}};
    unsigned z = form % 5;
    struct timestamp_parts p = timestamp_split(time + zones[z].minutes * INT64_C(60000000));
    int n = snprintf(text, size, "%04d-%02d-%02dT%02d:%02d:%02d", p.year, p.month, p.day, p.hour,
                     p.minute, p.second);

    if (p.microsecond % 1000)
        n += snprintf(text + n, size - (size_t)n, ".%06d", p.microsecond);
    else if (p.microsecond)
        n += snprintf(text + n, size - (size_t)n, ".%03d", p.microsecond / 1000);
    snprintf(text + n, size - (size_t)n, "%s", zones[z].zone);
}

size_t generate(const struct generator *g, uint64_t number, char text[GENERATE_MAX])
{
    uint64_t luck = stir(stir(g->seed) ^ number);
    uint64_t more = stir(luck);
    int64_t time = FIRST_TIME + (int64_t)(more % TIMES_SPAN);
    char when[80];

    if (luck >> 63) /* half of them in whole milliseconds */
        time -= time % 1000;
    write_time(when, sizeof when, time, (unsigned)(more >> 40));
    return (size_t)snprintf(
        text, GENERATE_MAX,
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
        "<t:trade xmlns:t=\"urn:example:trade\">\n"
        "  <t:header>\n"
        "    <t:%s scheme=\"http://example.com/trade-id\">TRD-%012" PRIu64 "</t:%s>\n"
        "    <t:%s>%s</t:%s>\n"
        "  </t:header>\n"
        "  <t:buyer>Party %" PRIu64 "</t:buyer>\n"
        "  <t:notional currency=\"EUR\">%" PRIu64 ".%02" PRIu64 "</t:notional>\n"
        "</t:trade>\n",
        g->id_element, id_of(g, number, luck >> 1), g->id_element, g->time_element, when,
        g->time_element, more % 977, more % 10000000, more % 100);
}
