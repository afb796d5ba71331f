/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A lease of `acquire --while-pid` ends with that process, so no descendant of the process may wait
 * for it. The environment of a running process cannot be changed, so the keeper binds two abstract
 * sockets: one named after the process, one after the process and the token. The kernel removes
 * them with the keeper. Every user may bind such a name, so the client checks which user listens
 * (SO_PEERCRED).
 */
#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "command/guard/guard.h"
#include "command/run/run.h"

#define MOST_ANCESTORS 1000

/* A number of a process means something in its own namespace only. */
static socklen_t address_of(pid_t pid, int64_t token, struct sockaddr_un *out)
{
    struct stat space = {0};
    int length;

    stat("/proc/self/ns/pid", &space);
    *out = (struct sockaddr_un){.sun_family = AF_UNIX};
    length = snprintf(out->sun_path + 1, sizeof out->sun_path - 1,
                      "rowlock/while/%" PRIuMAX "/%d/%" PRId64, (uintmax_t)space.st_ino, (int)pid,
                      token);
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length);
}

static int announce(pid_t pid, int64_t token)
{
    struct sockaddr_un address;
    socklen_t length = address_of(pid, token, &address);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    if (fd >= 0 && bind(fd, (struct sockaddr *)&address, length) == 0 && listen(fd, SOMAXCONN) == 0)
        return fd;
    if (fd >= 0)
        close(fd); /* another keeper of this process has bound it, or another user */
    return -1;
}

void announce_kept(pid_t pid, int64_t token, int fds[KEPT_NAMES])
{
    fds[0] = announce(pid, 0);
    fds[1] = announce(pid, token);
}

void take_askers(int fd)
{
    int asker;

    while ((asker = accept4(fd, NULL, NULL, SOCK_CLOEXEC)) >= 0)
        close(asker);
}

/* Trusting another user would let that user make our locks fail. */
static int listens_for_us(int fd)
{
    struct ucred peer;
    socklen_t size = sizeof peer;

    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 &&
           (peer.uid == geteuid() || peer.uid == 0);
}

static int is_announced(pid_t pid, int64_t token)
{
    struct sockaddr_un address;
    socklen_t length = address_of(pid, token, &address);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    int is = fd >= 0 && connect(fd, (struct sockaddr *)&address, length) == 0 && listens_for_us(fd);

    if (fd >= 0)
        close(fd);
    return is;
}

int is_kept_for_ancestor(int64_t token)
{
    pid_t pid = getpid();
    int found = 0;

    for (int i = 0; pid > 1 && !found && i < MOST_ANCESTORS; i++) {
        found = is_announced(pid, token);
        pid = i ? tree_parent(pid) : getppid();
    }
    return found;
}
