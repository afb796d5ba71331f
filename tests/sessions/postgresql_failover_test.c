/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fail-over from a primary to its streaming standby, under load: processes that acquire, renew,
 * fence and write, with one URL for both servers. With a synchronous standby nothing that was
 * reported is lost; with an asynchronous one the last commits are, but tokens still rise, and the
 * writes that survive are fenced. The standby gets the rows of leases and the numbers, which are
 * the same with each technique.
 *
 * Runs on: postgresql/native
 * Quick: never
 * Rest: postgresql/native
 */
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/extra.h"
#include "lib/grants.h"
#include "lib/overlap.h"
#include "lib/test.h"

#define WORKERS 4
#define MOST 20000 /* writes of one worker */
#define NAME "counter"

static char primary[90], standby[90];
static char old_url[200], new_url[200]; /* of each server alone */
static char url[300];                   /* of both */

/* ---- two servers ----------------------------------------------------------------------------- */

static void install_at(const char *where)
{
    struct rowlock_connection *connection;

    t_install_at(where);
    connection = t_open_at(where, NULL);
    t_sql(connection, "CREATE TABLE counter (value bigint)");
    t_sql(connection, "INSERT INTO counter VALUES (0)");
    t_sql(connection, "CREATE TABLE written (value bigint PRIMARY KEY, token bigint, "
                      "worker integer, n integer, UNIQUE (worker, n))");
    t_close(connection);
}

static void until(void *hand, const char *question, const char *answer)
{
    t_until(strcmp(t_native_sql(hand, "%s", question), answer) == 0);
}

static void start_both(int synchronous)
{
    static int number;
    const char *at, *port;
    void *hand;

    snprintf(primary, sizeof primary, "%s-%d", extra_name("old"), ++number);
    snprintf(standby, sizeof standby, "%s-%d", extra_name("new"), number);
    snprintf(old_url, sizeof old_url, "%s", extra_postgresql(primary, ""));
    install_at(old_url);
    snprintf(new_url, sizeof new_url, "%s", extra_standby(standby, primary));
    at = strchr(old_url, '@') + 1;
    port = strchr(new_url, '@') + 1;
    snprintf(url, sizeof url,
             "postgresql://postgres@%.*s,%.*s/postgres?target_session_attrs=read-write"
             "&connect_timeout=2",
             (int)strcspn(at, "/"), at, (int)strcspn(port, "/"), port);
    hand = t_native_at(old_url);
    until(hand, "SELECT count(*) FROM pg_stat_replication WHERE state = 'streaming'", "1");
    if (synchronous) {
        t_native_sql(hand, "ALTER SYSTEM SET synchronous_standby_names = '*'");
        t_native_sql(hand, "SELECT pg_reload_conf()");
        until(hand, "SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'", "1");
    }
    t_engine()->close(hand);
}

/* The primary and all its sessions. */
static void signal_primary(const char *signal)
{
    extra_shell("pid=$(cat $ROWLOCK_TEST_FOLDER/%s/pid) && kill -s %s $pid $(pgrep -P $pid)",
                primary, signal);
}

static void stop_both(void *hand)
{
    t_engine()->close(hand);
    extra_stop(standby);
    extra_stop(primary);
}

/* ---- workers --------------------------------------------------------------------------------- */

enum outcome { NOT_TRIED, UNDER_WAY, DONE, UNKNOWN, FAILED };

struct load {
    atomic_int stop, promoted, done;
    atomic_int turns[WORKERS];
    atomic_llong highest; /* token that any worker has seen */
    atomic_int not_above; /* grants whose token was not above all that were seen before */
    struct overlap *overlap;
    struct write {
        int outcome, old; /* old: it began before the standby was promoted */
        long long value;
    } writes[WORKERS][MOST];
    int n[WORKERS];
};

static void saw(struct load *load, long long token)
{
    long long highest = atomic_load(&load->highest);

    while (token > highest && !atomic_compare_exchange_weak(&load->highest, &highest, token))
        ;
}

/* One fenced write. Its outcome is what the library reports; returns 0 if it was done. */
static int write_once(struct load *load, int worker, struct rowlock_connection *connection,
                      long long token)
{
    struct write *write = &load->writes[worker][load->n[worker]];
    char answer[200];
    void *hand = t_engine()->handle(connection);
    int code = 0;
    const char *text =
        t_say("WITH c AS (UPDATE counter SET value = value + 1 RETURNING value) "
              "INSERT INTO written SELECT c.value, %lld, %d, %d FROM c RETURNING value",
              token, worker, load->n[worker]++);

    write->outcome = UNDER_WAY;
    write->old = !atomic_load(&load->promoted);
    if (t_engine()->sql(hand, "BEGIN ISOLATION LEVEL READ COMMITTED", answer, sizeof answer) ||
        (code = rowlock_fence(connection, NAME, token, NULL)) ||
        t_engine()->sql(hand, text, answer, sizeof answer)) {
        rowlock_rollback(connection, NULL);
        write->outcome = FAILED;
        return code ? code : ROWLOCK_ECONN;
    }
    write->value = atoll(answer);
    code = rowlock_commit(connection, NULL);
    write->outcome = code == 0 ? DONE : code == ROWLOCK_EUNKNOWN ? UNKNOWN : FAILED;
    if (code == 0)
        atomic_fetch_add(&load->done, 1);
    return code;
}

/* Holds the lease for a few writes, and renews it; ends when the lease is lost. */
static void hold(struct load *load, int worker, struct rowlock_connection *connection,
                 struct rowlock_lease *lease)
{
    int place = overlap_enter(load->overlap, 0, t_x(NAME), lease);

    for (int i = 0; i < 5 && load->n[worker] < MOST; i++) {
        int code = rowlock_renew(lease, 0, NULL);

        if (code == ROWLOCK_ELOST || rowlock_remaining(lease) == 0)
            break;
        if (!code)
            write_once(load, worker, connection, rowlock_token(lease));
        else
            t_pause(5);
    }
    overlap_leave(load->overlap, place);
}

/* The same without a renewal: this client relies on the fence alone, and writes in a session of its
   own. After a failure it tries its token again when other clients have written since. */
static void write_on(struct load *load, int worker, long long token)
{
    struct rowlock_options options = {.connect_ms = 8000, .statement_ms = 2000};
    struct rowlock_connection *writer = NULL;
    int done = atomic_load(&load->done), code = 0;
    long long end = t_now() + 15000;

    for (int i = 0; i < 40 && code != ROWLOCK_ELOST && load->n[worker] < MOST && t_now() < end;) {
        if (!writer &&
            (atomic_load(&load->done) < done || rowlock_open(url, &options, &writer, NULL)))
            t_pause(5);
        else if ((code = write_once(load, worker, writer, token)) == 0)
            i++;
        else {
            rowlock_close(writer);
            writer = NULL;
            done = atomic_load(&load->done) + 10;
        }
    }
    rowlock_close(writer);
}

static void turn(struct load *load, int worker, struct rowlock_connection *connection)
{
    struct rowlock_terms terms = {.ttl_ms = 3000, .wait_ms = 3000};
    struct rowlock_want want = t_x(NAME);
    struct rowlock_lease *lease = NULL;
    struct rowlock_error error = {0};
    long long before = atomic_load(&load->highest);
    int code = rowlock_acquire(connection, &want, 1, &terms, &lease, &error);

    if (code) {
        if (code != ROWLOCK_ETIMEDOUT && code != ROWLOCK_ECONN && code != ROWLOCK_ELOST)
            overlap_failed(load->overlap, &error);
        return;
    }
    if (rowlock_token(lease) <= before)
        atomic_fetch_add(&load->not_above, 1);
    saw(load, rowlock_token(lease));
    if (worker == 0)
        write_on(load, worker, rowlock_token(lease));
    else
        hold(load, worker, connection, lease);
    rowlock_release(lease, NULL);
    rowlock_lease_free(lease);
}

struct job {
    struct load *load;
    int worker;
};

static int work(const void *data, int to)
{
    const struct job *job = data;
    struct rowlock_options options = {.connect_ms = 8000, .statement_ms = 2000};

    (void)to;
    while (!atomic_load(&job->load->stop)) {
        struct rowlock_connection *connection = NULL;

        if (rowlock_open(url, &options, &connection, NULL))
            continue;
        for (int i = 0; i < 20 && !atomic_load(&job->load->stop); i++) {
            turn(job->load, job->worker, connection);
            atomic_fetch_add(&job->load->turns[job->worker], 1);
        }
        rowlock_close(connection);
    }
    return 0;
}

static struct child crew[WORKERS];
static struct job jobs[WORKERS];

static struct load *start_load(void)
{
    struct load *load =
        mmap(NULL, sizeof *load, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    t_true(load != MAP_FAILED);
    load->overlap = overlap_new(0);
    for (int i = 0; i < WORKERS; i++) {
        jobs[i] = (struct job){load, i};
        crew[i] = t_child(work, &jobs[i]);
    }
    return load;
}

static void until_done(struct load *load, int more)
{
    int goal = atomic_load(&load->done) + more;

    t_until(atomic_load(&load->done) >= goal);
}

/* Each worker has ended what it had begun. */
static void until_turned(struct load *load)
{
    int before[WORKERS];

    for (int i = 0; i < WORKERS; i++)
        before[i] = atomic_load(&load->turns[i]);
    for (int i = 0; i < WORKERS; i++)
        t_until(atomic_load(&load->turns[i]) >= before[i] + 2);
}

static void end_load(struct load *load)
{
    atomic_store(&load->stop, 1);
    for (int i = 0; i < WORKERS; i++)
        t_int(t_await_child(&crew[i]), 0);
}

static void *promote(struct load *load)
{
    void *hand = t_native_at(new_url);

    if (load)
        atomic_store(&load->promoted, 1);
    t_text(t_native_sql(hand, "SELECT pg_promote(true, 60)"), "t");
    return hand;
}

/* ---- what must hold afterwards --------------------------------------------------------------- */

/* The writes are numbered without a gap, and none by an older token follows one by a newer. */
static void check_fence(void *hand)
{
    t_text(t_native_sql(hand, "SELECT count(*) = max(w.value) AND max(w.value) = "
                              "(SELECT c.value FROM counter c) FROM written w"),
           "t");
    t_text(t_native_sql(hand, "SELECT count(*) FROM (SELECT w.token < lag(w.token) OVER "
                              "(ORDER BY w.value) AS wrong FROM written w) q WHERE q.wrong"),
           "0");
}

/* Compares the rows with the reports. Returns how many reported writes are missing; they must be
   the last ones of the old primary. */
static int check_reports(void *hand, struct load *load)
{
    long long first_lost = INT64_MAX, last_kept = 0;
    int lost = 0;

    for (int worker = 0; worker < WORKERS; worker++)
        for (int n = 0; n < load->n[worker]; n++) {
            struct write *write = &load->writes[worker][n];
            long long value = atoll(t_native_sql(hand,
                                                 "SELECT coalesce(max(value), 0) FROM written "
                                                 "WHERE worker = %d AND n = %d",
                                                 worker, n));

            if (value != 0) {
                t_true(write->outcome == UNKNOWN || write->outcome == DONE);
                t_int(value, write->value);
                if (write->old && value > last_kept)
                    last_kept = value;
            } else if (write->outcome == DONE) {
                t_true(write->old);
                lost++;
                if (write->value < first_lost)
                    first_lost = write->value;
            }
        }
    t_true(last_kept < first_lost);
    return lost;
}

static void check_tokens(struct load *load)
{
    struct rowlock_connection *connection = t_open_at(url, NULL);
    struct rowlock_lease *lease = NULL;

    t_int(atomic_load(&load->not_above), 0);
    t_ok(t_acquire(connection, t_x(NAME), 1000, 20000, &lease));
    t_true(rowlock_token(lease) > atomic_load(&load->highest));
    t_give(lease);
    t_close(connection);
}

/* ---- a synchronous standby ------------------------------------------------------------------- */

static void fails_over(const char *signal)
{
    struct load *load;
    void *hand;

    start_both(1);
    load = start_load();
    until_done(load, t_effort(50, 200));
    if (strcmp(signal, "STOP") == 0)
        signal_primary("STOP");
    else
        extra_shell("stop_server %s %s", primary, signal);
    hand = promote(load);
    until_done(load, t_effort(50, 200));
    if (strcmp(signal, "STOP") == 0) { /* it wakes, and does not know that it was replaced */
        signal_primary("CONT");
        until_turned(load);
        extra_shell("stop_server %s KILL", primary);
        until_done(load, 50);
    }
    end_load(load);
    overlap_check(load->overlap);
    check_fence(hand);
    t_int(check_reports(hand, load), 0);
    check_tokens(load);
    munmap(load, sizeof *load);
    stop_both(hand);
}

TEST(p1_p3_p4_synchronous_the_primary_is_killed)
{
    fails_over("KILL");
}

TEST(p1_p3_p4_synchronous_the_primary_is_frozen_and_wakes)
{
    fails_over("STOP");
}

/* ---- an asynchronous standby ----------------------------------------------------------------- */

/* The standby is cut off first, so that commits are certainly lost. */
TEST(p3_p4_asynchronous_commits_are_lost_but_tokens_rise)
{
    struct load *load;
    void *hand;

    start_both(0);
    load = start_load();
    until_done(load, t_effort(50, 200));
    extra_shell("stop_server %s", standby);
    until_done(load, t_effort(50, 200));
    extra_shell("stop_server %s KILL", primary);
    extra_shell("start_postgresql %s", standby);
    hand = promote(load);
    until_done(load, t_effort(50, 200));
    end_load(load);
    check_fence(hand);
    t_true(check_reports(hand, load) > 0);
    check_tokens(load);
    munmap(load, sizeof *load);
    stop_both(hand);
}

/* ---- one lease across a fail-over ------------------------------------------------------------ */

/* Repeats what fails only because no server answers yet. */
static int renewed(struct rowlock_lease *lease)
{
    int code;

    do
        code = rowlock_renew(lease, 0, &t_error);
    while ((code == ROWLOCK_ECONN || code == ROWLOCK_ETIMEDOUT) && rowlock_remaining(lease) > 0);
    return code;
}

TEST(p1_synchronous_a_lease_continues_and_the_old_primary_grants_nothing)
{
    struct rowlock_options options = {.statement_ms = 1000};
    struct rowlock_connection *holder, *other, *old;
    struct rowlock_lease *lease = NULL, *none = NULL;
    void *hand;

    start_both(1);
    holder = t_open_at(url, NULL);
    t_ok(rowlock_prepare(holder, (struct rowlock_want[]){t_x("free")}, 1, &t_error));
    t_ok(t_acquire(holder, t_x(NAME), 300000, 0, &lease));
    extra_shell("stop_server %s KILL", primary);
    hand = promote(NULL);
    t_ok(renewed(lease));
    other = t_open_at(url, NULL);
    t_fails(t_acquire(other, t_x(NAME), 1000, 0, &none), EBUSY);
    t_native_sql(t_engine()->handle(holder), "BEGIN");
    t_ok(rowlock_fence(holder, NAME, rowlock_token(lease), &t_error));
    t_ok(rowlock_commit(holder, &t_error));
    /* the old primary returns: its standby confirms nothing, so it can grant nothing */
    extra_shell("start_postgresql %s", primary);
    old = t_open_at(old_url, &options);
    t_fails(t_acquire(old, t_x("free"), 1000, 2000, &none), ECONN);
    t_ok(renewed(lease));
    t_give(lease);
    t_close(old);
    t_close(other);
    t_close(holder);
    stop_both(hand);
}

TEST(p3_p4_asynchronous_a_lease_that_did_not_arrive_is_reported_as_lost)
{
    struct rowlock_connection *holder;
    struct rowlock_lease *lease = NULL, *next = NULL;
    int64_t token;
    void *hand;

    start_both(0);
    extra_shell("stop_server %s", standby);
    holder = t_open_at(url, NULL);
    t_ok(t_acquire(holder, t_x(NAME), 300000, 0, &lease));
    token = rowlock_token(lease);
    extra_shell("stop_server %s KILL", primary);
    extra_shell("start_postgresql %s", standby);
    hand = promote(NULL);
    t_fails(renewed(lease), ELOST);
    t_native_sql(t_engine()->handle(holder), "BEGIN");
    t_fails(rowlock_fence(holder, NAME, token, &t_error), ELOST);
    t_ok(rowlock_rollback(holder, &t_error));
    t_ok(t_acquire(holder, t_x(NAME), 1000, 0, &next));
    t_true(rowlock_token(next) > token);
    t_give(next);
    rowlock_lease_free(lease);
    t_close(holder);
    stop_both(hand);
}
