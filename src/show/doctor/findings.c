/* SPDX-License-Identifier: Apache-2.0 */
/* The findings of the checks of doctor. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "show/doctor/doctor.h"

int is_wanted(const struct doctor *doctor, const char *check)
{
    return !doctor->only || strcmp(doctor->only, check) == 0;
}

void is_needed(struct doctor *doctor, const char *check)
{
    if (doctor->only)
        doctor->only = check;
}

const struct found *found_by(const struct doctor *doctor, const char *check)
{
    for (size_t i = 0; i < doctor->n; i++)
        if (strcmp(doctor->found[i].check, check) == 0)
            return doctor->found[i].finding ? &doctor->found[i] : NULL;
    return NULL;
}

static void join(char **all, const char *between, const char *text)
{
    char *joined = NULL;

    if (*text && asprintf(&joined, "%s%s%s", *all ? *all : "", *all ? between : "", text) >= 0) {
        free(*all);
        *all = joined;
    }
}

void finding(struct doctor *doctor, const char *check, enum rowlock_finding_status status,
             const char *advice, const char *format, ...)
{
    struct found *found = doctor->found, *end = doctor->found + doctor->n;
    va_list arguments;
    char *text = NULL;
    size_t length;

    while (found < end && strcmp(found->check, check) != 0)
        found++;
    if (!is_wanted(doctor, check) || found == doctor->found + DOCTOR_MOST)
        return;
    if (found == end) {
        snprintf(found->check, sizeof found->check, "%s", check);
        doctor->n++;
    }
    va_start(arguments, format);
    if (vasprintf(&text, format, arguments) < 0)
        text = NULL;
    va_end(arguments);
    if (!text || (status == ROWLOCK_SOUND && found->status != ROWLOCK_SOUND)) {
        free(text);
        return;
    }
    if (status != ROWLOCK_SOUND && found->status == ROWLOCK_SOUND) {
        free(found->finding);
        found->finding = NULL;
    }
    if (status > found->status)
        found->status = status;
    join(&found->finding, "; ", text);
    free(text);
    /* SQL to paste has its own semicolons. */
    length = found->advice ? strlen(found->advice) : 0;
    join(&found->advice, length > 0 && found->advice[length - 1] == ';' ? " " : "; ", advice);
}

void free_findings(struct doctor *doctor)
{
    for (size_t i = 0; i < doctor->n; i++) {
        free(doctor->found[i].finding);
        free(doctor->found[i].advice);
    }
}
