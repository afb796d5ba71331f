/* SPDX-License-Identifier: Apache-2.0 */
/* Several names at once: all or none, in an order that cannot deadlock. */
#include "lib/test.h"

TEST(p1_of_several_names_none_is_held_when_one_is_busy)
{
    struct rowlock_connection *holder = t_open(), *other = t_open();
    struct rowlock_want wants[] = {t_x(t_name(1)), t_x(t_name(2)), t_x(t_name(3))};

    if (!t_facts()->names_independent) {
        t_ok(t_begin(holder, wants[1], 0));
        t_fails(rowlock_begin(other, wants, 3, 0, &t_error), EBUSY);
        return;
    }
    for (int i = 0; i < 3; i++) {
        t_ok(t_begin_freed(holder, &wants[i], 1));
        t_fails(rowlock_begin(other, wants, 3, 0, &t_error), EBUSY);
        t_left(NONE);
        /* Where index neighbours conflict, locking a free name can run into the row of the held
           one. */
        t_contains(t_error.text, t_facts()->neighbours_meet ? "name " : wants[i].name);
        t_fails(rowlock_begin(other, wants, 3, 30, &t_error), ETIMEDOUT);
        t_left(NONE);
        if (t_facts()->neighbours_meet)
            t_ok(rowlock_commit(holder, &t_error));
        if (t_facts()->limit_ends_session) {
            t_ok(rowlock_commit(holder, &t_error));
            t_ok(rowlock_begin(other, wants, 3, T_TIMEOUT_MS, &t_error));
            t_ok(rowlock_commit(other, &t_error));
            continue;
        }
        t_int(t_is_free(wants[(i + 1) % 3]), 1);
        t_int(t_is_free(wants[(i + 2) % 3]), 1);
        if (!t_facts()->neighbours_meet)
            t_ok(rowlock_commit(holder, &t_error));
    }
}

TEST(p11_several_names_taken_later_are_given_back_or_the_error_says_which_are_not)
{
    struct rowlock_connection *holder = t_open(), *other = t_open();
    struct rowlock_want wants[] = {t_x(t_name(1)), t_x(t_name(2))};

    if (!t_facts()->names_independent)
        return;
    t_ok(t_begin(holder, wants[1], 0));
    t_ok(t_begin(other, t_x(t_name(3)), 0));
    t_fails(rowlock_lock(other, wants, 2, 0, &t_error), EBUSY);
    if (t_facts()->limit_aborts) {
        t_left(ABORTED);
        t_not_here(WHY_LIMIT_ABORTS);
    }
    if (t_facts()->limit_ends_session) {
        t_left(DEAD);
        t_not_here(WHY_LIMIT_ENDS);
    }
    if (t_facts()->busy_keeps_row) {
        t_left(KEPT_LOCKED);
    } else {
        t_left(KEPT);
        t_int(t_is_free(wants[0]), 1);
    }
    t_int(t_is_free(t_x(t_name(3))), 0);
    t_ok(rowlock_commit(other, &t_error));
    if (t_facts()->neighbours_meet) /* the neighbouring name is held */
        t_ok(rowlock_commit(holder, &t_error));
    t_int(t_is_free(wants[0]), 1);
}

TEST(p1_shared_and_exclusive_names_in_one_call)
{
    struct rowlock_connection *one = t_open(), *two = t_open();
    struct rowlock_want wants[] = {t_x(t_name(1)), t_s(t_name(2))};

    if (t_facts()->shared == SHARED_REFUSED) {
        t_fails(rowlock_begin(one, wants, 2, 0, &t_error), EMODE);
        t_int(t_is_free(wants[0]), 1);
        return;
    }
    t_ok(rowlock_begin(one, wants, 2, 0, &t_error));
    if (t_facts()->shared == SHARED_TOGETHER) {
        t_ok(t_begin(two, t_s(t_name(2)), 0));
        t_ok(rowlock_rollback(two, &t_error));
    }
    t_fails(t_begin(two, t_x(t_name(2)), 0), EBUSY);
    if (t_facts()->shared == SHARED_TOGETHER && !t_facts()->limit_ends_session)
        t_ok(t_begin(two, t_s(t_name(2)), 0));
}

#define ROUNDS 15

static int both_in_this_order(struct rowlock_connection *connection, void *data,
                              struct rowlock_error *error)
{
    int code = 0;

    for (int i = 0; i < ROUNDS && !code; i++) {
        code = rowlock_begin(connection, data, 3, -1, error);
        if (!code)
            code = rowlock_commit(connection, error);
    }
    return code;
}

TEST(p11_opposite_orders_do_not_deadlock)
{
    struct rowlock_want up[] = {t_x(t_name(1)), t_x(t_name(2)), t_x(t_name(3))};
    struct rowlock_want down[] = {up[2], up[1], up[0]};
    struct thread *one = t_thread(t_open(), both_in_this_order, up);
    struct thread *two = t_thread(t_open(), both_in_this_order, down);

    t_ok(t_join(one));
    t_ok(t_join(two));
}
