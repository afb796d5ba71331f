/* SPDX-License-Identifier: Apache-2.0 */
/* Servers that one test needs for itself: a standby, a read-only one, a pooler, one to be killed. */
#ifndef TEST_EXTRA_H
#define TEST_EXTRA_H

#include "rowlock.h"

/*
 * Runs lines of bash with tests/lib/server.sh at hand, and returns their last line of output, in a
 * buffer of the callee's. Fails the test, showing all output, if they fail. What they start is
 * stopped by extra_stop, or by tests/run at the latest.
 */
const char *extra_shell(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* A name for a server that no other test program has, in a buffer of the callee's. */
const char *extra_name(const char *what);
void extra_stop(const char *name);

/* pgbouncer in transaction mode before the database under test: its URL, in a buffer of the callee's.
   It has fewer backends than clients, so that each transaction gets whichever is free. */
const char *extra_pooler(const char *name);
void extra_pooler_stop(const char *name);
/* The same, one for the whole program, started on first use; and a connection through it, which the
   house closes. */
const char *extra_pooled_url(void);
struct rowlock_connection *extra_pooled(const struct rowlock_options *options);

#endif
