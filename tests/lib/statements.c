/* SPDX-License-Identifier: Apache-2.0 */
/* Statements of the application on any engine, and what the engine's texts do (engine.h). */
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/engine.h"
#include "lib/test.h"

_Thread_local char t_sql_error[500];
static _Thread_local char answer[4000];

/* They stay reachable, for LeakSanitizer. */
static struct said {
    struct said *before;
    char *text;
} * _Atomic said;

const char *t_say(const char *format, ...)
{
    struct said *one = malloc(sizeof *one);
    va_list arguments;

    va_start(arguments, format);
    if (!one || vasprintf(&one->text, format, arguments) < 0)
        abort();
    va_end(arguments);
    one->before = atomic_load(&said);
    while (!atomic_compare_exchange_weak(&said, &one->before, one))
        ;
    return one->text;
}

static int run_sql(void *handle, const char *format, va_list arguments)
{
    char *text = NULL;
    int failed = vasprintf(&text, format, arguments) < 0 ||
                 t_engine()->sql(handle, text, answer, sizeof answer);

    snprintf(t_sql_error, sizeof t_sql_error, "%.*s: %.300s", 100, text ? text : "",
             failed ? answer : "");
    free(text);
    return failed;
}

const char *t_native_sql(void *handle, const char *format, ...)
{
    va_list arguments;
    int failed;

    va_start(arguments, format);
    failed = run_sql(handle, format, arguments);
    va_end(arguments);
    if (failed)
        t_fail(__FILE__, __LINE__, "%s", t_sql_error);
    return answer;
}

int t_try_sql(void *handle, const char *format, ...)
{
    va_list arguments;
    int failed;

    va_start(arguments, format);
    failed = run_sql(handle, format, arguments);
    va_end(arguments);
    return failed;
}

long t_number(void *handle, const char *format, ...)
{
    char *text = NULL, number[300];
    va_list arguments;
    int failed;

    va_start(arguments, format);
    failed = vasprintf(&text, format, arguments) < 0;
    va_end(arguments);
    if (failed)
        abort();
    failed = t_engine()->sql(handle, text, number, sizeof number);
    free(text);
    return failed ? 0 : strtol(number, NULL, 10);
}

int t_query_waiting(void *admin, long session)
{
    return t_number(admin, t_engine()->waiting, session) > 0;
}

/* The statement may return before the session and its locks are gone. */
void t_query_kill(void *admin, long session)
{
    t_number(admin, t_engine()->killing, session);
    for (int i = 0; i < 5000 && t_number(admin, t_engine()->existing, session) > 0; i++)
        t_pause(2);
}

/* Waits until the server's process is gone. pg_terminate_backend can wait itself, but only from
   PostgreSQL 14 on. */
void t_postgresql_kill(void *admin, long session)
{
    t_number(admin, "SELECT pg_terminate_backend(%ld)", session);
    for (int i = 0; i < 5000 && (kill((pid_t)session, 0) == 0 || errno != ESRCH); i++)
        t_pause(2);
}
