/* SPDX-License-Identifier: Apache-2.0 */
/* The database that this program uses, for messages, for other programs that it executes, and its
   password. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "command/url_lookup.h"
#include "system/command/calls.h"
#include "util/bytes.h"
#include "util/url.h"

static char asked_for[512], place[400];

/* Several threads open sessions, and any of them may read the URL again. */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct url database; /* of note_database() */
static int was_opened;

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
    struct url copy = {.text = strdup(url->text),
                       .source = url->source ? strdup(url->source) : NULL};
    const char *source = url->by_default ? "default" : url->source ? url->source : "";
    const char *user = strstr(url->text, "://"), *host;
    int length = user ? user_length(url, user + 3) : 0;

    pthread_mutex_lock(&mutex);
    url_free(&database);
    database = copy;
    was_opened = 0;
    pthread_mutex_unlock(&mutex);
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

/* ---- opening it ------------------------------------------------------------------------------ */

/* A rowlock_reread_url. The library judges the URL by the same rule, and reports one that names
   another database. */
static int read_again(void *data, char **out, struct rowlock_error *why)
{
    char *text = NULL, *copy;
    int failed;

    (void)data;
    pthread_mutex_lock(&mutex);
    failed = url_read_again(&database, &text, why->text, sizeof why->text);
    if (failed && !was_opened)
        why->text[0] = '\0'; /* the URL was wrong from the beginning */
    if (!failed && rowlock__same_database(database.text, text) && (copy = strdup(text))) {
        rowlock__wipe(database.text, strlen(database.text));
        free(database.text);
        database.text = copy;
    }
    pthread_mutex_unlock(&mutex);
    *out = text;
    return failed;
}

int open_database(const struct rowlock_options *options, struct rowlock_connection **out,
                  struct rowlock_error *error)
{
    struct rowlock_options own = *options;
    char *text;
    int code;

    pthread_mutex_lock(&mutex);
    text = database.text ? strdup(database.text) : NULL;
    pthread_mutex_unlock(&mutex);
    own.reread_url = read_again;
    code = rowlock_open(text, &own, out, error);
    if (text)
        rowlock__wipe(text, strlen(text));
    free(text);
    if (!code) {
        pthread_mutex_lock(&mutex);
        was_opened = 1;
        pthread_mutex_unlock(&mutex);
    }
    return code;
}

int send_database(void)
{
    int fd;

    pthread_mutex_lock(&mutex);
    fd = database.text ? url_send(&database) : -1;
    pthread_mutex_unlock(&mutex);
    return fd;
}

/* ---- the URL --------------------------------------------------------------------------------- */

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
