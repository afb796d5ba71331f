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
   Unknown behind a pooler and on SQLite; not asked if it would be useless. */
int rowlock__learn_session(struct rowlock_connection *connection, struct rowlock_error *error);
/* The same, as an extra call of another batch: false if there is nothing to ask.
   After an answer: */
bool rowlock__session_question(struct rowlock_connection *connection, struct rowlock_call *call);
void rowlock__session_answered(struct rowlock_connection *connection);

/*
 * Opens a new session in place of the lost one, once, until `deadline_ms` at the latest. Ends the
 * old one at the server if its id is known: the server may not have noticed the loss, and keep it
 * in a queue. Returns EINVAL for a wrapped connection, else as rowlock_open; on failure the
 * connection stays lost.
 */
int rowlock__reconnect(struct rowlock_connection *connection, int64_t deadline_ms,
                       struct rowlock_error *error);

#endif
