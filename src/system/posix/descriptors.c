/* SPDX-License-Identifier: Apache-2.0 */
#include "system/descriptors.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

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
