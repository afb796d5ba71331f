/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The cost of a line in a script or a crontab: a process that connects, locks, runs true, and ends.
 */
#include "workloads/workload.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

static int run(struct bench_crew *crew, const struct bench_command *command)
{
    int status, pid = bench_fork();

    if (pid == 0) {
        int null = open("/dev/null", O_RDWR);

        for (int i = 0; i <= 2; i++)
            dup2(null, i);
        execvp(command->argv[0], (char **)command->argv);
        _exit(127);
    }
    if (pid > 0 && waitpid(pid, &status, 0) == pid && status == 0)
        return 0;
    snprintf(crew->why, sizeof crew->why, "%s did not end with 0", command->argv[0]);
    return -1;
}

/* Runs for half a slice, and at least once: a process takes 10 to 20 ms. */
double bench_about_process(const struct bench_measurement *measurement)
{
    return 0.05 + measurement->seconds / 2;
}

int bench_process(const struct bench_measurement *measurement, double values[BENCH_METRICS])
{
    struct bench_command command = {.text = ""};
    long long began;
    int n;

    measurement->peer->command(measurement->place, &command);
    if (run(measurement->crew, &command)) /* fills the page cache */
        return -1;
    began = bench_now();
    for (n = 0; n == 0 || (double)(bench_now() - began) / 1e9 < measurement->seconds / 2; n++)
        if (run(measurement->crew, &command))
            return -1;
    values[0] = (double)(bench_now() - began) / 1e6 / n;
    return 0;
}
