/* SPDX-License-Identifier: Apache-2.0 */
#include "show/serve/page.h"

#include <inttypes.h>
#include <string.h>

#include "show/lists/lists.h"
#include "show/log/log.h"
#include "show/serve/html.h"

static int is_shown(const struct page *page, const struct rowlock_past *past)
{
    const char *texts[] = {past->name, past->host,        past->command,
                           past->note, ending_word(past), NULL};

    return page_matches(page, texts);
}

static void put_past_row(struct html_table *table, const struct rowlock_past *past, int64_t now_ms,
                         int with_name)
{
    html_row(table);
    if (with_name)
        html_link(html_cell(table, "Name"), "/lock?name=", past->name);
    html_since(html_cell(table, "Ended"), past->ended_ms, now_ms);
    html_pill(html_cell(table, "How"), is_problem(past) ? "bad" : "good", ending_word(past));
    if (*past->broken_by) {
        fputs(" by ", table->out);
        html_text(table->out, past->broken_by);
    }
    html_duration(html_cell(table, "*Held"), past->acquired_ms != 0, rounded_ms(past->held_ms));
    html_duration(html_cell(table, "*Waited"), past->waited_ms > 0, rounded_ms(past->waited_ms));
    cell_caller(html_cell(table, "Holder"), past->host, past->pid, past->command);
    cell_or_none(html_cell(table, "Note"), past->note);
}

/* Whether the history has entries of another name: that of a name includes its job's. */
static int has_other_name(const struct page *page, const struct view *view)
{
    size_t i = 0;

    while (i < view->pasts.n && strcmp(view->pasts.items.past[i].name, page->name) == 0)
        i++;
    return i < view->pasts.n;
}

static size_t put_list(const struct page *page, const struct view *view)
{
    int with_name = has_other_name(page, view);
    struct html_table table =
        html_table_begin(page->out, page->failed, "Endings, the latest first");
    size_t n = 0;

    for (size_t i = 0; i < view->pasts.n; i++)
        if (is_shown(page, &view->pasts.items.past[i])) {
            put_past_row(&table, &view->pasts.items.past[i], page->shown->now_ms, with_name);
            n++;
        }
    html_table_end(&table);
    return n;
}

void history_put(const struct page *page, const struct view *view)
{
    page_section(page, "history", *page->name ? "History" : "Latest endings",
                 view ? (long)view->pasts.n : -1);
    if (!view) {
        page_not_read(page);
    } else if (view->pasts.n == 0) {
        page_empty(page, "No ended lease is kept. By default the history keeps leases that ended "
                         "badly, waited a second, or were held ten; "
                         "<code>rowlock schema set history all</code> keeps each one.");
    } else {
        /* The number in the address makes a browser load the picture again when it has changed. */
        fputs("<div class=\"picture\"><img class=\"timeline\" alt=\"Timeline of holders and "
              "waiters\" src=\"/timeline.svg?name=",
              page->out);
        html_encoded(page->out, page->name);
        fprintf(page->out, "&amp;v=%" PRId64 "\"></div>\n", view->pasts.items.past[0].ended_ms);
        if (put_list(page, view) == 0)
            page_empty(page, "No name, host, command, note or ending contains the filter.");
    }
    page_section_end(page);
}

void page_history(struct page *page)
{
    page_begin(page, TAB_HISTORY, "History", NULL);
    history_put(page, page->shown->detail);
    page_end(page);
}

void history_draw(FILE *out, const struct view *view, int64_t now_ms)
{
    struct timeline timeline = {.now_ms = now_ms};
    int failed = 0;

    for (size_t i = 0; i < view->pasts.n && !failed; i++)
        failed = timeline_add(&timeline, &view->pasts.items.past[i]);
    timeline_draw(out, &timeline);
    timeline_free(&timeline);
}
