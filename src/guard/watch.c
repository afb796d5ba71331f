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

#define LOOK_AGAIN_MS 20  /* between two looks at processes that do not die at once */
#define DYING_MS 300      /* for processes that die together with the command */
#define HOPELESS_LOOKS 50 /* then the guard gives up processes that it may not signal */

void guard_report_event(const struct guard_state *state, enum guard_event event, int number)
{
    struct guard_report report = {.event = event,
                                  .number = number,
                                  .cause = state->cause,
                                  .command = state->command,
                                  .end_ms = state->end_ms};

    send(state->fd, &report, sizeof report, MSG_NOSIGNAL | MSG_DONTWAIT);
}

/* ---- ending ---------------------------------------------------------------------------------- */

/* The command's process group; 0 after its end was collected, because the kernel may then give the
   number to another group. */
static pid_t group_of_command(const struct guard_state *state)
{
    return state->plan->own_group && !state->reaped ? state->command : 0;
}

static void tell_all(const struct guard_state *state, int number)
{
    pid_t group = group_of_command(state);
    struct tree tree;

    if (group)
        kill(-group, number);
    if (tree_signal(getpid(), number, group, &tree) && !state->reaped)
        kill(state->command, number);
}

static void close_begin(struct guard_state *state)
{
    if (state->begin_fd >= 0)
        close(state->begin_fd);
    state->begin_fd = -1;
}

/* Sends TERM once: a cleanup process that the command starts afterwards lives until KILL. */
static void begin_ending(struct guard_state *state, enum guard_cause cause)
{
    if (state->ending)
        return;
    stand_in_end(&state->stand_in);
    state->ending = 1;
    state->cause = cause;
    state->kill_ms = rowlock__after(rowlock__now_ms(), state->plan->kill_after_ms);
    if (state->kill_ms > state->end_ms)
        state->kill_ms = state->end_ms;
    guard_report_event(state, GUARD_ENDING, 0);
    close_begin(state);
    tell_all(state, SIGTERM);
    tell_all(state, SIGCONT);
}

/* Sends KILL to all. Called repeatedly, because a process may start between two looks. */
static void kill_all(struct guard_state *state)
{
    pid_t group = group_of_command(state);
    struct tree tree;

    if (group)
        kill(-group, SIGKILL);
    state->looks++;
    if (tree_signal(getpid(), SIGKILL, 0, &tree) == 0 && tree.alive > tree.refused)
        state->looks = 0;
    state->kill_ms = rowlock__after(rowlock__now_ms(), LOOK_AGAIN_MS);
}

/* ---- children -------------------------------------------------------------------------------- */

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

/* Notes every process that has ended. 1: no child is left, and so no descendant, for orphans become
   children of the guard. */
static int reap(struct guard_state *state)
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

/* The processes that the command left behind when it ended. Dying ones get some time to end. */
static struct tree survivors(struct guard_state *state)
{
    int64_t until = rowlock__now_ms() + DYING_MS;
    struct pollfd children = {.fd = state->child_fd, .events = POLLIN};
    struct tree tree = {0};

    while (!reap(state)) {
        if (rowlock__now_ms() >= until) {
            if (tree_signal(getpid(), 0, 0, &tree))
                tree.alive = 0;
            break;
        }
        poll(&children, 1, LOOK_AGAIN_MS);
    }
    return tree;
}

/* ---- orders ---------------------------------------------------------------------------------- */

static void pass_on(const struct guard_state *state, const struct guard_order *order)
{
    pid_t group = group_of_command(state);

    if (!state->reaped)
        kill(order->to_group && group ? -group : state->command, order->number);
}

static void extend(struct guard_state *state, const struct guard_order *order)
{
    if (!state->ending && order->end_ms > state->end_ms)
        state->end_ms = order->end_ms;
}

/* Carries out an order. The stand-in renews until rowlock itself has renewed again, because rowlock
   may continue later than the command. */
static void obey(struct guard_state *state, const struct guard_order *order)
{
    switch (order->kind) {
    case GUARD_BEGIN:
        if (state->begin_fd >= 0 && write(state->begin_fd, "", 1) == 1) {
            state->began = 1;
            close_begin(state);
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
        pass_on(state, order);
        break;
    case GUARD_END:
        begin_ending(state, GUARD_LOCK_OVER);
        break;
    case GUARD_STOP:
        begin_ending(state, GUARD_TOLD);
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
        begin_ending(state, GUARD_LOCK_OVER);
        if (state->plan->dies_with_rowlock)
            state->kill_ms = 0;
    }
    while (stand_in_next(&state->stand_in, &order)) {
        if (order.kind == GUARD_EXTEND)
            extend(state, &order);
        else
            begin_ending(state, GUARD_LOCK_OVER);
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

static void look_at_clock(struct guard_state *state)
{
    int64_t now = rowlock__now_ms();

    if (!state->ending && now >= guard_stop_ms(state))
        begin_ending(state,
                     state->over_ms <= guard_stop_ms(state) ? GUARD_TIME_OVER : GUARD_LOCK_OVER);
    if (state->ending && now >= state->kill_ms)
        kill_all(state);
}

/* ---- the loop -------------------------------------------------------------------------------- */

static void await(const struct guard_state *state)
{
    struct pollfd fds[] = {{.fd = state->child_fd, .events = POLLIN},
                           {.fd = state->timer_fd, .events = POLLIN},
                           {.fd = state->orphaned ? -1 : state->fd, .events = POLLIN},
                           {.fd = state->stand_in.fd, .events = POLLIN}};

    timer_set(state->timer_fd, state->ending ? state->kill_ms : guard_stop_ms(state));
    poll(fds, sizeof fds / sizeof *fds, -1);
}

/* Reads orders before the clock, so that a deadline that was extended in time has not passed. Also
   collects the command's end before the clock, so that a command that ended by itself counts as
   such, however late the guard notices it. */
struct tree guard_watch(struct guard_state *state)
{
    for (;;) {
        int alone;

        if (!state->orphaned)
            read_orders(state);
        alone = reap(state);
        if (state->ending ? alone || state->looks > HOPELESS_LOOKS : state->reaped)
            return survivors(state);
        look_at_clock(state);
        await(state);
    }
}
