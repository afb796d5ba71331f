/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Leases on a MariaDB server of the test's own: DDL that ends another session's wait, tokens
 * through a crash and a restored dump, and a load of grants and releases, under which InnoDB may
 * not report a deadlock.
 *
 * Runs on: mariadb/row
 */
#include <mysql.h>
#include <stdatomic.h>
#include <stdio.h>

#include "lib/extra.h"
#include "lib/grants.h"
#include "lib/hand.h"
#include "lib/test.h"

/* ---- a server of the test's own -------------------------------------------------------------- */

static char url[200];

static void start(const char *name, const char *options)
{
    snprintf(url, sizeof url, "%s", extra_mariadb(name, options));
    extra_shell(EXTRA_MARIADB_CLIENT "-e 'GRANT PROCESS ON *.* TO rowlock'", name);
    t_install_at(url);
}

/* Acquires a name and releases it at once; returns the token. */
static long long pass(void *hand)
{
    long long token = hand_lease(hand, "a:x:0:0");

    hand_release(hand, token);
    return token;
}

/* ---- DDL ------------------------------------------------------------------------------------- */

static int has_state(void *observer, void *hand, const char *state)
{
    return hand_number(observer,
                       "SELECT count(*) FROM " T_PROCESSLIST " WHERE id = %lu AND state = '%s'",
                       mysql_thread_id(hand), state) > 0;
}

/* The writer has mysql.proc locked until the observer releases the lock 'out'. */
static void lock_texts(void *writer, void *observer)
{
    hand_number(observer, "SELECT GET_LOCK('out', 0)");
    hand_start(writer, "UPDATE mysql.proc SET db = db "
                       "WHERE GET_LOCK('in', 0) = 1 AND GET_LOCK('out', 150) = 2");
    t_until(hand_number(observer, "SELECT COALESCE(IS_USED_LOCK('in'), 0)") > 0);
}

static void unlock_texts(void *writer, void *observer)
{
    hand_number(observer, "SELECT RELEASE_LOCK('out')");
    hand_finish(writer);
    hand_number(writer, "SELECT RELEASE_ALL_LOCKS()");
}

/* Starts DDL that ends the session's wait; the next statement of that session ends its HANDLER, and
   so lets the DDL end. */
static void end_wait(void *altering, void *waiting, void *observer, int n)
{
    t_until(has_state(observer, waiting, "Waiting for table level lock"));
    hand_start(altering, "ALTER TABLE scanned ADD COLUMN m%d INTEGER", n);
    t_until(has_state(observer, altering, "Waiting for table metadata lock") ||
            hand_number(observer,
                        "SELECT count(*) FROM information_schema.columns "
                        "WHERE table_schema = database() AND column_name = 'm%d'",
                        n) > 0);
}

/* A session's first call of a procedure reads its text from mysql.proc, and there waits for a
   session that creates one. DDL of a third session ends that wait by an error, if it needs a table
   that the first has open, here by HANDLER. The calls wait without a limit: a try that was ended
   once is repeated for 250 ms, and on a busy machine the writer may take longer. */
TEST(p5_ddl_that_ends_the_wait_for_a_procedures_text)
{
    enum { ACQUIRE, BEGIN, LOCK, CALLS };
    void *writer, *altering, *observer;
    const char *name = extra_name("ddl");

    if (t_is_mysql())
        t_not_here(WHY_MYSQL_PROC);
    start(name, "");
    extra_shell(EXTRA_MARIADB_CLIENT "-e 'GRANT SELECT, UPDATE ON mysql.proc TO rowlock'", name);
    writer = t_native_at(url), altering = t_native_at(url), observer = t_native_at(url);
    hand_row(observer, "CREATE TABLE scanned (n INTEGER) ENGINE = InnoDB");
    for (int call = ACQUIRE; call < CALLS; call++) {
        struct acquisition acquisition = {.wants = {t_x("text")}, .wait_ms = -1, .ttl_ms = 60000};
        struct rowlock_connection *borrowed;
        void *handle = t_native_at(url);
        struct thread *thread;

        borrowed = t_wrap_handle(handle, NULL);
        hand_row(handle, "HANDLER scanned OPEN");
        if (call == LOCK)
            t_own_begin(handle, t_engine()->begin);
        lock_texts(writer, observer);
        thread = call == ACQUIRE ? t_acquire_thread(borrowed, &acquisition)
                 : call == BEGIN ? t_begin_thread(borrowed, t_x("text"), -1)
                                 : t_lock_thread(borrowed, t_x("text"), -1);
        end_wait(altering, handle, observer, call);
        unlock_texts(writer, observer);
        if (call == LOCK) { /* what it had locked before the error stays locked */
            t_fails(t_join(thread), EABORTED);
            t_left(KEPT_LOCKED);
        } else {
            t_ok(t_join(thread));
        }
        if (call == ACQUIRE)
            t_give(acquisition.lease);
        else
            t_ok(rowlock_rollback(borrowed, &t_error));
        hand_row(handle, "HANDLER scanned CLOSE");
        t_text(hand_finish(altering), "(none)");
        t_close(borrowed);
        t_engine()->close(handle);
    }
    t_engine()->close(writer);
    t_engine()->close(altering);
    t_engine()->close(observer);
    extra_stop(name);
}

/* ---- tokens ---------------------------------------------------------------------------------- */

TEST(p3_tokens_grow_through_a_killed_server_and_an_older_dump)
{
    const char *name = extra_name("tokens");
    long long before = 0, last = 0;
    void *hand = NULL;

    for (int i = 0; i < 2; i++) {
        if (i) {
            extra_shell("stop_server %s KILL", name);
            t_engine()->close(hand);
        }
        start(name, "--innodb-flush-log-at-trx-commit=1");
        hand = t_native_at(url);
        for (int j = 0; j < 20; j++) {
            long long token = pass(hand);

            t_true(token > last);
            last = token;
        }
    }
    before = last;
    extra_shell("dump=mariadb-dump; [ -z \"${MYSQL_BIN:-}\" ] || dump=$MYSQL_BIN/mysqldump; "
                "$dump --no-defaults --socket=$ROWLOCK_TEST_FOLDER/%s/socket -u root "
                "--routines test_1 >$ROWLOCK_TEST_FOLDER/%s/dump.sql",
                name, name);
    for (int i = 0; i < 1200; i++)
        last = pass(hand);
    t_true(last > before + 1000);
    extra_shell(EXTRA_MARIADB_CLIENT "test_1 <$ROWLOCK_TEST_FOLDER/%s/dump.sql", name, name);
    if (!t_is_mysql()) /* where the statistics of the table may be old */
        t_true(hand_number(hand, "SELECT next_not_cached_value FROM rowlock_token") < last);
    t_true(pass(hand) > last);
    /* and the restored schema works: queue, list and all */
    hand_queue(hand, "a:x:0:0", 1);
    t_contains(hand_row(hand, "CALL rowlock_list('a')"), "waiting|a|exclusive|");
    t_engine()->close(hand);
    extra_stop(name);
}

/* ---- a load ---------------------------------------------------------------------------------- */

enum { CLIENTS = 8 };

struct load {
    int names;
    long long end;
    atomic_int granted;
};

#define FEWEST 20 /* grants, on however busy a machine */

/* Each is one call of a procedure. The library repeats a call that was a deadlock's victim, so only
   the server's counter shows it. */
static int try_and_release(struct rowlock_connection *connection, void *data,
                           struct rowlock_error *error)
{
    struct load *load = data;
    struct rowlock_terms terms = {.ttl_ms = 60000};
    unsigned dice = (unsigned)t_engine()->session(t_handle(connection));
    int code = ROWLOCK_OK;

    while (!code && (t_now() < load->end || atomic_load(&load->granted) <= FEWEST)) {
        struct rowlock_lease *lease = NULL;
        struct rowlock_want want;
        char name[40];

        snprintf(name, sizeof name, "load %d", rand_r(&dice) % load->names);
        want = rand_r(&dice) % 3 ? t_x(name) : t_s(name);
        code = rowlock_acquire(connection, &want, 1, &terms, &lease, error);
        if (code == ROWLOCK_EBUSY) {
            code = ROWLOCK_OK;
        } else if (!code) {
            atomic_fetch_add(&load->granted, 1);
            code = rowlock_release(lease, error);
            rowlock_lease_free(lease);
        }
    }
    return code;
}

static long long deadlocks(void *hand)
{
    return hand_number(hand, t_is_mysql()
                                 ? "SELECT count FROM information_schema.innodb_metrics "
                                   "WHERE name = 'lock_deadlocks'"
                                 : "SELECT variable_value FROM information_schema.global_status "
                                   "WHERE variable_name = 'INNODB_DEADLOCKS'");
}

static void run_load(void *hand, struct rowlock_connection **clients, int names)
{
    static struct load load; /* the threads may outlive a failed test */
    struct thread *threads[CLIENTS];
    long long before = deadlocks(hand);

    load = (struct load){.names = names, .end = t_now() + 1500};
    for (int i = 0; i < CLIENTS; i++)
        threads[i] = t_thread(clients[i], try_and_release, &load);
    for (int i = 0; i < CLIENTS; i++)
        t_ok(t_join(threads[i]));
    print_message("# %d names: %d grants\n", names, atomic_load(&load.granted));
    t_int(deadlocks(hand) - before, 0);
    t_text(t_all_rows(hand), NO_ROWS);
}

TEST(c3_mixed_load_without_a_deadlock)
{
    struct rowlock_connection *clients[CLIENTS];
    const char *name = extra_name("load");
    void *hand;

    start(name, "");
    hand = t_native_at(url);
    for (int i = 0; i < CLIENTS; i++)
        clients[i] = t_open_at(url, NULL);
    run_load(hand, clients, 1);
    run_load(hand, clients, 3);
    run_load(hand, clients, 100);
    for (int i = 0; i < CLIENTS; i++)
        t_close(clients[i]);
    t_engine()->close(hand);
    extra_stop(name);
}
