/* SPDX-License-Identifier: Apache-2.0 */
/* The privileges that the schema's GRANTs give and this account lacks. */
#ifndef ROWLOCK_PRIVILEGES_H
#define ROWLOCK_PRIVILEGES_H

#include "session/connection.h"

/* Receives a missing privilege. `what`: "SELECT on rowlock.meta"; `grant`: the statement that gives
   it; `of_history`: only the history needs it. */
typedef void rowlock_lacks(void *data, const char *what, const char *grant, bool of_history);

/* Calls `lacks` once per object. `account` receives the account's name, malloc'd; NULL if the
   dialect has no accounts, or nothing is installed. */
int rowlock__read_privileges(struct rowlock_connection *connection,
                             const struct rowlock_installed *installed, rowlock_lacks *lacks,
                             void *data, char **account, struct rowlock_error *error);

#endif
