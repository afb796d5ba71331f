/* SPDX-License-Identifier: Apache-2.0 */
/* A worker of the demonstration: the article's transaction, in a process of its own. */
#include <errno.h>
#include <time.h>
#include <unistd.h>

#include "demo/demo_log.h"

static void hold(int64_t ms)
{
    struct timespec left = {ms / 1000, (long)(ms % 1000) * 1000000};

    while (nanosleep(&left, &left) && errno == EINTR)
        ;
}

/* Waits for the start. It is an end of file, so it reaches all workers at once, and also comes if
   the program is killed. */
static int stand_at_the_start(const struct demo_worker *worker)
{
    char byte = 1;

    if (write(worker->ready_fd, &byte, 1) != 1)
        return -1;
    close(worker->ready_fd);
    while (read(worker->go_fd, &byte, 1) < 0 && errno == EINTR)
        ;
    close(worker->go_fd);
    return 0;
}

static int transaction(const struct demo_worker *worker, struct rowlock_connection *connection,
                       const struct rowlock_want *want, struct rowlock_error *error)
{
    int code;

    demo_add(worker->log, worker->number, DEMO_WAITING, NULL);
    code = rowlock_begin(connection, want, 1, -1, error);
    if (code)
        return code;
    demo_add(worker->log, worker->number, DEMO_ACQUIRED, NULL);
    hold(worker->hold_ms);
    demo_add(worker->log, worker->number, DEMO_RELEASED, NULL);
    code = rowlock_commit(connection, error);
    if (!code)
        demo_add(worker->log, worker->number, DEMO_DONE, NULL);
    return code;
}

int demo_work(const struct demo_worker *worker)
{
    static const struct rowlock_want want = {.name = DEMO_NAME, .mode = ROWLOCK_EXCLUSIVE};
    struct rowlock_connection *connection = NULL;
    struct rowlock_error error = {0};
    int code = rowlock_open(worker->url, &DEMO_OPTIONS, &connection, &error);

    if (!code)
        code = rowlock_prepare(connection, &want, 1, &error);
    if (!code && stand_at_the_start(worker) == 0) {
        demo_add(worker->log, worker->number, DEMO_STARTED, NULL);
        code = transaction(worker, connection, &want, &error);
    }
    if (code)
        demo_fail(worker->log, worker->number, &error);
    rowlock_close(connection);
    return code ? 1 : 0;
}
