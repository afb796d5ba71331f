/* SPDX-License-Identifier: Apache-2.0 */
/* Clones and senders begin by exec, as `rowlock demo clone FD CLONE TOKEN`, with the farm in the
   shared memory FD. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "demo/clones.h"
#include "system/command/calls.h"

/* Sets the flags of the descriptors that the new program gets; it gets no others. */
static void set_descriptors(const struct clones_farm *farm, int flags)
{
    int ours[] = {farm->log->fd, farm->told.sender, farm->go[0], farm->over[0]};

    for (size_t i = 0; i < sizeof ours / sizeof *ours; i++)
        fcntl(ours[i], F_SETFD, flags);
    for (int i = 0; i < CLONES; i++)
        fcntl(farm->gate[i][0], F_SETFD, flags);
}

int clones_exec(const struct clones_farm *farm, int clone, int64_t token)
{
    char fd[16], number[16], of[24];
    char *words[] = {called_as(), "demo", "clone", fd, number, of, NULL};

    snprintf(fd, sizeof fd, "%d", farm->log->fd);
    snprintf(number, sizeof number, "%d", clone);
    snprintf(of, sizeof of, "%" PRId64, token);
    set_descriptors(farm, 0);
    execute_again(words);
    return errno;
}

static struct clones_log *find_log(int fd)
{
    struct clones_log *log;
    struct stat status;

    if (fd <= STDERR_FILENO || fstat(fd, &status) || status.st_size != sizeof *log)
        return NULL;
    log = mmap(NULL, sizeof *log, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    return log == MAP_FAILED || log->fd != fd ? NULL : log;
}

int clones_begun(char *const *words, int n, struct clones_farm *farm, int *clone, int64_t *token)
{
    struct clones_log *log = n == 4 ? find_log(atoi(words[1])) : NULL;

    *clone = log ? atoi(words[2]) : -1;
    *token = log ? strtoll(words[3], NULL, 10) : 0;
    if (*clone < 0 || *clone >= CLONES)
        return -1;
    *farm = log->farm;
    farm->log = log;
    set_descriptors(farm, FD_CLOEXEC); /* so that the guard's other children do not get them */
    return 0;
}
