/* SPDX-License-Identifier: Apache-2.0 */
/*
 * States of the transaction that MariaDB's client library does not report: it reports none after an
 * error, and with autocommit off any statement begins a transaction.
 *
 * Runs on: mariadb
 * Quick: first
 */
#include <mysql.h>
#include <string.h>

#include "lib/grants.h"
#include "lib/test.h"

static const char *rows(void *handle)
{
    return t_native_sql(handle, "SELECT count(*) FROM work");
}

/* Begins the caller's transaction, writes one row in it, and fails in a way that leaves it open. */
static void begin_and_err(void *handle)
{
    t_native_sql(handle, "START TRANSACTION");
    t_native_sql(handle, "INSERT INTO work VALUES (1, 0)");
    t_int(t_try_sql(handle, "INSERT INTO work VALUES (1, 0)"), 1);
}

TEST(p11_trap_an_error_of_the_callers_hides_his_transaction)
{
    void *handle;
    struct rowlock_connection *own = t_wrap(&handle, NULL);
    struct rowlock_want want = t_x("hidden");

    t_native_sql(handle, "CREATE TABLE work (n INTEGER PRIMARY KEY, m INTEGER) ENGINE = InnoDB");
    for (int i = 0; i < 5; i++) {
        begin_and_err(handle);
        switch (i) {
        case 0:
            t_fails(t_begin(own, want, -1), EINTX);
            break;
        case 1:
            t_fails(rowlock_prepare(own, &want, 1, &t_error), EINTX);
            break;
        case 2:
            t_fails(rowlock_vacuum(own, NULL, &t_error), EINTX);
            break;
        case 3:
            t_fails(rowlock_install(own, NULL, &t_error), EINTX);
            break;
        case 4:
            t_fails(rowlock_uninstall(own, &t_error), EINTX);
            break;
        }
        t_left(KEPT);
        t_text(rows(handle), "1");
        t_native_sql(handle, "ROLLBACK");
        t_text(rows(handle), "0"); /* it was not committed either */
    }
    begin_and_err(handle);
    t_ok(rowlock_commit(own, &t_error));
    t_text(rows(handle), "1");
}

static int update_the_other_row(struct rowlock_connection *connection, void *data,
                                struct rowlock_error *error)
{
    (void)data;
    error->code = t_try_sql(t_handle(connection), "UPDATE pair SET m = m + 1 WHERE n = 1");
    return error->code;
}

TEST(p11_trap_commit_says_ok_to_a_victim)
{
    void *handle;
    struct rowlock_connection *victim = t_wrap(&handle, NULL), *other = t_open();
    struct thread *thread;

    t_native_sql(handle, "CREATE TABLE pair (n INTEGER PRIMARY KEY, m INTEGER) ENGINE = InnoDB");
    t_native_sql(handle, "INSERT INTO pair VALUES (1, 0), (2, 0)");
    t_ok(t_begin(victim, t_x("the victim's"), -1));
    t_native_sql(handle, "UPDATE pair SET m = m + 1 WHERE n = 1");
    /* InnoDB chooses the transaction with fewer changes */
    t_sql(other, "START TRANSACTION");
    t_sql(other, "INSERT INTO pair VALUES (3, 0), (4, 0), (5, 0), (6, 0), (7, 0)");
    t_sql(other, "UPDATE pair SET m = m + 1 WHERE n = 2");
    thread = t_thread(other, update_the_other_row, NULL);
    t_until_waiting(thread);
    t_int(t_try_sql(handle, "UPDATE pair SET m = m + 1 WHERE n = 2"), 1);
    t_contains(t_sql_error, "Deadlock");
    t_fails(rowlock_commit(victim, &t_error), EROLLEDBACK);
    t_left(GONE);
    t_ok(t_join(thread));
    t_ok(rowlock_commit(other, &t_error));
    t_fails(rowlock_commit(victim, &t_error), ENOTX);
}

TEST(p11_trap_ddl_that_fails_has_committed)
{
    void *handle;
    struct rowlock_connection *own = t_wrap(&handle, NULL);

    t_ok(t_begin(own, t_x("committed"), -1));
    t_int(t_try_sql(handle, "CREATE TABLE rowlock_meta (n INTEGER)"), 1);
    t_fails(rowlock_commit(own, &t_error), ENOTX);
    t_left(NONE);
}

TEST(p11_trap_a_result_that_is_not_fetched)
{
    void *handle;
    struct rowlock_connection *own = t_wrap(&handle, NULL);
    struct rowlock_want want = t_x("pending");

    for (int open = 0; open < 2; open++) {
        if (open)
            t_ok(t_begin(own, want, -1));
        t_int(mysql_query(handle, "SELECT 1"), 0);
        t_fails(open ? t_lock(own, want, 0) : t_begin(own, want, -1), EINVAL);
        t_contains(t_error.text, "pending");
        t_int(t_error.transaction, open ? ROWLOCK_TX_KEPT : ROWLOCK_TX_NONE);
        if (!open)
            t_fails(rowlock_prepare(own, &want, 1, &t_error), EINVAL);
        if (open) {
            t_fails(rowlock_commit(own, &t_error), EINVAL);
            t_fails(rowlock_rollback(own, &t_error), EINVAL);
        }
        mysql_free_result(mysql_store_result(handle));
        t_text(t_native_sql(handle, "SELECT 2"), "2");
    }
    t_ok(rowlock_commit(own, &t_error));
}

TEST(p11_trap_autocommit_off)
{
    void *handle;
    struct rowlock_connection *holder = t_open(), *own = t_wrap(&handle, NULL);
    struct rowlock_want want = t_x("not committed by itself");

    t_native_sql(handle, "SET autocommit = 0");
    t_ok(rowlock_prepare(own, &want, 1, &t_error));
    t_int(t_engine()->in_transaction(handle), 0);
    t_ok(t_begin(holder, want, -1));
    for (int i = 0; i < 2; i++) {
        t_fails(t_begin(own, want, 0), EBUSY);
        t_int(t_engine()->in_transaction(handle),
              0); /* the search for the holder ended its own transaction */
    }
    t_fails(t_begin(own, want, 50), ETIMEDOUT);
    t_int(t_engine()->in_transaction(handle), 0);
    t_ok(rowlock_commit(holder, &t_error));
    t_ok(rowlock_vacuum(own, NULL, &t_error));
    t_ok(t_begin(own, want, -1));
    t_fails(t_begin(holder, want, 0), EBUSY);
    t_ok(rowlock_commit(own, &t_error));
    t_ok(t_begin(holder, want, 0));
    t_text(t_native_sql(handle, "SELECT @@autocommit"), "0");
}

/* ---- completion_type ------------------------------------------------------------------------- */

static void nothing_is_open(void *handle)
{
    t_int(t_engine()->in_transaction(handle), 0);
}

static void use_locks(struct rowlock_connection *own, void *handle)
{
    struct rowlock_connection *other = t_open();
    struct rowlock_want want = t_x("completed");

    t_lock_once(own, want, -1);
    nothing_is_open(handle);
    t_ok(t_begin(own, want, -1));
    t_ok(rowlock_rollback(own, &t_error));
    nothing_is_open(handle);
    t_ok(t_begin(other, want, -1));
    t_fails(t_begin(own, want, 0), EBUSY);
    nothing_is_open(handle);
    t_ok(rowlock_rollback(other, &t_error));
    t_ok(rowlock_vacuum(own, NULL, &t_error));
    nothing_is_open(handle);
    t_ok(rowlock_prepare(own, &want, 1, &t_error));
    nothing_is_open(handle);
}

static void use_leases(struct rowlock_connection *own, void *handle)
{
    struct rowlock_lease *lease = NULL, *none = NULL;

    t_ok(t_acquire(own, t_x("completed"), 0, -1, &lease));
    nothing_is_open(handle);
    t_fails(t_acquire(own, t_x("completed"), 0, 50, &none), ETIMEDOUT);
    nothing_is_open(handle);
    t_ok(rowlock_renew(lease, 0, &t_error));
    nothing_is_open(handle);
    t_give(lease);
    nothing_is_open(handle);
}

static void use_doors(void *handle)
{
    static const char *const calls[] = {
        "CALL rowlock_prepare('completed')",
        "CALL rowlock_acquire('completed', 60000, 'exclusive', NULL, @token)",
        "CALL rowlock_acquire('completed', 60000, 'shared', NULL, @none)",
        "CALL rowlock_renew(@token, 60000)",
        "CALL rowlock_release(@token, @released)",
        "CALL rowlock_vacuum(@removed)",
    };

    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        t_native_sql(handle, "%s", calls[i]);
        nothing_is_open(handle);
    }
    t_text(t_native_sql(handle, "SELECT CONCAT(@released, @none IS NULL)"), "11");
}

/* Otherwise a COMMIT in a procedure begins another transaction, or ends the session. A session
   begins with the server's setting. The test does not change that one, because sessions that other
   tests open meanwhile would begin with it too. */
TEST(p11_trap_completion_type)
{
    static const char *const types[] = {"CHAIN", "RELEASE"};

    for (size_t i = 0; i < 2; i++) {
        struct rowlock_connection *own;
        void *handle = t_native();

        t_native_sql(handle, "SET SESSION completion_type = '%s'", types[i]);
        own = t_wrap_handle(handle, NULL);
        use_locks(own, handle);
        use_leases(own, handle);
        use_doors(handle);
        t_text(t_native_sql(handle, "SELECT @@completion_type"), types[i]);
        t_native_sql(handle, "SET SESSION completion_type = DEFAULT");
    }
}

/* Its name is locked by another, for which neither its renewal nor its release waits. */
TEST(p4_a_lost_lease_is_reported_at_once)
{
    struct rowlock_connection *own = t_open(), *other = t_open();
    struct rowlock_lease *lease;

    for (int i = 0; i < 2; i++) {
        t_ok(t_acquire(own, t_x("taken over"), 60000, 0, &lease));
        t_ok(rowlock_break(other, "taken over", 0, 1, NULL, &t_error));
        t_ok(t_begin(other, t_x("taken over"), 0));
        t_fails(i ? rowlock_release(lease, &t_error) : rowlock_renew(lease, 0, &t_error), ELOST);
        t_ok(rowlock_commit(other, &t_error));
        rowlock_release(lease, NULL);
        rowlock_lease_free(lease);
    }
}

/* A lock that is granted returns no result. The client library takes the columns of a result that
   an error has cut off for those of the next answer. */
TEST(an_answer_that_an_error_cuts_off_fails_no_later_lock)
{
    struct rowlock_connection *own = t_open();
    struct rowlock_want fails = t_x("fails"), works = t_x("works");

    t_native_sql(t_native(), "DROP PROCEDURE rowlock_begin_lock");
    t_native_sql(t_native(), "CREATE PROCEDURE rowlock_begin_lock(IN p_wants LONGBLOB, "
                             "IN p_wait_ms BIGINT) "
                             "IF UNHEX(LEFT(p_wants, LENGTH(p_wants) - 4)) = 'fails' THEN "
                             "SELECT 2 AS status, NULL AS name, 0 AS stays, NULL AS detail; "
                             "SIGNAL SQLSTATE '45000'; "
                             "ELSE START TRANSACTION; END IF");
    for (int i = 0; i < 2; i++) {
        t_lock_once(own, works, -1);
        t_fails(t_begin(own, fails, -1), EDB);
        t_int(t_error.native, 1644);
    }
    t_lock_once(own, works, -1);
}
