/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The time to start the command. start PROGRAM FOLDER [ROUNDS]: on a SQLite file, compared with
 * flock(1), which locks a file, runs true and ends. start PROGRAM FOLDER ROUNDS URL PSQL: a lease
 * on PostgreSQL, compared with psql, which connects, sends one query and ends.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "rate.h"

static const char *program, *psql, *server;
static char url[400], lock_file[400];

static void run(char *const argv[])
{
    int status;
    pid_t pid = fork();

    if (pid == 0) {
        int null = open("/dev/null", O_WRONLY);

        dup2(null, 1);
        execvp(argv[0], argv);
        _exit(127);
    }
    if (pid < 0 || waitpid(pid, &status, 0) < 0 || status != 0)
        bench_die("%s failed", argv[0]);
}

static void vacuum(void *state, unsigned long i)
{
    char *argv[] = {(char *)program, "--db", url, "vacuum", NULL};

    (void)state;
    (void)i;
    run(argv);
}

static void run_true(void *state, unsigned long i)
{
    char *argv[] = {(char *)program, "--db", url, "run", "x", "--", "true", NULL};

    (void)state;
    (void)i;
    run(argv);
}

/* The most frequent action of a node's crontab: a job that is not due. */
static void job_not_due(void *state, unsigned long i)
{
    char *argv[] = {(char *)program, "--db", url, "job", "x", "--every", "50w", "--", "true", NULL};

    (void)state;
    (void)i;
    run(argv);
}

static void select_1(void *state, unsigned long i)
{
    char *argv[] = {(char *)psql, "-X", "-c", "select 1", (char *)server, NULL};

    (void)state;
    (void)i;
    run(argv);
}

static void flock1(void *state, unsigned long i)
{
    char *argv[] = {"flock", lock_file, "true", NULL};

    (void)state;
    (void)i;
    run(argv);
}

static void flock_n(void *state, unsigned long i)
{
    char *argv[] = {"flock", "-n", lock_file, "true", NULL};

    (void)state;
    (void)i;
    run(argv);
}

static void *nothing(const char *unused, int worker)
{
    (void)unused;
    (void)worker;
    return NULL;
}

static void none(void *state)
{
    (void)state;
}

/* rates: a ratio ours / theirs of 0.4 means that a start takes 2.5 times as long */
static const struct comparison on_sqlite[] = {
    {"starts a second: rowlock vacuum on SQLite / flock(1)", nothing, vacuum, flock1, none, 0.4},
    {"starts a second: rowlock run x -- true on SQLite / flock(1)", nothing, run_true, flock1, none,
     0.4},
    {"starts a second: rowlock job that is not due on SQLite / flock -n", nothing, job_not_due,
     flock_n, none, 0.4},
};
static const struct comparison on_postgresql = {
    "starts a second: rowlock run x -- true / psql -c 'select 1'",
    nothing,
    run_true,
    select_1,
    none,
    0.83};

int main(int argc, char **argv)
{
    int rounds = argc > 3 ? atoi(argv[3]) : 41;

    if (argc < 3 || argc == 5)
        bench_die("usage: start PROGRAM FOLDER [ROUNDS [URL PSQL]]");
    program = argv[1];
    snprintf(lock_file, sizeof lock_file, "%s/start.lock", argv[2]);
    bench_headline();
    if (argc > 5) {
        server = argv[4];
        psql = argv[5];
        snprintf(url, sizeof url, "%s", server);
        bench_compare(&on_postgresql, "", 1, rounds, 400);
        return 0;
    }
    snprintf(url, sizeof url, "sqlite:%s/start.db", argv[2]);
    for (size_t i = 0; i < sizeof on_sqlite / sizeof *on_sqlite; i++)
        bench_compare(&on_sqlite[i], "", 1, rounds, 400);
    return 0;
}
