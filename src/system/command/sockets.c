/* SPDX-License-Identifier: Apache-2.0 */
#include "system/command/sockets.h"

#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

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

/* Whether the listener belongs to this user or to root. Another user's announcement could make our
   locks fail. */
static int listens_for_us(int fd)
{
    struct ucred peer;
    socklen_t size = sizeof peer;

    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 &&
           (peer.uid == geteuid() || peer.uid == 0);
}

int is_announced(const char *name)
{
    struct sockaddr_un address;
    socklen_t length = address_of(name, &address);
    int fd = stream_socket(AF_UNIX);
    int is = fd >= 0 && connect(fd, (struct sockaddr *)&address, length) == 0 && listens_for_us(fd);

    if (fd >= 0)
        close(fd);
    return is;
}
