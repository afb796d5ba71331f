/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by both kinds of refresh: in a transaction (transaction.c), and under a lease (lease.c). A
   subject is the name of data that is refreshed exactly once. */
#ifndef ROWLOCK_SUBJECT_H
#define ROWLOCK_SUBJECT_H

#include "lock/wants.h"
#include "session/connection.h"

#define ROWLOCK_SUBJECT_PREFIX "subject:" /* the name that a subject locks is this and its own */
/* The longest name of a subject in bytes. */
#define ROWLOCK_SUBJECT_MAX (ROWLOCK_NAME_MAX - (sizeof ROWLOCK_SUBJECT_PREFIX - 1))

/* A subject as parameters of the statements, checked. It must not be copied: `name` is a part of
   it. */
struct rowlock_marking {
    struct rowlock_connection *connection;
    char lock[ROWLOCK_NAME_MAX + 1]; /* "subject:NAME" */
    const char *name;                /* in it */
    int64_t max_age_ms, pid;         /* < 0: data is fresh at any age; of this process */
    char host[256], program[256], description[1025];
    bool described; /* the caller gave a description; otherwise the stored one stays */
};

/* Fills `marking` from the subject and the caller: host, process, program. Long texts are cut.
   EINVAL for a bad name. */
int rowlock__marking_init(struct rowlock_marking *marking, struct rowlock_connection *connection,
                          const struct rowlock_subject *subject, struct rowlock_error *error);

/* Runs subject_look, without a lock and outside a transaction of the caller's. Fills `out` except
   the version. */
int rowlock__subject_look(const struct rowlock_marking *marking, struct rowlock_refresh *out,
                          struct rowlock_error *error);

/* Runs subject_begin in the open transaction; token 0: the transaction is the caller's. If `out` is
   stale, the caller refreshes, and no other session does meanwhile. Waits for another refresh of
   the subject as a lock does. */
int rowlock__subject_begin(const struct rowlock_marking *marking, int64_t token,
                           struct rowlock_refresh *out, struct rowlock_error *error);

/* Runs a statement that writes, in a transaction of its own, and stores its number. Errors as
   rowlock__ask_alone; EDB: it returned no row. */
int rowlock__subject_ask(struct rowlock_connection *connection, enum rowlock_statement_id id,
                         const struct rowlock_value *values, int64_t *answer,
                         struct rowlock_error *error);

#endif
