/* SPDX-License-Identifier: Apache-2.0 */
/* The state of a farm in the text format of Prometheus. */
#ifndef ROWLOCK_METRICS_H
#define ROWLOCK_METRICS_H

#include <stdio.h>

#include "rowlock.h"

/*
 * Asks for locks, jobs and subjects, and writes a sample for each. Names of locks are written only
 * if they match the pattern `names`; NULL: none, locks are only counted. When the database cannot
 * be asked, writes rowlock_up 0, and returns an exit status after a message. `connection` NULL:
 * the database was not reached.
 */
int metrics_write(FILE *out, struct rowlock_connection *connection, const char *names);

#endif
