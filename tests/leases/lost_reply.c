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
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/grants.h"
#include "lib/harness.h"
#include "lib/lease.h"
#include "lib/proxy.h"

#define MOST_MESSAGES 1000

static struct proxy *proxy;

static struct rowlock_connection *through_proxy(void)
{
    return t_open_at(t_proxied_url(&proxy), t_usual());
}

static void close_it(struct rowlock_connection *connection)
{
    t_close(connection);
    proxy_cut_all(proxy);
}

/* Asserts that this lease, and no other, is in the tables for the name. */
static void is_the_one(void *hand, const char *name, const struct rowlock_lease *lease)
{
    t_int(leases_of(hand, name), 1);
    t_int(lease_rows(hand, (long)rowlock_token(lease)), 1);
    t_int(lease_beats(hand, (long)rowlock_token(lease)), 1);
    t_int(waiters_of(hand, name), 0);
}

static void cut_acquire(enum proxy_direction direction, struct rowlock_want want,
                        rowlock_duration wait_ms)
{
    const char *name = want.name;
    void *hand = t_native();
    int n, struck = 1;

    t_give(t_granted(t_open(), want, 0));
    for (n = 0; struck && n < MOST_MESSAGES; n = t_next_cut(n, 1)) {
        struct rowlock_connection *connection = through_proxy();
        struct rowlock_lease *lease = NULL;
        int code;

        proxy_arm(proxy, PROXY_CUT, direction, n);
        code = t_acquire(connection, want, HOUR, wait_ms, &lease);
        struck = proxy_has_struck(proxy);
        if (code == 0) {
            is_the_one(hand, name, lease);
            proxy_arm(proxy, PROXY_NONE, direction, 0);
            t_give(lease);
        } else { /* possible only where a lost call leaves nothing */
            t_int(code, ROWLOCK_ECONN);
            t_int(struck, 1);
        }
        close_it(connection);
        t_text(t_all_rows(hand), NO_ROWS);
    }
    t_true(n > 2 && n < MOST_MESSAGES);
}

TEST(p1_cut_after_every_message_a_try_sent)
{
    cut_acquire(PROXY_TO_SERVER, t_x("cut try"), 0);
}

TEST(p1_cut_after_every_message_a_try_got)
{
    cut_acquire(PROXY_TO_CLIENT, t_x("cut try"), 0);
}

TEST(p1_cut_after_every_message_a_waiting_call_sent)
{
    cut_acquire(PROXY_TO_SERVER, t_x("cut wait"), 10000);
}

TEST(p1_cut_after_every_message_a_waiting_call_got)
{
    cut_acquire(PROXY_TO_CLIENT, t_x("cut wait"), 10000);
}

/* For a shared lease no exclusive lock on the name prevents a second grant beside the first. */
TEST(p1_cut_after_every_message_a_sharer_sent)
{
    cut_acquire(PROXY_TO_SERVER, t_s("cut share"), 0);
}

TEST(p1_cut_after_every_message_a_sharer_got)
{
    cut_acquire(PROXY_TO_CLIENT, t_s("cut share"), 0);
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
    connection = through_proxy();
    sessions = t_sessions();
    if (postgresql)
        t_native_sql(locker, "BEGIN");
    t_native_sql(locker, postgresql ? "LOCK TABLE %s IN SHARE MODE" : "LOCK TABLES %s READ",
                 lease_table());
    thread = t_acquire_thread(connection, &us);
    t_until_table_waits(1);
    proxy_cut_all(proxy);
    t_until_table_waits(t_is_done(thread) ? 0 : 1);
    t_native_sql(locker, postgresql ? "COMMIT" : "UNLOCK TABLES");
    t_ok(t_join(thread));
    t_until_sessions(sessions);
    is_the_one(hand, want.name, us.lease);
    t_give(us.lease);
    close_it(connection);
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
static void cut_waiter(enum proxy_direction direction)
{
    struct rowlock_connection *one = t_open();
    void *hand = t_native();
    int struck = 1;

    for (int n = 0; struck && n < MOST_MESSAGES; n = t_next_cut(n, 3)) {
        struct rowlock_connection *connection = through_proxy();
        struct rowlock_lease *lease = t_granted(one, t_x("cut queue"), HOUR);
        struct acquisition us = {.wants = {t_x("cut queue")}, .ttl_ms = HOUR, .wait_ms = -1};
        struct thread *thread = t_acquire_thread(connection, &us);

        t_until_queued(hand, "cut queue", 1);
        proxy_arm(proxy, PROXY_CUT, direction, n);
        t_give(lease);
        t_ok(t_join(thread));
        struck = proxy_has_struck(proxy);
        is_the_one(hand, "cut queue", us.lease);
        proxy_arm(proxy, PROXY_NONE, direction, 0);
        t_give(us.lease);
        close_it(connection);
        t_text(t_all_rows(hand), NO_ROWS);
    }
}

TEST(p1_cut_after_every_message_a_waiter_sent)
{
    cut_waiter(PROXY_TO_SERVER);
}

TEST(p1_cut_after_every_message_a_waiter_got)
{
    cut_waiter(PROXY_TO_CLIENT);
}

/* On a wrapped handle the library cannot reconnect: the call returns ECONN or EUNKNOWN, and at
   most one grant may exist. */
static void cut_borrowed(enum proxy_direction direction)
{
    void *hand = t_native();
    int n, struck = 1;

    t_give(t_granted(t_open(), t_x("cut bare"), 0));
    for (n = 0; struck && n < MOST_MESSAGES; n = t_next_cut(n, 1)) {
        void *handle = t_native_at(t_proxied_url(&proxy));
        struct rowlock_connection *connection = t_wrap_handle(handle, NULL);
        struct rowlock_lease *lease = NULL;
        int code, sessions = t_sessions() - 1;

        proxy_arm(proxy, PROXY_CUT, direction, n);
        code = t_acquire(connection, t_x("cut bare"), HOUR, 0, &lease);
        struck = proxy_disarm(proxy);
        if (code)
            t_true(code == ROWLOCK_ECONN || code == ROWLOCK_EUNKNOWN);
        else if (struck) /* cut after the last message */
            rowlock_lease_free(lease);
        else
            t_give(lease);
        close_it(connection);
        t_engine()->close(handle);
        t_until_sessions(sessions);
        t_true(leases_of(hand, "cut bare") <= 1);
        t_int(t_odd_rows(hand), 0);
        t_forget_leases(hand);
    }
    t_true(n > 2 && n < MOST_MESSAGES);
}

TEST(p1_cut_after_every_message_on_a_wrapped_connection)
{
    cut_borrowed(PROXY_TO_SERVER);
    cut_borrowed(PROXY_TO_CLIENT);
}

/* ---- renewal and release --------------------------------------------------------------------- */

static void cut_renew_and_release(enum proxy_direction direction)
{
    void *hand = t_native();
    int n, struck = 1;

    for (n = 0; struck && n < MOST_MESSAGES; n = t_next_cut(n, 1)) {
        struct rowlock_connection *connection = through_proxy();
        struct rowlock_lease *lease = t_granted(connection, t_x("cut life"), HOUR);
        int code;

        proxy_arm(proxy, PROXY_CUT, direction, n);
        code = rowlock_renew(lease, 0, &t_error);
        t_true(code == 0 || code == ROWLOCK_ECONN);
        t_true(rowlock_remaining(lease) > HOUR / 2);
        t_int(leases_of(hand, "cut life"), 1);
        code = rowlock_release(lease, &t_error);
        struck = proxy_has_struck(proxy);
        /* it is released, whether the first or the second try was answered: never "lost" */
        t_true(code == 0 || code == ROWLOCK_ECONN);
        if (code) {
            proxy_arm(proxy, PROXY_NONE, direction, 0);
            t_ok(rowlock_release(lease, &t_error));
        }
        rowlock_lease_free(lease);
        close_it(connection);
        t_text(t_all_rows(hand), NO_ROWS);
    }
    t_true(n > 2 && n < MOST_MESSAGES);
}

TEST(p5_cut_after_every_message_of_renew_and_release_sent)
{
    cut_renew_and_release(PROXY_TO_SERVER);
}

TEST(p5_cut_after_every_message_of_renew_and_release_got)
{
    cut_renew_and_release(PROXY_TO_CLIENT);
}

/* The reply is lost, and the database is unreachable for the rest of the call. The next call
   finds no lease, but this holder itself has ended it. */
static int releases_unheard(enum proxy_direction direction)
{
    void *hand = t_native();
    int done_unheard = 0, sessions = t_sessions();

    for (int n = 0, struck = 1; struck && n < MOST_MESSAGES; n++) {
        struct rowlock_connection *connection = through_proxy();
        struct rowlock_lease *lease = t_granted(connection, t_x("repeated"), HOUR);
        int code;

        proxy_arm(proxy, PROXY_DOWN, direction, n);
        code = rowlock_release(lease, &t_error);
        struck = proxy_has_struck(proxy);
        t_true(code == 0 || (struck && code == ROWLOCK_ECONN));
        if (code)
            t_until_sessions(sessions); /* the session that was cut off has done its work */
        done_unheard += code && leases_of(hand, "repeated") == 0;
        proxy_arm(proxy, PROXY_NONE, direction, 0);
        t_ok(rowlock_release(lease, &t_error));
        t_int(leases_of(hand, "repeated"), 0);
        rowlock_lease_free(lease);
        close_it(connection);
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
    struct rowlock_connection *connection = through_proxy();
    struct rowlock_lease *lease = t_granted(connection, t_x("known"), HOUR);

    t_ok(rowlock_break(t_open(), "known", 0, 1, NULL, &t_error));
    t_fails(rowlock_renew(lease, 0, &t_error), ELOST);
    proxy_arm(proxy, PROXY_DOWN, PROXY_TO_CLIENT, 0);
    t_fails(rowlock_release(lease, &t_error), ECONN);
    proxy_arm(proxy, PROXY_NONE, PROXY_TO_CLIENT, 0);
    t_fails(rowlock_release(lease, &t_error), ELOST);
    t_fails(rowlock_release(lease, &t_error), ELOST);
    rowlock_lease_free(lease);
    close_it(connection);
}

/* ---- silence --------------------------------------------------------------------------------- */

TEST(p5_silence_ends_every_call_in_time)
{
    struct rowlock_options options = {.statement_ms = 300, .connect_ms = 2000};
    struct rowlock_connection *connection = t_open_at(t_proxied_url(&proxy), &options);
    struct rowlock_lease *lease = NULL;
    long long began;
    int code;

    t_ok(t_acquire(connection, t_x("silent"), 60000, 0, &lease));
    proxy_arm(proxy, PROXY_STALL, PROXY_TO_CLIENT, 0);
    began = t_now();
    code = rowlock_renew(lease, 0, &t_error);
    t_true(code == 0 || code == ROWLOCK_ECONN || code == ROWLOCK_ETIMEDOUT);
    t_within(began, 12000);
    t_true(rowlock_remaining(lease) > 0);
    proxy_arm(proxy, PROXY_STALL, PROXY_TO_CLIENT, 0);
    began = t_now();
    code = rowlock_release(lease, &t_error);
    t_true(code == 0 || code == ROWLOCK_ECONN || code == ROWLOCK_ETIMEDOUT);
    t_within(began, 12000);
    rowlock_lease_free(lease);
    close_it(connection);
    t_forget_leases(t_native());
}
