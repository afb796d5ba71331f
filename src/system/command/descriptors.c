/* SPDX-License-Identifier: Apache-2.0 */
#include "system/command/descriptors.h"

#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>
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

/* The least of them from `from` on, or -1. */
static int next_of(const int *fds, size_t n, int from)
{
    int least = -1;

    for (size_t i = 0; i < n; i++)
        if (fds[i] >= from && (least < 0 || fds[i] < least))
            least = fds[i];
    return least;
}

void close_all_but(const int *kept, size_t n)
{
    int from = 0;

    for (int next; (next = next_of(kept, n, from)) >= 0; from = next + 1)
        close_between(from, next - 1);
    close_between(from, INT_MAX);
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
