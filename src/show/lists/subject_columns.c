/* SPDX-License-Identifier: Apache-2.0 */
/* The subjects of refresh, for the verb subjects. */
#include <string.h>

#include "command/output/words.h"
#include "show/lists/lists.h"

static const char *const statuses[] = {[ROWLOCK_SUBJECT_NONE] = "NONE",
                                       [ROWLOCK_SUBJECT_PROCESSING] = "PROCESSING",
                                       [ROWLOCK_SUBJECT_COMPLETE] = "COMPLETE",
                                       [ROWLOCK_SUBJECT_ERROR] = "ERROR"};

static void subject_fields(struct fields *to, const void *row)
{
    const struct rowlock_subject_view *subject = row;
    /* it was marked as stale after its last refresh was complete (rowlock expire) */
    int is_expired = subject->status == ROWLOCK_SUBJECT_COMPLETE && subject->age_ms < 0;

    field_text(to, "SUBJECT", "subject", subject->name);
    field_text(to, "STATUS", "status", statuses[subject->status]);
    field_cell(to, "AGE",
               subject->age_ms >= 0 ? cell_duration(subject->age_ms)
                                    : strdup(is_expired ? "expired" : "-"));
    field_count(to, NULL, "age_ms", subject->age_ms >= 0, subject->age_ms);
    field_instant(to, "ENDED", "ended", subject->ended_ms);
    field_instant(to, NULL, "began", subject->began_ms);
    field_instant(to, NULL, "updated", subject->updated_ms);
    field_cell(to, "BY", who_cell(subject->host, subject->pid, subject->by));
    field_text(to, NULL, "by", subject->by);
    field_text(to, NULL, "host", subject->host);
    field_count(to, NULL, "pid", subject->pid > 0, subject->pid);
    field_cell(to, "ABOUT", cell_text(*subject->error ? subject->error : subject->description));
    field_text(to, NULL, "description", subject->description);
    field_text(to, NULL, "error", subject->error);
    field_count(to, NULL, "exit", subject->exit >= 0, subject->exit);
}

static const char *colour_of(const char *status)
{
    return strcmp(status, "ERROR") == 0        ? "\033[31m"
           : strcmp(status, "PROCESSING") == 0 ? "\033[33m"
                                               : "";
}

const struct list subject_list = {
    .fields = subject_fields, .coloured = "STATUS", .colour = colour_of};
