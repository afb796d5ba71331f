/* SPDX-License-Identifier: Apache-2.0 */
/* A whole application: the loader of examples/documents into an empty table, with and without its locks. */
#include "workloads/workload.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void be_loader(const struct bench_command *command, int out)
{
    int null = open("/dev/null", O_RDWR);

    dup2(null, 0);
    dup2(out, 1);
    dup2(null, 2);
    execv(command->argv[0], (char **)command->argv);
    _exit(127);
}

/* Its summary is a word and a number a line. */
static double rate_in(FILE *summary)
{
    double rate = 0, value;
    char word[64];

    while (fscanf(summary, "%63s %lf%*[^\n]", word, &value) == 2)
        if (strcmp(word, "documents/s") == 0)
            rate = value;
    return rate;
}

int bench_documents(const struct bench_measurement *measurement, double values[BENCH_METRICS])
{
    struct bench_command command = {.text = ""};
    int status, pid, out[2];
    FILE *summary;

    measurement->peer->load(measurement->place, &command);
    if (pipe(out))
        return -1;
    pid = bench_fork();
    if (pid == 0)
        be_loader(&command, out[1]);
    close(out[1]);
    summary = fdopen(out[0], "r");
    values[0] = rate_in(summary);
    fclose(summary);
    if (pid > 0 && waitpid(pid, &status, 0) == pid && status == 0 && values[0] > 0)
        return 0;
    snprintf(measurement->crew->why, BENCH_WHY, "the loader failed: try %s by hand",
             command.argv[0]);
    return -1;
}
