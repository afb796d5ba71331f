/* SPDX-License-Identifier: Apache-2.0 */
/* The check guard: starts the guard with a command that becomes a daemon, and lets it end both. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "guard/guard.h"
#include "show/doctor/doctor.h"
#include "system/descriptors.h"
#include "util/clock.h"

#define LIMIT_MS 20000

/* Writes the daemon's pid to the pipe. All signals are blocked, as in a command that ignores them.
 */
static int become_daemon(void *data)
{
    const int *pipe_fd = data;
    pid_t pid = fork();

    if (pid < 0)
        return errno;
    if (pid == 0) {
        setsid();
        pid = getpid();
        if (write(*pipe_fd, &pid, sizeof pid) != (ssize_t)sizeof pid)
            _exit(STATUS_FAILED);
    }
    for (;;)
        pause();
}

/* Until the last report, or the deadline. The order to end follows the daemon's start. */
static void follow(struct guard *guard, int pipe_fd, pid_t *daemon, struct guard_report *last)
{
    int64_t until = rowlock__now_ms() + LIMIT_MS;

    while (rowlock__now_ms() < until) {
        struct pollfd fds[2] = {{.fd = guard->fd, .events = POLLIN},
                                {.fd = *daemon ? -1 : pipe_fd, .events = POLLIN}};

        poll(fds, 2, (int)(until - rowlock__now_ms()));
        if (fds[1].revents && read(pipe_fd, daemon, sizeof *daemon) == (ssize_t)sizeof *daemon)
            guard_end(guard);
        guard_next(guard, last);
        if (last->event == GUARD_ENDED || last->event == GUARD_GONE ||
            last->event == GUARD_NOT_STARTED || last->event == GUARD_NOT_EXECUTED)
            return;
    }
    last->event = GUARD_NOTHING;
}

static void judge(struct doctor *doctor, const struct guard_report *last, pid_t daemon,
                  int64_t took_ms)
{
    static const char advice[] = "allow fork, signalfd, timerfd, pidfd_open, prctl and /proc in "
                                 "this container or service";

    if (last->event == GUARD_NOT_STARTED || last->event == GUARD_NOT_EXECUTED)
        finding(doctor, "guard", ROWLOCK_UNSAFE, advice, "the guard cannot start: %s",
                strerror(last->number));
    else if (last->event != GUARD_ENDED)
        finding(doctor, "guard", ROWLOCK_UNSAFE, advice, "the guard was killed or does not react");
    else if (last->survivors.alive || (daemon && !tree_is_dead(daemon)))
        finding(doctor, "guard", ROWLOCK_UNSAFE, advice,
                "a daemon of a command outlives it: it would work without the lock");
    else
        finding(doctor, "guard", ROWLOCK_SOUND, "", "it ended a command and its daemon in %d ms",
                (int)took_ms);
}

void examine_guard(struct doctor *doctor)
{
    struct guard guard;
    struct guard_report last = {.event = GUARD_NOT_STARTED};
    int64_t began = rowlock__now_ms();
    int pair[2];
    struct guard_plan plan = {.end_ms = ROWLOCK_NEVER,
                              .max_run_ms = -1,
                              .own_group = 1,
                              .dies_with_rowlock = 1,
                              .become = become_daemon,
                              .data = &pair[1]};
    pid_t daemon = 0;

    if (rowlock__pipe(pair))
        return;
    if (guard_start(&guard, &plan)) {
        last.number = errno;
        judge(doctor, &last, 0, 0);
    } else {
        follow(&guard, pair[0], &daemon, &last);
        if (last.event != GUARD_ENDED)
            guard_replace(&guard);
        guard_close(&guard);
        judge(doctor, &last, daemon, rowlock__now_ms() - began);
        if (daemon && !tree_is_dead(daemon))
            kill(daemon, SIGKILL);
    }
    close(pair[0]);
    close(pair[1]);
}
