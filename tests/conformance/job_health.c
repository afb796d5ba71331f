/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The jobs that are not fine: on every engine the server's choice is the same as that of
 * rowlock_job_health from the list of all jobs, in the same order, within the limit.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/grants.h"
#include "lib/instants.h"
#include "lib/jobs.h"
#include "lib/lease.h"
#include "lib/test.h"

#define JOBS 40
#define RUNS 4

enum end { DONE, FAILED, TIMED_OUT, NOT_STARTED, LOST, BROKEN, EXPIRED, LATE, RUNNING, ENDS };

static const char *name_of(int i)
{
    return t_say("%s%d", i % 3 ? "load" : "Load_%", i);
}

/* ---- a job with a random past ---------------------------------------------------------------- */

static void end_run(struct rowlock_connection *connection, struct rowlock_lease *lease,
                    const char *name, enum end end)
{
    static const enum rowlock_run_outcome outcomes[ENDS] = {
        [DONE] = ROWLOCK_RUN_DONE,          [FAILED] = ROWLOCK_RUN_FAILED,
        [TIMED_OUT] = ROWLOCK_RUN_TIMEDOUT, [NOT_STARTED] = ROWLOCK_RUN_NOTSTARTED,
        [LOST] = ROWLOCK_RUN_LOST,          [LATE] = ROWLOCK_RUN_DONE};
    struct rowlock_result result = {.exit = 7, .outcome = outcomes[end], .output = "out"};
    const char *lock = t_say("job:%s", name);

    if (end == LATE || end == EXPIRED)
        t_expire(t_handle(connection), rowlock_token(lease));
    if (end == BROKEN)
        t_ok(rowlock_break(connection, lock, 0, 1, NULL, &t_error));
    if (end != EXPIRED && end != RUNNING && end != BROKEN)
        rowlock_finish(lease, &result, &t_error);
    rowlock_lease_free(lease);
}

static void make_job(struct rowlock_connection *connection, const char *name, uint64_t *seed)
{
    struct rowlock_job job = t_daily_job(name);
    uint32_t runs = t_random(seed, RUNS + 1);

    for (uint32_t i = 0; i <= runs; i++) {
        struct rowlock_lease *lease = t_claimed(connection, &job);
        int64_t token = rowlock_token(lease);

        end_run(connection, lease, name,
                i == runs && t_random(seed, 3) == 0 ? RUNNING : t_random(seed, RUNNING));
        if (t_random(seed, 2)) /* an earlier start makes it slow */
            t_sql(connection, "UPDATE %s SET started = started - %d WHERE token = %lld",
                  t_table("run"), HOUR, (long long)token);
        t_job_is_due_in(connection, name, 0);
    }
    t_job_is_due_in(connection, name, t_random(seed, 3) ? HOUR : -HOUR);
}

static void hold(struct rowlock_connection *connection, const char *name)
{
    struct rowlock_terms terms = {.ttl_ms = HOUR, .note = "ask Ann", .no_process = 1};
    struct rowlock_lease *lease;
    struct rowlock_want want;

    want = t_x(t_say("job:%s", name));
    if (!rowlock_acquire(connection, &want, 1, &terms, &lease, &t_error))
        rowlock_lease_free(lease);
}

/* ---- the list -------------------------------------------------------------------------------- */

struct line {
    char name[30], text[300];
    enum rowlock_health health;
    int64_t since_ms;
};

struct list {
    const char *part; /* of the name; NULL: all */
    int every;        /* also those that are fine: they count */
    struct line line[JOBS];
    int n;
    struct rowlock_job_counts counts;
};

static int add(const struct rowlock_job_view *job, void *data)
{
    struct list *list = data;
    int64_t since_ms;
    enum rowlock_health health = rowlock_job_health(job, &since_ms);
    struct line *line = &list->line[list->n];

    if (list->every && list->part && !strstr(job->name, list->part))
        return 0;
    t_int(since_ms != 0, health != ROWLOCK_HEALTH_FINE);
    if (list->every) {
        list->counts.jobs++;
        list->counts.of[health]++;
    }
    if (list->every && health == ROWLOCK_HEALTH_FINE)
        return 0;
    line->health = health;
    line->since_ms = since_ms;
    snprintf(line->name, sizeof line->name, "%s", job->name);
    snprintf(line->text, sizeof line->text,
             "%d since %lld %s %s run %lld/%d/%s last %lld/%d/%d/%s %lld/%lld %s", (int)health,
             (long long)since_ms, job->name, job->schedule, (long long)job->running.token,
             (int)job->running.outcome, job->running.output, (long long)job->last.token,
             (int)job->last.outcome, job->last.exit, job->last.output, (long long)job->runs,
             (long long)job->succeeded_ms, job->paused_note);
    list->n++;
    return 0;
}

static int by_health(const void *left, const void *right)
{
    const struct line *a = left, *b = right;

    if (a->health != b->health)
        return a->health > b->health ? -1 : 1;
    if (a->since_ms != b->since_ms)
        return a->since_ms < b->since_ms ? -1 : 1;
    return strcmp(a->name, b->name);
}

static void read_all(struct rowlock_connection *connection, const char *part, struct list *all)
{
    memset(all, 0, sizeof *all);
    all->part = part;
    all->every = 1;
    t_ok(rowlock_jobs(connection, NULL, add, all, &t_error));
    qsort(all->line, (size_t)all->n, sizeof *all->line, by_health);
}

/* The health of a job also changes by time alone, so the list must be the same before and after. */
static void compare(struct rowlock_connection *connection, const char *glob, const char *part,
                    int most)
{
    static struct list all, after, chosen;
    struct rowlock_job_choice choice = {.glob = glob, .most_rows = most};

    do {
        read_all(connection, part, &all);
        chosen = (struct list){.n = 0};
        t_ok(rowlock_job_troubles(connection, &choice, add, &chosen, &chosen.counts, &t_error));
        read_all(connection, part, &after);
    } while (memcmp(&all, &after, sizeof all) != 0);
    t_int(chosen.n, most && most < all.n ? most : all.n);
    for (int i = 0; i < chosen.n; i++)
        t_text(chosen.line[i].text, all.line[i].text);
    t_int(chosen.counts.jobs, all.counts.jobs);
    for (int i = 0; i <= ROWLOCK_HEALTH_LOST; i++)
        t_int(chosen.counts.of[i], all.counts.of[i]);
}

TEST(the_servers_choice_of_jobs_is_that_of_their_health)
{
    struct rowlock_connection *one = t_open();
    uint64_t seed = 20261122;
    struct list all = {.every = 1};

    compare(one, NULL, NULL, 0); /* no job */
    for (int i = 0; i < JOBS; i++) {
        make_job(one, name_of(i), &seed);
        if (t_random(&seed, 8) == 0)
            hold(one, name_of(i));
    }
    t_ok(rowlock_jobs(one, NULL, add, &all, &t_error));
    for (int i = 0; i <= ROWLOCK_HEALTH_LOST; i++)
        t_true(all.counts.of[i] > 0); /* the past above has all of them */
    compare(one, NULL, NULL, 0);
    compare(one, NULL, NULL, 1);
    compare(one, "*", NULL, 7);
    compare(one, "load*", "load", 5);
    compare(one, "*d_%*", "d_%", 0);
    compare(one, "L?ad*", "Load", 3);
    compare(one, "job:L*", "Load", 2);
    compare(one, "LOAD*", "LOAD", 0);
}

TEST(a_wrong_choice_of_jobs_is_refused)
{
    struct rowlock_connection *one = t_open();
    struct rowlock_job_choice none = {.most_rows = 0}, wrong = {.most_rows = -1},
                              bad = {.glob = "a["};

    t_fails(rowlock_job_troubles(one, &wrong, add, NULL, NULL, &t_error), EINVAL);
    t_fails(rowlock_job_troubles(one, &bad, add, NULL, NULL, &t_error), EINVAL);
    t_contains(t_error.text, "'[' without ']'");
    t_fails(rowlock_job_troubles(one, NULL, add, NULL, NULL, &t_error), EINVAL);
    t_fails(rowlock_job_troubles(one, &none, NULL, NULL, NULL, &t_error), EINVAL);
}
