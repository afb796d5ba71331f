/* SPDX-License-Identifier: Apache-2.0 */
/* The public schedule object: on the heap, together with its zone. */
#include <stdlib.h>

#include "schedule/schedule.h"
#include "util/error.h"

int rowlock_schedule_open_for(const char *text, const char *zone, const char *job,
                              struct rowlock_schedule **out, size_t *column,
                              struct rowlock_error *error)
{
    struct rowlock_schedule *schedule;
    struct rowlock_zone *opened = NULL;
    int code = ROWLOCK_OK;

    rowlock__clear_error(error);
    if (!text)
        return rowlock__fail(error, ROWLOCK_EINVAL, "the schedule is NULL");
    if (zone)
        code = rowlock__zone_open(zone, &opened, error);
    if (code && column)
        *column = 0;
    if (code)
        return code;
    schedule = malloc(sizeof *schedule);
    code = schedule ? rowlock__schedule_read_for(text, job, opened, schedule, column, error)
                    : rowlock__fail(error, ROWLOCK_ENOMEM, "out of memory");
    if (code) {
        rowlock__zone_close(opened);
        free(schedule);
        return code;
    }
    schedule->opened = opened;
    *out = schedule;
    return ROWLOCK_OK;
}

int rowlock_schedule_open(const char *text, const char *zone, struct rowlock_schedule **out,
                          size_t *column, struct rowlock_error *error)
{
    return rowlock_schedule_open_for(text, zone, NULL, out, column, error);
}

void rowlock_schedule_close(struct rowlock_schedule *schedule)
{
    if (!schedule)
        return;
    rowlock__zone_close(schedule->opened);
    free(schedule);
}

const char *rowlock_schedule_text(const struct rowlock_schedule *schedule)
{
    return schedule->text;
}

int64_t rowlock_schedule_next(const struct rowlock_schedule *schedule, int64_t after_ms)
{
    return rowlock__schedule_next(schedule, after_ms);
}

size_t rowlock_schedule_length(const char *line)
{
    return rowlock__schedule_length(line);
}
