/* SPDX-License-Identifier: Apache-2.0 */
/* The history, for the verb log. */
#include "show/lists/lists.h"

#include <string.h>

#include "command/output/words.h"

static const char *ending_in_json(const struct rowlock_past *past)
{
    return past->ending == ROWLOCK_ENDED_RUN ? rowlock_outcome_text(past->outcome)
                                             : rowlock_ending_text(past->ending);
}

const char *ending_word(const struct rowlock_past *past)
{
    return past->ending == ROWLOCK_ENDED_REVOKED ? "broken" : ending_in_json(past);
}

int is_problem(const struct rowlock_past *past)
{
    return past->ending == ROWLOCK_ENDED_RUN
               ? past->outcome != ROWLOCK_RUN_DONE
               : past->ending != ROWLOCK_ENDED_RELEASED && past->ending != ROWLOCK_ENDED_DUE_NOW;
}

int64_t rounded_ms(int64_t ms)
{
    return ms < 1000 || ms > INT64_MAX - 500 ? ms : (ms + 500) / 1000 * 1000;
}

static void past_fields(struct fields *to, const void *row)
{
    const struct rowlock_past *past = row;
    int is_run = past->ending == ROWLOCK_ENDED_RUN;
    int is_request = past->ending == ROWLOCK_ENDED_DUE_NOW;
    int gave_up = past->ending == ROWLOCK_ENDED_GAVE_UP, was_held = past->acquired_ms != 0;
    const char *mode = is_request ? "-" : is_run ? "run" : holder_modes[past->mode];
    int permits = past->mode == ROWLOCK_PERMIT ? past->count : 0;

    field_instant(to, "ENDED", "ended", past->ended_ms);
    field_text(to, "NAME", "name", past->name);
    field_cell(to, "MODE",
               is_request || is_run || permits <= 1 ? strdup(mode)
                                                    : cell_format("%d permits", permits));
    field_text(to, NULL, "mode", holder_modes[past->mode]);
    field_text(to, NULL, "kind",
               is_run       ? "run"
               : gave_up    ? "waiter"
               : is_request ? "request"
                            : "lease");
    field_duration(to, "HELD", NULL, was_held, rounded_ms(past->held_ms));
    field_count(to, NULL, "held_ms", was_held, past->held_ms);
    field_duration(to, "WAITED", NULL, past->waited_ms != 0, rounded_ms(past->waited_ms));
    field_count(to, NULL, "waited_ms", 1, past->waited_ms);
    field_cell(to, "WHO", who_cell(past->host, past->pid, past->command));
    field_text(to, NULL, "host", past->host);
    field_number(to, NULL, "pid", past->pid);
    field_text(to, NULL, "command", past->command);
    field_cell(to, "HOW",
               is_run && past->outcome == ROWLOCK_RUN_FAILED
                   ? cell_format("failed, exit %d", past->exit)
                   : cell_format("%s%s%s", ending_word(past), *past->broken_by ? " by " : "",
                                 past->broken_by));
    field_text(to, NULL, "how", ending_in_json(past));
    field_text(to, NULL, "broken_by", past->broken_by);
    field_is(to, "problem", is_problem(past));
    field_count(to, NULL, "exit", is_run && (past->outcome == ROWLOCK_RUN_DONE || past->exit),
                past->exit);
    field_text(to, "NOTE", "note", past->note);
    field_instant(to, NULL, "acquired", past->acquired_ms);
    field_number(to, NULL, "token", past->token);
    field_number(to, NULL, "permits", permits);
}

static const char *colour_of(const char *how)
{
    return strcmp(how, "released") == 0 || strcmp(how, "done") == 0 ||
                   strncmp(how, "due now", strlen("due now")) == 0
               ? "\033[32m"
               : "\033[31m";
}

const struct list past_list = {.fields = past_fields,
                               .coloured = "HOW",
                               .colour = colour_of,
                               .spare =
                                   (const char *const[]){"NOTE", "MODE", "WAITED", "HELD", NULL},
                               .who = "WHO"};
