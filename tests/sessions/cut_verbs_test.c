/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The verbs that print a number which is drawn once, or act once: next, acquire, job and refresh.
 * The connection of the command is cut before each of its requests reaches the server, and after:
 * so also at COMMIT. The exit status, the text and a second call agree about what was done.
 *
 * Runs on: postgresql mariadb odbc
 * Quick: first
 * Rest: postgresql/native mariadb/row postgresql/odbc
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/cut.h"
#include "lib/grants.h"
#include "lib/jobs.h"
#include "lib/lease.h"

#define UNAVAILABLE 69 /* exit statuses */
#define NOT_ACQUIRED 75

static const struct cuts every = {.least = 3, .most = 1000, .stride = 1};

/* ---- the command ----------------------------------------------------------------------------- */

struct said {
    int status;
    char out[200], err[2000];
};

static const char *path_of(const char *file)
{
    return t_say("%s/%s", getenv("ROWLOCK_TEST_TEMP"), file);
}

static void read_file(const char *path, char *out, size_t size)
{
    FILE *file = fopen(path, "r");
    size_t n = file ? fread(out, 1, size - 1, file) : 0;

    out[n] = '\0';
    if (file)
        fclose(file);
}

static struct said call(const char *url, const char *arguments)
{
    struct said said;
    int status;

    setenv("ROWLOCK_URL", url, 1);
    setenv("RAN", path_of("ran"), 1);
    status = system(t_say("\"$ROWLOCK_TEST_BIN/rowlock\" %s >'%s' 2>'%s'", arguments,
                          path_of("out"), path_of("err")));
    said.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    read_file(path_of("out"), said.out, sizeof said.out);
    read_file(path_of("err"), said.err, sizeof said.err);
    return said;
}

/* A message of the proxy is a request or an answer: all that one end sends before the other. */
static struct said call_cut(struct cuts *cuts, enum proxy_fault fault, const char *arguments)
{
    const char *url;
    struct said said;

    if (!t_proxy)
        t_proxy = proxy_start(t_port(), -1);
    url = t_proxied_url(&t_proxy);
    proxy_arm(t_proxy, fault, cuts->direction, cuts->n);
    said = call(url, arguments);
    cuts->struck = proxy_disarm(t_proxy);
    if (said.status) {
        t_int(cuts->struck, 1);
        t_int(said.status, UNAVAILABLE);
        t_text(said.out, "");
        t_contains(said.err, "rowlock: ");
    }
    return said;
}

/* A name, or a job, that no call before has used. */
static const char *fresh(const char *verb)
{
    static int number;

    return t_say("cut %s %d", verb, ++number);
}

/* ---- next ------------------------------------------------------------------------------------ */

/* After a lost reply to COMMIT the number is named, and the next call draws it, or the one behind
   it. Otherwise no number is lost, and none is drawn twice. */
static void draw_cut(enum proxy_fault fault)
{
    const char *counter = fresh("next"), *arguments = t_say("next '%s'", counter);
    struct cuts cuts = every;
    long long last = 0;
    int drawn = 0, returned = 0;

    while (t_next_cut_of(&cuts)) {
        struct said first = call_cut(&cuts, fault, arguments), second = call(t_url(), arguments);
        int unsure = strstr(first.err, "may be drawn, or not") != NULL;

        if (first.status == 0)
            t_text(first.out, t_say("%lld\n", ++last));
        if (unsure)
            t_contains(first.err,
                       t_say("rowlock: %lld of '%s' may be drawn, or not", last + 1, counter));
        t_int(second.status, 0);
        if (unsure && atoll(second.out) == last + 2) {
            drawn++;
            last++;
        } else {
            returned += unsure;
        }
        t_text(second.out, t_say("%lld\n", ++last));
    }
    /* cut before COMMIT reached the server, and after; plain dialects skip most cuts */
    t_true(t_facts()->plain || (drawn > 0 && returned > 0));
}

TEST(cut_at_every_trip_of_next)
{
    t_install();
    draw_cut(PROXY_CUT);
    draw_cut(PROXY_DOWN);
}

/* ---- acquire --------------------------------------------------------------------------------- */

TEST(p1_cut_at_every_trip_of_acquire)
{
    void *hand = t_native();
    struct cuts cuts = every;

    t_install();
    while (t_next_cut_of(&cuts)) {
        const char *name = fresh("acquire"), *arguments = t_say("acquire -n --ttl 1h '%s'", name);
        struct said first = call_cut(&cuts, PROXY_CUT, arguments);
        struct said second = call(t_url(), arguments);
        const struct said *holder = first.status ? &second : &first;

        if (first.status == 0) {
            t_int(second.status, NOT_ACQUIRED);
            t_text(second.out, "");
            t_contains(second.err, t_say("'%s' is held by a lease", name));
        }
        t_int(holder->status, 0);
        t_int(leases_of(hand, name), 1);
        t_int(lease_rows(hand, atol(holder->out)), 1);
        t_text(holder->out, t_say("%ld\n", atol(holder->out)));
    }
    t_forget_leases(hand);
}

/* The database stays away: the command cannot learn whether the lease was granted. */
TEST(p1_acquire_and_a_database_that_is_away_after_the_cut)
{
    void *hand = t_native();
    struct cuts cuts = every;
    int left = 0;

    t_install();
    cuts.least = 2;
    while (t_next_cut_of(&cuts)) {
        const char *name = fresh("away"), *arguments = t_say("acquire -w 1 --ttl 1h '%s'", name);
        struct said first = call_cut(&cuts, PROXY_DOWN, arguments);
        struct said second = call(t_url(), t_say("acquire -n --ttl 1h '%s'", name));

        if (first.status && second.status) {
            t_contains(first.err, "it may have been granted, and then expires after its ttl");
            left++;
        }
        t_int(second.status, first.status && !second.status ? 0 : NOT_ACQUIRED);
        t_int(leases_of(hand, name), 1);
    }
    t_true(t_facts()->plain || left > 0);
    t_forget_leases(hand);
}

/* ---- job and refresh ------------------------------------------------------------------------- */

static int times_ran(void)
{
    char lines[100];
    int n = 0;

    read_file(path_of("ran"), lines, sizeof lines);
    for (const char *at = lines; (at = strchr(at, '\n')); at++)
        n++;
    return n;
}

/* The command runs once, by the first call or the second. */
static void runs_once(struct cuts *cuts, const char *arguments, struct said *first,
                      struct said *second)
{
    unlink(path_of("ran"));
    *first = call_cut(cuts, PROXY_CUT, arguments);
    t_int(times_ran(), first->status == 0);
    *second = call(t_url(), arguments);
    t_int(second->status, 0);
    t_int(times_ran(), 1);
}

#define RUN " -- sh -c 'echo ran >>\"$RAN\"'"

TEST(p1_cut_at_every_trip_of_job)
{
    struct rowlock_connection *one = t_open();
    void *hand = t_native();
    struct cuts cuts = every;

    while (t_next_cut_of(&cuts)) {
        struct rowlock_job job = t_daily_job(fresh("job"));
        struct said first, second;

        runs_once(&cuts, t_say("job '%s' --every 1d" RUN, job.name), &first, &second);
        t_int(t_job_seen(one, hand, &job).runs, 1);
        t_int(t_job_seen(one, hand, &job).outcome, ROWLOCK_RUN_DONE);
        t_text(t_all_rows(hand), NO_ROWS);
    }
}

TEST(p1_cut_at_every_trip_of_refresh)
{
    void *hand = t_native();
    struct cuts cuts = every;

    t_install();
    while (t_next_cut_of(&cuts)) {
        struct said first, second;

        runs_once(&cuts, t_say("--json refresh '%s' --max-age 1h" RUN, fresh("refresh")), &first,
                  &second);
        if (first.status == 0)
            t_text(first.out, "{\"refreshed\":true}\n");
        t_text(second.out, first.status ? "{\"refreshed\":true}\n" : "{\"refreshed\":false}\n");
        t_text(t_all_rows(hand), NO_ROWS);
    }
}
