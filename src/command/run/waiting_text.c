/* SPDX-License-Identifier: Apache-2.0 */
/* Describes a wait in one line. */
#include "command/run/waiting_text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command/output/holder.h"
#include "command/output/table.h"

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

static const char *or_dash(const char *text)
{
    return text && *text ? text : "-";
}

static void put_holder(FILE *out, const struct waiting_view *view)
{
    char *since = cell_instant(view->since_ms);

    fprintf(out, "; held by %s", or_dash(view->who));
    if (view->holders > 1)
        fprintf(out, " and %" PRId64 " other%s", view->holders - 1, view->holders > 2 ? "s" : "");
    if (since && view->since_ms)
        fprintf(out, " since %s", since);
    if (view->stop)
        fputs(", told to stop", out);
    if (view->note && *view->note)
        fprintf(out, ": %s", view->note);
    free(since);
}

char *waiting_text(const struct waiting_view *view, int64_t waited_ms)
{
    char *waited = cell_duration(waited_ms), *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    if (out) {
        fprintf(out, "rowlock: waiting %s for '%s'", or_dash(waited), or_dash(view->text));
        if (view->others)
            fprintf(out, " and %zu other name%s", view->others, view->others > 1 ? "s" : "");
        if (view->place)
            fprintf(out, ", %" PRId64 " of %" PRId64 " in the queue", view->place, view->queue);
        if (view->holders)
            put_holder(out, view);
        for (int i = 0; i < WAITING_MORE; i++)
            putc('\0', out);
        fclose(out);
    }
    free(waited);
    return text;
}
