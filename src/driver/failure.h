/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Translates a database's own errors: one table from SQLSTATE and native number to rowlock's codes.
 * Drivers report the engine's error; only this table interprets it.
 */
#ifndef ROWLOCK_FAILURE_H
#define ROWLOCK_FAILURE_H

#include "rowlock.h"

/*
 * Fills `error` (may be NULL) with the code for the engine's error, the engine's message and the
 * matching advice, and returns the code. `engine` is the driver's name. `sqlstate` may be NULL or
 * "", `native` 0. Does not change error->transaction.
 */
int rowlock__failure(struct rowlock_error *error, const char *engine, const char *sqlstate,
                     int native, const char *message);

/* Replaces the table's advice at the end of the text of `error` by `advice`. NULL: does nothing. */
void rowlock__advise(struct rowlock_error *error, const char *advice);

#endif
