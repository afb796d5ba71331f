/* SPDX-License-Identifier: Apache-2.0 */
/*
 * P1: a name has one exclusive holder, or shared holders, or permit holders, whether leases or
 * transactions. Several names are acquired all or none.
 *
 * Runs on: sqlite postgresql mariadb odbc jdbc
 * Quick: sqlite postgresql mariadb postgresql/odbc
 * Rest: sqlite postgresql mariadb mariadb/odbc derby/jdbc
 */
#include <string.h>

#include "lib/grants.h"
#include "lib/lease.h"
#include "lib/session.h"

static struct rowlock_want want_of(const char *name, char mode)
{
    return mode == 'x' ? t_x(name) : mode == 's' ? t_s(name) : t_p(name, 2, 1);
}

/* ---- lease against lease --------------------------------------------------------------------- */

static void pair(char held, char asked, int together)
{
    struct rowlock_connection *one = t_open(), *two = t_open();
    const char *name = t_name(held * 256 + asked);
    struct rowlock_lease *first = t_granted(one, want_of(name, held), 0), *second = NULL;
    void *hand = t_native();

    if (together) {
        t_give(t_granted(two, want_of(name, asked), 0));
    } else {
        t_fails(t_acquire(two, want_of(name, asked), 0, 0, &second), EBUSY);
        t_contains(t_error.text, name);
        t_contains(t_error.text, "a note");
        t_fails(t_acquire(two, want_of(name, asked), 0, 60, &second), ETIMEDOUT);
        t_contains(t_error.text, name);
        t_contains(t_error.text, "a note");
    }
    t_true(second == NULL);
    t_int(waiters_of(hand, name), 0);
    t_give(first);
    t_give(t_granted(two, want_of(name, asked), 0));
    t_int(leases_of(hand, name), 0);
    t_close(one);
    t_close(two);
}

TEST(p1_the_modes_exclude_each_other)
{
    for (const char *held = "xsp"; *held; held++)
        for (const char *asked = "xsp"; *asked; asked++)
            pair(*held, *asked, *held == *asked && *held != 'x');
    t_text(t_all_rows(t_native()), NO_ROWS);
}

/* ---- lease against transaction --------------------------------------------------------------- */

static int doors(void)
{
    if (!t_facts()->wraps)
        return 1;
    return t_facts()->server && !t_facts()->plain ? 3 : 2;
}

static int step(struct session *session, enum step_kind kind, enum rowlock_mode mode,
                const char *name)
{
    session_start(session, kind, mode, name);
    t_int(session_finish(session), SESSION_DONE);
    return session_code(session);
}

/* Begin-and-lock, or a lock in a transaction that is already open. */
static int step_in(struct session *session, int later, enum rowlock_mode mode, const char *name)
{
    t_int(step(session, STEP_PREPARE, mode, name), 0);
    if (!later)
        return step(session, STEP_BEGIN_TRY, mode, name);
    t_int(step(session, STEP_BEGIN, mode, name), 0);
    return step(session, STEP_TRY, mode, name);
}

static void leased(enum door door, int later, char held, enum rowlock_mode mode)
{
    struct rowlock_connection *one = t_open();
    const char *name = t_name((int)door * 1000 + later * 100 + held + (int)mode);
    struct rowlock_lease *lease = t_granted(one, want_of(name, held), 0);
    struct session *session = session_open(door);
    int code = step_in(session, later, mode, name);

    step(session, STEP_ROLLBACK, mode, name);
    if (mode == ROWLOCK_SHARED && t_facts()->shared == SHARED_REFUSED)
        t_int(code, ROWLOCK_EMODE);
    else if (mode == ROWLOCK_SHARED && held == 's')
        t_int(code, 0);
    else
        t_int(code, ROWLOCK_EBUSY);
    t_give(lease);
    session_close(session);
    t_close(one);
}

/* Only our own door tries every mode: each try through the others waits a moment for the name
   lock. */
static void each_door(void (*test)(enum door, int, char, enum rowlock_mode))
{
    for (int door = 0; door < doors(); door++)
        for (int later = 0; later < 2; later++)
            for (const char *mode = door == DOOR_OWN && later ? "xsp" : "s"; *mode; mode++) {
                test((enum door)door, later, *mode, ROWLOCK_EXCLUSIVE);
                if (door != DOOR_SQL || t_facts()->shared == SHARED_TOGETHER)
                    test((enum door)door, later, *mode, ROWLOCK_SHARED);
            }
}

TEST(p1_a_lease_keeps_transactions_out_at_every_door)
{
    each_door(leased);
}

static void locked(enum door door, int later, char asked, enum rowlock_mode mode)
{
    struct rowlock_connection *one = t_open();
    const char *name = t_name((int)door * 1000 + later * 100 + asked + (int)mode);
    struct session *session = session_open(door);
    struct rowlock_lease *lease = NULL;

    if (mode == ROWLOCK_SHARED && t_facts()->shared == SHARED_REFUSED) {
        session_close(session);
        return;
    }
    t_int(step_in(session, later, mode, name), 0);
    if (mode == ROWLOCK_SHARED && asked == 's' && t_facts()->shared == SHARED_TOGETHER) {
        t_give(t_granted(one, want_of(name, asked), 0));
    } else {
        t_fails(t_acquire(one, want_of(name, asked), 0, 0, &lease), EBUSY);
        t_fails(t_acquire(one, want_of(name, asked), 0, 80, &lease), ETIMEDOUT);
    }
    t_int(step(session, STEP_COMMIT, mode, name), 0);
    t_give(t_granted(one, want_of(name, asked), 0));
    session_close(session);
    t_close(one);
}

TEST(p1_a_transaction_keeps_leases_out_at_every_door)
{
    each_door(locked);
    t_text(t_all_rows(t_native()), NO_ROWS);
}

static void waits_for_a_lease(struct rowlock_want want)
{
    struct rowlock_connection *one = t_open(), *two = t_open();
    struct rowlock_lease *lease = t_granted(one, t_x("tx waits"), 0);
    struct thread *thread = t_begin_thread(two, want, -1);

    t_until_polling(thread);
    t_int(t_is_done(thread), 0);
    t_give(lease);
    t_ok(t_join(thread));
    t_ok(rowlock_commit(two, &t_error));
}

TEST(p1_a_transaction_waits_for_a_lease_to_end)
{
    waits_for_a_lease(t_x("tx waits"));
    if (t_facts()->shared != SHARED_REFUSED)
        waits_for_a_lease(t_s("tx waits"));
}

/* ---- several names: all or none -------------------------------------------------------------- */

TEST(p1_several_names_all_or_none)
{
    struct rowlock_connection *one = t_open(), *two = t_open();
    struct rowlock_want wants[] = {t_x("all a"), t_x("all b"), t_x("all c")};
    struct rowlock_lease *last = t_granted(one, t_x("all c"), 0), *all = NULL;
    void *hand = t_native();

    t_fails(t_acquire_all(two, wants, 3, 0, 0, &all), EBUSY);
    t_contains(t_error.text, "all c");
    t_fails(t_acquire_all(two, wants, 3, 0, 80, &all), ETIMEDOUT);
    t_contains(t_error.text, "all c");
    t_int(t_may_have(t_x("all a")), 1);
    t_int(t_may_have(t_x("all b")), 1);
    t_text(t_all_rows(hand), "leases 1 heartbeats 1 waiters 0");
    t_give(last);
    t_ok(t_acquire_all(two, wants, 3, 0, 0, &all));
    t_text(t_all_rows(hand), "leases 3 heartbeats 1 waiters 0");
    for (int i = 0; i < 3; i++)
        t_int(t_may_have(wants[i]), 0);
    t_give(all);
    t_text(t_all_rows(hand), NO_ROWS);
}

TEST(p1_several_names_of_which_one_is_in_a_transaction)
{
    struct rowlock_connection *one = t_open(), *two = t_open();
    struct rowlock_want wants[] = {t_x("part a"), t_x("part b"), t_x("part c")};
    struct acquisition all = {
        .wants = {t_x("part c"), t_x("part b"), t_x("part a")}, .n = 3, .wait_ms = -1};
    struct rowlock_lease *none = NULL;
    struct thread *thread;
    void *hand = t_native();

    t_ok(t_begin(one, t_x("part b"), 0));
    t_fails(t_acquire_all(two, wants, 3, 0, 0, &none), EBUSY);
    t_text(t_all_rows(hand), NO_ROWS);
    thread = t_acquire_thread(two, &all);
    t_until_waiting(thread);
    t_ok(rowlock_commit(one, &t_error));
    t_join_and_give(thread, &all);
    t_text(t_all_rows(hand), NO_ROWS);
}

TEST(p1_several_names_are_waited_for_together)
{
    struct rowlock_connection *one = t_open(), *two = t_open(), *three = t_open();
    struct rowlock_lease *a = t_granted(one, t_x("both a"), 0),
                         *b = t_granted(two, t_x("both b"), 0);
    struct acquisition both = {.wants = {t_x("both b"), t_x("both a")}, .n = 2, .wait_ms = -1};
    struct thread *thread = t_acquire_thread(three, &both);
    void *hand = t_native();

    t_until_queued(hand, "both a", 1);
    t_until_queued(hand, "both b", 1);
    t_give(a);
    t_int(leases_of(hand, "both a"), 0);
    t_int(t_is_done(thread), 0);
    t_give(b);
    t_join_and_give(thread, &both);
    t_text(t_all_rows(hand), NO_ROWS);
}

TEST(p1_several_names_in_several_modes)
{
    struct rowlock_connection *one = t_open();
    struct rowlock_want wants[] = {t_s("mixed s"), t_x("mixed x"), t_p("mixed p", 3, 2)};
    struct rowlock_lease *lease = NULL;

    t_ok(t_acquire_all(one, wants, 3, 0, 0, &lease));
    t_int(t_may_have(t_s("mixed s")), 1);
    t_int(t_may_have(t_x("mixed s")), 0);
    t_int(t_may_have(t_s("mixed x")), 0);
    t_int(t_may_have(t_p("mixed p", 3, 1)), 1);
    t_int(t_may_have(t_p("mixed p", 3, 2)), 0);
    t_give(lease);
    t_text(t_all_rows(t_native()), NO_ROWS);
}

/* ---- permits --------------------------------------------------------------------------------- */

TEST(p1_k_of_n_permits)
{
    struct rowlock_connection *one = t_open(), *two = t_open();
    struct rowlock_lease *first = t_granted(one, t_p("permits", 5, 2), 0);
    struct rowlock_lease *second = t_granted(two, t_p("permits", 5, 3), 0), *none = NULL;
    void *hand = t_native();

    t_int(leases_of(hand, "permits"), 5);
    t_fails(t_acquire(two, t_p("permits", 5, 1), 0, 0, &none), EBUSY);
    t_give(first);
    t_fails(t_acquire(one, t_p("permits", 5, 3), 0, 0, &none), EBUSY);
    first = t_granted(one, t_p("permits", 5, 0), 0); /* 0 means one */
    t_int(leases_of(hand, "permits"), 4);
    t_int(t_may_have(t_p("permits", 5, 1)), 1);
    t_int(t_may_have(t_p("permits", 5, 2)), 0);
    t_give(second);
    t_give(first);
    t_give(t_granted(one, t_p("permits", 5, 5), 0));
    t_text(t_all_rows(hand), NO_ROWS);
}

TEST(p1_permits_of_a_hand_count)
{
    struct rowlock_connection *one = t_open();
    void *hand = t_native();

    lease_put_permits(hand, 31, "by hand", 3, 2, 600000);
    t_int(t_may_have(t_p("by hand", 3, 2)), 0);
    t_give(t_granted(one, t_p("by hand", 3, 1), 0));
    t_expire(hand, 31);
    t_give(t_granted(one, t_p("by hand", 3, 2), 0));
    t_forget_leases(hand);
}

TEST(p1_a_waiter_for_permits_gets_them_when_enough_are_free)
{
    struct rowlock_connection *one = t_open(), *two = t_open(), *three = t_open();
    struct rowlock_lease *first = t_granted(one, t_p("enough", 3, 2), 0);
    struct rowlock_lease *second = t_granted(two, t_p("enough", 3, 1), 0);
    struct acquisition all = {.wants = {t_p("enough", 3, 2)}, .wait_ms = -1};
    struct thread *thread = t_acquire_thread(three, &all);
    void *hand = t_native();

    t_until_queued(hand, "enough", 1);
    t_give(second);
    t_int(t_may_have(t_p("enough", 3, 1)), 0); /* it would overtake the waiter */
    t_int(t_is_done(thread), 0);
    t_give(first);
    t_join_and_give(thread, &all);
}

TEST(p1_limits_that_differ_are_refused)
{
    struct rowlock_connection *one = t_open(), *two = t_open(), *three = t_open();
    struct rowlock_lease *lease = t_granted(one, t_p("limits", 31, 1), 0), *none = NULL;
    struct acquisition waiter = {.wants = {t_p("limits", 31, 3)}, .wait_ms = -1};
    struct thread *thread;
    void *hand = t_native();

    t_fails(t_acquire(two, t_p("limits", 47, 1), 0, 0, &none), ELIMIT);
    t_contains(t_error.text, "it is held with limit 31, but limit 47 was requested");
    t_fails(t_acquire(two, t_p("limits", 47, 1), 0, 5000, &none), ELIMIT);
    t_contains(t_error.text, "it is held with limit 31, but limit 47 was requested");
    t_give(lease);
    lease = t_granted(one, t_x("limits"), 0); /* waiters have a limit too */
    thread = t_queue_thread(three, &waiter, hand, 1);
    t_fails(t_acquire(two, t_p("limits", 47, 1), 0, 5000, &none), ELIMIT);
    t_contains(t_error.text, "it is waited for with limit 31, but limit 47 was requested");
    t_give(lease);
    t_join_and_give(thread, &waiter);
    t_give(t_granted(two, t_p("limits", 47, 1), 0));
    t_text(t_all_rows(hand), NO_ROWS);
}

TEST(p1_an_expired_limit_does_not_count)
{
    struct rowlock_connection *one = t_open();
    struct rowlock_lease *lease = t_granted(one, t_p("old limit", 2, 1), 0);

    t_expire(t_native(), rowlock_token(lease));
    t_give(t_granted(one, t_p("old limit", 3, 1), 0));
    t_give_lost(lease);
}
