/* SPDX-License-Identifier: Apache-2.0 */
#include "crew.h"

#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* proc(5): the fields after the name, which may hold anything but is the last in parentheses. */
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

double bench_cpu_us(int pid)
{
    struct dirent *entry;
    double sum = 0;
    DIR *folder = pid > 0 ? opendir("/proc") : NULL;

    if (!folder)
        return 0;
    while ((entry = readdir(folder))) {
        int process = isdigit((unsigned char)entry->d_name[0]) ? atoi(entry->d_name) : 0;
        int parent = 0;
        double used = process ? of_process(process, &parent) : 0;

        if (process && (process == pid || parent == pid))
            sum += used;
    }
    closedir(folder);
    return sum;
}
