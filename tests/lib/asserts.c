/* SPDX-License-Identifier: Apache-2.0 */
/* Asserts that show the actual value and the expected one. */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/test.h"

struct rowlock_error t_error;
static atomic_int failed; /* a test of this program */

void t_fail(const char *file, int line, const char *format, ...)
{
    char text[2000];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    print_error("%s\n", text);
    atomic_store(&failed, 1);
    _fail(file, line);
    __builtin_unreachable();
}

void t_not_here(const char *why)
{
    printf("# not run: %s\n", why);
    skip();
    __builtin_unreachable();
}

static const char *name_of(int code)
{
    return code == 0 ? "0" : rowlock_error_name(code);
}

void t_code_is(const char *file, int line, const char *what, int code, int wanted)
{
    if (code != wanted)
        t_fail(file, line, "%s\n  is %s, not %s; error: %s %d [%s] native %d, transaction %d: %s",
               what, name_of(code), name_of(wanted), name_of(t_error.code), t_error.code,
               t_error.sqlstate, t_error.native, (int)t_error.transaction, t_error.text);
    if (code == 0)
        return;
    if (t_error.code != code)
        t_fail(file, line, "%s\n  returned %s, but its error says %s", what, name_of(code),
               name_of(t_error.code));
    if (t_error.text[0] == '\0')
        t_fail(file, line, "%s\n  failed without a text", what);
}

void t_int_is(const char *file, int line, const char *what, long long actual, long long wanted)
{
    if (actual != wanted)
        t_fail(file, line, "%s\n  is %lld, not %lld (error: %s %s)", what, actual, wanted,
               name_of(t_error.code), t_error.text);
}

/* The load divided by the tests that tests/run has at a time. */
static double pace(void)
{
    FILE *file = fopen("/proc/loadavg", "r");
    const char *jobs = getenv("ROWLOCK_TEST_JOBS");
    double load = 0;

    if (!file || fscanf(file, "%lf", &load) != 1)
        load = 0;
    if (file)
        fclose(file);
    load /= jobs ? atof(jobs) : 1;
    return load > 1 ? load : 1;
}

int t_timeout_ms(void)
{
    return atomic_load(&failed) ? (int)(20000 * pace()) : 120000;
}

void t_within_is(const char *file, int line, long long began, long long ms)
{
    long long took = t_now() - began;

    if (took < ms)
        return;
    if ((double)took >= (double)ms * pace())
        t_fail(file, line, "took %lld ms, and %lld are the limit on a quiet machine", took, ms);
}

void t_text_is(const char *file, int line, const char *what, const char *actual, const char *wanted)
{
    if (strcmp(actual, wanted) != 0)
        t_fail(file, line, "%s\n  is  '%s'\n  not '%s'", what, actual, wanted);
}

void t_text_has(const char *file, int line, const char *what, const char *actual, const char *part,
                int wanted)
{
    if ((strstr(actual, part) != NULL) != wanted)
        t_fail(file, line, "%s\n  is '%s'\n  which %s '%s'", what, actual,
               wanted ? "lacks" : "holds", part);
}
