/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzzes the parser of TZif files: the spans of an accepted zone are adjacent, and searches in such
 * a zone are consistent forwards and backwards.
 */
#include "fuzz.h"
#include "util/calendar.h"
#include "schedule/schedule.h"

static const char *const lines[] = {"30 2 * * *", "*/30 1-3 * * *", "0 0 29 2 *", "* 2 29 2 *"};
#define LINES (sizeof lines / sizeof *lines)

static void check_spans(const struct rowlock_zone *zone, int64_t at)
{
    for (int i = 0; i < 20 && at < ROWLOCK_CALENDAR_LAST; i++) {
        struct rowlock_zone_span span = rowlock__zone_at(zone, at), last;

        fuzz_check(span.from <= at && at < span.until);
        fuzz_check(span.offset < ROWLOCK_ZONE_OFFSET_MAX && span.offset > -ROWLOCK_ZONE_OFFSET_MAX);
        last = rowlock__zone_at(zone, span.until - 1);
        fuzz_check(last.from == span.from && last.until == span.until);
        fuzz_check(last.offset == span.offset);
        at = span.until;
    }
}

static void walk(const struct rowlock_schedule *schedule, int64_t at)
{
    for (int i = 0; i < 5; i++) {
        int64_t next = rowlock__schedule_next(schedule, at), before;

        if (next == ROWLOCK_NEVER)
            return;
        fuzz_check(next > at);
        fuzz_check(rowlock__schedule_previous(schedule, next) == next);
        before = rowlock__schedule_previous(schedule, next - 1);
        fuzz_check(before == ROWLOCK_NEVER || before <= at);
        fuzz_check(before == ROWLOCK_NEVER || rowlock__schedule_next(schedule, before) == next);
        at = next;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const int64_t starts[] = {-3000000000, 0, 1743296400 - 86400, 90000000000};
    uint8_t *copy = (uint8_t *)fuzz_text(data, size);
    const char *what = NULL;
    struct rowlock_zone *zone = rowlock__tzif_read(copy, size, &what);

    fuzz_check((zone == NULL) == (what != NULL));
    free(copy);
    for (size_t i = 0; zone && i < sizeof starts / sizeof *starts; i++) {
        check_spans(zone, starts[i]);
        for (size_t line = 0; line < LINES; line++) {
            struct rowlock_schedule schedule;

            fuzz_check(rowlock__schedule_read(lines[line], NULL, zone, &schedule, NULL, NULL) == 0);
            walk(&schedule, starts[i] * 1000);
        }
    }
    rowlock__zone_close(zone);
    return 0;
}
