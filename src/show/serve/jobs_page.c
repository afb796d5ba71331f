/* SPDX-License-Identifier: Apache-2.0 */
/* The page of all jobs, and the page of one: its state, last output and history. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "command/job_name.h"
#include "show/serve/html.h"
#include "show/serve/page.h"

#define JOBS_MOST 500

/* ---- all jobs -------------------------------------------------------------------------------- */

static void list_job(struct html_table *table, const struct rowlock_job_view *job, int64_t now_ms)
{
    const struct rowlock_run *running = &job->running, *last = &job->last;
    int64_t since_ms;

    html_row(table);
    html_link(html_cell(table, "Job"), "/job?name=", job->name);
    cell_health(html_cell(table, "State"), rowlock_job_health(job, &since_ms));
    html_next(html_cell(table, "Next"), job->next_ms, now_ms);
    html_cell(table, "Running");
    cell_node(table->out, running);
    if (running->token) {
        fputs(" <span class=\"none\">for</span> ", table->out);
        html_age(table->out, running->started_ms, now_ms);
    }
    cell_result(html_cell(table, "Last"), last);
    html_since(html_cell(table, "Ended"), last->token ? last->finished_ms : 0, now_ms);
    cell_took(html_cell(table, "*Took"), last);
    html_duration(html_cell(table, "*Average"), job->runs > 0, job->average_ms);
    html_code(html_cell(table, "Schedule"), job->schedule);
}

static size_t list_jobs(const struct page *page)
{
    const struct view *view = page->shown->all;
    struct html_table table = html_table_begin(page->out, page->failed, "Jobs");
    size_t n = 0;

    for (size_t i = 0; i < view->jobs.n; i++) {
        const struct rowlock_job_view *job = &view->jobs.items.job[i];
        int64_t since_ms;
        const char *texts[] = {job->name, job_healths[rowlock_job_health(job, &since_ms)], NULL};

        if (page_matches(page, texts) && n++ < JOBS_MOST)
            list_job(&table, job, page->shown->now_ms);
    }
    html_table_end(&table);
    return n;
}

void page_jobs(struct page *page)
{
    const struct view *view = page->shown->all;
    size_t n = 0;

    page_begin(page, TAB_JOBS, "Jobs", NULL);
    if (view->jobs.n > 0)
        n = list_jobs(page);
    if (view->jobs.n == 0)
        page_empty(page, NO_JOB);
    else if (n == 0)
        page_empty(page, "No job has such a name or state.");
    page_cut(page, n, JOBS_MOST, "/api/jobs.json");
    page_end(page);
}

/* ---- one job --------------------------------------------------------------------------------- */

static FILE *fact(FILE *out, const char *term)
{
    fprintf(out, "<div><dt>%s</dt><dd>", term);
    return out;
}

static void end_fact(FILE *out)
{
    fputs("</dd></div>\n", out);
}

static void put_state(FILE *out, const struct rowlock_job_view *job, int64_t now_ms)
{
    int64_t since_ms;

    cell_health(fact(out, "State"), rowlock_job_health(job, &since_ms));
    if (since_ms) {
        fputs(" since ", out);
        html_since(out, since_ms, now_ms);
    }
    if (job->paused_token) {
        fputs("; paused by ", out);
        cell_or_none(out, job->paused_by);
        fputs(*job->paused_note ? ": " : "", out);
        html_word(out, job->paused_note);
    }
    end_fact(out);
}

static void put_running(FILE *out, const struct rowlock_job_view *job, int64_t now_ms)
{
    fact(out, "Running");
    if (job->running.token) {
        cell_node(out, &job->running);
        fputs(" for ", out);
        html_age(out, job->running.started_ms, now_ms);
    } else {
        fputs("<span class=\"none\">not now</span>", out);
    }
    end_fact(out);
}

static void put_last(FILE *out, const struct rowlock_job_view *job, int64_t now_ms)
{
    cell_result(fact(out, "Last run"), &job->last);
    if (job->last.token) {
        fputs(" on ", out);
        cell_node(out, &job->last);
        fputs(", ended ", out);
        html_since(out, job->last.finished_ms, now_ms);
    }
    end_fact(out);
}

static void put_facts(const struct page *page, const struct rowlock_job_view *job)
{
    int64_t now_ms = page->shown->now_ms;
    FILE *out = page->out;
    char lock[256];

    fputs("<dl class=\"facts\">\n", out);
    put_state(out, job, now_ms);
    html_next(fact(out, "Next run"), job->next_ms, now_ms);
    end_fact(out);
    put_running(out, job, now_ms);
    put_last(out, job, now_ms);
    html_duration(fact(out, "Average"), job->runs > 0, job->average_ms);
    end_fact(out);
    html_code(fact(out, "Schedule"), job->schedule);
    end_fact(out);
    snprintf(lock, sizeof lock, JOB_LOCK_PREFIX "%s", job->name);
    html_link(fact(out, "Lock"), "/lock?name=", lock);
    end_fact(out);
    fputs("</dl>\n", out);
}

static void put_output(const struct page *page, const struct rowlock_run *last)
{
    page_section(page, "output", "Last output", -1);
    if (last->token && *last->output) {
        fputs("<pre tabindex=\"0\">", page->out);
        html_lines(page->out, last->output);
        fputs("</pre>\n", page->out);
    } else {
        page_empty(page,
                   last->token ? "The last run printed nothing." : "No run has finished yet.");
    }
    page_section_end(page);
}

/* Its id lets script.js keep it open. */
static void put_output_of(FILE *out, const struct rowlock_run *run)
{
    if (!*run->output) {
        html_none(out);
        return;
    }
    fprintf(out, "<details id=\"run%" PRId64 "\"><summary>output</summary><pre tabindex=\"0\">",
            run->token);
    html_lines(out, run->output);
    fputs("</pre></details>", out);
}

static void put_runs(const struct page *page, const struct view *view)
{
    struct html_table table = html_table_begin(page->out, page->failed, "Runs, the latest first");
    int64_t now_ms = page->shown->now_ms;

    for (size_t i = 0; i < view->runs.n; i++) {
        const struct rowlock_run *run = &view->runs.items.run[i];

        html_row(&table);
        html_since(html_cell(&table, "Started"), run->started_ms, now_ms);
        cell_result(html_cell(&table, "Result"), run);
        cell_took(html_cell(&table, "*Took"), run);
        cell_node(html_cell(&table, "Node"), run);
        html_since(html_cell(&table, "Due"), run->due_ms, now_ms);
        fprintf(html_cell(&table, "*Repeat"), "%d", run->retry_number);
        fprintf(html_cell(&table, "*Token"), "%" PRId64, run->token);
        put_output_of(html_cell(&table, "Output"), run);
    }
    html_table_end(&table);
}

static void put_history(const struct page *page)
{
    const struct view *view = page->shown->detail;

    page_section(page, "history", "History", view ? (long)view->runs.n : -1);
    if (!view)
        page_not_read(page);
    else if (view->runs.n == 0)
        page_empty(page, "No run is in the history.");
    else
        put_runs(page, view);
    page_section_end(page);
}

static const struct rowlock_job_view *find(const struct page *page)
{
    const struct view *view = page->shown->detail ? page->shown->detail : page->shown->all;

    for (size_t i = 0; i < view->jobs.n; i++)
        if (strcmp(view->jobs.items.job[i].name, page->name) == 0)
            return &view->jobs.items.job[i];
    return NULL;
}

void page_job(struct page *page)
{
    const struct rowlock_job_view *job = find(page);

    page->status = job ? 200 : 404;
    page_begin(page, TAB_JOBS, "Job", page->name);
    if (!job) {
        page_empty(page, "No node has asked for this job. <a href=\"/jobs\">All jobs</a>");
        page_end(page);
        return;
    }
    put_facts(page, job);
    put_output(page, &job->last);
    put_history(page);
    page_document(page, "/api/jobs.json");
    page_end(page);
}
