/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The functions of the schema on PostgreSQL, called step by step from plain libpq sessions: what the
 * library does in one go, stopped anywhere. Handles are PGconn of t_native().
 */
#ifndef TEST_POSTGRESQL_HAND_H
#define TEST_POSTGRESQL_HAND_H

#include <stdint.h>

/* A session on the database under test, where rowlock is installed; technique row: the names "a" to
   "d" are prepared. */
void *hand_open(void);
/* The same, and no lease and no waiter is left. */
void *hand_fresh(void);
void hand_forget(void *hand);

/* The columns of the first row joined by '|' ("" for NULL, "(none)" without a row); a failure fails
   the test. In one of several buffers of the callee's, in turn. */
const char *hand_row(void *hand, const char *format, ...) __attribute__((format(printf, 2, 3)));
long long hand_number(void *hand, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The same, but only sent: it may wait. Then until the server says that it does wait; fails if it
   ends first. Then its answer: where it failed, the SQLSTATE. */
void hand_start(void *hand, const char *format, ...) __attribute__((format(printf, 2, 3)));
void hand_until_waiting(void *hand);
int hand_is_done(void *hand);
const char *hand_finish(void *hand);

/* One grant, as the library sends it: BEGIN, grant, COMMIT. */
struct hand_terms {
    const char *wants; /* "a:x:0:0,b:p:3:1": names in plain letters */
    const char *owner; /* NULL: one of its own for every call */
    long ttl_ms;       /* 0: 60 s */
    long long ticket;
};
/* "status|number"; on 0 the number is the token, else what is in the way. */
const char *hand_try(void *hand, struct hand_terms terms);
/* BEGIN and the grant, waiting so long for T: only sent. After hand_finish ("status|name|token|number|detail")
   the transaction is open. */
void hand_wait(void *hand, struct hand_terms terms, long wait_ms);
/* The token; not to get it fails the test. */
long long hand_lease(void *hand, const char *wants);
/* The ticket; `locked`: with a session lock, else it is good for 60 s. */
long long hand_queue(void *hand, const char *wants, int locked);
/* "status|number|before|free|locked" */
const char *hand_place(void *hand, const char *wants, long long ticket, int locked);
/* Are names like "a" packed for the functions: in a buffer of the callee's, in turn. */
const char *hand_wants(const char *wants);

/* Does the session lock of this number stand? */
int hand_is_marked(void *hand, long long number);
/* Puts the end of a lease into the past, or far away. */
void hand_expire(void *hand, long long token);

#endif
