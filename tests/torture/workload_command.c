/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Workloads of the command (worker.h): `rowlock run`, or the daemon `rowlock cron`, holds a lease
 * while it runs this program's mode "act", which locks a local file. The kernel releases that lock
 * when the process has ended, however it ended. So a second command that cannot lock the file
 * proves an overlap.
 */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "lib/test.h"
#include "torture/worker.h"

/* This program, for the command that rowlock runs. */
static const char *own_path(void)
{
    static char path[500];
    ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);

    if (length < 0)
        _exit(99);
    path[length] = '\0';
    return path;
}

/* Each rowlock starts a JVM behind JDBC. The lease must last longer than that. */
static int is_slow(void)
{
    return strcmp(t_facts()->technique, "jdbc") == 0;
}

/* Ends with the client. rowlock's output is in the cell's errors. */
static void exec_run(struct client *client, int transaction)
{
    int key = worker_draw(client, client->workload->keys);
    char id[30], place[60];

    snprintf(id, sizeof id, "%ld", client->id);
    snprintf(place, sizeof place, "%d %ld %d", key, client->op, worker_draw(client, 1 << 30));
    if (setenv("TORTURE_PLACE", place, 1))
        _exit(99);
    execl(getenv("ROWLOCK"), "rowlock", "run",
          transaction ? "--tx"
          : is_slow() ? "--ttl=10s"
                      : "--ttl=1s",
          "--wait", is_slow() ? "20s" : "3s", worker_name(client, key), "--", own_path(), "act",
          client->workload->name, id, "0", client->outside, (char *)NULL);
    _exit(99);
}

/* All daemons have the same jobs, and each its own client's number. */
static void exec_cron(struct client *client)
{
    char path[500], id[30];
    FILE *crontab;

    snprintf(path, sizeof path, "%s/crontab.%ld", client->outside, client->id);
    snprintf(id, sizeof id, "%ld", client->id);
    crontab = fopen(path, "w");
    for (int key = 0; crontab && key < client->workload->keys; key++)
        fprintf(crontab,
                "every 3s '%s' --ttl %s --retry 9 --backoff 1ms -- "
                "TORTURE_PLACE='%d 0 0' exec '%s' act %s $TORTURE_ID 0 '%s'\n",
                worker_name(client, key) + sizeof "job:" - 1, is_slow() ? "10s" : "1s", key,
                own_path(), client->workload->name, client->outside);
    if (!crontab || fclose(crontab) || setenv("TORTURE_ID", id, 1))
        _exit(99);
    execl(getenv("ROWLOCK"), "rowlock", "cron", path, "--grace", "100ms", (char *)NULL);
    _exit(99);
}

/* 0: in the child, which is to execute rowlock. */
static pid_t start(struct client *client)
{
    pid_t pid;

    rowlock_close(client->connection); /* rowlock has its own */
    client->connection = NULL;
    pid = fork();
    if (pid < 0)
        abort();
    if (pid == 0 && (prctl(PR_SET_PDEATHSIG, SIGTERM) || setenv("ROWLOCK_URL", client->url, 1)))
        _exit(99);
    return pid;
}

int worker_run(struct client *client, int transaction)
{
    pid_t pid = start(client);
    int status = 0;

    if (pid == 0)
        exec_run(client, transaction);
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    worker_draw(client, 1); /* the child drew from its own copy */
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

void turn_command(struct client *client)
{
    worker_run(client, 0);
}

/* The daemon ends when it is killed, or with the client. */
void turn_cron(struct client *client)
{
    pid_t pid = start(client);

    if (pid == 0)
        exec_cron(client);
    while (waitpid(pid, NULL, WNOHANG) == 0) {
        if (worker_stopped)
            kill(pid, SIGTERM);
        worker_pause(20000);
    }
}

/* Mostly for less than the ttl, sometimes for several of them. */
static void work(struct client *client)
{
    int ms = worker_draw(client, 8) ? worker_draw(client, 150) : worker_draw(client, 3000);
    struct timespec span = {ms / 1000, ms % 1000 * 1000000L};

    nanosleep(&span, NULL);
}

/* A run of the daemon's; its due time without the punctuation is a number. */
static void log_begin(struct client *client, int key)
{
    const char *due = getenv("ROWLOCK_DUE"), *attempt = getenv("ROWLOCK_ATTEMPT");
    long long number = 0;

    if (!due || !attempt)
        return;
    for (; *due; due++)
        if (isdigit((unsigned char)*due))
            number = number * 10 + (*due - '0');
    worker_log(client, PHASE_OK, KIND_BEGIN, key, "%lld %s", number, attempt);
}

/* Under a transaction lock or a lease, beside locks of other kinds; the client has logged when it
   asked. */
static int act_once(struct client *client, int key, const char *token)
{
    worker_log(client, PHASE_OK, KIND_HOLD, key, "%d 1 0 %s 0", (int)ROWLOCK_EXCLUSIVE,
               token ? token : "0");
    worker_dwell(client);
    worker_log(client, PHASE_INVOKE, KIND_LEAVE, key, " ");
    return 0;
}

int act_command(struct client *client)
{
    const char *token = getenv("ROWLOCK_TOKEN"), *place = getenv("TORTURE_PLACE");
    char path[500];
    int key, seed, file;

    if (!place || sscanf(place, "%d %ld %d", &key, &client->op, &seed) != 3)
        return 99;
    if (client->op == 0)
        client->op = worker_now() / 1000;
    client->seed += (uint64_t)(seed ? seed : client->op);
    if (client->workload->turn == turn_ways)
        return act_once(client, key, token);
    if (!token)
        return 99;
    snprintf(path, sizeof path, "%s/outside.%d", client->outside, key);
    log_begin(client, key);
    worker_log(client, PHASE_INVOKE, KIND_HOLD, key, " ");
    worker_log(client, PHASE_INVOKE, KIND_ACT, key, " ");
    file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    if (file < 0 || flock(file, LOCK_EX | LOCK_NB)) {
        worker_log(client, PHASE_FAIL, KIND_ACT, key, " ");
        return 1;
    }
    worker_log(client, PHASE_OK, KIND_HOLD, key, "%d 1 0 %s %lld", (int)ROWLOCK_EXCLUSIVE, token,
               (long long)worker_now() + 1000000);
    work(client);
    worker_log(client, PHASE_OK, KIND_ACT, key, "%s", token);
    return 0;
}
