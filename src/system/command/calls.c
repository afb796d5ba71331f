/* SPDX-License-Identifier: Apache-2.0 */
#include "system/command/calls.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

int process_descriptor(pid_t pid)
{
    return (int)syscall(SYS_pidfd_open, pid, 0);
}

int process_signal(int process_fd, int number)
{
    return (int)syscall(SYS_pidfd_send_signal, process_fd, number, NULL, 0);
}

/* Asks for the parent again after the first call, because it may have ended before. */
int end_with_parent(pid_t parent)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    return getppid() == parent ? 0 : -1;
}

void wake_without_parent(void)
{
    prctl(PR_SET_PDEATHSIG, SIGCONT);
}

int adopt_orphans(void)
{
    return prctl(PR_SET_CHILD_SUBREAPER, 1);
}

/* CAP_KILL is the permission to signal the processes of every user. The header of its number is the
   kernel's, and not everywhere installed. */
int may_lose_children(void)
{
    struct {
        uint32_t version;
        int pid;
    } header = {0x20080522, 0};
    struct {
        uint32_t effective, permitted, inheritable;
    } sets[2] = {{0}};
    const uint32_t cap_kill = 1U << 5;

    syscall(SYS_capget, &header, sets);
    return !(sets[0].effective & cap_kill) && prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1;
}

void hide_memory(void)
{
    prctl(PR_SET_DUMPABLE, 0);
}

void name_this_process(const char *name)
{
    prctl(PR_SET_NAME, name);
}

void execute_again(char *const argv[])
{
    execv(THIS_PROGRAM, argv);
}

#ifdef __has_include
#if __has_include(<linux/close_range.h>)
#include <linux/close_range.h>
#endif
#endif

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

void close_all_but(const int *kept, size_t n)
{
    int from = 0, next = 0;

    while (next >= 0) {
        next = -1; /* the least of them from `from` on */
        for (size_t i = 0; i < n; i++)
            if (kept[i] >= from && (next < 0 || kept[i] < next))
                next = kept[i];
        close_between(from, next >= 0 ? next - 1 : INT_MAX);
        from = next + 1;
    }
}

void close_range_on_exec(int from, int to)
{
#if defined(SYS_close_range) && defined(CLOSE_RANGE_CLOEXEC)
    if (syscall(SYS_close_range, (unsigned)from, (unsigned)to - 1, CLOSE_RANGE_CLOEXEC) == 0)
        return;
#endif
    for (; from < to; from++)
        fcntl(from, F_SETFD, FD_CLOEXEC);
}

int any_of(const int *fds, size_t n)
{
    int any = epoll_create1(EPOLL_CLOEXEC);

    for (size_t i = 0; any >= 0 && i < n; i++) {
        struct epoll_event event = {.events = EPOLLIN};

        if (epoll_ctl(any, EPOLL_CTL_ADD, fds[i], &event))
            return -1;
    }
    return any;
}

void any_of_others(int any, int fd)
{
    epoll_ctl(any, EPOLL_CTL_DEL, fd, NULL);
}

int signals_descriptor(const sigset_t *set)
{
    return signalfd(-1, set, SFD_CLOEXEC | SFD_NONBLOCK);
}

int signals_report(int fd, const sigset_t *set)
{
    return signalfd(fd, set, SFD_CLOEXEC | SFD_NONBLOCK) < 0 ? -1 : 0;
}

int signals_next(int fd, int *by_kernel)
{
    struct signalfd_siginfo info;

    if (read(fd, &info, sizeof info) != (ssize_t)sizeof info)
        return 0;
    if (by_kernel)
        *by_kernel = info.ssi_code == SI_KERNEL;
    return (int)info.ssi_signo;
}

int message_pair(int ends[2])
{
    return socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends);
}

int stream_pair(int ends[2])
{
    return socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends);
}

int stream_socket(int family)
{
    return socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
}

int unix_socket(int type)
{
    return socket(AF_UNIX, type | SOCK_CLOEXEC, 0);
}

/* An abstract address, which the kernel removes with the socket. */
static socklen_t address_of(const char *name, struct sockaddr_un *out)
{
    size_t length = strnlen(name, sizeof out->sun_path - 1);

    *out = (struct sockaddr_un){.sun_family = AF_UNIX};
    memcpy(out->sun_path + 1, name, length);
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + length);
}

int announce(const char *name)
{
    struct sockaddr_un address;
    socklen_t length = address_of(name, &address);
    int fd = stream_socket(AF_UNIX);

    if (fd >= 0 && bind(fd, (struct sockaddr *)&address, length) == 0 && listen(fd, SOMAXCONN) == 0)
        return fd;
    if (fd >= 0)
        close(fd);
    return -1;
}

void announce_again(int fd)
{
    int asker;

    while ((asker = accept4(fd, NULL, NULL, SOCK_CLOEXEC)) >= 0)
        close(asker);
}

/* The listener must belong to this user or to root: another user's announcement could make our
   locks fail. */
int is_announced(const char *name)
{
    struct sockaddr_un address;
    socklen_t length = address_of(name, &address);
    struct ucred peer;
    socklen_t size = sizeof peer;
    int fd = stream_socket(AF_UNIX);
    int is = fd >= 0 && connect(fd, (struct sockaddr *)&address, length) == 0 &&
             getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 &&
             (peer.uid == geteuid() || peer.uid == 0);

    if (fd >= 0)
        close(fd);
    return is;
}

int timer_descriptor(void)
{
    return timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK);
}

void timer_set(int fd, int64_t at_ms)
{
    struct itimerspec when = {.it_value = {.tv_sec = 0}};

    if (at_ms < 1)
        at_ms = 1; /* 0 would stop the timer */
    if (at_ms != INT64_MAX)
        when.it_value =
            (struct timespec){.tv_sec = (time_t)(at_ms / 1000), .tv_nsec = at_ms % 1000 * 1000000};
    timerfd_settime(fd, TFD_TIMER_ABSTIME, &when, NULL);
}
