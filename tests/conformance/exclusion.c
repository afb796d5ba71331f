/* SPDX-License-Identifier: Apache-2.0 */
/*
 * P1, P2: a name has one exclusive holder until its transaction ends, in whatever way it ends.
 * Quick: sqlite postgresql mariadb postgresql/odbc h2/jdbc
 */
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/test.h"
#include "system/system.h"

TEST(p1_exclusive_excludes_exclusive)
{
    struct rowlock_connection *holder = t_open(), *other = t_open();
    struct rowlock_want want = t_x(t_name(1));

    t_ok(t_begin(holder, want, 0));
    t_fails(t_begin(other, want, 0), EBUSY);
    t_left(NONE);
    t_contains(t_error.text, want.name);
    t_ok(rowlock_commit(holder, &t_error));
    t_ok(t_begin_freed(other, &want, 1));
}

TEST(p1_closing_the_connection_unlocks)
{
    struct rowlock_connection *holder = t_open(), *waiter = t_open();
    struct thread *thread;

    t_ok(t_begin(holder, t_x(t_name(1)), 0));
    thread = t_waiting_thread(waiter, t_x(t_name(1)), -1);
    t_close(holder);
    t_ok(t_join(thread));
}

TEST(p1_a_lock_taken_later_excludes_too)
{
    struct rowlock_connection *holder = t_open(), *other = t_open();

    t_ok(t_begin(holder, t_x(t_name(1)), 0));
    t_ok(t_lock(holder, t_x(t_name(2)), 0));
    t_ok(t_lock(holder, t_x(t_name(1)), 0)); /* locking twice is locking once */
    t_fails(t_begin(other, t_x(t_name(2)), 0), EBUSY);
    t_ok(rowlock_commit(holder, &t_error));
    t_int(t_is_free(t_x(t_name(1))), 1);
    t_int(t_is_free(t_x(t_name(2))), 1);
}

TEST(p1_different_names_do_not_meet_where_the_engine_can)
{
    struct rowlock_connection *one = t_open(), *two = t_open();

    t_ok(t_begin(one, t_x(t_name(1)), 0));
    if (t_facts()->names_independent)
        t_ok(t_begin(two, t_x(t_name(2)), 0));
    else
        t_fails(t_begin(two, t_x(t_name(2)), 0), EBUSY);
}

TEST(p1_a_second_begin_is_refused)
{
    struct rowlock_connection *holder = t_open();

    t_ok(t_begin(holder, t_x(t_name(1)), 0));
    t_fails(t_begin(holder, t_x(t_name(2)), 0), EINTX);
    t_left(KEPT);
    t_int(t_is_free(t_x(t_name(1))), 0);
}

TEST(p1_a_lock_without_a_transaction_is_refused)
{
    struct rowlock_connection *idle = t_open();

    t_fails(t_lock(idle, t_x(t_name(1)), 0), ENOTX);
    t_left(NONE);
    t_fails(rowlock_commit(idle, &t_error), ENOTX);
    t_ok(rowlock_rollback(idle, &t_error));
}

TEST(p2_the_next_holder_sees_nothing_of_what_was_rolled_back)
{
    struct rowlock_connection *holder = t_open(), *waiter = t_open();
    struct thread *thread;

    t_sql(holder, "CREATE TABLE undone (n INTEGER)");
    t_sql(holder, "INSERT INTO undone VALUES (1)");
    t_ok(t_begin(holder, t_x(t_name(1)), 0));
    thread = t_waiting_thread(waiter, t_x(t_name(1)), -1);
    t_sql(holder, "UPDATE undone SET n = 2");
    t_ok(rowlock_rollback(holder, &t_error));
    t_ok(t_join(thread));
    t_text(t_sql(waiter, "SELECT n FROM undone"), "1");
}

static int end_is_visible_behind_bytes(void)
{
    int pair[2], is;

    t_int(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    t_int(write(pair[1], "farewell", 8), 8);
    t_int(shutdown(pair[1], SHUT_WR), 0);
    is = rowlock__has_hung_up(pair[0]);
    close(pair[0]);
    close(pair[1]);
    return is;
}

/* A server says farewell, and unlocks, before it closes the connection. */
static void until_closed(struct rowlock_connection *connection)
{
    struct pollfd end = {.fd = rowlock_socket(connection), .events = POLLRDHUP};

    if (end.fd >= 0 && end_is_visible_behind_bytes())
        t_int(poll(&end, 1, 60000), 1);
}

/* Commits once the server has closed the connection: the answer is ECONN. By POSIX alone
   (docs/internals/portability.md) the end is not visible behind a farewell, so it may be EUNKNOWN
   there. */
static void commit_is_lost_before(struct rowlock_connection *connection)
{
    int code;

    until_closed(connection);
    code = rowlock_commit(connection, &t_error);
    if (code != ROWLOCK_EUNKNOWN || end_is_visible_behind_bytes())
        t_int(code, ROWLOCK_ECONN);
}

TEST(p2_a_server_that_loses_the_session_unlocks)
{
    struct rowlock_connection *holder = t_open(), *waiter = t_open();
    struct thread *thread;
    void *killer;

    t_sql(holder, "CREATE TABLE lost (n INTEGER)");
    t_ok(t_begin(holder, t_x(t_name(1)), 0));
    t_sql(holder, "INSERT INTO lost VALUES (1)");
    thread = t_waiting_thread(waiter, t_x(t_name(1)), -1);
    if (!t_facts()->server) { /* on SQLite the session is the process; sessions/crash kills that */
        t_ok(rowlock_rollback(holder, &t_error));
        t_ok(t_join(thread));
        return;
    }
    killer = t_native();
    t_engine()->kill(killer, t_engine()->session(t_handle(holder)));
    t_ok(t_join(thread));
    commit_is_lost_before(holder);
    t_left(DEAD);
    t_text(t_sql(waiter, "SELECT count(*) FROM lost"), "0");
}
