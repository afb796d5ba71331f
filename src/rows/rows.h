/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The functions of a database whose server has none of rowlock's: src/rows/ carries out the
 * statements of dialect.h by single-table statements (dialect/plain.h), and looks like a driver
 * whose server has functions. It sends them by another driver, the inner one.
 *
 * A step that decides locks first, in the order name, heartbeat, lease, job, run, and reads then:
 * no decision depends on a row that was read without a lock. Rows that are never updated, and
 * reads that only advise or display, are the exceptions. Decisions are pure functions (judge.h).
 *
 * On SQLite (plain.h, whole) BEGIN IMMEDIATE is the lock of every name. A statement that has a file
 * in sql/sqlite is sent as it is; the steps of locks, leases, counters and jobs have none.
 */
#ifndef ROWLOCK_ROWS_H
#define ROWLOCK_ROWS_H

#include <stdbool.h>

#include "dialect/plain.h"
#include "driver/driver.h"

/* The driver that carries out a plain dialect's functions. Its open() opens the inner link. */
extern const struct rowlock_driver rowlock__rows_driver;

/*
 * Makes a link of rowlock__rows_driver around an inner one, which close() closes. `url`: to open
 * another one after a wait that the server could not limit; NULL: the caller's own handle. On
 * failure (ENOMEM) the inner link is closed.
 */
int rowlock__rows_over(const struct rowlock_driver *driver, struct rowlock_link *inner,
                       const struct rowlock_dialect *dialect, const char *url,
                       struct rowlock_link **out, struct rowlock_error *error);

#endif
