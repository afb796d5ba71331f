/* SPDX-License-Identifier: Apache-2.0 */
#include "system/system.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stddef.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

/* By a pipe. A full pipe is readable already, so a byte that it does not take is not missed. */
int rowlock__wakeup_open(struct rowlock_wakeup *wakeup)
{
    int ends[2];

    *wakeup = (struct rowlock_wakeup)ROWLOCK_NO_WAKEUP;
    if (rowlock__pipe(ends))
        return -1;
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
    fcntl(ends[1], F_SETFL, O_NONBLOCK);
    *wakeup = (struct rowlock_wakeup){.fd = ends[0], .sender = ends[1]};
    return 0;
}

void rowlock__wakeup_close(struct rowlock_wakeup *wakeup)
{
    if (wakeup->fd >= 0) {
        close(wakeup->fd);
        close(wakeup->sender);
    }
    *wakeup = (struct rowlock_wakeup)ROWLOCK_NO_WAKEUP;
}

void rowlock__wakeup_send(const struct rowlock_wakeup *wakeup)
{
    while (write(wakeup->sender, "", 1) < 0 && errno == EINTR)
        continue;
}

uint64_t rowlock__wakeup_take(const struct rowlock_wakeup *wakeup)
{
    uint64_t times = 0;
    char bytes[64];
    ssize_t got;

    while ((got = read(wakeup->fd, bytes, sizeof bytes)) > 0 || (got < 0 && errno == EINTR))
        if (got > 0)
            times += (uint64_t)got;
    return times;
}

int64_t rowlock__system_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

#define MOST 4096 /* descriptors, where the limit is higher */

int rowlock__pipe(int ends[2])
{
    if (pipe(ends))
        return -1;
    fcntl(ends[0], F_SETFD, FD_CLOEXEC);
    fcntl(ends[1], F_SETFD, FD_CLOEXEC);
    return 0;
}

void rowlock__visit_descriptors(void (*visit)(void *data, int fd), void *data)
{
    struct rlimit limit = {.rlim_cur = MOST};

    getrlimit(RLIMIT_NOFILE, &limit);
    for (int fd = 0; fd < MOST && (rlim_t)fd < limit.rlim_cur; fd++)
        if (fcntl(fd, F_GETFD) >= 0)
            visit(data, fd);
}

bool rowlock__has_hung_up(int fd)
{
    struct pollfd connection = {.fd = fd, .events = POLLIN};
    char byte;

    if (poll(&connection, 1, 0) <= 0)
        return false;
    if (connection.revents & (POLLHUP | POLLERR | POLLNVAL))
        return true;
    return recv(fd, &byte, 1, MSG_PEEK) == 0;
}

bool rowlock__is_mounted_alone(const char *path)
{
    (void)path;
    return false;
}

void *rowlock__own_symbols(void)
{
    return dlopen(NULL, RTLD_LAZY);
}

void *rowlock__loaded_library(const char *file)
{
    return dlopen(file, RTLD_LAZY);
}

const char *rowlock__path_of_function(__attribute__((unused)) const void *function)
{
    return NULL;
}

void rowlock__keep_alive(int fd)
{
    int yes = 1;

    if (fd >= 0)
        setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &yes, sizeof yes);
}

const char *rowlock__program_name(void)
{
    return "program";
}

uintmax_t rowlock__pid_namespace(void)
{
    return 0;
}

const char *rowlock__boot_id(void)
{
    return "";
}

/* By /dev/urandom, which POSIX does not require, but every Unix has. */

int rowlock__random_bytes(void *out, size_t n)
{
    int fd = open("/dev/urandom", O_RDONLY | O_CLOEXEC);
    unsigned char *at = out;
    ssize_t got = 1;

    if (fd < 0)
        return -1;
    while (n > 0 && got != 0) {
        got = read(fd, at, n);
        if (got < 0 && errno != EINTR)
            break;
        if (got > 0) {
            at += got;
            n -= (size_t)got;
        }
    }
    close(fd);
    return n > 0 ? -1 : 0;
}
