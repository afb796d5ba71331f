/* SPDX-License-Identifier: Apache-2.0 */
#include "show/lists/subject_columns.h"

#include "command/output/json.h"

const char *const subject_statuses[] = {[ROWLOCK_SUBJECT_NONE] = "NONE",
                                        [ROWLOCK_SUBJECT_PROCESSING] = "PROCESSING",
                                        [ROWLOCK_SUBJECT_COMPLETE] = "COMPLETE",
                                        [ROWLOCK_SUBJECT_ERROR] = "ERROR"};

int is_expired(const struct rowlock_subject_view *subject)
{
    return subject->status == ROWLOCK_SUBJECT_COMPLETE && subject->age_ms < 0;
}

void put_subject(FILE *out, const struct rowlock_subject_view *subject)
{
    struct json json = {out, "{", ""};

    json_put_text(&json, "subject", subject->name);
    json_put_text(&json, "description", subject->description);
    json_put_text(&json, "status", subject_statuses[subject->status]);
    json_put_instant(&json, "began", subject->began_ms);
    json_put_instant(&json, "ended", subject->ended_ms);
    json_put_instant(&json, "updated", subject->updated_ms);
    json_put_count(&json, "age_ms", subject->age_ms >= 0, subject->age_ms);
    json_put_text(&json, "by", subject->by);
    json_put_text(&json, "host", subject->host);
    json_put_count(&json, "pid", subject->pid > 0, subject->pid);
    json_put_text(&json, "error", subject->error);
    json_put_count(&json, "exit", subject->exit >= 0, subject->exit);
    putc('}', out);
}
