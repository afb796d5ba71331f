/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzzes the parser of schedules. Parsing the canonical text gives the same schedule. Searches
 * forwards and backwards find consistent due times. The column of a mistake is in the text.
 */
#include "fuzz.h"
#include "util/calendar.h"
#include "schedule/schedule.h"

static void walk(const struct rowlock_schedule *schedule, int64_t from)
{
    int64_t at = from, before;

    for (int i = 0; i < 3; i++) {
        int64_t next = rowlock__schedule_next(schedule, at);

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

/* "cron FIELDS UTC", "every PERIOD": the text contains the schedule. */
static void read_again(const struct rowlock_schedule *schedule)
{
    char *text = fuzz_text((const uint8_t *)schedule->text, strlen(schedule->text));
    struct rowlock_schedule again;
    char *fields = text;

    if (schedule->period_ms == 0) {
        fuzz_check(strncmp(text, "cron ", 5) == 0);
        fields += 5;
        *strrchr(text, ' ') = '\0';
    }
    fuzz_check(rowlock__schedule_read(fields, NULL, NULL, &again, NULL, NULL) == 0);
    fuzz_check(strcmp(again.text, schedule->text) == 0);
    fuzz_check(again.period_ms == schedule->period_ms);
    fuzz_check(memcmp(&again.line, &schedule->line, sizeof again.line) == 0);
    fuzz_check(rowlock_schedule_length(fields) == strlen(fields));
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = fuzz_text(data, size);
    struct rowlock_schedule schedule;
    struct rowlock_error error = {0};
    size_t column = 0;

    fuzz_check(rowlock_schedule_length(text) <= strlen(text));
    if (rowlock__schedule_read(text, "job", NULL, &schedule, &column, &error) == 0) {
        fuzz_check(column == 0); /* only set for a mistake */
        read_again(&schedule);
        walk(&schedule, 1700000000123);
        walk(&schedule, -1);
        walk(&schedule, ROWLOCK_CALENDAR_FIRST * 1000);
        walk(&schedule, ROWLOCK_CALENDAR_LAST * 1000 - 86400000);
    } else {
        fuzz_check(column >= 1 && column <= strlen(text) + 1 && error.text[0]);
        for (const char *c = error.text; *c; c++)
            fuzz_check((unsigned char)*c >= 0x20);
    }
    free(text);
    return 0;
}
