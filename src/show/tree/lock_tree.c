/* SPDX-License-Identifier: Apache-2.0 */
/* Derives the tree of holders and waiters from a list of them. */
#include "show/tree/lock_tree.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "show/tree/tree_rows.h"
#include "util/clock.h"
#include "util/rows.h"

/* ---- callers --------------------------------------------------------------------------------- */

/* Marks the name of each lease that the caller of `waiter` holds: in its own process, or in a
   process that started it, as their owner ids state. A process may also wait for a name that
   another of its threads holds, which is not a cycle. */
static void mark_held(struct lock_tree *tree, const struct tree_item *waiter)
{
    const struct rowlock_holder *own = &waiter->holder;
    uint32_t parent = waiter->parent;
    int known = waiter->has_owner;

    for (size_t i = 0; i < tree->n_names; i++)
        tree->names[i].marked = NULL;
    for (size_t i = 0; i < tree->n_items; i++) {
        const struct tree_item *item = &tree->items[i];

        if (item->holder.holding == ROWLOCK_HOLDS && item->name != waiter->name && own->pid &&
            own->pid == item->holder.pid && strcmp(own->host, item->holder.host) == 0)
            tree->names[item->name].marked = item;
    }
    for (int depth = 0; known && depth < TREE_DEEPEST; depth++) {
        uint32_t next = parent;

        known = 0;
        for (size_t i = 0; i < tree->n_items; i++) {
            const struct tree_item *item = &tree->items[i];

            if (item->holder.holding != ROWLOCK_HOLDS || !item->has_owner || item->hash != parent)
                continue;
            tree->names[item->name].marked = item;
            next = item->parent;
            known = 1;
        }
        parent = next;
    }
}

/* Links each waiter to the names with waiters that its caller holds. A name without waiters gets no
   link: it blocks no caller, so it is a root of its own. */
static int link_names(struct lock_tree *tree)
{
    for (size_t i = 0; i < tree->n_items; i++) {
        struct tree_item *item = &tree->items[i];

        if (item->holder.holding != ROWLOCK_WAITS)
            continue;
        mark_held(tree, item);
        for (size_t name = 0; name < tree->n_names; name++) {
            size_t *held;

            if (!tree->names[name].marked || tree->names[name].queue == 0)
                continue;
            held = realloc(item->held, (item->n_held + 1) * sizeof *held);
            if (!held)
                return -1;
            held[item->n_held++] = name;
            item->held = held;
            tree->names[name].is_below |= item->name != name;
        }
    }
    return 0;
}

/* ---- the pattern ----------------------------------------------------------------------------- */

static int leads(const struct lock_tree *tree, const struct tree_item *waiter)
{
    for (size_t i = 0; i < waiter->n_held; i++)
        if (tree->names[waiter->held[i]].leads)
            return 1;
    return 0;
}

/* Marks the names that match, and those above them: their holders may be the cause of the wait. */
static void mark_leading(struct lock_tree *tree)
{
    int changed = 1;

    for (size_t i = 0; i < tree->n_names; i++) {
        struct tree_name *name = &tree->names[i];

        name->fits = !tree->glob || fnmatch(tree->glob, name->text, 0) == 0;
        name->leads = name->fits;
    }
    while (changed) {
        changed = 0;
        for (size_t i = 0; i < tree->n_items; i++) {
            struct tree_name *name = &tree->names[tree->items[i].name];

            if (!name->leads && leads(tree, &tree->items[i]))
                name->leads = changed = 1;
        }
    }
}

/* ---- lines ----------------------------------------------------------------------------------- */

static char *joined(const char *left, const char *right)
{
    char *text;

    return asprintf(&text, "%s%s", left, right) < 0 ? NULL : text;
}

static struct tree_line *add_line(struct lock_tree *tree, enum tree_kind kind, const char *branch,
                                  const char *joint)
{
    struct tree_line *line =
        rowlock__grown(tree->lines, tree->n_lines, &tree->size_lines, sizeof *line);

    if (!line)
        return NULL;
    tree->lines = line;
    line += tree->n_lines;
    *line = (struct tree_line){.kind = kind, .branch = joined(branch, joint)};
    if (!line->branch)
        return NULL;
    tree->n_lines++;
    return line;
}

#define MIDDLE "├─ "
#define LAST "└─ "
#define BAR "│  "
#define SPACE "   "

static int put_name(struct lock_tree *tree, size_t name, const char *branch, int is_root,
                    int is_last);

/* Whether a name that a waiter holds gets a line below it. `name`: the one that it waits for. */
static int is_wanted(const struct tree_name *name, const struct tree_name *held)
{
    return held->leads || name->fits || name->is_within;
}

/* Adds a line for a name that was shown before, with its first holder. */
static int put_reference(struct lock_tree *tree, const struct tree_name *name, const char *branch,
                         int is_last)
{
    struct tree_line *line =
        add_line(tree, name->is_open ? TREE_CYCLE : TREE_ABOVE, branch, is_last ? LAST : MIDDLE);

    if (!line)
        return -1;
    line->name = name->text;
    line->holder = name->n_holders ? &tree->items[name->first].holder : NULL;
    return 0;
}

static int put_waiter(struct lock_tree *tree, size_t at, int64_t place, const char *branch,
                      int is_last)
{
    const struct tree_item *item = &tree->items[at];
    const struct tree_name *name = &tree->names[item->name];
    struct tree_line *line = add_line(tree, TREE_WAITER, branch, is_last ? LAST : MIDDLE);
    char *inner = line ? joined(branch, is_last ? SPACE : BAR) : NULL;
    size_t n = 0; /* names below the waiter that are still to come */
    int failed = !inner;

    if (line) {
        line->name = name->text;
        line->holder = &item->holder;
        line->place = place;
    }
    for (size_t i = 0; i < item->n_held; i++)
        n += (size_t)is_wanted(name, &tree->names[item->held[i]]);
    for (size_t i = 0; !failed && n > 0; i++) {
        struct tree_name *held = &tree->names[item->held[i]];
        int last;

        if (!is_wanted(name, held))
            continue;
        last = --n == 0;
        held->is_within |= name->fits || name->is_within;
        failed = held->is_shown ? put_reference(tree, held, inner, last)
                                : put_name(tree, item->held[i], inner, 0, last);
    }
    free(inner);
    return failed ? -1 : 0;
}

/* Whether a waiter gets a line: if it leads to a name that matches the pattern, or if it is one of
   the first waiters of a name that matches or is below a match. */
static int is_shown(const struct lock_tree *tree, const struct tree_name *name, size_t i)
{
    const struct tree_item *waiter = &tree->items[name->first + name->n_holders + i];

    if (tree->glob && leads(tree, waiter))
        return 1;
    return (name->fits || name->is_within) && (!tree->most_waiters || i < tree->most_waiters);
}

static int put_waiters(struct lock_tree *tree, const struct tree_name *name, const char *branch)
{
    size_t shown = 0;
    int64_t more;

    for (size_t i = 0; i < name->n_waiters; i++)
        shown += (size_t)is_shown(tree, name, i);
    more = name->queue - (int64_t)shown;
    for (size_t i = 0; i < name->n_waiters; i++)
        if (is_shown(tree, name, i) &&
            put_waiter(tree, name->first + name->n_holders + i, (int64_t)i + 1, branch,
                       --shown == 0 && more == 0))
            return -1;
    if (more > 0) {
        struct tree_line *line = add_line(tree, TREE_MORE, branch, LAST);

        if (!line)
            return -1;
        line->name = name->text;
        line->place = more;
    }
    return 0;
}

static int put_name(struct lock_tree *tree, size_t at, const char *branch, int is_root, int is_last)
{
    struct tree_name *name = &tree->names[at];
    size_t n = name->n_holders ? name->n_holders : 1;
    char *inner = joined(branch, is_root ? "" : is_last ? SPACE : BAR);
    int failed = !inner;

    name->is_shown = name->is_open = 1;
    for (size_t i = 0; i < n && !failed; i++) {
        const char *joint = is_root ? "" : is_last && i + 1 == n ? LAST : MIDDLE;
        struct tree_line *line =
            add_line(tree, name->n_holders ? TREE_HOLDER : TREE_UNKNOWN, branch, joint);

        failed = !line;
        if (!line)
            break;
        line->name = name->text;
        line->holder = name->n_holders ? &tree->items[name->first + i].holder : NULL;
        line->queue = i == 0 ? name->queue : 0;
    }
    failed = failed || put_waiters(tree, name, inner);
    name->is_open = 0;
    free(inner);
    return failed ? -1 : 0;
}

/* ---- all of it ------------------------------------------------------------------------------- */

/* Adds first the names that are below no other, then those that only a cycle contains. */
static int put_roots(struct lock_tree *tree)
{
    size_t *order = tree_rank_names(tree);
    int failed = !order && tree->n_names > 0;

    for (int cycles = 0; cycles < 2; cycles++)
        for (size_t i = 0; !failed && i < tree->n_names; i++) {
            const struct tree_name *name = &tree->names[order[i]];
            int is_root = tree->root ? strcmp(tree->root, name->text) == 0
                                     : name->leads && (cycles || !name->is_below);

            if (is_root && !name->is_shown)
                failed = put_name(tree, order[i], "", 1, 1);
        }
    free(order);
    return failed ? -1 : 0;
}

int tree_grow(struct lock_tree *tree)
{
    if (tree_gather_names(tree) || link_names(tree))
        return -1;
    mark_leading(tree);
    return put_roots(tree);
}

/* Each step of a branch has three characters, of one or three bytes. */
static size_t depth_of(const struct tree_line *line)
{
    size_t n = 0;

    for (const char *at = line->branch; *at; at++)
        n += ((unsigned char)*at & 0xc0) != 0x80;
    return n / 3;
}

size_t tree_cycle(const struct lock_tree *tree, size_t line, const char **names, size_t most)
{
    const char *end = tree->lines[line].name;
    size_t n = 0, depth = depth_of(&tree->lines[line]);

    while (line-- > 0 && n < most) {
        const struct tree_line *above = &tree->lines[line];

        if (depth_of(above) >= depth)
            continue;
        depth = depth_of(above);
        if (above->kind == TREE_WAITER)
            continue;
        names[n++] = above->name;
        if (strcmp(above->name, end) == 0)
            break;
    }
    for (size_t i = 0; i < n / 2; i++) {
        const char *name = names[i];

        names[i] = names[n - 1 - i];
        names[n - 1 - i] = name;
    }
    return n;
}

int64_t tree_now(const struct lock_tree *tree)
{
    for (size_t i = 0; i < tree->n_items; i++) {
        const struct rowlock_holder *holder = &tree->items[i].holder;

        if (holder->holding == ROWLOCK_HOLDS)
            return rowlock__between(holder->remaining_ms, holder->expires_ms);
    }
    return 0;
}

void tree_free(struct lock_tree *tree)
{
    for (size_t i = 0; i < tree->n_lines; i++)
        free(tree->lines[i].branch);
    free(tree->lines);
    for (size_t i = 0; i < tree->n_items; i++)
        free(tree->items[i].held);
    rowlock__rows_clear(&tree->texts);
    free(tree->items);
    free(tree->names);
    *tree = (struct lock_tree){.order = tree->order,
                               .root = tree->root,
                               .glob = tree->glob,
                               .most_waiters = tree->most_waiters};
}
