/* SPDX-License-Identifier: Apache-2.0 */
/* Parses and normalises schedules: "every 5m", or a crontab line. */
#include "schedule/schedule.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/duration.h"
#include "util/error.h"

#define BLANKS " \t"

static const struct {
    const char *name;
    int64_t ms;
} units[] = {{"w", 604800000}, {"d", 86400000}, {"h", 3600000},
             {"m", 60000},     {"s", 1000},     {"ms", 1}};

/* Positions of mistakes count from `text`. */
static struct rowlock_error *error_at(struct rowlock_error *error, size_t *column, const char *text,
                                      const char *at)
{
    if (column)
        *column = (size_t)(at - text) + 1;
    return error;
}

static int begins_with_every(const char *at)
{
    return strncmp(at, "every", 5) == 0 && (at[5] == '\0' || strchr(BLANKS, at[5]));
}

int rowlock__schedule_every(int64_t period_ms, struct rowlock_schedule *out,
                            struct rowlock_error *error)
{
    size_t length = sizeof "every " - 1;

    if (period_ms < 1)
        return rowlock__fail(error, ROWLOCK_EINVAL,
                             "every: the period must be positive, as in every 5m");
    *out = (struct rowlock_schedule){.period_ms = period_ms, .text = "every "};
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        int64_t n = period_ms / units[i].ms;

        period_ms %= units[i].ms;
        if (n > 0)
            length += (size_t)snprintf(out->text + length, sizeof out->text - length, "%lld%s",
                                       (long long)n, units[i].name);
    }
    return ROWLOCK_OK;
}

static int read_every(const char *text, const char *at, struct rowlock_schedule *out,
                      size_t *column, struct rowlock_error *error)
{
    char duration[64] = "";
    const char *start = at + 5 + strspn(at + 5, BLANKS);
    size_t length = strcspn(start, BLANKS);
    const char *more = start + length + strspn(start + length, BLANKS);
    int64_t ms;

    if (length < sizeof duration)
        memcpy(duration, start, length);
    if (rowlock__duration(duration, 1000, &ms) != 0 || ms == 0)
        return rowlock__fail(error_at(error, column, text, start), ROWLOCK_EINVAL,
                             "every: \"%.*s\" is not a period: write it as in 90s, 5m, 1h30m, 1d",
                             (int)(length < 40 ? length : 40), start);
    if (*more)
        return rowlock__fail(error_at(error, column, text, more), ROWLOCK_EINVAL,
                             "every: unexpected \"%.40s\": write a period without blanks, as in "
                             "1h30m",
                             more);
    return rowlock__schedule_every(ms, out, error);
}

int rowlock__schedule_read(const char *text, const char *name, const struct rowlock_zone *zone,
                           struct rowlock_schedule *out, size_t *column,
                           struct rowlock_error *error)
{
    const char *at = text + strspn(text, BLANKS);
    struct rowlock_cron line;
    int code;

    if (begins_with_every(at))
        return read_every(text, at, out, column, error);
    code = rowlock__cron_read(text, name, &line, column, error);
    if (code)
        return code;
    if (strlen(text) > ROWLOCK_CRON_TEXT_MAX)
        return rowlock__fail(error_at(error, column, text, text + ROWLOCK_CRON_TEXT_MAX),
                             ROWLOCK_EINVAL, "the schedule is too long: %d bytes are allowed",
                             ROWLOCK_CRON_TEXT_MAX);
    *out = (struct rowlock_schedule){.line = line, .zone = zone};
    snprintf(out->text, sizeof out->text, "cron %s %s", line.text, rowlock__zone_name(zone));
    return ROWLOCK_OK;
}

/* Two words after "every", one word that begins with '@', else five words, or as many as there
   are. */
size_t rowlock_schedule_length(const char *line)
{
    const char *at = line + strspn(line, BLANKS);
    int words = begins_with_every(at) ? 2 : *at == '@' ? 1 : ROWLOCK_CRON_FIELDS;
    const char *end = at;

    for (int i = 0; i < words && *at; i++) {
        end = at + strcspn(at, BLANKS);
        at = end + strspn(end, BLANKS);
    }
    return (size_t)(end - line);
}

/* The public schedule object: on the heap, together with its zone. */

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
    code = schedule ? rowlock__schedule_read(text, job, opened, schedule, column, error)
                    : rowlock__no_memory(error);
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
