/* SPDX-License-Identifier: Apache-2.0 */
/* The guard's start: a process with all signals blocked, so that another process can only KILL or
   STOP it, and the command as its child. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include "command/exit_status.h"
#include "command/output/output.h"
#include "command/signals.h"
#include "guard/state.h"
#include "system/command/calls.h"
#include "system/system.h"
#include "util/clock.h"

static _Noreturn void run_command(const struct guard_state *state, pid_t guard, int begin_fd)
{
    struct guard_report failure = {.event = GUARD_NOT_EXECUTED};
    char byte;

    if (state->plan->own_group)
        setpgid(0, 0);
    close(state->begin_fd);
    if (end_with_parent(guard)) /* in case the guard itself is killed */
        _exit(STATUS_FAILED);
    /* Rowlock allows the start. All signals are blocked until then, so one that arrives twice
       meanwhile counts once. */
    if (read(begin_fd, &byte, 1) != 1)
        die_by(SIGTERM); /* the signal that would have ended it if it had begun */
    close(begin_fd);
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
    if (rowlock__pipe(pair))
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

/* Its own process group, so that a KILL to the caller's group does not hit the guard. A guard that
   was stopped together with rowlock still ends the command when rowlock is killed. */
static int become_guard(struct guard_state *state)
{
    sigset_t all, children;

    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    sigemptyset(&children);
    sigaddset(&children, SIGCHLD);
    name_this_process("rowlock-guard");
    wake_without_parent();
    hide_memory();
    state->child_fd = signals_descriptor(&children);
    state->timer_fd = timer_descriptor();
    if (state->child_fd < 0 || state->timer_fd < 0 || adopt_orphans())
        return errno;
    return 0;
}

static void say_why(const struct guard_state *state)
{
    struct pollfd error = {.fd = STDERR_FILENO, .events = POLLOUT};
    char pids[TREE_PIDS_SIZE];

    if (!state->orphaned || poll(&error, 1, 0) != 1 || error.revents != POLLOUT)
        return;
    tree_pids(&state->left, pids, sizeof pids);
    if (state->left.alive)
        message("rowlock itself was killed: %d process%s of the command could not be ended: %s",
                state->left.alive, state->left.alive == 1 ? "" : "es", pids);
    else
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
    /* The guard keeps no pipe open, except standard error for its last message. */
    close_all_but((const int[]){STDERR_FILENO, fd, state.timer_fd, state.child_fd, state.begin_fd},
                  5);
    guard_watch(&state);
    last.survivors = state.left;
    last.number = state.how;
    last.cause = state.cause;
    last.command = state.command;
    last.began = state.began;
    send(fd, &last, sizeof last, MSG_NOSIGNAL);
    say_why(&state);
    _exit(STATUS_OK);
}
