/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a database's own error means here: the one table from SQLSTATE and native number to code.
 * Drivers report what the engine said; only this table judges it.
 */
#ifndef ROWLOCK_FAILURE_H
#define ROWLOCK_FAILURE_H

#include "rowlock.h"

/*
 * Fills `error` (may be NULL) with the code found for the engine's answer, the answer itself and
 * the advice that belongs to it, and returns the code. `engine` is the driver's name. `sqlstate`
 * may be NULL or "", `native` 0. Leaves error->transaction alone.
 */
int rowlock__failure(struct rowlock_error *error, const char *engine, const char *sqlstate,
                     int native, const char *message);

/* Puts `advice` in the place of the table's, with which the text of `error` may end. NULL: does nothing. */
void rowlock__advise(struct rowlock_error *error, const char *advice);

#endif
