/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Time limits and lost sessions of the ODBC driver, on real servers.
 *
 * Runs on: postgresql/native mariadb/row
 */
#include <stdlib.h>
#include <string.h>

#include "lib/cut.h"
#include "lib/extra.h"
#include "lib/grants.h"
#include "lib/odbc.h"
#include "lib/test.h"
#include "util/clock.h"

static void *holder_of_row_2(void)
{
    void *handle = t_odbc_native(t_is_postgresql() ? "BEGIN" : "SET autocommit = 0");

    t_native_sql(handle, "UPDATE odbc_test SET n = 21 WHERE id = 2");
    return handle;
}

TEST(the_deadline_ends_a_wait_for_a_lock_and_keeps_the_transaction)
{
    struct rowlock_call wait = t_odbc_with_id(&t_odbc_lock_row, 2);
    struct rowlock_budget budget;
    struct rowlock_outcome outcome;
    struct rowlock_link *link = t_odbc_prepare();
    void *holder = holder_of_row_2();

    t_ok(t_odbc_set_n(link, ROWLOCK_BEGIN, 1, 11, NULL));
    for (int i = 0; i < 3; i++) {
        budget = t_odbc_within(100);
        budget.give_up_ms = budget.deadline_ms + T_ODBC_LATER_MS;
        t_fails(t_odbc_run_within(link, ROWLOCK_INSIDE, &wait, 1, &budget, &outcome), ETIMEDOUT);
        t_left(KEPT);
    }
    t_ok(t_odbc_set_n(link, ROWLOCK_INSIDE, 1, 12, NULL)); /* no late cancel hits it */
    t_ok(t_odbc_run(link, ROWLOCK_COMMIT, NULL, 0));
    t_odbc_n_is(1, "12");
    t_engine()->close(holder);
    t_odbc_close(link);
}

TEST(a_statements_own_limit_ends_it_too)
{
    struct rowlock_call wait = t_odbc_with_id(&t_odbc_lock_row, 2);
    struct rowlock_link *link = t_odbc_prepare();
    void *holder = holder_of_row_2();

    wait.limit_ms = 50;
    t_fails(t_odbc_run(link, ROWLOCK_BEGIN, &wait, 1), ETIMEDOUT);
    t_left(KEPT);
    t_engine()->close(holder);
    t_odbc_close(link);
}

static struct rowlock_link *prepare_through_proxy(void)
{
    struct rowlock_link *link = NULL;

    t_odbc_table();
    t_proxied_url(&t_proxy);
    t_ok(t_odbc_open_at(t_odbc_url(proxy_port(t_proxy), ""), NULL, &link));
    t_true(t_odbc->socket(link) >= 0);
    return link;
}

TEST(a_silent_server_is_given_up)
{
    struct rowlock_call call = t_odbc_with_id(&t_odbc_lock_row, 1);
    struct rowlock_budget budget;
    struct rowlock_outcome outcome;
    struct rowlock_link *link = prepare_through_proxy();

    t_ok(t_odbc_run(link, ROWLOCK_BEGIN, &call, 1));
    proxy_arm(t_proxy, PROXY_STALL, PROXY_TO_CLIENT, 0);
    budget = t_odbc_within(100);
    budget.give_up_ms = budget.deadline_ms + 200;
    t_fails(t_odbc_run_within(link, ROWLOCK_INSIDE, &call, 1, &budget, &outcome), ETIMEDOUT);
    t_left(DEAD);
    t_contains(t_error.text, "given up");
    t_int(t_odbc->state(link), ROWLOCK_STATE_DEAD);
    t_int(t_odbc->socket(link), -1);
    t_fails(t_odbc_run_within(link, ROWLOCK_INSIDE, &call, 1, &budget, &outcome), ECONN);
    t_left(DEAD);
    t_fails(t_odbc->rollback(link, &budget, &t_error), ECONN);
    t_odbc_close(link);
    proxy_cut_all(t_proxy);
}

static int lock_in_time(struct rowlock_connection *connection, void *data,
                        struct rowlock_error *error)
{
    struct rowlock_call call = t_odbc_with_id(&t_odbc_lock_row, 1);
    struct rowlock_budget budget = t_odbc_within(500);
    struct rowlock_outcome outcome;

    (void)connection;
    budget.give_up_ms = budget.deadline_ms + 300;
    return t_odbc->run(data, ROWLOCK_INSIDE, &call, 1, &budget, &outcome, error);
}

/* MariaDB's SQLCancel waits for the greeting of a second session. The handles stay until it
   returns, but neither the call nor the close waits for that. */
TEST(a_cancel_that_blocks_too_is_left_behind)
{
    struct rowlock_call call = t_odbc_with_id(&t_odbc_lock_row, 1);
    struct rowlock_link *link = prepare_through_proxy();
    struct thread *thread;

    t_ok(t_odbc_run(link, ROWLOCK_BEGIN, &call, 1));
    proxy_arm(t_proxy, PROXY_STALL, PROXY_TO_CLIENT, 0);
    thread = t_thread(NULL, lock_in_time, link);
    while (!proxy_has_struck(t_proxy))
        rowlock__wait_fd(-1, 0, -1, rowlock__now_ms() + 2);
    proxy_arm(t_proxy, PROXY_STALL, PROXY_TO_CLIENT, 0);
    t_code_is(__FILE__, __LINE__, "the call", t_join(thread), ROWLOCK_ETIMEDOUT);
    t_left(DEAD);
    t_odbc_close(link);
    proxy_cut_all(t_proxy);
}

TEST(closing_a_silent_session_does_not_hang)
{
    struct rowlock_link *link = prepare_through_proxy();

    t_ok(t_odbc_set_n(link, ROWLOCK_BEGIN, 1, 11, NULL));
    proxy_arm(t_proxy, PROXY_STALL, PROXY_TO_CLIENT, 0);
    t_odbc_close(link);
    proxy_cut_all(t_proxy);
}

/* The waiter's second row is locked. */
static void a_wait_ends(struct rowlock_link *holder, struct rowlock_link *waiter,
                        enum rowlock_transaction left)
{
    struct rowlock_call row_1 = t_odbc_with_id(&t_odbc_lock_row, 1),
                        row_2 = t_odbc_with_id(&t_odbc_lock_row, 2);
    struct rowlock_budget budget = t_odbc_within(T_ODBC_LATER_MS);

    t_ok(t_odbc->script(waiter, "SET SESSION innodb_lock_wait_timeout = 1;\n", &budget, &t_error));
    t_ok(t_odbc_run(holder, ROWLOCK_BEGIN, &row_2, 1));
    for (int i = 0; i < 2; i++) { /* the answer is remembered */
        t_ok(t_odbc_run(waiter, ROWLOCK_BEGIN, &row_1, 1));
        t_fails(t_odbc_run(waiter, ROWLOCK_INSIDE, &row_2, 1), ETIMEDOUT);
        t_int(t_error.native, 1205);
        t_int(t_error.transaction, left);
        if (left == ROWLOCK_TX_KEPT)
            t_ok(t_odbc_run(waiter, ROWLOCK_COMMIT, NULL, 0));
        else
            t_fails(t_odbc_run(waiter, ROWLOCK_COMMIT, NULL, 0), EROLLEDBACK);
    }
    t_odbc_close(waiter);
    t_odbc_close(holder);
}

/* The option holds for a whole server. Those of the tests do not have it. */
TEST(p11_trap_innodb_rollback_on_timeout)
{
    struct rowlock_budget budget = t_odbc_within(T_ODBC_LATER_MS);
    struct rowlock_link *holder, *waiter;
    const char *name = extra_name("on-timeout");
    int port;

    if (t_is_postgresql())
        return;
    t_odbc_table();
    holder = t_odbc_open();
    a_wait_ends(holder, t_odbc_open(), ROWLOCK_TX_KEPT);
    port = atoi(extra_shell("start_mariadb %s --innodb-rollback-on-timeout=ON && "
                            "mariadb --no-defaults --socket=$server_socket/socket -u root "
                            "-e 'CREATE DATABASE %s' && echo $server_port",
                            name, strrchr(getenv("ROWLOCK_TEST_URL"), '/') + 1));
    t_ok(t_odbc_open_at(t_odbc_url(port, ""), NULL, &holder));
    t_ok(t_odbc_open_at(t_odbc_url(port, ""), NULL, &waiter));
    t_ok(t_odbc->script(holder,
                        "CREATE TABLE odbc_test (id BIGINT PRIMARY KEY, n BIGINT, t TEXT);\n"
                        "INSERT INTO odbc_test VALUES (1, 1, ''), (2, 2, '');\n",
                        &budget, &t_error));
    a_wait_ends(holder, waiter, ROWLOCK_TX_GONE);
    extra_stop(name);
}
