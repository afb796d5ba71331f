/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The test harness: cmocka, plus sessions on the database under test, threads that wait for a lock,
 * and asserts that show both values. The server itself reports whether a thread waits.
 *
 *     TEST(p1_exclusive_excludes_exclusive) { ... }      registers itself; lib/main.c has main()
 *
 * When a test ends, in whatever way, the harness closes every session and joins every thread opened
 * here. Only the test's own thread may assert.
 */
#ifndef TEST_H
#define TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "lib/engine.h"
#include "lib/reasons.h"
#include "rowlock.h"

#define TEST(name)                                            \
    static void name(void **state);                           \
    __attribute__((constructor)) static void add_##name(void) \
    {                                                         \
        t_add(#name, name);                                   \
    }                                                         \
    static void name(__attribute__((unused)) void **state)

void t_add(const char *name, void (*function)(void **));

/* ---- asserts ------------------------------------------------------------------------------- */

/* The default error of every call that may fail; it is cleared before each test. */
extern struct rowlock_error t_error;

/* t_ok: the call returns 0; t_fails: it returns the given code. Otherwise the code's name and
   the error's text are shown. */
#define t_ok(call) t_code_is(__FILE__, __LINE__, #call, (call), ROWLOCK_OK)
#define t_fails(call, wanted) t_code_is(__FILE__, __LINE__, #call, (call), ROWLOCK_##wanted)
#define t_int(actual, wanted) t_int_is(__FILE__, __LINE__, #actual, (actual), (wanted))
#define t_text(actual, wanted) t_text_is(__FILE__, __LINE__, #actual, (actual), (wanted))
#define t_contains(actual, part) t_text_has(__FILE__, __LINE__, #actual, (actual), (part), 1)
#define t_lacks(actual, part) t_text_has(__FILE__, __LINE__, #actual, (actual), (part), 0)
#define t_true(condition) t_int_is(__FILE__, __LINE__, #condition, (condition) ? 1 : 0, 1)
/* The state of the transaction as t_error reports it. */
#define t_left(wanted)                                                            \
    t_int_is(__FILE__, __LINE__, "t_error.transaction", (int)t_error.transaction, \
             (int)ROWLOCK_TX_##wanted)

/* Asserts that the session really is in that state. */
void t_left_is_true(struct rowlock_connection *connection);

void t_code_is(const char *file, int line, const char *what, int code, int wanted);
void t_int_is(const char *file, int line, const char *what, long long actual, long long wanted);
void t_text_is(const char *file, int line, const char *what, const char *actual,
               const char *wanted);
void t_text_has(const char *file, int line, const char *what, const char *actual, const char *part,
                int wanted);
__attribute__((noreturn, format(printf, 3, 4))) void t_fail(const char *file, int line,
                                                            const char *format, ...);

/* Ends the test as not run, because what it tests does not exist on this engine by t_facts(). Only
   on MySQL, and through ODBC and JDBC; tests/run lists it with the reason, one of reasons.h. */
__attribute__((noreturn)) void t_not_here(const char *why);

/* ---- the database under test ----------------------------------------------------------------- */

/* Facts about the engine and technique under test, and direct access to the engine (engine.h). */
const struct facts *t_facts(void);
int t_is_postgresql(void);
int t_is_jdbc(void);  /* each process starts a JVM */
int t_is_mysql(void); /* the server of the engine mariadb is MySQL (tests/versions) */
/* The view of the sessions, on MariaDB and MySQL: see tests/lib/processlist.bash. */
#define T_PROCESSLIST "/*!80022 performance_schema.*//*M! information_schema.*/processlist"
const struct engine *t_engine(void);
const char *t_url(void);

/* Opens a session by URL on the database under test, where rowlock is installed with the
   technique. */
struct rowlock_connection *t_open(void);
const struct rowlock_options *t_usual(void); /* of t_open(), for rowlock_open() */
struct rowlock_connection *t_open_with(const struct rowlock_options *options);
/* A native handle, and a wrapped one. The harness closes `*handle` too. */
void *t_native(void);
struct rowlock_connection *t_wrap(void **handle, const struct rowlock_options *options);
/* The same at another URL, where nothing is installed. The harness closes the session, but not the
   handle. */
struct rowlock_connection *t_open_at(const char *url, const struct rowlock_options *options);
void *t_native_at(const char *url);
struct rowlock_connection *t_wrap_handle(void *handle, const struct rowlock_options *options);
/* The child calls it first after fork(); the child ends by _exit() and asserts nothing. */
void t_enter_child(void);
/* Installs rowlock, unless a session was opened already. Call it before fork(). */
void t_install(void);
/* Installs rowlock at another URL, with the technique. */
void t_install_at(const char *url);
/* Closes the connection before the test ends. */
void t_close(struct rowlock_connection *connection);
/* The harness will close a connection that the test opened itself. */
struct rowlock_connection *t_adopt(struct rowlock_connection *connection);

/* Executes a statement of the application on the session; returns its first value as text (""
   for NULL). */
#define t_sql(connection, ...) t_native_sql(t_handle(connection), __VA_ARGS__)
const char *t_native_sql(void *handle, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* The number that a query returns; 0 also on failure. */
long t_number(void *handle, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Returns 0, or 1 on failure with the message in t_sql_error. */
int t_try_sql(void *handle, const char *format, ...) __attribute__((format(printf, 2, 3)));
extern _Thread_local char t_sql_error[500];
void *t_handle(struct rowlock_connection *connection);

/* A formatted text, which is not freed. */
const char *t_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* ---- wants, and the calls that most tests make ----------------------------------------------- */

/* A lock name unique to the test, made from the test's name; `n` distinguishes several. */
const char *t_name(int n);
struct rowlock_want t_x(const char *name); /* exclusive */
struct rowlock_want t_s(const char *name); /* shared */

/* The timeout for an event that must happen. Only a failing test waits that long: two minutes, and
   20 s (more on a busy machine, as t_within) once a test of this program has failed. */
#define T_TIMEOUT_MS t_timeout_ms()
int t_timeout_ms(void);
#define HOUR 3600000 /* in milliseconds */

/* A descriptor for rowlock_options.interrupt_fd: readable from t_interrupt() until
   t_take_interrupt(). Each call closes that of the call before, and the harness the last one. */
int t_interrupt_fd(void);
void t_interrupt(void);
void t_take_interrupt(void);

int t_begin(struct rowlock_connection *connection, struct rowlock_want want,
            rowlock_duration wait_ms);
int t_lock(struct rowlock_connection *connection, struct rowlock_want want,
           rowlock_duration wait_ms);
/* Locks the name in a transaction, which must succeed, and commits. */
void t_lock_once(struct rowlock_connection *connection, struct rowlock_want want,
                 rowlock_duration wait_ms);
/* BEGIN of the application's own: engine->begin or engine->begin_repeatable. */
void t_own_begin(void *handle, const char *const statements[2]);
/* Whether another session could lock the name now. Tries it in a session of its own, and rolls
   back. */
int t_is_free(struct rowlock_want want);
/* Calls `attempt`, which takes a lock without a wait. The lock is free, but others were refused
   before. Where the end of a limited wait costs the session (t_facts), it repeats a refused call:
   the server grants the lock to a session that was cut off before it ends that session. After 15 s
   it ends the sessions that the server has forgotten (engine->end_forgotten). */
int t_freed(int (*attempt)(struct rowlock_connection *connection, const void *data),
            struct rowlock_connection *connection, const void *data);
/* rowlock_begin() by t_freed. */
int t_begin_freed(struct rowlock_connection *connection, const struct rowlock_want *wants,
                  size_t count);

/* ---- threads --------------------------------------------------------------------------------- */

struct thread;

/* Runs rowlock_begin or rowlock_lock in a thread. */
struct thread *t_begin_thread(struct rowlock_connection *connection, struct rowlock_want want,
                              rowlock_duration wait_ms);
struct thread *t_lock_thread(struct rowlock_connection *connection, struct rowlock_want want,
                             rowlock_duration wait_ms);
/* t_begin_thread; returns when it waits (t_until_waiting). */
struct thread *t_waiting_thread(struct rowlock_connection *connection, struct rowlock_want want,
                                rowlock_duration wait_ms);
/* Runs any function in a thread; `work` must fill `error` if it fails. */
struct thread *t_thread(struct rowlock_connection *connection,
                        int (*work)(struct rowlock_connection *connection, void *data,
                                    struct rowlock_error *error),
                        void *data);
/* Polls until the server reports that the session waits for a lock (SQLite: until it pauses). */
void t_until_waiting(struct thread *thread);
/* Polls until the library polls, which means that it waits for a lease. */
void t_until_polling(struct thread *thread);
int t_is_done(const struct thread *thread);
/* Asserts for that time that it has not ended. */
void t_stays(const struct thread *thread, int milliseconds);
/* Joins; returns the call's code, with its error in t_error. */
int t_join(struct thread *thread);

/* How much of a long history is enough: `quick` in the quick scope, else `full`
   (ROWLOCK_TEST_EFFORT, see tests/run). */
int t_effort(int quick, int full);

/* Milliseconds of a monotonic clock. */
long long t_now(void);
/* Asserts that at most so many milliseconds have passed since `began`; on a machine with more load
   than tests/run itself makes, as many times more. Every upper bound of time in a test is one of
   these calls, and each is far above what the product needs: it finds a wait that does not end. */
#define t_within(began, ms) t_within_is(__FILE__, __LINE__, (began), (ms))
void t_within_is(const char *file, int line, long long began, long long ms);
/* Between two looks at what a test waits for. */
void t_pause(int milliseconds);
/* Polls until the condition is true; fails after T_TIMEOUT_MS. */
#define t_until(condition)                                                       \
    do {                                                                         \
        for (long long t_end = t_now() + T_TIMEOUT_MS; !(condition); t_pause(2)) \
            if (t_now() > t_end)                                                 \
                t_fail(__FILE__, __LINE__, "never: %s", #condition);             \
    } while (0)

#endif
