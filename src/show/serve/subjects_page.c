/* SPDX-License-Identifier: Apache-2.0 */
/* The page of the subjects of refresh. */
#include "show/lists/lists.h"
#include "show/serve/html.h"
#include "show/serve/page.h"

#define SUBJECTS_MOST 500

static void put_age(FILE *out, const struct rowlock_subject_view *subject)
{
    if (subject->age_ms < 0)
        cell_or_none(out, is_expired(subject) ? "expired" : "");
    else
        html_age(out, subject->updated_ms, subject->updated_ms + subject->age_ms);
}

static void put_by(FILE *out, const struct rowlock_subject_view *subject)
{
    cell_process(out, subject->host, subject->pid);
    if (*subject->by) {
        putc(' ', out);
        html_word(out, subject->by);
    }
}

static void put_about(FILE *out, const struct rowlock_subject_view *subject)
{
    if (*subject->error) {
        fputs("<span class=\"error\">", out);
        html_word(out, subject->error);
        fputs("</span>", out);
    }
    if (*subject->error && *subject->description)
        fputs("<br>", out);
    if (*subject->description || !*subject->error)
        cell_or_none(out, subject->description);
}

static size_t put_subjects(const struct page *page)
{
    const struct view *view = page->shown->all;
    struct html_table table = html_table_begin(page->out, page->failed, "Subjects");
    size_t n = 0;

    for (size_t i = 0; i < view->subjects.n; i++) {
        const struct rowlock_subject_view *subject = &view->subjects.items.subject[i];
        const char *texts[] = {subject->name, subject->description, subject->error, NULL};

        if (page_matches(page, texts) && n++ < SUBJECTS_MOST) {
            html_row(&table);
            html_link(html_cell(&table, "Subject"), "/lock?name=subject%3A", subject->name);
            cell_subject_status(html_cell(&table, "Status"), subject->status);
            put_age(html_cell(&table, "*Age of data"), subject);
            html_since(html_cell(&table, "Last refresh"),
                       subject->ended_ms ? subject->ended_ms : subject->began_ms,
                       page->shown->now_ms);
            put_by(html_cell(&table, "By"), subject);
            put_about(html_cell(&table, "About"), subject);
        }
    }
    html_table_end(&table);
    return n;
}

void page_subjects(struct page *page)
{
    const struct view *view = page->shown->all;
    size_t n = 0;

    page_begin(page, TAB_SUBJECTS, "Subjects", NULL);
    if (view->subjects.n > 0)
        n = put_subjects(page);
    if (view->subjects.n == 0)
        page_empty(page, "No subject was refreshed yet. Refresh data exactly once for the farm: "
                         "<code>rowlock refresh SUBJECT --max-age 5m -- COMMAND</code>");
    else if (n == 0)
        page_empty(page, "No subject, description or error contains the filter.");
    page_cut(page, n, SUBJECTS_MOST, "/api/subjects.json");
    page_end(page);
}
