/* SPDX-License-Identifier: Apache-2.0 */
#include "show/serve/page.h"

#include <stdlib.h>
#include <string.h>

#include "show/serve/html.h"
#include "show/serve/view.h"

#define MOST 50
#define CYCLE_MOST 20 /* names */

static int is_job_problem(const struct rowlock_job_view *job)
{
    int64_t since_ms;

    return rowlock_job_health(job, &since_ms) > ROWLOCK_HEALTH_PAUSED;
}

static int is_lease_problem(const struct rowlock_holder *holder)
{
    return holder->stop && holder->holding == ROWLOCK_HOLDS;
}

struct problems problems_count(const struct view *view)
{
    struct problems n = {0};

    for (size_t i = 0; i < view->jobs.n; i++)
        n.jobs += (size_t)is_job_problem(&view->jobs.items.job[i]);
    for (size_t i = 0; i < view->subjects.n; i++)
        n.subjects += view->subjects.items.subject[i].status == ROWLOCK_SUBJECT_ERROR;
    for (size_t i = 0; i < view->locks.n_items; i++)
        n.leases += (size_t)is_lease_problem(&view->locks.items[i].holder);
    for (size_t i = 0; i < view->locks.n_lines; i++)
        n.cycles += view->locks.lines[i].kind == TREE_CYCLE;
    return n;
}

/* ---- one of each kind ------------------------------------------------------------------------ */

static void put_time_and_node(FILE *out, int64_t at_ms, int64_t now_ms, const char *node)
{
    html_since(out, at_ms, now_ms);
    fputs(" on ", out);
    cell_or_none(out, node);
}

static void explain_job(FILE *out, const struct rowlock_job_view *job, enum rowlock_health health,
                        int64_t since_ms, int64_t now_ms)
{
    switch (health) {
    case ROWLOCK_HEALTH_FAILING:
        fputs("has failed for ", out);
        html_age(out, since_ms, now_ms);
        fputs("; the last run ended ", out);
        put_time_and_node(out, job->last.finished_ms, now_ms, job->last.node);
        fputs(": ", out);
        cell_result(out, &job->last);
        break;
    case ROWLOCK_HEALTH_LOST:
        fputs("the run that began ", out);
        put_time_and_node(out, since_ms, now_ms, job->last.node);
        fputs(" lost its lease before it finished", out);
        break;
    case ROWLOCK_HEALTH_LATE:
        fputs("was due ", out);
        html_since(out, since_ms, now_ms);
        fputs(", and no node has run it: does a crontab still call it "
              "(<code>rowlock job</code>), or is <code>rowlock cron</code> running?",
              out);
        break;
    default: /* slow */
        fputs("runs for ", out);
        html_age(out, job->running.started_ms, now_ms);
        fputs(" on ", out);
        cell_or_none(out, job->running.node);
        fputs("; the average is ", out);
        html_duration(out, 1, job->average_ms);
    }
}

static void describe_job(FILE *out, const struct rowlock_job_view *job, int64_t now_ms)
{
    int64_t since_ms;
    enum rowlock_health health = rowlock_job_health(job, &since_ms);

    fputs("<li>", out);
    cell_health(out, health);
    fputs("<div>Job ", out);
    html_link(out, "/job?name=", job->name);
    putc(' ', out);
    explain_job(out, job, health, since_ms, now_ms);
    fputs("</div></li>\n", out);
}

static void describe_subject(FILE *out, const struct rowlock_subject_view *subject, int64_t now_ms)
{
    fputs("<li>", out);
    html_pill(out, "bad", "error");
    fputs("<div>Subject ", out);
    html_link(out, "/subjects?q=", subject->name);
    fputs(": the last refresh failed ", out);
    html_since(out, subject->ended_ms, now_ms);
    if (*subject->error) {
        fputs(": ", out);
        html_word(out, subject->error);
    }
    fputs("</div></li>\n", out);
}

static void describe_lease(FILE *out, const struct rowlock_holder *holder, int64_t now_ms)
{
    fputs("<li>", out);
    html_pill(out, "bad", "told to stop");
    fputs("<div>Lock ", out);
    html_link(out, "/lock?name=", holder->name);
    fputs(" was broken, and ", out);
    cell_who(out, holder);
    fputs(" still holds it; it expires in ", out);
    cell_left(out, holder, now_ms);
    fputs("</div></li>\n", out);
}

static void describe_cycle(FILE *out, const struct lock_tree *locks, size_t line)
{
    const char *names[CYCLE_MOST];
    size_t n = tree_cycle(locks, line, names, CYCLE_MOST);

    fputs("<li>", out);
    html_pill(out, "bad", "cycle");
    fputs("<div>", out);
    for (size_t i = 0; i < n; i++) {
        fputs(i ? ", " : "Lock ", out);
        html_link(out, "/lock?name=", names[i]);
    }
    fputs(n > 1 ? ": the holder of each waits for another of them"
                : ": its own holder waits for it",
          out);
    fputs(". The wait ends only by a time limit, an expiry or <code>rowlock break</code>."
          "</div></li>\n",
          out);
}

/* ---- all of them, the worst jobs first ------------------------------------------------------- */

static size_t put_jobs(const struct page *page, enum rowlock_health health, size_t n)
{
    const struct view *view = page->shown->all;

    for (size_t i = 0; i < view->jobs.n && n < MOST; i++) {
        int64_t since_ms;

        if (rowlock_job_health(&view->jobs.items.job[i], &since_ms) != health)
            continue;
        describe_job(page->out, &view->jobs.items.job[i], page->shown->now_ms);
        n++;
    }
    return n;
}

static void put_list(const struct page *page)
{
    const struct view *view = page->shown->all;
    const struct lock_tree *locks = &view->locks;
    size_t n = 0;

    fputs("<ul class=\"problems\">\n", page->out);
    for (size_t i = 0; i < locks->n_lines && n < MOST; i++)
        if (locks->lines[i].kind == TREE_CYCLE) {
            describe_cycle(page->out, locks, i);
            n++;
        }
    for (enum rowlock_health health = ROWLOCK_HEALTH_LOST; health > ROWLOCK_HEALTH_PAUSED; health--)
        n = put_jobs(page, health, n);
    for (size_t i = 0; i < view->subjects.n && n < MOST; i++)
        if (view->subjects.items.subject[i].status == ROWLOCK_SUBJECT_ERROR) {
            describe_subject(page->out, &view->subjects.items.subject[i], page->shown->now_ms);
            n++;
        }
    for (size_t i = 0; i < locks->n_items && n < MOST; i++)
        if (is_lease_problem(&locks->items[i].holder)) {
            describe_lease(page->out, &locks->items[i].holder, page->shown->now_ms);
            n++;
        }
    fputs("</ul>\n", page->out);
}

void problems_put(const struct page *page)
{
    struct problems n = problems_count(page->shown->all);
    size_t sum = n.jobs + n.subjects + n.leases + n.cycles;

    page_section(page, "problems", "Problems", (long)sum);
    if (sum == 0)
        page_empty(page, "No problems: no job is late, slow, failing or lost, no refresh has "
                         "failed, every broken lease has ended, and no callers wait for each "
                         "other.");
    else
        put_list(page);
    page_cut(page, sum, MOST, "/jobs");
    page_section_end(page);
}
