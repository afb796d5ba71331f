/* SPDX-License-Identifier: Apache-2.0 */
/* The database that this program uses, for messages, for other programs that it executes, and its
   password. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "command/url_lookup.h"
#include "system/command/calls.h"

static char asked_for[512], place[400];

const char *database_asked_for(void)
{
    return asked_for;
}

const char *database_place(void)
{
    return place;
}

/* The user of scheme://user@host or scheme://user:password@host; 0: none, or another part might be
   a piece of the password. */
static int user_length(const struct url *url, const char *user)
{
    size_t n = strspn(user, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-");
    const char *at = strchr(user, '@');

    if (!url_dialect(url) || url_is_file(url) || !at || at > user + strcspn(user, "/?") ||
        (user[n] != '@' && user[n] != ':'))
        return 0;
    return (int)n;
}

void note_database(const struct url *url)
{
    const char *source = url->by_default ? "default" : url->source ? url->source : "";
    const char *user = strstr(url->text, "://"), *host;
    int length = user ? user_length(url, user + 3) : 0;

    url_place(url, place, sizeof place);
    host = strstr(place, "://");
    if (length == 0 || !host || strcmp(host, "://...") == 0)
        host = place, length = 0;
    else
        host += 3;
    snprintf(asked_for, sizeof asked_for, "%.100s%s%.*s%.*s%s%s", source,
             *source && *place ? ", " : "", (int)(host - place), place, length,
             length ? user + 3 : "", length ? "@" : "", host);
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
    if (!longer)
        return out_of_memory();
    memcpy(longer + length, option, sizeof option);
    url->text = longer;
    return STATUS_OK;
}

int url_make_absolute(struct url *url)
{
    const char *path = url->text + strlen("sqlite:");
    char *folder, *text = NULL;

    if (strncmp(url->text, "sqlite:", strlen("sqlite:")) != 0 || strchr("/:", *path) ||
        strncmp(path, "file:", strlen("file:")) == 0)
        return STATUS_OK;
    folder = getcwd(NULL, 0);
    if (!folder || asprintf(&text, "sqlite:%s/%s", folder, path) < 0) {
        message("cannot determine the working directory");
        free(folder);
        return STATUS_FAILED;
    }
    free(folder);
    free(url->text);
    url->text = text;
    return STATUS_OK;
}

void keep_url_secret(const struct url *url)
{
    if (!url_is_file(url))
        hide_memory();
}
