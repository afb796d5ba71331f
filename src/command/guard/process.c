/* SPDX-License-Identifier: Apache-2.0 */
/* The guard's start: a process with all signals blocked, so that another process can only KILL or
   STOP it, and the command as its child. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "command/exit_status.h"
#include "command/guard/state.h"
#include "command/output/output.h"
#include "command/signals.h"
#include "util/clock.h"

#define MOST_DESCRIPTORS 65536 /* to close one by one on old kernels */

static void close_between(int from, int to)
{
    if (from > to)
        return;
#ifdef SYS_close_range
    if (syscall(SYS_close_range, (unsigned)from, (unsigned)to, 0) == 0)
        return;
#endif
    for (int fd = from; fd <= to && fd < MOST_DESCRIPTORS; fd++)
        close(fd);
}

static int ascending(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

/* The guard keeps no pipe open, except standard error for its last message. */
static void keep_only_ours(const struct guard_state *state)
{
    int keep[] = {STDERR_FILENO, state->fd, state->timer_fd, state->child_fd, state->begin_fd};
    size_t n = sizeof keep / sizeof *keep;
    int next = 0;

    qsort(keep, n, sizeof *keep, ascending);
    for (size_t i = 0; i < n; i++) {
        close_between(next, keep[i] - 1);
        next = keep[i] + 1;
    }
    close_between(next, INT_MAX);
}

/* All signals are blocked until then, so one that arrives twice meanwhile counts once. */
static int may_begin(int fd)
{
    char byte;
    int may = read(fd, &byte, 1) == 1;

    close(fd);
    return may;
}

static _Noreturn void run_command(const struct guard_state *state, pid_t guard, int begin_fd)
{
    struct guard_report failure = {.event = GUARD_NOT_EXECUTED};

    if (state->plan->own_group)
        setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* in case the guard itself is killed */
    close(state->begin_fd);
    if (getppid() != guard)
        _exit(STATUS_FAILED);
    if (!may_begin(begin_fd))
        die_by(SIGTERM); /* as it would have, had it begun */
    failure.number = state->plan->become(state->plan->data);
    send(state->fd, &failure, sizeof failure, MSG_NOSIGNAL);
    _exit(failure.number == ENOENT ? STATUS_NOT_FOUND : STATUS_CANNOT_EXECUTE);
}

static int start_command(struct guard_state *state)
{
    pid_t guard = getpid();
    int pair[2];

    if (rowlock__now_ms() >= guard_stop_ms(state)) { /* the machine slept, or we did */
        state->cause = GUARD_LOCK_OVER;
        state->reaped = 1;
        return 0;
    }
    if (pipe2(pair, O_CLOEXEC))
        return errno;
    state->begin_fd = pair[1];
    state->command = fork();
    if (state->command == 0)
        run_command(state, guard, pair[0]);
    if (state->command < 0)
        return errno;
    if (state->plan->own_group)
        setpgid(state->command,
                state->command); /* parent and child both do it: either may run first */
    guard_report_event(state, GUARD_STARTED, 0);
    return 0;
}

/* Its own process group, so that a KILL to the caller's group does not hit the guard. */
static int become_guard(struct guard_state *state)
{
    sigset_t all, children;

    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    sigemptyset(&children);
    sigaddset(&children, SIGCHLD);
    prctl(PR_SET_NAME, "rowlock-guard");
    prctl(PR_SET_DUMPABLE, 0);
    state->child_fd = signalfd(-1, &children, SFD_CLOEXEC | SFD_NONBLOCK);
    state->timer_fd = timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK);
    if (state->child_fd < 0 || state->timer_fd < 0 || prctl(PR_SET_CHILD_SUBREAPER, 1))
        return errno;
    return 0;
}

static void say_why(const struct guard_state *state)
{
    struct pollfd error = {.fd = STDERR_FILENO, .events = POLLOUT};

    if (state->orphaned && poll(&error, 1, 0) == 1 && error.revents == POLLOUT)
        message("rowlock itself was killed: the command was ended");
}

void guard_run(const struct guard_plan *plan, int fd)
{
    struct guard_state state = {.plan = plan,
                                .fd = fd,
                                .begin_fd = -1,
                                .stand_in = {.fd = -1},
                                .end_ms = plan->end_ms,
                                .over_ms = rowlock__after(rowlock__now_ms(), plan->max_run_ms)};
    struct guard_report last = {.event = GUARD_ENDED};
    int why = become_guard(&state);

    if (!why)
        why = start_command(&state);
    if (why) {
        guard_report_event(&state, GUARD_NOT_STARTED, why);
        _exit(STATUS_FAILED);
    }
    setpgid(0, 0);
    keep_only_ours(&state);
    last.survivors = guard_watch(&state);
    last.number = state.how;
    last.cause = state.cause;
    last.command = state.command;
    last.began = state.began;
    send(fd, &last, sizeof last, MSG_NOSIGNAL);
    say_why(&state);
    _exit(STATUS_OK);
}
