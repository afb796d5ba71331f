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

static void put_key(FILE *out, const char *key)
{
    fprintf(out, ",\"%s\":", key);
}

static void put_who(FILE *out, const struct rowlock_holder *holder)
{
    put_key(out, "owner");
    json_text(out, holder->owner);
    put_key(out, "host");
    json_text(out, holder->host);
    put_key(out, "pid");
    json_number(out, holder->pid);
    put_key(out, "command");
    json_text(out, holder->command);
    put_key(out, "note");
    json_text(out, holder->note);
}

void put_holder(FILE *out, const struct rowlock_holder *holder)
{
    fputs("{\"name\":", out);
    json_text(out, holder->name);
    put_key(out, "state");
    json_text(out, holder->holding == ROWLOCK_WAITS ? "waiting" : "held");
    put_key(out, "mode");
    json_text(out, holder_modes[holder->mode]);
    put_key(out, "token");
    json_number(out, holder->token);
    put_who(out, holder);
    put_key(out, "since");
    json_instant(out, holder->since_ms);
    put_key(out, "expires");
    json_instant(out, is_endless(holder) ? 0 : holder->expires_ms);
    put_key(out, "limit");
    json_number(out, holder->limit);
    put_key(out, "stop");
    fputs(holder->stop ? "true" : "false", out);
    put_key(out, "kind");
    json_text(out, holder->holding == ROWLOCK_HOLDS_TX ? "transaction" : "lease");
    putc('}', out);
}

/* ---- the cells ------------------------------------------------------------------------------- */

enum { NAME, STATE, MODE, SINCE, LEFT, TOKEN, WHO, NOTE, LIST_COLUMNS };

static const char *const titles[LIST_COLUMNS] = {
    [NAME] = "NAME", [STATE] = "STATE", [MODE] = "MODE", [SINCE] = "SINCE",
    [LEFT] = "LEFT", [TOKEN] = "TOKEN", [WHO] = "WHO",   [NOTE] = "NOTE"};

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
    char *cells[LIST_COLUMNS] = {
        [NAME] = cell_text(holder->name), [STATE] = holder_state(holder),
        [MODE] = holder_mode(holder),     [SINCE] = cell_instant(holder->since_ms),
        [LEFT] = holder_left(holder),     [TOKEN] = cell_number(holder->token),
        [WHO] = holder_who(holder),       [NOTE] = cell_text(holder->note)};

    return table_add(table, cells);
}
