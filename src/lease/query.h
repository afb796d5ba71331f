/* SPDX-License-Identifier: Apache-2.0 */
/* One statement about a lease, a job or a subject, in a transaction of its own. The statements are
   idempotent, so a lost answer is settled by a repetition. */
#ifndef ROWLOCK_QUERY_H
#define ROWLOCK_QUERY_H

#include <stdbool.h>

#include "session/connection.h"

/* Times are those of clock.h. */
struct rowlock_query {
    enum rowlock_statement_id id;
    const struct rowlock_value *values; /* its parameters */
    rowlock_row *row;                   /* may be called again by a repetition */
    void *data;
    int64_t deadline_ms; /* of each attempt */
    int64_t end_ms;      /* of the lease at stake; 0: none */
    bool reads;          /* needs no transaction */
    bool alone;          /* commits by itself */
    int64_t until_ms;    /* rowlock__query_surely repeats a cancelled query until then; 0: never */
};

/* The deadline of a query that begins now: statement_ms from here. */
int64_t rowlock__query_deadline(const struct rowlock_connection *connection);

/* Executes it once, over the session as it is. Before the end of the lease at stake it cancels a
   statement without an answer, and at that end gives the session up. Leaves no transaction open. */
int rowlock__query_once(struct rowlock_connection *connection, const struct rowlock_query *query,
                        struct rowlock_error *error);
/* The same; repeats it up to four times if the server ended it as a deadlock's victim, or
   aborted its transaction: then it has changed nothing. */
int rowlock__query(struct rowlock_connection *connection, const struct rowlock_query *query,
                   struct rowlock_error *error);
/* The same; a statement `alone` that MariaDB ended rather than wait for a lock has found no row. */
int rowlock__query_alone(struct rowlock_connection *connection, const struct rowlock_query *query,
                         struct rowlock_error *error);
/* The same; repeats it after a cancel, and once over a new session if the session was lost.
   `*unsure` becomes true if the server may have executed it although the answer is missing or a
   failure. */
int rowlock__query_surely(struct rowlock_connection *connection, struct rowlock_query *query,
                          bool *unsure, struct rowlock_error *error);

/*
 * The same for a query about no lease, within statement_ms, with the result's code. `reads`: it
 * needs no transaction.
 */
int rowlock__ask_alone(struct rowlock_connection *connection, enum rowlock_statement_id id,
                       const struct rowlock_value *values, bool reads, rowlock_row *row, void *data,
                       struct rowlock_error *error);

/* Writes TOKEN:HEX(name):owner, with a comma behind it, for the statement renew_all
   (dialect.h). Returns the length, at most rowlock__room_of_lease(name) with the NUL behind it. */
size_t rowlock__put_lease(char *out, int64_t token, const char *name, const char *owner);
size_t rowlock__room_of_lease(const char *name);

/* Whether that error of a query means that the session was lost (ECONN, EUNKNOWN; not that the
   server had no memory), or is one with a former primary (ESERVER), and another one can be
   opened. */
bool rowlock__must_reconnect(const struct rowlock_connection *connection, int code,
                             const struct rowlock_error *error);
/* The code for the caller: EUNKNOWN becomes ECONN, because a repetition settles the matter. */
int rowlock__query_result(int code, struct rowlock_error *error);

/* Checks before a list is read: `has_visitor` (EINVAL), and that the schema is installed
   (ESCHEMA). */
int rowlock__list_check(struct rowlock_connection *connection, bool has_visitor,
                        struct rowlock_error *error);
/* A mode in a row of a list, by its first letter; EXCLUSIVE for an unknown one. */
enum rowlock_mode rowlock__mode_column(const struct rowlock_value *column);

/* Checks, before a query by name and token, that the connection is idle, that the name is valid and
   the token at least `least_token`, and that the schema is installed. */
int rowlock__query_check(struct rowlock_connection *connection, const char *name,
                         int64_t least_token, int64_t token, struct rowlock_error *error);

#endif
