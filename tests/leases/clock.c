/* SPDX-License-Identifier: Apache-2.0 */
/*
 * P8: the database's clock decides. A client whose own clock is an hour off, or jumps, renews,
 * expires and waits like the others. Such a client is this program, started again under
 * libfaketime, which leaves the monotonic clock unchanged.
 *
 * Runs on: postgresql/native mariadb/row odbc jdbc
 * Quick: postgresql/native mariadb/row
 * Rest: postgresql/native mariadb/row mariadb/odbc derby/jdbc h2/jdbc
 */
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/grants.h"
#include "lib/lease.h"

#define TTL_MS (t_is_jdbc() ? 8000 : 2000) /* a JVM is slow in its first seconds */

/* ---- the client with a wrong clock ----------------------------------------------------------- */

static void say(const char *what)
{
    if (write(STDOUT_FILENO, what, 1) != 1)
        _exit(3);
}
static void hear(void)
{
    char byte;

    if (read(STDIN_FILENO, &byte, 1) != 1)
        _exit(4);
}
static int fails(const char *what, const struct rowlock_error *error)
{
    fprintf(stderr, "# the client with a wrong clock: %s: %s\n", what, error->text);
    return 5;
}

/* Acquires and reports it. Each byte from the parent makes it renew; the third one makes it
   release, and wait for the name again behind another waiter. */
static int wrong_client(const char *name)
{
    struct rowlock_terms terms = {.ttl_ms = TTL_MS, .wait_ms = -1};
    struct rowlock_want want = t_x(name);
    struct rowlock_connection *connection = NULL;
    struct rowlock_error error = {0};
    struct rowlock_lease *lease = NULL;

    if (rowlock_open(t_url(), t_usual(), &connection, &error) ||
        rowlock_acquire(connection, &want, 1, &terms, &lease, &error))
        return fails("acquire", &error);
    say("a");
    for (int i = 0; i < 2; i++) {
        hear();
        if (rowlock_remaining(lease) <= 0 || rowlock_remaining(lease) > TTL_MS)
            return fails("left", &error);
        if (rowlock_renew(lease, 0, &error))
            return fails("renew", &error);
        if (rowlock_remaining(lease) <= 0 || rowlock_remaining(lease) > TTL_MS)
            return fails("left", &error);
        say("r");
    }
    hear();
    if (rowlock_release(lease, &error))
        return fails("release", &error);
    rowlock_lease_free(lease);
    say("g");
    hear();
    terms.wait_ms = 20000;
    if (rowlock_acquire(connection, &want, 1, &terms, &lease, &error))
        return fails("wait", &error);
    say("w");
    rowlock_lease_free(lease); /* left to expire */
    rowlock_close(connection);
    return 0;
}

__attribute__((constructor)) static void run_wrong_client(void)
{
    const char *name = getenv("WRONG_CLOCK_NAME");

    if (name)
        _exit(wrong_client(name));
}

/* ---- the parent ------------------------------------------------------------------------------ */

struct wrong {
    pid_t pid;
    int to, from;
};

static const char *library(void)
{
    static char path[300];
    glob_t found;

    /* a JVM has many threads */
    if (glob(t_is_jdbc() ? "/usr/lib/*/faketime/libfaketimeMT.so.1"
                         : "/usr/lib/*/faketime/libfaketime.so.1",
             0, NULL, &found) != 0)
        t_fail(__FILE__, __LINE__, "libfaketime is not installed");
    snprintf(path, sizeof path, "%s", found.gl_pathv[0]);
    globfree(&found);
    return path;
}

/* `how`: FAKETIME=..., or FAKETIME_TIMESTAMP_FILE=... */
static struct wrong start(const char *name, const char *variable, const char *value)
{
    struct wrong wrong;
    int to[2], from[2];
    const char *preload = library();

    t_install();
    t_int(pipe(to), 0);
    t_int(pipe(from), 0);
    wrong.pid = fork();
    if (wrong.pid == 0) {
        dup2(to[0], STDIN_FILENO);
        dup2(from[1], STDOUT_FILENO);
        for (int fd = 3; fd < 64; fd++)
            close(fd);
        setenv("LD_PRELOAD", preload, 1);
        setenv(variable, value, 1);
        setenv("FAKETIME_NO_CACHE", "1", 1);
        setenv("FAKETIME_DONT_FAKE_MONOTONIC", "1", 1);
        setenv("DONT_FAKE_MONOTONIC", "1", 1);
        setenv("WRONG_CLOCK_NAME", name, 1);
        setenv("ASAN_OPTIONS", "verify_asan_link_order=0:detect_leaks=0", 1);
        execl("/proc/self/exe", "clock", (char *)NULL);
        _exit(126);
    }
    close(to[0]);
    close(from[1]);
    wrong.to = to[1];
    wrong.from = from[0];
    return wrong;
}

static void hears(const struct wrong *wrong, char what)
{
    struct child child = {.from = wrong->from};

    t_int(t_hear(&child), what);
}

static void tell(const struct wrong *wrong)
{
    t_int(write(wrong->to, "!", 1), 1);
}

static void expires_by_the_database(void *hand, const char *name)
{
    t_text(t_native_sql(hand,
                        "SELECT count(*) FROM %s b JOIN %s l ON l.token = b.token WHERE l.name = "
                        "'%s' AND b.expires > %s",
                        lease_heartbeat_table(), lease_table(), t_key(name), lease_instant(0)),
           "1");
    t_text(t_native_sql(hand,
                        "SELECT count(*) FROM %s b JOIN %s l ON l.token = b.token WHERE l.name = "
                        "'%s' AND (b.expires > %s OR l.acquired > %s)",
                        lease_heartbeat_table(), lease_table(), t_key(name),
                        lease_instant(TTL_MS + 50), lease_instant(50)),
           "0");
}

/* The client reads the clock's file at any time, so the file is never empty. */
static void step_the_clock(const char *path, const char *to)
{
    FILE *file;
    const char *next = t_say("%s.next", path);

    file = fopen(next, "w");
    t_true(file != NULL);
    fprintf(file, "%s\n", to);
    fclose(file);
    t_int(rename(next, path), 0);
}

/* `stepped`: a file that changes the client's clock, or NULL. */
static void with_clock(const char *name, const char *variable, const char *value,
                       const char *stepped)
{
    struct wrong wrong = start(name, variable, value);
    struct rowlock_connection *one = t_open();
    struct rowlock_lease *lease = NULL;
    void *hand = t_native();
    int status = 0;

    hears(&wrong, 'a');
    expires_by_the_database(hand, name);
    t_int(t_may_have(t_x(name)), 0);
    for (int i = 0; i < 2; i++) {
        if (stepped)
            step_the_clock(stepped, i ? "-2h" : "+3h");
        tell(&wrong);
        hears(&wrong, 'r');
        expires_by_the_database(hand, name);
    }
    t_int(t_may_have(t_x(name)), 0);
    tell(&wrong);
    hears(&wrong, 'g');
    lease = t_granted(one, t_x(name), 60000);
    tell(&wrong);
    t_until_queued(hand, name, 1);
    if (stepped)
        step_the_clock(stepped, "+5h");
    t_give(lease);
    hears(&wrong, 'w');
    expires_by_the_database(hand, name);
    waitpid(wrong.pid, &status, 0);
    t_int(status, 0);
    t_until_free(t_x(name), T_TIMEOUT_MS); /* after its lease has expired */
    close(wrong.to);
    close(wrong.from);
}

TEST(p8_a_client_that_is_an_hour_behind)
{
    with_clock("behind", "FAKETIME", "-1h", NULL);
}

TEST(p8_a_client_whose_clock_jumps)
{
    const char *path = t_say("%s/clock", getenv("ROWLOCK_TEST_TEMP"));

    step_the_clock(path, "+1h");
    with_clock("jumps", "FAKETIME_TIMESTAMP_FILE", path, path);
}
