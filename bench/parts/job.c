/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Jobs: claiming and finishing a job that is due, and listing all, among 10,000 jobs and among
 * 1,000. job MANY FEW ROUNDS: the URLs of two databases of one server, which it fills.
 */
#include <stdio.h>
#include <stdlib.h>

#include "rate.h"
#include "rowlock.h"

#define MANY 10000
#define FEW 1000
#define WORKERS 8 /* threads that fill the tables: a server commits several at once */
#define PRIME 7919
#define LIST_AIM_MS 500
#define LISTS 11
#define LIST_RATIO_AIM 1.5

static const char *many_url, *few_url;

struct session {
    struct rowlock_connection *many, *few;
    struct rowlock_schedule *schedule; /* always due */
};

static struct rowlock_schedule *every_ms(void)
{
    struct rowlock_schedule *schedule = NULL;
    struct rowlock_error error;

    if (rowlock_schedule_open("every 1ms", NULL, &schedule, NULL, &error))
        bench_die("%s", error.text);
    return schedule;
}

static void once(struct rowlock_connection *connection, const struct rowlock_schedule *schedule,
                 unsigned long n)
{
    char name[40];
    struct rowlock_job job = {.name = name, .schedule = schedule, .history = 5};
    struct rowlock_claim claim = {.claimed = ROWLOCK_JOB_NOT_DUE};
    struct rowlock_lease *lease = NULL;
    struct rowlock_error error;

    snprintf(name, sizeof name, "bench:%lu", n);
    while (claim.claimed != ROWLOCK_JOB_CLAIMED)
        if (rowlock_claim(connection, &job, &claim, &lease, &error))
            bench_die("%s", error.text);
    if (rowlock_finish(lease, &(struct rowlock_result){.exit = 0}, &error))
        bench_die("%s", error.text);
    rowlock_lease_free(lease);
}

static void fill_part(const char *url, unsigned long from, const void *data)
{
    unsigned long jobs = *(const unsigned long *)data;
    struct rowlock_connection *connection = bench_connect(url);
    struct rowlock_schedule *schedule = every_ms();

    for (unsigned long n = from; n < jobs; n += WORKERS)
        once(connection, schedule, n);
    rowlock_schedule_close(schedule);
    rowlock_close(connection);
}

static void fill(const char *url, unsigned long jobs)
{
    bench_fill(url, WORKERS, fill_part, &jobs);
}

static void *open_session(const char *url, int worker)
{
    struct session *session = calloc(1, sizeof *session);

    (void)url;
    (void)worker;
    session->many = bench_connect(many_url);
    session->few = bench_connect(few_url);
    session->schedule = every_ms();
    return session;
}

static void close_session(void *data)
{
    struct session *session = data;

    rowlock_schedule_close(session->schedule);
    rowlock_close(session->many);
    rowlock_close(session->few);
    free(session);
}

static void among_many(void *data, unsigned long i)
{
    const struct session *session = data;

    once(session->many, session->schedule, i * PRIME % MANY);
}

static void among_few(void *data, unsigned long i)
{
    const struct session *session = data;

    once(session->few, session->schedule, i % FEW);
}

static int count(const struct rowlock_job_view *job, void *data)
{
    (void)job;
    ++*(unsigned long *)data;
    return 0;
}

static double list_ms(struct rowlock_connection *connection, unsigned long jobs)
{
    double began = bench_now();
    struct rowlock_error error;
    unsigned long n = 0;

    if (rowlock_jobs(connection, NULL, count, &n, &error))
        bench_die("%s", error.text);
    if (n != jobs)
        bench_die("the list has %lu jobs", n);
    return (bench_now() - began) * 1000;
}

static void figure(const char *what, double *values, double aim)
{
    double is;

    qsort(values, LISTS, sizeof *values, bench_by_value);
    is = values[LISTS / 2];
    printf("%-76s %9.1f   aim %.1f%s\n", what, is, aim, is <= aim ? "" : "  missed");
}

static void list(void)
{
    struct rowlock_connection *many = bench_connect(many_url), *few = bench_connect(few_url);
    double ms[LISTS], ratio[LISTS];

    for (int i = 0; i < LISTS; i++) {
        ms[i] = list_ms(many, MANY);
        ratio[i] = ms[i] / MANY / (list_ms(few, FEW) / FEW);
    }
    figure("rowlock_jobs: the list of 10,000 jobs, ms (median)", ms, LIST_AIM_MS);
    figure("rowlock_jobs: one job of 10,000 / one of 1,000 (median)", ratio, LIST_RATIO_AIM);
    rowlock_close(many);
    rowlock_close(few);
}

/* the rate of claims: one that takes 1.5 times as long has the ratio 0.67 */
int main(int argc, char **argv)
{
    static const struct comparison comparison = {
        "claim+finish of a due job among 10,000 / among 1,000",
        open_session,
        among_many,
        among_few,
        close_session,
        0.67};
    int rounds = argc > 3 ? atoi(argv[3]) : 41;

    if (argc < 3)
        bench_die("usage: job MANY FEW [ROUNDS]");
    many_url = argv[1];
    few_url = argv[2];
    fill(many_url, MANY);
    fill(few_url, FEW);
    bench_headline();
    bench_compare(&comparison, "", 1, rounds, 100);
    list();
    return 0;
}
