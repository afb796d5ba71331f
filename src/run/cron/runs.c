/* SPDX-License-Identifier: Apache-2.0 */
/* The runs that the daemon started: each is a process `rowlock job --adopt TOKEN`. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "command/output/table.h"
#include "run/cron/daemon.h"
#include "run/supervise/child.h"
#include "system/command/calls.h"
#include "util/clock.h"
#include "util/rows.h"

/* ---- starting -------------------------------------------------------------------------------- */

struct arguments {
    char token[32], due[48], attempt[48], fd[32], ttl[32], kill_after[32], max_run[32];
    const char *argv[24];
};

static void write_arguments(const struct cron *cron, const struct crontab_entry *entry,
                            const struct rowlock_claim *claim, int64_t token, int fd,
                            struct arguments *out)
{
    const struct job_settings *settings = &entry->settings;
    size_t n = 0;

    snprintf(out->token, sizeof out->token, "--adopt=%" PRId64, token);
    snprintf(out->due, sizeof out->due, "--adopted-due=%" PRId64, claim->due_ms);
    snprintf(out->attempt, sizeof out->attempt, "--adopted-attempt=%d", claim->retry_number + 1);
    snprintf(out->fd, sizeof out->fd, "--url-fd=%d", fd);
    snprintf(out->ttl, sizeof out->ttl, "--ttl=%" PRId64 "ms", settings->ttl_ms);
    snprintf(out->kill_after, sizeof out->kill_after, "--kill-after=%" PRId64 "ms",
             settings->kill_after_ms);
    snprintf(out->max_run, sizeof out->max_run, "--max-run=%" PRId64 "ms", settings->max_run_ms);
    out->argv[n++] = "rowlock";
    out->argv[n++] = "job";
    out->argv[n++] = "--name"; /* it may begin with '-' */
    out->argv[n++] = entry->name;
    out->argv[n++] = out->token;
    out->argv[n++] = out->due;
    out->argv[n++] = out->attempt;
    out->argv[n++] = out->fd;
    out->argv[n++] = out->ttl;
    out->argv[n++] = out->kill_after;
    if (settings->max_run_ms >= 0)
        out->argv[n++] = out->max_run;
    if (settings->on_failure) {
        out->argv[n++] = "--on-failure";
        out->argv[n++] = settings->on_failure;
    }
    if (cron->prefix)
        out->argv[n++] = "--adopted-prefix=1";
    out->argv[n++] = "--";
    out->argv[n++] = "/bin/sh";
    out->argv[n++] = "-c";
    out->argv[n++] = entry->command;
    out->argv[n] = NULL;
}

/* Becomes the job, in the child. It gets a process group of its own, so that the terminal's signals
   reach only the daemon. */
static _Noreturn void become_job(const struct cron *cron, int fd, const struct arguments *arguments)
{
    int null = open("/dev/null", O_RDONLY | O_CLOEXEC);

    setpgid(0, 0);
    if (null >= 0)
        dup2(null, STDIN_FILENO);
    hide_ours(cron->callers);
    fcntl(fd, F_SETFD, 0);
    signals_give_back(&cron->signals);
    execute_again((char *const *)arguments->argv);
    message("cannot execute this program again (" THIS_PROGRAM "): %s", strerror(errno));
    _exit(STATUS_FAILED);
}

int cron_start(struct cron *cron, const struct crontab_entry *entry,
               const struct rowlock_claim *claim, int64_t token)
{
    struct cron_run *runs = rowlock__grown(cron->runs, cron->n_runs, &cron->room, sizeof *runs);
    struct cron_run run = {.name = strdup(entry->name), .began_ms = rowlock__now_ms()};
    struct arguments arguments;
    int fd = send_database();

    /* everything is allocated by now, so that nothing can fail once there is a process */
    if (runs)
        cron->runs = runs;
    if (runs && run.name && fd >= 0) {
        write_arguments(cron, entry, claim, token, fd, &arguments);
        run.pid = fork();
        if (run.pid == 0)
            become_job(cron, fd, &arguments);
    }
    if (fd >= 0)
        close(fd);
    if (run.pid > 0) {
        setpgid(run.pid, run.pid); /* in parent and child, because either may run first */
        runs[cron->n_runs++] = run;
        return 0;
    }
    message("%s: cannot fork: %s", entry->name, strerror(errno));
    free(run.name);
    return -1;
}

/* ---- ending ---------------------------------------------------------------------------------- */

static void say_end(const struct cron_run *run, int how)
{
    char *took = cell_duration(rowlock__now_ms() - run->began_ms);

    if (WIFSIGNALED(how))
        message("%s: ended by signal %d after %s", run->name, WTERMSIG(how), took ? took : "?");
    else if (WEXITSTATUS(how) == STATUS_OK)
        message("%s: done in %s", run->name, took ? took : "?");
    else
        message("%s: ended with status %d after %s", run->name, WEXITSTATUS(how),
                took ? took : "?");
    free(took);
}

void cron_reap(struct cron *cron)
{
    pid_t pid;
    int how;

    while ((pid = waitpid(-1, &how, WNOHANG)) > 0) {
        struct cron_run *run;
        size_t at = 0;

        while (at < cron->n_runs && cron->runs[at].pid != pid)
            at++;
        if (at == cron->n_runs)
            continue;
        run = &cron->runs[at];
        say_end(run, how);
        /* asks for the job at once, because its next due time may have come meanwhile, and a failed
           run may have a retry */
        for (size_t i = 0; i < cron->crontab.n; i++) {
            struct cron_job *job = &cron->jobs[i];

            if (strcmp(job->entry->name, run->name) == 0 && (how != 0 || job->runs_somewhere))
                job->ask_ms = rowlock__now_ms();
        }
        free(run->name);
        *run = cron->runs[--cron->n_runs];
    }
}
