/* SPDX-License-Identifier: Apache-2.0 */
/* Holders and waiters, as a table for people or as JSON for scripts: add each, then print. */
#ifndef ROWLOCK_LIST_PRINT_H
#define ROWLOCK_LIST_PRINT_H

#include <stddef.h>
#include <stdio.h>

#include "command/output/table.h"
#include "rowlock.h"

struct list_json {
    FILE *out;
    size_t n;
};
/* A rowlock_visit with a struct list_json: writes an item. */
int list_json_add(const struct rowlock_holder *holder, void *list);
void list_json_end(const struct list_json *list);

/* An empty table of holders. */
struct table list_table(void);
/* A rowlock_visit with a struct table: keeps a row. Nonzero: out of memory. Sorted, a name's waiters stand
   below its holders. */
int list_table_add(const struct rowlock_holder *holder, void *table);

#endif
