/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The guard ends the command. Some processes do not end: this user may not signal them (sudo, or
 * another set-user-ID program), /proc does not show them, or the kernel waits for a disk. While the
 * lock is certain, the guard watches them, and rowlock keeps the lock for them.
 */
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "guard/state.h"
#include "util/clock.h"

#define LOOK_AGAIN_MS 20  /* between two looks at processes that do not die at once */
#define LOOK_LATER_MS 500 /* at those for which rowlock keeps the lock */
#define DYING_MS 300      /* for processes that die together with the command */
#define HOPELESS_LOOKS 50 /* then the guard gives up processes that it may not signal */

pid_t guard_group(const struct guard_state *state)
{
    return state->plan->own_group && !state->reaped ? state->command : 0;
}

void guard_close_begin(struct guard_state *state)
{
    if (state->begin_fd >= 0)
        close(state->begin_fd);
    state->begin_fd = -1;
}

/* Signals every descendant, but the command's group at once. Without /proc only that group, or the
   command alone, can be found: -1. */
static int signal_all(const struct guard_state *state, int number, pid_t but, struct tree *out)
{
    pid_t group = guard_group(state);

    if (group)
        kill(-group, number);
    if (tree_signal(getpid(), number, but, out) == 0)
        return 0;
    if (!group && !state->reaped)
        kill(state->command, number);
    return -1;
}

void guard_begin_ending(struct guard_state *state, enum guard_cause cause)
{
    struct tree tree;

    state->over |= cause == GUARD_LOCK_OVER;
    if (state->ending)
        return;
    stand_in_end(&state->stand_in);
    state->ending = 1;
    state->cause = cause;
    state->kill_ms = rowlock__after(rowlock__now_ms(), state->plan->kill_after_ms);
    if (state->kill_ms > state->end_ms)
        state->kill_ms = state->end_ms;
    guard_report_event(state, GUARD_ENDING, 0);
    guard_close_begin(state);
    signal_all(state, SIGTERM, guard_group(state), &tree);
    signal_all(state, SIGCONT, guard_group(state), &tree);
}

static int is_over(const struct guard_state *state)
{
    return state->over || rowlock__now_ms() >= state->end_ms;
}

/* The next look, at the latest when the lock ends: then the guard gives up. */
static void look_later(struct guard_state *state)
{
    int64_t now = rowlock__now_ms();

    state->kill_ms =
        rowlock__after(now, state->kept && !is_over(state) ? LOOK_LATER_MS : LOOK_AGAIN_MS);
    if (state->end_ms > now)
        state->kill_ms = rowlock__least(state->kill_ms, state->end_ms);
}

void guard_kill(struct guard_state *state)
{
    struct tree tree;

    state->kills++;
    state->looks++;
    if (signal_all(state, SIGKILL, 0, &tree) == 0 && tree.alive > tree.refused)
        state->looks = 0;
    look_later(state);
}

/* ---- survivors ------------------------------------------------------------------------------- */

/* A child that /proc does not show is another user's. */
static void look(struct guard_state *state)
{
    static const struct tree none = {0};
    int failed = tree_signal(getpid(), 0, 0, &state->left);

    if (failed || guard_reap(state))
        state->left = none;
    if (!state->left.alive && !guard_reap(state))
        state->left = (struct tree){.alive = 1, .refused = !failed};
}

/* The processes that the command left behind when it ended. Dying ones get some time to end. */
static void find_survivors(struct guard_state *state)
{
    int64_t until = rowlock__now_ms() + DYING_MS;
    struct pollfd children = {.fd = state->child_fd, .events = POLLIN};

    while (!guard_reap(state) && rowlock__now_ms() < until)
        poll(&children, 1, LOOK_AGAIN_MS);
    look(state);
}

/* Reports them to rowlock, which keeps the lock for them: first, and when they have changed. */
static void keep_for_left(struct guard_state *state, const struct tree *before)
{
    if (!state->kept || memcmp(&state->left, before, sizeof *before) != 0)
        guard_report_event(state, GUARD_SURVIVED, 0);
    state->kept = 1;
}

/* 1: given up, because the lock has ended. */
static int give_up(struct guard_state *state)
{
    struct tree before;

    if (state->kills <= HOPELESS_LOOKS)
        return 0;
    if (!is_over(state)) {
        before = state->left;
        look(state);
        keep_for_left(state, &before);
        return 0;
    }
    if (state->looks <= HOPELESS_LOOKS)
        return 0;
    find_survivors(state);
    if (state->left.alive && !state->over)
        state->cause = GUARD_LOCK_OVER;
    return 1;
}

int guard_is_done(struct guard_state *state, int alone)
{
    static const struct tree none = {0};
    struct tree before = state->left;

    if (alone) {
        state->left = none;
        return 1;
    }
    if (state->ending)
        return give_up(state);
    if (!state->reaped)
        return 0;
    /* The command has ended by itself. The processes that it left behind run on without the lock,
       except one that could not get the signal to end which the others got. */
    if (state->kept)
        look(state);
    else
        find_survivors(state);
    if (!state->passed || !state->left.refused)
        return 1;
    state->over_ms = ROWLOCK_NEVER;
    keep_for_left(state, &before);
    look_later(state);
    return 0;
}
