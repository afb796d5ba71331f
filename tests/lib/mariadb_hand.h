/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls the procedures of rowlock's schema on MariaDB step by step from plain sessions: the
 * sequence that the library sends in one go can so be stopped anywhere. Handles are MYSQL from
 * t_native().
 */
#ifndef TEST_MARIADB_HAND_H
#define TEST_MARIADB_HAND_H

/* A session on the database under test, where rowlock is installed; with technique row, the
   names "a" to "d" are prepared. */
void *my_open(void);
/* The same, after deleting all leases and waiters. */
void *my_fresh(void);

/*
 * The columns of the first row of the first result that has one, joined by '|' ("" for NULL,
 * "(none)" without a row). A failure fails the test. The text is in one of several static buffers,
 * used in turn.
 */
const char *my_row(void *hand, const char *format, ...) __attribute__((format(printf, 2, 3)));
long long my_number(void *hand, const char *format, ...) __attribute__((format(printf, 2, 3)));

/*
 * my_start only sends the statement, which may wait. my_until_waiting polls until the server
 * reports that it waits, for a row or for a session lock, and fails if the statement ends first.
 * my_finish returns its answer: "error" and the number if it failed.
 */
void my_start(void *hand, const char *format, ...) __attribute__((format(printf, 2, 3)));
void my_until_waiting(void *hand);
const char *my_finish(void *hand);

/* One call of rowlock_grant, with names in plain letters: "a:x:0:0,b:p:3:1". */
struct my_terms {
    const char *wants;
    const char *owner; /* NULL: a new one for every call */
    long ttl_ms;       /* 0: 60 s */
    long wait_ms;      /* 0: try once */
    long long ticket;
};
const char *my_grant_call(void *hand, struct my_terms terms); /* the statement */
/* Its answer: "status|name|token|number|detail". */
const char *my_grant(void *hand, struct my_terms terms);
/* The token; fails the test if the grant is refused. */
long long my_lease(void *hand, const char *wants);
/* The ticket. `locked`: it has a session lock; otherwise it is valid for 60 s. */
long long my_queue(void *hand, const char *wants, int locked);
/* "status|number|before|free|expires_ms|locked|name|detail" */
const char *my_place(void *hand, const char *wants, long long ticket, int locked);
/* Field `n` of such an answer, counted from 0. */
const char *my_field(const char *row, int n);
/* HEX of each name, in one of several static buffers, used in turn. */
const char *my_wants(const char *wants);

/* An expression for the database's part of the names of session locks. */
const char *my_database_hash(void);
/* Draws a token. */
long long my_draw(void *hand);
/* The next token that is drawn. */
void my_set_next(void *hand, long long token);
/* Replaces a procedure; `rest` is its text behind the name. */
void my_replace(void *hand, const char *name, const char *rest);
/* The session that holds the session lock of this ticket; 0: none. */
long long my_marker(void *hand, long long number);
/* Sets the lease's expiry into the past. */
void my_expire(void *hand, long long token);
/* The numbers of the lease's heartbeats and rows, "1|1". */
const char *my_rows(void *hand, long long token);

#endif
