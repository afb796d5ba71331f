/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A lease of `acquire --while-pid` ends with that process, so nothing below the process may wait for it.
 * The environment of a process that runs already cannot tell, so the keeper binds two abstract sockets:
 * one is named by the process, one by the process and the token. The kernel removes them with the keeper.
 */
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "command/guard.h"
#include "command/run.h"

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

void announce_kept(pid_t pid, int64_t token)
{
    const int64_t tokens[] = {0, token};

    for (int i = 0; i < 2; i++) {
        struct sockaddr_un address;
        socklen_t length = address_of(pid, tokens[i], &address);
        int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

        if (fd >= 0 && bind(fd, (struct sockaddr *)&address, length))
            close(fd); /* another keeper of this process has bound it */
    }
}

static int is_announced(int fd, pid_t pid, int64_t token)
{
    struct sockaddr_un address;
    socklen_t length = address_of(pid, token, &address);

    return connect(fd, (struct sockaddr *)&address, length) == 0;
}

int is_kept_for_ancestor(int64_t token)
{
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0), found = 0;
    pid_t pid = getpid();

    for (int i = 0; fd >= 0 && pid > 1 && !found && i < MOST_ANCESTORS; i++) {
        found = is_announced(fd, pid, token);
        pid = i ? tree_parent(pid) : getppid();
    }
    if (fd >= 0)
        close(fd);
    return found;
}
