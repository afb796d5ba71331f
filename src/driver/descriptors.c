/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lists the process's descriptors, and finds a new session's socket among them. A descriptor is
 * identified by its inode too, because another thread may close one and reuse its number.
 */
#include "driver/watch.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "system/system.h"

struct descriptor {
    int fd;
    dev_t device;
    ino_t inode;
};

static void add(void *data, int fd)
{
    struct stat status;
    struct descriptor *one = fstat(fd, &status) == 0 ? rowlock__rows_add(data) : NULL;

    if (one)
        *one = (struct descriptor){.fd = fd, .device = status.st_dev, .inode = status.st_ino};
}

struct rowlock_rows rowlock__descriptors(void)
{
    struct rowlock_rows set = {.size = sizeof(struct descriptor)};

    rowlock__visit_descriptors(add, &set);
    return set;
}

static bool contains(const struct rowlock_rows *set, const struct descriptor *one)
{
    const struct descriptor *all = set->row;

    for (size_t i = 0; i < set->n; i++)
        if (all[i].fd == one->fd && all[i].device == one->device && all[i].inode == one->inode)
            return true;
    return false;
}

static int option(int fd, int name)
{
    int value = -1;
    socklen_t size = sizeof value;

    return getsockopt(fd, SOL_SOCKET, name, &value, &size) == 0 ? value : -1;
}

/* A socketpair has a peer without a name: it leads to no server. */
static bool leads_to_server(int fd, int port)
{
    union {
        struct sockaddr any;
        struct sockaddr_in ipv4;
        struct sockaddr_in6 ipv6;
        struct sockaddr_un local;
        struct sockaddr_storage room;
    } peer = {.any = {.sa_family = AF_UNSPEC}};
    socklen_t size = sizeof peer;

    if (option(fd, SO_TYPE) != SOCK_STREAM || option(fd, SO_ACCEPTCONN) == 1)
        return false;
    if (getpeername(fd, &peer.any, &size) != 0) {
        /* A socket that still connects has no peer yet, and is not writable. A socket without a
           peer that does not connect has hung up or was never connected. */
        struct pollfd pollfd = {.fd = fd, .events = POLLOUT};

        return poll(&pollfd, 1, 0) == 0;
    }
    switch (peer.any.sa_family) {
    case AF_INET:
        return port <= 0 || ntohs(peer.ipv4.sin_port) == port;
    case AF_INET6:
        return port <= 0 || ntohs(peer.ipv6.sin6_port) == port;
    case AF_UNIX:
        return size > offsetof(struct sockaddr_un, sun_path);
    default:
        return false;
    }
}

int rowlock__new_socket(const struct rowlock_rows *before, int port)
{
    struct rowlock_rows now = rowlock__descriptors();
    const struct descriptor *all = now.row;
    int found = -1, n = 0;

    for (size_t i = 0; !now.failed && i < now.n; i++)
        if (!contains(before, &all[i]) && leads_to_server(all[i].fd, port)) {
            found = all[i].fd;
            n++;
        }
    rowlock__rows_clear(&now);
    return n == 1 ? found : -1;
}

void rowlock__close_new_on_exec(const struct rowlock_rows *before)
{
    struct rowlock_rows now = rowlock__descriptors();
    const struct descriptor *all = now.row;

    for (size_t i = 0; i < now.n; i++) {
        int flags = fcntl(all[i].fd, F_GETFD);

        if (flags >= 0 && !(flags & FD_CLOEXEC) && !contains(before, &all[i]))
            fcntl(all[i].fd, F_SETFD, flags | FD_CLOEXEC);
    }
    rowlock__rows_clear(&now);
}
