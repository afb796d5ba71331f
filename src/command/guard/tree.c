/* SPDX-License-Identifier: Apache-2.0 */
/* Finds and signals the descendants of a process, by /proc. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "command/guard/guard.h"

struct process {
    pid_t pid, parent, group;
    char state;
    unsigned long long born; /* with the pid: this process and no other */
};

struct processes {
    struct process *all; /* in order of pid */
    size_t n, room;
};

/* ---- looking --------------------------------------------------------------------------------- */

/* The second field, the name, may contain any character. The other fields follow its last ')'. */
static int parse(const char *text, struct process *out)
{
    const char *rest = strrchr(text, ')');

    return rest && sscanf(rest + 1,
                          " %c %d %d %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s "
                          "%*s %llu",
                          &out->state, &out->parent, &out->group, &out->born) == 4;
}

/* 1: it is there. */
static int read_process(pid_t pid, struct process *out)
{
    char path[32], text[1024];
    ssize_t got;
    int fd;

    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return 0;
    got = read(fd, text, sizeof text - 1);
    close(fd);
    if (got <= 0)
        return 0;
    text[got] = '\0';
    out->pid = pid;
    return parse(text, out);
}

static int add(struct processes *processes, const struct process *process)
{
    size_t room = processes->room ? 2 * processes->room : 256;
    struct process *grown;

    if (processes->n == processes->room) {
        grown = realloc(processes->all, room * sizeof *grown);
        if (!grown)
            return -1;
        processes->all = grown;
        processes->room = room;
    }
    processes->all[processes->n++] = *process;
    return 0;
}

static int by_pid(const void *a, const void *b)
{
    const struct process *one = a, *other = b;

    return (one->pid > other->pid) - (one->pid < other->pid);
}

static int read_all(struct processes *out)
{
    DIR *folder = opendir("/proc");
    struct dirent *entry;
    struct process process;
    int failed = 0;

    if (!folder)
        return -1;
    while (!failed && (entry = readdir(folder)))
        if (*entry->d_name >= '1' && *entry->d_name <= '9' &&
            read_process((pid_t)atoi(entry->d_name), &process))
            failed = add(out, &process);
    closedir(folder);
    if (out->n > 0)
        qsort(out->all, out->n, sizeof *out->all, by_pid);
    return failed;
}

static const struct process *find(const struct processes *processes, pid_t pid)
{
    struct process key = {.pid = pid};

    return processes->n ? bsearch(&key, processes->all, processes->n, sizeof key, by_pid) : NULL;
}

static int descends(const struct processes *processes, const struct process *process, pid_t root)
{
    for (size_t steps = 0; process && steps <= processes->n; steps++) {
        if (process->parent == root)
            return 1;
        process = find(processes, process->parent);
    }
    return 0;
}

/* ---- signalling ------------------------------------------------------------------------------ */

/* After the scan the process may have ended and its pid may be reused: a pidfd and a second look
   exclude that. 1: no permission to signal it. */
static int signal_one(const struct process *process, int number)
{
    struct process now;
    int fd = (int)syscall(SYS_pidfd_open, process->pid, 0), sent = -1;
    int same = read_process(process->pid, &now) && now.born == process->born;

    if (fd < 0 && errno != ENOSYS)
        return 0;
    errno = 0;
    if (same)
        sent = fd >= 0 ? (int)syscall(SYS_pidfd_send_signal, fd, number, NULL, 0)
                       : kill(process->pid, number);
    same = sent < 0 && errno == EPERM;
    if (fd >= 0)
        close(fd);
    return same;
}

int tree_signal(pid_t root, int number, pid_t but, struct tree *out)
{
    struct processes processes = {0};
    int failed = read_all(&processes);

    *out = (struct tree){0};
    for (size_t i = 0; i < processes.n; i++) {
        const struct process *process = &processes.all[i];

        if (process->state == 'Z' || process->state == 'X' || !descends(&processes, process, root))
            continue;
        if (out->alive < TREE_NAMED)
            out->pid[out->alive] = process->pid;
        out->alive++;
        if (number && (!but || process->group != but))
            out->refused += signal_one(process, number);
    }
    free(processes.all);
    return failed;
}

int tree_is_stopped(pid_t pid)
{
    struct process process;

    return read_process(pid, &process) && process.state == 'T';
}

pid_t tree_parent(pid_t pid)
{
    struct process process;

    return read_process(pid, &process) ? process.parent : 0;
}

int tree_is_dead(pid_t pid)
{
    struct process process;

    if (kill(pid, 0) && errno == ESRCH)
        return 1;
    return read_process(pid, &process) && (process.state == 'Z' || process.state == 'X');
}
