/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by both kinds of refresh: in a transaction, and under a lease. */
#ifndef ROWLOCK_SUBJECT_H
#define ROWLOCK_SUBJECT_H

#include "lock/wants.h"
#include "session/connection.h"

#define ROWLOCK_SUBJECT_PREFIX "subject:"
#define ROWLOCK_SUBJECT_MAX (ROWLOCK_NAME_MAX - (sizeof ROWLOCK_SUBJECT_PREFIX - 1))

/* A subject as parameters of the statements, checked. */
struct rowlock_marking {
    struct rowlock_connection *connection;
    char lock[ROWLOCK_NAME_MAX + 1]; /* "subject:NAME" */
    const char *name;                /* in it */
    int64_t max_age_ms, pid;
    char host[256], program[256], description[1025];
    bool described;
};

/* Fills in the caller: host, process, program. EINVAL for a bad name. */
int rowlock__marking_init(struct rowlock_marking *marking, struct rowlock_connection *connection,
                          const struct rowlock_subject *subject, struct rowlock_error *error);

/* Runs subject_look, without a lock and outside a transaction of the caller's. Fills `out` except
   the version. */
int rowlock__subject_look(const struct rowlock_marking *marking, struct rowlock_refresh *out,
                          struct rowlock_error *error);

/* Runs subject_begin in the open transaction; token 0: the transaction is the caller's. */
int rowlock__subject_begin(const struct rowlock_marking *marking, int64_t token,
                           struct rowlock_refresh *out, struct rowlock_error *error);

/* Runs a statement that writes, in a transaction of its own, and stores its number. */
int rowlock__subject_ask(struct rowlock_connection *connection, enum rowlock_statement_id id,
                         const struct rowlock_value *values, int64_t *answer,
                         struct rowlock_error *error);

#endif
