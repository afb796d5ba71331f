/* SPDX-License-Identifier: Apache-2.0 */
/*
 * P2, P6: the lock of a killed process is freed and its work undone; no other client is delayed.
 *
 * Quick: first
 */
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/test.h"

struct child {
    pid_t pid;
    int from; /* the child writes a byte when it has reached its place */
};

enum place { HOLDING, HOLDING_WITH_WORK, WAITING };

static void hold(struct rowlock_want want, enum place place)
{
    struct rowlock_connection *connection = t_open();

    t_ok(t_begin(connection, want, -1));
    if (place == HOLDING_WITH_WORK)
        t_sql(connection, "INSERT INTO work VALUES (666)");
}

static void child_body(struct rowlock_want want, enum place place, int to)
{
    if (place == WAITING)
        t_until_waiting(t_begin_thread(t_open(), want, -1));
    else
        hold(want, place);
    if (write(to, "!", 1) != 1)
        _exit(1);
    for (;;)
        pause();
}

static struct child start(struct rowlock_want want, enum place place)
{
    struct child child;
    int fds[2];
    char byte;

    t_install();
    t_int(pipe(fds), 0);
    child.pid = fork();
    if (child.pid == 0) {
        close(fds[0]);
        t_enter_child();
        child_body(want, place, fds[1]);
    }
    close(fds[1]);
    child.from = fds[0];
    t_int(read(child.from, &byte, 1), 1); /* 0: the child failed and has ended */
    return child;
}

static void end(struct child child, int signal)
{
    kill(child.pid, signal);
    waitpid(child.pid, NULL, 0);
    close(child.from);
}

TEST(p2_a_holder_killed_while_idle_frees_its_lock)
{
    struct rowlock_connection *waiter = t_open();
    struct child holder = start(t_x(t_name(1)), HOLDING);
    struct thread *thread = t_begin_thread(waiter, t_x(t_name(1)), -1);

    t_until_waiting(thread);
    end(holder, SIGKILL);
    t_ok(t_join(thread));
}

TEST(p2_the_work_of_a_killed_holder_is_undone)
{
    struct rowlock_connection *waiter = t_open();
    struct child holder;
    struct thread *thread;

    t_sql(waiter, "CREATE TABLE work (n INTEGER)");
    holder = start(t_x(t_name(1)), HOLDING_WITH_WORK);
    thread = t_begin_thread(waiter, t_x(t_name(1)), -1);
    t_until_waiting(thread);
    end(holder, SIGKILL);
    t_ok(t_join(thread));
    t_text(t_sql(waiter, "SELECT count(*) FROM work"), "0");
}

TEST(p6_a_waiter_killed_while_waiting_delays_no_other)
{
    struct rowlock_connection *holder = t_open(), *next = t_open();
    struct child waiter;
    struct thread *thread;

    t_ok(t_begin(holder, t_x(t_name(1)), 0));
    waiter = start(t_x(t_name(1)), WAITING);
    thread = t_begin_thread(next, t_x(t_name(1)), 30000);
    t_until_waiting(thread);
    end(waiter, SIGKILL);
    t_ok(rowlock_commit(holder, &t_error));
    t_ok(t_join(thread));
}

TEST(p6_holder_and_waiter_killed_together_leave_nothing)
{
    struct rowlock_connection *next = t_open();
    struct child holder = start(t_x(t_name(1)), HOLDING);
    struct child waiter = start(t_x(t_name(1)), WAITING);

    kill(waiter.pid, SIGKILL);
    end(holder, SIGKILL);
    end(waiter, SIGKILL);
    t_ok(t_begin(next, t_x(t_name(1)), 30000));
    t_ok(rowlock_commit(next, &t_error));
    t_int(t_is_free(t_x(t_name(1))), 1);
}

TEST(p1_a_frozen_holder_keeps_its_lock)
{
    struct rowlock_connection *waiter = t_open();
    struct child holder = start(t_x(t_name(1)), HOLDING);

    kill(holder.pid, SIGSTOP);
    t_fails(t_begin(waiter, t_x(t_name(1)), 300), ETIMEDOUT);
    kill(holder.pid, SIGCONT);
    t_fails(t_begin(waiter, t_x(t_name(1)), 0), EBUSY);
    end(holder, SIGKILL);
    t_ok(t_begin(waiter, t_x(t_name(1)), 30000));
}

#define GENERATIONS 12

TEST(p6_killed_holders_one_after_the_other)
{
    struct rowlock_want want = t_x(t_name(1));

    for (int i = 0; i < GENERATIONS; i++)
        end(start(want, HOLDING), SIGKILL);
    t_ok(t_begin(t_open(), want, 30000));
}
