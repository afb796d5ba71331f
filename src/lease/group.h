/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A group: sessions that the threads of a process share. If a session is idle, a thread sends at
 * once. If it is busy, threads queue, and the first of them sends for all when it is free: the more
 * threads, the larger the batch. A sender waits a little for the threads of the previous batch.
 */
#ifndef ROWLOCK_GROUP_H
#define ROWLOCK_GROUP_H

#include "lease/request.h"

/* Group commit: the simultaneous requests of several threads, as one transaction of one session. */

#define ROWLOCK_BATCH 64 /* maximum number of questions */

/* A grant or a release. Zero it, and set `request`, or `token`, `name` and `owner`. */
struct rowlock_question {
    const struct rowlock_request *request; /* a grant: one name, exclusively; NULL: a release */
    int64_t token;            /* of the lease to release; out: of the grant, 0: not granted */
    const char *name, *owner; /* of the lease to release */
    bool was_there;           /* out: the released lease existed */
    int64_t sent_ms;          /* out: 0: it was not sent */
    int code;                 /* out: 0, or the reason why there is no answer */
    bool unsure;              /* out: no answer, but it may have been committed */
};

/*
 * Sends at most ROWLOCK_BATCH questions, each name once, and fills the members marked out. If the
 * transaction fails, bisects to isolate the failing request, which alone gets no answer. Replaces a
 * lost session. If the server does not answer, blocks for a few seconds at most, provided that the
 * connection's statement_ms is that short.
 */
void rowlock__batch_send(struct rowlock_connection *connection,
                         struct rowlock_question *const *questions, size_t n);

/* Whether the group can answer this acquire: one name, exclusively, on a server
   that has batches. */
bool rowlock__group_takes(const struct rowlock_group *group, const struct rowlock_want *wants,
                          size_t n);

/* The index, from 0, of the session with the least load, for a grant. A release goes to the session
   of the grant, because that holds the token's session lock. Any thread. */
int rowlock__group_choose(struct rowlock_group *group);

/* Sends the question over the session `lane` with others of this moment, and waits for the answer
   in it. If it could not be sent within some seconds, its code is ETIMEDOUT, and its sent_ms stays
   0. Any thread. */
void rowlock__group_ask(struct rowlock_group *group, int lane, struct rowlock_question *question);

#endif
