/* SPDX-License-Identifier: Apache-2.0 */
/* Prints a tree of holders and waiters. */
#include "show/tree/tree_columns.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "command/output/holder.h"
#include "util/clock.h"

#define COLUMNS(XX)                                                                                \
    XX(NAME, name_of(line))                                                                        \
    XX(STATE, state_of(line))                                                                      \
    XX(MODE, holder ? holder_mode(holder) : dash())                                                \
    XX(AGE, holder && holder->since_ms ? cell_duration(rowlock__between(holder->since_ms, now_ms)) \
                                       : dash())                                                   \
    XX(LEFT, holder ? holder_left(holder) : dash())                                                \
    XX(WHO, who_of(line))                                                                          \
    XX(NOTE, cell_text(holder ? holder->note : ""))

enum { COLUMNS(COLUMN_INDEX) N_COLUMNS };

static const char *const titles[] = {COLUMNS(COLUMN_TITLE)};

static const char *colour_of(const char *state)
{
    if (strcmp(state, "cycle") == 0)
        return "\033[31m";
    return strcmp(state, "waiting") == 0 ? "\033[33m" : "\033[32m";
}

struct table tree_table(void)
{
    static const unsigned char spare[] = {NOTE, MODE, LEFT, AGE, 0};

    return (struct table){.titles = titles,
                          .columns = N_COLUMNS,
                          .coloured = STATE,
                          .colour = colour_of,
                          .spare = spare,
                          .who = WHO};
}

static char *name_of(const struct tree_line *line)
{
    char *plain, *name = cell_text(line->name);
    int length;

    if (!name)
        return NULL;
    if (line->kind == TREE_WAITER)
        length = asprintf(&plain, "%s#%" PRId64, line->branch, line->place);
    else if (line->kind == TREE_MORE)
        length = asprintf(&plain, "%s%" PRId64 " more", line->branch, line->place);
    else
        length = asprintf(&plain, "%s%s", line->branch, name);
    free(name);
    return length < 0 ? NULL : plain;
}

static char *state_of(const struct tree_line *line)
{
    static const char *const states[] = {[TREE_UNKNOWN] = "unknown",
                                         [TREE_MORE] = "waiting",
                                         [TREE_ABOVE] = "see above",
                                         [TREE_CYCLE] = "cycle"};

    if (line->kind == TREE_HOLDER || line->kind == TREE_WAITER)
        return holder_state(line->holder);
    return strdup(states[line->kind]);
}

static char *dash(void)
{
    return strdup("-");
}

static char *who_of(const struct tree_line *line)
{
    if (line->kind == TREE_UNKNOWN)
        return strdup("none reported");
    return line->holder ? holder_who(line->holder) : dash();
}

static int add(struct table *table, const struct tree_line *line, int64_t now_ms)
{
    const struct rowlock_holder *holder = line->holder;
    char *cells[] = {COLUMNS(COLUMN_CELL)};

    return table_add(table, cells);
}

/* The database's time, which a lease shows; without a lease, that of this node's clock. */
static int64_t now_of(const struct lock_tree *tree)
{
    int64_t now_ms = tree_now(tree);
    struct timespec now;

    if (now_ms)
        return now_ms;
    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

int tree_table_add(const struct lock_tree *tree, size_t most, struct table *table)
{
    int64_t now_ms = now_of(tree);

    for (size_t i = 0; i < tree->n_lines && (!most || i < most); i++)
        if (add(table, &tree->lines[i], now_ms))
            return -1;
    return 0;
}
