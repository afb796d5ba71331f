/* SPDX-License-Identifier: Apache-2.0 */
/* Subjects, and a real cache table that is made anew. */
#ifndef TEST_SUBJECT_H
#define TEST_SUBJECT_H

#include "lib/test.h"

#define HOUR 3600000

/* The table of the test house's schema: "subject", "expiry". */
const char *subject_table(const char *which);
/* The subject t_name(0), as young as HOUR. */
struct rowlock_subject subject_here(void);

/* A table data_cache (object_name, created), with one row ('old', 0). */
void cache_create(struct rowlock_connection *connection);
/* Its rows, 'old' or 'new 1', as any other session sees them now. */
const char *cache_seen(void);
/* DELETE and INSERT of ('new', number), in the transaction that is open. */
void cache_fill(struct rowlock_connection *connection, int number);

/* The subject t_name(0) as rowlock_subjects shows it; its texts are kept until the next call. */
struct rowlock_subject_view subject_seen(void);
/* It was made so long ago: sets the clock of its row back. */
void subject_grow_old(struct rowlock_connection *connection, long by_ms);

#endif
