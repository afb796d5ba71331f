/* SPDX-License-Identifier: Apache-2.0 */
/*
 * P1 under load: processes lock and unlock as fast as they can. They register in shared memory, so
 * that two inside at once are noticed.
 *
 * Runs on: sqlite postgresql mariadb odbc jdbc
 * Quick: first
 */
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/nursery.h"
#include "lib/overlap.h"
#include "lib/test.h"

#define MOST 8
#define LOOPERS (t_is_jdbc() ? 4 : MOST) /* each starts a JVM */
#define HOLDS t_effort(50, 200)

struct loop {
    struct overlap *overlap;
    int number, holds;
    const struct rowlock_want *wants;
    size_t n;
    int readers_too, own_transaction;
};

/* With technique insert the engine may end a later lock's transaction as a deadlock's victim,
   and reports it. */
static int is_victim(const struct rowlock_error *error)
{
    return t_facts()->begins_meet && error->code == ROWLOCK_EROLLEDBACK;
}

static int lock(const struct loop *loop, struct rowlock_connection *connection, void *handle,
                struct rowlock_want *wants, struct rowlock_error *error)
{
    char ignored[200];

    if (!loop->own_transaction)
        return rowlock_begin(connection, wants, loop->n, -1, error);
    for (int i = 0; i < 2; i++)
        if (t_engine()->begin[i])
            t_engine()->sql(handle, t_engine()->begin[i], ignored, sizeof ignored);
    return rowlock_lock(connection, wants, loop->n, -1, error);
}

static int hold_once(const struct loop *loop, struct rowlock_connection *connection, void *handle,
                     int turn)
{
    struct rowlock_error error = {0};
    struct rowlock_want wants[4];
    int writes = !loop->readers_too || (turn + loop->number) % 4 == 0, code;

    for (size_t i = 0; i < loop->n; i++) { /* every process names them in a different order */
        wants[i] = loop->wants[(i + (size_t)loop->number) % loop->n];
        wants[i].mode = writes ? ROWLOCK_EXCLUSIVE : ROWLOCK_SHARED;
    }
    while ((code = lock(loop, connection, handle, wants, &error)) != 0 && is_victim(&error))
        rowlock_rollback(connection, NULL);
    if (!code) {
        int place = overlap_enter(loop->overlap, 0, wants[0], NULL);

        sched_yield(); /* so that another process can enter, if the lock lets it */
        /* before the transaction ends, because then another process may already enter */
        overlap_leave(loop->overlap, place);
        code = turn % 2 ? rowlock_commit(connection, &error) : rowlock_rollback(connection, &error);
    }
    if (code)
        overlap_failed(loop->overlap, &error);
    return code;
}

static int run_looper(const void *data, int to)
{
    const struct loop *loop = data;
    struct rowlock_connection *connection = NULL;
    struct rowlock_error error = {0};
    void *handle = loop->own_transaction ? t_engine()->open(t_url()) : NULL;
    int code = handle ? t_engine()->wrap(handle, NULL, &connection, &error)
                      : rowlock_open(t_url(), t_usual(), &connection, &error);

    (void)to;
    if (!code && handle)
        code = rowlock_prepare(connection, loop->wants, loop->n, &error);
    if (code)
        overlap_failed(loop->overlap, &error);
    for (int turn = 0; !code && turn < loop->holds; turn++)
        code = hold_once(loop, connection, handle, turn);
    rowlock_close(connection);
    if (handle)
        t_engine()->close(handle);
    return code != 0;
}

static void run_loopers(struct loop loop, int loopers)
{
    pid_t children[MOST];

    t_install();
    loop.overlap = overlap_new(0);
    for (loop.number = 0; loop.number < loopers; loop.number++)
        children[loop.number] = t_fork(run_looper, &loop, STDERR_FILENO);
    for (int i = 0; i < loopers; i++)
        waitpid(children[i], NULL, 0);
    overlap_check(loop.overlap);
    t_int(loop.overlap->entered, loopers * loop.holds);
}

TEST(p1_eight_loopers_never_overlap)
{
    struct rowlock_want want = t_x(t_name(1));

    run_loopers((struct loop){.wants = &want, .n = 1, .holds = HOLDS}, LOOPERS);
}

TEST(p1_loopers_in_transactions_of_their_own_never_overlap)
{
    struct rowlock_want want = t_x(t_name(1));

    if (!t_facts()->wraps)
        t_not_here(WHY_WRAP);
    run_loopers((struct loop){.wants = &want, .n = 1, .holds = 50, .own_transaction = 1}, 4);
}

TEST(p1_loopers_with_several_names_never_overlap_and_never_deadlock)
{
    struct rowlock_want wants[] = {t_x(t_name(1)), t_x(t_name(2)), t_x(t_name(3))};

    run_loopers((struct loop){.wants = wants, .n = 3, .holds = 50}, 4);
}

TEST(p1_readers_and_writers_never_overlap)
{
    struct rowlock_want want = t_x(t_name(1));

    if (t_facts()->shared == SHARED_REFUSED)
        return;
    run_loopers((struct loop){.wants = &want, .n = 1, .holds = 100, .readers_too = 1}, LOOPERS);
}
