/* SPDX-License-Identifier: Apache-2.0 */
/* Opens a session, and replaces a lost one by a new one in the same connection. */
#ifndef ROWLOCK_RECONNECT_H
#define ROWLOCK_RECONNECT_H

#include "session/connection.h"

/* driver->open(). A server without a free session is busy, not away: it is asked again with growing
   pauses until the budget's deadline. */
int rowlock__open_session(const struct rowlock_driver *driver, const struct rowlock_source *source,
                          const struct rowlock_budget *budget, struct rowlock_link **out,
                          const struct rowlock_dialect **dialect, struct rowlock_error *error);

/* Whether a lost session can be replaced: it was opened by URL. */
int rowlock__can_reconnect(const struct rowlock_connection *connection);

/* Asks the server once for its id and start of this session, so that another session can end it.
   They stay unknown behind a pooler and on SQLite. Does not ask if the answer would be useless. */
int rowlock__learn_session(struct rowlock_connection *connection, struct rowlock_error *error);
/* The same as an additional call of another batch; false if there is nothing to ask. After the
   answer the caller calls rowlock__session_answered. */
bool rowlock__session_question(struct rowlock_connection *connection, struct rowlock_call *call);
void rowlock__session_answered(struct rowlock_connection *connection);

/*
 * Opens a new session in place of the lost one: one attempt, until `deadline_ms` at the latest.
 * Ends the old session at the server if its id is known, because the server may not have noticed
 * the loss and may keep the session in a queue. Fails with EINVAL for a wrapped connection,
 * otherwise as rowlock_open; after a failure the connection is still lost.
 */
int rowlock__reconnect(struct rowlock_connection *connection, int64_t deadline_ms,
                       struct rowlock_error *error);

#endif
