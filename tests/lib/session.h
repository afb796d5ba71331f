/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A session that executes one step at a time, in a thread of its own, so that a step may wait while
 * the test continues. The same lock is reached through one of three doors: a connection of the
 * library's own, a borrowed handle, and the plain SQL functions or procedures as a DBA would call
 * them.
 *
 * Nothing here asserts: a test that fails must first end the steps that wait (session_close).
 */
#ifndef TEST_SESSION_H
#define TEST_SESSION_H

#include "lib/test.h"

enum door { DOOR_OWN, DOOR_BORROWED, DOOR_SQL };

enum step_kind {
    STEP_END,        /* ends a list of steps */
    STEP_BEGIN,      /* the application's own BEGIN, at READ COMMITTED */
    STEP_BEGIN_LOCK, /* begin-and-lock, without a timeout */
    STEP_BEGIN_TRY,  /* begin-and-lock, without waiting */
    STEP_LOCK,       /* in the open transaction, without a timeout */
    STEP_TRY,        /* in the open transaction, without waiting */
    STEP_PREPARE,
    STEP_SAVEPOINT,
    STEP_ROLLBACK_TO, /* to that savepoint */
    STEP_COMMIT,
    STEP_ROLLBACK
};

struct session;

/* That door, or DOOR_OWN in place of DOOR_SQL where the server has no functions (ODBC, JDBC). */
enum door session_door(enum door door);

struct session *session_open(enum door door);
/* Closes the session. A step that still waits ends because the session is killed. */
void session_close(struct session *session);
void *session_handle(const struct session *session);

/* Starts a step in a thread; the session must have none under way. */
void session_start(struct session *session, enum step_kind kind, enum rowlock_mode mode,
                   const char *name);

enum session_state { SESSION_DONE, SESSION_WAITS, SESSION_STUCK };
/* Waits until the step has ended, or the server reports that the session waits for a lock.
   STUCK: neither happened within a minute. */
enum session_state session_settle(struct session *session);
/* Waits until the step has ended, also while it waits for a lock; STUCK after a minute. */
enum session_state session_finish(struct session *session);
/* The code of the last step that ended, and its error. */
int session_code(const struct session *session);
const struct rowlock_error *session_error(const struct session *session);

#endif
