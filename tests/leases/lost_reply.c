/* SPDX-License-Identifier: Apache-2.0 */
/*
 * P1: the connection is cut after every message of acquire, renew and release, one after the other.
 * The owner id settles what happened: there are never two grants, and no grant that its owner does
 * not know.
 *
 * Runs on: postgresql mariadb odbc jdbc
 * Quick: first
 * Rest: sqlite/native postgresql/native mariadb/row postgresql/odbc derby/jdbc
 */
#include <string.h>

#include "lib/cut.h"
#include "lib/grants.h"
#include "lib/lease.h"

#define MOST_MESSAGES 1000

static const struct cuts every = {.least = 3, .most = MOST_MESSAGES, .stride = 1};

/* Asserts that this lease, and no other, is in the tables for the name. */
static void is_the_one(void *hand, const char *name, const struct rowlock_lease *lease)
{
    t_int(leases_of(hand, name), 1);
    t_int(lease_rows(hand, (long)rowlock_token(lease)), 1);
    t_int(lease_beats(hand, (long)rowlock_token(lease)), 1);
    t_int(waiters_of(hand, name), 0);
}

static void cut_acquire(struct rowlock_want want, rowlock_duration wait_ms)
{
    const char *name = want.name;
    struct cuts cuts = every;
    void *hand = t_native();

    t_give(t_granted(t_open(), want, 0));
    while (t_next_cut_of(&cuts)) {
        struct rowlock_connection *connection = t_through_proxy();
        struct rowlock_lease *lease = NULL;
        int code;

        proxy_arm(t_proxy, PROXY_CUT, cuts.direction, cuts.n);
        code = t_acquire(connection, want, HOUR, wait_ms, &lease);
        cuts.struck = proxy_has_struck(t_proxy);
        if (code == 0) {
            is_the_one(hand, name, lease);
            proxy_arm(t_proxy, PROXY_NONE, cuts.direction, 0);
            t_give(lease);
        } else { /* possible only where a lost call leaves nothing */
            t_int(code, ROWLOCK_ECONN);
            t_int(cuts.struck, 1);
        }
        t_close_through_proxy(connection);
        t_text(t_all_rows(hand), NO_ROWS);
    }
}

TEST(p1_cut_after_every_message_of_a_try)
{
    cut_acquire(t_x("cut try"), 0);
}

TEST(p1_cut_after_every_message_of_a_waiting_call)
{
    cut_acquire(t_x("cut wait"), 10000);
}

/* For a shared lease no exclusive lock on the name prevents a second grant beside the first. */
TEST(p1_cut_after_every_message_of_a_sharer)
{
    cut_acquire(t_s("cut share"), 0);
}

/* ---- a session that is lost while it works --------------------------------------------------- */

/* The session on the server is about to INSERT when its client is cut off, and would continue
   later. */
static void lost_at_work(struct rowlock_want want, rowlock_duration wait_ms)
{
    int postgresql = t_is_postgresql();
    struct rowlock_connection *connection;
    struct acquisition us = {.wants = {want}, .ttl_ms = HOUR, .wait_ms = wait_ms};
    void *hand = t_native(), *locker = t_native();
    struct thread *thread;
    int sessions;

    if (t_engine()->sessions)
        t_not_here(WHY_NO_TABLE_LOCK);
    t_give(t_granted(t_open(), want, 0));
    connection = t_through_proxy();
    sessions = t_sessions();
    if (postgresql)
        t_native_sql(locker, "BEGIN");
    t_native_sql(locker, postgresql ? "LOCK TABLE %s IN SHARE MODE" : "LOCK TABLES %s READ",
                 lease_table());
    thread = t_acquire_thread(connection, &us);
    t_until_table_waits(1);
    proxy_cut_all(t_proxy);
    t_until_table_waits(t_is_done(thread) ? 0 : 1);
    t_native_sql(locker, postgresql ? "COMMIT" : "UNLOCK TABLES");
    t_ok(t_join(thread));
    t_until_sessions(sessions);
    is_the_one(hand, want.name, us.lease);
    t_give(us.lease);
    t_close_through_proxy(connection);
    t_text(t_all_rows(hand), NO_ROWS);
}

TEST(p1_a_session_lost_at_work_grants_nothing_beside_us)
{
    lost_at_work(t_x("at work x"), 0);
    lost_at_work(t_s("at work s"), 0);
    lost_at_work(t_p("at work p", 3, 1), 0);
}

TEST(p1_a_session_lost_at_work_and_a_waiting_call)
{
    lost_at_work(t_x("waiting x"), 20000);
    lost_at_work(t_s("waiting s"), 20000);
    lost_at_work(t_p("waiting p", 3, 1), 20000);
}

/* The client waits in the queue; messages are counted from then on. */
TEST(p1_cut_after_every_message_of_a_waiter)
{
    struct cuts cuts = {.least = 1, .most = MOST_MESSAGES, .stride = 3};
    struct rowlock_connection *one = t_open();
    void *hand = t_native();

    while (t_next_cut_of(&cuts)) {
        struct rowlock_connection *connection = t_through_proxy();
        struct rowlock_lease *lease = t_granted(one, t_x("cut queue"), HOUR);
        struct acquisition us = {.wants = {t_x("cut queue")}, .ttl_ms = HOUR, .wait_ms = -1};
        struct thread *thread = t_acquire_thread(connection, &us);

        t_until_queued(hand, "cut queue", 1);
        proxy_arm(t_proxy, PROXY_CUT, cuts.direction, cuts.n);
        t_give(lease);
        t_ok(t_join(thread));
        cuts.struck = proxy_has_struck(t_proxy);
        is_the_one(hand, "cut queue", us.lease);
        proxy_arm(t_proxy, PROXY_NONE, cuts.direction, 0);
        t_give(us.lease);
        t_close_through_proxy(connection);
        t_text(t_all_rows(hand), NO_ROWS);
    }
}

/* On a wrapped handle the library cannot reconnect: the call returns ECONN or EUNKNOWN, and at
   most one grant may exist. */
TEST(p1_cut_after_every_message_on_a_wrapped_connection)
{
    struct cuts cuts = every;
    void *hand = t_native();

    t_give(t_granted(t_open(), t_x("cut bare"), 0));
    while (t_next_cut_of(&cuts)) {
        void *handle = t_native_at(t_proxied_url(&t_proxy));
        struct rowlock_connection *connection = t_wrap_handle(handle, NULL);
        struct rowlock_lease *lease = NULL;
        int code, sessions = t_sessions() - 1;

        proxy_arm(t_proxy, PROXY_CUT, cuts.direction, cuts.n);
        code = t_acquire(connection, t_x("cut bare"), HOUR, 0, &lease);
        cuts.struck = proxy_disarm(t_proxy);
        if (code)
            t_true(code == ROWLOCK_ECONN || code == ROWLOCK_EUNKNOWN);
        else if (cuts.struck) /* cut after the last message */
            rowlock_lease_free(lease);
        else
            t_give(lease);
        t_close_through_proxy(connection);
        t_engine()->close(handle);
        t_until_sessions(sessions);
        t_true(leases_of(hand, "cut bare") <= 1);
        t_int(t_odd_rows(hand), 0);
        t_forget_leases(hand);
    }
}

/* ---- renewal and release --------------------------------------------------------------------- */

TEST(p5_cut_after_every_message_of_renew_and_release)
{
    struct cuts cuts = every;
    void *hand = t_native();

    while (t_next_cut_of(&cuts)) {
        struct rowlock_connection *connection = t_through_proxy();
        struct rowlock_lease *lease = t_granted(connection, t_x("cut life"), HOUR);
        int code;

        proxy_arm(t_proxy, PROXY_CUT, cuts.direction, cuts.n);
        code = rowlock_renew(lease, 0, &t_error);
        t_true(code == 0 || code == ROWLOCK_ECONN);
        t_true(rowlock_remaining(lease) > HOUR / 2);
        t_int(leases_of(hand, "cut life"), 1);
        code = rowlock_release(lease, &t_error);
        cuts.struck = proxy_has_struck(t_proxy);
        /* it is released, whether the first or the second try was answered: never "lost" */
        t_true(code == 0 || code == ROWLOCK_ECONN);
        if (code) {
            proxy_arm(t_proxy, PROXY_NONE, cuts.direction, 0);
            t_ok(rowlock_release(lease, &t_error));
        }
        rowlock_lease_free(lease);
        t_close_through_proxy(connection);
        t_text(t_all_rows(hand), NO_ROWS);
    }
}

/* The reply is lost, and the database is unreachable for the rest of the call. The next call
   finds no lease, but this holder itself has ended it. */
static int releases_unheard(enum proxy_direction direction)
{
    void *hand = t_native();
    int done_unheard = 0, sessions = t_sessions();

    for (int n = 0, struck = 1; struck && n < MOST_MESSAGES; n++) {
        struct rowlock_connection *connection = t_through_proxy();
        struct rowlock_lease *lease = t_granted(connection, t_x("repeated"), HOUR);
        int code;

        proxy_arm(t_proxy, PROXY_DOWN, direction, n);
        code = rowlock_release(lease, &t_error);
        struck = proxy_has_struck(t_proxy);
        t_true(code == 0 || (struck && code == ROWLOCK_ECONN));
        if (code)
            t_until_sessions(sessions); /* the session that was cut off has done its work */
        done_unheard += code && leases_of(hand, "repeated") == 0;
        proxy_arm(t_proxy, PROXY_NONE, direction, 0);
        t_ok(rowlock_release(lease, &t_error));
        t_int(leases_of(hand, "repeated"), 0);
        rowlock_lease_free(lease);
        t_close_through_proxy(connection);
    }
    return done_unheard;
}

TEST(p5_a_release_repeated_after_a_lost_reply_says_nothing_of_loss)
{
    int sent = releases_unheard(PROXY_TO_SERVER), got = releases_unheard(PROXY_TO_CLIENT);

    t_true(sent + got > 0); /* the reply to COMMIT may be a single message */
}

/* If the holder already knew of the loss, every release reports it, whatever happened to the
   first reply. */
TEST(p5_a_known_loss_is_reported_by_every_release)
{
    struct rowlock_connection *connection = t_through_proxy();
    struct rowlock_lease *lease = t_granted(connection, t_x("known"), HOUR);

    t_ok(rowlock_break(t_open(), "known", 0, 1, NULL, &t_error));
    t_fails(rowlock_renew(lease, 0, &t_error), ELOST);
    proxy_arm(t_proxy, PROXY_DOWN, PROXY_TO_CLIENT, 0);
    t_fails(rowlock_release(lease, &t_error), ECONN);
    proxy_arm(t_proxy, PROXY_NONE, PROXY_TO_CLIENT, 0);
    t_fails(rowlock_release(lease, &t_error), ELOST);
    t_give_lost(lease);
    t_close_through_proxy(connection);
}

/* ---- silence --------------------------------------------------------------------------------- */

TEST(p5_silence_ends_every_call_in_time)
{
    struct rowlock_options options = {.statement_ms = 300, .connect_ms = 2000};
    struct rowlock_connection *connection = t_open_at(t_proxied_url(&t_proxy), &options);
    struct rowlock_lease *lease = NULL;
    long long began;
    int code;

    t_ok(t_acquire(connection, t_x("silent"), 60000, 0, &lease));
    proxy_arm(t_proxy, PROXY_STALL, PROXY_TO_CLIENT, 0);
    began = t_now();
    code = rowlock_renew(lease, 0, &t_error);
    t_true(code == 0 || code == ROWLOCK_ECONN || code == ROWLOCK_ETIMEDOUT);
    t_within(began, 12000);
    t_true(rowlock_remaining(lease) > 0);
    proxy_arm(t_proxy, PROXY_STALL, PROXY_TO_CLIENT, 0);
    began = t_now();
    code = rowlock_release(lease, &t_error);
    t_true(code == 0 || code == ROWLOCK_ECONN || code == ROWLOCK_ETIMEDOUT);
    t_within(began, 12000);
    rowlock_lease_free(lease);
    t_close_through_proxy(connection);
    t_forget_leases(t_native());
}
