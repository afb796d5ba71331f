/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The demonstration of five clones: plays its four acts, on a SQLite database in a folder of its
 * own or on the one that --db names. At its end it removes its files, processes and rows.
 */
#include "demo/clones.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "command/job_name.h"
#include "command/url_lookup.h"
#include "demo/demo_log.h"
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
    int json, coloured;
    struct url url;
    int64_t ttl_ms, start_ms;
    char folder[MOST_PATH], lock[80];
    struct clones_farm *farm; /* of the current act; its processes share it */
    struct signals signals;
    int children_fd;
    struct clones_act acts[ACTS];
};

/* ---- the folder and the database ------------------------------------------------------------- */

/* Makes the folder of the mails; it also has the database, if the user named none. */
static int find_database(struct demonstration *demo, const char *named)
{
    size_t size = sizeof "sqlite:/demo.db" + MOST_PATH;
    const char *base = getenv("TMPDIR");
    int status = STATUS_OK;

    snprintf(demo->folder, sizeof demo->folder, "%s/rowlock-demo.XXXXXX",
             base && *base ? base : "/tmp");
    if (!mkdtemp(demo->folder)) {
        message("cannot make the folder '%s': %s; TMPDIR names another place", demo->folder,
                strerror(errno));
        *demo->folder = '\0';
        return STATUS_FAILED;
    }
    if (named) {
        status = url_lookup(named, &demo->url);
    } else {
        demo->url.text = malloc(size);
        if (!demo->url.text)
            return out_of_memory();
        snprintf(demo->url.text, size, "sqlite:%s/demo.db", demo->folder);
    }
    return status ? status : demo_try(&demo->url, CLONES_NAME);
}

/* ---- an act ---------------------------------------------------------------------------------- */

/* One mail is due in an act, and every line of the file is a copy of it. */
static int count_mails(const struct clones_act *act)
{
    struct clones_counts *counts = &act->farm->counts;
    FILE *file = fopen(act->farm->mails, "re");
    int byte;

    if (!file && errno != ENOENT) {
        message("cannot read the mails in '%s': %s", act->farm->mails, strerror(errno));
        return STATUS_FAILED;
    }
    while (file && (byte = getc(file)) != EOF)
        counts->sent += byte == '\n';
    if (file)
        fclose(file);
    counts->due = 1;
    counts->twice = counts->sent > 1 ? counts->sent - 1 : 0;
    for (size_t i = 0; i < act->n; i++)
        counts->refused += act->events[i].event == CLONES_REFUSED;
    return STATUS_OK;
}

static int see_run(const struct rowlock_run *run, void *data)
{
    struct clones_counts *counts = data;

    counts->runs++;
    counts->lost += run->outcome == ROWLOCK_RUN_LOST || run->outcome == ROWLOCK_RUN_LATE;
    return 0;
}

/* Counts the runs of the act's job, and deletes it from the database, which may not be ours; also
   the lease of a clone that ended early. */
static int end_job(void *data)
{
    struct clones_farm *farm = data;
    const char *job = farm->lock + sizeof JOB_LOCK_PREFIX - 1;
    struct rowlock_connection *connection = NULL;
    struct rowlock_error error = {0};
    int code = rowlock_open(farm->url, &DEMO_OPTIONS, &connection, &error);

    if (!code)
        code = rowlock_runs(connection, job, see_run, &farm->counts, &error);
    if (!code)
        code = rowlock_break(connection, farm->lock, 0, 1, NULL, &error);
    if (!code)
        code = rowlock_forget_job(connection, job, &error);
    rowlock_close(connection);
    return code ? report(&error) : STATUS_OK;
}

static int play(struct demonstration *demo, int number)
{
    struct clones_act *act = &demo->acts[number - 1];
    struct clones_farm *farm = demo->farm;
    int status, ended;

    memset(farm, 0, sizeof *farm);
    farm->ttl_ms = demo->ttl_ms;
    farm->act = number;
    farm->url = demo->url.text;
    farm->lock = scripts[number - 1].locked ? demo->lock : "";
    snprintf(farm->mails, sizeof farm->mails, "%s/mails.%d", demo->folder, number);
    *act = (struct clones_act){.script = &scripts[number - 1],
                               .farm = farm,
                               .signals = &demo->signals,
                               .children_fd = demo->children_fd,
                               .live = !demo->json && clones_can_be_live()};
    if (!demo->json)
        printf("%s%d  %s%s\n", demo->coloured ? "\033[1m" : "", number, act->script->title,
               demo->coloured ? "\033[0m" : "");
    status = clones_play(act);
    if (!status)
        status = count_mails(act);
    if (!demo->json && act->began_ms && (!status || (status > 0 && !act->live)))
        clones_draw(act, status ? rowlock__now_ms() : act->ended_ms, demo->coloured, act->live);
    ended = act->script->locked ? demo_apart(end_job, farm) : STATUS_OK;
    act->counts = farm->counts;
    if (status || ended)
        return status ? status : ended;
    if (demo->json)
        clones_print_json(act, demo->start_ms);
    else
        clones_print_outcome(act, demo->coloured);
    return STATUS_OK;
}

/* ---- the demonstration ----------------------------------------------------------------------- */

/* Plays the acts, and compares what happened with what the lock promises. */
static int perform(struct demonstration *demo, const char *named)
{
    int status = find_database(demo, named);

    if (!status && !demo->json) {
        printf("Five clones of one server, the same crontab on each. One mail is due.\n\n");
        clones_print_legend(demo->coloured);
    }
    for (int number = 1; number <= ACTS && !status; number++)
        status = play(demo, number);
    if (status)
        return status;
    if (!demo->json)
        clones_print_counts(demo->acts, ACTS, demo->coloured);
    for (int i = 0; i < ACTS; i++) {
        const struct clones_script *script = demo->acts[i].script;
        const struct clones_counts *counts = &demo->acts[i].counts;

        if (script->locked && (counts->sent != counts->due || counts->twice > 0 ||
                               (script->blow == CLONES_FREEZE && counts->refused == 0))) {
            message("the lock failed: %s", script->name);
            status = STATUS_FAILED;
        }
    }
    if (!status && !demo->json)
        puts("\n   A clone that dies is replaced. The database itself refuses a late write.");
    return status;
}

int demo_clones(struct command *command, int64_t ttl_ms)
{
    static const char *const files[] = {"demo.db", "demo.db-journal", "demo.db-wal", "demo.db-shm",
                                        "mails.1", "mails.2",         "mails.3",     "mails.4"};
    struct demonstration demo = {.json = command->json,
                                 .ttl_ms = ttl_ms,
                                 .coloured = terminal_is_coloured(),
                                 .start_ms = rowlock__now_ms()};
    char path[MOST_PATH + 32];
    int status = STATUS_FAILED;
    sigset_t children;

    sigemptyset(&children);
    sigaddset(&children, SIGCHLD);
    snprintf(demo.lock, sizeof demo.lock, JOB_LOCK_PREFIX "demo:clones:%ld:%08x", (long)getpid(),
             rowlock__dice());
    demo.farm =
        mmap(NULL, sizeof *demo.farm, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (demo.farm == MAP_FAILED || signals_open(&demo.signals) ||
        sigprocmask(SIG_BLOCK, &children, NULL) ||
        (demo.children_fd = signals_descriptor(&children)) < 0)
        message("out of memory or file descriptors for the clones");
    else
        status = perform(&demo, command->db);
    for (size_t i = 0; i < sizeof files / sizeof *files && *demo.folder; i++) {
        snprintf(path, sizeof path, "%s/%s", demo.folder, files[i]);
        unlink(path);
    }
    if (*demo.folder)
        rmdir(demo.folder);
    url_free(&demo.url);
    return status;
}
