/* SPDX-License-Identifier: Apache-2.0 */
/*
 * flock(2) in one process, and flock(1) as a process: locks within one machine, which end with the
 * process.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <unistd.h>

#include "peers/list.h"

struct session {
    char folder[500];
    int file;
};

static void *open_session(const struct bench_place *place, int client)
{
    struct session *session = calloc(1, sizeof *session);

    (void)client;
    snprintf(session->folder, sizeof session->folder, "%s", place->folder);
    return session;
}

static void acquire(void *data, unsigned name)
{
    struct session *session = data;
    char path[600];

    snprintf(path, sizeof path, "%s/flock-%07u", session->folder, name);
    session->file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (session->file < 0 || flock(session->file, LOCK_EX))
        bench_die("%s cannot be locked", path);
}

static void release(void *data, unsigned name)
{
    struct session *session = data;

    (void)name;
    close(session->file);
}

static void run_flock(const struct bench_place *place, struct bench_command *out)
{
    snprintf(out->text, sizeof out->text, "%s/flock-process", place->folder);
    bench_append(out, "flock");
    bench_append(out, out->text);
    bench_append(out, "true");
}

const struct bench_peer bench_peers_flock[] = {
    {"flock", "", 0, BENCH_NOTHING, "flock(2): open, flock, close; flock(1) as a process",
     .open = open_session, .acquire = acquire, .release = release, .close = free,
     .command = run_flock},
    {.name = NULL},
};
