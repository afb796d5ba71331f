/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A farm: up to 25 nodes with the same jobs, and an operator that restarts dead nodes, breaks runs
 * and holds names. Each node has a habit. It asks like a daemon (at the time of the last answer),
 * like a line of a crontab (at each due time, from 20 seconds early to half a second late), or
 * every few minutes.
 */
#ifndef FARM_H
#define FARM_H

#include "schedule/schedule.h"
#include "simulation/sim.h"

#define FARM_JOBS 6
#define FARM_YEARS 1000 /* seeds that are a multiple of this simulate a whole year */
#define FARM_OPERATOR (SIM_NODES + 1)
#define FARM_NEWCOMER (SIM_NODES + 2)

enum farm_habit { FARM_DAEMON, FARM_LINES, FARM_POLLS, FARM_HABITS };

struct farm_job {
    char name[12], lock[16];
    struct rowlock_job told;   /* early_ms is set by each node */
    unsigned fails, times_out; /* in 100 */
    int64_t usual_ms;          /* the usual duration of a run */
};

struct farm_node {
    enum farm_habit habit;
    int64_t call_ms[FARM_JOBS];    /* when it asks for each job next; since the start */
    int64_t instant_ms[FARM_JOBS]; /* the due time of its latest call */
    unsigned job;                  /* the job that it runs */
    int64_t finishes;              /* the token of the run that it is finishing */
    int64_t asked_ms; /* the time of its question, by the database's clock; at that time: */
    bool was_free;    /* whether the name was free, */
    int64_t comings;  /* how often the name had been acquired, */
    int64_t token;    /* the token of the last run */
};

struct farm {
    unsigned nodes, jobs;
    int64_t length_ms;
    unsigned breaks, holds; /* in 100 visits of the operator */
    int64_t visit_ms;
    struct farm_job job[FARM_JOBS];
    struct farm_node node[SIM_MOST];
};
extern struct farm farm;

/* ---- farm_draw.c */
void farm_draw(uint64_t seed);
void farm_free(void); /* frees the schedules */
int64_t farm_early_ms(const struct farm_node *node);

/* ---- farm_life.c */
void farm_live(struct sim_client *client);
void farm_operate(struct sim_client *client);
void farm_come_new(struct sim_client *client); /* settles every job after all others have ended */

/* ---- farm_rows.c: reads the tables as an observer -------------------------------------------- */
enum farm_outcome {
    FARM_NO_RUN,
    FARM_RUNNING,
    FARM_DONE,
    FARM_FAILED,
    FARM_TIMED_OUT,
    FARM_BROKEN,
    FARM_LOST,
    FARM_LATE,
    FARM_NOT_STARTED,
    FARM_OUTCOMES
};
struct farm_event { /* the row of a run was inserted (`was` is NO_RUN) or updated */
    int64_t token, due, started, taken_until, finished;
    unsigned job;
    int repeats;
    enum farm_outcome was, is;
};
struct farm_row { /* the row of a job */
    bool known;
    int64_t version, due, last, failed, running;
    int repeats;
    enum farm_outcome outcome; /* of the run that `running` names */
};
struct farm_lease {
    unsigned job;
    int64_t token, expires, taken_until;
    bool heartbeat, stop;
    enum farm_outcome outcome; /* of that run */
};
void farm_rows_open(void);
void farm_rows_close(void);
void farm_rows_reset(void);
bool farm_next_event(struct farm_event *event); /* false: no more events */
void farm_read_jobs(struct farm_row *rows);     /* one for each job */
size_t farm_read_leases(struct farm_lease *leases, size_t most);
enum farm_outcome farm_outcome_of(int64_t token);
int64_t farm_count_running(void); /* runs without an outcome */
const char *farm_outcome_name(enum farm_outcome outcome);

/* ---- farm_check.c */
struct farm_counts {
    unsigned long calls, runs, repeats, made_up, skipped, ended[FARM_OUTCOMES];
};
extern struct farm_counts farm_counts;
void farm_check_reset(void);
void farm_asks(struct sim_client *client, unsigned job);
void farm_told(struct sim_client *client, unsigned job, const struct rowlock_claim *claim);
void farm_finished(struct sim_client *client, int64_t token, enum farm_outcome outcome, int code);
void farm_check_end(void);
void farm_check_step(void);
void farm_check_committed(struct sim_client *client);

#endif
