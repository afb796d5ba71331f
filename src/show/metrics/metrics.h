/* SPDX-License-Identifier: Apache-2.0 */
/* The state of a farm in the text format of Prometheus. */
#ifndef ROWLOCK_METRICS_H
#define ROWLOCK_METRICS_H

#include <stdio.h>

#include "rowlock.h"

/* The three lists that the samples come from, each called once as the function of rowlock.h. */
struct metrics_source {
    int (*list)(void *data, rowlock_visit visit, void *visitor, struct rowlock_error *error);
    int (*jobs)(void *data, rowlock_visit_job visit, void *visitor, struct rowlock_error *error);
    int (*subjects)(void *data, rowlock_visit_subject visit, void *visitor,
                    struct rowlock_error *error);
    void *data;
    int64_t took_ms; /* how long the database took; < 0: to be measured */
};

/*
 * Asks for locks, jobs and subjects, and writes a sample for each. Names of locks are written only
 * if they match the pattern `names`; NULL: none, locks are only counted. When the database cannot
 * be asked, writes rowlock_up 0, and returns an exit status after a message. `connection` NULL:
 * the database was not reached.
 */
int metrics_write(FILE *out, struct rowlock_connection *connection, const char *names);
/* The same from another source. */
int metrics_write_from(FILE *out, const struct metrics_source *source, const char *names);

#endif
