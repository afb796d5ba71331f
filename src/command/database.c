/* SPDX-License-Identifier: Apache-2.0 */
/* The database that this program uses, for messages, for other programs that it executes, and its
   password. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command/url_lookup.h"
#include "system/command/process.h"

static char asked_for[512], place[400];

const char *database_asked_for(void)
{
    return asked_for;
}

const char *database_place(void)
{
    return place;
}

void note_database(const struct url *url)
{
    const char *source = url->by_default ? "default" : url->source ? url->source : "";

    url_place(url, place, sizeof place);
    snprintf(asked_for, sizeof asked_for, "%.100s%s%s", source, *source && *place ? ", " : "",
             place);
}

static char *opened;

const char *database_url(void)
{
    return opened ? opened : "";
}

void note_opened_database(const struct url *url)
{
    free(opened);
    opened = strdup(url->text);
}

int url_must_exist(struct url *url)
{
    static const char option[] = "?mode=rw";
    size_t length = strlen(url->text);
    char *longer;

    if (url->is_local || !url_is_file(url) || strchr(url->text, '?'))
        return STATUS_OK;
    longer = realloc(url->text, length + sizeof option);
    if (!longer) {
        message("out of memory");
        return STATUS_FAILED;
    }
    memcpy(longer + length, option, sizeof option);
    url->text = longer;
    return STATUS_OK;
}

/* A core, or another process of this user, could show the URL's password. */
void keep_url_secret(const struct url *url)
{
    if (!url_is_file(url))
        hide_memory();
}
