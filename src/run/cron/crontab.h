/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The file of `cron`: parses a text into jobs, or reports its mistakes. Reads no file except
 * those of time zones. A line is empty, a comment that begins with '#', CRON_TZ=ZONE (for the lines
 * below it), or
 *
 *     SCHEDULE NAME [--option value]... -- command line for /bin/sh
 *
 * Words before `--` may be quoted, 'so' or "so". The command is the rest of the line, unchanged.
 */
#ifndef ROWLOCK_CRONTAB_H
#define ROWLOCK_CRONTAB_H

#include <stddef.h>

#include "run/job/job_run.h"

/* A job. Its texts belong to the crontab. */
struct crontab_entry {
    size_t line; /* from 1 */
    const char *name;
    const char *command; /* for /bin/sh */
    struct rowlock_schedule *schedule;
    struct job_settings settings;
};

struct crontab {
    struct crontab_entry *entries; /* in the order of the file; each name once */
    size_t n, room;
    char *text; /* the entries' words */
};

/* A mistake, for a message "FILE:LINE:COLUMN: TEXT". */
struct crontab_mistake {
    size_t line, column; /* from 1; column: of bytes; line 0: no memory */
    int is_warning;      /* the line is taken nevertheless */
    char text[512];
};

/* Parses a text. 0: the caller frees `out` by crontab_free(). -1: `visit` was called for the first
   mistake of each line that has one, in order; the mistake is valid during that call. A warning is
   reported in the same way. */
typedef void (*crontab_visit)(const struct crontab_mistake *mistake, void *data);
int crontab_read(const char *text, size_t length, struct crontab *out, crontab_visit visit,
                 void *data);
void crontab_free(struct crontab *crontab);

#endif
