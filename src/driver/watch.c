/* SPDX-License-Identifier: Apache-2.0 */
/* Watches, and the begin and end of watched calls. The thread that looks at them: watch_thread.c */
#include "driver/watch.h"

#include <poll.h>
#include <stdlib.h>

#include "util/error.h"

int rowlock__watch_new(struct rowlock_watch **out, struct rowlock_error *error)
{
    struct rowlock_watch *watch = calloc(1, sizeof *watch);
    struct rowlock_watcher *watcher;

    if (!watch)
        return rowlock__no_memory(error);
    pthread_cond_init(&watch->changed, NULL);
    watch->socket = -1;
    pthread_mutex_lock(&rowlock__watch_lock);
    watcher = watch->watcher = rowlock__watcher_join();
    pthread_mutex_unlock(&rowlock__watch_lock);
    if (!watcher) {
        rowlock__watch_destroy(watch);
        return rowlock__fail(error, ROWLOCK_ENOMEM, "cannot start the thread that watches calls");
    }
    *out = watch;
    return ROWLOCK_OK;
}

void rowlock__watch_free(struct rowlock_watch *watch, void (*release)(void *data), void *data)
{
    struct rowlock_watcher *last = NULL;
    bool later;

    if (!watch) {
        release(data);
        return;
    }
    watch->release = release;
    watch->handles = data;
    pthread_mutex_lock(&rowlock__watch_lock);
    later = watch->orphan = watch->cancelling;
    if (!later)
        last = rowlock__watcher_leave(watch->watcher);
    pthread_mutex_unlock(&rowlock__watch_lock);
    if (!later)
        rowlock__watch_destroy(watch);
    rowlock__watcher_end(last);
}

/* ---- calls --------------------------------------------------------------------------------- */

int rowlock__watch_socket(const struct rowlock_watch *watch)
{
    return watch->socket;
}

void rowlock__watch_begin(struct rowlock_watch *watch, const struct rowlock_budget *budget,
                          void (*cancel)(void *data), void *data)
{
    struct rowlock_watcher *watcher = watch->watcher;
    int64_t first_ms = budget->deadline_ms;

    watch->budget = *budget;
    watch->cancel = cancel;
    watch->data = data;
    watch->end = (struct rowlock_watched){ROWLOCK_WATCH_CALM, ROWLOCK_WAKE_READY};
    if (budget->interrupt_fd >= 0)
        first_ms = rowlock__least(first_ms, rowlock__now_ms() + ROWLOCK_WATCH_LOOK_MS);
    pthread_mutex_lock(&rowlock__watch_lock);
    watch->next = watcher->calls;
    watch->place = &watcher->calls;
    if (watch->next)
        watch->next->place = &watch->next;
    watcher->calls = watch;
    watcher->begun++;
    if (first_ms < watcher->planned_ms) {
        watcher->planned_ms = first_ms;
        rowlock__wakeup_send(&watcher->wake);
    }
    pthread_mutex_unlock(&rowlock__watch_lock);
}

struct rowlock_watched rowlock__watch_end(struct rowlock_watch *watch)
{
    struct rowlock_watched end;

    pthread_mutex_lock(&rowlock__watch_lock);
    while (watch->cancelling && watch->end.result == ROWLOCK_WATCH_CANCELED)
        pthread_cond_wait(&watch->changed, &rowlock__watch_lock);
    *watch->place = watch->next;
    if (watch->next)
        watch->next->place = watch->place;
    watch->place = NULL;
    end = watch->end;
    pthread_mutex_unlock(&rowlock__watch_lock);
    return end;
}

int rowlock__watch_opening(struct rowlock_watch *watch, const struct rowlock_budget *budget,
                           int port, struct rowlock_error *error)
{
    struct rowlock_watcher *watcher = watch->watcher;
    int code;

    while (!rowlock__wakeup_take(&watcher->turn)) /* waits for the turn to open a session */
        switch (
            rowlock__wait_fd(watcher->turn.fd, POLLIN, budget->interrupt_fd, budget->deadline_ms)) {
        case ROWLOCK_WAKE_DEADLINE:
            return rowlock__fail(error, ROWLOCK_ETIMEDOUT,
                                 "timed out while another thread opened a session");
        case ROWLOCK_WAKE_INTERRUPT:
            return rowlock__fail(error, ROWLOCK_ECANCELED, "interrupted");
        case ROWLOCK_WAKE_READY:
            break;
        }
    watch->before = rowlock__descriptors();
    watch->port = port;
    code = rowlock__rows_complete(&watch->before, ROWLOCK_OK, error);
    if (code) {
        rowlock__rows_clear(&watch->before);
        rowlock__wakeup_send(&watcher->turn);
        return code;
    }
    watch->opening = true;
    rowlock__watch_begin(watch, budget, NULL, NULL);
    return ROWLOCK_OK;
}

struct rowlock_watched rowlock__watch_opened(struct rowlock_watch *watch, bool opened)
{
    struct rowlock_watched end = rowlock__watch_end(watch);

    watch->opening = false;
    rowlock__close_new_on_exec(&watch->before);
    rowlock__watch_found(watch, opened ? rowlock__new_socket(&watch->before, watch->port) : -1);
    rowlock__rows_clear(&watch->before);
    rowlock__wakeup_send(&watch->watcher->turn); /* the next thread may open one */
    return end;
}
