/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls the functions of rowlock's schema on PostgreSQL step by step from plain libpq sessions: the
 * sequence that the library sends in one go can so be stopped anywhere. Handles are PGconn from
 * t_native().
 */
#ifndef TEST_POSTGRESQL_HAND_H
#define TEST_POSTGRESQL_HAND_H

#include <stdint.h>

/* A session on the database under test, where rowlock is installed; with technique row, the
   names "a" to "d" are prepared. */
void *hand_open(void);
/* The same, after deleting all leases and waiters. */
void *hand_fresh(void);
void hand_forget(void *hand);

/* The columns of the first row joined by '|' ("" for NULL, "(none)" without a row). A failure
   fails the test. The text is in one of several static buffers, used in turn. */
const char *hand_row(void *hand, const char *format, ...) __attribute__((format(printf, 2, 3)));
long long hand_number(void *hand, const char *format, ...) __attribute__((format(printf, 2, 3)));

/*
 * hand_start only sends the statement, which may wait. hand_until_waiting polls until the server
 * reports that it waits, and fails if the statement ends first. hand_finish returns its answer: the
 * SQLSTATE if it failed.
 */
void hand_start(void *hand, const char *format, ...) __attribute__((format(printf, 2, 3)));
void hand_until_waiting(void *hand);
int hand_is_done(void *hand);
const char *hand_finish(void *hand);

/* One grant, as the library sends it: BEGIN, grant, COMMIT. */
struct hand_terms {
    const char *wants; /* "a:x:0:0,b:p:3:1": names in plain letters */
    const char *owner; /* NULL: a new one for every call */
    long ttl_ms;       /* 0: 60 s */
    long long ticket;
};
/* "status|number"; with status 0 the number is the token, otherwise it identifies the conflict. */
const char *hand_try(void *hand, struct hand_terms terms);
/* Only sends BEGIN and the grant, with a timeout for the name lock. hand_finish returns
   "status|name|token|number|detail" and leaves the transaction open. */
void hand_wait(void *hand, struct hand_terms terms, long wait_ms);
/* The token; fails the test if the grant is refused. */
long long hand_lease(void *hand, const char *wants);
/* The ticket. `locked`: it has a session lock; otherwise it is valid for 60 s. */
long long hand_queue(void *hand, const char *wants, int locked);
/* "status|number|before|free|locked" */
const char *hand_place(void *hand, const char *wants, long long ticket, int locked);
/* Names like "a", packed as the functions expect them, in one of several static buffers, used in
   turn. */
const char *hand_wants(const char *wants);

/* Whether a session holds the session lock of this ticket. */
int hand_is_marked(void *hand, long long number);
/* Sets the lease's expiry into the past, or far into the future. */
void hand_expire(void *hand, long long token);

#endif
