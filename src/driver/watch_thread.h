/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by watch.c, which begins and ends calls, and watch_thread.c, which looks at them. */
#ifndef ROWLOCK_WATCH_THREAD_H
#define ROWLOCK_WATCH_THREAD_H

#include <pthread.h>
#include <sys/stat.h>

#include "driver/watch.h"
#include "system/wakeup.h"

/* At the latest this time after a call began, its interrupt_fd is watched. */
#define ROWLOCK_WATCH_LOOK_MS 20

struct rowlock_descriptors;
struct rowlock_watcher;

struct rowlock_watch {
    struct rowlock_watcher *watcher;
    struct rowlock_watch *next, **place; /* in the list of calls; place NULL: no call is blocked */
    int socket;
    struct stat is;                     /* identifies the socket: another file may get its number */
    struct rowlock_descriptors *before; /* of a session that is being opened; else NULL */
    int port;
    struct rowlock_budget budget;
    void (*cancel)(void *data);
    void *data;
    struct rowlock_watched end; /* as far as it is known */
    int64_t again_ms, give_up_ms;
    bool cancelling; /* a thread is in cancel() */
    bool orphan;     /* that thread frees the watch */
    void (*release)(void *data);
    void *handles;
    pthread_cond_t changed; /* cancelling or end.result */
};

struct rowlock_watcher {
    pthread_t thread;
    struct rowlock_wakeup wake;
    struct rowlock_wakeup turn; /* sent: the thread that takes it may open a session */
    unsigned watches;           /* the last one to leave ends the thread */
    unsigned long begun;        /* calls */
    int64_t planned_ms;         /* when the thread looks again */
    bool stop;
    struct rowlock_watch *calls;
    struct pollfd *fds; /* the thread's own */
    size_t room;
};

/* Protects everything here, and the watches of all threads. */
extern pthread_mutex_t rowlock__watch_lock;

/* Both need the lock. Join adds a watch to the process's watcher, and starts the watcher if there
   is none; NULL if it cannot start. Leave removes the watch, and returns the watcher if that was
   the last one: the caller then ends it. */
struct rowlock_watcher *rowlock__watcher_join(void);
struct rowlock_watcher *rowlock__watcher_leave(struct rowlock_watcher *watcher);

/* Without the lock: ends the thread. Accepts NULL. */
void rowlock__watcher_end(struct rowlock_watcher *watcher);

/* Makes the thread look at all calls now. */
void rowlock__watcher_wake(struct rowlock_watcher *watcher);

/* The session's socket is `fd`; -1: it was not found. */
void rowlock__watch_found(struct rowlock_watch *watch, int fd);

/* Frees the watch and then the session's handles. Without the lock. */
void rowlock__watch_destroy(struct rowlock_watch *watch);

#endif
