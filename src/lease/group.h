/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A group: sessions that the threads of a process share. If a session is idle, a thread sends at
 * once. If it is busy, threads queue, and the first of them sends for all when it is free: the more
 * threads, the larger the batch. A sender waits a little for the threads of the previous batch.
 */
#ifndef ROWLOCK_GROUP_H
#define ROWLOCK_GROUP_H

#include "lease/batch.h"

/* Whether the group can answer this acquire: one name, exclusively, on a server
   that has batches. */
bool rowlock__group_takes(const struct rowlock_group *group, const struct rowlock_want *wants,
                          size_t n);

/* The index of the session with the least load, for a grant. A release goes to the session of the
   grant, because that holds the token's session lock. */
int rowlock__group_choose(struct rowlock_group *group);

/* Sends the question with others of this moment, and waits for the answer in it. Any thread. */
void rowlock__group_ask(struct rowlock_group *group, int lane, struct rowlock_question *question);

#endif
