/* SPDX-License-Identifier: Apache-2.0 */
/* Prints holders and waiters, for the verb ls. */
#include "show/lists/holder_columns.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command/output/holder.h"
#include "command/output/json.h"

/* ---- JSON ------------------------------------------------------------------------------------ */

void put_holder(FILE *out, const struct rowlock_holder *holder)
{
    struct json json = {out, "{", ""};

    json_put_text(&json, "name", holder->name);
    json_put_text(&json, "state", holder->holding == ROWLOCK_WAITS ? "waiting" : "held");
    json_put_text(&json, "mode", holder_modes[holder->mode]);
    json_put_number(&json, "token", holder->token);
    json_put_text(&json, "owner", holder->owner);
    json_put_text(&json, "host", holder->host);
    json_put_number(&json, "pid", holder->pid);
    json_put_text(&json, "command", holder->command);
    json_put_text(&json, "note", holder->note);
    json_put_instant(&json, "since", holder->since_ms);
    json_put_instant(&json, "expires", is_endless(holder) ? 0 : holder->expires_ms);
    json_put_number(&json, "limit", holder->limit);
    json_put_is(&json, "stop", holder->stop);
    json_put_text(&json, "kind", holder->holding == ROWLOCK_HOLDS_TX ? "transaction" : "lease");
    putc('}', out);
}

/* ---- the cells ------------------------------------------------------------------------------- */

#define COLUMNS(XX)                           \
    XX(NAME, cell_text(holder->name))         \
    XX(STATE, holder_state(holder))           \
    XX(MODE, holder_mode(holder))             \
    XX(SINCE, cell_instant(holder->since_ms)) \
    XX(LEFT, holder_left(holder))             \
    XX(TOKEN, cell_number(holder->token))     \
    XX(WHO, holder_who(holder))               \
    XX(NOTE, cell_text(holder->note))

enum { COLUMNS(COLUMN_INDEX) LIST_COLUMNS };

static const char *const titles[] = {COLUMNS(COLUMN_TITLE)};

/* ---- the table ------------------------------------------------------------------------------- */

static const char *colour_of(const char *state)
{
    return strcmp(state, "waiting") == 0 ? "\033[33m" : "\033[32m";
}

struct table list_table(void)
{
    static const unsigned char spare[] = {NOTE, TOKEN, MODE, SINCE, LEFT, 0};

    return (struct table){.titles = titles,
                          .columns = LIST_COLUMNS,
                          .coloured = STATE,
                          .colour = colour_of,
                          .spare = spare,
                          .who = WHO};
}

int list_table_add(const struct rowlock_holder *holder, void *table)
{
    char *cells[] = {COLUMNS(COLUMN_CELL)};

    return table_add(table, cells);
}
