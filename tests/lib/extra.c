/* SPDX-License-Identifier: Apache-2.0 */
/* Runs tests/lib/server.sh from a C test, for servers that one test needs for itself (extra.h). */
#include "lib/extra.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/harness.h"
#include "lib/test.h"

/* server.sh ties a server to its shell's life unless BATS_VERSION is set. */
static const char prelude[] = "exec 2>&1; set -u; BATS_VERSION=x; . tests/lib/server.sh; ";

static const char *last_line(char *text)
{
    char *end = text + strlen(text), *start;

    while (end > text && end[-1] == '\n')
        *--end = '\0';
    start = strrchr(text, '\n');
    return start ? start + 1 : text;
}

const char *extra_shell(const char *format, ...)
{
    static char output[8000];
    char *text = NULL, *script = NULL;
    va_list arguments;
    size_t length = 0, got = 0;
    FILE *pipe;

    va_start(arguments, format);
    t_true(vasprintf(&text, format, arguments) >= 0);
    va_end(arguments);
    t_true(asprintf(&script, "%s%s", prelude, text) >= 0);
    setenv("EXTRA_SCRIPT", script, 1);
    free(script);
    free(text);
    pipe = popen("exec bash -c \"$EXTRA_SCRIPT\"", "r");
    t_true(pipe != NULL);
    while ((got = fread(output + length, 1, sizeof output - 1 - length, pipe)) > 0)
        length += got;
    output[length] = '\0';
    if (pclose(pipe) != 0)
        t_fail(__FILE__, __LINE__, "%s", output);
    return last_line(output);
}

void extra_needs(const char *program)
{
    if (*extra_shell("postgresql_program %s", program))
        return;
    printf("# not run: %s of the server's version is missing\n", program);
    skip();
}

void extra_needs_version(int version)
{
    if (atoi(t_native_sql(t_admin(), "SHOW server_version_num")) >= version * 10000)
        return;
    printf("# not run: it needs PostgreSQL %d\n", version);
    skip();
}

const char *extra_name(const char *what)
{
    return t_say("%s-%ld", what, (long)getpid());
}

const char *extra_postgresql(const char *name, const char *options)
{
    return t_say("%spostgres",
                 extra_shell("start_postgresql %s %s >&2 && echo $server_admin", name, options));
}

const char *extra_standby(const char *name, const char *primary)
{
    return t_say("%spostgres",
                 extra_shell("start_standby %s %s >&2 && echo $server_admin", name, primary));
}

const char *extra_mariadb(const char *name, const char *options)
{
    return t_say("%stest_1", extra_shell("start_mariadb %s %s >&2 && " EXTRA_MARIADB_CLIENT
                                         "-e 'CREATE DATABASE IF NOT EXISTS test_1' && "
                                         "echo $server_url",
                                         name, options, name));
}

void extra_stop(const char *name)
{
    extra_shell("stop_server %s; rm -rf \"$ROWLOCK_TEST_FOLDER/%s\"", name, name);
}

/* ---- the pooler of the test program ---------------------------------------------------------- */

static pid_t pooler;

static void stop_pooler(void)
{
    kill(pooler, SIGINT);
}

const char *extra_pooled_url(void)
{
    static const char *url;
    const char *name = extra_name("pooler");

    if (!url) {
        t_install();
        url =
            t_say("%s", extra_shell("start_pooler %s '%s' && echo \"$server_url\"", name, t_url()));
        pooler = atoi(extra_shell("cat $ROWLOCK_TEST_FOLDER/%s/pid", name));
        atexit(stop_pooler);
    }
    return url;
}

struct rowlock_connection *extra_pooled(const struct rowlock_options *options)
{
    return t_open_at(extra_pooled_url(), options);
}
