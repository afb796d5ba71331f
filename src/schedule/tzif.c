/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parser of TZif (time zone) files: a block with 32-bit times; since version 2 a second one
 * with 64-bit times, which replaces the first, and a rule for all time after the last change. Every
 * value is checked.
 */
#include "schedule/zone.h"

#include <stdlib.h>
#include <string.h>

#include "util/calendar.h"

#define HEADER 44
#define TYPE 6 /* bytes of a type: offset, is_dst, index of its name */
#define RULE_MAX 255

struct reader {
    const unsigned char *at, *end;
};

struct block {
    int version;
    int time_bytes;                                     /* 4 or 8 */
    uint32_t isut, isstd, leaps, times, types, letters; /* how many */
    const unsigned char *data;                          /* times, their types, types, ... */
};

static uint32_t big32(const unsigned char *at)
{
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

/* Reads a big-endian number in two's complement, on any machine. */
static int64_t big_signed(const unsigned char *at, int bytes)
{
    uint64_t value = at[0] & 0x7f;
    int64_t half = at[0] & 0x80 ? (int64_t)1 << (bytes * 8 - 2) : 0;

    for (int i = 1; i < bytes; i++)
        value = value << 8 | at[i];
    return (int64_t)value - half - half;
}

static const char *read_block(struct reader *from, int time_bytes, struct block *out)
{
    const unsigned char *at = from->at;
    uint64_t time = (uint64_t)time_bytes, bytes;

    if (from->end - at < HEADER || memcmp(at, "TZif", 4) != 0)
        return "is not a TZif file";
    *out = (struct block){.version = at[4], .time_bytes = time_bytes, .data = at + HEADER};
    out->isut = big32(at + 20);
    out->isstd = big32(at + 24);
    out->leaps = big32(at + 28);
    out->times = big32(at + 32);
    out->types = big32(at + 36);
    out->letters = big32(at + 40);
    bytes = out->times * (time + 1) + (uint64_t)out->types * TYPE + out->letters +
            out->leaps * (time + 4) + out->isstd + out->isut;
    if (bytes > (uint64_t)(from->end - out->data))
        return "is truncated";
    from->at = out->data + bytes;
    return NULL;
}

static const char *read_blocks(struct reader *from, struct block *block)
{
    const char *what = read_block(from, 4, block);

    if (!what && block->version != 0) {
        what = read_block(from, 8, block);
        if (!what && block->version < '2')
            what = "has an unknown version";
    }
    if (what)
        return what;
    if (block->leaps > 0)
        return "counts leap seconds, as the zones under right/ do: take the zone without right/";
    return block->types == 0 ? "has no types" : NULL;
}

static const char *read_offset(const struct block *block, uint32_t type, int32_t *offset)
{
    size_t types_at = (size_t)block->times * ((size_t)block->time_bytes + 1);
    int64_t value;

    if (type >= block->types)
        return "names a type that it does not have";
    value = big_signed(block->data + types_at + (size_t)type * TYPE, 4);
    if (value <= -ROWLOCK_ZONE_OFFSET_MAX || value >= ROWLOCK_ZONE_OFFSET_MAX)
        return "has an offset of more than 26 hours";
    *offset = (int32_t)value;
    return NULL;
}

static const char *read_changes(const struct block *block, struct rowlock_zone *zone)
{
    const unsigned char *times = block->data;
    const unsigned char *types = times + (size_t)block->times * (size_t)block->time_bytes;
    const char *what = read_offset(block, 0, &zone->offset_before);

    for (uint32_t i = 0; i < block->times && !what; i++) {
        zone->change[i].at =
            big_signed(times + (size_t)i * (size_t)block->time_bytes, block->time_bytes);
        if (i > 0 && zone->change[i].at <= zone->change[i - 1].at)
            return "has changes that are not in order";
        what = read_offset(block, types[i], &zone->change[i].offset);
        zone->n = i + 1;
    }
    return what;
}

/* Reads "\nRULE\n". An empty rule means that the last offset stays. */
static const char *read_rule(const struct reader *from, struct rowlock_zone *zone)
{
    char text[RULE_MAX + 1];
    const unsigned char *start = from->at + 1, *end;

    if (from->end - from->at < 2 || *from->at != '\n')
        return "is truncated";
    end = memchr(start, '\n', (size_t)(from->end - start));
    if (!end)
        return "is truncated";
    if (end == start)
        return NULL;
    if (end - start > RULE_MAX || memchr(start, '\0', (size_t)(end - start)))
        return "ends in an invalid rule";
    memcpy(text, start, (size_t)(end - start));
    text[end - start] = '\0';
    if (rowlock__posix_tz(text, &zone->rule) != 0)
        return "ends in an invalid rule";
    zone->ruled = 1;
    return NULL;
}

struct rowlock_zone *rowlock__tzif_read(const unsigned char *bytes, size_t size, const char **what)
{
    struct reader from = {bytes, bytes + size};
    struct rowlock_zone *zone;
    struct block block;

    *what = read_blocks(&from, &block);
    if (*what)
        return NULL;
    zone = calloc(1, sizeof *zone + block.times * sizeof zone->change[0]);
    if (!zone) {
        *what = "does not fit into memory";
        return NULL;
    }
    *what = read_changes(&block, zone);
    if (!*what && block.version != 0)
        *what = read_rule(&from, zone);
    if (!*what)
        return zone;
    rowlock__zone_close(zone);
    return NULL;
}

/* Time zones in memory: the UTC offset at a given time. */

void rowlock__zone_close(struct rowlock_zone *zone)
{
    free(zone);
}

const char *rowlock__zone_name(const struct rowlock_zone *zone)
{
    return zone ? zone->name : "UTC";
}

/* The number of changes at or before `at`. */
static size_t changes_until(const struct rowlock_zone *zone, int64_t at)
{
    size_t low = 0, high = zone->n;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (zone->change[middle].at <= at)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static int64_t within_calendar(int64_t at)
{
    if (at < ROWLOCK_CALENDAR_FIRST)
        return ROWLOCK_CALENDAR_FIRST;
    return at > ROWLOCK_CALENDAR_LAST ? ROWLOCK_CALENDAR_LAST : at;
}

struct rowlock_zone_span rowlock__zone_at(const struct rowlock_zone *zone, int64_t at)
{
    struct rowlock_zone_span span = {INT64_MIN, INT64_MAX, 0};
    size_t n;

    if (zone) {
        n = changes_until(zone, at);
        if (n == zone->n && zone->ruled)
            span = rowlock__posix_tz_at(&zone->rule, at);
        else
            span.offset = n > 0 ? zone->change[n - 1].offset : zone->offset_before;
        if (n > 0 && zone->change[n - 1].at > span.from)
            span.from = zone->change[n - 1].at;
        if (n < zone->n)
            span.until = zone->change[n].at;
    }
    span.from = within_calendar(span.from);
    span.until = within_calendar(span.until);
    return span;
}
