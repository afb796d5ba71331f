/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The verb demo: two demonstrations. The clones are in demo/clones.c. This file has the first
 * article's program: workers start together, wait for one lock, hold it, commit, and the next one
 * acquires it. Each is a process with a connection opened after the fork. Printing would affect the
 * timing, so it happens after all are done.
 */
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "command/url_lookup.h"
#include "demo/clones.h"
#include "demo/demo_log.h"
#include "system/command/calls.h"
#include "system/system.h"
#include "util/clock.h"

#define MOST_WORKERS 1000

struct demo {
    int workers;
    int64_t hold_ms;
    struct url url;
    struct demo_log *log;
    int64_t ttl_ms;      /* of the clones */
    int ready[2], go[2]; /* pipes: a byte of each worker that is ready; its end is the start */
};

#define TTL_MS 1000
#define TTL_MOST_MS 60000 /* a user watches the demonstration */

static void take_ttl(const struct command *command, const struct option_row *row, void *into)
{
    set_duration(command, row, into);
    if (*(int64_t *)into < TTL_MS || *(int64_t *)into > TTL_MOST_MS)
        usage_error(command, "--ttl is 1s to 60s");
}

#define AT(member) offsetof(struct demo, member)

static const struct option_row options[] = {
    {"workers", 0, required_argument, set_number, AT(workers), 1, MOST_WORKERS},
    {"hold", 0, required_argument, set_duration, AT(hold_ms), 1, 0},
    {"ttl", 0, required_argument, take_ttl, AT(ttl_ms), 1000, 0},
    {0}};

/* Returns whether the clones are shown, not the workers. */
static int read_options(struct command *command, struct demo *demo)
{
    int clones, of_workers, of_clones;

    *demo = (struct demo){.workers = -1, .hold_ms = -1, .ttl_ms = -1};
    scan_own_options(command, options, demo);
    of_workers = demo->workers >= 0 || demo->hold_ms >= 0;
    of_clones = demo->ttl_ms >= 0;
    demo->workers = demo->workers < 0 ? 3 : demo->workers;
    demo->hold_ms = demo->hold_ms < 0 ? 300 : demo->hold_ms;
    demo->ttl_ms = demo->ttl_ms < 0 ? TTL_MS : demo->ttl_ms;
    clones = command->n_operands > 0 && strcmp(command->operands[0], "clones") == 0;
    if (command->n_operands + command->n_rest > clones)
        usage_error(
            command, "'%s' is not a demonstration: clones, or nothing",
            shown(command->n_operands > clones ? command->operands[clones] : command->rest[0]));
    if (clones ? of_workers : of_clones)
        usage_error(command, clones ? "--workers and --hold are not for demo clones"
                                    : "--ttl goes with demo clones");
    return clones;
}

/* ---- a worker: the article's transaction ----------------------------------------------------- */

static int transaction(const struct demo *demo, int number, struct rowlock_connection *connection,
                       const struct rowlock_want *want, struct rowlock_error *error)
{
    int code;

    demo_add(demo->log, number, DEMO_WAITING, NULL);
    code = rowlock_begin(connection, want, 1, -1, error);
    if (code)
        return code;
    demo_add(demo->log, number, DEMO_ACQUIRED, NULL);
    rowlock__wait_fd(-1, 0, -1, rowlock__after(rowlock__now_ms(), demo->hold_ms));
    demo_add(demo->log, number, DEMO_RELEASED, NULL);
    code = rowlock_commit(connection, error);
    if (!code)
        demo_add(demo->log, number, DEMO_DONE, NULL);
    return code;
}

static int work(const struct demo *demo, int number)
{
    static const struct rowlock_want want = {.name = DEMO_NAME, .mode = ROWLOCK_EXCLUSIVE};
    struct rowlock_connection *connection = NULL;
    struct rowlock_error error = {0};
    int code = rowlock_open(demo->url.text, &DEMO_OPTIONS, &connection, &error);
    char byte = 1;

    if (!code)
        code = rowlock_prepare(connection, &want, 1, &error);
    /* Waits for the start. It is an end of file, so it reaches all workers at once, and also comes
       if the program is killed. */
    if (!code && write(demo->ready[1], &byte, 1) == 1) {
        close(demo->ready[1]);
        while (read(demo->go[0], &byte, 1) < 0 && errno == EINTR)
            ;
        close(demo->go[0]);
        demo_add(demo->log, number, DEMO_STARTED, NULL);
        code = transaction(demo, number, connection, &want, &error);
    }
    if (code)
        demo_fail(demo->log, number, &error);
    rowlock_close(connection);
    return code ? 1 : 0;
}

/* ---- all workers ----------------------------------------------------------------------------- */

static int start_workers(struct demo *demo)
{
    pid_t self = getpid();
    int started = 0;

    fflush(NULL);
    while (started < demo->workers) {
        pid_t pid = fork();

        if (pid == 0) {
            close(demo->ready[0]);
            close(demo->go[1]);
            _exit(end_with_parent(self) ? 1 : work(demo, started + 1));
        }
        if (pid < 0)
            break;
        started++;
    }
    close(demo->ready[1]);
    close(demo->go[0]);
    return started;
}

/* Returns the number of workers that failed or did not start. */
static int run_workers(struct demo *demo)
{
    int started = start_workers(demo), failed = demo->workers - started, how;
    char byte;

    demo_add(demo->log, 0, DEMO_NOTE, "Workers created");
    /* Each worker writes a byte when it is ready. The pipe ends when all others have died. */
    for (int n = 0; n < demo->workers; n++) {
        ssize_t got = read(demo->ready[0], &byte, 1);

        if (got == 0)
            break;
        if (got < 0)
            n--;
    }
    close(demo->ready[0]);
    demo_add(demo->log, 0, DEMO_NOTE, "Workers running - waiting...");
    close(demo->go[1]);
    for (int n = 0; n < started; n++) {
        while (wait(&how) < 0 && errno == EINTR)
            ;
        failed += !WIFEXITED(how) || WEXITSTATUS(how) != 0;
    }
    demo_add(demo->log, 0, DEMO_NOTE, "Done !");
    return failed;
}

/* ---- the end --------------------------------------------------------------------------------- */

static int perform(struct demo *demo, int json)
{
    int failed = run_workers(demo), status = STATUS_OK;
    struct demo_result result;

    demo_sort(demo->log);
    demo_print(demo->log, json);
    if (demo_judge(demo->log, &result)) {
        status = out_of_memory();
    } else {
        if (!json)
            printf("%zu hand-overs, median %.1f ms, worst %.1f ms, overlaps %zu\n",
                   result.hand_overs, result.median_ms, result.worst_ms, result.overlaps);
        if (result.overlaps > 0) {
            message("the lock did not exclude: overlaps %zu", result.overlaps);
            status = STATUS_FAILED;
        }
    }
    if (failed && demo->log->failed)
        status = report(&demo->log->error);
    if (failed)
        message("%d of %d workers failed", failed, demo->workers);
    return failed && !status ? STATUS_FAILED : status;
}

int cmd_demo(struct command *command)
{
    struct demo demo;
    int status;

    if (read_options(command, &demo))
        return demo_clones(command, demo.ttl_ms);
    demo.log = demo_log_new(demo.workers);
    if (!demo.log || rowlock__pipe(demo.ready) || rowlock__pipe(demo.go)) {
        message("out of memory or file descriptors for the workers");
        return STATUS_FAILED;
    }
    demo_add(demo.log, 0, DEMO_NOTE, "Started...");
    status = url_lookup(command->db, &demo.url);
    if (!status)
        status = demo_try(&demo.url, DEMO_NAME);
    if (!status) {
        demo_add(demo.log, 0, DEMO_NOTE, "Test connection");
        status = perform(&demo, command->json);
    }
    url_free(&demo.url);
    demo_log_free(demo.log);
    return status;
}
