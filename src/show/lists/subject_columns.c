/* SPDX-License-Identifier: Apache-2.0 */
#include "show/lists/subject_columns.h"

#include <inttypes.h>

#include "command/output/json.h"

const char *const subject_statuses[] = {[ROWLOCK_SUBJECT_NONE] = "NONE",
                                        [ROWLOCK_SUBJECT_PROCESSING] = "PROCESSING",
                                        [ROWLOCK_SUBJECT_COMPLETE] = "COMPLETE",
                                        [ROWLOCK_SUBJECT_ERROR] = "ERROR"};

int is_expired(const struct rowlock_subject_view *subject)
{
    return subject->status == ROWLOCK_SUBJECT_COMPLETE && subject->age_ms < 0;
}

static void put_text(FILE *out, const char *key, const char *text)
{
    fprintf(out, ",\"%s\":", key);
    json_text(out, text);
}

static void put_instant(FILE *out, const char *key, int64_t ms)
{
    fprintf(out, ",\"%s\":", key);
    json_instant(out, ms);
}

/* -1 is null, and 0 a number. */
static void put_count(FILE *out, const char *key, int64_t number)
{
    if (number < 0)
        fprintf(out, ",\"%s\":null", key);
    else
        fprintf(out, ",\"%s\":%" PRId64, key, number);
}

void put_subject(FILE *out, const struct rowlock_subject_view *subject)
{
    fputs("{\"subject\":", out);
    json_text(out, subject->name);
    put_text(out, "description", subject->description);
    put_text(out, "status", subject_statuses[subject->status]);
    put_instant(out, "began", subject->began_ms);
    put_instant(out, "ended", subject->ended_ms);
    put_instant(out, "updated", subject->updated_ms);
    put_count(out, "age_ms", subject->age_ms);
    put_text(out, "by", subject->by);
    put_text(out, "host", subject->host);
    put_count(out, "pid", subject->pid ? subject->pid : -1);
    put_text(out, "error", subject->error);
    put_count(out, "exit", subject->exit);
    putc('}', out);
}
