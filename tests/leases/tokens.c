/* SPDX-License-Identifier: Apache-2.0 */
/*
 * P3: a token is greater than the token of every earlier grant that it excludes, however that grant
 * ended.
 *
 * Runs on: sqlite postgresql mariadb odbc jdbc
 */
#include "lib/grants.h"

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

enum end { RELEASED, EXPIRED, BROKEN, VACUUMED };

static void end_lease(struct rowlock_connection *connection, void *hand,
                      struct rowlock_lease *lease, enum end end)
{
    int64_t broken = 0;

    if (end == RELEASED)
        t_ok(rowlock_release(lease, &t_error));
    if (end == BROKEN) {
        t_ok(rowlock_break(connection, "ended", 0, 1, &broken, &t_error));
        t_int(broken, 1);
    }
    if (end == EXPIRED || end == VACUUMED)
        t_expire(hand, rowlock_token(lease));
    if (end == VACUUMED)
        t_ok(rowlock_vacuum(connection, NULL, &t_error));
    if (end != EXPIRED)
        t_text(t_all_rows(hand), NO_ROWS);
    rowlock_lease_free(lease);
}

static void tokens_grow_through(enum end end)
{
    struct rowlock_connection *one = t_open(), *two = t_open();
    struct rowlock_lease *lease;
    void *hand = t_native();

    last = 0;
    for (int i = 0; i < 6; i++) {
        next(i % 2 ? one : two, t_x("ended"), &lease);
        end_lease(i % 3 ? one : two, hand, lease, end);
    }
    next(one, t_x("ended"), &lease);
    t_give(lease);
    t_text(t_all_rows(hand), NO_ROWS);
}

TEST(p3_tokens_grow_through_release_expiry_breaks_and_vacuum)
{
    for (int end = RELEASED; end <= VACUUMED; end++)
        tokens_grow_through((enum end)end);
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
