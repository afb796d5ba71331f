/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lists the process's descriptors, and finds a new session's socket among them. A descriptor is
 * identified by its inode too, because another thread may close one and reuse its number.
 */
#include "driver/descriptors.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define MOST_WITHOUT_PROC 4096

struct descriptor {
    int fd;
    dev_t device;
    ino_t inode;
};

struct rowlock_descriptors {
    size_t n, room;
    struct descriptor all[];
};

static struct rowlock_descriptors *add(struct rowlock_descriptors *set, int fd)
{
    struct stat status;

    if (!set || fstat(fd, &status) != 0)
        return set;
    if (set->n == set->room) {
        size_t room = set->room * 2;
        struct rowlock_descriptors *more = realloc(set, sizeof *set + room * sizeof set->all[0]);

        if (!more) {
            free(set);
            return NULL;
        }
        set = more;
        set->room = room;
    }
    set->all[set->n++] =
        (struct descriptor){.fd = fd, .device = status.st_dev, .inode = status.st_ino};
    return set;
}

static struct rowlock_descriptors *add_from_proc(struct rowlock_descriptors *set, DIR *folder)
{
    struct dirent *entry;

    while (set && (entry = readdir(folder)))
        if (entry->d_name[0] != '.' && atoi(entry->d_name) != dirfd(folder))
            set = add(set, atoi(entry->d_name));
    return set;
}

struct rowlock_descriptors *rowlock__descriptors(void)
{
    enum { ROOM = 64 };
    struct rowlock_descriptors *set = malloc(sizeof *set + ROOM * sizeof set->all[0]);
    struct rlimit limit = {.rlim_cur = MOST_WITHOUT_PROC};
    DIR *folder = opendir("/proc/self/fd");

    if (set) {
        set->n = 0;
        set->room = ROOM;
    }
    if (folder) {
        set = add_from_proc(set, folder);
        closedir(folder);
        return set;
    }
    getrlimit(RLIMIT_NOFILE, &limit);
    for (int fd = 0; fd < MOST_WITHOUT_PROC && (rlim_t)fd < limit.rlim_cur; fd++)
        set = add(set, fd);
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

/* The peer of a socket that still connects is not known yet. */
static bool is_connecting(int fd)
{
    struct tcp_info info;
    socklen_t size = sizeof info;

    return getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size) == 0 &&
           info.tcpi_state == TCP_SYN_SENT;
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
    if (getpeername(fd, &peer.any, &size) != 0)
        return is_connecting(fd);
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
