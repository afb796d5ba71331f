/* SPDX-License-Identifier: Apache-2.0 */
/* The first page: problems, queues, held locks, and the jobs that run and come next. */
#include <stdlib.h>
#include <string.h>

#include "show/serve/html.h"
#include "show/serve/page.h"
#include "show/serve/view.h"

#define QUEUES_MOST 10
#define HELD_MOST 20
#define JOBS_MOST 10

/* ---- numbers --------------------------------------------------------------------------------- */

struct totals {
    size_t held, in_transaction, waiting, running;
    int64_t waits_since_ms;
};

static struct totals add_up(const struct view *view)
{
    struct totals sum = {0};

    for (size_t i = 0; i < view->locks.n_items; i++) {
        const struct rowlock_holder *holder = &view->locks.items[i].holder;

        sum.held += holder->holding != ROWLOCK_WAITS;
        sum.in_transaction += holder->holding == ROWLOCK_HOLDS_TX;
        if (holder->holding != ROWLOCK_WAITS)
            continue;
        sum.waiting++;
        if (!sum.waits_since_ms || holder->since_ms < sum.waits_since_ms)
            sum.waits_since_ms = holder->since_ms;
    }
    for (size_t i = 0; i < view->jobs.n; i++)
        sum.running += view->jobs.items.job[i].running.token != 0;
    return sum;
}

/* Begins a tile. It stays open after the number, so that the caller can add a text. */
static void begin_tile(FILE *out, const char *href, const char *title, size_t n, int bad)
{
    fprintf(out,
            "<a class=\"tile%s\" href=\"%s\"><span class=\"label\">%s</span><strong>%zu</strong>"
            "<span class=\"sub\">",
            bad ? " alarm" : "", href, title, n);
}

static void end_tile(FILE *out)
{
    fputs("</span></a>\n", out);
}

static void put_tiles(const struct page *page)
{
    const struct view *view = page->shown->all;
    struct totals sum = add_up(view);
    struct problems problems = problems_count(view);
    FILE *out = page->out;

    fputs("<div class=\"tiles\">\n", out);
    begin_tile(out, "/locks", "Held", sum.held, problems.leases > 0);
    fprintf(out, problems.leases ? "%zu told to stop" : "%zu by transactions",
            problems.leases ? problems.leases : sum.in_transaction);
    end_tile(out);
    begin_tile(out, "/locks", "Waiting", sum.waiting, problems.cycles > 0);
    if (problems.cycles)
        fputs("in a cycle, ", out);
    fputs(sum.waiting ? "longest " : "no queue", out);
    if (sum.waiting)
        html_age(out, sum.waits_since_ms, page->shown->now_ms);
    end_tile(out);
    begin_tile(out, "/jobs", "Jobs", view->jobs.n, problems.jobs > 0);
    fprintf(out, "%zu running", sum.running);
    if (problems.jobs)
        fprintf(out, ", %zu with problems", problems.jobs);
    end_tile(out);
    begin_tile(out, "/subjects", "Subjects", view->subjects.n, problems.subjects > 0);
    fprintf(out, problems.subjects ? "%zu failed" : "none failed", problems.subjects);
    end_tile(out);
    fputs("</div>\n", out);
}

/* ---- queues and locks ------------------------------------------------------------------------ */

/* The most waiters first, then the longest wait. */
static int by_queue(const void *left, const void *right)
{
    const struct tree_name *a = *(const struct tree_name *const *)left;
    const struct tree_name *b = *(const struct tree_name *const *)right;
    int order = rowlock__order((int64_t)b->n_waiters, (int64_t)a->n_waiters);

    if (!order)
        order = rowlock__order(a->since_ms, b->since_ms);
    return order ? order : strcmp(a->text, b->text);
}

static void put_names(const struct page *page, const struct tree_name **names, size_t n)
{
    struct html_table table =
        html_table_begin(page->out, page->failed, "Names with the longest queues");

    qsort(names, n, sizeof *names, by_queue);
    for (size_t i = 0; i < n && i < QUEUES_MOST; i++) {
        const struct rowlock_holder *holder = first_holder(&page->shown->all->locks, names[i]);

        html_row(&table);
        html_link(html_cell(&table, "Name"), "/lock?name=", names[i]->text);
        cell_who(html_cell(&table, "Holder"), holder);
        html_age(html_cell(&table, "*Held for"), holder->since_ms, page->shown->now_ms);
        fprintf(html_cell(&table, "*Waiting"), "%zu", names[i]->n_waiters);
        html_age(html_cell(&table, "*Longest wait"), names[i]->since_ms, page->shown->now_ms);
    }
    html_table_end(&table);
}

static void put_queues(const struct page *page)
{
    const struct lock_tree *locks = &page->shown->all->locks;
    const struct tree_name **names = calloc(locks->n_names + 1, sizeof *names);
    size_t n = 0;

    if (!names)
        *page->failed = 1;
    for (size_t i = 0; names && i < locks->n_names; i++)
        if (locks->names[i].n_waiters > 0)
            names[n++] = &locks->names[i];
    page_section(page, "queues", "Queues", (long)n);
    if (n > 0)
        put_names(page, names, n);
    else
        page_empty(page, "No caller waits for a lock.");
    page_cut(page, n, QUEUES_MOST, "/locks");
    page_section_end(page);
    free(names);
}

/* Sorts the locks that have been held longest first: people look at them first. */
static int by_age(const void *left, const void *right)
{
    const struct rowlock_holder *a = *(const struct rowlock_holder *const *)left;
    const struct rowlock_holder *b = *(const struct rowlock_holder *const *)right;
    int order = rowlock__order(a->since_ms, b->since_ms);

    return order ? order : a < b ? -1 : a > b;
}

static void put_holders(const struct page *page, const struct rowlock_holder **held, size_t n)
{
    struct html_table table = html_table_begin(page->out, page->failed, "Held locks");

    qsort(held, n, sizeof *held, by_age);
    for (size_t i = 0; i < n && i < HELD_MOST; i++) {
        html_row(&table);
        html_link(html_cell(&table, "Name"), "/lock?name=", held[i]->name);
        cell_mode(html_cell(&table, "Mode"), held[i]);
        cell_who(html_cell(&table, "Holder"), held[i]);
        html_age(html_cell(&table, "*Held for"), held[i]->since_ms, page->shown->now_ms);
        cell_left(html_cell(&table, "*Left"), held[i], page->shown->now_ms);
        cell_or_none(html_cell(&table, "Note"), held[i]->note);
    }
    html_table_end(&table);
}

static void put_held(const struct page *page)
{
    const struct lock_tree *locks = &page->shown->all->locks;
    const struct rowlock_holder **held = calloc(locks->n_items + 1, sizeof *held);
    size_t n = 0;

    if (!held)
        *page->failed = 1;
    for (size_t i = 0; held && i < locks->n_items; i++)
        if (locks->items[i].holder.holding != ROWLOCK_WAITS)
            held[n++] = &locks->items[i].holder;
    page_section(page, "held", "Held locks", (long)n);
    if (n > 0)
        put_holders(page, held, n);
    else
        page_empty(page, "No lock is held. Run a command under one: "
                         "<code>rowlock run NAME -- COMMAND</code>");
    page_cut(page, n, HELD_MOST, "/locks");
    page_section_end(page);
    free(held);
}

/* ---- jobs ------------------------------------------------------------------------------------ */

static int by_next(const void *left, const void *right)
{
    const struct rowlock_job_view *a = *(const struct rowlock_job_view *const *)left;
    const struct rowlock_job_view *b = *(const struct rowlock_job_view *const *)right;
    int order = rowlock__order(!a->running.token, !b->running.token);

    if (!order)
        order = rowlock__order(a->next_ms, b->next_ms);
    return order ? order : a < b ? -1 : a > b;
}

static void put_jobs_of(const struct page *page, const struct rowlock_job_view **jobs, size_t n)
{
    struct html_table table =
        html_table_begin(page->out, page->failed, "Jobs that run, and the next");
    int64_t since_ms, now_ms = page->shown->now_ms;

    qsort(jobs, n, sizeof *jobs, by_next);
    for (size_t i = 0; i < n && i < JOBS_MOST; i++) {
        const struct rowlock_run *running = &jobs[i]->running;

        html_row(&table);
        html_link(html_cell(&table, "Job"), "/job?name=", jobs[i]->name);
        cell_health(html_cell(&table, "State"), rowlock_job_health(jobs[i], &since_ms));
        html_next(html_cell(&table, "Next"), jobs[i]->next_ms, now_ms);
        cell_node(html_cell(&table, "Running on"), running);
        html_age(html_cell(&table, "*For"), running->token ? running->started_ms : 0, now_ms);
        cell_result(html_cell(&table, "Last"), &jobs[i]->last);
    }
    html_table_end(&table);
}

static void put_jobs(const struct page *page)
{
    const struct view *view = page->shown->all;
    size_t n = view->jobs.n;
    const struct rowlock_job_view **jobs = calloc(n + 1, sizeof *jobs);

    if (!jobs)
        *page->failed = 1;
    page_section(page, "jobs", "Running and next jobs", -1);
    for (size_t i = 0; jobs && i < n; i++)
        jobs[i] = &view->jobs.items.job[i];
    if (jobs && n > 0)
        put_jobs_of(page, jobs, n);
    else
        page_empty(page, NO_JOB);
    page_cut(page, n, JOBS_MOST, "/jobs");
    page_section_end(page);
    free(jobs);
}

void page_overview(struct page *page)
{
    page_begin(page, TAB_OVERVIEW, "Overview", NULL);
    put_tiles(page);
    problems_put(page);
    put_queues(page);
    put_jobs(page);
    put_held(page);
    page_end(page);
}
