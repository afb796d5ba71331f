/* SPDX-License-Identifier: Apache-2.0 */
/* A whole application: examples/documents loads into an empty table, with and without its locks. */
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

/* The numbers of its summary and of its --verify: a word and a number per line. */
struct load {
    double read, seconds, refused, differs;
};

static void add_summary(FILE *summary, struct load *sum)
{
    const struct {
        const char *word;
        double *number;
    } lines[] = {{"read", &sum->read},
                 {"seconds", &sum->seconds},
                 {"refused", &sum->refused},
                 {"differs", &sum->differs}};
    double value;
    char word[64];

    while (fscanf(summary, "%63s %lf%*[^\n]", word, &value) == 2)
        for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
            if (strcmp(word, lines[i].word) == 0)
                *lines[i].number += value;
}

/* The loader exits with 0, or with 1 if the row of an id is wrong: that is a result too. */
static int run(const struct bench_command *command, struct load *sum)
{
    struct load before = *sum;
    int status, pid, out[2];
    FILE *summary;

    if (pipe(out))
        return -1;
    pid = bench_fork();
    if (pid == 0)
        be_loader(command, out[1]);
    close(out[1]);
    summary = fdopen(out[0], "r");
    add_summary(summary, sum);
    fclose(summary);
    if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
        return -1;
    if (sum->read <= before.read || WEXITSTATUS(status) > 1)
        return -1;
    return WEXITSTATUS(status) == (sum->differs > before.differs) ? 0 : -1;
}

double bench_about_documents(const struct bench_measurement *measurement)
{
    double made_up = measurement->place->documents[0] ? 0 : measurement->place->made_up / 1000.0;

    return 1 + (made_up > measurement->seconds ? made_up : measurement->seconds);
}

/* Loads a few documents repeatedly until the slice ends, each time into an empty table. A lost
   update counts like two clients under one lock, because that causes it. */
int bench_documents(const struct bench_measurement *measurement, double values[BENCH_METRICS])
{
    struct bench_command command = {.text = ""};
    struct load sum = {0};

    measurement->peer->load(measurement->place, &command);
    do
        if (run(&command, &sum)) {
            snprintf(measurement->crew->why, BENCH_WHY, "the loader failed: try %s by hand",
                     command.argv[0]);
            return -1;
        }
    while (sum.seconds < measurement->seconds);
    values[0] = sum.read / sum.seconds;
    values[1] = sum.read;
    values[2] = sum.refused;
    values[3] = sum.differs;
    atomic_store(&measurement->overlap->found, (unsigned long)sum.differs);
    return 0;
}
