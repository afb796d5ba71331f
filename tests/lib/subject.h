/* SPDX-License-Identifier: Apache-2.0 */
/* Subjects of once-only refreshes, and a real cache table that the tests refresh. */
#ifndef TEST_SUBJECT_H
#define TEST_SUBJECT_H

#include "lib/test.h"

/* The subject t_name(0), whose data may be up to HOUR old. */
struct rowlock_subject subject_here(void);

/* Creates data_cache (object_name, created), with one row ('old', 0). */
void cache_create(struct rowlock_connection *connection);
/* Its rows, 'old' or 'new 1', as any other session sees them now. */
const char *cache_seen(void);
/* DELETE and INSERT of ('new', number), in the open transaction. */
void cache_fill(struct rowlock_connection *connection, int number);

/* The subject t_name(0) as rowlock_subjects shows it. */
struct rowlock_subject_view subject_seen(void);
/* Makes the data older: moves the time in its row back by that much. */
void subject_grow_old(struct rowlock_connection *connection, long by_ms);

/* A max_age that a waiter outlasts. */
#define SUBJECT_BRIEF_MS 1000
/* Waits until that time has passed since `began`. */
void subject_outlast(long long began);
/* A waiter found data whose refresh ended after `began`: its age counts from that end, whenever the
   refresh began and however long the waiter waited; and it is stale only at its max_age. */
void subject_is_as_old_as_its_end(const struct rowlock_refresh *found, long long began);

#endif
