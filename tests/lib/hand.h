/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls the functions of rowlock's schema on PostgreSQL, and its procedures on MariaDB, step by
 * step from plain sessions: the sequence that the library sends in one go can so be stopped
 * anywhere.
 * Handles are those of t_native(). hand_mariadb.h has what is MariaDB's alone.
 */
#ifndef TEST_HAND_H
#define TEST_HAND_H

#include <stdlib.h>

/* A session on the database under test, where rowlock is installed; with technique row, the
   names "a" to "d" are prepared. */
void *hand_open(void);
/* The same, after deleting all leases and waiters. */
void *hand_fresh(void);

/*
 * The columns of a row joined by '|' ("" for NULL, "(none)" without a row): the first row of the
 * first result that has one on MariaDB, of the last one on PostgreSQL. A failure fails the test.
 * The text is in one of several static buffers, used in turn.
 */
const char *hand_row(void *hand, const char *format, ...) __attribute__((format(printf, 2, 3)));
#define hand_number(...) atoll(hand_row(__VA_ARGS__))
/* Field `n` of such an answer, counted from 0. */
const char *hand_field(const char *row, int n);

/*
 * hand_start only sends the statement, which may wait. hand_until_waiting polls until the server
 * reports that it waits, for a row or for a session lock, and fails if the statement ends first.
 * hand_finish returns its answer; if it failed, the SQLSTATE, or "error" and MariaDB's number.
 */
void hand_start(void *hand, const char *format, ...) __attribute__((format(printf, 2, 3)));
void hand_until_waiting(void *hand);
const char *hand_finish(void *hand);

/* Names in plain letters, "a:x:0:0,b:p:3:1", as the functions expect them, in one of several static
   buffers, used in turn. */
const char *hand_wants(const char *wants);
/* The same as the arguments of PostgreSQL's functions: four arrays. */
const char *hand_arrays(const char *wants);
/* One grant, as the library sends it. */
struct hand_terms {
    const char *wants;
    const char *owner; /* NULL: a new one for every call */
    long ttl_ms;       /* 0: 60 s */
    long wait_ms;      /* 0: a try; otherwise the grant is not committed */
    long long ticket;
    int open; /* PostgreSQL: nor is a try committed; on MariaDB its procedure commits */
};
const char *hand_grant_call(void *hand, struct hand_terms terms); /* the statement */
/* Its answer: "status|name|token|number|detail". */
const char *hand_grant_as(void *hand, struct hand_terms terms);
/* The same as "status|number": the token of the grant, or the number of the conflict. */
const char *hand_try(void *hand, struct hand_terms terms);
/* Only sends it. hand_start_waiting: sends one that waits, and polls until it does. */
void hand_start_grant(void *hand, struct hand_terms terms);
void hand_start_waiting(void *hand, const char *wants);
/* A try of a new owner, with a ticket or 0. */
const char *hand_grant(void *hand, const char *wants, long long ticket);
/* Its token; fails the test if the grant is refused. */
long long hand_lease(void *hand, const char *wants);
/* The status of a renewal. */
long long hand_renew(void *hand, long long token, long ttl_ms);
/* The numbers of the lease's rows, and of its expiries: in a heartbeat, or in the lease itself. */
const char *hand_rows(void *hand, long long token);
/* Releases it; fails the test if that is refused. */
void hand_release(void *hand, long long token);
/* The ticket. `locked`: it has a session lock; otherwise it is valid for 60 s. */
long long hand_queue(void *hand, const char *wants, int locked);
/* "status|number|before|free|" and what else the engine reports. */
const char *hand_place(void *hand, const char *wants, long long ticket, int locked);
/* A roll call of the ticket `own`; `called`: the number of the one before, or 0. Returns its
   number; 0: there was none. */
long long hand_overtake(void *hand, const char *wants, long long own, long long called);
/* Sends the wait for a lease (`kind` is 1) or for a ticket (0) of that number, up to `ms`; `own` is
   the ticket of the waiter, or 0. */
void hand_start_await(void *hand, int kind, long long number, long ms, long long own);
/* Whether a session holds the session lock of this ticket or lease. */
int hand_is_marked(void *hand, long long number);
/* The number of rows of waiters: one for each name of a ticket. */
long hand_waiters(void *hand);
/* Sets the lease's expiry into the past. */
void hand_expire(void *hand, long long token);

#endif
