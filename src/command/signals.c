/* SPDX-License-Identifier: Apache-2.0 */
/* Reads signals from a descriptor, without handlers and their races. */
#include <pthread.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#include "command/signals.h"

static const int passed_on[] = {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};

int signals_are_ignored(int number)
{
    struct sigaction action;

    return sigaction(number, NULL, &action) == 0 && action.sa_handler == SIG_IGN;
}

int signals_open(struct signals *signals)
{
    sigaction(SIGPIPE, NULL, &signals->broken_pipe);
    signal(SIGPIPE, SIG_IGN); /* a message without a reader must not leave the lock behind */
    signal(SIGCHLD, SIG_DFL); /* ignored, it would hide how the command ended */
    sigemptyset(&signals->handled);
    for (size_t i = 0; i < sizeof passed_on / sizeof *passed_on; i++)
        if (!signals_are_ignored(passed_on[i]))
            sigaddset(&signals->handled, passed_on[i]);
    sigprocmask(SIG_BLOCK, &signals->handled, &signals->original);
    signals->fd = signals->awake_fd = -1;
    signals->wait_fd = signals_descriptor(&signals->handled);
    return signals->wait_fd < 0 ? -1 : 0;
}

/* Job control stops the command, and this program follows. If it stopped first, or alone, the lease
   would not be renewed. */
static sigset_t of_job_control(void)
{
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGTSTP);
    sigaddset(&set, SIGTTIN);
    sigaddset(&set, SIGTTOU);
    return set;
}

void signals_stop(void)
{
    sigset_t only;

    sigemptyset(&only);
    sigaddset(&only, SIGTSTP);
    raise(SIGTSTP);
    pthread_sigmask(SIG_UNBLOCK, &only, NULL);
    pthread_sigmask(SIG_BLOCK, &only, NULL);
}

int signals_turn_to_command(struct signals *signals)
{
    sigset_t stops = of_job_control(), awake, none;

    sigemptyset(&none);
    sigemptyset(&awake);
    sigaddset(&awake, SIGCONT);
    signals->fd = signals_descriptor(&signals->handled);
    if (signals->fd < 0)
        return -1;
    sigprocmask(SIG_BLOCK, &stops, NULL);
    sigprocmask(SIG_BLOCK, &awake, NULL);
    signals->awake_fd = signals_descriptor(&awake);
    if (signals->awake_fd < 0)
        return -1;
    return signals_report(signals->wait_fd, &none);
}

int signals_turn_to_wait(struct signals *signals)
{
    sigset_t stops = of_job_control(), ours = stops;
    struct sigaction ignore = {.sa_handler = SIG_IGN}, before;

    close(signals->fd);
    signals->fd = -1;
    /* discards a stop signal that is still pending, because it was meant for the command */
    for (int number = 1; number < NSIG; number++)
        if (sigismember(&stops, number) == 1 && sigaction(number, &ignore, &before) == 0)
            sigaction(number, &before, NULL);
    sigaddset(&ours, SIGCONT);
    for (int number = 1; number < NSIG; number++)
        if (sigismember(&signals->original, number) == 1)
            sigdelset(&ours, number);
    sigprocmask(SIG_UNBLOCK, &ours, NULL);
    close(signals->awake_fd);
    signals->awake_fd = -1;
    return signals_report(signals->wait_fd, &signals->handled);
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

void end_at_once(int status)
{
    fflush(stdout);
    if (status < 0)
        die_by(-status);
    _exit(status);
}

/* With SIGXFSZ ignored a write beyond ulimit -f fails, and reports it. */
static struct sigaction too_large;

void ignore_large_files(void)
{
    struct sigaction ignore = {.sa_handler = SIG_IGN};

    sigaction(SIGXFSZ, &ignore, &too_large);
}

void signals_give_back(const struct signals *signals)
{
    sigaction(SIGPIPE, &signals->broken_pipe, NULL);
    sigaction(SIGXFSZ, &too_large, NULL);
    sigprocmask(SIG_SETMASK, &signals->original, NULL);
}
