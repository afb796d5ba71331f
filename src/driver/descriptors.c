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
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "system/system.h"

struct descriptor {
    int fd;
    dev_t device;
    ino_t inode;
};

struct rowlock_descriptors {
    size_t n, room;
    struct descriptor all[];
};

/* Adds one descriptor. Frees the set and makes it NULL if it cannot grow. */
static void add(void *data, int fd)
{
    struct rowlock_descriptors **out = data, *set = *out;
    struct stat status;

    if (!set || fstat(fd, &status) != 0)
        return;
    if (set->n == set->room) {
        size_t room = set->room * 2;
        struct rowlock_descriptors *more = realloc(set, sizeof *set + room * sizeof set->all[0]);

        if (!more) {
            free(set);
            *out = NULL;
            return;
        }
        *out = set = more;
        set->room = room;
    }
    set->all[set->n++] =
        (struct descriptor){.fd = fd, .device = status.st_dev, .inode = status.st_ino};
}

struct rowlock_descriptors *rowlock__descriptors(void)
{
    enum { ROOM = 64 };
    struct rowlock_descriptors *set = malloc(sizeof *set + ROOM * sizeof set->all[0]);

    if (set) {
        set->n = 0;
        set->room = ROOM;
    }
    rowlock__visit_descriptors(add, &set);
    return set;
}

static bool contains(const struct rowlock_descriptors *set, const struct descriptor *one)
{
    for (size_t i = 0; i < set->n; i++)
        if (set->all[i].fd == one->fd && set->all[i].device == one->device &&
            set->all[i].inode == one->inode)
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

int rowlock__new_socket(const struct rowlock_descriptors *before, int port)
{
    struct rowlock_descriptors *now = rowlock__descriptors();
    int found = -1, n = 0;

    for (size_t i = 0; now && i < now->n; i++)
        if (!contains(before, &now->all[i]) && leads_to_server(now->all[i].fd, port)) {
            found = now->all[i].fd;
            n++;
        }
    free(now);
    return n == 1 ? found : -1;
}

void rowlock__close_new_on_exec(const struct rowlock_descriptors *before)
{
    struct rowlock_descriptors *now = rowlock__descriptors();

    for (size_t i = 0; now && i < now->n; i++) {
        int flags = fcntl(now->all[i].fd, F_GETFD);

        if (flags >= 0 && !(flags & FD_CLOEXEC) && !contains(before, &now->all[i]))
            fcntl(now->all[i].fd, F_SETFD, flags | FD_CLOEXEC);
    }
    free(now);
}
