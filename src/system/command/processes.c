/* SPDX-License-Identifier: Apache-2.0 */
#include "system/command/processes.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "system/command/calls.h"

/* ---- all of them ----------------------------------------------------------------------------- */

/* The second field, the name, may contain any character. The other fields follow its last ')'. */
static int parse(const char *text, struct process *out)
{
    const char *rest = strrchr(text, ')');
    char state;

    if (!rest || sscanf(rest + 1,
                        " %c %d %d %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s "
                        "%*s %llu",
                        &state, &out->parent, &out->group, &out->born) != 4)
        return 0;
    out->is_dead = state == 'Z' || state == 'X';
    out->is_stopped = state == 'T';
    return 1;
}

static int read_stat(const char *path, struct process *out)
{
    char text[1024];
    ssize_t got;
    int fd = open(path, O_RDONLY | O_CLOEXEC);

    if (fd < 0)
        return 0;
    got = read(fd, text, sizeof text - 1);
    close(fd);
    if (got <= 0)
        return 0;
    text[got] = '\0';
    return parse(text, out);
}

/* The state of a process is that of its main thread, which may have ended before the others. */
static void look_at_threads(struct process *process)
{
    char path[300];
    struct dirent *entry;
    struct process thread;
    DIR *folder;

    snprintf(path, sizeof path, "/proc/%d/task", (int)process->pid);
    folder = opendir(path);
    while (folder && process->is_dead && (entry = readdir(folder))) {
        snprintf(path, sizeof path, "/proc/%d/task/%.200s/stat", (int)process->pid, entry->d_name);
        if (*entry->d_name != '.' && read_stat(path, &thread) && !thread.is_dead) {
            process->is_dead = 0;
            process->is_stopped = thread.is_stopped;
        }
    }
    if (folder)
        closedir(folder);
}

static int read_process(pid_t pid, struct process *out)
{
    char path[32];

    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    if (!read_stat(path, out))
        return 0;
    out->pid = pid;
    if (out->is_dead)
        look_at_threads(out);
    return 1;
}

/* After unshare --pid, /proc may still have the numbers of the outer namespace. */
static int has_our_numbers(void)
{
    char pid[16] = "";

    return readlink("/proc/self", pid, sizeof pid - 1) > 0 && atoi(pid) == (int)getpid();
}

int process_read(pid_t pid, struct process *out)
{
    return has_our_numbers() && read_process(pid, out);
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

int processes_read(struct processes *out)
{
    DIR *folder = has_our_numbers() ? opendir("/proc") : NULL;
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

const struct process *processes_find(const struct processes *processes, pid_t pid)
{
    struct process key = {.pid = pid};

    return processes->n ? bsearch(&key, processes->all, processes->n, sizeof key, by_pid) : NULL;
}

/* After the scan the process may have ended and its pid may be reused: a descriptor of the process
   and a second look exclude that. */
int process_signal_same(const struct process *process, int number)
{
    struct process now;
    int fd = process_descriptor(process->pid), sent = -1;
    int same = process_read(process->pid, &now) && now.born == process->born;

    if (fd < 0 && errno != ENOSYS)
        return 0;
    errno = 0;
    if (same)
        sent = fd >= 0 ? process_signal(fd, number) : kill(process->pid, number);
    same = sent < 0 && errno == EPERM;
    if (fd >= 0)
        close(fd);
    return same;
}

/* ---- one of them ----------------------------------------------------------------------------- */

void process_program(pid_t pid, char *out, size_t size)
{
    char path[64];
    FILE *file;
    size_t n = 0;

    snprintf(path, sizeof path, "/proc/%d/cmdline", (int)pid);
    file = fopen(path, "re");
    if (file) {
        n = fread(out, 1, size - 1, file);
        fclose(file);
    }
    out[n] = '\0';
}

static void path_of_errors(pid_t pid, char path[64])
{
    snprintf(path, 64, "/proc/%d/fd/2", (int)pid);
}

int process_errors(pid_t pid)
{
    char path[64];

    path_of_errors(pid, path);
    return open(path, O_WRONLY | O_APPEND | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
}

int process_errors_are(pid_t pid, int fd)
{
    struct stat ours, theirs;
    char path[64];

    path_of_errors(pid, path);
    return fstat(fd, &ours) == 0 && stat(path, &theirs) == 0 && S_ISREG(theirs.st_mode) &&
           ours.st_dev == theirs.st_dev && ours.st_ino == theirs.st_ino;
}

/* ---- for doctor ------------------------------------------------------------------------------ */

int processes_are_visible(void)
{
    return access("/proc/1/stat", R_OK) == 0;
}

/* A mask of signals in /proc/1/status: those that it blocks, ignores or catches. */
unsigned long long handled_by_init(char name[32])
{
    FILE *file = fopen("/proc/1/status", "re");
    unsigned long long mask, all = 0;
    char line[200];

    while (file && fgets(line, sizeof line, file)) {
        if (sscanf(line, "Name: %31s", name) == 1)
            continue;
        if (sscanf(line, "SigBlk: %llx", &mask) == 1 || sscanf(line, "SigIgn: %llx", &mask) == 1 ||
            sscanf(line, "SigCgt: %llx", &mask) == 1)
            all |= mask;
    }
    if (file)
        fclose(file);
    return file ? all : 0;
}

/* The unit at the end of a line of /proc/self/cgroup. */
int find_service(char *unit, size_t size, int *user)
{
    FILE *file = fopen("/proc/self/cgroup", "re");
    char line[4096];
    int found = 0;

    while (file && !found && fgets(line, sizeof line, file)) {
        char *end = strstr(line, ".service"), *from;

        for (char *next = end; next; next = strstr(next + 1, ".service"))
            end = next;
        if (!end || (end[8] != '\n' && end[8] != '/' && end[8] != '\0'))
            continue;
        end[8] = '\0';
        from = strrchr(line, '/');
        snprintf(unit, size, "%.*s", (int)size - 1, from ? from + 1 : line);
        if (from)
            *from = '\0';
        *user = strstr(line, "/user@") != NULL;
        found = strncmp(unit, "user@", 5) != 0;
    }
    if (file)
        fclose(file);
    return found;
}
