/* SPDX-License-Identifier: Apache-2.0 */
/* P1: shared and exclusive locks, on techniques that distinguish them. */
#include "lib/test.h"

/* Where shared is unsupported, asserts that it is refused without any effect, and returns 1. */
static int is_refused(struct rowlock_connection *connection, const char *name)
{
    if (t_facts()->shared != SHARED_REFUSED)
        return 0;
    t_fails(t_begin(connection, t_s(name), 0), EMODE);
    t_left(NONE);
    t_contains(t_error.text, "insert");
    t_int(t_is_free(t_x(name)), 1);
    return 1;
}

TEST(p1_sharers_hold_together_where_the_engine_can)
{
    struct rowlock_connection *one = t_open(), *two = t_open();
    const char *name = t_name(1);

    if (is_refused(one, name))
        return;
    t_ok(t_begin(one, t_s(name), 0));
    if (t_facts()->shared == SHARED_TOGETHER)
        t_ok(t_begin(two, t_s(name), 0));
    else
        t_fails(t_begin(two, t_s(name), 0), EBUSY);
}

TEST(p1_shared_excludes_exclusive)
{
    /* a call without a limit may take another path */
    static const rowlock_duration waits[] = {0, -1};
    struct rowlock_connection *sharer = t_open(), *writer = t_open();
    const char *name = t_name(1);
    struct rowlock_want exclusive = t_x(name);

    if (is_refused(sharer, name))
        return;
    for (int i = 0; i < 2; i++) {
        t_ok(t_begin(sharer, t_s(name), waits[i]));
        t_fails(t_begin(writer, exclusive, 0), EBUSY);
        t_ok(rowlock_commit(sharer, &t_error));
        t_ok(t_begin_freed(writer, &exclusive, 1));
        t_ok(rowlock_commit(writer, &t_error));
    }
}

TEST(p1_exclusive_excludes_shared)
{
    struct rowlock_connection *writer = t_open(), *sharer = t_open();
    const char *name = t_name(1);
    struct rowlock_want shared = t_s(name);
    struct thread *thread;

    if (is_refused(sharer, name))
        return;
    t_ok(t_begin(writer, t_x(name), 0));
    t_fails(t_begin(sharer, shared, 0), EBUSY);
    thread = t_waiting_thread(sharer, shared, -1);
    t_int(t_is_done(thread), 0);
    t_ok(rowlock_commit(writer, &t_error));
    t_ok(t_join(thread));
}

TEST(p1_a_writer_waits_for_the_last_sharer)
{
    struct rowlock_connection *one = t_open(), *two = t_open(), *writer = t_open();
    const char *name = t_name(1);
    struct thread *thread;

    if (is_refused(one, name))
        return;
    t_ok(t_begin(one, t_s(name), 0));
    if (t_facts()->shared == SHARED_TOGETHER)
        t_ok(t_begin(two, t_s(name), 0));
    thread = t_waiting_thread(writer, t_x(name), -1);
    t_ok(rowlock_commit(one, &t_error));
    if (t_facts()->shared == SHARED_TOGETHER) {
        t_until_waiting(thread);
        t_ok(rowlock_commit(two, &t_error));
    }
    t_ok(t_join(thread));
}

TEST(p1_a_lone_sharer_may_lock_exclusively)
{
    struct rowlock_connection *sharer = t_open(), *other = t_open();
    const char *name = t_name(1);

    if (is_refused(sharer, name))
        return;
    t_ok(t_begin(sharer, t_s(name), 0));
    t_ok(t_lock(sharer, t_x(name), 0));
    t_fails(t_begin(other, t_s(name), 0), EBUSY);
}

TEST(p1_a_shared_lock_taken_later_is_refused_where_there_is_none)
{
    struct rowlock_connection *holder = t_open();

    t_ok(t_begin(holder, t_x(t_name(1)), 0));
    if (t_facts()->shared != SHARED_REFUSED) {
        t_ok(t_lock(holder, t_s(t_name(2)), 0));
        return;
    }
    t_fails(t_lock(holder, t_s(t_name(2)), 0), EMODE);
    t_left(KEPT);
    t_int(t_is_free(t_x(t_name(1))), 0);
    t_ok(rowlock_commit(holder, &t_error));
}

TEST(p7_a_stream_of_sharers_does_not_overtake_a_writer_where_the_engine_queues)
{
    struct rowlock_connection *sharer = t_open(), *writer = t_open(), *late = t_open();
    const char *name = t_name(1);
    struct thread *waiting;
    struct thread *behind;

    if (is_refused(sharer, name))
        return;
    t_ok(t_begin(sharer, t_s(name), 0));
    waiting = t_waiting_thread(writer, t_x(name), -1);
    if (t_facts()->writer_queues) {
        behind = t_waiting_thread(late, t_s(name), -1);
        t_ok(rowlock_commit(sharer, &t_error));
        t_ok(t_join(waiting));
        t_int(t_is_done(behind), 0);
        t_ok(rowlock_commit(writer, &t_error));
        t_ok(t_join(behind));
    } else {
        t_ok(rowlock_commit(sharer, &t_error));
        t_ok(t_join(waiting));
    }
}
