/* SPDX-License-Identifier: Apache-2.0 */
/* Holders and waiters, for the verb ls. */
#include <string.h>

#include "command/output/words.h"
#include "show/lists/lists.h"

static void holder_fields(struct fields *to, const void *row)
{
    const struct rowlock_holder *holder = row;
    int transaction = holder->holding == ROWLOCK_HOLDS_TX;

    field_text(to, "NAME", "name", holder->name);
    field_cell(to, "STATE", holder_state(holder));
    field_text(to, NULL, "state", holder->holding == ROWLOCK_WAITS ? "waiting" : "held");
    field_cell(to, "MODE", holder_mode(holder));
    field_text(to, NULL, "mode", holder_modes[holder->mode]);
    field_instant(to, "SINCE", "since", holder->since_ms);
    field_cell(to, "LEFT", holder_left(holder));
    field_instant(to, NULL, "expires", is_endless(holder) ? 0 : holder->expires_ms);
    field_number(to, "TOKEN", "token", holder->token);
    field_cell(to, "WHO", holder_who(holder));
    field_text(to, NULL, "owner", holder->owner);
    field_text(to, NULL, "host", holder->host);
    field_number(to, NULL, "pid", holder->pid);
    field_text(to, NULL, "command", holder->command);
    field_text(to, "NOTE", "note", holder->note);
    field_number(to, NULL, "limit", holder->limit);
    field_number(to, NULL, "permits", holder->mode == ROWLOCK_PERMIT ? holder->count : 0);
    field_is(to, "stop", holder->stop);
    field_text(to, NULL, "kind", transaction ? "transaction" : "lease");
}

static const char *colour_of(const char *state)
{
    return strcmp(state, "waiting") == 0 ? "\033[33m" : "\033[32m";
}

const struct list holder_list = {
    .fields = holder_fields,
    .coloured = "STATE",
    .colour = colour_of,
    .spare = (const char *const[]){"NOTE", "TOKEN", "MODE", "SINCE", "LEFT", NULL},
    .who = "WHO"};
