/* SPDX-License-Identifier: Apache-2.0 */
/* The settings of a job, shared by the options of `job` and the lines of a crontab. */
#include "run/job/job_run.h"

#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command/command.h"
#include "run/supervise/times.h"
#include "util/duration.h"
#include "util/renewal.h"
#include "util/utf8.h"

#define LONGEST_MS (INT64_C(366) * 86400000)
#define MOST_RETRIES 1000000
#define MOST_HISTORY 1000000

struct why {
    char *text;
    size_t size;
};

struct setting;
typedef int taker(const struct setting *setting, struct job_settings *settings, const char *value,
                  struct why why);

struct setting {
    taker *take;
    size_t offset;             /* of the member that it sets */
    int64_t least_ms, most_ms; /* of a duration */
    long least, most;          /* of a number */
};

__attribute__((format(printf, 2, 3))) static int wrong(struct why why, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(why.text, why.size, format, arguments);
    va_end(arguments);
    return -1;
}

/* ---- kinds of values ------------------------------------------------------------------------- */

static int take_duration(const struct setting *setting, struct job_settings *settings,
                         const char *value, struct why why)
{
    int64_t ms;

    if (rowlock__duration(value, 1000, &ms))
        return wrong(why, "'%.80s' is not a duration (90, 90s, 500ms, 5m, 1h30m)", shown(value));
    if (ms < setting->least_ms)
        return wrong(why, "'%.80s' is too short: it is %s at least", value,
                     setting->least_ms < 1000 ? "1ms" : "1s");
    if (ms > setting->most_ms)
        return wrong(why, "'%.80s' is too long: it is %s at most", value,
                     setting->most_ms > LONGEST_MS ? "100 years" : "366d");
    *(int64_t *)((char *)settings + setting->offset) = ms;
    return 0;
}

static int take_number(const struct setting *setting, struct job_settings *settings,
                       const char *value, struct why why)
{
    char *end;
    long number;

    errno = 0;
    number = strtol(value, &end, 10);
    if (errno || end == value || *end || number < setting->least || number > setting->most)
        return wrong(why, "'%.80s' is not a number from %ld to %ld", shown(value), setting->least,
                     setting->most);
    *(int *)((char *)settings + setting->offset) = (int)number;
    return 0;
}

/* 0 means "not set" to the library. */
static int take_retry(const struct setting *setting, struct job_settings *settings,
                      const char *value, struct why why)
{
    int failed = take_number(setting, settings, value, why);

    if (!failed && settings->retry == 0)
        settings->retry = -1;
    return failed;
}

static int take_missed(const struct setting *setting, struct job_settings *settings,
                       const char *value, struct why why)
{
    (void)setting;
    if (strcmp(value, "once") == 0)
        settings->missed = ROWLOCK_MISSED_ONCE;
    else if (strcmp(value, "skip") == 0)
        settings->missed = ROWLOCK_MISSED_SKIP;
    else
        return wrong(why, "'%.80s' must be once or skip", shown(value));
    return 0;
}

/* The database stores UTF-8 text. */
static int take_text(const struct setting *setting, struct job_settings *settings,
                     const char *value, struct why why)
{
    if (rowlock__utf8_length(value, strlen(value)) < 0)
        return wrong(why, "the text is not UTF-8");
    if (!*value)
        return wrong(why, "the value is empty");
    *(const char **)((char *)settings + setting->offset) = value;
    return 0;
}

/* ---- the list -------------------------------------------------------------------------------- */

#define AT(member) offsetof(struct job_settings, member)

#define SETTINGS(XX)                                                                           \
    XX("tz", {take_text, AT(zone), 0, 0, 0, 0})                                                \
    XX("at-least", {take_duration, AT(at_least_ms), 0, LONGEST_MS, 0, 0})                      \
    XX("max-run", {take_duration, AT(max_run_ms), 1, LONGEST_MS, 0, 0})                        \
    XX("retry", {take_retry, AT(retry), 0, 0, 0, MOST_RETRIES})                                \
    XX("backoff", {take_duration, AT(backoff_ms), 1, LONGEST_MS, 0, 0})                        \
    XX("missed", {take_missed, 0, 0, 0, 0, 0})                                                 \
    XX("history", {take_number, AT(history), 0, 0, 1, MOST_HISTORY})                           \
    XX("ttl", {take_duration, AT(ttl_ms), ROWLOCK_TTL_LEAST_MS, ROWLOCK_UNTIL_RELEASED, 0, 0}) \
    XX("kill-after", {take_duration, AT(kill_after_ms), 0, LONGEST_MS, 0, 0})                  \
    XX("note", {take_text, AT(note), 0, 0, 0, 0})                                              \
    XX("on-failure", {take_text, AT(on_failure), 0, 0, 0, 0})

#define XX(name, ...) name,
const char *const job_setting_names[] = {SETTINGS(XX) NULL};
#undef XX
#define XX(name, ...) __VA_ARGS__,
static const struct setting list[] = {SETTINGS(XX)};
#undef XX

struct job_settings job_settings_default(void)
{
    return (struct job_settings){.max_run_ms = -1, .kill_after_ms = -1};
}

int job_setting_take(struct job_settings *settings, const char *name, const char *value, char *why,
                     size_t size)
{
    for (size_t i = 0; job_setting_names[i]; i++)
        if (strcmp(job_setting_names[i], name) == 0)
            return list[i].take(&list[i], settings, value, (struct why){why, size});
    return 1;
}

/* Limits kill_after_ms, so that the command can be ended before its lease ends, and the lease
   renewed before that. */
int job_settings_settle(struct job_settings *settings, char *why, size_t size)
{
    if (settings->on_failure && settings->history == 1)
        return wrong((struct why){why, size},
                     "--on-failure compares a run with the one before: --history must be 2 at "
                     "least");
    if (!settings->ttl_ms)
        settings->ttl_ms = ROWLOCK_TTL_MS;
    settings->kill_after_ms = kill_after_of(settings->kill_after_ms, settings->ttl_ms);
    return 0;
}

struct rowlock_job job_of(const struct job_settings *settings, const char *name,
                          const struct rowlock_schedule *schedule, const char *command)
{
    return (struct rowlock_job){.name = name,
                                .schedule = schedule,
                                .ttl_ms = settings->ttl_ms,
                                .at_least_ms = settings->at_least_ms,
                                .backoff_ms = settings->backoff_ms,
                                .retry = settings->retry,
                                .missed = settings->missed,
                                .history = settings->history,
                                .note = settings->note,
                                .command = command};
}
