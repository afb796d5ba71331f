/* SPDX-License-Identifier: Apache-2.0 */
/* Describes a wait in one line. */
#include "run/supervise/waiting.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command/output/output.h"
#include "command/output/table.h"
#include "command/output/words.h"

void waiting_view_clear(struct waiting_view *view)
{
    free(view->text);
    free(view->who);
    free(view->note);
    view->text = view->who = view->note = NULL;
    view->place = view->queue = view->holders = view->since_ms = 0;
    view->stop = 0;
    view->at_ms = 0;
}

void waiting_view_begin(struct waiting_view *view, const char *name)
{
    waiting_view_clear(view);
    view->text = cell_text(name);
}

int waiting_view_add(const struct rowlock_holder *holder, void *data)
{
    struct waiting_view *view = data;

    if (holder->holding == ROWLOCK_WAITS) {
        view->queue++;
        if (strcmp(holder->owner, view->owner) == 0)
            view->place = view->queue;
        return 0;
    }
    if (view->holders++ == 0) {
        view->who = holder_who(holder);
        view->note = cell_text(holder->note);
        view->since_ms = holder->since_ms;
        view->stop = holder->stop;
    }
    return 0;
}

int waiting_view_explains(const struct waiting_view *view)
{
    return view->holders > 0 || view->place > 1;
}

/* ---- the line -------------------------------------------------------------------------------- */

/* A line that is too wide is shortened step by step. */
enum step { WHOLE, FEWER_WORDS, NO_COMMAND, CUT, STEPS };

struct line {
    const struct waiting_view *view;
    enum step step;
    char *waited, *since;
    char *name, *who, *note; /* with room for WAITING_MORE bytes */
};

static void put_holder(FILE *out, const struct line *line)
{
    const struct waiting_view *view = line->view;

    fprintf(out, "; %s%s", line->step < CUT ? "held by " : "", line->who);
    if (view->holders > 1)
        fprintf(out, " and %" PRId64 " other%s", view->holders - 1, view->holders > 2 ? "s" : "");
    if (view->since_ms)
        fprintf(out, " since %s", line->since);
    if (view->stop)
        fputs(", told to stop", out);
    if (view->note && *view->note)
        fprintf(out, ": %s", line->note);
}

/* NULL: out of memory. */
static char *compose(const struct line *line)
{
    const struct waiting_view *view = line->view;
    int is_long = line->step == WHOLE;
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    if (!out)
        return NULL;
    fprintf(out, "%swaiting %s for '%s'", is_long ? "rowlock: " : "", line->waited, line->name);
    if (view->others)
        fprintf(out, " and %zu other name%s", view->others, view->others > 1 ? "s" : "");
    if (view->place)
        fprintf(out, ", %" PRId64 " of %" PRId64 "%s", view->place, view->queue,
                is_long ? " in the queue" : "");
    if (view->holders)
        put_holder(out, line);
    for (int i = 0; i < WAITING_MORE; i++)
        putc('\0', out);
    fclose(out);
    return text;
}

static size_t lesser(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* The note gets a third of the room at least, and what the name and the holder leave. */
static void cut_parts(struct line *line, size_t columns)
{
    struct line empty = *line;
    char nothing[] = "", *text;
    size_t fixed, room, name, who, note = text_width(line->note);

    empty.name = empty.who = empty.note = nothing;
    text = compose(&empty);
    fixed = text ? text_width(text) : 0;
    free(text);
    room = columns > fixed ? columns - fixed : 0;
    note = lesser(note, room / 3);
    name = text_width(line->name);
    who = lesser(text_width(line->who), room - note - lesser(name, (room - note) / 2));
    name = lesser(name, room - note - who);
    cut_text(line->name, name ? name : 1);
    cut_text(line->who, who ? who : 1);
    cut_text(line->note, room > name + who ? room - name - who : 1);
}

static char *copy_of(const char *text, const char *otherwise)
{
    const char *from = text && *text ? text : otherwise;
    char *copy = malloc(strlen(from) + WAITING_MORE);

    return copy ? strcpy(copy, from) : NULL;
}

static char *shorten(struct line *line, size_t columns)
{
    char *text = compose(line);

    while (text && columns && text_width(text) > columns && line->step + 1 < STEPS) {
        free(text);
        line->step++;
        if (line->step == NO_COMMAND) {
            /* A transaction has its session's number at the end. */
            if (!strstr(line->who, ", server session "))
                line->who[strcspn(line->who, " ")] = '\0';
        }
        if (line->step == CUT)
            cut_parts(line, columns);
        text = compose(line);
    }
    return text;
}

char *waiting_text(const struct waiting_view *view, int64_t waited_ms, size_t columns)
{
    struct line line = {.view = view,
                        .waited = cell_duration(waited_ms),
                        .since = cell_instant(view->since_ms),
                        .name = copy_of(view->text, "-"),
                        .who = copy_of(view->who, "-"),
                        .note = copy_of(view->note, "")};
    char *text = NULL;

    if (line.waited && line.since && line.name && line.who && line.note)
        text = shorten(&line, columns);
    free(line.waited);
    free(line.since);
    free(line.name);
    free(line.who);
    free(line.note);
    return text;
}
