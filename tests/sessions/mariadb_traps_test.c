/* SPDX-License-Identifier: Apache-2.0 */
/*
 * InnoDB's traps, one test each: behaviour of the server that breaks a naive lock, and how rowlock
 * handles it.
 *
 * Runs on: mariadb
 * Quick: first
 * Rest: mariadb
 */
#include <mysql.h>
#include <string.h>

#include "lib/extra.h"
#include "lib/grants.h"
#include "lib/harness.h"
#include "lib/lease.h"
#include "lib/test.h"

/* ---- timeouts -------------------------------------------------------------------------------- */

/* The reported state of the transaction must be true: another session tries to lock what it
   should hold. */
static void expect_truth(struct rowlock_connection *waiter, struct rowlock_connection *other,
                         struct rowlock_want earlier, int code)
{
    enum rowlock_transaction left = t_error.transaction;
    int held = rowlock_begin(other, &earlier, 1, 0, NULL) == ROWLOCK_EBUSY;

    rowlock_rollback(other, NULL);
    if (code == ROWLOCK_EROLLEDBACK || left == ROWLOCK_TX_GONE) {
        t_int(held, 0);
        t_int(left, ROWLOCK_TX_GONE);
        return;
    }
    /* technique insert cannot try without a timeout there, and reports that */
    t_true(code == ROWLOCK_ETIMEDOUT || code == ROWLOCK_EBUSY ||
           (code == ROWLOCK_EMODE && t_facts()->code == ROWLOCK_INSERT));
    t_true(left == ROWLOCK_TX_KEPT || left == ROWLOCK_TX_KEPT_LOCKED);
    t_int(held, 1);
    t_int(t_engine()->in_transaction(t_handle(waiter)), 1);
}

/* A lock of the caller's transaction survives the sweep of an expired lease, even if the history
   cannot be written. In SQL, because the library sweeps in a second session. A break, which waits
   for the history for a second, ends its lease. */
static void sweep_while_history_is_locked(struct rowlock_connection *session[3])
{
    struct rowlock_lease *lease, *revoked;
    int64_t broken = 0;

    t_ok(t_acquire(session[0], t_x("expired"), 60000, 0, &lease));
    t_sql(session[0], "UPDATE rowlock_name SET expires = utc_timestamp(6) - INTERVAL 1 HOUR "
                      "WHERE name = 'expired'");
    t_sql(session[2], "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ");
    t_sql(session[2], "START TRANSACTION");
    t_sql(session[2], "SELECT count(*) FROM rowlock_history WHERE ended > '2000-01-01' FOR UPDATE");
    t_ok(t_begin(session[1], t_x("before"), 0));
    t_sql(session[1], "CALL rowlock_exclusive('expired')");
    t_int(t_engine()->in_transaction(t_handle(session[1])), 1);
    t_int(t_begin(session[0], t_x("before"), 0), ROWLOCK_EBUSY);
    t_left(NONE);
    t_ok(t_acquire(session[0], t_x("revoked"), 60000, 0, &revoked));
    t_ok(rowlock_break(session[0], "revoked", 0, 1, &broken, &t_error));
    t_int(broken, 1);
    t_text(t_sql(session[0], "SELECT count(*) FROM rowlock_held WHERE name = 'revoked'"), "0");
    t_sql(session[2], "ROLLBACK");
    rowlock_lease_free(revoked);
    t_ok(rowlock_commit(session[1], &t_error));
    rowlock_release(lease, NULL);
    rowlock_lease_free(lease);
}

/* The first transaction with the token of a lease inserts a row, for which a second one waits; even
   a try, for which the timeout is 0. */
static void try_beneath_a_lease(struct rowlock_connection *session[3])
{
    struct rowlock_lease *lease;
    struct rowlock_want want = t_x("leased"), earlier = t_x("before the try");
    int code;

    t_ok(t_acquire(session[0], want, 60000, 0, &lease));
    want.token = rowlock_token(lease);
    t_ok(t_begin(session[0], want, 0));
    t_ok(t_begin(session[1], earlier, 0));
    code = t_lock(session[1], want, 0);
    expect_truth(session[1], session[2], earlier, code);
    t_ok(rowlock_rollback(session[1], &t_error));
    t_ok(rowlock_commit(session[0], &t_error));
    rowlock_release(lease, NULL);
    rowlock_lease_free(lease);
}

TEST(p11_trap_innodb_rollback_on_timeout)
{
    static const rowlock_duration waits[] = {0, 300, 1200};
    struct rowlock_connection *session[3];
    const char *name = extra_name("rollback-on-timeout");
    const char *url = extra_mariadb(name, "--innodb-rollback-on-timeout=ON");

    t_install_at(url);
    for (int i = 0; i < 3; i++)
        session[i] = t_open_at(url, NULL);
    for (int i = 0; i < 3; i++) {
        /* new names each time: technique insert locks a used one together with its neighbours */
        static const char *const names[] = {"held 1",    "earlier 1", "held 2",
                                            "earlier 2", "held 3",    "earlier 3"};
        struct rowlock_want held = t_x(names[2 * i]), earlier = t_x(names[2 * i + 1]);
        int code;

        t_ok(t_begin(session[0], held, 0));
        t_ok(t_begin(session[1], earlier, 0));
        code = t_lock(session[1], held, waits[i]);
        expect_truth(session[1], session[2], earlier, code);
        t_ok(rowlock_rollback(session[1], &t_error));
        t_int(t_begin(session[1], held, waits[i]),
              waits[i] == 0 ? ROWLOCK_EBUSY : ROWLOCK_ETIMEDOUT);
        t_left(NONE);
        t_ok(rowlock_commit(session[0], &t_error));
        t_lock_once(session[1], held, 0);
    }
    if (t_facts()->code != ROWLOCK_INSERT) /* which cannot try there */
        sweep_while_history_is_locked(session);
    if (t_facts()->code == ROWLOCK_ROW)
        try_beneath_a_lease(session);
    for (int i = 0; i < 3; i++)
        t_close(session[i]);
    extra_stop(name);
}

/* MariaDB 10.11: a SKIP LOCKED that meets a locked row is the error 1180 then. */
TEST(p11_trap_a_limit_of_0_for_row_locks)
{
    struct rowlock_connection *holder = t_open(), *own = t_open();
    struct rowlock_want busy = t_x("busy"), before = t_x("before");
    MYSQL *mysql = t_handle(own);

    if (t_facts()->code != ROWLOCK_ROW) /* technique insert skips no locked row */
        return;
    t_ok(rowlock_prepare(own, &busy, 1, &t_error));
    t_ok(t_begin(holder, busy, 0));
    t_ok(t_begin(own, before, 0));
    t_sql(own, "SET SESSION innodb_lock_wait_timeout = %d", t_is_mysql() ? 1 : 0); /* the least */
    t_true(mysql_query(mysql, "CALL rowlock_exclusive('busy')") != 0);
    t_int(mysql_errno(mysql), 1205);
    t_true(mysql_query(mysql, "CALL rowlock_shared('busy')") != 0);
    t_int(mysql_errno(mysql), 1205);
    t_int(t_engine()->in_transaction(mysql), 1);
    t_ok(rowlock_commit(own, &t_error));
}

/* ---- locks that a rollback to a savepoint undoes --------------------------------------------- */

TEST(p11_trap_rollback_to_a_savepoint_keeps_row_locks)
{
    struct rowlock_connection *one, *two = t_open();
    struct rowlock_want want = t_x("savepoint");
    void *handle;

    if (t_facts()->code != ROWLOCK_ROW)
        return;
    one = t_wrap(&handle, NULL);
    t_ok(rowlock_prepare(one, &want, 1, &t_error));
    t_sql(two, "CREATE TABLE part (n INTEGER) ENGINE = InnoDB");
    t_own_begin(handle, t_engine()->begin);
    /* InnoDB is part of the transaction before the savepoint */
    t_native_sql(handle, "INSERT INTO part VALUES (1)");
    t_native_sql(handle, "SAVEPOINT earlier");
    t_ok(t_lock(one, want, 0));
    t_native_sql(handle, "ROLLBACK TO SAVEPOINT earlier");
    t_fails(t_begin(two, want, 0), EBUSY);
    t_native_sql(handle, "COMMIT");
    t_ok(t_begin(two, want, 0));
}

/* ---- isolation levels ------------------------------------------------------------------------ */

TEST(p2_trap_innodbs_default_level_on_a_borrowed_handle)
{
    static const char *const levels[] = {"REPEATABLE READ", "SERIALIZABLE"};
    struct rowlock_connection *borrowed, *holder = t_open();
    struct rowlock_want want = t_x("level");
    void *handle;

    for (int i = 0; i < 2; i++) {
        borrowed = t_wrap(&handle, NULL);
        t_native_sql(handle, "SET SESSION TRANSACTION ISOLATION LEVEL %s", levels[i]);
        t_ok(rowlock_prepare(borrowed, &want, 1, &t_error));
        t_native_sql(handle, "START TRANSACTION");
        t_fails(t_lock(borrowed, want, 0), ESNAPSHOT);
        t_contains(t_error.text, "READ COMMITTED");
        t_int(t_engine()->in_transaction(handle), 1);
        t_native_sql(handle, "SELECT count(*) FROM %s", lease_table());
        t_fails(t_lock(borrowed, want, 500), ESNAPSHOT);
        t_native_sql(handle, "ROLLBACK");
        t_ok(t_begin(borrowed, want, 0));
        t_text(t_native_sql(handle, "SELECT @@%s",
                            t_is_mysql() ? "transaction_isolation" : "tx_isolation"),
               "READ-COMMITTED");
        t_fails(t_begin(holder, want, 0), EBUSY);
        t_ok(rowlock_commit(borrowed, &t_error));
        t_native_sql(handle, "SET SESSION TRANSACTION ISOLATION LEVEL %s", levels[i]);
        t_native_sql(handle, "START TRANSACTION");
        t_int(t_try_sql(handle, "CALL rowlock_exclusive('level')"), 1);
        t_native_sql(handle, "ROLLBACK");
    }
}

TEST(trap_a_read_only_transaction)
{
    struct rowlock_connection *borrowed, *other = t_open();
    struct rowlock_want want = t_x("read only");
    void *hand = t_native(), *handle;
    int code;

    borrowed = t_wrap(&handle, NULL);
    t_ok(rowlock_prepare(borrowed, &want, 1, &t_error));
    lease_put(hand, 9101, want.name, "exclusive", -1000);
    t_native_sql(handle, "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED");
    t_native_sql(handle, "START TRANSACTION READ ONLY");
    code = t_lock(borrowed, want, 0);
    t_true(code == ROWLOCK_EBUSY || code == ROWLOCK_ESERVER);
    t_int(t_engine()->in_transaction(handle), 1); /* P11 */
    t_native_sql(handle, "SELECT 1");
    t_native_sql(handle, "COMMIT");
    t_int(lease_rows(hand, 9101), 1);
    t_ok(t_begin(other, want, 0));
}

/* ---- the client library's flags -------------------------------------------------------------- */

TEST(trap_client_found_rows_is_off_on_a_borrowed_handle)
{
    struct rowlock_connection *borrowed, *other = t_open();
    void *hand = t_native(), *handle;
    struct rowlock_want want = t_x("found rows");

    borrowed = t_wrap(&handle, NULL);
    for (int i = 0; i < 3; i++) {
        t_ok(rowlock_prepare(borrowed, &want, 1, &t_error));
        t_ok(rowlock_prepare(borrowed, &want, 1, &t_error));
        lease_put(hand, 9200 + i, want.name, "exclusive", -1000);
        t_own_begin(handle, t_engine()->begin);
        t_ok(t_lock(borrowed, want, T_TIMEOUT_MS));
        t_ok(t_lock(borrowed, want, T_TIMEOUT_MS));
        t_fails(t_begin(other, want, 0), EBUSY);
        t_ok(rowlock_commit(borrowed, &t_error));
        t_int(lease_rows(hand, 9200 + i), 0);
    }
}

TEST(trap_nothing_is_left_prepared_on_a_borrowed_handle)
{
    struct rowlock_connection *borrowed;
    void *handle;

    borrowed = t_wrap(&handle, NULL);
    for (int i = 0; i < 5; i++) {
        t_ok(t_begin(borrowed, t_x("not prepared"), T_TIMEOUT_MS));
        t_ok(t_lock(borrowed, t_x("not prepared"), 0));
        t_ok(rowlock_commit(borrowed, &t_error));
    }
    if (t_is_mysql())
        t_text(t_native_sql(t_admin(),
                            "SELECT count(*) FROM performance_schema.prepared_statements_instances "
                            "p JOIN performance_schema.threads t ON t.thread_id = "
                            "p.owner_thread_id WHERE t.processlist_id = %ld",
                            t_engine()->session(handle)),
               "0");
    else
        t_text(t_native_sql(handle, "SELECT SUM(IF(variable_name = 'COM_STMT_PREPARE', 1, -1) * "
                                    "variable_value) FROM information_schema.session_status WHERE "
                                    "variable_name IN ('COM_STMT_PREPARE', 'COM_STMT_CLOSE')"),
               "0");
    for (int i = 0; i < 5; i++) {
        t_int(mysql_reset_connection(handle), 0);
        t_lock_once(borrowed, t_x("not prepared"), T_TIMEOUT_MS);
    }
}

/* Without the privilege PROCESS the first answer is empty, and a second one follows. */
TEST(trap_the_holder_is_named_when_the_wait_was_too_short_to_look)
{
    struct rowlock_connection *own = t_open();
    void *hand = t_native();

    lease_put(hand, 9301, "too short", "exclusive", 600000);
    for (int i = 0; i < 20; i++) {
        t_fails(t_begin(own, t_x("too short"), 1), ETIMEDOUT);
        t_contains(t_error.text, "elsewhere");
        t_contains(t_error.text, "4711");
    }
}

/* ---- servers that cannot hold a lock --------------------------------------------------------- */

static void end_read_only(const struct rowlock_error *why, void *data)
{
    t_contains(why->text, "read-only");
    extra_shell(EXTRA_MARIADB_CLIENT "-e 'SET GLOBAL read_only = 0'", (const char *)data);
}

/* A former primary keeps its sessions. They are left for new ones, which may find its successor. */
TEST(trap_a_primary_that_has_become_read_only)
{
    const char *name = extra_name("demoted"), *url = extra_mariadb(name, "");
    struct rowlock_connection *own, *waiter;
    struct rowlock_want want = t_x("kept"), other = t_x("other");
    struct rowlock_terms waits = {
        .ttl_ms = 60000, .wait_ms = -1, .on_disconnect = end_read_only, .data = (void *)name};
    struct rowlock_lease *lease, *second = NULL;

    t_install_at(url);
    own = t_open_at(url, NULL);
    waiter = t_open_at(url, NULL);
    lease = t_granted(own, want, 60000);
    t_ok(t_acquire(waiter, other, 60000, 0, &second));
    t_ok(rowlock_release(second, &t_error));
    rowlock_lease_free(second);
    extra_shell(EXTRA_MARIADB_CLIENT "-e 'SET GLOBAL read_only = 1'", name);
    t_fails(t_acquire(waiter, other, 60000, 0, &second), ESERVER); /* a try ends */
    t_fails(rowlock_renew(lease, 0, &t_error), ESERVER);
    t_true(rowlock_remaining(lease) > 0);
    t_ok(rowlock_acquire(waiter, &other, 1, &waits, &second, &t_error)); /* a waiter waits */
    t_ok(rowlock_renew(lease, 0, &t_error));
    t_ok(rowlock_release(second, &t_error));
    rowlock_lease_free(second);
    t_close(waiter);
    rowlock_lease_free(lease);
    t_close(own);
    extra_stop(name);
}

TEST(trap_tables_that_are_read_only)
{
    const char *name = extra_name("frozen"), *url = extra_mariadb(name, "");
    struct rowlock_connection *connection = NULL;

    t_install_at(url);
    url = t_say("%stest_1", extra_shell("stop_server %s; start_mariadb %s --innodb-read-only && "
                                        "echo $server_url",
                                        name, name));
    t_fails(rowlock_open(url, NULL, &connection, &t_error), ESERVER);
    t_contains(t_error.text, "read-only");
    extra_stop(name);
}

static void refused(const char *url, const char *reason)
{
    struct rowlock_connection *connection = NULL;
    struct rowlock_lease *none = NULL;
    void *handle;

    t_fails(rowlock_open(url, NULL, &connection, &t_error), ESERVER);
    t_contains(t_error.text, reason);
    handle = t_native_at(url);
    connection = t_wrap_handle(handle, NULL);
    t_fails(t_begin(connection, t_x("refused"), 0), ESERVER);
    t_contains(t_error.text, reason);
    t_fails(t_acquire(connection, t_x("refused"), 0, 0, &none), ESERVER);
    t_contains(t_error.text, reason);
    /* refused without waiting */
    t_fails(t_acquire(connection, t_x("refused"), 0, 60000, &none), ESERVER);
    t_contains(t_error.text, reason);
    t_true(none == NULL);
    t_own_begin(handle, t_engine()->begin);
    t_fails(t_lock(connection, t_x("refused"), 0), ESERVER);
    t_contains(t_error.text, reason);
    t_fails(rowlock_fence(connection, "refused", 1, &t_error), ESERVER);
    t_contains(t_error.text, reason);
    t_close(connection);
    t_engine()->close(handle);
}

TEST(trap_a_read_only_server_and_a_galera_node)
{
    const char *name = extra_name("refuses"), *url = extra_mariadb(name, "");
    const char *node;

    t_install_at(url);
    extra_shell(EXTRA_MARIADB_CLIENT "-e 'SET GLOBAL read_only = 1'", name);
    refused(url, "read-only");
    if (t_is_mysql()) {
        extra_stop(name);
        t_not_here(WHY_MYSQL_GALERA);
    }
    if (strcmp(extra_shell("test -e /usr/lib/galera/libgalera_smm.so && echo yes || echo no"),
               "yes") != 0)
        t_fail(__FILE__, __LINE__, "package galera-4 is not installed");
    node =
        t_say("%stest_1",
              extra_shell("stop_server %s; port=$(free_port); start_mariadb %s --wsrep-on=ON "
                          "--binlog-format=ROW --wsrep-provider=/usr/lib/galera/libgalera_smm.so "
                          "--wsrep-cluster-address=gcomm:// --wsrep-node-address=127.0.0.1:$port "
                          "--wsrep-new-cluster --wsrep-provider-options=\"gmcast.listen_addr=tcp://"
                          "127.0.0.1:$port;base_port=$port;gcache.size=16M\" && echo $server_url",
                          name, name));
    refused(node, "a Galera node");
    extra_stop(name);
}
