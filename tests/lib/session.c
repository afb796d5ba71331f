/* SPDX-License-Identifier: Apache-2.0 */
/* Sessions that execute one step at a time, in a thread for each step (session.h). */
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
    pthread_t thread; /* of the step */
    int busy;         /* it is not joined yet */
    enum step_kind kind;
    enum rowlock_mode mode;
    char name[256], answer[40]; /* of the last statement */
    int code;
    struct rowlock_error error;
};

static int is_postgresql(void)
{
    return !t_facts()->plain && strcmp(t_engine()->name, "postgresql") == 0;
}

/* ---- steps, in the session's thread ---------------------------------------------------------- */

static int run_text(struct session *session, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static int run_text(struct session *session, const char *format, ...)
{
    char text[400], answer[600], sqlstate[6] = "";
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (t_engine()->sql(session->handle, text, answer, sizeof answer) == 0) {
        snprintf(session->answer, sizeof session->answer, "%.39s", answer);
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
            code = run_text(session, "%s", t_engine()->begin[i]);
    return code;
}

static const char *mode_of(const struct session *session)
{
    return session->mode == ROWLOCK_SHARED ? "shared" : "exclusive";
}

/* `how`: "", or on MariaDB "begin_". */
static int call(struct session *session, const char *how)
{
    return run_text(session,
                    is_postgresql() ? "SELECT rowlock.%s%s('%s')" : "CALL rowlock_%s%s('%s')", how,
                    mode_of(session), session->name);
}

static int begin_and_call(struct session *session)
{
    int code;

    if (!is_postgresql())
        return call(session, "begin_");
    code = begin(session);
    return code ? code : call(session, "");
}

static int try_call(struct session *session)
{
    int code = run_text(session,
                        is_postgresql() ? "SELECT rowlock.try_%s('%s')"
                                        : "CALL rowlock_try_%s('%s', 0, @got)",
                        mode_of(session), session->name);

    if (!code && !is_postgresql())
        code = run_text(session, "SELECT @got");
    if (!code && strcmp(session->answer, "t") != 0 && strcmp(session->answer, "1") != 0)
        code = ROWLOCK_EBUSY;
    return code;
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
        return call(session, "");
    case STEP_TRY:
        return try_call(session);
    case STEP_PREPARE:
        return run_text(session,
                        is_postgresql() ? "SELECT rowlock.prepare('%s')"
                                        : "CALL rowlock_prepare('%s')",
                        session->name);
    case STEP_COMMIT:
        return run_text(session, "COMMIT");
    default:
        return run_text(session, "ROLLBACK");
    }
}

/* Through ODBC an application whose transaction has ended returns to autocommit. */
static int ended(struct session *session, int code)
{
    if (!code && t_facts()->plain && session->door == DOOR_BORROWED)
        run_text(session, "ROLLBACK");
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
        return run_text(session, "SAVEPOINT earlier");
    case STEP_ROLLBACK_TO:
        return run_text(session, "ROLLBACK TO SAVEPOINT earlier");
    default:
        return session->connection ? by_library(session) : by_sql(session);
    }
}

static void *body(void *data)
{
    struct session *session = data;

    session->code = step(session);
    return NULL;
}

/* ---- from the test's thread ------------------------------------------------------------------ */

enum door session_door(enum door door)
{
    return door == DOOR_SQL && t_facts()->plain ? DOOR_OWN : door;
}

struct session *session_open(enum door door)
{
    struct session *session = calloc(1, sizeof *session);

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
        run_text(session, "SET client_min_messages = error");
    }
#endif
    if (t_engine()->session)
        session->id = t_engine()->session(session->handle);
    return session;
}

void *session_handle(const struct session *session)
{
    return session->handle;
}

/* Waits until the step has ended, for at most that long. */
static int ends_within(struct session *session, int milliseconds)
{
    long long end = t_now() + milliseconds;

    while (session->busy) {
        session->busy = pthread_tryjoin_np(session->thread, NULL) != 0;
        if (!session->busy || t_now() >= end)
            break;
        t_pause(1);
    }
    return !session->busy;
}

void session_start(struct session *session, enum step_kind kind, enum rowlock_mode mode,
                   const char *name)
{
    session->kind = kind;
    session->mode = mode;
    snprintf(session->name, sizeof session->name, "%s", name ? name : "");
    session->busy = 1;
    if (pthread_create(&session->thread, NULL, body, session))
        abort();
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
    if (session->busy)
        pthread_join(session->thread, NULL);
    if (session->connection)
        t_close(session->connection);
    free(session);
}
