/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Features of libmariadb alone: pending results, flags of the handle.
 * Runs on: mariadb/row
 */
#include <mysql.h>

#include "lib/jobs.h"
#include "lib/lease.h"
#include "lib/test.h"
#include "rowlock/mariadb.h"

TEST(a_handle_with_a_result_pending_is_refused_and_loses_nothing)
{
    struct rowlock_connection *none = NULL;
    MYSQL *handle = t_native();
    MYSQL_RES *result;
    MYSQL_ROW row;

    t_int(mysql_query(handle, "SELECT 42"), 0);
    t_fails(rowlock_mariadb_wrap(handle, NULL, &none, &t_error), EINVAL);
    t_true(none == NULL);
    result = mysql_use_result(handle);
    row = mysql_fetch_row(result);
    t_text(row[0], "42");
    mysql_free_result(result);
}

TEST(a_handle_that_is_not_connected_is_refused)
{
    struct rowlock_connection *none = NULL;
    MYSQL *handle = mysql_init(NULL);

    t_fails(rowlock_mariadb_wrap(handle, NULL, &none, &t_error), EINVAL);
    mysql_close(handle);
}

TEST(the_character_set_of_the_handle_does_not_matter)
{
    void *handle;
    struct rowlock_connection *own = t_wrap(&handle, NULL), *other = t_open();

    t_int(mysql_set_character_set(handle, "latin1"), 0);
    t_ok(t_begin(own, t_x("gr\xc3\xbc\xc3\x9f \xf0\x9f\x94\x92"), 0));
    t_fails(t_begin(other, t_x("gr\xc3\xbc\xc3\x9f \xf0\x9f\x94\x92"), 0), EBUSY);
    t_ok(t_begin(other, t_x("gr\xc3\xbc\xc3\x9f"), 0));
    t_text(t_native_sql(handle, "SELECT @@character_set_client"), "latin1");
}

TEST(a_strange_sql_mode_does_not_matter)
{
    const char *const modes[] = {"ANSI", t_is_mysql() ? "" : "ORACLE", "NO_BACKSLASH_ESCAPES", "",
                                 "TRADITIONAL"};

    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
        void *handle;
        struct rowlock_connection *own = t_wrap(&handle, NULL), *other = t_open();
        struct rowlock_want want = t_x("it's \\ \"quoted\"");

        t_native_sql(handle, "SET SESSION sql_mode = '%s'", modes[i]);
        t_ok(rowlock_prepare(own, &want, 1, &t_error));
        t_ok(t_begin(own, want, 0));
        t_fails(t_begin(other, want, 0), EBUSY);
        t_ok(t_lock(own, t_x("it's \\ \"quoted\""), 0));
        t_ok(rowlock_commit(own, &t_error));
    }
}

/* A waiter's look for leases must not use a snapshot that is older than its lock. */
static void wait_for_a_lease(struct rowlock_want want, int row)
{
    void *handle = t_native();
    struct rowlock_connection *waiter = t_open();
    struct thread *thread;

    t_ok(rowlock_prepare(waiter, &want, 1, &t_error));
    t_native_sql(handle, "START TRANSACTION");
    t_native_sql(handle, "SELECT 1 FROM rowlock_name WHERE name = '%s' FOR UPDATE", want.name);
    thread = t_waiting_thread(waiter, want, 60000);
    if (row) {
        t_native_sql(handle,
                     "UPDATE rowlock_name SET held = 1, token = 8 + %d, owner = 'o', "
                     "expires = utc_timestamp(6) + INTERVAL 1 HOUR WHERE name = '%s'",
                     2 * (want.name[0] == 's'), want.name);
    } else {
        t_native_sql(handle,
                     "INSERT INTO rowlock_lease (token, name, mode, owner, acquired) "
                     "VALUES (7, '%s', 'exclusive', 'o', utc_timestamp(6))",
                     want.name);
        t_native_sql(handle, "INSERT INTO rowlock_heartbeat (token, expires) "
                             "VALUES (7, utc_timestamp(6) + INTERVAL 1 HOUR)");
    }
    t_native_sql(handle, "COMMIT");
    t_until_polling(thread);
    lease_delete_all(handle);
    t_ok(t_join(thread));
}

TEST(p1_a_lease_that_is_committed_while_a_transaction_lock_waits_is_seen)
{
    wait_for_a_lease(t_x("x"), 0);
    wait_for_a_lease(t_s("s"), 0);
    wait_for_a_lease(t_x("row x"), 1);
    wait_for_a_lease(t_s("shared row"), 1);
}

/* The claim is a try, whose time limit is one for waiting only. */
TEST(a_free_job_is_claimed_however_slow_the_server_is)
{
    struct rowlock_connection *one = t_open();
    struct rowlock_job job = t_daily_job(t_name(0));

    t_sql(one, "CREATE TRIGGER slow BEFORE UPDATE ON rowlock_name FOR EACH ROW "
               "SELECT SLEEP(0.6) INTO @slept");
    rowlock_lease_free(t_claimed(one, &job));
    t_sql(one, "DROP TRIGGER slow");
}
