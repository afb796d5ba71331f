/* SPDX-License-Identifier: Apache-2.0 */
#include "show/lists/past_columns.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "command/output/json.h"

static const char *const modes[] = {
    [ROWLOCK_EXCLUSIVE] = "exclusive", [ROWLOCK_SHARED] = "shared", [ROWLOCK_PERMIT] = "permit"};

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
    return past->ending == ROWLOCK_ENDED_RUN ? past->outcome != ROWLOCK_RUN_DONE
                                             : past->ending != ROWLOCK_ENDED_RELEASED;
}

int64_t rounded_ms(int64_t ms)
{
    return ms < 1000 || ms > INT64_MAX - 500 ? ms : (ms + 500) / 1000 * 1000;
}

/* ---- JSON ------------------------------------------------------------------------------------ */

void put_past(FILE *out, const struct rowlock_past *past)
{
    struct json json = {out, "{", ""};
    int is_run = past->ending == ROWLOCK_ENDED_RUN;
    int gave_up = past->ending == ROWLOCK_ENDED_GAVE_UP;

    json_put_text(&json, "name", past->name);
    json_put_text(&json, "kind", is_run ? "run" : gave_up ? "waiter" : "lease");
    json_put_text(&json, "how", ending_in_json(past));
    json_put_text(&json, "broken_by", past->broken_by);
    json_put_is(&json, "problem", is_problem(past));
    json_put_count(&json, "exit", is_run && (past->outcome == ROWLOCK_RUN_DONE || past->exit),
                   past->exit);
    json_put_text(&json, "mode", modes[past->mode]);
    json_put_number(&json, "permits", past->mode == ROWLOCK_PERMIT ? past->count : 0);
    json_put_number(&json, "token", past->token);
    json_put_instant(&json, "acquired", past->acquired_ms);
    json_put_instant(&json, "ended", past->ended_ms);
    json_put_count(&json, "held_ms", past->acquired_ms != 0, past->held_ms);
    json_put_count(&json, "waited_ms", 1, past->waited_ms);
    json_put_text(&json, "host", past->host);
    json_put_number(&json, "pid", past->pid);
    json_put_text(&json, "command", past->command);
    json_put_text(&json, "note", past->note);
    putc('}', out);
}

/* ---- the table ------------------------------------------------------------------------------- */

#define COLUMNS(XX)                                                                        \
    XX(ENDED, cell_instant(past->ended_ms))                                                \
    XX(NAME, cell_text(past->name))                                                        \
    XX(MODE, mode_of(past))                                                                \
    XX(HELD, past->acquired_ms ? cell_duration(rounded_ms(past->held_ms)) : strdup("-"))   \
    XX(WAITED, past->waited_ms ? cell_duration(rounded_ms(past->waited_ms)) : strdup("-")) \
    XX(WHO, who_of(past))                                                                  \
    XX(HOW, how_of(past))                                                                  \
    XX(NOTE, cell_text(past->note))

enum { COLUMNS(COLUMN_INDEX) N_COLUMNS };

static const char *const titles[] = {COLUMNS(COLUMN_TITLE)};

static const char *colour_of(const char *how)
{
    return strcmp(how, "released") == 0 || strcmp(how, "done") == 0 ? "\033[32m" : "\033[31m";
}

struct table log_table(void)
{
    static const unsigned char spare[] = {NOTE, MODE, WAITED, HELD, 0};

    return (struct table){.titles = titles,
                          .columns = N_COLUMNS,
                          .coloured = HOW,
                          .colour = colour_of,
                          .spare = spare,
                          .who = WHO};
}

static char *mode_of(const struct rowlock_past *past)
{
    char *text;

    if (past->ending == ROWLOCK_ENDED_RUN)
        return strdup("run");
    if (past->mode != ROWLOCK_PERMIT || past->count <= 1)
        return strdup(modes[past->mode]);
    return asprintf(&text, "%d permits", past->count) < 0 ? NULL : text;
}

char *past_holder(const struct rowlock_past *past)
{
    char *text, pid[32] = "";

    if (past->pid)
        snprintf(pid, sizeof pid, ":%" PRId64, past->pid);
    if (asprintf(&text, "%s%s%s%s", *past->host ? past->host : "-", pid, *past->command ? " " : "",
                 past->command) < 0)
        return NULL;
    return text;
}

static char *who_of(const struct rowlock_past *past)
{
    char *plain = past_holder(past), *text = plain ? cell_text(plain) : NULL;

    free(plain);
    return text;
}

static char *how_of(const struct rowlock_past *past)
{
    char *text, *cell;

    if (past->ending == ROWLOCK_ENDED_RUN && past->outcome == ROWLOCK_RUN_FAILED)
        return asprintf(&text, "failed, exit %d", past->exit) < 0 ? NULL : text;
    if (!*past->broken_by)
        return strdup(ending_word(past));
    if (asprintf(&text, "%s by %s", ending_word(past), past->broken_by) < 0)
        return NULL;
    cell = cell_text(text);
    free(text);
    return cell;
}

int log_table_add(const struct rowlock_past *past, struct table *table)
{
    char *cells[] = {COLUMNS(COLUMN_CELL)};

    return table_add(table, cells);
}
