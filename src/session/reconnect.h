/* SPDX-License-Identifier: Apache-2.0 */
/* A lost session in place of which another is opened, in the same connection. */
#ifndef ROWLOCK_RECONNECT_H
#define ROWLOCK_RECONNECT_H

#include "session/connection.h"

/* Opened by URL: then a lost session can be replaced. */
int rowlock__can_reconnect(const struct rowlock_connection *connection);

/* Asks the server once by what number and start it knows this session, so that it can be ended from
   another. Nothing is known behind a pooler, nor on SQLite; nothing is asked where it has no use. */
int rowlock__learn_session(struct rowlock_connection *connection, struct rowlock_error *error);
/* The same, to travel with another question: false where there is nothing to ask. After an answer: */
bool rowlock__session_question(struct rowlock_connection *connection, struct rowlock_call *call);
void rowlock__session_answered(struct rowlock_connection *connection);

/*
 * Opens another session in place of the lost one, once, until `deadline_ms` at the latest, and ends the
 * old one at the server where it is known: it may stand in a queue still, and not have noticed. Gives
 * EINVAL for a wrapped connection, else what rowlock_open gives; then the connection stays lost.
 */
int rowlock__reconnect(struct rowlock_connection *connection, int64_t deadline_ms,
                       struct rowlock_error *error);

#endif
