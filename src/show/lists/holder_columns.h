/* SPDX-License-Identifier: Apache-2.0 */
/* Holders and waiters, as a table for people or as JSON for scripts: add each, then print. */
#ifndef ROWLOCK_HOLDER_COLUMNS_H
#define ROWLOCK_HOLDER_COLUMNS_H

#include <stddef.h>
#include <stdio.h>

#include "command/output/table.h"
#include "rowlock.h"

/* One object of JSON. */
void put_holder(FILE *out, const struct rowlock_holder *holder);

/* An empty table of holders. */
struct table list_table(void);
/* A rowlock_visit with a struct table: adds a row. Nonzero: out of memory. Sorted, waiters of a
   name are below its holders. */
int list_table_add(const struct rowlock_holder *holder, void *table);

#endif
