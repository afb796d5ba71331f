/* SPDX-License-Identifier: Apache-2.0 */
/* The guard's children, and its reports to rowlock about them. */
#include <errno.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "guard/state.h"
#include "system/command/calls.h"

void guard_report_event(const struct guard_state *state, enum guard_event event, int number)
{
    struct guard_report report = {.event = event,
                                  .number = number,
                                  .cause = state->cause,
                                  .command = state->command,
                                  .survivors = state->left,
                                  .end_ms = state->end_ms};

    send(state->fd, &report, sizeof report, MSG_NOSIGNAL | MSG_DONTWAIT);
}

static void take_change(struct guard_state *state, int how)
{
    state->stopped = WIFSTOPPED(how);
    if (state->stopped) {
        if (!state->ending)
            stand_in_start(&state->stand_in, state->plan);
        guard_report_event(state, GUARD_STOPPED, WSTOPSIG(how));
    } else if (WIFCONTINUED(how)) {
        guard_report_event(state, GUARD_CONTINUED, 0);
    } else {
        stand_in_end(&state->stand_in);
        state->reaped = 1;
        state->how = how;
    }
}

int guard_reap(struct guard_state *state)
{
    int how;
    pid_t pid;

    while (signals_next(state->child_fd, NULL))
        ;
    while ((pid = waitpid(-1, &how, WNOHANG | WUNTRACED | WCONTINUED)) > 0)
        if (pid == state->command && !state->reaped)
            take_change(state, how);
        else if (pid == state->stand_in.pid && (WIFEXITED(how) || WIFSIGNALED(how)))
            state->stand_in.pid = 0;
    return pid < 0 && errno == ECHILD;
}
