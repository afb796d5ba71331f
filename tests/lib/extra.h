/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Servers that one test needs for itself: a standby, a read-only server, a pooler, a server to
 * kill.
 */
#ifndef TEST_EXTRA_H
#define TEST_EXTRA_H

#include "rowlock.h"

/*
 * Runs lines of bash that can use tests/lib/server.sh, and returns their last line of output in a
 * static buffer. If they fail, the test fails and shows all output. extra_stop stops the servers
 * that they started; otherwise tests/run does.
 */
const char *extra_shell(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Ends the test as not run if this program of PostgreSQL is missing for the server's version. */
void extra_needs(const char *program);
/* The same if the server is older than this version. */
void extra_needs_version(int version);

/* A server name that no other test program uses, in a static buffer. */
const char *extra_name(const char *what);
void extra_stop(const char *name);

/* Starts pgbouncer in transaction mode before the database under test; returns its URL in a
   static buffer. It has fewer backends than clients, so that each transaction gets a free one. */
const char *extra_pooler(const char *name);
void extra_pooler_stop(const char *name);
/* The same, one for the whole program, started on first use; and a connection through it, which
   the harness closes. */
const char *extra_pooled_url(void);
struct rowlock_connection *extra_pooled(const struct rowlock_options *options);

#endif
