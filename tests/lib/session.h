/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A session that is told step by step what to do, in a thread of its own, so that a step may wait
 * while the test goes on. Three doors lead to the same lock: a connection of the library's own, a
 * borrowed handle, and the plain SQL functions or procedures as a DBA would call them.
 *
 * Nothing here asserts: a test that fails must first end what waits (session_close).
 */
#ifndef TEST_SESSION_H
#define TEST_SESSION_H

#include "lib/test.h"

enum door { DOOR_OWN, DOOR_BORROWED, DOOR_SQL };

enum step_kind {
    STEP_END,        /* of a list of steps */
    STEP_BEGIN,      /* the application's own BEGIN, at READ COMMITTED */
    STEP_BEGIN_LOCK, /* begin-and-lock, waiting for ever */
    STEP_BEGIN_TRY,  /* begin-and-lock, not waiting */
    STEP_LOCK,       /* in the open transaction, waiting for ever */
    STEP_TRY,        /* likewise, not waiting */
    STEP_PREPARE,
    STEP_SAVEPOINT,
    STEP_ROLLBACK_TO, /* that savepoint */
    STEP_COMMIT,
    STEP_ROLLBACK
};

struct session;

struct session *session_open(enum door door);
/* Ends it; a step that still waits is ended by killing the session. */
void session_close(struct session *session);
void *session_handle(const struct session *session);

/* Starts a step in the session's thread: it must have none under way. */
void session_start(struct session *session, enum step_kind kind, enum rowlock_mode mode,
                   const char *name);

enum session_state { SESSION_DONE, SESSION_WAITS, SESSION_STUCK };
/* Until the step has ended, or the server says that the session waits for a lock; STUCK: neither
   came in a minute. */
enum session_state session_settle(struct session *session);
/* Until the step has ended, whoever it waits for; else STUCK after a minute. */
enum session_state session_finish(struct session *session);
/* Of the step that ended last: the code, and what the error said (struct rowlock_error). */
int session_code(const struct session *session);
const struct rowlock_error *session_error(const struct session *session);

#endif
