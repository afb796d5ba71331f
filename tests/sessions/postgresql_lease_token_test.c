/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Promise P3 on PostgreSQL: every token is greater than every earlier one, whatever happens to the
 * database: leases that end, vacuum, a killed server, an older dump restored into the same server.
 * postgresql_failover_test has the lagging standby that is promoted. The numbers do not depend on
 * the technique.
 *
 * Runs on: postgresql
 * Quick: first
 */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/extra.h"
#include "lib/harness.h"
#include "lib/hand.h"
#include "lib/test.h"

/* Grants one more lease, and releases it. */
static long long next_token_of(void *hand, const char *name)
{
    char wants[40];
    long long token;

    snprintf(wants, sizeof wants, "%s:x:0:0", name);
    token = hand_lease(hand, wants);
    hand_release(hand, token);
    return token;
}

static long long next_token(void *hand)
{
    return next_token_of(hand, "a");
}

/* Draws enough tokens to exhaust the numbers that a server caches ahead. */
static long long many_tokens(void *hand)
{
    long long token = 0;

    for (int i = 0; i < 40; i++)
        token = next_token(hand);
    return token;
}

TEST(p3_tokens_grow_through_release_expiry_and_vacuum)
{
    void *hand = hand_fresh();
    long long last = next_token(hand), token;

    for (int i = 0; i < 3; i++) {
        token = hand_lease(hand, "a:x:0:0,b:s:0:0");
        t_true(token > last);
        hand_expire(hand, token);
        last = hand_lease(hand, "b:x:0:0");
        t_true(last > token);
        hand_row(hand, "SELECT rowlock.break('b', 0, true)");
        /* only the owner may; the superuser's session does it because the owner can be another
           role */
        t_native_sql(t_admin(), i == 0   ? "VACUUM FREEZE rowlock.origin"
                                : i == 1 ? "VACUUM FULL rowlock.origin"
                                         : "CLUSTER rowlock.origin USING origin_pkey");
        token = next_token(hand);
        t_true(token > last);
        t_true(token - last < 1000000); /* the numbers were not lifted */
        last = token;
    }
    t_int(hand_number(hand, "SELECT rowlock.vacuum()"), 0);
    t_text(hand_row(hand, "SELECT rowlock.prepare('a'), rowlock.prepare('b')"), "|");
    t_true(next_token(hand) > last);
}

TEST(p3_tokens_grow_in_subtransactions)
{
    void *hand = hand_fresh();
    long long last = next_token(hand), token;

    /* a session may lift the numbers after a savepoint, and roll back to it */
    hand_row(hand, "UPDATE rowlock.origin SET boot = NULL");
    hand_row(hand, "BEGIN; SAVEPOINT one");
    token = hand_number(hand, "SELECT rowlock.next_number()");
    hand_row(hand, "ROLLBACK TO one; SAVEPOINT two");
    t_true(token > last);
    last = hand_number(hand, "SELECT rowlock.next_number()");
    t_true(last > token);
    hand_row(hand, "COMMIT");
    token = next_token(hand);
    t_true(token > last);
    t_true(token - last < 1000); /* later draws do not lift again */
}

/* ---- several sessions that lift the numbers -------------------------------------------------- */

#define LIFT_LOCK 8246125620394091380LL /* the advisory lock of rowlock.lift_numbers */

TEST(p3_tokens_grow_when_several_sessions_wait_to_lift)
{
    void *hand = hand_fresh(), *one = hand_open(), *two = hand_open();
    char numbers[2000];
    long long last;

    /* ahead of the clock, so that a lift computed too early would lower the sequence */
    hand_row(hand, "SELECT setval('rowlock.number', 4000000000000000000)");
    for (int i = 0; i < 5; i++) {
        last = hand_number(hand, "SELECT rowlock.next_number()");
        hand_row(hand, "UPDATE rowlock.origin SET boot = NULL");
        /* rowlock.lift_numbers waits for one of these two */
        hand_row(hand, "BEGIN; SELECT FROM rowlock.origin FOR UPDATE");
        hand_row(hand, "SELECT pg_advisory_lock(%lld)", LIFT_LOCK);
        hand_start(one, "SELECT array_agg(rowlock.next_number()) FROM generate_series(1, 10)");
        hand_until_waiting(one);
        hand_start(two, "SELECT array_agg(rowlock.next_number()) FROM generate_series(1, 10)");
        hand_until_waiting(two);
        hand_row(hand, "COMMIT");
        hand_row(hand, "SELECT pg_advisory_unlock(%lld)", LIFT_LOCK);
        snprintf(numbers, sizeof numbers, "unnest('%s'::bigint[] ||", hand_finish(one));
        snprintf(numbers + strlen(numbers), sizeof numbers - strlen(numbers), "'%s'::bigint[]) n",
                 hand_finish(two));
        t_text(hand_row(hand, "SELECT count(DISTINCT n), min(n) > %lld FROM %s", last, numbers),
               "20|t");
        t_true(hand_number(hand, "SELECT rowlock.next_number()") >
               hand_number(hand, "SELECT max(n) FROM %s", numbers));
    }
}

TEST(p3_a_transaction_that_lifted_the_numbers_holds_up_no_grant)
{
    void *hand = hand_fresh(), *other = hand_open();
    long long last = 0, held, token;

    hand_row(other, "SET lock_timeout = '20s'"); /* fails instead of waiting without end */
    for (int i = 0; i < 4; i++) {
        hand_row(hand, "UPDATE rowlock.origin SET boot = NULL");
        hand_row(hand, i < 2 ? "BEGIN" : "BEGIN; SAVEPOINT one");
        held = hand_number(hand, "SELECT rowlock.acquire('a', '30 s')");
        t_true(held > last);
        token = next_token_of(other, "b");
        t_true(token > held);
        last = next_token_of(other, "b");
        t_true(last > token);
        t_true(last - held < 1000); /* lifted once, not once per grant */
        hand_row(hand, i % 2 == 0 ? "COMMIT" : "ROLLBACK");
        token = next_token_of(other, "b");
        t_true(token > last);
        last = token;
        if (i % 2 == 0)
            hand_row(hand, "SELECT rowlock.end_lease(%lld)", held);
    }
}

/* A session that is cancelled or killed while it lifts does not keep others from lifting. */
TEST(p3_tokens_grow_when_a_session_ends_while_it_lifts)
{
    void *hand = hand_fresh(), *one = hand_open(), *two = NULL;
    long long last = next_token(hand), token;

    for (int i = 0; i < 2; i++) {
        hand_row(hand, "UPDATE rowlock.origin SET boot = NULL");
        hand_row(hand, "SELECT pg_advisory_lock(%lld)", LIFT_LOCK);
        hand_start(one, "SELECT rowlock.next_number()");
        hand_until_waiting(one);
        hand_row(hand, "SELECT %s(%ld)", i ? "pg_terminate_backend" : "pg_cancel_backend",
                 t_engine()->session(one));
        t_text(hand_finish(one), i ? "57P01" : "57014");
        hand_row(hand, "SELECT pg_advisory_unlock(%lld)", LIFT_LOCK);
        two = two ? two : hand_open();
        token = next_token(two);
        t_true(token > last);
        last = token;
    }
}

/* A restore under way may have emptied the table. */
TEST(p3_no_number_is_drawn_without_a_row_of_origin)
{
    void *hand = hand_fresh();
    long long last = next_token(hand);

    hand_row(hand, "DELETE FROM rowlock.origin");
    hand_start(hand, "SELECT rowlock.next_number()");
    t_text(hand_finish(hand), "55000");
    hand_row(hand, "INSERT INTO rowlock.origin DEFAULT VALUES");
    t_true(next_token(hand) > last);
}

/* ---- many clients while the origin changes --------------------------------------------------- */

#define CROWD 16
static atomic_llong highest;
static atomic_int fallen, climbed, crowd_ends;

/* Acquires and releases. Asserts that the token is greater than each one known before the call. */
static int climb_once(struct rowlock_connection *connection, const char *name,
                      struct rowlock_error *error)
{
    long long before = atomic_load(&highest), token, seen = before;
    struct rowlock_terms terms = {.ttl_ms = 60000};
    struct rowlock_want want = {.name = name};
    struct rowlock_lease *lease = NULL;
    int code = rowlock_acquire(connection, &want, 1, &terms, &lease, error);

    if (code)
        return code;
    token = rowlock_token(lease);
    if (token <= before)
        atomic_fetch_add(&fallen, 1);
    while (seen < token && !atomic_compare_exchange_weak(&highest, &seen, token))
        ;
    atomic_fetch_add(&climbed, 1);
    code = rowlock_release(lease, error);
    rowlock_lease_free(lease);
    return code;
}

static int climb(struct rowlock_connection *connection, void *data, struct rowlock_error *error)
{
    int code = ROWLOCK_OK;
    char name[40];

    snprintf(name, sizeof name, "climb %d", *(int *)data);
    while (!code && !atomic_load(&crowd_ends))
        code = climb_once(connection, name, error);
    return code;
}

static void until_climbed(int more)
{
    int wanted = atomic_load(&climbed) + more;
    long long end = t_now() + 120000;

    while (atomic_load(&climbed) < wanted && atomic_load(&fallen) == 0 && t_now() < end) {
        t_pause(1);
    }
    if (atomic_load(&climbed) < wanted) {
        atomic_store(&crowd_ends, 1);
        t_fail(__FILE__, __LINE__, "%d grants of %d, %d tokens fell", atomic_load(&climbed), wanted,
               atomic_load(&fallen));
    }
}

TEST(p3_tokens_grow_in_a_crowd_while_the_origin_changes)
{
    static int places[CROWD];
    struct thread *threads[CROWD];
    void *hand = hand_fresh();

    for (int i = 0; i < CROWD; i++) {
        places[i] = i;
        threads[i] = t_thread(t_open(), climb, &places[i]);
    }
    for (int i = 0; i < 30; i++) {
        hand_row(hand, "UPDATE rowlock.origin SET boot = NULL");
        if (i == 15) /* ahead of the clock from here on */
            hand_row(hand, "SELECT setval('rowlock.number', last_value + 1000000000000000) "
                           "FROM rowlock.number");
        until_climbed(20);
    }
    atomic_store(&crowd_ends, 1);
    for (int i = 0; i < CROWD; i++)
        t_ok(t_join(threads[i]));
    t_int(atomic_load(&fallen), 0);
}

/* ---- an older dump --------------------------------------------------------------------------- */

static const char *database(void)
{
    return strrchr(t_url(), '/') + 1;
}

static void restored(const char *dump_options, const char *before)
{
    void *hand = hand_fresh();
    long long last = next_token(hand);
    char file[200];

    extra_needs("pg_dump");
    snprintf(file, sizeof file, "%s/%s.sql", getenv("ROWLOCK_TEST_TEMP"), database());
    extra_shell("$(postgresql_program pg_dump) %s -d '%s' >%s", dump_options, t_url(), file);
    last = many_tokens(hand);
    hand_row(hand, "%s", before);
    extra_shell("$(postgresql_program psql) -qX -v ON_ERROR_STOP=1 -d '%s' -f %s >/dev/null",
                t_url(), file);
    for (int i = 0; i < 3; i++) {
        long long token = next_token(hand);

        t_true(token > last);
        last = token;
    }
}

TEST(p3_tokens_grow_after_the_restore_of_an_older_dump)
{
    /* technique insert has its table in public, which is not touched */
    restored("-n rowlock", "DROP SCHEMA rowlock CASCADE");
}

TEST(p3_tokens_grow_after_the_restore_of_older_data)
{
    restored("-n rowlock --data-only --column-inserts -t rowlock.origin -t rowlock.number",
             "DELETE FROM rowlock.origin");
}

/* Between two statements of a restore another session may be granted a lease. */
TEST(p3_tokens_grow_when_the_sequence_alone_goes_back)
{
    void *hand = hand_fresh();
    long long first = next_token(hand), last = first;

    /* lifted by the next draw, after `first` */
    hand_row(hand, "UPDATE rowlock.origin SET boot = NULL");
    last = next_token(hand);
    t_true(last > first);
    hand_row(hand, "SELECT setval('rowlock.number', %lld)", first);
    t_true(next_token(hand) > last);
}

/* ---- a server that crashes ------------------------------------------------------------------- */

/* Kills the postmaster with its children; log records not yet written are lost. */
static void kill_server(const char *name)
{
    extra_shell("[ -n \"$(pgrep -P $(cat $ROWLOCK_TEST_FOLDER/%s/pid))\" ] && stop_server %s KILL",
                name, name);
}

TEST(p3_tokens_grow_when_the_server_is_killed)
{
    const char *name = extra_name("tokens");
    const char *url = extra_postgresql(name, "-c wal_writer_delay=10s");
    long long held, last;
    void *hand;

    t_install_at(url);
    hand = t_native_at(url);
    hand_row(hand, "SELECT rowlock.prepare('a')");
    many_tokens(hand);
    held = hand_lease(hand, "a:x:0:0");
    /* numbers that were not granted may repeat; those of a committed grant may not */
    hand_row(hand, "BEGIN; SELECT rowlock.next_number() FROM generate_series(1, 100); ROLLBACK");
    kill_server(name);
    t_engine()->close(hand);
    hand = t_native_at(extra_postgresql(name, ""));
    /* the granted lease survived */
    t_text(hand_row(hand, "SELECT count(*) FROM rowlock.lease WHERE token = %lld", held), "1");
    hand_release(hand, held);
    last = next_token(hand);
    t_true(last > held);
    t_true(many_tokens(hand) > last);
    t_engine()->close(hand);
    extra_stop(name);
}
