/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Gates: places inside rowlock's functions and statements on PostgreSQL where a session stops until
 * the test opens the gate. In the functions they are the marks `--@` of sql/postgresql/schema, in
 * statements what gates_of adds. Only the test's own database has them. lib/postgresql_play.h lets
 * sessions stop there in any order.
 */
#ifndef TEST_POSTGRESQL_GATES_H
#define TEST_POSTGRESQL_GATES_H

#include <libpq-fe.h>

#include "dialect/dialect.h"

/* A text in a function, or in a statement that the library sends, and what takes its place. */
struct gates_change {
    const char *where; /* "rowlock.take", or "grant_free" */
    const char *from, *to;
};

/* Installs rowlock with gates in the database under test; ends the test if a text that it replaces
   is missing. `admin` is a session that holds the gates closed from now on. */
void gates_install(PGconn *admin, int players);
/* Changes the functions and statements that have the text; gates_restore undoes it. NULL ends the
   list. */
void gates_change(PGconn *admin, const struct gates_change *changes);
void gates_restore(PGconn *admin);
/* Whether the next grants by function move their name to a new generation. */
void gates_move(PGconn *admin, int moves);

/* The text of a statement, with its gates and changes; it stays until gates_restore. */
const char *gates_of(enum rowlock_statement_id id);

/* The session is that player: it stops at gates. */
void gates_enter(PGconn *session, int player);
/* Of a session that waits for a lock: the gate at which it stops (0, 1), or -1: another lock. */
int gates_at(const char *class_id, const char *object_id, int player);
/* Lets the player pass the gate. The next one is closed. */
void gates_open(PGconn *admin, int player, int gate);

/* Executes statements, which must succeed; the first value of the last, in a static buffer. */
const char *gates_sql(PGconn *session, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
