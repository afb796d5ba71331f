/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A group: sessions that the threads of a process share. Who comes while a session is idle sends at once; who
 * comes while it is busy queues there, and the first of them sends for all as soon as it is back: so the
 * more come, the more travel together. Whoever was there last time is waited for a little.
 */
#ifndef ROWLOCK_GROUP_H
#define ROWLOCK_GROUP_H

#include "lease/batch.h"

/* Is this acquire one that the group can answer: one name, exclusively, on a server that has batches? */
bool rowlock__group_takes(const struct rowlock_group *group, const struct rowlock_want *wants,
                          size_t n);

/* The session, from 0, that has least to do now: for a grant. A release goes where the grant went, for
   that session has the token's lock. */
int rowlock__group_choose(struct rowlock_group *group);

/* Asks, together with whoever asks now, and waits for the answer, which is in the question. Any thread. */
void rowlock__group_ask(struct rowlock_group *group, int lane, struct rowlock_question *question);

#endif
