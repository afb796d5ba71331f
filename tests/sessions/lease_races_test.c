/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Transaction locks against changing leases: no sweep removes a lease while its renewal is under
 * way; leases/fence has the fence. The token of an exclusive lease permits a lock beneath it.
 *
 * Quick: first
 */
#include "lib/lease.h"
#include "lib/test.h"

static struct rowlock_want with_token(const char *name, int64_t token)
{
    return (struct rowlock_want){.name = name, .mode = ROWLOCK_EXCLUSIVE, .token = token};
}

/* ---- renewals under way ---------------------------------------------------------------------- */

static struct rowlock_connection *wrapped(void)
{
    void *handle;

    return t_wrap(&handle, NULL);
}

/* On the library's own connections, and on an application's. */
static struct rowlock_connection *(*const open_it[])(void) = {t_open, wrapped};

/*
 * A try cancels the statements that wait. If the server is too busy to answer the cancel within 2
 * s, the try loses its connection (ECONN), and a new connection tries again. No try may succeed.
 * Returns the idle connection that was refused.
 */
static struct rowlock_connection *told_busy(struct rowlock_connection *(*open)(void),
                                            struct rowlock_want want)
{
    struct rowlock_connection *connection = open();
    int code = t_begin(connection, want, 0);

    for (int tries = 1; code == ROWLOCK_ECONN && tries < 8; tries++) {
        t_left(DEAD);
        connection = open();
        code = t_begin(connection, want, 0);
    }
    t_fails(code, EBUSY);
    return connection;
}

static void in_flight_renewal(int later)
{
    struct rowlock_connection *own = t_open();
    void *hand = t_native(), *renewer = t_native();
    struct thread *thread;

    lease_put(hand, 151 + later, "in flight", "exclusive", -1000);
    t_own_begin(renewer, t_engine()->begin);
    t_native_sql(renewer, "UPDATE %s SET expires = %s WHERE token = %d",
                 lease_heartbeat_table_of(151 + later), lease_instant(600000), 151 + later);
    if (later) {
        t_ok(t_begin(own, t_x("before it"), 0));
        thread = t_lock_thread(own, t_x("in flight"), 60000);
    } else {
        thread = t_begin_thread(own, t_x("in flight"), 60000);
    }
    /* longer than a sweep's timeout, so that the sweep has retried: it never proceeds */
    t_stays(thread, 1800);
    t_native_sql(renewer, "COMMIT");
    t_stays(thread, 400);
    t_int(lease_rows(hand, 151 + later), 1);
    t_int(lease_beats(hand, 151 + later), 1);
    lease_end(hand, 151 + later);
    t_ok(t_join(thread));
}

TEST(a1_a_renewal_under_way_is_respected_at_begin)
{
    if (t_facts()->server)
        in_flight_renewal(0);
}

TEST(a1_a_renewal_under_way_is_respected_in_a_transaction)
{
    if (t_facts()->server)
        in_flight_renewal(1);
}

TEST(a1_a_try_during_a_renewal_is_busy)
{
    struct rowlock_connection *bare;
    void *hand = t_native(), *renewer = t_native(), *handle;
    struct rowlock_want want = t_x("try in flight");

    if (!t_facts()->server)
        return;
    t_ok(rowlock_prepare(t_open(), &want, 1, &t_error));
    lease_put(hand, 161, want.name, "exclusive", -1000);
    t_own_begin(renewer, t_engine()->begin);
    t_native_sql(renewer, "UPDATE %s SET expires = %s WHERE token = 161",
                 lease_heartbeat_table_of(161), lease_instant(600000));
    told_busy(t_open, want);
    bare = told_busy(wrapped, want);
    handle = t_handle(bare);
    t_own_begin(handle, t_engine()->begin);
    t_fails(t_lock(bare, want, 0), EBUSY);
    t_true(t_engine()->in_transaction(handle));
    t_native_sql(handle, "SELECT 1");
    t_native_sql(renewer, "COMMIT");
    t_int(lease_beats(hand, 161), 1);
}

/* ---- beneath the own lease ------------------------------------------------------------------ */

static struct rowlock_want sharing(const char *name, int64_t token)
{
    return (struct rowlock_want){.name = name, .mode = ROWLOCK_SHARED, .token = token};
}

static void siblings_exclude_each_other(struct rowlock_connection *(*open)(void), long token)
{
    struct rowlock_connection *one = open(), *two = open();
    const char *name = t_name((int)token);
    void *hand = t_native();
    struct thread *thread;

    lease_put(hand, token, name, "exclusive", 600000);
    t_ok(t_begin(one, with_token(name, token), 0));
    t_fails(t_begin(two, with_token(name, token), 0), EBUSY);
    t_fails(t_begin(two, t_x(name), 0), EBUSY);
    thread = t_begin_thread(two, with_token(name, token), 60000);
    t_until_waiting(thread);
    t_ok(rowlock_commit(one, &t_error));
    t_ok(t_join(thread));
    t_ok(rowlock_commit(two, &t_error));
    t_int(lease_rows(hand, token), 1);
}

TEST(own_lease_siblings_under_one_token_exclude_each_other)
{
    for (int i = 0; i < 2; i++)
        siblings_exclude_each_other(open_it[i], 181 + i);
}

/* With shared modes siblings hold the name together; with an exclusive one they never do. */
static void shared_siblings(struct rowlock_connection *(*open)(void), long token)
{
    struct rowlock_connection *one = open(), *two = open(), *writer = open();
    const char *name = t_name((int)token);
    struct thread *thread;

    lease_put(t_native(), token, name, "exclusive", 600000);
    t_ok(t_begin(one, sharing(name, token), 0));
    t_int(t_begin(two, sharing(name, token), 0),
          t_facts()->shared == SHARED_TOGETHER ? ROWLOCK_OK : ROWLOCK_EBUSY);
    t_fails(t_begin(writer, with_token(name, token), 0), EBUSY);
    t_ok(rowlock_commit(one, &t_error));
    if (t_facts()->shared == SHARED_TOGETHER) {
        t_fails(t_begin(writer, with_token(name, token), 0), EBUSY);
        t_ok(rowlock_commit(two, &t_error));
    }
    t_ok(t_begin(writer, with_token(name, token), 0));
    t_fails(t_begin(one, sharing(name, token), 0), EBUSY);
    thread = t_begin_thread(one, sharing(name, token), 60000);
    t_until_waiting(thread);
    t_ok(rowlock_commit(writer, &t_error));
    t_ok(t_join(thread));
    t_ok(rowlock_commit(one, &t_error));
}

TEST(own_lease_shared_siblings_go_together_and_exclude_an_exclusive_one)
{
    for (int i = 0; i < 2 && t_facts()->shared != SHARED_REFUSED; i++)
        shared_siblings(open_it[i], 221 + i);
}

TEST(own_lease_a_shared_lease_is_enough_for_a_shared_lock)
{
    if (t_facts()->shared == SHARED_REFUSED)
        return;
    lease_put(t_native(), 231, "share", "shared", 600000);
    for (int i = 0; i < 2; i++) {
        struct rowlock_connection *one = open_it[i]();

        t_lock_once(one, sharing("share", 231), 0);
    }
}

TEST(own_lease_renewal_passes_a_sibling)
{
    void *hand = t_native();

    if (!t_facts()->server)
        return;
    lease_put(hand, 191, "renewed", "exclusive", 600000);
    for (int i = 0; i < 2; i++) {
        struct rowlock_connection *one = open_it[i]();

        t_ok(t_begin(one, with_token("renewed", 191), 0));
        t_native_sql(hand, "UPDATE %s SET expires = %s WHERE token = 191",
                     lease_heartbeat_table_of(191), lease_instant(700000));
        t_ok(rowlock_commit(one, &t_error));
    }
}

static void a_wrong_token_is_lost(struct rowlock_connection *one)
{
    t_fails(t_begin(one, with_token("lost", 999), 0), ELOST);
    t_left(NONE);
    t_fails(t_begin(one, with_token("lost", 999), 1000), ELOST);
    t_fails(t_begin(one, with_token("elsewhere", 201), 0), ELOST);
    t_fails(t_begin(one, with_token("sharing", 202), 0), ELOST); /* the token of a shared lease */
    t_ok(t_begin(one, t_x("before"), 0));
    t_fails(t_lock(one, with_token("lost", 999), 0), ELOST);
    t_left(KEPT);
    t_ok(t_lock(one, with_token("lost", 201), 0));
    t_ok(rowlock_commit(one, &t_error));
}

TEST(own_lease_a_wrong_token_is_lost)
{
    void *hand = t_native();

    lease_put(hand, 201, "lost", "exclusive", 600000);
    lease_put(hand, 202, "sharing", "shared", 600000);
    for (int i = 0; i < 2; i++)
        a_wrong_token_is_lost(open_it[i]());
}

static void takeover_waits(struct rowlock_connection *sibling, long token)
{
    struct rowlock_connection *other;
    const char *name = t_name((int)token);
    void *hand = t_native();
    struct thread *thread;

    lease_put(hand, token, name, "exclusive", 600000);
    t_ok(t_begin(sibling, with_token(name, token), 0));
    t_native_sql(hand, "UPDATE %s SET expires = %s WHERE token = %ld",
                 lease_heartbeat_table_of(token), lease_instant(-1000), token);
    other = told_busy(t_open, t_x(name));
    thread = t_begin_thread(other, t_x(name), 60000);
    t_stays(thread, 1800);
    t_ok(rowlock_commit(sibling, &t_error));
    t_ok(t_join(thread));
    t_ok(rowlock_commit(other, &t_error));
}

TEST(own_lease_a_takeover_waits_for_the_sibling)
{
    if (t_facts()->server)
        for (int i = 0; i < 2; i++)
            takeover_waits(open_it[i](), 211 + i);
}
