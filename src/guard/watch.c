/* SPDX-License-Identifier: Apache-2.0 */
/* The guard watches the command: it reads orders, notes which processes have ended, and ends the
   command in time. It writes nothing that could block it before its work is done. */
#include "guard/state.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "system/command/calls.h"
#include "util/clock.h"

/* ---- orders ---------------------------------------------------------------------------------- */

static void extend(struct guard_state *state, const struct guard_order *order)
{
    if (!state->over && order->end_ms > state->end_ms)
        state->end_ms = order->end_ms;
}

/* Carries out an order. The stand-in renews until rowlock itself has renewed again, because rowlock
   may continue later than the command. */
static void obey(struct guard_state *state, const struct guard_order *order)
{
    pid_t group = order->to_group ? guard_group(state) : 0;

    switch (order->kind) {
    case GUARD_BEGIN:
        if (state->begin_fd >= 0 && write(state->begin_fd, "", 1) == 1) {
            state->began = 1;
            guard_close_begin(state);
        }
        break;
    case GUARD_EXTEND:
        extend(state, order);
        if (!state->stopped)
            stand_in_end(&state->stand_in);
        break;
    case GUARD_ASK:
        guard_report_event(state, GUARD_UNTIL, 0);
        break;
    case GUARD_SIGNAL:
        if (state->reaped)
            break;
        kill(group ? -group : state->command, order->number);
        state->passed |= order->number == SIGTERM || order->number == SIGINT ||
                         order->number == SIGHUP || order->number == SIGQUIT;
        break;
    case GUARD_END:
        guard_begin_ending(state, GUARD_LOCK_OVER);
        break;
    case GUARD_STOP:
        guard_begin_ending(state, GUARD_TOLD);
        break;
    }
}

static void read_orders(struct guard_state *state)
{
    struct guard_order order;
    ssize_t got;

    while ((got = recv(state->fd, &order, sizeof order, MSG_DONTWAIT)) == (ssize_t)sizeof order)
        obey(state, &order);
    if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)) { /* rowlock has ended */
        state->orphaned = 1;
        guard_begin_ending(state, GUARD_LOCK_OVER);
        if (state->plan->dies_with_rowlock)
            state->kill_ms = 0;
    }
    while (stand_in_next(&state->stand_in, &order)) {
        if (order.kind == GUARD_EXTEND)
            extend(state, &order);
        else
            guard_begin_ending(state, GUARD_LOCK_OVER);
    }
}

/* ---- time ------------------------------------------------------------------------------------ */

int64_t guard_stop_ms(const struct guard_state *state)
{
    int64_t stop = state->end_ms;

    if (stop != ROWLOCK_NEVER)
        stop -= state->plan->kill_after_ms;
    return stop < state->over_ms ? stop : state->over_ms;
}

/* ---- the loop -------------------------------------------------------------------------------- */

/* Reads orders before the clock, so that a deadline that was extended in time has not passed. Also
   collects the command's end before the clock, so that a command that ended by itself counts as
   such, however late the guard notices it. */
void guard_watch(struct guard_state *state)
{
    for (;;) {
        int64_t now;

        if (!state->orphaned)
            read_orders(state);
        if (guard_is_done(state, guard_reap(state)))
            return;
        now = rowlock__now_ms();
        if (!state->ending && now >= guard_stop_ms(state))
            guard_begin_ending(state, state->over_ms <= guard_stop_ms(state) ? GUARD_TIME_OVER
                                                                             : GUARD_LOCK_OVER);
        if (state->ending && now >= state->kill_ms)
            guard_kill(state);

        struct pollfd fds[] = {{.fd = state->child_fd, .events = POLLIN},
                               {.fd = state->timer_fd, .events = POLLIN},
                               {.fd = state->orphaned ? -1 : state->fd, .events = POLLIN},
                               {.fd = state->stand_in.fd, .events = POLLIN}};

        timer_set(state->timer_fd,
                  state->ending || state->kept ? state->kill_ms : guard_stop_ms(state));
        poll(fds, sizeof fds / sizeof *fds, -1);
    }
}
