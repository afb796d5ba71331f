/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Time limits for client libraries whose calls only block: ODBC and JDBC. One watcher thread in the
 * process looks at every blocked call. When the call's budget ends, it cancels the call where that
 * works. After give_up_ms (2 s; at once where cancelling does not work) it calls shutdown(2) on the
 * session's socket. Then the call returns with the error of a lost connection.
 *
 * A driver has one watch per session. It opens the session between rowlock__watch_opening and
 * rowlock__watch_opened, which also find the session's socket, and makes every later call that may
 * block between rowlock__watch_begin and rowlock__watch_end.
 *
 * The thread runs while a watch exists. It blocks all signals. After fork() the child has no
 * thread, and the parent's watches must not be used there; a new watch starts a thread.
 */
#ifndef ROWLOCK_WATCH_H
#define ROWLOCK_WATCH_H

#include <pthread.h>
#include <stdbool.h>
#include <sys/stat.h>

#include "driver/driver.h"
#include "system/system.h"
#include "util/clock.h"
#include "util/rows.h"

struct rowlock_watch;

enum rowlock_watch_result {
    ROWLOCK_WATCH_CALM,     /* the call returned before its budget ended */
    ROWLOCK_WATCH_CANCELED, /* the budget ended and the call was cancelled; it may have succeeded */
    ROWLOCK_WATCH_GIVEN_UP, /* the session is lost: shut down, or its cancel never returned */
};

/* The end of a watched call. `why` is DEADLINE or INTERRUPT, or READY after a CALM call. */
struct rowlock_watched {
    enum rowlock_watch_result result;
    enum rowlock_wake why;
};

/* Makes a watch, and starts the thread if it is the first one. ENOMEM if there is no memory or no
   thread. The caller frees the watch. */
int rowlock__watch_new(struct rowlock_watch **out, struct rowlock_error *error);

/*
 * Frees the watch, and calls release(data), which frees the session's handles. Both happen at once,
 * or, while a cancel is still blocked in the client library, in that thread when it returns. Does
 * not block. Accepts watch == NULL: then it only calls `release`.
 */
void rowlock__watch_free(struct rowlock_watch *watch, void (*release)(void *data), void *data);

/*
 * Begins a call that opens the session. Waits for its turn, because the sockets of two sessions
 * that open at the same time cannot be distinguished. At the end of the budget, shuts down the new
 * socket, and every further one, until rowlock__watch_opened. `port`: of the server's address, if
 * it is known; or 0. ETIMEDOUT or ECANCELED if the budget ends before its turn; ENOMEM. After an
 * error there is nothing to end.
 */
int rowlock__watch_opening(struct rowlock_watch *watch, const struct rowlock_budget *budget,
                           int port, struct rowlock_error *error);

/* Ends that call; `opened`: whether there is a session now. Sets FD_CLOEXEC on all descriptors that
   are new, and stores the session's socket. */
struct rowlock_watched rowlock__watch_opened(struct rowlock_watch *watch, bool opened);

/* The session's socket; -1: it was not found. Then a call can be cancelled, but not shut down. */
int rowlock__watch_socket(const struct rowlock_watch *watch);

/* Shuts that socket down: the server then ends the session. Does nothing if the client library has
   closed it, because its number may belong to another file now. */
void rowlock__watch_shut_down(const struct rowlock_watch *watch);

/*
 * Begins a call on the session. `cancel` runs in a thread of its own, and again every 300 ms until
 * the call returns, because a cancel that arrives between two statements has no effect. NULL:
 * cancelling does not work, so the session is shut down at the end of the budget.
 */
void rowlock__watch_begin(struct rowlock_watch *watch, const struct rowlock_budget *budget,
                          void (*cancel)(void *data), void *data);

/* Ends the call, and reports how its budget ended. Waits for a running cancel, until the session is
   given up. */
struct rowlock_watched rowlock__watch_end(struct rowlock_watch *watch);

/* Shared by watch.c, which begins and ends calls, and watch_thread.c, which looks at them. */

/* At the latest this time after a call began, its interrupt_fd is watched. */
#define ROWLOCK_WATCH_LOOK_MS 20

struct rowlock_watcher;

/* The thread of the session and the watcher's thread both use it, under rowlock__watch_lock while a
   call is blocked. Times are those of clock.h. */
struct rowlock_watch {
    struct rowlock_watcher *watcher;
    struct rowlock_watch *next, **place; /* in the list of calls; place NULL: no call is blocked */
    int socket;
    struct stat is;             /* identifies the socket: another file may get its number */
    bool opening;               /* the session is being opened */
    struct rowlock_rows before; /* then: the process's descriptors before that */
    int port;                   /* of rowlock__watch_opening */
    /* of the blocked call: */
    struct rowlock_budget budget;
    void (*cancel)(void *data);
    void *data;
    struct rowlock_watched end;   /* as far as it is known */
    int64_t again_ms, give_up_ms; /* after the budget's end: the next cancel, the shutdown */
    bool cancelling;              /* a thread is in cancel() */
    bool orphan;                  /* that thread frees the watch */
    void (*release)(void *data);  /* of rowlock__watch_free, with its parameter */
    void *handles;
    pthread_cond_t changed; /* cancelling or end.result */
};

/* The thread of the process, and what it shares with the threads of the sessions. */
struct rowlock_watcher {
    pthread_t thread;
    struct rowlock_wakeup wake; /* sent: the thread looks at all calls now */
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

/* The session's socket is `fd`; -1: it was not found. */
void rowlock__watch_found(struct rowlock_watch *watch, int fd);

/* Frees the watch and then the session's handles. Without the lock. */
void rowlock__watch_destroy(struct rowlock_watch *watch);

/*
 * The process's descriptors before and after a client library opened a session. ODBC and JDBC do
 * not report the socket of a session, so it is found by the difference.
 */

/* The descriptors that are open now. The caller clears them; `failed`: out of memory. */
struct rowlock_rows rowlock__descriptors(void);

/*
 * The stream socket that was opened since `before` and is connected, or connects, to a server. With
 * `port` > 0, a TCP socket must be connected to that port. -1: there is none, or several, of which
 * none can be chosen.
 */
int rowlock__new_socket(const struct rowlock_rows *before, int port);

/* Sets FD_CLOEXEC on every descriptor that was opened since `before`. */
void rowlock__close_new_on_exec(const struct rowlock_rows *before);

#endif
