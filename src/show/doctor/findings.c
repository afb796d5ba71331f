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

static struct found *entry(struct doctor *doctor, const char *check)
{
    struct found *found;

    for (size_t i = 0; i < doctor->n; i++)
        if (strcmp(doctor->found[i].check, check) == 0)
            return &doctor->found[i];
    if (doctor->n == DOCTOR_MOST)
        return NULL;
    found = &doctor->found[doctor->n++];
    snprintf(found->check, sizeof found->check, "%s", check);
    return found;
}

static void join(char **all, const char *between, const char *text)
{
    char *joined = NULL;

    if (*text && asprintf(&joined, "%s%s%s", *all ? *all : "", *all ? between : "", text) >= 0) {
        free(*all);
        *all = joined;
    }
}

/* SQL to paste has its own semicolons. */
static int ends_statement(const char *text)
{
    return text && *text && text[strlen(text) - 1] == ';';
}

static void add(struct found *found, enum rowlock_finding_status status, const char *text,
                const char *advice)
{
    if (status == ROWLOCK_SOUND && found->status != ROWLOCK_SOUND)
        return;
    if (status != ROWLOCK_SOUND && found->status == ROWLOCK_SOUND) {
        free(found->finding);
        found->finding = NULL;
    }
    if (status > found->status)
        found->status = status;
    join(&found->finding, "; ", text);
    join(&found->advice, ends_statement(found->advice) ? " " : "; ", advice);
}

void finding(struct doctor *doctor, const char *check, enum rowlock_finding_status status,
             const char *advice, const char *format, ...)
{
    struct found *found = is_wanted(doctor, check) ? entry(doctor, check) : NULL;
    va_list arguments;
    char *text = NULL;

    va_start(arguments, format);
    if (vasprintf(&text, format, arguments) < 0)
        text = NULL;
    va_end(arguments);
    if (text && found)
        add(found, status, text, advice);
    free(text);
}

void free_findings(struct doctor *doctor)
{
    for (size_t i = 0; i < doctor->n; i++) {
        free(doctor->found[i].finding);
        free(doctor->found[i].advice);
    }
}
