/* SPDX-License-Identifier: Apache-2.0 */
/* hand.h has the helpers of both engines; these are of MariaDB alone. */
#ifndef TEST_HAND_MARIADB_H
#define TEST_HAND_MARIADB_H

#include "lib/hand.h"

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
/* Sends the statement, and a KILL QUERY at the `i`-th of many delays; returns the answer. Then ends
   the transaction by COMMIT or ROLLBACK, which a late kill may hit. */
const char *my_kill_at_any_moment(void *hand, void *killer, int i, const char *statement,
                                  const char *end);

#endif
