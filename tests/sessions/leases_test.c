/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Transaction locks against leases. A name is one lock: while a lease lives, transaction locks on
 * its name are refused. Once the lease has expired, the first session that comes sweeps it.
 * Concurrent changes are tested in lease_races_test.c.
 *
 * Quick: first
 */
#include <string.h>

#include "lib/grants.h"
#include "lib/lease.h"
#include "lib/test.h"

static void names_holder(void)
{
    t_contains(t_error.text, "elsewhere");
    t_contains(t_error.text, "4711");
    t_contains(t_error.text, "maintenance");
}

/* ---- live leases ----------------------------------------------------------------------------- */

TEST(p1_a_live_lease_is_busy_and_its_holder_is_named)
{
    struct rowlock_connection *own = t_open(), *borrowed;
    void *hand = t_native(), *handle;

    borrowed = t_wrap(&handle, NULL);
    lease_put(hand, 11, "live", "exclusive", 600000);
    t_fails(t_begin(own, t_x("live"), 0), EBUSY);
    names_holder();
    t_left(NONE);
    t_fails(t_begin(borrowed, t_x("live"), 0), EBUSY);
    names_holder();
    t_left(NONE);
    t_fails(t_begin(own, t_x("live"), 2000), ETIMEDOUT);
    names_holder();
    t_int(t_engine()->in_transaction(handle), 0);
    lease_end(hand, 11);
    t_ok(t_begin(own, t_x("live"), 0));
}

TEST(p11_a_lease_met_later_is_busy_and_the_transaction_continues)
{
    struct rowlock_connection *own = t_open(), *other = t_open();
    void *hand = t_native();

    lease_put(hand, 31, "later", "exclusive", 600000);
    t_sql(own, "CREATE TABLE later (n INTEGER)");
    t_ok(t_begin(own, t_x("first"), 0));
    t_sql(own, "INSERT INTO later VALUES (1)");
    t_fails(t_lock(own, t_x("later"), 0), EBUSY);
    t_left(KEPT); /* a try looks for leases before it locks anything */
    names_holder();
    if (t_facts()->names_independent)
        t_fails(t_begin(other, t_x("first"), 0), EBUSY);
    t_sql(own, "INSERT INTO later VALUES (2)");
    t_ok(rowlock_commit(own, &t_error));
    t_text(t_sql(own, "SELECT count(*) FROM later"), "2");
}

TEST(begin_waits_for_a_lease_holding_nothing)
{
    struct rowlock_connection *own = t_open(), *other = t_open();
    void *hand = t_native();
    struct thread *thread;

    if (t_facts()->shared == SHARED_REFUSED)
        return; /* there is no second mode to test with */
    lease_put(hand, 51, "nothing", "shared", 600000);
    thread = t_begin_thread(own, t_x("nothing"), 60000);
    t_until_polling(thread);
    /* callers that do not conflict with the lease acquire the name lock meanwhile */
    for (int i = 0; i < 5; i++) {
        struct rowlock_want want =
            t_facts()->shared == SHARED_TOGETHER ? t_s("nothing") : t_x("another");

        t_lock_once(other, want, T_TIMEOUT_MS);
    }
    t_int(t_is_done(thread), 0);
    lease_end(hand, 51);
    t_ok(t_join(thread));
}

TEST(a_lock_taken_later_waits_for_a_lease_with_t_in_hand)
{
    struct rowlock_connection *own = t_open(), *other = t_open();
    void *hand = t_native();
    struct thread *waiter, *sharer;

    if (t_facts()->shared != SHARED_TOGETHER)
        return;
    lease_put(hand, 61, "in hand", "shared", 600000);
    t_ok(t_begin(own, t_x("earlier"), 0));
    waiter = t_lock_thread(own, t_x("in hand"), 60000);
    t_until_server_polls(own);
    sharer = t_begin_thread(other, t_s("in hand"), 60000);
    t_until_waiting(sharer);
    lease_end(hand, 61);
    t_ok(t_join(waiter));
    t_int(t_is_done(sharer), 0);
    t_ok(rowlock_commit(own, &t_error));
    t_ok(t_join(sharer));
}

TEST(p11_a_lock_taken_later_waits_for_a_lease_for_its_time_only)
{
    struct rowlock_connection *own = t_open(), *other = t_open();
    void *hand = t_native();

    lease_put(hand, 71, "bounded", "exclusive", 600000);
    t_ok(t_begin(own, t_x("kept"), 0));
    if (!t_facts()->server) { /* a wait would block every renewal in the file */
        t_fails(t_lock(own, t_x("bounded"), -1), EBUSY);
        t_left(KEPT);
        return;
    }
    t_fails(t_lock(own, t_x("bounded"), 2000), ETIMEDOUT);
    names_holder();
    if (t_facts()->busy_keeps_row)
        t_left(KEPT_LOCKED);
    else
        t_left(KEPT);
    t_fails(t_begin(other, t_x("kept"), 0), EBUSY);
    t_ok(rowlock_commit(own, &t_error));
    t_ok(t_begin(other, t_x("kept"), 0));
}

/* ---- expired leases -------------------------------------------------------------------------- */

enum attempt { AT_BEGIN, LATER, LATER_TRY };

static void sweeps(struct rowlock_connection *connection, void *hand, long token,
                   enum attempt attempt)
{
    const char *name = t_say("expired %ld", token);
    struct rowlock_want want = t_x(name);

    lease_put(hand, token, name, "exclusive", -1000);
    t_ok(rowlock_prepare(connection, &want, 1, &t_error));
    if (attempt == AT_BEGIN) {
        t_ok(t_begin(connection, want, 0));
    } else {
        t_own_begin(t_handle(connection), t_engine()->begin);
        t_ok(t_lock(connection, want, attempt == LATER_TRY ? 0 : T_TIMEOUT_MS));
    }
    t_int(t_is_free(want), 0);
    t_ok(rowlock_commit(connection, &t_error));
    t_int(lease_rows(hand, token), 0);
    t_int(lease_beats(hand, token), 0);
}

TEST(an_expired_lease_is_swept_by_the_next_lock)
{
    struct rowlock_options options = {.url = t_url()};
    struct rowlock_connection *own = t_open(), *bare, *with_url;
    void *hand = t_native(), *handle;

    bare = t_wrap(&handle, NULL);
    with_url = t_wrap(&handle, &options);
    for (int i = AT_BEGIN; i <= LATER_TRY; i++) {
        sweeps(own, hand, 81 + 10 * i, (enum attempt)i);
        sweeps(bare, hand, 82 + 10 * i, (enum attempt)i);
        sweeps(with_url, hand, 83 + 10 * i, (enum attempt)i);
    }
}

TEST(a_swept_lease_leaves_none_of_its_names)
{
    struct rowlock_connection *own = t_open();
    void *hand = t_native();

    lease_put(hand, 101, "one of three", "exclusive", -1000);
    lease_put(hand, 101, "two of three", "exclusive", -1000);
    lease_put(hand, 101, "three of three", "shared", -1000);
    t_lock_once(own, t_x("two of three"), 0);
    t_int(lease_rows(hand, 101), 0);
    t_int(lease_beats(hand, 101), 0);
}

TEST(a_lease_without_its_heartbeat_is_swept)
{
    struct rowlock_connection *own = t_open();
    void *hand = t_native();

    if (lease_has_one_row())
        return;
    lease_put(hand, 111, "beatless", "exclusive", 600000);
    t_native_sql(hand, "DELETE FROM %s WHERE token = 111", lease_heartbeat_table_of(111));
    t_lock_once(own, t_x("beatless"), 0);
    t_int(lease_rows(hand, 111), 0);
}

TEST(nothing_is_swept_while_one_lease_of_the_name_lives)
{
    struct rowlock_connection *own = t_open();
    void *hand = t_native();

    lease_put(hand, 121, "half", "shared", -1000);
    lease_put(hand, 122, "half", "shared", 600000);
    t_fails(t_begin(own, t_x("half"), 0), EBUSY);
    t_int(lease_rows(hand, 121), 1);
    t_int(lease_beats(hand, 121), 1);
    lease_end(hand, 122);
    t_ok(t_begin(own, t_x("half"), 0));
}

TEST(p1_sharers_over_an_expired_lease_do_not_exclude_each_other)
{
    struct rowlock_connection *one = t_open(), *two = t_open();
    void *hand = t_native();

    if (t_facts()->shared != SHARED_TOGETHER)
        return;
    lease_put(hand, 131, "shared over", "exclusive", -1000);
    t_ok(t_begin(one, t_s("shared over"), 0));
    t_ok(t_begin(two, t_s("shared over"), 0));
    t_ok(rowlock_commit(one, &t_error));
    t_ok(rowlock_commit(two, &t_error));
    lease_put(hand, 132, "shared over", "exclusive", -1000);
    t_own_begin(t_handle(one), t_engine()->begin);
    t_own_begin(t_handle(two), t_engine()->begin);
    t_ok(t_lock(one, t_s("shared over"), T_TIMEOUT_MS)); /* the second connection sweeps it */
    t_ok(t_lock(two, t_s("shared over"), 0));
}

/* The clock is read after the wait: the lease was still live when the statement began. */
TEST(p8_a_clock_read_before_the_wait_is_stale)
{
    struct rowlock_connection *holder = t_open(), *own = t_open();
    void *hand = t_native();
    struct thread *thread;

    if (!t_facts()->server)
        return;
    t_ok(t_begin(holder, t_x("stale"), 0));
    lease_put(hand, 141, "stale", "exclusive", 1500);
    t_own_begin(t_handle(own), t_engine()->begin);
    thread = t_lock_thread(own, t_x("stale"), T_TIMEOUT_MS);
    t_until_waiting(thread);
    lease_await_expiry(hand, 141);
    t_ok(rowlock_commit(holder, &t_error));
    t_ok(t_join(thread));
    t_ok(rowlock_commit(own, &t_error));
    t_int(lease_rows(hand, 141), 0);
}
