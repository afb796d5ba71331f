/* SPDX-License-Identifier: Apache-2.0 */
/* Logs events by one monotonic clock, prints them in order, and counts hand-overs and overlaps. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "command/url_lookup.h"
#include "demo/demo_log.h"

#define EVENTS_A_WORKER 6
#define EVENTS_OF_THE_PROGRAM 8

int demo_apart(int (*function)(void *data), void *data)
{
    int how = 0;
    pid_t pid;

    fflush(NULL);
    pid = fork();
    if (pid == 0) {
        int status = function(data);

        fflush(NULL);
        _exit(status);
    }
    while (pid > 0 && waitpid(pid, &how, 0) < 0 && errno == EINTR)
        ;
    return pid > 0 && WIFEXITED(how) ? WEXITSTATUS(how) : STATUS_FAILED;
}

struct trial {
    const struct url *url;
    const char *name;
};

static int try_database(void *data)
{
    const struct trial *trial = data;
    const struct rowlock_want want = {.name = trial->name};
    struct rowlock_connection *connection = NULL;
    struct rowlock_error error;
    int status = connect_database(trial->url, &(struct approach){0}, &connection);

    if (!status && rowlock_prepare(connection, &want, 1, &error))
        status = report(&error);
    rowlock_close(connection);
    return status;
}

int demo_try(const struct url *url, const char *name)
{
    return demo_apart(try_database, &(struct trial){url, name});
}

/* ---- the log --------------------------------------------------------------------------------- */

static int64_t now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static size_t bytes_of(size_t items)
{
    return sizeof(struct demo_log) + items * sizeof(struct demo_item);
}

struct demo_log *demo_log_new(int workers)
{
    size_t size = (size_t)workers * EVENTS_A_WORKER + EVENTS_OF_THE_PROGRAM;
    struct demo_log *log =
        mmap(NULL, bytes_of(size), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    if (log == MAP_FAILED)
        return NULL;
    log->size = size;
    log->start_ns = now_ns();
    return log;
}

void demo_log_free(struct demo_log *log)
{
    if (log)
        munmap(log, bytes_of(log->size));
}

void demo_add(struct demo_log *log, int worker, enum demo_event event, const char *note)
{
    int64_t ns = now_ns(); /* first, so that it is the time of the event */
    size_t at = atomic_fetch_add(&log->used, 1);

    if (at < log->size)
        log->items[at] = (struct demo_item){ns, worker, event, note};
}

void demo_fail(struct demo_log *log, int worker, const struct rowlock_error *error)
{
    int none = 0;

    if (atomic_compare_exchange_strong(&log->failed, &none, worker))
        log->error = *error;
}

static int by_time(const void *left, const void *right)
{
    const struct demo_item *a = left, *b = right;

    if (a->ns != b->ns)
        return a->ns < b->ns ? -1 : 1;
    return a->worker != b->worker ? a->worker - b->worker : (int)a->event - (int)b->event;
}

void demo_sort(struct demo_log *log)
{
    size_t used = atomic_load(&log->used);

    if (used > log->size)
        used = log->size;
    atomic_store(&log->used, used);
    qsort(log->items, used, sizeof *log->items, by_time);
}

/* ---- printing -------------------------------------------------------------------------------- */

static const struct {
    const char *name, *text;
} events[] = {
    [DEMO_STARTED] = {"started", "Started"},
    [DEMO_WAITING] = {"waiting", "Waiting for the lock"},
    [DEMO_ACQUIRED] = {"acquired", "Lock acquired"},
    [DEMO_RELEASED] = {"released", "doing commit..."},
    [DEMO_DONE] = {"done", "commit done"},
};

void demo_print(const struct demo_log *log, int json)
{
    if (!json)
        puts("MS\tWORKER\tEVENT");
    for (size_t i = 0; i < log->used; i++) {
        const struct demo_item *item = &log->items[i];
        int64_t ms = (item->ns - log->start_ns) / 1000000;

        if (json && item->event != DEMO_NOTE)
            printf("{\"t_ms\":%" PRId64 ",\"worker\":%d,\"event\":\"%s\"}\n", ms, item->worker,
                   events[item->event].name);
        else if (!json)
            printf("%" PRId64 "\t%d\t%s\n", ms, item->worker,
                   item->event == DEMO_NOTE ? item->note : events[item->event].text);
    }
}

/* ---- judging --------------------------------------------------------------------------------- */

static int by_size(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;

    return a < b ? -1 : a > b;
}

/* A hand-over is the time from a release to the next acquisition. An acquisition before the
   previous release is an overlap. */
int demo_judge(const struct demo_log *log, struct demo_result *result)
{
    double *took = calloc(log->used + 1, sizeof *took);
    int64_t released_ns = 0;
    int holders = 0;
    size_t n = 0;

    if (!took)
        return -1;
    *result = (struct demo_result){0};
    for (size_t i = 0; i < log->used; i++) {
        const struct demo_item *item = &log->items[i];

        if (item->event == DEMO_ACQUIRED) {
            if (holders++ > 0)
                result->overlaps++;
            else if (released_ns)
                took[n++] = (double)(item->ns - released_ns) / 1e6;
        } else if (item->event == DEMO_RELEASED) {
            holders--;
            released_ns = item->ns;
        }
    }
    qsort(took, n, sizeof *took, by_size);
    result->hand_overs = n;
    if (n) {
        result->median_ms = n % 2 ? took[n / 2] : (took[n / 2 - 1] + took[n / 2]) / 2;
        result->worst_ms = took[n - 1];
    }
    free(took);
    return 0;
}
