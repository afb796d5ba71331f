/* SPDX-License-Identifier: Apache-2.0 */
/* The guard, as seen from rowlock: starting it, orders to it, reports from it. */
#include "guard/guard.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "system/command/calls.h"
#include "util/clock.h"

#define REPLACE_MS 900   /* limit of guard_replace(), so that rowlock ends within a second */
#define LOOK_AGAIN_MS 20 /* polling interval */

int guard_start(struct guard *guard, const struct guard_plan *plan)
{
    siginfo_t info;
    int pair[2];

    *guard = (struct guard){.fd = -1, .own_group = plan->own_group};
    /* Whether rowlock has no children. A shell that became rowlock by exec may have left some. */
    guard->only_ours =
        waitid(P_ALL, 0, &info, WEXITED | WSTOPPED | WNOHANG | WNOWAIT) < 0 && errno == ECHILD;
    if (message_pair(pair))
        return -1;
    if (guard->only_ours)
        adopt_orphans(); /* if the guard is killed, its orphans come to us */
    guard->pid = fork();
    if (guard->pid == 0) {
        close(pair[0]);
        guard_run(plan, pair[1]);
    }
    close(pair[1]);
    guard->fd = pair[0];
    if (guard->pid > 0)
        return 0;
    guard_close(guard);
    return -1;
}

/* ---- orders and reports ---------------------------------------------------------------------- */

void guard_give(int fd, enum guard_order_kind kind, int64_t end_ms)
{
    struct guard_order order = {.kind = kind, .end_ms = end_ms};

    send(fd, &order, sizeof order, MSG_NOSIGNAL | MSG_DONTWAIT);
}

void guard_signal(const struct guard *guard, int number, int to_group)
{
    struct guard_order order = {.kind = GUARD_SIGNAL, .number = number, .to_group = to_group};

    send(guard->fd, &order, sizeof order, MSG_NOSIGNAL | MSG_DONTWAIT);
}

void guard_next(struct guard *guard, struct guard_report *out)
{
    ssize_t got = recv(guard->fd, out, sizeof *out, MSG_DONTWAIT);

    /* reported once, before pending reports, if the guard ended with unread orders */
    if (got < 0 && errno == ECONNRESET)
        got = recv(guard->fd, out, sizeof *out, MSG_DONTWAIT);
    if (got == (ssize_t)sizeof *out) {
        if (out->event == GUARD_STARTED) {
            guard->has_command = 1;
            guard->command = out->command;
            guard->born = tree_born(out->command);
            guard_give(guard->fd, GUARD_BEGIN, 0);
        }
        return;
    }
    *out = (struct guard_report){
        .event = got < 0 && (errno == EAGAIN || errno == EINTR) ? GUARD_NOTHING : GUARD_GONE};
}

/* ---- replacing a dead guard ------------------------------------------------------------------ */

/* The dead guard's children are ours now, also those that /proc does not show. */
struct tree guard_orphans(const struct guard *guard)
{
    static const struct tree none = {0}, hidden = {.alive = 1};
    struct tree tree = {.pid = {guard->command}};

    if (!guard->only_ours) {
        /* The command itself has ended with its guard, unless it is a set-user-ID program. */
        tree.alive = guard->has_command && tree_born(guard->command) == guard->born &&
                     !tree_is_dead(guard->command);
        return tree;
    }
    if (reap_all())
        return none;
    if (tree_signal(getpid(), SIGKILL, 0, &tree) == 0 && tree.alive)
        return tree;
    return reap_all() ? none : hidden;
}

/* The command itself dies with its parent. Its process group keeps its number as long as a member
   lives; afterwards the kernel reuses the number only after thousands of others. */
struct tree guard_replace(struct guard *guard)
{
    int64_t until = rowlock__now_ms() + REPLACE_MS;
    struct tree tree = {0};

    if (guard->pid <= 0)
        return tree;
    kill(guard->pid, SIGKILL);
    while (waitpid(guard->pid, NULL, 0) < 0 && errno == EINTR)
        ;
    guard->pid = 0;
    if (guard->has_command && guard->own_group)
        kill(-guard->command, SIGKILL);
    while ((tree = guard_orphans(guard)).alive && rowlock__now_ms() < until)
        poll(NULL, 0, LOOK_AGAIN_MS);
    return tree;
}

void guard_close(struct guard *guard)
{
    if (guard->fd >= 0)
        close(guard->fd);
    guard->fd = -1;
    while (guard->pid > 0 && waitpid(guard->pid, NULL, 0) < 0 && errno == EINTR)
        ;
    guard->pid = 0;
}
