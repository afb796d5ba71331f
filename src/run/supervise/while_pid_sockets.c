/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A lease of `acquire --while-pid` ends with that process, so no descendant of the process may wait
 * for it. The environment of a running process cannot be changed, so the keeper binds two abstract
 * sockets: one named after the process, one after the process and the token. The kernel removes
 * them with the keeper. Every user may bind such a name, so the client checks which user listens
 * (SO_PEERCRED).
 */
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "run/supervise/ancestors.h"
#include "system/command/calls.h"
#include "system/command/processes.h"
#include "system/system.h"

#define MOST_ANCESTORS 1000

/* A number of a process means something in its own namespace only. */
struct kept_name {
    char text[100];
};

static struct kept_name name_of(uintmax_t namespace, pid_t pid, int64_t token)
{
    struct kept_name name;

    snprintf(name.text, sizeof name.text, "rowlock/while/%" PRIuMAX "/%d/%" PRId64, namespace,
             (int)pid, token);
    return name;
}

void announce_kept(pid_t pid, int64_t token, int fds[KEPT_NAMES])
{
    uintmax_t namespace = rowlock__pid_namespace();

    fds[0] = announce(name_of(namespace, pid, 0).text);
    fds[1] = announce(name_of(namespace, pid, token).text);
}

int is_kept_for_ancestor(int64_t token)
{
    uintmax_t namespace = rowlock__pid_namespace();
    struct process process = {.parent = getppid()};
    pid_t pid = getpid();
    int found = 0;

    for (int i = 0; pid > 1 && !found && i < MOST_ANCESTORS; i++) {
        found = is_announced(name_of(namespace, pid, token).text);
        if (i > 0 && !process_read(pid, &process))
            break;
        pid = process.parent;
    }
    return found;
}
