/* SPDX-License-Identifier: Apache-2.0 */
/* Sessions that execute one step at a time, each in a thread (session.h). */
#include "lib/session.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#ifdef ROWLOCK_WITH_POSTGRESQL
#include <libpq-fe.h>
#endif
#ifdef ROWLOCK_WITH_MARIADB
#include <mysql.h>
#endif

#include "driver/failure.h"
#include "lib/harness.h"

#define LOOK_MS 1
#define STUCK_MS 60000

struct session {
    enum door door;
    struct rowlock_connection *connection; /* NULL with DOOR_SQL */
    void *handle;
    long id;
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    int busy, quit;
    enum step_kind kind;
    enum rowlock_mode mode;
    char name[256];
    int code;
    struct rowlock_error error;
};

static int is_postgresql(void)
{
    return !t_facts()->plain && strcmp(t_engine()->name, "postgresql") == 0;
}

/* ---- steps, in the session's thread ---------------------------------------------------------- */

static int run_text(struct session *session, const char *text, char *out, size_t size)
{
    char answer[600], sqlstate[6] = "";

    if (t_engine()->sql(session->handle, text, answer, sizeof answer) == 0) {
        if (out)
            snprintf(out, size, "%.39s", answer);
        return ROWLOCK_OK;
    }
    sscanf(answer, "%*[A-Z]:  %5[0-9A-Z]:", sqlstate);
    if (t_facts()->plain)
        return session->error.code = ROWLOCK_EDB;
#ifdef ROWLOCK_WITH_MARIADB
    if (!is_postgresql())
        snprintf(sqlstate, sizeof sqlstate, "%s", mysql_sqlstate(session->handle));
#endif
    return rowlock__failure(&session->error, t_engine()->name, sqlstate,
                            (int)strtol(answer, NULL, 10), answer);
}

static int begin(struct session *session)
{
    int code = ROWLOCK_OK;

    for (int i = 0; !code && i < 2; i++)
        if (t_engine()->begin[i])
            code = run_text(session, t_engine()->begin[i], NULL, 0);
    return code;
}

static int call(struct session *session, const char *postgresql, const char *mariadb)
{
    char text[400];

    snprintf(text, sizeof text,
             is_postgresql() ? "SELECT rowlock.%s%s('%s')" : "CALL rowlock_%s%s('%s')",
             is_postgresql() ? postgresql : mariadb,
             session->mode == ROWLOCK_SHARED ? "shared" : "exclusive", session->name);
    return run_text(session, text, NULL, 0);
}

static int begin_and_call(struct session *session)
{
    int code;

    if (!is_postgresql())
        return call(session, "", "begin_");
    code = begin(session);
    return code ? code : call(session, "", "");
}

static int try_call(struct session *session)
{
    char text[400], got[40] = "";
    const char *mode = session->mode == ROWLOCK_SHARED ? "shared" : "exclusive";
    int code;

    if (is_postgresql()) {
        snprintf(text, sizeof text, "SELECT rowlock.try_%s('%s')", mode, session->name);
        code = run_text(session, text, got, sizeof got);
    } else {
        snprintf(text, sizeof text, "CALL rowlock_try_%s('%s', 0, @got)", mode, session->name);
        code = run_text(session, text, NULL, 0);
        if (!code)
            code = run_text(session, "SELECT @got", got, sizeof got);
    }
    if (!code && strcmp(got, "t") != 0 && strcmp(got, "1") != 0)
        code = ROWLOCK_EBUSY;
    return code;
}

static int prepare_call(struct session *session)
{
    char text[400];

    if (is_postgresql())
        snprintf(text, sizeof text, "SELECT rowlock.prepare('%s')", session->name);
    else
        snprintf(text, sizeof text, "CALL rowlock_prepare('%s')", session->name);
    return run_text(session, text, NULL, 0);
}

static int by_sql(struct session *session)
{
    int code;

    switch (session->kind) {
    case STEP_BEGIN_LOCK:
        return begin_and_call(session);
    case STEP_BEGIN_TRY:
        code = begin(session);
        return code ? code : try_call(session);
    case STEP_LOCK:
        return call(session, "", "");
    case STEP_TRY:
        return try_call(session);
    case STEP_PREPARE:
        return prepare_call(session);
    case STEP_COMMIT:
        return run_text(session, "COMMIT", NULL, 0);
    default:
        return run_text(session, "ROLLBACK", NULL, 0);
    }
}

/* Through ODBC an application whose transaction has ended returns to autocommit. */
static int ended(struct session *session, int code)
{
    if (!code && t_facts()->plain && session->door == DOOR_BORROWED)
        run_text(session, "ROLLBACK", NULL, 0);
    return code;
}

static int by_library(struct session *session)
{
    struct rowlock_want want = {.name = session->name, .mode = session->mode};

    switch (session->kind) {
    case STEP_BEGIN_LOCK:
        return rowlock_begin(session->connection, &want, 1, -1, &session->error);
    case STEP_BEGIN_TRY:
        return rowlock_begin(session->connection, &want, 1, 0, &session->error);
    case STEP_LOCK:
        return rowlock_lock(session->connection, &want, 1, -1, &session->error);
    case STEP_TRY:
        return rowlock_lock(session->connection, &want, 1, 0, &session->error);
    case STEP_PREPARE:
        return rowlock_prepare(session->connection, &want, 1, &session->error);
    case STEP_COMMIT:
        return ended(session, rowlock_commit(session->connection, &session->error));
    default:
        return ended(session, rowlock_rollback(session->connection, &session->error));
    }
}

static int step(struct session *session)
{
    session->error = (struct rowlock_error){0};
    switch (session->kind) {
    case STEP_END:
        return ROWLOCK_OK;
    case STEP_BEGIN:
        return begin(session);
    case STEP_SAVEPOINT:
        return run_text(session, "SAVEPOINT earlier", NULL, 0);
    case STEP_ROLLBACK_TO:
        return run_text(session, "ROLLBACK TO SAVEPOINT earlier", NULL, 0);
    default:
        return session->connection ? by_library(session) : by_sql(session);
    }
}

static void *body(void *data)
{
    struct session *session = data;
    int quit;

    pthread_mutex_lock(&session->mutex);
    for (;;) {
        while (!session->busy && !session->quit)
            pthread_cond_wait(&session->changed, &session->mutex);
        quit = !session->busy;
        pthread_mutex_unlock(&session->mutex);
        if (quit)
            return NULL;
        session->code = step(session);
        pthread_mutex_lock(&session->mutex);
        session->busy = 0;
        pthread_cond_broadcast(&session->changed);
    }
}

/* ---- from the test's thread ------------------------------------------------------------------ */

enum door session_door(enum door door)
{
    return door == DOOR_SQL && t_facts()->plain ? DOOR_OWN : door;
}

struct session *session_open(enum door door)
{
    struct session *session = calloc(1, sizeof *session);
    pthread_condattr_t monotonic;

    if (!session)
        abort();
    door = session_door(door);
    session->door = door;
    if (door == DOOR_OWN) {
        session->connection = t_open();
        session->handle = t_handle(session->connection);
    } else if (door == DOOR_BORROWED) {
        session->connection = t_wrap(&session->handle, NULL);
    } else {
        session->handle = t_native();
    }
#ifdef ROWLOCK_WITH_POSTGRESQL
    if (is_postgresql()) {
        PQsetErrorVerbosity(session->handle, PQERRORS_VERBOSE); /* with the SQLSTATE */
        run_text(session, "SET client_min_messages = error", NULL, 0);
    }
#endif
    if (t_engine()->session)
        session->id = t_engine()->session(session->handle);
    pthread_mutex_init(&session->mutex, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&session->changed, &monotonic);
    pthread_condattr_destroy(&monotonic);
    if (pthread_create(&session->thread, NULL, body, session))
        abort();
    return session;
}

void *session_handle(const struct session *session)
{
    return session->handle;
}

/* Waits until the step has ended, for at most that long. */
static int ends_within(struct session *session, long milliseconds)
{
    struct timespec until;
    int ended, late = 0;

    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += milliseconds / 1000;
    until.tv_nsec += milliseconds % 1000 * 1000000;
    if (until.tv_nsec >= 1000000000) {
        until.tv_sec++;
        until.tv_nsec -= 1000000000;
    }
    pthread_mutex_lock(&session->mutex);
    while (session->busy && !late)
        late = pthread_cond_timedwait(&session->changed, &session->mutex, &until);
    ended = !session->busy;
    pthread_mutex_unlock(&session->mutex);
    return ended;
}

void session_start(struct session *session, enum step_kind kind, enum rowlock_mode mode,
                   const char *name)
{
    pthread_mutex_lock(&session->mutex);
    session->kind = kind;
    session->mode = mode;
    snprintf(session->name, sizeof session->name, "%s", name ? name : "");
    session->busy = 1;
    pthread_cond_broadcast(&session->changed);
    pthread_mutex_unlock(&session->mutex);
}

enum session_state session_settle(struct session *session)
{
    long long end = t_now() + STUCK_MS;

    while (!ends_within(session, LOOK_MS)) {
        if (t_engine()->is_waiting(t_admin(), session->id))
            return ends_within(session, 0) ? SESSION_DONE : SESSION_WAITS;
        if (t_now() > end)
            return SESSION_STUCK;
    }
    return SESSION_DONE;
}

enum session_state session_finish(struct session *session)
{
    return ends_within(session, STUCK_MS) ? SESSION_DONE : SESSION_STUCK;
}

int session_code(const struct session *session)
{
    return session->code;
}

const struct rowlock_error *session_error(const struct session *session)
{
    return &session->error;
}

void session_close(struct session *session)
{
    if (!ends_within(session, 0) && t_engine()->kill) {
        t_engine()->kill(t_admin(), session->id);
        ends_within(session, STUCK_MS);
    }
    pthread_mutex_lock(&session->mutex);
    session->quit = 1;
    pthread_cond_broadcast(&session->changed);
    pthread_mutex_unlock(&session->mutex);
    pthread_join(session->thread, NULL);
    pthread_cond_destroy(&session->changed);
    pthread_mutex_destroy(&session->mutex);
    if (session->connection)
        t_close(session->connection);
    free(session);
}
