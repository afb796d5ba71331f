/* SPDX-License-Identifier: Apache-2.0 */
#include "system/descriptors.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#define MOST_WITHOUT_PROC 4096

int rowlock__pipe(int ends[2])
{
    return pipe2(ends, O_CLOEXEC);
}

static void visit_all_numbers(void (*visit)(void *data, int fd), void *data)
{
    struct rlimit limit = {.rlim_cur = MOST_WITHOUT_PROC};

    getrlimit(RLIMIT_NOFILE, &limit);
    for (int fd = 0; fd < MOST_WITHOUT_PROC && (rlim_t)fd < limit.rlim_cur; fd++)
        if (fcntl(fd, F_GETFD) >= 0)
            visit(data, fd);
}

void rowlock__visit_descriptors(void (*visit)(void *data, int fd), void *data)
{
    DIR *folder = opendir("/proc/self/fd");
    struct dirent *entry;

    if (!folder) {
        visit_all_numbers(visit, data);
        return;
    }
    while ((entry = readdir(folder)))
        if (entry->d_name[0] != '.' && atoi(entry->d_name) != dirfd(folder))
            visit(data, atoi(entry->d_name));
    closedir(folder);
}

bool rowlock__has_hung_up(int fd)
{
    struct pollfd connection = {.fd = fd, .events = POLLRDHUP};

    return poll(&connection, 1, 0) > 0;
}
