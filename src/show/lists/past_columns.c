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

static void put_key(FILE *out, const char *key)
{
    fprintf(out, ",\"%s\":", key);
}

static void put_end(FILE *out, const struct rowlock_past *past)
{
    int is_run = past->ending == ROWLOCK_ENDED_RUN;

    put_key(out, "kind");
    json_text(out, is_run ? "run" : past->ending == ROWLOCK_ENDED_GAVE_UP ? "waiter" : "lease");
    put_key(out, "how");
    json_text(out, ending_in_json(past));
    put_key(out, "broken_by");
    if (*past->broken_by)
        json_text(out, past->broken_by);
    else
        fputs("null", out);
    put_key(out, "problem");
    fputs(is_problem(past) ? "true" : "false", out);
    put_key(out, "exit");
    if (is_run && (past->outcome == ROWLOCK_RUN_DONE || past->exit))
        fprintf(out, "%d", past->exit);
    else
        fputs("null", out);
}

static void put_times(FILE *out, const struct rowlock_past *past)
{
    put_key(out, "acquired");
    json_instant(out, past->acquired_ms);
    put_key(out, "ended");
    json_instant(out, past->ended_ms);
    put_key(out, "held_ms");
    if (past->acquired_ms)
        fprintf(out, "%" PRId64, past->held_ms);
    else
        fputs("null", out);
    put_key(out, "waited_ms");
    fprintf(out, "%" PRId64, past->waited_ms);
}

void put_past(FILE *out, const struct rowlock_past *past)
{
    fputs("{\"name\":", out);
    json_text(out, past->name);
    put_end(out, past);
    put_key(out, "mode");
    json_text(out, modes[past->mode]);
    put_key(out, "permits");
    json_number(out, past->mode == ROWLOCK_PERMIT ? past->count : 0);
    put_key(out, "token");
    json_number(out, past->token);
    put_times(out, past);
    put_key(out, "host");
    json_text(out, past->host);
    put_key(out, "pid");
    json_number(out, past->pid);
    put_key(out, "command");
    json_text(out, past->command);
    put_key(out, "note");
    json_text(out, past->note);
    putc('}', out);
}

/* ---- the table ------------------------------------------------------------------------------- */

enum { ENDED, NAME, MODE, HELD, WAITED, WHO, HOW, NOTE, COLUMNS };

static const char *const titles[COLUMNS] = {
    [ENDED] = "ENDED",   [NAME] = "NAME", [MODE] = "MODE", [HELD] = "HELD",
    [WAITED] = "WAITED", [WHO] = "WHO",   [HOW] = "HOW",   [NOTE] = "NOTE"};

static const char *colour_of(const char *how)
{
    return strcmp(how, "released") == 0 || strcmp(how, "done") == 0 ? "\033[32m" : "\033[31m";
}

struct table log_table(void)
{
    static const unsigned char spare[] = {NOTE, MODE, WAITED, HELD, 0};

    return (struct table){.titles = titles,
                          .columns = COLUMNS,
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
    char *cells[COLUMNS] = {
        [ENDED] = cell_instant(past->ended_ms),
        [NAME] = cell_text(past->name),
        [MODE] = mode_of(past),
        [HELD] = past->acquired_ms ? cell_duration(rounded_ms(past->held_ms)) : strdup("-"),
        [WAITED] = past->waited_ms ? cell_duration(rounded_ms(past->waited_ms)) : strdup("-"),
        [WHO] = who_of(past),
        [HOW] = how_of(past),
        [NOTE] = cell_text(past->note)};

    return table_add(table, cells);
}
