/* SPDX-License-Identifier: Apache-2.0 */
/* Signals are read from a descriptor: no handler, so nothing that could race with one. */
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "command/run.h"

static const int passed_on[] = {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};

/* nohup and background jobs have some ignored: that stays so, for us and for the command. */
static int is_ignored(int number)
{
    struct sigaction action;

    return sigaction(number, NULL, &action) == 0 && action.sa_handler == SIG_IGN;
}

int signals_open(struct signals *signals)
{
    sigaction(SIGPIPE, NULL, &signals->broken_pipe);
    signal(SIGPIPE, SIG_IGN); /* a message that nobody reads must not leave the lock behind */
    signal(SIGCHLD, SIG_DFL); /* ignored, it would hide how the command ended */
    sigemptyset(&signals->handled);
    for (size_t i = 0; i < sizeof passed_on / sizeof *passed_on; i++)
        if (!is_ignored(passed_on[i]))
            sigaddset(&signals->handled, passed_on[i]);
    sigprocmask(SIG_BLOCK, &signals->handled, &signals->original);
    signals->fd = -1;
    signals->wait_fd = signalfd(-1, &signals->handled, SFD_CLOEXEC | SFD_NONBLOCK);
    return signals->wait_fd < 0 ? -1 : 0;
}

int signals_turn_to_command(struct signals *signals)
{
    sigset_t none;

    sigemptyset(&none);
    signals->fd = signalfd(-1, &signals->handled, SFD_CLOEXEC | SFD_NONBLOCK);
    if (signals->fd < 0)
        return -1;
    return signalfd(signals->wait_fd, &none, SFD_CLOEXEC | SFD_NONBLOCK) < 0 ? -1 : 0;
}

int signals_turn_to_wait(struct signals *signals)
{
    close(signals->fd);
    signals->fd = -1;
    return signalfd(signals->wait_fd, &signals->handled, SFD_CLOEXEC | SFD_NONBLOCK) < 0 ? -1 : 0;
}

int signals_next(int fd, struct signalfd_siginfo *info)
{
    return read(fd, info, sizeof *info) == (ssize_t)sizeof *info;
}

void die_by(int number)
{
    static const struct rlimit no_core = {0, 0};
    sigset_t only;

    setrlimit(RLIMIT_CORE, &no_core); /* the core would be ours, not the command's */
    signal(number, SIG_DFL);
    sigemptyset(&only);
    sigaddset(&only, number);
    sigprocmask(SIG_UNBLOCK, &only, NULL);
    raise(number);
    _exit(128 + number);
}
