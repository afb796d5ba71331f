/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Traps of both servers: the session's settings, which a lock with a time limit changes meanwhile,
 * and a server that ends. postgresql_traps_test and mariadb_traps_test have those of one server.
 *
 * Runs on: postgresql mariadb
 * Quick: first
 * Rest: postgresql mariadb
 */
#include <stdlib.h>

#include "lib/extra.h"
#include "lib/reasons.h"
#include "lib/test.h"

/* ---- settings of the session ----------------------------------------------------------------- */

static void set_limits(struct rowlock_connection *connection)
{
    t_sql(connection, "%s",
          t_is_postgresql()
              ? "SET lock_timeout = '7s'"
              : "SET SESSION innodb_lock_wait_timeout = 7 /*M! , max_statement_time = 8.5 */");
}

static void has_its_limits(struct rowlock_connection *connection)
{
    const char *query =
        "SELECT CONCAT(@@innodb_lock_wait_timeout, ' ' /*M! , @@max_statement_time */)";

    t_text(t_sql(connection, "%s", t_is_postgresql() ? "SHOW lock_timeout" : query),
           t_is_postgresql() ? "7s"
           : t_is_mysql()    ? "7 "
                             : "7 8.500000");
}

/* New names each time: technique insert locks a used one together with its neighbours. */
static void limits_stay(struct rowlock_connection *connection, int first)
{
    struct rowlock_connection *holder = t_open();
    struct rowlock_want wants[] = {t_x(t_name(first)), t_x(t_name(first + 1)),
                                   t_x(t_name(first + 2))};

    set_limits(connection);
    t_ok(rowlock_prepare(connection, wants, 3, &t_error));
    has_its_limits(connection);
    t_ok(t_begin(holder, wants[2], T_TIMEOUT_MS));
    t_ok(t_begin(connection, wants[0], T_TIMEOUT_MS));
    has_its_limits(connection);
    t_ok(t_lock(connection, wants[1], -1));
    has_its_limits(connection);
    t_fails(t_lock(connection, wants[2], 0), EBUSY);
    has_its_limits(connection);
    t_fails(t_lock(connection, wants[2], 140), ETIMEDOUT);
    has_its_limits(connection);
    t_ok(rowlock_commit(connection, &t_error));
    has_its_limits(connection);
    t_fails(t_begin(connection, wants[2], 140), ETIMEDOUT);
    has_its_limits(connection);
    t_ok(rowlock_commit(holder, &t_error));
    t_own_begin(t_handle(connection), t_engine()->begin);
    t_ok(rowlock_lock(connection, wants, 2, T_TIMEOUT_MS, &t_error));
    has_its_limits(connection);
    t_ok(rowlock_commit(connection, &t_error));
    has_its_limits(connection);
}

/* On PostgreSQL set_config outlives RELEASE SAVEPOINT. */
TEST(trap_the_sessions_settings_are_as_they_were)
{
    void *handle;

    limits_stay(t_open(), 1);
    limits_stay(t_wrap(&handle, NULL), 4);
}

/* The time of each statement of the session from now on, in ms; 0: any. */
static void limit_statements(struct rowlock_connection *connection, int ms)
{
    if (t_is_postgresql())
        t_sql(connection, "SET statement_timeout = %d", ms);
    else
        t_sql(connection, "SET SESSION max_statement_time = %d.%03d", ms / 1000, ms % 1000);
}

/* Timeouts of the caller's session. In C rowlock's own timeout decides; in SQL the session's
   does. */
TEST(trap_the_sessions_own_time_outs)
{
    struct rowlock_connection *holder = t_open(), *own = t_open();
    struct rowlock_want want = t_x("limited"), before = t_x("before");
    struct thread *thread;
    void *session = t_native();

    if (t_is_mysql())
        t_not_here(WHY_MYSQL_TIME);
    t_ok(rowlock_prepare(own, &want, 1, &t_error));
    t_ok(t_begin(holder, want, 0));
    limit_statements(own, 1000);
    t_fails(t_begin(own, want, -1), ETIMEDOUT);
    t_left(NONE);
    /* what need not wait may take longer on a busy machine */
    limit_statements(own, 0);
    t_ok(t_begin(own, before, 0));
    limit_statements(own, 1000);
    t_fails(t_lock(own, want, -1), ETIMEDOUT);
    t_true(t_error.transaction == ROWLOCK_TX_KEPT ||
           (!t_is_postgresql() && t_error.transaction == ROWLOCK_TX_KEPT_LOCKED));
    limit_statements(own, 0);
    if (t_is_postgresql())
        t_text(t_sql(own, "SHOW lock_timeout"), "0");
    t_ok(rowlock_commit(own, &t_error));
    if (!t_is_postgresql())
        return;
    t_sql(own, "SET lock_timeout = '50ms'");
    thread = t_begin_thread(own, want, 60000);
    t_until_waiting(thread);
    t_native_sql(session, "SET lock_timeout = '50ms'");
    t_native_sql(session, "BEGIN");
    t_int(t_try_sql(session, "SELECT rowlock.exclusive('limited')"), 1);
    t_native_sql(session, "ROLLBACK");
    t_ok(rowlock_commit(holder, &t_error));
    t_ok(t_join(thread));
}

/* ---- a server that ends ---------------------------------------------------------------------- */

/* Starts it, or starts it again. MariaDB then rolls back the transactions of before its crash in
   the background; until then their rows are locked. */
static const char *start(const char *name)
{
    const char *url;

    if (t_is_postgresql())
        return extra_postgresql(name, "");
    url = extra_mariadb(name, "");
    extra_shell("tries=0; while " EXTRA_MARIADB_CLIENT "-e 'SHOW ENGINE INNODB STATUS' | "
                "grep -q 'recovered trx'; do tries=$((tries + 1)); [ $tries -lt 1000 ] || "
                "exit 1; sleep 0.02; done",
                name);
    return url;
}

static void until_one_waits(const char *name, struct rowlock_connection *idle)
{
    if (t_is_postgresql())
        t_until(atol(t_sql(idle, "SELECT count(*) FROM pg_stat_activity "
                                 "WHERE wait_event_type = 'Lock'")) > 0);
    else
        extra_shell("until " EXTRA_MARIADB_CLIENT "-e 'SHOW ENGINE INNODB STATUS' | "
                    "grep -q 'LOCK WAIT'; do sleep 0.01; done",
                    name);
}

TEST(p2_a_server_shut_down_or_killed_is_a_lost_transaction)
{
    static const char *const ends[][2] = {{"TERM", "KILL"}, {"INT", "QUIT"}};
    struct rowlock_connection *holder, *waiter, *idle;
    struct rowlock_want want = t_x("there");
    const char *name = extra_name("killed"), *url = start(name);
    struct thread *thread;

    t_install_at(url);
    for (int i = 0; i < 2; i++) {
        holder = t_open_at(url, NULL);
        waiter = t_open_at(url, NULL);
        idle = t_open_at(url, NULL);
        t_ok(rowlock_prepare(idle, &want, 1, &t_error));
        t_ok(t_begin(holder, want, 0));
        thread = t_begin_thread(waiter, want, -1);
        until_one_waits(name, idle);
        extra_shell("stop_server %s %s", name, ends[t_is_postgresql()][i]);
        t_fails(t_join(thread), ECONN);
        t_left(DEAD);
        t_fails(t_lock(holder, t_x("another"), 0), ECONN);
        t_left(DEAD);
        /* COMMIT was not sent, so its outcome is known */
        t_fails(rowlock_commit(holder, &t_error), ECONN);
        t_fails(t_begin(idle, want, 0), ECONN);
        t_fails(rowlock_ping(idle, &t_error), ECONN);
        t_close(holder);
        t_close(waiter);
        t_close(idle);
        url = start(name);
        idle = t_open_at(url, NULL);
        t_ok(t_begin(idle, want, 0));           /* no lock survived */
        t_ok(rowlock_rollback(idle, &t_error)); /* after a close it may take a while */
        t_close(idle);
    }
    extra_stop(name);
}
