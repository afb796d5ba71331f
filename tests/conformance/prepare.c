/* SPDX-License-Identifier: Apache-2.0 */
/* Preparing names before an application's own BEGIN, and vacuuming names that are not held. */
#include <string.h>

#include "lib/lease.h"
#include "lib/test.h"

TEST(a_prepared_name_is_locked_in_the_applications_own_transaction)
{
    void *handle;
    struct rowlock_connection *own = t_wrap(&handle, NULL);
    struct rowlock_want wants[] = {t_x(t_name(1)), t_x(t_name(2))};

    t_ok(rowlock_prepare(own, wants, 2, &t_error));
    t_own_begin(handle, t_engine()->begin);
    t_ok(rowlock_lock(own, wants, 2, 0, &t_error));
    t_int(t_is_free(wants[0]), 0);
    t_native_sql(handle, "COMMIT");
    t_int(t_is_free(wants[0]), 1);
}

TEST(p11_a_name_never_seen_on_a_bare_handle_is_refused_where_it_must_be_known)
{
    void *handle;
    struct rowlock_connection *own = t_wrap(&handle, NULL);

    t_own_begin(handle, t_engine()->begin);
    if (t_facts()->must_be_known) {
        t_fails(t_lock(own, t_x(t_name(1)), 0), EUNPREPARED);
        t_left(KEPT);
        t_left_is_true(own);
        t_contains(t_error.text, "rowlock_prepare");
        t_contains(t_error.text, t_name(1));
    } else {
        t_ok(t_lock(own, t_x(t_name(1)), 0));
    }
    t_native_sql(handle, "COMMIT");
}

TEST(a_name_never_seen_is_made_known_on_a_second_connection_where_a_url_is_given)
{
    struct rowlock_options options = {.url = t_url()};
    void *handle;
    struct rowlock_connection *own = t_wrap(&handle, &options);

    t_own_begin(handle, t_engine()->begin);
    t_ok(t_lock(own, t_x(t_name(1)), 0));
    t_int(t_is_free(t_x(t_name(1))), 0);
    t_native_sql(handle, "ROLLBACK");
    t_int(t_is_free(t_x(t_name(1))), 1);
}

/* A locking read that returns no row is not a lock. */
TEST(p1_trap_the_row_that_vacuum_took)
{
    struct rowlock_connection *waiter = t_open(), *other = t_open();
    void *vacuum = t_native();
    struct rowlock_want want = t_x(t_name(1));

    for (int later = 0; later < 2 && t_facts()->must_be_known; later++) {
        struct thread *thread;

        t_ok(rowlock_prepare(other, &want, 1, &t_error));
        t_own_begin(vacuum, t_engine()->begin);
        t_native_sql(vacuum, "DELETE FROM %s WHERE name = '%s'", t_table("name"), t_key(want.name));
        if (later)
            t_own_begin(t_handle(waiter), t_engine()->begin);
        thread = later ? t_lock_thread(waiter, want, 60000) : t_begin_thread(waiter, want, 60000);
        t_until_waiting(thread);
        t_native_sql(vacuum, "COMMIT");
        t_ok(t_join(thread));
        t_fails(t_begin(other, want, 0), EBUSY);
        t_ok(rowlock_commit(waiter, &t_error));
    }
}

TEST(preparing_twice_or_what_is_held_does_no_harm)
{
    struct rowlock_connection *one = t_open(), *two = t_open();
    struct rowlock_want want = t_x(t_name(1));

    t_ok(rowlock_prepare(one, &want, 1, &t_error));
    t_ok(rowlock_prepare(one, &want, 1, &t_error));
    t_int(t_engine()->in_transaction(t_handle(one)), 0);
    t_int(t_is_free(want), 1); /* preparing locks nothing */
    t_ok(t_begin(one, want, 0));
    if (t_facts()->names_independent)
        t_ok(rowlock_prepare(two, &want, 1, &t_error));
    t_int(t_is_free(want), 0);
    t_ok(rowlock_commit(one, &t_error));
    t_int(t_is_free(want), 1);
}

TEST(preparing_inside_a_transaction_is_refused)
{
    struct rowlock_connection *one = t_open();
    struct rowlock_want want = t_x(t_name(1));

    t_ok(t_begin(one, t_x(t_name(2)), 0));
    t_fails(rowlock_prepare(one, &want, 1, &t_error), EINTX);
    t_left(KEPT);
    t_int(t_is_free(t_x(t_name(2))), 0);
}

TEST(vacuum_forgets_unheld_names_only)
{
    struct rowlock_connection *holder = t_open(), *cleaner = t_open();
    int64_t removed = -1;

    t_ok(t_begin(holder, t_x(t_name(2)), 0));
    t_ok(rowlock_commit(holder, &t_error));
    if (t_facts()->names_independent)
        t_ok(t_begin(holder, t_x(t_name(1)), 0));
    t_ok(rowlock_vacuum(cleaner, &removed, &t_error));
    t_int(removed >= (t_facts()->must_be_known ? 1 : 0), 1);
    if (t_facts()->names_independent)
        t_int(t_is_free(t_x(t_name(1))), 0);
    t_ok(rowlock_rollback(holder, &t_error));
    t_ok(rowlock_vacuum(cleaner, &removed, &t_error));
    t_ok(rowlock_vacuum(cleaner, &removed, &t_error));
    t_int(removed, 0);
    t_ok(t_begin(holder, t_x(t_name(1)), 0));
    t_int(t_is_free(t_x(t_name(1))), 0);
}

TEST(a_prepared_name_stays_prepared_through_vacuum)
{
    void *handle;
    struct rowlock_connection *own = t_wrap(&handle, NULL), *cleaner = t_open();
    struct rowlock_want want = t_x(t_name(1));

    t_ok(rowlock_prepare(own, &want, 1, &t_error));
    t_ok(t_begin(cleaner, want, 0));
    t_ok(rowlock_commit(cleaner, &t_error));
    t_ok(rowlock_vacuum(cleaner, NULL, &t_error));
    /* in a plain dialect a vacuum removes it: see rowlock_prepare */
    if (!t_facts()->plain || !t_facts()->must_be_known) {
        t_own_begin(handle, t_engine()->begin);
        t_ok(t_lock(own, want, 0));
        t_native_sql(handle, "COMMIT");
    }
    t_ok(rowlock_vacuum_name(cleaner, want.name, &t_error));
    t_own_begin(handle, t_engine()->begin);
    if (t_facts()->must_be_known)
        t_fails(t_lock(own, want, 0), EUNPREPARED);
    t_native_sql(handle, "ROLLBACK");
}

/* Only a mistake leaves such rows: they are no lease, and no other statement finds them. */
TEST(vacuum_removes_an_expired_heartbeat_without_a_lease)
{
    struct rowlock_connection *cleaner = t_open();
    void *hand = t_native();
    int64_t removed = -1;

    if (lease_has_one_row())
        return;
    t_ok(rowlock_vacuum(cleaner, NULL, &t_error));
    t_ok(rowlock_vacuum(cleaner, &removed, &t_error));
    t_int(removed, 0);
    lease_put(hand, 1, t_name(1), "exclusive", -1000);
    lease_put(hand, 2, t_name(2), "exclusive", HOUR);
    lease_put(hand, 3, t_name(3), "exclusive", HOUR);
    lease_put(hand, 4, t_name(4), "exclusive", -1000);
    t_native_sql(hand, "DELETE FROM %s WHERE token < 3", lease_table_of(1));
    t_ok(rowlock_vacuum(cleaner, &removed, &t_error));
    t_int(removed, 1); /* heartbeats are not counted, not even that of the expired lease */
    t_int(lease_rows(hand, 4), 0);
    t_int(lease_beats(hand, 4), 0);
    t_int(lease_beats(hand, 1), 0);
    t_int(lease_beats(hand, 2), 1);
    t_int(lease_beats(hand, 3), 1);
    t_int(lease_rows(hand, 3), 1);
    t_native_sql(hand, "DELETE FROM %s WHERE token = 2", lease_heartbeat_table_of(2));
    lease_end(hand, 3);
}

TEST(p1_vacuum_beside_lockers_does_no_harm)
{
    struct rowlock_connection *holder = t_open(), *waiter = t_open(), *cleaner = t_open();

    for (int i = 0; i < 4; i++) {
        struct thread *thread;

        t_ok(t_begin(holder, t_x(t_name(1)), 0));
        thread = t_waiting_thread(waiter, t_x(t_name(1)), -1);
        if (t_facts()->names_independent)
            t_ok(rowlock_vacuum(cleaner, NULL, &t_error));
        t_ok(rowlock_commit(holder, &t_error));
        t_ok(t_join(thread));
        t_fails(t_begin(holder, t_x(t_name(1)), 0), EBUSY);
        t_ok(rowlock_commit(waiter, &t_error));
        t_ok(rowlock_vacuum(cleaner, NULL, &t_error));
    }
}
