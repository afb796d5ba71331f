/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Promise P3 on PostgreSQL: every token is greater than every earlier one, whatever becomes of the
 * database: leases that end, vacuum, a killed server, an older dump restored into the same server,
 * a database made from an older copy, a standby that lagged and is promoted.
 *
 * Runs on: postgresql
 */
#include <libpq-fe.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/extra.h"
#include "lib/house.h"
#include "lib/postgresql_hand.h"
#include "lib/test.h"

/* Grants one lease more, and gives it back. */
static long long next_token(void *hand)
{
    long long token = hand_lease(hand, "a:x:0:0");

    t_int(hand_number(hand, "SELECT rowlock.release_lease(%lld)", token), 0);
    return token;
}

/* So many that whatever a server keeps ahead is used up. */
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
        /* only the owner may: the superuser's session does it where it is another */
        t_native_sql(t_admin(), i == 0   ? "VACUUM FREEZE rowlock.origin"
                                : i == 1 ? "VACUUM FULL rowlock.origin"
                                         : "CLUSTER rowlock.origin USING origin_one_row");
        token = next_token(hand);
        t_true(token > last);
        t_true(token - last < 1000000); /* no alarm was raised */
        last = token;
    }
    t_int(hand_number(hand, "SELECT rowlock.vacuum()"), t_facts()->code == ROWLOCK_ROW ? 4 : 0);
    t_text(hand_row(hand, "SELECT rowlock.prepare('a'), rowlock.prepare('b')"), "|");
    t_true(next_token(hand) > last);
}

TEST(p3_tokens_grow_in_subtransactions)
{
    void *hand = hand_fresh();
    long long last = next_token(hand), token;

    /* whoever lifts the numbers may do so beneath a savepoint, and take it back */
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
    t_true(token - last < 1000); /* and once lifted, they are */
}

/* ---- an older dump -------------------------------------------------------------------------------------- */

static const char *database(void)
{
    return strrchr(t_url(), '/') + 1;
}

static void restored(const char *dump_options, const char *before)
{
    void *hand = hand_fresh();
    long long last = next_token(hand);
    char file[200];

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
    /* technique insert has its table in public: leave that where it is */
    restored("-n rowlock", "DROP SCHEMA rowlock CASCADE");
}

TEST(p3_tokens_grow_after_the_restore_of_older_data)
{
    restored("-n rowlock --data-only --column-inserts -t rowlock.origin -t rowlock.number",
             "DELETE FROM rowlock.origin");
}

/* Between two statements of a restore somebody may be granted a lease. */
TEST(p3_tokens_grow_when_the_sequence_alone_goes_back)
{
    void *hand = hand_fresh();
    long long first = next_token(hand), last = first;

    hand_row(hand, "UPDATE rowlock.origin SET boot = NULL"); /* lifted here, after first */
    last = next_token(hand);
    t_true(last > first);
    hand_row(hand, "SELECT setval('rowlock.number', %lld)", first);
    t_true(next_token(hand) > last);
}

/* ---- servers that die -------------------------------------------------------------------------------------- */

static const char *start(const char *name, const char *options)
{
    static char url[200];

    snprintf(url, sizeof url, "%spostgres",
             extra_shell("start_postgresql %s %s >&2 && echo $server_admin", name, options));
    return url;
}

static void *install_at(const char *url)
{
    struct rowlock_plan plan = {.technique = t_facts()->code};
    struct rowlock_connection *connection = NULL;
    struct rowlock_want want = t_x("a");
    void *hand;

    t_ok(rowlock_open(url, NULL, &connection, &t_error));
    t_adopt(connection);
    t_ok(rowlock_install(connection, &plan, &t_error));
    t_ok(rowlock_prepare(connection, &want, 1, &t_error));
    t_close(connection);
    hand = t_engine()->open(url);
    t_true(hand != NULL);
    return hand;
}

static void *reopened(const char *url)
{
    void *hand = t_engine()->open(url);

    t_true(hand != NULL);
    return hand;
}

/* The postmaster, which takes its children along; what was not yet written to the log is lost. */
static void kill_server(const char *name)
{
    extra_shell("[ -n \"$(pgrep -P $(cat $ROWLOCK_TEST_FOLDER/%s/pid))\" ] && stop_server %s KILL",
                name, name);
}

TEST(p3_tokens_grow_when_the_server_is_killed)
{
    char name[40];
    long long held, last;
    void *hand;

    snprintf(name, sizeof name, "%s", extra_name("tokens"));
    hand = install_at(start(name, "-c wal_writer_delay=10s"));
    many_tokens(hand);
    held = hand_lease(hand, "a:x:0:0");
    /* tokens that nobody was granted may come again; those of a commit may not */
    hand_row(hand, "BEGIN; SELECT rowlock.next_number() FROM generate_series(1, 100); ROLLBACK");
    kill_server(name);
    t_engine()->close(hand);
    hand = reopened(start(name, ""));
    /* a lease that was granted is there */
    t_text(hand_row(hand, "SELECT status FROM rowlock.check_lease('a', %lld)", held), "0");
    t_int(hand_number(hand, "SELECT rowlock.release_lease(%lld)", held), 0);
    last = next_token(hand);
    t_true(last > held);
    t_true(many_tokens(hand) > last);
    t_engine()->close(hand);
    extra_stop(name);
}

static void until_replayed(void *primary, void *standby)
{
    char position[80];
    long long end = t_now() + 30000;

    snprintf(position, sizeof position, "%s", hand_row(primary, "SELECT pg_current_wal_lsn()"));
    while (strcmp(hand_row(standby, "SELECT pg_last_wal_replay_lsn() >= '%s'", position), "t") != 0)
        t_true(t_now() < end);
}

TEST(p3_tokens_grow_when_a_standby_that_lagged_is_promoted)
{
    char primary[40], standby[40], url[200];
    const char *refused;
    void *hand, *other;
    long long held, last;

    snprintf(primary, sizeof primary, "%s", extra_name("tokens-primary"));
    snprintf(standby, sizeof standby, "%s", extra_name("tokens-standby"));
    hand = install_at(start(primary, ""));
    next_token(hand);
    snprintf(
        url, sizeof url, "%spostgres",
        extra_shell("folder=$(server_folder %s \"$(server_user postgres)\") && "
                    "cd / && as_postgresql $(postgresql_program pg_basebackup) -D $folder/data "
                    "-R -X stream -c fast -h $ROWLOCK_TEST_FOLDER/%s "
                    "-p $(sed -n 4p $ROWLOCK_TEST_FOLDER/%s/data/postmaster.pid) -U postgres && "
                    "cd - >&2 && start_postgresql %s -c hot_standby=on && echo $server_admin",
                    standby, primary, primary, standby));
    other = reopened(url);
    held = hand_lease(hand, "a:x:0:0");
    until_replayed(hand, other);
    /* no lease is granted there, and none can be held valid */
    hand_start(other, "SELECT * FROM rowlock.grant_lease('%s', 'o', 1000, 0, 0, 0, '', 0, '', '')",
               hand_wants("a:x:0:0"));
    refused = hand_finish(other);
    t_true(strcmp(refused, "RL002") == 0 || strcmp(refused, "25006") == 0);
    t_int(hand_number(other, "SELECT status FROM rowlock.fence('a', %lld, 100)", held), 10);
    /* it is cut off; the primary goes on, then dies */
    extra_shell("stop_server %s", standby);
    t_engine()->close(other);
    t_int(hand_number(hand, "SELECT rowlock.release_lease(%lld)", held), 0);
    last = many_tokens(hand);
    extra_shell("stop_server %s QUIT", primary);
    t_engine()->close(hand);
    other = reopened(start(standby, "-c hot_standby=on"));
    hand_row(other, "SELECT pg_promote(true, 60)");
    /* it lags: the lease that was given back stands there */
    t_text(hand_row(other, "SELECT status FROM rowlock.check_lease('a', %lld)", held), "0");
    hand_row(other, "SELECT rowlock.break('a', 0, true)");
    t_true(next_token(other) > last);
    t_engine()->close(other);
    extra_stop(standby);
    extra_stop(primary);
}
