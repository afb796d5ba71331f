/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Group commit, where the engine has it: concurrent requests share one transaction, no request
 * waits because of another's conflict, and the owner id settles the outcome of a batch that was cut
 * off.
 *
 * Runs on: postgresql/native
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/cut.h"
#include "lib/grants.h"
#include "lib/harness.h"
#include "lib/lease.h"

#define THREADS 6

static struct rowlock_group *open_group_with(const char *url, int sessions,
                                             struct rowlock_options options)
{
    struct rowlock_group *group = NULL;
    long long end = t_now() + 60000;
    int code;

    t_install();
    do /* a loaded machine may not connect within a short connect_ms */
        code = rowlock_group_open(url, &options, sessions, &group, &t_error);
    while (code == ROWLOCK_ECONN && t_now() < end);
    t_ok(code);
    return group;
}

static struct rowlock_group *open_group(const char *url, int sessions)
{
    return open_group_with(url, sessions, (struct rowlock_options){0});
}

static struct rowlock_connection *member(struct rowlock_group *group)
{
    struct rowlock_connection *connection = NULL;

    t_ok(rowlock_group_join(group, &connection, &t_error));
    return connection;
}

static const char *ask(const char *what)
{
    return t_native_sql(t_admin(), "%s", what);
}

static void until(const char *query, const char *answer)
{
    t_until(strcmp(ask(query), answer) == 0);
}

/* The server also has databases of other tests. */
#define WAITING                                                                     \
    "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND " \
    "pid <> pg_backend_pid() AND wait_event_type = 'Lock' AND query LIKE "
#define LOCKS                                                                                    \
    "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND database = (SELECT oid FROM " \
    "pg_database WHERE datname = current_database())"

/* ---- together -------------------------------------------------------------------------------- */

struct ask {
    char name[40];
    struct rowlock_lease *lease;
};

static int acquire_it(struct rowlock_connection *connection, void *data,
                      struct rowlock_error *error)
{
    struct ask *ask = data;
    struct rowlock_want want = t_x(ask->name);
    struct rowlock_terms terms = {.ttl_ms = HOUR};

    return rowlock_acquire(connection, &want, 1, &terms, &ask->lease, error);
}

static int release_it(struct rowlock_connection *connection, void *data,
                      struct rowlock_error *error)
{
    struct ask *ask = data;

    (void)connection;
    return rowlock_release(ask->lease, error);
}

/* The session is blocked briefly; the requests that arrive meanwhile form one batch, in one
   transaction. */
TEST(p1_what_is_asked_meanwhile_is_one_transaction)
{
    struct rowlock_group *group = open_group(t_url(), 1);
    struct rowlock_connection *members[THREADS];
    struct thread *threads[THREADS];
    struct ask asks[THREADS];
    void *locker = t_native();

    t_native_sql(locker, "BEGIN; LOCK TABLE rowlock.lease IN SHARE MODE");
    for (int i = 0; i < THREADS; i++) {
        members[i] = member(group);
        asks[i] = (struct ask){.name = ""};
        snprintf(asks[i].name, sizeof asks[i].name, "together %d", i);
        threads[i] = t_thread(members[i], acquire_it, &asks[i]);
        if (i == 0)
            until(WAITING "'%INTO rowlock.lease%'", "1");
    }
    /* the requests queue in this process, where no server can report them */
    t_pause(300);
    t_native_sql(locker, "COMMIT");
    for (int i = 0; i < THREADS; i++)
        t_ok(t_join(threads[i]));
    t_int(atol(ask("SELECT count(DISTINCT xmin::text) FROM rowlock.lease")) < THREADS, 1);
    t_text(ask("SELECT count(DISTINCT token) FROM rowlock.lease"), "6");
    for (int i = 0; i < THREADS; i++)
        threads[i] = t_thread(members[i], release_it, &asks[i]);
    for (int i = 0; i < THREADS; i++) {
        t_ok(t_join(threads[i]));
        rowlock_lease_free(asks[i].lease);
        rowlock_close(members[i]);
    }
    t_text(t_all_rows(locker), NO_ROWS);
    t_text(ask(LOCKS), "0");
    rowlock_group_close(group);
}

/* A fence delays the release of one lease. Other requests are served, and the lease is released
   in the end. */
TEST(p8_a_release_that_a_fence_delays_delays_no_other_request)
{
    struct rowlock_group *group = open_group(t_url(), 1);
    struct rowlock_connection *one = member(group), *two = member(group), *writer = t_open();
    struct ask fenced = {.name = "held up"};
    struct rowlock_want own = t_x("a transaction");
    struct thread *thread;

    t_ok(acquire_it(one, &fenced, &t_error));
    t_ok(rowlock_begin(writer, &own, 1, 0, &t_error));
    t_ok(rowlock_fence(writer, fenced.name, rowlock_token(fenced.lease), &t_error));
    thread = t_thread(one, release_it, &fenced);
    until(WAITING "'%end_lease%'", "1");
    for (int i = 0; i < 20; i++)
        t_give(t_granted(two, t_x("beside"), 0));
    t_int(t_is_done(thread), 0);
    t_int(rowlock_socket(two), -1); /* through the group: no session of its own was needed */
    t_ok(rowlock_commit(writer, &t_error));
    t_ok(t_join(thread));
    rowlock_lease_free(fenced.lease);
    t_text(ask("SELECT count(*) FROM rowlock.lease"), "0");
    t_text(ask(LOCKS), "0");
    rowlock_close(one);
    rowlock_close(two);
    rowlock_group_close(group);
}

/* ---- cut off --------------------------------------------------------------------------------- */

static const struct cuts every = {.least = 3, .most = 100, .stride = 1};

static struct rowlock_group *through_proxy(void)
{
    return open_group(t_proxied_url(&t_proxy), 1);
}

static void close_all(struct rowlock_group *group, struct rowlock_connection *connection)
{
    rowlock_close(connection);
    rowlock_group_close(group);
    proxy_cut_all(t_proxy);
}

/* The session is already open, so every message belongs to the batch; a retry uses another
   session. */
static void cut_batch(int release)
{
    struct cuts cuts = every;
    void *hand = t_native();

    while (t_next_cut_of(&cuts)) {
        struct rowlock_group *group = through_proxy();
        struct rowlock_connection *one = member(group);
        struct rowlock_lease *lease = NULL;

        t_give(t_granted(one, t_x("cut batch"), 0));
        if (release)
            lease = t_granted(one, t_x("cut batch"), HOUR);
        proxy_arm(t_proxy, PROXY_CUT, cuts.direction, cuts.n);
        if (!release)
            t_ok(t_acquire(one, t_x("cut batch"), HOUR, 0, &lease));
        else
            t_ok(rowlock_release(lease, &t_error)); /* never "lost": this holder itself ended it */
        cuts.struck = proxy_has_struck(t_proxy);
        t_int(leases_of(hand, "cut batch"), release ? 0 : 1);
        t_int(lease_rows(hand, (long)rowlock_token(lease)), release ? 0 : 1);
        proxy_arm(t_proxy, PROXY_NONE, cuts.direction, 0);
        if (!release)
            t_give(lease);
        else
            rowlock_lease_free(lease);
        close_all(group, one);
        t_text(t_all_rows(hand), NO_ROWS);
    }
}

TEST(p1_cut_after_every_message_of_a_grant)
{
    cut_batch(0);
}

TEST(p5_cut_after_every_message_of_a_release)
{
    cut_batch(1);
}

/* No session can be opened to find out the outcome of the batch. */
TEST(p1_cut_for_good_after_every_message_says_that_it_may_have_been_granted)
{
    void *hand = t_native();
    struct cuts cuts = every;
    int granted = 0; /* and the reply was lost */
    char others[200];

    snprintf(others, sizeof others,
             "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND "
             "backend_type = 'client backend' AND pid NOT IN (pg_backend_pid(), %ld)",
             t_engine()->session(hand));
    while (t_next_cut_of(&cuts)) {
        struct rowlock_options options = {.connect_ms = 1500};
        struct rowlock_group *group;
        struct rowlock_connection *one;
        struct rowlock_lease *lease = NULL;
        int code;

        rowlock_group_close(through_proxy());
        group = open_group_with(t_url_at(proxy_port(t_proxy)), 1, options);
        one = member(group);
        t_give(t_granted(one, t_x("cut for good"), 0));
        proxy_arm(t_proxy, PROXY_DOWN, cuts.direction, cuts.n);
        code = t_acquire(one, t_x("cut for good"), HOUR, 0, &lease);
        cuts.struck = proxy_has_struck(t_proxy);
        if (code) {
            t_fails(code, ECONN);
            t_true(cuts.struck);
            until(others, "0"); /* until then the server may still be working on it */
            if (leases_of(hand, "cut for good") == 1) {
                granted += cuts.direction == PROXY_TO_CLIENT;
                t_contains(t_error.text, "may have been granted");
            }
        }
        proxy_arm(t_proxy, PROXY_NONE, cuts.direction, 0);
        if (!code)
            t_give(lease);
        close_all(group, one);
        t_forget_leases(hand);
    }
    t_true(granted > 0);
}

/* ---- beside an old snapshot ------------------------------------------------------------------ */

#define MOST 10000 /* pairs; in one of 64 the search for the name is timed */

TEST(p10_a_name_that_only_a_group_uses_moves_beside_an_old_snapshot)
{
    struct rowlock_group *group = open_group(t_url(), 1);
    struct rowlock_connection *one = member(group);
    void *reader = t_native();

    t_native_sql(reader, "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM "
                         "rowlock.lease");
    for (int i = 0; i < MOST; i++) {
        if (i % 500 == 0 &&
            strcmp(ask("SELECT count(*) > 0 FROM rowlock.lease WHERE token < 0"), "t") == 0)
            break;
        t_give(t_granted(one, t_x("busy"), HOUR));
    }
    t_text(ask("SELECT count(*) > 0 FROM rowlock.lease WHERE token < 0"), "t");
    t_native_sql(reader, "COMMIT");
    t_give(t_granted(t_open(), t_x("busy"), HOUR));
    rowlock_close(one);
    rowlock_group_close(group);
}
