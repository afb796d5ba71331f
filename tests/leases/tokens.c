/* SPDX-License-Identifier: Apache-2.0 */
/*
 * P3: a token is greater than the token of every earlier grant that it excludes, however that grant
 * ended.
 *
 * Runs on: sqlite postgresql mariadb odbc jdbc
 */
#include "lib/grants.h"
#include "lib/lease.h"

static int64_t last;

/* Acquires and asserts that the token is greater than all before; the lease stays. */
static int64_t next(struct rowlock_connection *connection, struct rowlock_want want,
                    struct rowlock_lease **out)
{
    int64_t token;

    *out = t_granted(connection, want, 0);
    token = rowlock_token(*out);
    if (token <= last)
        t_fail(__FILE__, __LINE__, "token %lld after %lld", (long long)token, (long long)last);
    last = token;
    return token;
}

TEST(p3_tokens_grow_through_release)
{
    struct rowlock_connection *one = t_open(), *two = t_open();
    struct rowlock_lease *lease;

    last = 0;
    for (int i = 0; i < 20; i++) {
        next(i % 2 ? one : two, t_x("released"), &lease);
        t_give(lease);
    }
}

TEST(p3_tokens_grow_through_expiry)
{
    struct rowlock_connection *one = t_open(), *two = t_open();
    struct rowlock_lease *lease;
    void *hand = t_native();

    last = 0;
    for (int i = 0; i < 5; i++) {
        int64_t token = next(i % 2 ? one : two, t_x("expired"), &lease);

        t_expire(hand, token);
        rowlock_lease_free(lease);
    }
    t_give(t_granted(one, t_x("expired"), 0));
    t_text(t_all_rows(hand), NO_ROWS);
}

TEST(p3_tokens_grow_through_breaks)
{
    struct rowlock_connection *one = t_open(), *two = t_open();
    struct rowlock_lease *lease;
    int64_t broken = 0;

    last = 0;
    for (int i = 0; i < 5; i++) {
        next(one, t_x("broken"), &lease);
        t_ok(rowlock_break(two, "broken", 0, 1, &broken, &t_error));
        t_int(broken, 1);
        rowlock_lease_free(lease);
    }
}

TEST(p3_tokens_grow_through_vacuum_and_empty_tables)
{
    struct rowlock_connection *one = t_open(), *two = t_open();
    struct rowlock_lease *lease;
    int64_t removed = 0;
    void *hand = t_native();

    last = 0;
    for (int i = 0; i < 5; i++) {
        int64_t token = next(one, t_x("vacuumed"), &lease);

        t_expire(hand, token);
        rowlock_lease_free(lease);
        t_ok(rowlock_vacuum(two, &removed, &t_error));
        t_text(t_all_rows(hand), NO_ROWS);
        next(two, t_x("vacuumed"), &lease);
        t_give(lease);
        t_forget_leases(hand);
    }
}

TEST(p3_tokens_grow_from_one_mode_to_the_next)
{
    struct rowlock_connection *one = t_open(), *two = t_open();
    struct rowlock_lease *a, *b;

    last = 0;
    for (int i = 0; i < 4; i++) {
        next(one, t_s("modes"), &a);
        next(two, t_s("modes"), &b);
        t_give(b);
        t_give(a);
        next(one, t_p("modes", 2, 1), &a);
        next(two, t_p("modes", 2, 1), &b);
        t_give(a);
        t_give(b);
        next(one, t_x("modes"), &a);
        t_give(a);
    }
}

TEST(p3_tokens_grow_through_a_queue)
{
    struct rowlock_connection *one = t_open(), *two = t_open();
    struct rowlock_lease *lease;
    void *hand = t_native();

    last = 0;
    next(one, t_x("queued"), &lease);
    for (int i = 0; i < 4; i++) {
        struct acquisition waiter = {.wants = {t_x("queued")}, .wait_ms = -1};
        struct thread *thread = t_acquire_thread(i % 2 ? one : two, &waiter);

        t_until_queued(hand, "queued", 1);
        t_give(lease);
        t_ok(t_join(thread));
        lease = waiter.lease;
        t_true(rowlock_token(lease) > last);
        last = rowlock_token(lease);
    }
    t_give(lease);
}

TEST(p3_one_call_has_one_token)
{
    struct rowlock_connection *one = t_open();
    struct rowlock_want wants[] = {t_x("one a"), t_x("one b"), t_p("one c", 4, 3)};
    struct rowlock_lease *lease = NULL;
    void *hand = t_native();

    t_ok(t_acquire_all(one, wants, 3, 0, 0, &lease));
    t_int(lease_rows(hand, (long)rowlock_token(lease)), 5);
    t_int(lease_beats(hand, (long)rowlock_token(lease)), 1);
    t_give(lease);
}
