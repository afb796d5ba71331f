/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The watcher thread. A cancel runs in a thread of its own, because it opens a second connection
 * and may block as long as the call itself.
 *
 * Most calls return within a millisecond. Beginning one wakes the thread only if the thread sleeps
 * past the time at which it has to look at that call. Ending one never wakes it.
 */
#include "driver/watch.h"

#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "util/thread.h"

pthread_mutex_t rowlock__watch_lock = PTHREAD_MUTEX_INITIALIZER;
static struct rowlock_watcher *current; /* NULL: no thread runs */

/* ---- the thread ---------------------------------------------------------------------------- */

void rowlock__watch_found(struct rowlock_watch *watch, int fd)
{
    watch->socket = fd >= 0 && fstat(fd, &watch->is) == 0 ? fd : -1;
}

void rowlock__watch_shut_down(const struct rowlock_watch *watch)
{
    struct stat now;

    if (watch->socket >= 0 && fstat(watch->socket, &now) == 0 && now.st_dev == watch->is.st_dev &&
        now.st_ino == watch->is.st_ino)
        shutdown(watch->socket, SHUT_RDWR);
}

static void give_up(struct rowlock_watch *call)
{
    if (call->opening)
        rowlock__watch_found(call, rowlock__new_socket(&call->before, call->port));
    rowlock__watch_shut_down(call);
    /* without a socket the call still runs: a later cancel may end it */
    if (call->socket >= 0 || call->cancelling)
        call->end.result = ROWLOCK_WATCH_GIVEN_UP;
    pthread_cond_broadcast(&call->changed);
}

void rowlock__watch_destroy(struct rowlock_watch *watch)
{
    void (*release)(void *data) = watch->release;
    void *handles = watch->handles;

    pthread_cond_destroy(&watch->changed);
    rowlock__rows_clear(&watch->before);
    free(watch);
    if (release)
        release(handles);
}

struct rowlock_watcher *rowlock__watcher_leave(struct rowlock_watcher *watcher)
{
    if (--watcher->watches > 0)
        return NULL;
    if (current == watcher)
        current = NULL;
    return watcher;
}

static void *run_cancel(void *data)
{
    struct rowlock_watch *watch = data;
    struct rowlock_watcher *last = NULL;
    bool orphan;

    watch->cancel(watch->data);
    pthread_mutex_lock(&rowlock__watch_lock);
    watch->cancelling = false;
    pthread_cond_broadcast(&watch->changed);
    orphan = watch->orphan;
    if (orphan)
        last = rowlock__watcher_leave(watch->watcher);
    pthread_mutex_unlock(&rowlock__watch_lock);
    if (orphan)
        rowlock__watch_destroy(watch);
    rowlock__watcher_end(last);
    return NULL;
}

static void budget_ends(struct rowlock_watch *call, enum rowlock_wake why, int64_t now)
{
    call->end = (struct rowlock_watched){ROWLOCK_WATCH_CANCELED, why};
    call->again_ms = now;
    call->give_up_ms = call->cancel ? rowlock__give_up_ms(&call->budget, now) : now;
}

/* Acts on one call if it is time; returns the time at which to look again. */
static int64_t look(struct rowlock_watch *call, int64_t now)
{
    if (call->end.result == ROWLOCK_WATCH_CALM && now >= call->budget.deadline_ms)
        budget_ends(call, ROWLOCK_WAKE_DEADLINE, now);
    if (call->end.result == ROWLOCK_WATCH_CALM)
        return call->budget.deadline_ms;
    if (call->opening) { /* the driver may try another address: that socket is shut down too */
        give_up(call);
        return now + ROWLOCK_WATCH_LOOK_MS;
    }
    if (call->end.result == ROWLOCK_WATCH_GIVEN_UP)
        return ROWLOCK_NEVER;
    if (now >= call->give_up_ms)
        give_up(call);
    if (call->end.result == ROWLOCK_WATCH_GIVEN_UP || !call->cancel)
        return ROWLOCK_NEVER;
    if (now >= call->again_ms) {
        call->again_ms = now + ROWLOCK_AGAIN_MS;
        call->cancelling = call->cancelling || rowlock__thread_start(NULL, run_cancel, call) == 0;
    }
    return now < call->give_up_ms ? rowlock__least(call->again_ms, call->give_up_ms)
                                  : call->again_ms;
}

/* Whether the call's interrupt_fd is polled. */
static bool is_polled(const struct rowlock_watch *call)
{
    return call->end.result == ROWLOCK_WATCH_CALM && call->budget.interrupt_fd >= 0;
}

/* Looks at all calls. Returns the number of descriptors to poll, the first of them `wake`. */
static size_t look_at_all(struct rowlock_watcher *watcher, int64_t now, int64_t *next)
{
    size_t n = 1;

    *next = ROWLOCK_NEVER;
    for (struct rowlock_watch *call = watcher->calls; call; call = call->next) {
        *next = rowlock__least(*next, look(call, now));
        if (!is_polled(call))
            continue;
        if (n == watcher->room) {
            struct pollfd *more = realloc(watcher->fds, 2 * n * sizeof *more);

            if (!more) { /* this call's interrupt waits; its deadline still holds */
                *next = rowlock__least(*next, now + ROWLOCK_WATCH_LOOK_MS);
                continue;
            }
            watcher->fds = more;
            watcher->room = 2 * n;
        }
        watcher->fds[n++] = (struct pollfd){.fd = call->budget.interrupt_fd, .events = POLLIN};
    }
    return n;
}

static void find_interrupted(struct rowlock_watcher *watcher, size_t n, int64_t now)
{
    for (size_t i = 1; i < n; i++) {
        if (!watcher->fds[i].revents)
            continue;
        for (struct rowlock_watch *call = watcher->calls; call; call = call->next)
            if (is_polled(call) && call->budget.interrupt_fd == watcher->fds[i].fd &&
                rowlock__wait_fd(-1, 0, call->budget.interrupt_fd, 0) == ROWLOCK_WAKE_INTERRUPT)
                budget_ends(call, ROWLOCK_WAKE_INTERRUPT, now);
    }
}

static void *watch_calls(void *data)
{
    struct rowlock_watcher *watcher = data;
    unsigned long seen = 0;

    pthread_mutex_lock(&rowlock__watch_lock);
    while (!watcher->stop) {
        int64_t now = rowlock__now_ms(), next;
        size_t n = look_at_all(watcher, now, &next);

        /* Calls begin often: looking again soon costs less than a wake-up for each of them. */
        if (watcher->begun != seen)
            next = rowlock__least(next, now + ROWLOCK_WATCH_LOOK_MS);
        seen = watcher->begun;
        watcher->planned_ms = next;
        watcher->fds[0] = (struct pollfd){.fd = watcher->wake.fd, .events = POLLIN};
        pthread_mutex_unlock(&rowlock__watch_lock);
        if (poll(watcher->fds, n, rowlock__poll_timeout(next)) <= 0)
            n = 0;
        if (n > 0 && watcher->fds[0].revents)
            rowlock__wakeup_take(&watcher->wake);
        pthread_mutex_lock(&rowlock__watch_lock);
        find_interrupted(watcher, n, rowlock__now_ms());
    }
    pthread_mutex_unlock(&rowlock__watch_lock);
    return NULL;
}

/* ---- its life ------------------------------------------------------------------------------ */

static void free_watcher(struct rowlock_watcher *watcher)
{
    rowlock__wakeup_close(&watcher->wake);
    rowlock__wakeup_close(&watcher->turn);
    free(watcher->fds);
    free(watcher);
}

void rowlock__watcher_end(struct rowlock_watcher *watcher)
{
    if (!watcher)
        return;
    pthread_mutex_lock(&rowlock__watch_lock);
    watcher->stop = true;
    rowlock__wakeup_send(&watcher->wake);
    pthread_mutex_unlock(&rowlock__watch_lock);
    pthread_join(watcher->thread, NULL);
    free_watcher(watcher);
}

static void before_fork(void)
{
    pthread_mutex_lock(&rowlock__watch_lock);
}

static void after_fork(void)
{
    pthread_mutex_unlock(&rowlock__watch_lock);
}

/* The thread does not exist here. The parent's watches refer to memory that is freed, because they
   must not be used here. */
static void in_child(void)
{
    pthread_mutex_init(&rowlock__watch_lock, NULL);
    if (current)
        free_watcher(current);
    current = NULL;
}

static void handle_forks(void)
{
    pthread_atfork(before_fork, after_fork, in_child);
}

struct rowlock_watcher *rowlock__watcher_join(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    struct rowlock_watcher *watcher = current;
    bool opened;

    pthread_once(&once, handle_forks);
    if (!watcher && (watcher = calloc(1, sizeof *watcher))) {
        watcher->planned_ms = ROWLOCK_NEVER;
        watcher->room = 8;
        watcher->fds = calloc(watcher->room, sizeof *watcher->fds);
        opened = rowlock__wakeup_open(&watcher->wake) == 0;
        opened = rowlock__wakeup_open(&watcher->turn) == 0 && opened;
        if (opened)
            rowlock__wakeup_send(&watcher->turn);
        if (!watcher->fds || !opened ||
            rowlock__thread_start(&watcher->thread, watch_calls, watcher) != 0) {
            free_watcher(watcher);
            watcher = NULL;
        }
    }
    if (watcher)
        watcher->watches++;
    current = watcher;
    return watcher;
}
