/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The demonstration of five clones: plays its four acts, on a SQLite database in a folder of its
 * own or on the one that --db names. At its end it removes its files, processes and rows.
 */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "command/job_name.h"
#include "command/signals.h"
#include "command/url_lookup.h"
#include "demo/clones.h"
#include "demo/demo_log.h"
#include "system/command/calls.h"
#include "util/clock.h"
#include "util/random.h"

#define ACTS 4
#define MOST_PATH 512

static const struct clones_script scripts[ACTS] = {
    {"Without rowlock: each clone does what its crontab says", "without rowlock", 0,
     CLONES_NO_BLOW},
    {"With rowlock: one claims the mail", "with rowlock", 1, CLONES_NO_BLOW},
    {"The sender is killed while it sends (kill -9)", "the sender is killed", 1, CLONES_KILL},
    {"The sender is frozen whole, as by suspend; it wakes up and writes late",
     "the sender is frozen", 1, CLONES_FREEZE},
};

struct demonstration {
    struct command *command;
    struct url url;
    int own_database, coloured;
    int64_t ttl_ms, start_ms;
    char folder[MOST_PATH], job[64];
    struct clones_log *log;
    struct signals signals;
    struct rowlock_wakeup told;
    int children_fd;
    struct clones_act acts[ACTS];
};

/* ---- the folder ------------------------------------------------------------------------------ */

static int make_folder(struct demonstration *demo)
{
    const char *base = getenv("TMPDIR");

    snprintf(demo->folder, sizeof demo->folder, "%s/rowlock-demo.XXXXXX",
             base && *base ? base : "/tmp");
    if (mkdtemp(demo->folder))
        return STATUS_OK;
    message("cannot make the folder '%s': %s; TMPDIR names another place", demo->folder,
            strerror(errno));
    *demo->folder = '\0';
    return STATUS_FAILED;
}

static void remove_folder(const struct demonstration *demo)
{
    DIR *folder = *demo->folder ? opendir(demo->folder) : NULL;
    struct dirent *entry;

    if (!folder)
        return;
    while ((entry = readdir(folder)))
        unlinkat(dirfd(folder), entry->d_name, 0); /* "." and ".." are refused */
    closedir(folder);
    rmdir(demo->folder);
}

/* ---- the database ---------------------------------------------------------------------------- */

static int find_database(struct demonstration *demo)
{
    size_t size = sizeof "sqlite:/demo.db" + MOST_PATH;

    if (demo->command->db)
        return url_lookup(demo->command->db, &demo->url);
    demo->own_database = 1;
    demo->url.text = malloc(size);
    if (!demo->url.text)
        return out_of_memory();
    snprintf(demo->url.text, size, "sqlite:%s/demo.db", demo->folder);
    return STATUS_OK;
}

/* Deletes the act's job from a database that is not ours, and the lease of a clone that ended
   early. */
static int forget_job(const struct demonstration *demo, struct clones_act *act)
{
    struct rowlock_error error = {0};
    int code = ROWLOCK_OK;

    if (!act->script->locked || (demo->own_database && !act->connection))
        return STATUS_OK;
    if (!act->connection)
        code = rowlock_open(demo->url.text, NULL, &act->connection, &error);
    if (!code)
        code = rowlock_break(act->connection, act->farm.lock, 0, 1, NULL, &error);
    if (!code)
        code = rowlock_forget_job(act->connection, demo->job, &error);
    rowlock_close(act->connection);
    act->connection = NULL;
    return code ? report(&error) : STATUS_OK;
}

/* ---- an act ---------------------------------------------------------------------------------- */

static void show_act(const struct demonstration *demo, struct clones_act *act)
{
    if (demo->command->json) {
        clones_print_json(act, demo->start_ms);
    } else {
        if (act->live)
            printf("\033[%dA", CLONES);
        clones_draw(stdout, act, act->ended_ms, demo->coloured);
        clones_print_outcome(act, demo->coloured);
    }
    fflush(stdout);
}

static int play(struct demonstration *demo, int number)
{
    struct clones_act *act = &demo->acts[number - 1];
    struct clones_farm *farm = &act->farm;
    int status, forgotten;

    *act = (struct clones_act){.script = &scripts[number - 1],
                               .number = number,
                               .signals_fd = demo->signals.wait_fd,
                               .children_fd = demo->children_fd,
                               .live = !demo->command->json && clones_can_be_live(),
                               .farm = {.ttl_ms = demo->ttl_ms,
                                        .act = number,
                                        .told = demo->told,
                                        .signals = demo->signals.original,
                                        .conductor = getpid(),
                                        .log = demo->log}};
    if (!demo->command->json)
        printf("%s%d  %s%s\n", demo->coloured ? "\033[1m" : "", number, scripts[number - 1].title,
               demo->coloured ? "\033[0m" : "");
    fflush(stdout);
    if (strlen(demo->url.text) >= sizeof farm->url) {
        message("cannot start the clones: %s", strerror(ENAMETOOLONG));
        return STATUS_FAILED;
    }
    strcpy(farm->url, demo->url.text);
    strcpy(farm->job, act->script->locked ? demo->job : "");
    snprintf(farm->lock, sizeof farm->lock, JOB_LOCK_PREFIX "%s", demo->job);
    snprintf(farm->mails, sizeof farm->mails, "%s/mails.%d", demo->folder, number);
    status = clones_play(act);
    if (!status)
        status = clones_count(act);
    if (!status)
        show_act(demo, act);
    else if (status > 0 && act->began_ms && !act->live && !demo->command->json)
        clones_draw(stdout, act, rowlock__now_ms(), 0); /* the picture up to the present */
    forgotten = forget_job(demo, act);
    return status ? status : forgotten;
}

/* ---- the end --------------------------------------------------------------------------------- */

static int is_as_promised(const struct clones_act *act)
{
    const struct clones_counts *counts = &act->counts;

    if (!act->script->locked)
        return 1;
    return counts->sent == counts->due && counts->twice == 0 &&
           (act->script->blow != CLONES_FREEZE || counts->refused > 0);
}

static int judge(const struct demonstration *demo)
{
    int status = STATUS_OK;

    if (!demo->command->json)
        clones_print_counts(demo->acts, ACTS, demo->coloured);
    for (int i = 0; i < ACTS; i++)
        if (!is_as_promised(&demo->acts[i])) {
            message("the lock failed: %s", demo->acts[i].script->name);
            status = STATUS_FAILED;
        }
    if (!status && !demo->command->json)
        puts("\n   A clone that dies is replaced. The database itself refuses a late write.");
    return status;
}

static int perform(struct demonstration *demo)
{
    int status = make_folder(demo);

    if (!status)
        status = find_database(demo);
    if (!status)
        status = demo_try(&demo->url, CLONES_NAME);
    if (!status && !demo->command->json) {
        printf("Five clones of one server, the same crontab on each. One mail is due.\n\n");
        clones_print_legend(demo->coloured);
    }
    for (int number = 1; number <= ACTS && !status; number++)
        status = play(demo, number);
    return status ? status : judge(demo);
}

/* Becomes the parent of orphans, so that no process that was started here outlives it. */
static int prepare(struct demonstration *demo)
{
    sigset_t children;

    sigemptyset(&children);
    sigaddset(&children, SIGCHLD);
    demo->log = clones_log_new();
    if (rowlock__wakeup_open(&demo->told) || signals_open(&demo->signals) ||
        sigprocmask(SIG_BLOCK, &children, NULL))
        return -1;
    demo->children_fd = signals_descriptor(&children);
    adopt_orphans();
    snprintf(demo->job, sizeof demo->job, "demo:clones:%ld:%08x", (long)getpid(), rowlock__dice());
    return demo->log && demo->children_fd >= 0 ? 0 : -1;
}

int demo_clones(struct command *command, int64_t ttl_ms)
{
    struct demonstration demo = {.command = command,
                                 .ttl_ms = ttl_ms,
                                 .coloured = terminal_is_coloured(),
                                 .start_ms = rowlock__now_ms()};
    int status = STATUS_FAILED;

    if (prepare(&demo))
        message("out of memory or file descriptors for the clones");
    else
        status = perform(&demo);
    remove_folder(&demo);
    url_free(&demo.url);
    clones_log_free(demo.log);
    return status;
}
