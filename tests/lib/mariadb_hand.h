/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The procedures of the schema on MariaDB, called step by step from plain sessions: what the library
 * does in one go, stopped anywhere. Handles are MYSQL of t_native().
 */
#ifndef TEST_MARIADB_HAND_H
#define TEST_MARIADB_HAND_H

/* A session on the database under test, where rowlock is installed; technique row: the names "a" to
   "d" are known. */
void *my_open(void);
/* The same, and no lease and no waiter is left. */
void *my_fresh(void);

/* The columns of the first row of the first result that has one, joined by '|' ("" for NULL, "(none)"
   without a row); a failure fails the test. In one of several buffers of the callee's, in turn. */
const char *my_row(void *hand, const char *format, ...) __attribute__((format(printf, 2, 3)));
long long my_number(void *hand, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The same, but only sent: it may wait. Then until the server says that it waits, for a row or for a
   session lock; fails if it ends first. Then its answer: where it failed, "error" and the number. */
void my_start(void *hand, const char *format, ...) __attribute__((format(printf, 2, 3)));
void my_until_waiting(void *hand);
const char *my_finish(void *hand);

/* One call of rowlock_grant: names in plain letters, "a:x:0:0,b:p:3:1". */
struct my_terms {
    const char *wants;
    const char *owner; /* NULL: one of its own for every call */
    long ttl_ms;       /* 0: 60 s */
    long wait_ms;      /* 0: a try */
    long long ticket;
};
const char *my_grant_call(void *hand, struct my_terms terms); /* the statement */
/* Its answer: "status|name|token|number|detail". */
const char *my_grant(void *hand, struct my_terms terms);
/* The token; not to get it fails the test. */
long long my_lease(void *hand, const char *wants);
/* The ticket; `locked`: with a session lock, else it is good for 60 s. */
long long my_queue(void *hand, const char *wants, int locked);
/* "status|number|before|free|expires_ms|locked|name|detail" */
const char *my_place(void *hand, const char *wants, long long ticket, int locked);
/* Its field, from 0. */
const char *my_field(const char *row, int n);
/* HEX names, in a buffer of the callee's, in turn. */
const char *my_wants(const char *wants);

/* Whose session lock is this number's: 0 nobody's. */
long long my_marker(void *hand, long long number);
/* Puts the end of a lease into the past. */
void my_expire(void *hand, long long token);
/* "beats|rows" of the lease. */
const char *my_rows(void *hand, long long token);

#endif
