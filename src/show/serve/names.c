/* SPDX-License-Identifier: Apache-2.0 */
#include "show/serve/names.h"

#include <stdlib.h>
#include <string.h>

/* Compares names. Items of one name keep their order, which is that of their addresses. */
static int by_name(const void *left, const void *right)
{
    const struct rowlock_holder *a = *(const struct rowlock_holder *const *)left;
    const struct rowlock_holder *b = *(const struct rowlock_holder *const *)right;
    int order = strcmp(a->name, b->name);
    int waits = (a->holding == ROWLOCK_WAITS) - (b->holding == ROWLOCK_WAITS);

    return order ? order : waits ? waits : a < b ? -1 : a > b;
}

static void add(struct lock_name *name, const struct rowlock_holder *holder)
{
    name->name = holder->name;
    name->stops |= holder->stop;
    if (holder->holding != ROWLOCK_WAITS) {
        name->held++;
        return;
    }
    name->waiting++;
    if (!name->waits_since_ms || holder->since_ms < name->waits_since_ms)
        name->waits_since_ms = holder->since_ms;
}

int names_of(const struct view *view, struct lock_names *out)
{
    const struct rowlock_holder *holders = view_holders(view);
    size_t n = view->holders.n;

    *out = (struct lock_names){.at = calloc(n + 1, sizeof *out->at),
                               .items = calloc(n + 1, sizeof *out->items)};
    if (!out->at || !out->items)
        return -1;
    for (size_t i = 0; i < n; i++)
        out->items[i] = &holders[i];
    if (n > 0)
        qsort(out->items, n, sizeof *out->items, by_name);
    for (size_t i = 0; i < n; i++) {
        if (i == 0 || strcmp(out->items[i]->name, out->items[i - 1]->name) != 0)
            out->at[out->n++].items = &out->items[i];
        add(&out->at[out->n - 1], out->items[i]);
    }
    return 0;
}

static int by_queue(const void *left, const void *right)
{
    const struct lock_name *a = left, *b = right;

    if (a->waiting != b->waiting)
        return a->waiting > b->waiting ? -1 : 1;
    if (a->waits_since_ms != b->waits_since_ms)
        return a->waits_since_ms < b->waits_since_ms ? -1 : 1;
    return strcmp(a->name, b->name);
}

void names_by_queue(struct lock_names *names)
{
    if (names->n > 0)
        qsort(names->at, names->n, sizeof *names->at, by_queue);
}

void names_free(struct lock_names *names)
{
    free(names->at);
    free(names->items);
}

const char *name_tone(const struct lock_name *name)
{
    return name->stops ? "bad" : name->held ? "good" : name->waiting ? "wait" : "calm";
}

const char *name_state(const struct lock_name *name)
{
    return name->stops ? "told to stop" : name->held ? "held" : name->waiting ? "waiting" : "free";
}
