/* SPDX-License-Identifier: Apache-2.0 */
/* The rows of a tree, and the names that they belong to. */
#ifndef ROWLOCK_TREE_ROWS_H
#define ROWLOCK_TREE_ROWS_H

#include "show/tree/lock_tree.h"

#define TREE_DEEPEST 16 /* leases below each other, of nested commands */

/* A holder or a waiter: tree_add() makes it, tree_gather_names() adds the rest. */
struct tree_item {
    struct rowlock_holder holder; /* a copy */
    size_t place;                 /* in the list */
    size_t name;                  /* index of its name */
    int has_owner;                /* it has an owner id of the form of random.h */
    uint32_t hash, parent; /* the hash of that id, and of the owner id of its caller's lease */
    size_t *held, n_held;  /* a waiter: the names with waiters that its caller holds */
};

/* A name with its holders and waiters: tree_gather_names() makes it, tree_grow() marks it. */
struct tree_name {
    const char *text;
    size_t first, n_holders, n_waiters; /* items: holders, then waiters in queue order */
    int64_t queue;                      /* number of its waiters, also those without an item */
    int64_t since_ms;                   /* when the longest wait began; 0: unknown */
    int stops;                          /* a lease is broken, but still held */
    int is_below;                       /* a waiter for another name holds it */
    int is_shown, is_open;              /* it has lines; its lines are being made */
    int fits, is_within, leads;         /* it matches; is below a match; matches or is above one */
    const struct tree_item *marked;
};

/* Sorts the items and makes the names; tree_grow() does it too. 0, or -1: out of memory. */
int tree_gather_names(struct lock_tree *tree);
/* The names' indices in the tree's order, with the longest queue or the longest wait first, or by
   name; malloc'd. NULL: out of memory. */
size_t *tree_rank_names(const struct lock_tree *tree);

#endif
