/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the cron daemon's file of jobs, and prints its schedule for --check. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "command/output/list.h"
#include "run/cron/daemon.h"
#include "util/calendar.h"

#define FILE_MOST (1 << 20)

/* ---- reading --------------------------------------------------------------------------------- */

static int check_file(int fd, const char *path)
{
    struct stat is;

    if (fstat(fd, &is) || S_ISDIR(is.st_mode)) {
        message("'%s' is not a regular file", path);
        return -1;
    }
    if (is.st_uid != 0 && is.st_uid != geteuid()) {
        message("'%s' belongs to another user, so that user could run commands as you; its owner "
                "must be root or you",
                path);
        return -1;
    }
    if (is.st_mode & (S_IWGRP | S_IWOTH)) {
        message("'%s' can be changed by other users, so they could run commands as you; run: chmod "
                "go-w '%s'",
                path, path);
        return -1;
    }
    return 0;
}

/* The bytes of the file and their number, or NULL after a message. */
static char *read_bytes(int fd, const char *path, size_t *length)
{
    char *text = malloc(FILE_MOST + 1);
    ssize_t got = 1;

    for (*length = 0; text && got > 0 && *length <= FILE_MOST; *length += (size_t)got) {
        got = read(fd, text + *length, FILE_MOST + 1 - *length);
        if (got < 0) {
            message("cannot read '%s': %s", path, strerror(errno));
            free(text);
            return NULL;
        }
    }
    if (text && *length <= FILE_MOST)
        return text;
    message(text ? "'%s' has more than %d bytes" : "out of memory for '%s' (%d bytes)", path,
            FILE_MOST);
    free(text);
    return NULL;
}

struct reading {
    const char *path;
    int status;
};

static void say_mistake(const struct crontab_mistake *mistake, void *data)
{
    struct reading *reading = data;

    if (mistake->line)
        message("%s:%zu:%zu: %s", reading->path, mistake->line, mistake->column, mistake->text);
    else
        message("%s", mistake->text);
    if (mistake->is_warning)
        return;
    reading->status = mistake->line ? STATUS_USAGE : STATUS_FAILED;
}

int cron_file_read(const char *path, struct crontab *out)
{
    struct reading reading = {.path = path};
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    char *text = NULL;
    size_t length;

    if (fd < 0) {
        message("cannot read '%s': %s", path, strerror(errno));
        return STATUS_USAGE;
    }
    if (check_file(fd, path) == 0)
        text = read_bytes(fd, path, &length);
    close(fd);
    if (!text)
        return STATUS_USAGE;
    crontab_read(text, length, out, say_mistake, &reading);
    free(text);
    return reading.status;
}

/* ---- printing -------------------------------------------------------------------------------- */

static void entry_fields(struct fields *to, const void *row)
{
    const struct crontab_entry *entry = row;

    field_text(to, "NAME", "name", entry->name);
    field_instant(to, "NEXT", "next_run",
                  rowlock_schedule_next(entry->schedule, rowlock__wall_ms()));
    field_text(to, "SCHEDULE", "schedule", rowlock_schedule_text(entry->schedule));
}

int cron_file_print(const struct crontab *crontab, int json)
{
    static const struct list list = {.fields = entry_fields};
    struct listing listing = {.json = json, .table.list = &list};
    int status = listing_open(&listing);

    for (size_t i = 0; !status && i < crontab->n; i++)
        listing_add(&listing, &crontab->entries[i]);
    if (!status)
        status = listing_print(&listing);
    if (!status && !json && listing_is_empty(&listing))
        puts("0 jobs");
    listing_free(&listing);
    return status;
}
