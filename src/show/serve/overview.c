/* SPDX-License-Identifier: Apache-2.0 */
/* The document of the first page: totals, problems, cycles, and the beginning of the lists that
   people look at first. Its size is bounded, whatever the size of the farm. */
#include "show/serve/answer.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "command/exit_status.h"
#include "command/output/json.h"
#include "command/output/list.h"
#include "command/url_lookup.h"
#include "show/lists/lists.h"
#include "util/clock.h"

#define QUEUES_MOST 10
#define HELD_MOST 20
#define JOBS_MOST 10
#define PROBLEMS_MOST 50 /* of each kind */
#define CYCLE_MOST 20    /* names */

static int is_job_problem(const struct rowlock_job_view *job)
{
    int64_t since_ms;

    return rowlock_job_health(job, &since_ms) > ROWLOCK_HEALTH_PAUSED;
}

static int is_lease_problem(const struct rowlock_holder *holder)
{
    return holder->stop && holder->holding == ROWLOCK_HOLDS;
}

/* ---- totals ---------------------------------------------------------------------------------- */

static void put_totals(FILE *out, const struct view *view)
{
    const struct lock_tree *locks = &view->locks;
    size_t held = 0, in_transaction = 0, stopping = 0, waiting = 0, queues = 0, cycles = 0;
    size_t running = 0, job_problems = 0, subject_problems = 0;
    int64_t waiting_since_ms = 0;

    for (size_t i = 0; i < locks->n_items; i++) {
        const struct rowlock_holder *holder = &locks->items[i].holder;

        held += holder->holding != ROWLOCK_WAITS;
        in_transaction += holder->holding == ROWLOCK_HOLDS_TX;
        stopping += (size_t)is_lease_problem(holder);
        if (holder->holding != ROWLOCK_WAITS)
            continue;
        waiting++;
        if (!waiting_since_ms || holder->since_ms < waiting_since_ms)
            waiting_since_ms = holder->since_ms;
    }
    for (size_t i = 0; i < locks->n_names; i++)
        queues += locks->names[i].n_waiters > 0;
    for (size_t i = 0; i < locks->n_lines; i++)
        cycles += locks->lines[i].kind == TREE_CYCLE;
    for (size_t i = 0; i < view->jobs.n; i++) {
        running += view->jobs.items.job[i].running.token != 0;
        job_problems += (size_t)is_job_problem(&view->jobs.items.job[i]);
    }
    for (size_t i = 0; i < view->subjects.n; i++)
        subject_problems += view->subjects.items.subject[i].status == ROWLOCK_SUBJECT_ERROR;
    fprintf(out,
            "\"totals\":{\"held\":%zu,\"in_transaction\":%zu,\"stopping\":%zu,\"waiting\":%zu,"
            "\"queues\":%zu,\"cycles\":%zu,\"jobs\":%zu,\"running\":%zu,\"job_problems\":%zu,"
            "\"subjects\":%zu,\"subject_problems\":%zu,\"waiting_since\":",
            held, in_transaction, stopping, waiting, queues, cycles, view->jobs.n, running,
            job_problems, view->subjects.n, subject_problems);
    json_instant(out, waiting_since_ms);
    putc('}', out);
}

/* ---- lists ----------------------------------------------------------------------------------- */

typedef int compare_function(const void *left, const void *right);

/* Rows of one list, collected to be sorted. */
struct chosen {
    const void **rows;
    size_t n;
};

/* Room for `most` rows; `failed` is set without memory. */
static struct chosen choose(size_t most, int *failed)
{
    struct chosen chosen = {calloc(most + 1, sizeof *chosen.rows), 0};

    *failed |= !chosen.rows;
    return chosen;
}

static void choose_row(struct chosen *chosen, const void *row)
{
    if (chosen->rows)
        chosen->rows[chosen->n++] = row;
}

/* Writes the first rows as the member `key`, and frees the choice. */
static void put_chosen(FILE *out, const char *key, struct chosen *chosen, size_t most,
                       compare_function *order, const struct list *list)
{
    if (chosen->rows && order)
        qsort(chosen->rows, chosen->n, sizeof *chosen->rows, order);
    fprintf(out, ",\n\"%s\":[", key);
    for (size_t i = 0; i < chosen->n && i < most; i++) {
        fputs(i ? ",\n" : "", out);
        list_object(out, list, chosen->rows[i]);
    }
    putc(']', out);
    free(chosen->rows);
}

/* Sorts the locks that have been held longest first: people look at them first. */
static int by_age(const void *left, const void *right)
{
    const struct rowlock_holder *a = *(const struct rowlock_holder *const *)left;
    const struct rowlock_holder *b = *(const struct rowlock_holder *const *)right;
    int order = rowlock__order(a->since_ms, b->since_ms);

    return order ? order : a < b ? -1 : a > b;
}

/* Sorts the jobs that run first, then by their due times. */
static int by_next(const void *left, const void *right)
{
    const struct rowlock_job_view *a = *(const struct rowlock_job_view *const *)left;
    const struct rowlock_job_view *b = *(const struct rowlock_job_view *const *)right;
    int order = rowlock__order(!a->running.token, !b->running.token);

    if (!order)
        order = rowlock__order(a->next_ms, b->next_ms);
    return order ? order : a < b ? -1 : a > b;
}

/* ---- queues ---------------------------------------------------------------------------------- */

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

static void put_queues(FILE *out, const struct lock_tree *locks, int *failed)
{
    struct chosen queues = choose(locks->n_names, failed);

    for (size_t i = 0; i < locks->n_names; i++)
        if (locks->names[i].n_waiters > 0)
            choose_row(&queues, &locks->names[i]);
    if (queues.rows)
        qsort(queues.rows, queues.n, sizeof *queues.rows, by_queue);
    fputs(",\n\"queues\":[", out);
    for (size_t i = 0; i < queues.n && i < QUEUES_MOST; i++) {
        const struct tree_name *name = queues.rows[i];

        fputs(i ? ",\n{\"name\":" : "{\"name\":", out);
        json_text(out, name->text);
        fprintf(out, ",\"waiting\":%zu,\"since\":", name->n_waiters);
        json_instant(out, name->since_ms);
        fputs(",\"holder\":", out);
        if (name->n_holders)
            list_object(out, &holder_list, &locks->items[name->first].holder);
        else
            fputs("null", out);
        putc('}', out);
    }
    putc(']', out);
    free(queues.rows);
}

/* ---- problems -------------------------------------------------------------------------------- */

static void put_cycles(FILE *out, const struct lock_tree *locks)
{
    const char *names[CYCLE_MOST];
    size_t n = 0;

    fputs(",\n\"cycles\":[", out);
    for (size_t line = 0; line < locks->n_lines && n < PROBLEMS_MOST; line++) {
        size_t n_names;

        if (locks->lines[line].kind != TREE_CYCLE)
            continue;
        fputs(n++ ? ",[" : "[", out);
        n_names = tree_cycle(locks, line, names, CYCLE_MOST);
        for (size_t i = 0; i < n_names; i++) {
            fputs(i ? "," : "", out);
            json_text(out, names[i]);
        }
        putc(']', out);
    }
    putc(']', out);
}

/* The worst first, then by name. */
static int by_health(const void *left, const void *right)
{
    const struct rowlock_job_view *a = *(const struct rowlock_job_view *const *)left;
    const struct rowlock_job_view *b = *(const struct rowlock_job_view *const *)right;
    int64_t since_ms;
    int order = rowlock__order(rowlock_job_health(b, &since_ms), rowlock_job_health(a, &since_ms));

    return order ? order : strcmp(a->name, b->name);
}

/* The beginning of the lists that people look at first, the cycles, and the problems. */
static void put_lists(FILE *out, const struct view *view, int *failed)
{
    struct chosen held = choose(view->locks.n_items, failed), jobs = choose(view->jobs.n, failed);
    struct chosen bad_jobs = choose(view->jobs.n, failed);
    struct chosen bad_subjects = choose(view->subjects.n, failed);
    struct chosen bad_leases = choose(view->locks.n_items, failed);

    for (size_t i = 0; i < view->locks.n_items; i++) {
        const struct rowlock_holder *holder = &view->locks.items[i].holder;

        if (holder->holding != ROWLOCK_WAITS)
            choose_row(&held, holder);
        if (is_lease_problem(holder))
            choose_row(&bad_leases, holder);
    }
    for (size_t i = 0; i < view->jobs.n; i++) {
        choose_row(&jobs, &view->jobs.items.job[i]);
        if (is_job_problem(&view->jobs.items.job[i]))
            choose_row(&bad_jobs, &view->jobs.items.job[i]);
    }
    for (size_t i = 0; i < view->subjects.n; i++)
        if (view->subjects.items.subject[i].status == ROWLOCK_SUBJECT_ERROR)
            choose_row(&bad_subjects, &view->subjects.items.subject[i]);
    put_chosen(out, "held", &held, HELD_MOST, by_age, &holder_list);
    put_chosen(out, "jobs", &jobs, JOBS_MOST, by_next, &job_list);
    put_cycles(out, &view->locks);
    put_chosen(out, "bad_jobs", &bad_jobs, PROBLEMS_MOST, by_health, &job_list);
    put_chosen(out, "bad_subjects", &bad_subjects, PROBLEMS_MOST, NULL, &subject_list);
    put_chosen(out, "bad_leases", &bad_leases, PROBLEMS_MOST, NULL, &holder_list);
}

/* ---- the document ---------------------------------------------------------------------------- */

int overview_write(FILE *out, const struct shown *shown)
{
    const struct view *view = shown->all;
    int failed = 0;

    fputs("{\"now\":", out);
    json_instant(out, shown->now_ms);
    fprintf(out, ",\"age_ms\":%" PRId64 ",\"outage\":", shown->age_ms);
    json_text(out, shown->code ? outage_text(shown->code) : "");
    fputs(",\"error\":", out);
    json_text(out, shown->code ? shown->why : "");
    fputs(",\"version\":", out);
    json_text(out, rowlock_version());
    fputs(",\"database\":", out);
    json_text(out, database_place());
    fputs(",\n", out);
    put_totals(out, view);
    put_queues(out, &view->locks, &failed);
    put_lists(out, view, &failed);
    fputs("}\n", out);
    return failed;
}
