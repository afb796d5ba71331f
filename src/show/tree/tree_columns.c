/* SPDX-License-Identifier: Apache-2.0 */
/* Prints a tree of holders and waiters. */
#include "show/tree/lock_tree.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "command/output/words.h"
#include "util/calendar.h"
#include "util/clock.h"

struct tree_row {
    const struct tree_line *line;
    int64_t now_ms;
};

static void tree_fields(struct fields *to, const void *data)
{
    static const char *const states[] = {[TREE_UNKNOWN] = "unknown",
                                         [TREE_MORE] = "waiting",
                                         [TREE_ABOVE] = "see above",
                                         [TREE_CYCLE] = "cycle"};
    const struct tree_row *row = data;
    const struct tree_line *line = row->line;
    const struct rowlock_holder *holder = line->holder;
    int has_age = holder && holder->since_ms;
    int is_reported = line->kind == TREE_HOLDER || line->kind == TREE_WAITER;
    const char *none = line->kind == TREE_UNKNOWN ? "none reported" : "-";

    field_cell(to, "NAME",
               line->kind == TREE_WAITER ? cell_format("%s#%" PRId64, line->branch, line->place)
               : line->kind == TREE_MORE
                   ? cell_format("%s%" PRId64 " more", line->branch, line->place)
                   : cell_format("%s%s", line->branch, line->name));
    field_cell(to, "STATE", is_reported ? holder_state(holder) : strdup(states[line->kind]));
    field_cell(to, "MODE", holder ? holder_mode(holder) : strdup("-"));
    field_duration(to, "AGE", NULL, has_age,
                   has_age ? rowlock__between(holder->since_ms, row->now_ms) : 0);
    field_cell(to, "LEFT", holder ? holder_left(holder) : strdup("-"));
    field_cell(to, "WHO", holder ? holder_who(holder) : strdup(none));
    field_text(to, "NOTE", NULL, holder ? holder->note : "");
}

static const char *colour_of(const char *state)
{
    if (strcmp(state, "cycle") == 0)
        return "\033[31m";
    return strcmp(state, "waiting") == 0 ? "\033[33m" : "\033[32m";
}

const struct list tree_list = {.fields = tree_fields,
                               .coloured = "STATE",
                               .colour = colour_of,
                               .spare = (const char *const[]){"NOTE", "MODE", "LEFT", "AGE", NULL},
                               .who = "WHO"};

int tree_table_add(const struct lock_tree *tree, size_t most, struct table *table)
{
    struct tree_row row = {.now_ms = tree_now(tree)};

    /* The database's time, which a lease shows; without a lease, that of this node's clock. */
    if (!row.now_ms)
        row.now_ms = rowlock__wall_ms();
    for (size_t i = 0; i < tree->n_lines && (!most || i < most); i++) {
        row.line = &tree->lines[i];
        if (table_add(table, &row))
            return -1;
    }
    return 0;
}
