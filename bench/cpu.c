/* SPDX-License-Identifier: Apache-2.0 */
/* The CPU time of a server's processes, read from /proc (crew.h). */
#include "crew.h"

#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define QUIET_US 200000

/* proc(5): reads the fields after the name, which may contain anything and ends at the last
   parenthesis. */
static double of_process(int pid, int *parent)
{
    char path[64], line[1024];
    unsigned long user = 0, system = 0;
    FILE *file;
    char *rest = NULL;

    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    file = fopen(path, "r");
    if (!file)
        return 0;
    if (fgets(line, sizeof line, file))
        rest = strrchr(line, ')');
    fclose(file);
    if (!rest || sscanf(rest, ") %*c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", parent, &user,
                        &system) != 3)
        return 0;
    return (double)(user + system) * 1e6 / (double)sysconf(_SC_CLK_TCK);
}

/* The CPU time of a process and its children, and their number. */
static double of_family(int pid, int *count)
{
    struct dirent *entry;
    double sum = 0;
    DIR *folder = pid > 0 ? opendir("/proc") : NULL;

    *count = 0;
    if (!folder)
        return 0;
    while ((entry = readdir(folder))) {
        int process = isdigit((unsigned char)entry->d_name[0]) ? atoi(entry->d_name) : 0;
        int parent = 0;
        double used = process ? of_process(process, &parent) : 0;

        if (process && (process == pid || parent == pid)) {
            sum += used;
            ++*count;
        }
    }
    closedir(folder);
    return sum;
}

double bench_cpu_us(int pid)
{
    int count;

    return of_family(pid, &count);
}

int bench_processes(int pid)
{
    int count;

    of_family(pid, &count);
    return count;
}

void bench_await_quiet(int pid, int processes, int seconds)
{
    long long until = bench_now() + seconds * 1000000000LL;
    double before, used = bench_cpu_us(pid);
    int count;

    do {
        bench_rest(QUIET_US);
        before = used;
        used = of_family(pid, &count);
    } while (bench_now() < until && (count > processes || used - before > QUIET_US / 10.0));
}
