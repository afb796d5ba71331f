/* SPDX-License-Identifier: Apache-2.0 */
/* The state of the cron daemon, as the service manager shows it. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command/output/table.h"
#include "run/cron/daemon.h"
#include "util/clock.h"

#define NAMES_MOST 512 /* then only "...", because a name that is cut may not be UTF-8 */

struct text {
    size_t n;
    char at[CRON_STATUS_SIZE];
};

__attribute__((format(printf, 2, 3))) static void add(struct text *text, const char *format, ...)
{
    size_t room = sizeof text->at - text->n;
    va_list arguments;
    int length;

    va_start(arguments, format);
    length = vsnprintf(text->at + text->n, room, format, arguments);
    va_end(arguments);
    if (length > 0)
        text->n += (size_t)length < room ? (size_t)length : room - 1;
}

/* Adds a name with its control characters escaped: a newline would begin another variable. */
static void add_name(struct text *text, const char *name)
{
    char *cell = cell_text(name);

    add(text, "%s", cell ? cell : "?");
    free(cell);
}

static void add_running(struct text *text, const struct cron *cron)
{
    if (cron->n_runs == 0)
        add(text, "nothing running");
    else
        add(text, "%zu running: ", cron->n_runs);
    for (size_t i = 0; i < cron->n_runs; i++) {
        if (i > 0)
            add(text, ", ");
        if (text->n > NAMES_MOST) {
            add(text, "...");
            return;
        }
        add_name(text, cron->runs[i].name);
    }
}

static void add_next(struct text *text, const struct cron *cron)
{
    const struct cron_job *next = NULL;
    char *when;

    for (size_t i = 0; i < cron->crontab.n; i++)
        if (cron->jobs[i].next_ms && (!next || cron->jobs[i].next_ms < next->next_ms))
            next = &cron->jobs[i];
    if (!next)
        return;
    when = cell_instant(next->next_ms);
    add(text, "; next: %s ", when ? when : "?");
    add_name(text, next->entry->name);
    free(when);
}

void cron_tell(struct cron *cron, const char *state)
{
    struct text status = {0}, lines = {0};

    add(&status, "STATUS=");
    if (cron->stopping)
        add(&status, "stopping; ");
    else if (cron->away)
        add(&status, "%s; ", outage_text(cron->why.code));
    add_running(&status, cron);
    if (!cron->stopping)
        add_next(&status, cron);
    if (!state && strcmp(status.at, cron->last_status) == 0)
        return;
    memcpy(cron->last_status, status.at, sizeof status.at);
    add(&lines, "%s%s%s", state ? state : "", state ? "\n" : "", status.at);
    notify_send(&cron->notify, lines.at);
}

void cron_alive(struct cron *cron)
{
    int64_t now_ms = rowlock__now_ms();

    if (!cron->notify.alive_every_ms || now_ms < cron->alive_ms)
        return;
    notify_send(&cron->notify, "WATCHDOG=1");
    cron->alive_ms = rowlock__after(now_ms, cron->notify.alive_every_ms);
}

void cron_show(struct cron *cron)
{
    /* Whether the database has answered the first query for every job. An error of one job alone
       counts as an answer, and sets the time of its next query. */
    int answered = !cron->away && !cron->status;
    int becomes_ready;

    for (size_t i = 0; i < cron->crontab.n; i++)
        answered = answered && cron->jobs[i].ask_ms != 0;
    becomes_ready = !cron->is_ready && !cron->stopping && answered;
    cron->is_ready |= becomes_ready;
    cron_tell(cron, becomes_ready ? "READY=1" : NULL);
    cron_alive(cron);
}
