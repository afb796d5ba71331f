/* SPDX-License-Identifier: Apache-2.0 */
/* The log of events. Processes that may be killed or stopped at any point write it without a
   lock. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "demo/clones.h"
#include "system/command/calls.h"
#include "util/clock.h"

struct clones_log *clones_log_new(void)
{
    int fd = shared_memory(sizeof(struct clones_log));
    struct clones_log *log = MAP_FAILED;

    if (fd >= 0)
        log = mmap(NULL, sizeof *log, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (log != MAP_FAILED) {
        log->fd = fd;
        return log;
    }
    if (fd >= 0)
        close(fd);
    return NULL;
}

void clones_log_free(struct clones_log *log)
{
    if (!log)
        return;
    close(log->fd);
    munmap(log, sizeof *log);
}

void clones_log_empty(struct clones_log *log)
{
    int fd = log->fd;

    memset(log, 0, sizeof *log);
    log->fd = fd;
}

void clones_tell(const struct clones_farm *farm, int clone, enum clones_event event, int64_t token)
{
    struct clones_log *log = farm->log;
    int64_t now = rowlock__now_ms(); /* first, so that it is the time of the event */
    size_t at = atomic_fetch_add(&log->used, 1);

    if (at >= CLONES_ITEMS)
        return;
    log->items[at].clone = clone;
    log->items[at].event = event;
    log->items[at].at_ms = now;
    log->items[at].token = token;
    log->items[at].pid = getpid();
    atomic_store(&log->items[at].filled, 1);
    rowlock__wakeup_send(&farm->told);
}

void clones_fail(const struct clones_farm *farm, const struct rowlock_error *error)
{
    int none = 0;

    if (atomic_compare_exchange_strong(&farm->log->failed, &none, 1))
        farm->log->error = *error;
}

static int by_time(const void *left, const void *right)
{
    const struct clones_item *a = *(const struct clones_item *const *)left,
                             *b = *(const struct clones_item *const *)right;

    if (a->at_ms != b->at_ms)
        return a->at_ms < b->at_ms ? -1 : 1;
    return (a > b) - (a < b);
}

size_t clones_events(const struct clones_log *log, const struct clones_item **out)
{
    size_t n = 0;

    for (size_t i = 0; i < CLONES_ITEMS; i++)
        if (atomic_load(&log->items[i].filled))
            out[n++] = &log->items[i];
    qsort(out, n, sizeof *out, by_time);
    return n;
}

const struct clones_item *clones_find(const struct clones_log *log, int clone,
                                      enum clones_event event)
{
    const struct clones_item *events[CLONES_ITEMS], *found = NULL;
    size_t n = clones_events(log, events);

    for (size_t i = 0; i < n; i++)
        if ((clone < 0 || events[i]->clone == clone) && events[i]->event == event)
            found = events[i];
    return found;
}
