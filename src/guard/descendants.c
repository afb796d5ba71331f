/* SPDX-License-Identifier: Apache-2.0 */
/* Finds and signals the descendants of a process, by the list of all processes. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "guard/guard.h"
#include "system/command/processes.h"

#define LOOKS_ABOVE 3 /* an ancestor may end during a look */

int tree_signal(pid_t root, int number, pid_t but, struct tree *out)
{
    struct processes processes = {0};
    int failed = processes_read(&processes);

    *out = (struct tree){0};
    for (size_t i = 0; i < processes.n; i++) {
        const struct process *process = &processes.all[i], *above = process;

        /* the list is not a snapshot: the parents may form a circle */
        for (size_t steps = 0; above && above->parent != root; steps++)
            above = steps < processes.n ? processes_find(&processes, above->parent) : NULL;
        if (process->is_dead || !above)
            continue;
        if (out->alive < TREE_NAMED)
            out->pid[out->alive] = process->pid;
        out->alive++;
        if (!but || process->group != but)
            out->refused += process_signal_same(process, number);
    }
    free(processes.all);
    return failed;
}

void tree_pids(const struct tree *tree, char *out, size_t size)
{
    size_t at = 0;

    if (tree->alive && !tree->pid[0])
        snprintf(out, size, "not visible in /proc");
    for (int i = 0; i < tree->alive && i < TREE_NAMED && tree->pid[i]; i++)
        at += (size_t)snprintf(out + at, size - at, "%s%d", i ? ", " : "", (int)tree->pid[i]);
    if (tree->alive > TREE_NAMED)
        snprintf(out + at, size - at, ", ...");
}

int tree_is_dead(pid_t pid)
{
    struct process process;

    if (kill(pid, 0) && errno == ESRCH)
        return 1;
    return process_read(pid, &process) && process.is_dead;
}

unsigned long long tree_born(pid_t pid)
{
    struct process process;

    return process_read(pid, &process) ? process.born : 0;
}

/* Looks again if one of the ancestors cannot be read, or has ended meanwhile. */
int tree_is_above(pid_t pid, unsigned long long born)
{
    struct process process = {0};
    int above = -1;

    for (int i = 0; above < 0 && i < LOOKS_ABOVE; i++) {
        above = 0;
        for (pid_t at = getppid(); !above && at > 1; at = process.parent) {
            if (!process_read(at, &process))
                above = -1;
            else if (at == pid)
                return process.born == born;
        }
    }
    return above;
}

int reap_all(void)
{
    pid_t pid;

    while ((pid = waitpid(-1, NULL, WNOHANG)) > 0)
        ;
    return pid < 0 && errno == ECHILD;
}
