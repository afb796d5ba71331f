/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads that wait for a lock, and how a test learns that they wait. The server reports it. Where
 * the library polls, its pauses report it: they pass through this file (the linker's
 * --wrap=rowlock__pause).
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/harness.h"
#include "lib/test.h"
#include "util/clock.h"

#define MOST 64

struct thread {
    pthread_t thread;
    struct rowlock_connection *connection;
    int (*work)(struct rowlock_connection *connection, void *data, struct rowlock_error *error);
    void *data;
    struct rowlock_want want;
    rowlock_duration wait_ms;
    struct rowlock_error error;
    long session;
    int code, joined;
    atomic_int done, pauses;
};

static struct thread *threads[MOST];
static size_t n;
static _Thread_local struct thread *self;

enum rowlock_wake __real_rowlock__pause(struct rowlock_pause *pause, int interrupt_fd,
                                        int64_t deadline_ms);
enum rowlock_wake __wrap_rowlock__pause(struct rowlock_pause *pause, int interrupt_fd,
                                        int64_t deadline_ms);

enum rowlock_wake __wrap_rowlock__pause(struct rowlock_pause *pause, int interrupt_fd,
                                        int64_t deadline_ms)
{
    if (self)
        atomic_fetch_add(&self->pauses, 1);
    return __real_rowlock__pause(pause, interrupt_fd, deadline_ms);
}

static void *body(void *data)
{
    struct thread *thread = data;

    self = thread;
    thread->code = thread->work(thread->connection, thread->data, &thread->error);
    atomic_store(&thread->done, 1);
    return NULL;
}

static struct thread *start(const struct thread *plan)
{
    struct thread *thread = calloc(1, sizeof *thread);

    t_true(thread != NULL && n < MOST);
    threads[n++] = thread;
    *thread = *plan;
    thread->data = plan->data ? plan->data : thread;
    if (t_engine()->session && thread->connection) /* a thread that sends SQL may have none */
        thread->session = t_engine()->session(t_handle(thread->connection));
    t_int(pthread_create(&thread->thread, NULL, body, thread), 0);
    return thread;
}

struct thread *t_thread(struct rowlock_connection *connection,
                        int (*work)(struct rowlock_connection *connection, void *data,
                                    struct rowlock_error *error),
                        void *data)
{
    return start(&(struct thread){.connection = connection, .work = work, .data = data});
}

static int begin(struct rowlock_connection *connection, void *data, struct rowlock_error *error)
{
    struct thread *thread = data;

    return rowlock_begin(connection, &thread->want, 1, thread->wait_ms, error);
}

static int lock(struct rowlock_connection *connection, void *data, struct rowlock_error *error)
{
    struct thread *thread = data;

    return rowlock_lock(connection, &thread->want, 1, thread->wait_ms, error);
}

struct thread *t_begin_thread(struct rowlock_connection *connection, struct rowlock_want want,
                              rowlock_duration wait_ms)
{
    return start(&(struct thread){
        .connection = connection, .work = begin, .want = want, .wait_ms = wait_ms});
}

struct thread *t_lock_thread(struct rowlock_connection *connection, struct rowlock_want want,
                             rowlock_duration wait_ms)
{
    return start(
        &(struct thread){.connection = connection, .work = lock, .want = want, .wait_ms = wait_ms});
}

int t_innodb_waits(const char *status, long session)
{
    static const char head[] = "\n---TRANSACTION";
    char mark[64];

    snprintf(mark, sizeof mark, "MariaDB thread id %ld,", session);
    for (const char *at = strstr(status, head), *end; at; at = end) {
        const char *own = strstr(at, mark), *waits = strstr(at, "\nLOCK WAIT");

        end = strstr(at + 1, head);
        if (own && waits && (!end || (own < end && waits < end)))
            return 1;
    }
    return 0;
}

static void await(struct thread *thread, int polling)
{
    int (*is_waiting)(void *, long) = polling ? NULL : t_engine()->is_waiting;
    long long end = t_now() + T_TIMEOUT_MS;

    for (;;) {
        if (is_waiting ? is_waiting(t_admin(), thread->session) : atomic_load(&thread->pauses) > 1)
            return;
        if (atomic_load(&thread->done))
            t_fail(__FILE__, __LINE__, "it does not wait but ended with %d: %s", thread->code,
                   thread->error.text);
        if (t_now() > end)
            t_fail(__FILE__, __LINE__,
                   "the server does not report that it waits, and it did not end");
        t_pause(3);
    }
}

void t_until_waiting(struct thread *thread)
{
    await(thread, 0);
}

struct thread *t_waiting_thread(struct rowlock_connection *connection, struct rowlock_want want,
                                rowlock_duration wait_ms)
{
    struct thread *thread = t_begin_thread(connection, want, wait_ms);

    t_until_waiting(thread);
    return thread;
}

void t_until_polling(struct thread *thread)
{
    await(thread, 1);
}

int t_is_done(const struct thread *thread)
{
    return atomic_load(&thread->done);
}

void t_stays(const struct thread *thread, int milliseconds)
{
    for (long long end = t_now() + milliseconds; t_now() < end; t_pause(10))
        t_int(t_is_done(thread), 0);
}

static void join(struct thread *thread)
{
    if (!thread->joined)
        pthread_join(thread->thread, NULL);
    thread->joined = 1;
}

int t_join(struct thread *thread)
{
    join(thread);
    t_error = thread->error;
    return thread->code;
}

int t_reap(const void *connection)
{
    int running = 0;

    for (size_t i = 0; i < n; i++) {
        if (connection && threads[i]->connection != connection)
            continue;
        if (atomic_load(&threads[i]->done))
            join(threads[i]);
        else
            running++;
    }
    return running;
}

void t_free_threads(void)
{
    for (size_t i = 0; i < n; i++)
        free(threads[i]);
    n = 0;
}

void t_forget_threads(void)
{
    n = 0;
}
