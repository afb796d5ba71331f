/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cancels a statement from a thread of its own. PQcancel opens a second connection and waits
 * without a timeout for the server to close it: with a frozen server it may take forever. The
 * thread and the waiter share a record; the last one to leave frees it.
 */
#include <poll.h>
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

#include "driver/postgresql_link.h"
#include "system/system.h"
#include "util/clock.h"
#include "util/thread.h"

struct rowlock_cancel {
    PGcancel *request;
    pthread_mutex_t lock;
    int owners;
    int done[2]; /* a pipe: the thread closes its end when the request is answered */
};

static void leave(struct rowlock_cancel *cancel)
{
    int owners;

    pthread_mutex_lock(&cancel->lock);
    owners = --cancel->owners;
    pthread_mutex_unlock(&cancel->lock);
    if (owners > 0)
        return;
    PQ.PQfreeCancel(cancel->request);
    pthread_mutex_destroy(&cancel->lock);
    free(cancel);
}

static void *work(void *data)
{
    struct rowlock_cancel *cancel = data;
    char text[256];

    PQ.PQcancel(cancel->request, text, sizeof text);
    close(cancel->done[1]);
    leave(cancel);
    return NULL;
}

struct rowlock_cancel *rowlock__pg_cancel(PGconn *conn)
{
    struct rowlock_cancel *cancel = calloc(1, sizeof *cancel);

    if (!cancel)
        return NULL;
    cancel->owners = 2;
    cancel->request = PQ.PQgetCancel(conn);
    if (!cancel->request || rowlock__pipe(cancel->done) != 0)
        goto no_pipe;
    if (pthread_mutex_init(&cancel->lock, NULL) != 0)
        goto no_lock;
    if (rowlock__thread_start(NULL, work, cancel) == 0)
        return cancel;
    pthread_mutex_destroy(&cancel->lock);
no_lock:
    close(cancel->done[0]);
    close(cancel->done[1]);
no_pipe:
    PQ.PQfreeCancel(cancel->request);
    free(cancel);
    return NULL;
}

bool rowlock__pg_cancel_done(struct rowlock_cancel *cancel, int64_t deadline_ms)
{
    return rowlock__wait_fd(cancel->done[0], POLLIN, -1, deadline_ms) == ROWLOCK_WAKE_READY;
}

void rowlock__pg_cancel_free(struct rowlock_cancel *cancel)
{
    if (!cancel)
        return;
    close(cancel->done[0]);
    leave(cancel);
}

/* Loads libpq and its functions. */

struct rowlock_postgresql_library rowlock__postgresql;

static const char *const names[] = {ROWLOCK_POSTGRESQL_FUNCTIONS(ROWLOCK_LIBRARY_NAME) NULL};

struct rowlock_library rowlock__postgresql_client = {
    .file = "libpq.so.5",
    .package = "libpq5 (14 or later)",
    .names = names,
    .table = &rowlock__postgresql,
    .lock = PTHREAD_MUTEX_INITIALIZER,
};
