/* SPDX-License-Identifier: Apache-2.0 */
/* Copies the rows of a list, sorts them, and groups them by name. */
#include "show/tree/tree_rows.h"

#include <stdlib.h>
#include <string.h>

#include "util/clock.h"
#include "util/random.h"
#include "util/rows.h"

int tree_add(const struct rowlock_holder *holder, void *data)
{
    struct lock_tree *tree = data;
    struct rowlock_rows *texts = &tree->texts;
    size_t at = tree->n_items;
    struct tree_item *item =
        rowlock__grown(tree->items, tree->n_items, &tree->size_items, sizeof *tree->items);

    if (!item)
        return tree->failed = -1;
    tree->items = item;
    item += tree->n_items++;
    *item = (struct tree_item){.holder = *holder, .place = at};
    item->holder.name = rowlock__rows_keep(texts, holder->name);
    item->holder.owner = rowlock__rows_keep(texts, holder->owner);
    item->holder.host = rowlock__rows_keep(texts, holder->host);
    item->holder.command = rowlock__rows_keep(texts, holder->command);
    item->holder.note = rowlock__rows_keep(texts, holder->note);
    item->has_owner = rowlock__owner_is_formed(item->holder.owner);
    if (item->has_owner) {
        item->hash = rowlock__owner_hash(item->holder.owner);
        item->parent = rowlock__owner_parent(item->holder.owner);
    }
    return tree->failed = texts->failed ? -1 : 0;
}

/* Of one name: leases, transactions, waiters; each in the order of the list. */
static int by_name(const void *left, const void *right)
{
    static const int ranks[] = {[ROWLOCK_HOLDS] = 0, [ROWLOCK_HOLDS_TX] = 1, [ROWLOCK_WAITS] = 2};
    const struct tree_item *a = left, *b = right;
    int order = strcmp(a->holder.name, b->holder.name);

    if (!order)
        order = rowlock__order(ranks[a->holder.holding], ranks[b->holder.holding]);
    if (!order)
        order = rowlock__order(a->holder.ticket, b->holder.ticket);
    return order ? order : rowlock__order((int64_t)a->place, (int64_t)b->place);
}

int tree_gather_names(struct lock_tree *tree)
{
    if (tree->failed || tree->n_items == 0)
        return tree->failed;
    qsort(tree->items, tree->n_items, sizeof *tree->items, by_name);
    tree->names = calloc(tree->n_items, sizeof *tree->names);
    if (!tree->names)
        return -1;
    for (size_t i = 0; i < tree->n_items; i++) {
        const struct rowlock_holder *holder = &tree->items[i].holder;
        struct tree_name *name;

        if (i == 0 || strcmp(holder->name, tree->items[i - 1].holder.name) != 0)
            tree->names[tree->n_names++] = (struct tree_name){.text = holder->name, .first = i};
        tree->items[i].name = tree->n_names - 1;
        name = &tree->names[tree->n_names - 1];
        name->stops |= holder->stop;
        name->queue = rowlock__most(name->queue, holder->queue);
        if (holder->holding != ROWLOCK_WAITS) {
            name->n_holders++;
            continue;
        }
        name->n_waiters++;
        name->queue = rowlock__most(name->queue, (int64_t)name->n_waiters);
        if (holder->since_ms && (!name->since_ms || holder->since_ms < name->since_ms))
            name->since_ms = holder->since_ms;
    }
    return 0;
}

/* ---- order ----------------------------------------------------------------------------------- */

struct rank {
    const struct tree_name *name;
    enum rowlock_list_order order;
    size_t at;
};

static int64_t never_if_unknown(int64_t ms)
{
    return ms ? ms : INT64_MAX;
}

static int by_rank(const void *left, const void *right)
{
    const struct rank *a = left, *b = right;
    int order = 0;

    if (a->order == ROWLOCK_BY_WAIT)
        order = rowlock__order(never_if_unknown(a->name->since_ms),
                               never_if_unknown(b->name->since_ms));
    if (!order && a->order != ROWLOCK_BY_NAME)
        order = rowlock__order(b->name->queue, a->name->queue);
    return order ? order : rowlock__order((int64_t)a->at, (int64_t)b->at);
}

size_t *tree_rank_names(const struct lock_tree *tree)
{
    struct rank *ranks = calloc(tree->n_names + 1, sizeof *ranks);
    size_t *order = calloc(tree->n_names + 1, sizeof *order);

    for (size_t i = 0; ranks && i < tree->n_names; i++)
        ranks[i] = (struct rank){.name = &tree->names[i], .order = tree->order, .at = i};
    if (ranks && order) {
        qsort(ranks, tree->n_names, sizeof *ranks, by_rank);
        for (size_t i = 0; i < tree->n_names; i++)
            order[i] = ranks[i].at;
    } else {
        free(order);
        order = NULL;
    }
    free(ranks);
    return order;
}
