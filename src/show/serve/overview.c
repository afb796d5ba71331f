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

struct totals {
    size_t held, in_transaction, stopping, waiting, queues, cycles;
    size_t running, job_problems, subject_problems;
    int64_t waiting_since_ms;
};

static void add_lock(struct totals *sum, const struct rowlock_holder *holder)
{
    if (holder->holding != ROWLOCK_WAITS) {
        sum->held++;
        sum->in_transaction += holder->holding == ROWLOCK_HOLDS_TX;
        sum->stopping += (size_t)is_lease_problem(holder);
        return;
    }
    sum->waiting++;
    if (!sum->waiting_since_ms || holder->since_ms < sum->waiting_since_ms)
        sum->waiting_since_ms = holder->since_ms;
}

static struct totals add_up(const struct view *view)
{
    const struct lock_tree *locks = &view->locks;
    struct totals sum = {0};

    for (size_t i = 0; i < locks->n_items; i++)
        add_lock(&sum, &locks->items[i].holder);
    for (size_t i = 0; i < locks->n_names; i++)
        sum.queues += locks->names[i].n_waiters > 0;
    for (size_t i = 0; i < locks->n_lines; i++)
        sum.cycles += locks->lines[i].kind == TREE_CYCLE;
    for (size_t i = 0; i < view->jobs.n; i++) {
        sum.running += view->jobs.items.job[i].running.token != 0;
        sum.job_problems += (size_t)is_job_problem(&view->jobs.items.job[i]);
    }
    for (size_t i = 0; i < view->subjects.n; i++)
        sum.subject_problems += view->subjects.items.subject[i].status == ROWLOCK_SUBJECT_ERROR;
    return sum;
}

static void put_totals(FILE *out, const struct view *view)
{
    struct totals sum = add_up(view);

    fprintf(out,
            "\"totals\":{\"held\":%zu,\"in_transaction\":%zu,\"stopping\":%zu,\"waiting\":%zu,"
            "\"queues\":%zu,\"cycles\":%zu,\"jobs\":%zu,\"running\":%zu,\"job_problems\":%zu,"
            "\"subjects\":%zu,\"subject_problems\":%zu,\"waiting_since\":",
            sum.held, sum.in_transaction, sum.stopping, sum.waiting, sum.queues, sum.cycles,
            view->jobs.n, sum.running, sum.job_problems, view->subjects.n, sum.subject_problems);
    json_instant(out, sum.waiting_since_ms);
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

static void put_held(FILE *out, const struct lock_tree *locks, int *failed)
{
    struct chosen held = choose(locks->n_items, failed);

    for (size_t i = 0; i < locks->n_items; i++)
        if (locks->items[i].holder.holding != ROWLOCK_WAITS)
            choose_row(&held, &locks->items[i].holder);
    put_chosen(out, "held", &held, HELD_MOST, by_age, &holder_list);
}

static int by_next(const void *left, const void *right)
{
    const struct rowlock_job_view *a = *(const struct rowlock_job_view *const *)left;
    const struct rowlock_job_view *b = *(const struct rowlock_job_view *const *)right;
    int order = rowlock__order(!a->running.token, !b->running.token);

    if (!order)
        order = rowlock__order(a->next_ms, b->next_ms);
    return order ? order : a < b ? -1 : a > b;
}

static void put_jobs(FILE *out, const struct view *view, int *failed)
{
    struct chosen jobs = choose(view->jobs.n, failed);

    for (size_t i = 0; i < view->jobs.n; i++)
        choose_row(&jobs, &view->jobs.items.job[i]);
    put_chosen(out, "jobs", &jobs, JOBS_MOST, by_next, &job_list);
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

static void put_queue(FILE *out, const struct lock_tree *locks, const struct tree_name *name)
{
    fputs("{\"name\":", out);
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
        fputs(i ? ",\n" : "", out);
        put_queue(out, locks, queues.rows[i]);
    }
    putc(']', out);
    free(queues.rows);
}

/* ---- problems -------------------------------------------------------------------------------- */

static void put_cycle(FILE *out, const struct lock_tree *locks, size_t line)
{
    const char *names[CYCLE_MOST];
    size_t n = tree_cycle(locks, line, names, CYCLE_MOST);

    for (size_t i = 0; i < n; i++) {
        fputs(i ? "," : "[", out);
        json_text(out, names[i]);
    }
    fputs(n ? "]" : "[]", out);
}

static void put_cycles(FILE *out, const struct lock_tree *locks)
{
    size_t n = 0;

    fputs(",\n\"cycles\":[", out);
    for (size_t i = 0; i < locks->n_lines && n < PROBLEMS_MOST; i++)
        if (locks->lines[i].kind == TREE_CYCLE) {
            fputs(n++ ? "," : "", out);
            put_cycle(out, locks, i);
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

static void put_problems(FILE *out, const struct view *view, int *failed)
{
    struct chosen jobs = choose(view->jobs.n, failed), subjects = choose(view->subjects.n, failed);
    struct chosen leases = choose(view->locks.n_items, failed);

    for (size_t i = 0; i < view->jobs.n; i++)
        if (is_job_problem(&view->jobs.items.job[i]))
            choose_row(&jobs, &view->jobs.items.job[i]);
    for (size_t i = 0; i < view->subjects.n; i++)
        if (view->subjects.items.subject[i].status == ROWLOCK_SUBJECT_ERROR)
            choose_row(&subjects, &view->subjects.items.subject[i]);
    for (size_t i = 0; i < view->locks.n_items; i++)
        if (is_lease_problem(&view->locks.items[i].holder))
            choose_row(&leases, &view->locks.items[i].holder);
    put_chosen(out, "bad_jobs", &jobs, PROBLEMS_MOST, by_health, &job_list);
    put_chosen(out, "bad_subjects", &subjects, PROBLEMS_MOST, NULL, &subject_list);
    put_chosen(out, "bad_leases", &leases, PROBLEMS_MOST, NULL, &holder_list);
}

/* ---- the document ---------------------------------------------------------------------------- */

static void put_state(FILE *out, const struct shown *shown)
{
    fputs("\"now\":", out);
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
}

int overview_write(FILE *out, const struct shown *shown)
{
    const struct view *view = shown->all;
    int failed = 0;

    putc('{', out);
    put_state(out, shown);
    put_totals(out, view);
    put_queues(out, &view->locks, &failed);
    put_held(out, &view->locks, &failed);
    put_jobs(out, view, &failed);
    put_cycles(out, &view->locks);
    put_problems(out, view, &failed);
    fputs("}\n", out);
    return failed;
}
