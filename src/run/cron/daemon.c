/* SPDX-License-Identifier: Apache-2.0 */
/* The cron daemon's loop: signals, the file of jobs, sleeping until the next due time. */
#include <poll.h>
#include <stdlib.h>

#include "run/cron/daemon.h"
#include "system/command/calls.h"
#include "util/clock.h"

#define LEAVE_MS 60000 /* longer than the deadlines that a run has after a signal to end */

/* ---- the file -------------------------------------------------------------------------------- */

static int use(struct cron *cron, struct crontab *crontab)
{
    struct cron_job *jobs = calloc(crontab->n + 1, sizeof *jobs);

    if (!jobs) {
        crontab_free(crontab);
        return out_of_memory();
    }
    for (size_t i = 0; i < crontab->n; i++)
        jobs[i].entry = &crontab->entries[i];
    free(cron->jobs);
    crontab_free(&cron->crontab);
    cron->jobs = jobs;
    cron->crontab = *crontab;
    return STATUS_OK;
}

static void read_again(struct cron *cron)
{
    struct crontab crontab;
    size_t n = cron->crontab.n;

    if (cron->is_ready) /* else the service manager awaits the start */
        notify_reloading(&cron->notify);
    if (cron_file_read(cron->path, &crontab) == STATUS_OK && use(cron, &crontab) == STATUS_OK)
        message("reread '%s': %zu job%s", cron->path, cron->crontab.n,
                cron->crontab.n == 1 ? "" : "s");
    else
        message("keeping the jobs read from '%s' before: %zu job%s", cron->path, n,
                n == 1 ? "" : "s");
    if (cron->is_ready)
        cron_tell(cron, "READY=1");
    cron->retry_ms = 0; /* the administrator may have ended an outage, or changed the password */
}

/* ---- signals --------------------------------------------------------------------------------- */

/* Opens the signals. The daemon obeys HUP even under nohup. */
static int open_signals(struct cron *cron)
{
    static const int stops[] = {SIGTERM, SIGINT, SIGQUIT};
    sigset_t stop, event, both;

    sigaction(SIGPIPE, NULL, &cron->signals.broken_pipe);
    signal(SIGPIPE, SIG_IGN);
    signal(SIGCHLD, SIG_DFL);
    signal(SIGHUP, SIG_DFL);
    sigemptyset(&stop);
    sigemptyset(&event);
    for (size_t i = 0; i < sizeof stops / sizeof *stops; i++)
        if (!signals_are_ignored(stops[i]))
            sigaddset(&stop, stops[i]);
    sigaddset(&event, SIGHUP);
    sigaddset(&event, SIGCHLD);
    sigorset(&both, &stop, &event);
    sigprocmask(SIG_BLOCK, &both, &cron->signals.original);
    cron->stop_fd = signals_descriptor(&stop);
    cron->event_fd = signals_descriptor(&event);
    cron->timer_fd = timer_descriptor();
    return cron->stop_fd < 0 || cron->event_fd < 0 || cron->timer_fd < 0 ? -1 : 0;
}

/* ---- the end --------------------------------------------------------------------------------- */

/* Obeys a signal to end: the first stops claims, the second ends the grace period, the third leaves
   the runs to their guards. */
static void take_stop(struct cron *cron)
{
    while (signals_next(cron->stop_fd, NULL)) {
        if (cron->stopping) {
            cron->stop_ms = rowlock__now_ms();
            continue;
        }
        cron->stopping = 1;
        cron->stop_ms = rowlock__after(rowlock__now_ms(), cron->grace_ms);
        rowlock_close(cron->connection);
        cron->connection = NULL;
        cron_tell(cron, "STOPPING=1");
        if (cron->n_runs == 0)
            message("stopping; nothing runs");
        else
            message("claims nothing more; %zu run%s may take %lld ms", cron->n_runs,
                    cron->n_runs == 1 ? "" : "s", (long long)cron->grace_ms);
    }
}

/* Continues the end. 1: it is complete. */
static int go_on_stopping(struct cron *cron)
{
    if (cron->n_runs == 0)
        return 1;
    if (rowlock__now_ms() < cron->stop_ms)
        return 0;
    if (cron->stopped) {
        for (size_t i = 0; i < cron->n_runs; i++)
            message("%s: has not ended; left to its guard", cron->runs[i].name);
        return 1;
    }
    cron->stopped = 1;
    cron->stop_ms = rowlock__after(rowlock__now_ms(), LEAVE_MS);
    for (size_t i = 0; i < cron->n_runs; i++) {
        message("%s: sent TERM", cron->runs[i].name);
        kill(cron->runs[i].pid, SIGTERM);
    }
    return 0;
}

/* ---- the loop -------------------------------------------------------------------------------- */

/* Sleeps by a timer, because poll()'s timeout does not count while the machine is suspended. */
static void live(struct cron *cron)
{
    struct pollfd fds[] = {{.fd = cron->stop_fd, .events = POLLIN},
                           {.fd = cron->event_fd, .events = POLLIN},
                           {.fd = cron->timer_fd, .events = POLLIN}};

    for (;;) {
        int64_t next_ms;
        int hup = 0, number;

        take_stop(cron);
        while ((number = signals_next(cron->event_fd, NULL)))
            hup |= number == SIGHUP;
        cron_reap(cron);
        if (hup && !cron->stopping)
            read_again(cron);
        if (!cron->stopping)
            cron_ask(cron);
        if (cron->stopping ? go_on_stopping(cron) : cron->status)
            return;
        cron_show(cron);
        next_ms = cron->stopping ? cron->stop_ms : cron_next_ms(cron);
        if (cron->notify.alive_every_ms)
            next_ms = rowlock__least(next_ms, cron->alive_ms);
        timer_set(cron->timer_fd, next_ms);
        poll(fds, 3, -1);
    }
}

int cron_live(struct cron *cron)
{
    struct crontab crontab;
    int status = cron_file_read(cron->path, &crontab);

    if (!status)
        status = use(cron, &crontab);
    if (!status && open_signals(cron)) {
        message("cannot create file descriptors for signals");
        status = STATUS_FAILED;
    }
    if (!status) {
        cron->look_ms = rowlock__after(rowlock__now_ms(), CRON_LOOK_MS);
        message("%zu job%s in '%s'", cron->crontab.n, cron->crontab.n == 1 ? "" : "s", cron->path);
        live(cron);
        status = cron->status;
    }
    rowlock_close(cron->connection);
    notify_close(&cron->notify);
    for (size_t i = 0; i < cron->n_runs; i++)
        free(cron->runs[i].name);
    free(cron->runs);
    free(cron->jobs);
    crontab_free(&cron->crontab);
    return status;
}
