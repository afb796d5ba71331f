/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The daemon of `cron`: asks, by one connection, whether a job is due, and starts a `job` of its own process,
 * connection and guard for each run that it claims: a run that hangs holds up no other. It sleeps until
 * something is due, by the database's clock.
 */
#ifndef ROWLOCK_CRON_DAEMON_H
#define ROWLOCK_CRON_DAEMON_H

#include <signal.h>
#include <sys/types.h>

#include "command/cron/crontab.h"
#include "command/run/run.h"
#include "command/url_lookup.h"

#define CRON_LOOK_MS 600000 /* at least so often all jobs are compared with the database */

/* ---- cron/file.c --------------------------------------------------------------------- */

/* Reads the file. 0, or an exit status: it has been said what is wrong and where. */
int cron_file_read(const char *path, struct crontab *out);
/* cron --check: what is due when, by this machine's clock. */
void cron_file_print(const struct crontab *crontab, int json);

/* ---- what the daemon knows ----------------------------------------------------------- */

struct cron_job {
    const struct crontab_entry *entry;
    int64_t ask_ms;     /* when to ask next, by rowlock__now_ms() */
    int runs_somewhere; /* the last answer said so */
};

struct cron_run {
    pid_t pid;
    char *name;
    int64_t began_ms;
};

struct cron {
    const char *path;
    struct url url;
    int64_t grace_ms;
    const struct descriptors *callers;
    struct crontab crontab;
    struct cron_job *jobs; /* one an entry */
    struct cron_run *runs;
    size_t n_runs, room;

    struct rowlock_connection *connection; /* NULL: to be opened */
    int claimed;                           /* by this connection, in this round */
    int answered;                          /* the database has, once */
    int status;                            /* of what will not mend itself; 0: we go on */
    int away;                              /* the database is; it has been said */
    int64_t retry_ms;                      /* nothing is asked before, while it is away */
    int64_t pause_ms;                      /* the last one */
    int64_t look_ms;                       /* when to compare all with the database */

    sigset_t original;            /* the mask that a run gets back */
    struct sigaction broken_pipe; /* and what SIGPIPE was */
    int stop_fd, event_fd, timer_fd;
    int stopping, stopped; /* told to end; the runs were told */
    int64_t stop_ms;       /* when the runs are told, or left alone */
};

/* ---- cron/ask.c ---------------------------------------------------------------------- */

/* Asks for all jobs whose time has come, and starts what is claimed. cron->status: it makes no sense. */
void cron_ask(struct cron *cron);
/* When cron_ask() has something to do. */
int64_t cron_next_ms(const struct cron *cron);

/* ---- cron/runs.c --------------------------------------------------------------------- */

/* A process that runs the job under the lease `token`. 0, or -1: it has been said why not. */
int cron_start(struct cron *cron, const struct crontab_entry *entry,
               const struct rowlock_claim *claim, int64_t token);
/* Takes note of the runs that have ended. */
void cron_reap(struct cron *cron);
void cron_tell_runs(const struct cron *cron, int number);

/* ---- cron/daemon.c ------------------------------------------------------------------- */

/* Until it is told to end. The exit status. */
int cron_live(struct cron *cron);

#endif
