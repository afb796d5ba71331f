/* SPDX-License-Identifier: Apache-2.0 */
/* Draws a farm from its seed: a whole year with few faults, or some days with many. */
#include <stdio.h>
#include <stdlib.h>

#include "simulation/farm.h"

#define MINUTE INT64_C(60000)
#define HOUR (60 * MINUTE)
#define DAY (24 * HOUR)

struct farm farm;

static const struct {
    const char *text, *zone;
    bool frequent; /* too frequent for a simulated year */
} schedules[] = {
    {"every 1h", NULL, true},
    {"every 6h", NULL, false},
    {"every 1d", NULL, false},
    {"30 2 * * *", "Europe/Berlin", false},
    {"15 2 * * *", "Australia/Lord_Howe", false},
    {"*/30 1-3 * * *", "America/New_York", false},
    {"0 */4 * * *", "Australia/Lord_Howe", false},
    {"0 0 * * *", "America/Santiago", false},
    {"0 4 * * mon-fri", "Europe/London", false},
    {"59 23 31 * *", "America/Santiago", false},
    {"0 6 29 2 *", NULL, false},
    {"every 5m", NULL, true},
    {"every 97s", NULL, true},
    {"every 1s", NULL, true},
    {"*/10 * * * *", "America/New_York", true},
    {"7,8,9 * * * *", "Asia/Kathmandu", true},
};
#define SCHEDULES (sizeof schedules / sizeof *schedules)

static void open_schedule(struct farm_job *job, size_t which)
{
    struct rowlock_schedule *schedule = NULL;
    struct rowlock_error error;

    if (rowlock_schedule_open(schedules[which].text, schedules[which].zone, &schedule, NULL,
                              &error)) {
        fprintf(stderr, "simulation: %s\n", error.text);
        exit(1);
    }
    job->told.schedule = schedule;
}

static void draw_job(unsigned n, size_t which)
{
    struct farm_job *job = &farm.job[n];
    int64_t period_ms;

    *job = (struct farm_job){.fails = PICK(0, 5, 30, 60),
                             .times_out = PICK(0, 0, 10),
                             .usual_ms = PICK(200, 5000, 30000, 10 * MINUTE)};
    open_schedule(job, which);
    snprintf(job->name, sizeof job->name, "%u", n);
    snprintf(job->lock, sizeof job->lock, "job:%u", n);
    period_ms = job->told.schedule->period_ms;
    job->told.name = job->name;
    job->told.ttl_ms = job->usual_ms > MINUTE ? 2 * MINUTE : PICK(2000, 10000, 30000);
    job->told.at_least_ms =
        period_ms ? PICK(0, 0, period_ms / 2, 2 * period_ms) : PICK(0, 0, 90000);
    job->told.backoff_ms = PICK(0, 1000, 60000);
    job->told.retry = PICK(0, 0, -1, 1, 3);
    job->told.missed = sim_below(3) ? ROWLOCK_MISSED_ONCE : ROWLOCK_MISSED_SKIP;
    job->told.history = PICK(0, 1, 5);
}

/* Each schedule occurs at most once. */
static void draw_jobs(bool year)
{
    bool taken[SCHEDULES] = {false};

    for (unsigned n = 0; n < farm.jobs;) {
        size_t which = sim_below(SCHEDULES);

        if (taken[which] || (year && schedules[which].frequent))
            continue;
        if (n == 0 && !year && !schedules[which].frequent)
            continue;
        taken[which] = true;
        draw_job(n++, which);
    }
}

static void draw_year(void)
{
    farm.nodes = SIM_NODES;
    farm.jobs = 5;
    farm.length_ms = 366 * DAY;
    farm.visit_ms = 2 * HOUR;
    farm.breaks = 1;
    farm.holds = 1;
    sim.temper = (struct sim_temper){
        .stop = 2, .crash = 2, .lose = 5, .lose_reply = 20, .slow = 20, .stopped_ms = 8 * HOUR};
}

/* Long enough for a few hundred due times. */
static int64_t draw_length(void)
{
    int64_t period_ms = farm.job[0].told.schedule->period_ms;

    return (period_ms ? period_ms : 10 * MINUTE) * PICK(40, 100, 200);
}

static void draw_misfortune(void)
{
    farm.nodes = PICK(1, 2, 4, 8, SIM_NODES);
    farm.jobs = PICK(1, 2, 3);
    farm.visit_ms = PICK(MINUTE, 10 * MINUTE);
    farm.breaks = PICK(0, 0, 10, 30);
    farm.holds = PICK(0, 0, 10);
    sim.temper = (struct sim_temper){.stop = PICK(0, 20, 100),
                                     .crash = PICK(0, 10, 60),
                                     .lose = PICK(0, 30, 150),
                                     .lose_reply = PICK(0, 50, 300, 1000),
                                     .slow = PICK(0, 50, 300),
                                     .stopped_ms = PICK(3000, MINUTE, HOUR)};
}

/* Some farms have nodes of one habit only; in a year every habit occurs. */
static void draw_nodes(bool year)
{
    unsigned habit = year ? FARM_HABITS : sim_below(FARM_HABITS + 1);

    for (unsigned i = 0; i < SIM_MOST; i++)
        farm.node[i] =
            (struct farm_node){.habit = habit < FARM_HABITS ? (enum farm_habit)habit
                                        : year              ? (i % 8 ? FARM_LINES : FARM_DAEMON)
                                               : (enum farm_habit)sim_below(FARM_HABITS)};
    farm.node[FARM_NEWCOMER - 1].habit = FARM_DAEMON;
}

void farm_draw(uint64_t seed)
{
    bool year = seed % FARM_YEARS == 0;

    if (year)
        draw_year();
    else
        draw_misfortune();
    draw_jobs(year);
    draw_nodes(year);
    if (!year)
        farm.length_ms = draw_length();
}

void farm_free(void)
{
    for (unsigned i = 0; i < farm.jobs; i++)
        rowlock_schedule_close((struct rowlock_schedule *)farm.job[i].told.schedule);
    farm.jobs = 0;
}

/* As `rowlock job` and `rowlock cron` set it. */
int64_t farm_early_ms(const struct farm_node *node)
{
    return node->habit == FARM_DAEMON ? 0 : 30000;
}
