/* SPDX-License-Identifier: Apache-2.0 */
/* The lines of a tree as a table for people. */
#ifndef ROWLOCK_TREE_COLUMNS_H
#define ROWLOCK_TREE_COLUMNS_H

#include "command/output/table.h"
#include "show/tree/lock_tree.h"

struct table tree_table(void);
/* Adds the lines of a grown tree, at most `most` (0: all). Nonzero: out of memory. */
int tree_table_add(const struct lock_tree *tree, size_t most, struct table *table);

#endif
