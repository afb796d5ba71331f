/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The cost of a lease on PostgreSQL: round trips, commits, disk writes, and how long a statement
 * that waits holds back vacuum.
 *
 * Runs on: postgresql/native
 * Quick: first
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/cut.h"
#include "lib/extra.h"
#include "lib/grants.h"
#include "lib/harness.h"

/* ---- round trips ----------------------------------------------------------------------------- */

/* Since the call before. */
static long trips(void)
{
    static long before;
    long all = proxy_trips(t_proxy), since = all - before;

    before = all;
    return since;
}

TEST(an_acquisition_is_one_trip_and_a_release_is_one)
{
    struct rowlock_connection *one;
    struct rowlock_lease *lease;

    t_install();
    one = t_through_proxy();
    t_give(t_granted(one, t_x("cost"), HOUR)); /* the first call sends additional statements */
    trips();
    for (int i = 0; i < 3; i++) {
        lease = t_granted(one, i == 1 ? t_s("cost") : t_x("cost"), HOUR);
        t_int(trips(), 1);
        t_ok(rowlock_renew(lease, 0, &t_error));
        t_int(trips(), 1);
        t_give(lease);
        t_int(trips(), 1);
    }
    t_close_through_proxy(one);
}

/* The history shows it, so the plain statement, which leaves no row there, must not be tried. */
TEST(a_release_is_one_trip_after_a_wait_and_where_the_history_keeps_all)
{
    struct rowlock_lease *lease = t_granted(t_open(), t_x("cost"), HOUR);
    struct acquisition waiter = {.wants = {t_x("cost")}, .ttl_ms = HOUR, .wait_ms = -1};
    struct rowlock_connection *one;
    struct rowlock_history_rules rules;
    struct thread *thread;
    void *hand = t_native();

    one = t_through_proxy();
    thread = t_queue_thread(one, &waiter, hand, 1);
    t_native_sql(hand, "UPDATE rowlock.waiter SET since = since - interval '1 min'");
    t_give(lease);
    t_ok(t_join(thread));
    trips();
    t_give(waiter.lease);
    t_int(trips(), 1);

    for (int i = 0; i < 2; i++) { /* after a long one the next is tried again */
        lease = t_granted(one, t_x("cost"), HOUR);
        t_native_sql(hand, "UPDATE rowlock.lease SET quiet_until = '-infinity'");
        t_until(rowlock_remaining(lease) < HOUR - 1000);
        trips();
        t_give(lease);
        t_int(trips(), t_facts()->code == ROWLOCK_NATIVE ? 2 : 1);
    }

    t_ok(rowlock_history_rules(one, &rules, &t_error));
    rules.level = ROWLOCK_HISTORY_ALL;
    t_ok(rowlock_set_history(one, &rules, &t_error));
    for (int i = 0; i < 2; i++) /* the first ones find it out */
        t_give(t_granted(one, t_x("cost"), HOUR));
    lease = t_granted(one, t_x("cost"), HOUR);
    trips();
    t_give(lease);
    t_int(trips(), 1);
    t_native_sql(hand, "DELETE FROM rowlock.setting");
    t_close_through_proxy(one);
}

TEST(a_lock_of_one_name_without_a_limit_calls_no_function_that_locks)
{
    struct rowlock_connection *one = t_open();
    struct rowlock_lease *lease;

    if (t_facts()->code != ROWLOCK_NATIVE)
        return;
    lease = t_granted(one, t_s("cost"), HOUR);
    t_native_sql(t_admin(), "ALTER FUNCTION rowlock.lock RENAME TO put_away");
    t_lock_once(one, t_x("free"), -1);
    t_lock_once(one, t_s("cost"), -1); /* beside the lease, which is shared */
    t_ok(rowlock_use_begin(one, "used", ROWLOCK_SHARED, NULL, -1, &t_error));
    t_ok(rowlock_commit(one, &t_error));
    t_native_sql(t_admin(), "ALTER FUNCTION rowlock.put_away RENAME TO lock");
    t_give(lease);
}

TEST(a_renewal_of_many_leases_is_one_trip)
{
    struct rowlock_connection *one;
    struct rowlock_lease *leases[100];

    t_install();
    one = t_through_proxy();
    t_grant_many(one, leases, 100, HOUR);
    t_ok(rowlock_renew_all(leases, 100, 0, NULL, &t_error)); /* the first one prepares it */
    trips();
    t_ok(rowlock_renew_all(leases, 100, 0, NULL, &t_error));
    t_int(trips(), 1);
    t_give_many(leases, 100);
    t_close_through_proxy(one);
}

/* ---- commits, on a server of the tests' own -------------------------------------------------- */

static const char *own_server(void)
{
    static char url[200];
    struct rowlock_connection *connection;

    if (*url)
        return url;
    /* no other session commits there, and the log is written only for commits that need it */
    snprintf(url, sizeof url, "%scost",
             extra_shell("start_postgresql %s -c autovacuum=off -c wal_writer_delay=10s "
                         "-c synchronous_commit=off >&2 && "
                         "$(postgresql_program psql) -qX \"${server_admin}postgres\" "
                         "-c 'CREATE DATABASE cost' >&2 && echo $server_admin",
                         extra_name("commits")));
    t_install_at(url);
    connection = t_open_at(url, NULL);
    t_give(t_granted(connection, t_x("cost"), HOUR));
    t_close(connection);
    return url;
}

static void *another_database(const char *url)
{

    return t_native_at(t_say("%.*spostgres", (int)(strrchr(url, '/') + 1 - url), url));
}

static long long number(void *hand, const char *text)
{
    return atoll(t_native_sql(hand, "%s", text));
}

/* Acquires and releases `leases` leases in a session of its own. */
static void acquire_and_release(int leases, const char *url)
{
    struct rowlock_connection *one = t_open_at(url, NULL);

    for (int i = 0; i < leases; i++)
        t_give(t_granted(one, t_x("cost"), HOUR));
    t_close(one);
}

/* By how much a statistic of the database grows meanwhile, when `beside` other sessions do nothing.
   A session reports its statistics when it ends. */
static long long growth_of(const char *statistic, void *hand, int beside, int leases,
                           const char *url)
{
    static const char sessions[] = "SELECT count(*) FROM pg_stat_activity WHERE datname = 'cost'";
    const char *read = t_say("SELECT %s FROM pg_stat_database WHERE datname = 'cost'", statistic);
    long long before;

    t_until(number(hand, sessions) == beside);
    before = number(hand, read);
    acquire_and_release(leases, url);
    t_until(number(hand, sessions) == beside);
    return number(hand, read) - before;
}

TEST(an_acquisition_is_one_commit_and_a_release_is_one)
{
    const char *url = own_server();
    void *hand = another_database(url);
    long long few;

    if (number(hand, "SHOW server_version_num") >=
        150000) { /* older servers report statistics later */
        /* includes the commits of connecting */
        few = growth_of("xact_commit", hand, 0, 5, url);
        t_int(growth_of("xact_commit", hand, 0, 15, url) - few, 10 * 2);
    }
    t_engine()->close(hand);
}

/* The server keeps the rows of ended leases while a snapshot of their time is open. */
/* The search for a name's row meets the entries of at most some hundred leases, however many have
   ended. How many decides the time that a search takes, so that a faster machine reads more: 4.5
   to 5.6 times the pages, with 4,000 leases as with 16,000. */
TEST(beside_an_old_snapshot_a_lease_reads_few_more_pages)
{
    static const char pages[] = "blks_hit + blks_read";
    const char *url = own_server();
    void *hand = another_database(url);
    long long without, beside;

    if (number(hand, "SHOW server_version_num") >= 150000) {
        void *snapshot;

        without = growth_of(pages, hand, 0, 4000, url);
        snapshot = t_engine()->open(url);
        t_native_sql(snapshot, "BEGIN ISOLATION LEVEL REPEATABLE READ");
        t_native_sql(snapshot, "SELECT count(*) FROM rowlock.meta");
        beside = growth_of(pages, hand, 1, 4000, url);
        printf("# %lld pages, %lld beside a snapshot\n", without, beside);
        t_int(beside <= 10 * without, 1);
        t_engine()->close(snapshot);
    }
    t_engine()->close(hand);
}

/* Whatever the database's default: otherwise a crash could lead to the same token again. */
TEST(p3_an_acquisition_is_on_disk_when_it_is_answered)
{
    const char *url = own_server();
    struct rowlock_connection *one = t_open_at(url, NULL);
    struct rowlock_lease *lease;
    void *hand = another_database(url);

    for (int i = 0; i < 5; i++) {
        const char *written = t_say("%s", t_native_sql(hand, "SELECT pg_current_wal_insert_lsn()"));

        lease = t_granted(one, t_x("cost"), HOUR);
        t_text(t_native_sql(hand, "SELECT pg_current_wal_flush_lsn() > '%s'", written), "t");
        t_give(lease);
    }
    t_close(one);
    t_engine()->close(hand);
}

/* ---- vacuum ---------------------------------------------------------------------------------- */

/* The oldest transaction whose rows the session may still read; 0: none. */
static long long horizon(long session)
{
    return atoll(t_native_sql(t_admin(),
                              "SELECT coalesce(backend_xmin::text, '0') FROM pg_stat_activity "
                              "WHERE pid = %ld",
                              session));
}

/* Waiters wait in slices: the head of the queue one second, the next one two. */
TEST(pg3_a_waiter_holds_vacuum_back_for_a_slice_only)
{
    struct rowlock_connection *one = t_open(), *waiting[2] = {t_open(), t_open()};
    struct rowlock_lease *lease = t_granted(one, t_x("vacuum"), HOUR);
    struct acquisition waiters[2];
    struct thread *threads[2];
    void *hand = t_native();

    for (int i = 0; i < 2; i++) {
        waiters[i] = (struct acquisition){.wants = {t_x("vacuum")}, .wait_ms = T_TIMEOUT_MS};
        threads[i] = t_queue_thread(waiting[i], &waiters[i], hand, i + 1);
    }
    for (int i = 0; i < 2; i++) {
        long session = t_engine()->session(t_handle(waiting[i]));
        long long was;

        t_until_waiting(threads[i]);
        t_until(horizon(session) != 0);
        was = horizon(session);
        /* a transaction that has ended, and is younger */
        t_native_sql(hand, "SELECT pg_current_xact_id()");
        t_until(horizon(session) != was);
        t_int(t_is_done(threads[i]), 0);
    }
    t_give(lease);
    for (int i = 0; i < 2; i++)
        t_join_and_give(threads[i], &waiters[i]);
}
