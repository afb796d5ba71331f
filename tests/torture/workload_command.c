/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A workload of the command (worker.h): `rowlock run` holds a lease while it runs this program's
 * mode "act", which locks a local file. The kernel releases that lock when the process has ended,
 * however it ended. So a second command that cannot lock the file proves an overlap.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "torture/worker.h"

/* Ends with the client. rowlock's output is in the cell's errors. */
static void exec_run(struct client *client, const struct workload *workload, int key)
{
    char self[500], id[30], place[60];
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);

    if (length < 0)
        _exit(99);
    self[length] = '\0';
    snprintf(id, sizeof id, "%ld", client->id);
    snprintf(place, sizeof place, "%d %ld %d", key, client->op, worker_draw(client, 1 << 30));
    if (prctl(PR_SET_PDEATHSIG, SIGTERM) || setenv("ROWLOCK_URL", client->url, 1) ||
        setenv("TORTURE_PLACE", place, 1))
        _exit(99);
    execl(getenv("ROWLOCK"), "rowlock", "run", "--ttl", "1s", "--wait", "3s",
          worker_name(workload, key), "--", self, "act", workload->name, id, "0", client->outside,
          (char *)NULL);
    _exit(99);
}

void turn_command(struct client *client, const struct workload *workload)
{
    int key = worker_draw(client, workload->keys);
    pid_t pid;

    rowlock_close(client->connection); /* `rowlock run` has its own */
    client->connection = NULL;
    pid = fork();
    if (pid < 0)
        abort();
    if (pid == 0)
        exec_run(client, workload, key);
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        ;
}

/* Mostly for less than the ttl, sometimes for several of them. */
static void work(struct client *client)
{
    int ms = worker_draw(client, 4) ? worker_draw(client, 150) : worker_draw(client, 3000);
    struct timespec span = {ms / 1000, ms % 1000 * 1000000L};

    nanosleep(&span, NULL);
}

int act_command(struct client *client)
{
    const char *token = getenv("ROWLOCK_TOKEN"), *place = getenv("TORTURE_PLACE");
    char path[500];
    int key, seed, file;

    if (!token || !place || sscanf(place, "%d %ld %d", &key, &client->op, &seed) != 3)
        return 99;
    client->seed += (uint64_t)seed;
    snprintf(path, sizeof path, "%s/outside.%d", client->outside, key);
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
