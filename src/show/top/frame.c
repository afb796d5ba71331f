/* SPDX-License-Identifier: Apache-2.0 */
/* Makes a frame: a head, the jobs that are not fine, the queues, and the keys. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "command/output/output.h"
#include "show/top/top.h"
#include "show/tree/lock_tree.h"
#include "util/calendar.h"
#include "util/clock.h"

#define BOLD "\033[1m"
#define RED "\033[31m"
#define PLAIN "\033[0m"
#define LINE_MORE 16 /* for an ellipsis and PLAIN */

static const char *const help[] = {
    "",
    "  /   filter: a part of a name, or a pattern with * ? [...]; empty: all",
    "  s   sort the names: by queue, by the longest wait, by name",
    "  p   pause, and continue",
    "  q   quit",
    "  ?   this help; any key closes it, q too; ^C quits",
    "",
    "  The jobs come first: lost, failing, late; then slow and paused ones.",
    "  Each name has its holders, below them its waiters, and below a waiter",
    "  the names that it holds itself, with their waiters."};

static const char *const order_words[] = {
    [ROWLOCK_BY_QUEUE] = "queue", [ROWLOCK_BY_WAIT] = "wait", [ROWLOCK_BY_NAME] = "name"};

/* ---- the lines ------------------------------------------------------------------------------- */

static void put_head(FILE *out, const struct top_data *data, const struct top_view *view)
{
    const struct rowlock_job_counts *counts = &data->job_counts;
    const char *joint = ": ";
    char *filter = cell_text(data->choice.glob), clock[ROWLOCK_INSTANT_SIZE];
    int64_t now_ms = rowlock__wall_ms();

    rowlock__local_time_short(now_ms, now_ms, clock, sizeof clock);
    fprintf(out, "%srowlock top%s  %s  %" PRId64 " job%s", view->coloured ? BOLD : "",
            view->coloured ? PLAIN : "", clock, counts->jobs, counts->jobs == 1 ? "" : "s");
    for (int health = JOB_HEALTHS - 1; health > ROWLOCK_HEALTH_FINE; health--)
        if (counts->of[health]) {
            fprintf(out, "%s%" PRId64 " %s", joint, counts->of[health], job_healths[health]);
            joint = ", ";
        }
    fprintf(out, "  by %s", order_words[data->choice.order]);
    if (filter && *filter)
        fprintf(out, "  filter %s", filter);
    if (view->is_paused)
        fputs("  PAUSED", out);
    putc('\n', out);
    free(filter);
}

static void put_keys(FILE *out, const struct top_data *data, const struct top_view *view)
{
    char *typing = view->typing ? cell_text(view->typing) : NULL;

    if (view->shows_help)
        fputs("any key closes the help  ^C quit", out);
    else if (typing)
        fprintf(out, "filter: %s_   Enter applies it, Escape cancels", typing);
    else
        fprintf(out, "/ filter  s sort by %s  p %s  ? help  q quit",
                order_words[(data->choice.order + 1) % 3], view->is_paused ? "continue" : "pause");
    free(typing);
}

/* Puts the jobs on at most a third of the screen, so that the queues stay visible. */
static size_t put_jobs(FILE *out, const struct top_data *data, const struct top_view *view)
{
    struct table table = data->jobs;
    size_t most = view->lines ? view->lines / 3 : table.n;
    const struct rowlock_job_counts *counts = &data->job_counts;
    int64_t left = counts->jobs - counts->of[ROWLOCK_HEALTH_FINE];

    if (table.n == 0)
        return 0;
    table.n = table.n > most ? most : table.n;
    left -= (int64_t)table.n;
    table_write(out, &table, view->columns, view->coloured);
    if (left > 0)
        fprintf(out, "and %" PRId64 " more; rowlock jobs --check lists all\n", left);
    putc('\n', out);
    return table.n + 2 + (left > 0);
}

/* Puts the help, or the jobs and the queues. Nonzero: out of memory. */
static int put_body(FILE *out, const struct top_data *data, const struct top_view *view)
{
    struct table queues = {.list = &tree_list};
    size_t used = 3 + (*view->why != '\0'); /* the head, the titles, the keys */
    size_t room = 0;
    int failed;

    if (view->shows_help) {
        for (size_t i = 0; i < sizeof help / sizeof *help; i++)
            fprintf(out, "%s\n", help[i]);
        return 0;
    }
    used += put_jobs(out, data, view);
    if (view->lines)
        room = view->lines > used ? view->lines - used : 1;
    failed = tree_table_add(&data->tree, room, &queues);
    if (queues.n > 0)
        table_write(out, &queues, view->columns, view->coloured);
    else if (data->read_ms)
        fputs(*data->choice.glob ? "no name that is held or waited for matches the filter\n"
                                 : "no lease is held or waited for\n",
              out);
    table_free(&queues);
    return failed;
}

/* ---- the frame ------------------------------------------------------------------------------- */

static void put_cut(FILE *out, const char *line, size_t columns)
{
    size_t size = strlen(line) + LINE_MORE;
    char *text = malloc(size);

    if (!text)
        return;
    strcpy(text, line);
    if (text_width(text) > columns) {
        cut_text(text, columns);
        strcat(text, PLAIN);
    }
    fputs(text, out);
    free(text);
}

/* Fits the frame to the screen: leaves out the lines beyond it, and puts the keys at its end. */
static char *fit(const char *body, const char *keys, const struct top_view *view)
{
    char *copy = strdup(body), *line, *next = copy, *text = NULL;
    size_t size, n = 0;
    FILE *out = copy ? open_memstream(&text, &size) : NULL;

    while (out && n + 1 < view->lines && (line = strsep(&next, "\n")) && next) {
        put_cut(out, line, view->columns);
        putc('\n', out);
        n++;
    }
    for (; out && n + 1 < view->lines; n++)
        putc('\n', out);
    if (out) {
        put_cut(out, keys, view->columns);
        fclose(out);
    }
    free(copy);
    return text;
}

char *top_frame(const struct top_data *data, const struct top_view *view)
{
    char *body = NULL, *keys = NULL, *frame;
    size_t size, keys_size;
    FILE *out = open_memstream(&body, &size), *below = open_memstream(&keys, &keys_size);
    int failed = !out || !below;

    begin_width();
    if (!failed) {
        put_head(out, data, view);
        if (*view->why) {
            char *age = cell_duration(rowlock__now_ms() - data->read_ms),
                 *why = cell_text(view->why);

            fputs(view->coloured ? RED : "", out);
            if (!data->read_ms)
                fprintf(out, "no data yet: %s", why ? why : "");
            else
                fprintf(out, "data of %s ago: %s", age ? age : "", why ? why : "");
            fprintf(out, "%s\n", view->coloured ? PLAIN : "");
            free(age);
            free(why);
        }
        failed = put_body(out, data, view);
        put_keys(below, data, view);
    }
    if (out)
        fclose(out);
    if (below)
        fclose(below);
    frame = failed ? NULL : view->lines ? fit(body, keys, view) : body;
    if (frame != body)
        free(body);
    free(keys);
    return frame;
}
