/* SPDX-License-Identifier: Apache-2.0 */
/*
 * P2, P6: the lock of a killed process is freed and its work undone; no other client is delayed.
 *
 * Runs on: sqlite postgresql mariadb odbc jdbc
 * Quick: first
 * Rest: sqlite postgresql mariadb derby/jdbc
 */
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "lib/grants.h"
#include "lib/proxy.h"
#include "lib/test.h"

enum place { HOLDING, HOLDING_WITH_WORK, WAITING };

struct part {
    struct rowlock_want want;
    enum place place;
};

static void hold(struct rowlock_want want, enum place place)
{
    struct rowlock_connection *connection = t_open();

    t_ok(t_begin(connection, want, -1));
    if (place == HOLDING_WITH_WORK)
        t_sql(connection, "INSERT INTO done VALUES (666)");
}

/* Writes a byte when it has reached its place. */
static int play(const void *data, int to)
{
    const struct part *part = data;

    if (part->place == WAITING)
        t_until_waiting(t_begin_thread(t_open(), part->want, -1));
    else
        hold(part->want, part->place);
    if (write(to, "!", 1) != 1)
        return 1;
    for (;;)
        pause();
}

static struct child start(struct rowlock_want want, enum place place)
{
    struct part part = {want, place};
    struct child child = t_child(play, &part);

    t_int(t_hear(&child), '!');
    return child;
}

TEST(p2_the_work_of_a_killed_holder_is_undone)
{
    struct rowlock_connection *waiter = t_open();
    struct child holder;
    struct thread *thread;

    t_sql(waiter, "CREATE TABLE done (n INTEGER)");
    holder = start(t_x(t_name(1)), HOLDING_WITH_WORK);
    thread = t_begin_thread(waiter, t_x(t_name(1)), -1);
    t_until_waiting(thread);
    t_end_child(&holder, SIGKILL);
    t_ok(t_join(thread));
    t_text(t_sql(waiter, "SELECT count(*) FROM done"), "0");
}

TEST(p6_a_waiter_killed_while_waiting_delays_no_other)
{
    struct rowlock_connection *holder = t_open(), *next = t_open();
    struct child waiter;
    struct thread *thread;

    t_ok(t_begin(holder, t_x(t_name(1)), 0));
    waiter = start(t_x(t_name(1)), WAITING);
    thread = t_begin_thread(next, t_x(t_name(1)), T_TIMEOUT_MS);
    t_until_waiting(thread);
    t_end_child(&waiter, SIGKILL);
    t_ok(rowlock_commit(holder, &t_error));
    t_ok(t_join(thread));
}

TEST(p6_holder_and_waiter_killed_together_leave_nothing)
{
    struct rowlock_connection *next = t_open();
    struct child holder = start(t_x(t_name(1)), HOLDING);
    struct child waiter = start(t_x(t_name(1)), WAITING);

    kill(waiter.pid, SIGKILL);
    t_end_child(&holder, SIGKILL);
    t_end_child(&waiter, SIGKILL);
    t_lock_once(next, t_x(t_name(1)), T_TIMEOUT_MS);
    t_int(t_is_free(t_x(t_name(1))), 1);
}

/* Where the end of the wait costs the session, the server may be late with another one. */
TEST(p11_a_wait_that_ends_at_a_busy_server_is_no_lost_connection)
{
    struct rowlock_connection *holder = t_open(), *waiter;
    struct proxy *proxy = NULL;
    struct thread *thread;

    if (!t_facts()->limit_ends_session || strcmp(t_engine()->name, "hsqldb") == 0)
        return; /* HSQLDB refuses a login that comes more than a second after the connection */
    t_ok(t_begin(holder, t_x(t_name(1)), 0));
    waiter = t_open_at(t_proxied_url(&proxy), NULL);
    thread = t_begin_thread(waiter, t_x(t_name(1)), 3000);
    t_until_waiting(thread);
    proxy_hold(proxy, PROXY_TO_SERVER, 0, 2600); /* the next message begins the other session */
    t_fails(t_join(thread), ETIMEDOUT);
    t_int(proxy_has_struck(proxy), 1);
    t_ok(rowlock_commit(holder, &t_error));
    t_ok(t_begin(waiter, t_x(t_name(1)), T_TIMEOUT_MS));
    t_close(waiter);
    proxy_stop(proxy);
}
