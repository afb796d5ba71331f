/* SPDX-License-Identifier: Apache-2.0 */
/* What several threads ask at the same moment, as one transaction of one session. */
#ifndef ROWLOCK_BATCH_H
#define ROWLOCK_BATCH_H

#include "lease/request.h"

#define ROWLOCK_BATCH 64 /* questions at most */

/* A grant or a release. Zero it, and set `request`, or `token`, `name` and `owner`. */
struct rowlock_question {
    const struct rowlock_request *request; /* a grant: one name, exclusively; NULL: a release */
    int64_t token;   /* of the lease to be released; out: of the grant, 0: not granted */
    const char *name, *owner; /* of the lease to be released */
    bool was_there;  /* out: the lease that was released */
    int64_t sent_ms; /* out: 0: it was not */
    int code;        /* out: 0, or it was not answered */
    bool unsure;     /* out: not answered, but perhaps done */
};

/* May this connection carry batches: are there functions for it, and is the technique one where a try waits
   for nobody? */
bool rowlock__batch_offered(const struct rowlock_connection *connection);

/*
 * Asks at most ROWLOCK_BATCH questions, no name twice, and fills what is out. What keeps a transaction of all
 * from its end is found by halves, and is alone not answered. A lost session is replaced. Blocks for a few seconds at
 * most where the server does not answer: the connection's statement_ms is to be that short.
 */
void rowlock__batch_send(struct rowlock_connection *connection,
                         struct rowlock_question *const *questions, size_t n);

#endif
