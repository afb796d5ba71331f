/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Generated documents come as they do from a feed: the versions of one id arrive within some
 * thousand documents of each other and in any order, so that sometimes two workers have two
 * versions of one id in hand at the same time. Times are written in several forms.
 */
#include <inttypes.h>

#include "documents.h"

#define BLOCK 4096                                 /* documents that share their ids */
#define VERSIONS 4                                 /* of an id, on average */
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

static uint64_t id_of(uint64_t documents, uint64_t number, uint64_t luck)
{
    uint64_t first = number / BLOCK * BLOCK;
    uint64_t size = documents - first < BLOCK ? documents - first : BLOCK;

    return first + luck % (size < VERSIONS ? 1 : size / VERSIONS);
}

size_t generate(const struct options *options, uint64_t number, char text[GENERATE_MAX])
{
    static const struct {
        int minutes;
        const char *zone;
    } zones[] = {{0, "Z"}, {0, ""}, {120, "+02:00"}, {-300, "-05:00"}, {330, "+05:30"}};
    uint64_t luck = stir(stir(options->seed) ^ number), more = stir(luck);
    size_t zone = (more >> 40) % (sizeof zones / sizeof *zones);
    int64_t time = FIRST_TIME + (int64_t)(more % TIMES_SPAN);
    char when[TIMESTAMP_TEXT];
    /* half of the times are whole milliseconds */
    int digits = luck >> 63 ? 23 : 26;

    timestamp_print(time + zones[zone].minutes * INT64_C(60000000), when);
    return (size_t)snprintf(
        text, GENERATE_MAX,
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
        "<t:trade xmlns:t=\"urn:example:trade\">\n"
        "  <t:header>\n"
        "    <t:%s scheme=\"http://example.com/trade-id\">TRD-%012" PRIu64 "</t:%s>\n"
        "    <t:%s>%.*s%s</t:%s>\n"
        "  </t:header>\n"
        "  <t:buyer>Party %" PRIu64 "</t:buyer>\n"
        "  <t:notional currency=\"EUR\">%" PRIu64 ".%02" PRIu64 "</t:notional>\n"
        "</t:trade>\n",
        options->id_element, id_of(options->generate, number, luck >> 1), options->id_element,
        options->time_element, digits, when, zones[zone].zone, options->time_element, more % 977,
        more % 10000000, more % 100);
}
