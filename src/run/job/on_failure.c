/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decides by the history whether a run changed the state of its job, and runs the command of
 * --on-failure. The node that recorded the result calls it; each result is recorded once, so no two
 * nodes run the command for it. The lease has ended before, and the command may hang.
 */
#include "run/job/job_run.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "command/exit_status.h"
#include "command/output/json.h"
#include "command/output/output.h"
#include "command/signals.h"
#include "run/supervise/child.h"
#include "system/system.h"

/* ---- the change ------------------------------------------------------------------------------ */

/* 0: the run has no state: it is under way, or a user broke it. */
static int state_of(const struct rowlock_run *run, enum rowlock_health *out)
{
    switch (run->outcome) {
    case ROWLOCK_RUN_DONE:
        *out = ROWLOCK_HEALTH_FINE;
        return 1;
    case ROWLOCK_RUN_FAILED:
    case ROWLOCK_RUN_TIMEDOUT:
    case ROWLOCK_RUN_NOTSTARTED:
        *out = ROWLOCK_HEALTH_FAILING;
        return 1;
    case ROWLOCK_RUN_LOST:
    case ROWLOCK_RUN_LATE:
        *out = ROWLOCK_HEALTH_LOST;
        return 1;
    case ROWLOCK_RUN_RUNNING:
    case ROWLOCK_RUN_BROKEN:
        break;
    }
    return 0;
}

/* The latest run comes first: the run itself, then the one before it that has a state. */
static int see_run(const struct rowlock_run *run, void *data)
{
    struct job_change *change = data;

    if (change->found)
        return state_of(run, &change->before);
    if (run->token != change->token)
        return 0;
    if (!state_of(run, &change->now))
        return 1;
    change->found = 1;
    change->due_ms = run->due_ms;
    change->exit = run->exit;
    change->has_exit = change->now != ROWLOCK_HEALTH_LOST;
    change->output = strdup(run->output);
    return 0;
}

int job_change_read(struct rowlock_connection *connection, const char *job, int64_t token,
                    struct job_change *out)
{
    struct rowlock_error error;

    *out = (struct job_change){.job = job, .token = token, .before = ROWLOCK_HEALTH_FINE};
    if (rowlock_runs(connection, job, see_run, out, &error)) {
        message("%s: cannot read whether --on-failure has to run: %s", job, error.text);
        out->found = 0;
    }
    if (out->found && out->now != out->before)
        return 1;
    free(out->output);
    return 0;
}

/* ---- the command ----------------------------------------------------------------------------- */

static _Noreturn void become(const struct change_hook *hook, const struct job_change *change,
                             int input)
{
    char due[UTC_INSTANT_SIZE], number[16] = "";

    setpgid(0, 0);
    dup2(input, STDIN_FILENO);
    hide_ours(hook->callers);
    signals_give_back(hook->signals);
    if (change->has_exit)
        snprintf(number, sizeof number, "%d", change->exit);
    if (utc_instant(change->due_ms, due, sizeof due) == 0 &&
        setenv("ROWLOCK_JOB", change->job, 1) == 0 &&
        setenv("ROWLOCK_STATE", job_healths[change->now], 1) == 0 &&
        setenv("ROWLOCK_DUE", due, 1) == 0 && setenv("ROWLOCK_EXIT", number, 1) == 0)
        execl("/bin/sh", "sh", "-c", hook->command, (char *)NULL);
    message("%s: cannot execute /bin/sh for --on-failure", change->job);
    _exit(STATUS_FAILED);
}

/* A pipe takes the kept output at once, without a reader. A command that is not awaited is a
   grandchild, because the guard collects the children of rowlock. */
void job_change_run(const struct change_hook *hook, struct job_change *change, int waits)
{
    const char *output = change->output ? change->output : "";
    int pair[2] = {-1, -1}, how = 0;
    pid_t pid = -1;

    if (rowlock__pipe(pair) == 0) {
        if (write(pair[1], output, strlen(output)) < 0)
            message("%s: --on-failure gets no output: %s", change->job, strerror(errno));
        close(pair[1]);
        pid = fork();
        if (pid == 0 && !waits && fork() != 0)
            _exit(0);
        if (pid == 0)
            become(hook, change, pair[0]);
    }
    if (pid < 0)
        message("%s: cannot start the command of --on-failure: %s", change->job, strerror(errno));
    if (pair[0] >= 0)
        close(pair[0]);
    if (waits) /* a signal may end us meanwhile */
        sigprocmask(SIG_SETMASK, &hook->signals->original, NULL);
    while (pid > 0 && waitpid(pid, &how, 0) < 0 && errno == EINTR)
        ;
    if (pid > 0 && waits && how != 0)
        message("%s: the command of --on-failure failed: %s %d", change->job,
                WIFSIGNALED(how) ? "signal" : "exit status",
                WIFSIGNALED(how) ? WTERMSIG(how) : WEXITSTATUS(how));
    free(change->output);
}
