/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For databases whose server has no functions of rowlock's: this folder carries out the statements
 * of dialect.h by single-table statements (dialect/plain.h), which it sends by another driver, the
 * inner one. To its callers it looks like a driver whose server has the functions.
 *
 * A step that decides takes its locks first, in the order name, heartbeat, lease, job, run, and
 * then reads: no decision depends on a row that was read without a lock. The exceptions are rows
 * that are never updated, and reads that only advise or display. Decisions are pure functions
 * (judge.h).
 *
 * On SQLite (plain.h, whole) BEGIN IMMEDIATE is the lock of every name. A statement that has a file
 * in sql/sqlite is sent unchanged; most steps of locks, leases, counters, jobs and refreshes have
 * none.
 */
#ifndef ROWLOCK_EMULATE_H
#define ROWLOCK_EMULATE_H

#include <stdbool.h>

#include "dialect/plain.h"
#include "driver/driver.h"

/* The driver that carries out a plain dialect's functions. Its open() opens the inner link, too. A
   connection puts it over each link whose dialect has `plain` (session/connection.c). */
extern const struct rowlock_driver rowlock__emulate_driver;

/*
 * Makes a link of rowlock__emulate_driver around an inner one, which close() closes. By `url` it
 * opens another inner link after a wait that the server could not limit; NULL: the caller's own
 * handle. On failure (ENOMEM) the inner link is closed.
 */
int rowlock__emulate_over(const struct rowlock_driver *driver, struct rowlock_link *inner,
                          const struct rowlock_dialect *dialect, const char *url,
                          struct rowlock_link **out, struct rowlock_error *error);

#endif
