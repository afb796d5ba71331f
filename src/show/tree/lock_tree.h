/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tree of holders and waiters across names: add each row of a list, grow the tree, and read its
 * lines. Below a waiter stand the names that its caller holds and others wait for. It has no I/O
 * and no clock.
 */
#ifndef ROWLOCK_LOCK_TREE_H
#define ROWLOCK_LOCK_TREE_H

#include <stddef.h>
#include <stdint.h>

#include "command/output/list.h"
#include "rowlock.h"
#include "util/rows.h"

enum tree_kind {
    TREE_HOLDER,
    TREE_UNKNOWN, /* a name with waiters whose holder the database does not report */
    TREE_WAITER,
    TREE_MORE,  /* waiters that are not shown */
    TREE_ABOVE, /* a name that an earlier line shows, with its waiters */
    TREE_CYCLE  /* a name that is also above this line: its holder waits for itself */
};

/* A line; its texts and its holder belong to the tree. */
struct tree_line {
    enum tree_kind kind;
    const char *name;
    const struct rowlock_holder *holder; /* NULL: UNKNOWN, MORE */
    char *branch;                        /* the prefix of the line: "│  ├─ "; "": a root */
    int64_t place;                       /* a waiter's place in its queue, from 1; MORE: how many */
    int64_t queue; /* number of the name's waiters, shown or not; only in its first line */
};

struct tree_name;
struct tree_item;

/* The caller sets the first four members, the settings, which must stay. tree_add() fills items and
   texts, tree_grow() names and lines; all is valid until tree_free(). */
struct lock_tree {                 /* all zero except for the settings: empty */
    enum rowlock_list_order order; /* the order of the roots */
    const char *root;              /* the only root; NULL: all names that are below no other */
    const char *glob;              /* only trees with a name that matches; NULL: all */
    size_t most_waiters;           /* the most waiters that a name shows; 0: all */
    struct tree_item *items;
    size_t n_items, size_items;
    struct rowlock_rows texts; /* of the items */
    struct tree_name *names;
    size_t n_names;
    struct tree_line *lines;
    size_t n_lines, size_lines;
    int failed; /* out of memory */
};

/* A rowlock_visit with a struct lock_tree: adds a copy. Rows come in any order, except that the
   rows of a name keep theirs. Not 0: out of memory, which ends the visit. */
int tree_add(const struct rowlock_holder *holder, void *tree);
/* Makes the lines, after the last tree_add(). Returns 0, or -1: out of memory, also of an earlier
   tree_add(). */
int tree_grow(struct lock_tree *tree);
/* Milliseconds since 1970 by the database's clock when it made the list, if a lease is held; else
   0: no row tells it. */
int64_t tree_now(const struct lock_tree *tree);
/* For a line of the kind CYCLE: the names of the cycle, beginning with the name above the line.
   Stores at most `most`, and returns how many. */
size_t tree_cycle(const struct lock_tree *tree, size_t line, const char **names, size_t most);
/* Frees the content; the settings stay. */
void tree_free(struct lock_tree *tree);

/* The lines of a tree as a table for people: a row is made from each line. */

extern const struct list tree_list;
/* Adds the lines of a grown tree, at most `most` (0: all). Nonzero: out of memory. */
int tree_table_add(const struct lock_tree *tree, size_t most, struct table *table);

#endif
