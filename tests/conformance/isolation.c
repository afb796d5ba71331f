/* SPDX-License-Identifier: Apache-2.0 */
/*
 * P2: the holder of a lock sees everything that earlier holders committed. rowlock's own
 * transactions are READ COMMITTED, whatever the default. A later lock in a transaction whose
 * snapshot is too old is refused.
 */
#include <stdio.h>
#include <stdlib.h>

#include "lib/test.h"

TEST(p2_begin_is_read_committed_whatever_the_sessions_default)
{
    struct rowlock_connection *holder = t_open(), *waiter = t_open();
    struct thread *thread;

    t_sql(holder, "CREATE TABLE fresh (n INTEGER)");
    t_sql(holder, "INSERT INTO fresh VALUES (1)");
    if (t_engine()->default_repeatable)
        t_sql(waiter, "%s", t_engine()->default_repeatable);
    t_ok(t_begin(holder, t_x(t_name(1)), 0));
    thread = t_waiting_thread(waiter, t_x(t_name(1)), -1);
    t_sql(holder, "UPDATE fresh SET n = 2");
    t_ok(rowlock_commit(holder, &t_error));
    t_ok(t_join(thread));
    t_text(t_sql(waiter, "SELECT n FROM fresh"), "2");
    t_ok(rowlock_commit(waiter, &t_error));
    if (!t_facts()->levels)
        return;
    /* it also sees commits made while it holds the lock, as only READ COMMITTED does */
    t_ok(t_begin(waiter, t_x(t_name(1)), 0));
    t_text(t_sql(waiter, "SELECT n FROM fresh"), "2");
    t_sql(holder, "UPDATE fresh SET n = 3");
    t_text(t_sql(waiter, "SELECT n FROM fresh"), "3");
}

TEST(p2_begin_writes_even_where_the_sessions_default_is_to_read_only)
{
    struct rowlock_connection *connection = t_open();

    t_sql(connection, "CREATE TABLE written (n INTEGER)");
    if (!t_engine()->default_read_only)
        return;
    t_sql(connection, "%s", t_engine()->default_read_only);
    t_ok(t_begin(connection, t_x(t_name(1)), 0));
    t_sql(connection, "INSERT INTO written VALUES (1)");
    t_ok(rowlock_commit(connection, &t_error));
}

TEST(p2_a_lock_later_in_a_frozen_snapshot_is_refused_and_locks_nothing)
{
    void *handle;
    struct rowlock_connection *own = t_wrap(&handle, NULL);
    struct rowlock_want want = t_x(t_name(1));

    if (t_facts()->plain && !t_facts()->levels)
        t_not_here(WHY_ISOLATION);
    if (!t_engine()->begin_repeatable[0])
        return;
    t_ok(rowlock_prepare(own, &want, 1, &t_error));
    t_own_begin(handle, t_engine()->begin_repeatable);
    t_fails(t_lock(own, want, 0), ESNAPSHOT);
    t_contains(t_error.text, "READ COMMITTED");
    t_left(KEPT);
    t_left_is_true(own);
    t_int(t_is_free(want), 1);
    t_native_sql(handle, "ROLLBACK");
    t_own_begin(handle, t_engine()->begin);
    t_ok(t_lock(own, want, 0));
    t_native_sql(handle, "ROLLBACK");
}

TEST(p2_a_transaction_that_has_read_and_cannot_become_a_writer_is_refused)
{
    void *handle;
    struct rowlock_connection *own, *writer;

    if (t_facts()->levels ||
        t_facts()->plain) /* on engines with isolation levels, another test checks this */
        return;
    own = t_wrap(&handle, NULL);
    writer = t_open();
    t_sql(writer, "CREATE TABLE stale (n INTEGER)");
    t_ok(t_begin(writer, t_x(t_name(1)), 0));
    t_native_sql(handle, "BEGIN");
    t_native_sql(handle, "SELECT count(*) FROM stale");
    t_fails(t_lock(own, t_x(t_name(1)), -1), ESNAPSHOT);
    t_left(KEPT);
    t_sql(writer, "INSERT INTO stale VALUES (1)");
    t_ok(rowlock_commit(writer, &t_error));
    t_fails(t_lock(own, t_x(t_name(1)), -1), ESNAPSHOT);
    t_left(KEPT);
    t_native_sql(handle, "ROLLBACK");
    t_native_sql(handle, "BEGIN");
    t_ok(t_lock(own, t_x(t_name(1)), 0));
    t_text(t_native_sql(handle, "SELECT count(*) FROM stale"), "1");
    t_native_sql(handle, "COMMIT");
}

/* Read, add one, write: the count is right only if no two holders overlap and each one sees the
   previous write. */
#define TURNS 12

static int add_one(struct rowlock_connection *connection, void *data, struct rowlock_error *error)
{
    struct rowlock_want want = t_x(data);
    char text[80], answer[200];

    for (int i = 0; i < TURNS; i++) {
        int code = rowlock_begin(connection, &want, 1, -1, error), value;

        if (code)
            return code;
        t_engine()->sql(t_handle(connection), "SELECT n FROM counted", answer, sizeof answer);
        if (sscanf(answer, "%d", &value) != 1)
            return ROWLOCK_EDB;
        snprintf(text, sizeof text, "UPDATE counted SET n = %d", value + 1);
        if (t_engine()->sql(t_handle(connection), text, answer, sizeof answer))
            return ROWLOCK_EDB;
        code = rowlock_commit(connection, error);
        if (code)
            return code;
    }
    return 0;
}

TEST(p2_no_update_is_lost_between_holders)
{
    struct rowlock_connection *connection = t_open();
    struct thread *threads[4];

    t_sql(connection, "CREATE TABLE counted (n INTEGER)");
    t_sql(connection, "INSERT INTO counted VALUES (0)");
    for (int i = 0; i < 4; i++)
        threads[i] = t_thread(t_open(), add_one, (void *)"counted");
    for (int i = 0; i < 4; i++)
        t_ok(t_join(threads[i]));
    t_int(atoi(t_sql(connection, "SELECT n FROM counted")), 4 * TURNS);
}
