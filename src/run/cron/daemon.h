/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The cron daemon: asks over one connection whether a job is due, and starts a process `rowlock
 * job` for each run that it claims. Each run has its own connection and guard, so that a hanging
 * run delays no other. The daemon sleeps until the next due time, by the database's clock.
 */
#ifndef ROWLOCK_CRON_DAEMON_H
#define ROWLOCK_CRON_DAEMON_H

#include <sys/types.h>

#include "command/notify.h"
#include "command/signals.h"
#include "command/url_lookup.h"
#include "run/cron/crontab.h"

#define CRON_STATUS_SIZE 4096
#define CRON_LOOK_MS 60000 /* maximum interval between comparisons of all jobs with the database */

/* ---- cron/crontab_file.c ------------------------------------------------------------- */

/* Reads the file. 0, or an exit status after printing the mistakes. */
int cron_file_read(const char *path, struct crontab *out);
/* cron --check: prints the next due times, by this machine's clock. Returns an exit status. */
int cron_file_print(const struct crontab *crontab, int json);

/* ---- the daemon's state -------------------------------------------------------------- */

/* An entry of the crontab, and the last answer about its job. */
struct cron_job {
    const struct crontab_entry *entry;
    int64_t ask_ms;     /* when to ask next, by rowlock__now_ms() */
    int runs_somewhere; /* according to the last answer */
    int64_t next_ms;    /* its next due time, by the database's clock; 0: unknown */
    char other_schedule[ROWLOCK_SCHEDULE_MAX + 1]; /* that of another node, if it was reported */
};

/* A process that runs a job; it may outlive the entry, and the daemon. */
struct cron_run {
    pid_t pid;
    char *name;       /* of the job; malloc'd */
    int64_t began_ms; /* by rowlock__now_ms() */
};

/* The daemon, which has one thread. Times are those of rowlock__now_ms(). */
struct cron {
    const char *path; /* of the crontab */
    struct url url;
    int64_t grace_ms; /* how long runs may continue after the daemon's signal to end */
    int prefix;       /* each line of output begins with the time */
    const struct descriptors *callers;
    struct crontab crontab;
    struct cron_job *jobs; /* one for each entry */
    struct cron_run *runs;
    size_t n_runs, room;

    struct rowlock_connection *connection; /* NULL: to be opened */
    int claimed;                           /* this connection has claimed a run in this round */
    int answered;                          /* the database has answered once */
    int status;                            /* exit status of a permanent error; 0: none */
    int away;                              /* the last query failed; reported */
    struct rowlock_error why;              /* the error of that query */
    int64_t retry_ms;                      /* during an outage: the time of the next query */
    int64_t pause_ms;                      /* the last backoff */
    int64_t look_ms;                       /* when to compare all jobs with the database */
    int has_tidied;                        /* it has tidied the history since the start */

    struct signals signals; /* only what a run gets back */
    int stop_fd, event_fd, timer_fd;
    int stopping, stopped; /* the daemon got a signal to end; it has passed it to the runs */
    int64_t stop_ms;       /* when to signal the runs, or to leave them */

    struct notify notify;
    int is_ready;     /* the service manager knows that the database has answered */
    int64_t alive_ms; /* when to report to its watchdog */
    char last_status[CRON_STATUS_SIZE];
};

/* ---- cron/status.c ------------------------------------------------------------------- */

/* Reports to the service manager that the daemon is ready, its status if that changed, and that it
   is alive. */
void cron_show(struct cron *cron);
/* Reports the status, but not the same text twice, except with a new state. NULL: the old one. */
void cron_tell(struct cron *cron, const char *state);
/* Reports to the watchdog if that is due. Call it between two calls that may block. */
void cron_alive(struct cron *cron);

/* ---- cron/ask.c ---------------------------------------------------------------------- */

/* Queries all jobs that are due, and starts the claimed ones; connects first if necessary. Does
   nothing before cron_next_ms(). Once a minute it also sweeps and prunes. cron->status: a permanent
   error. */
void cron_ask(struct cron *cron);
/* The time at which cron_ask() has something to do. */
int64_t cron_next_ms(const struct cron *cron);

/* ---- cron/runs.c --------------------------------------------------------------------- */

/* Starts a process `rowlock job --adopt` that runs the job under the lease `token`. 0, or -1 after
   printing the error: then the caller gives the lease back. */
int cron_start(struct cron *cron, const struct crontab_entry *entry,
               const struct rowlock_claim *claim, int64_t token);
/* Collects the runs that have ended, without waiting. */
void cron_reap(struct cron *cron);

/* ---- cron/daemon.c ------------------------------------------------------------------- */

/* Runs until a signal ends it, or a permanent error. HUP reads the crontab again. At the end it
   signals the runs after grace_ms, and frees the members. Returns the exit status. */
int cron_live(struct cron *cron);

#endif
