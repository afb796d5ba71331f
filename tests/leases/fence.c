/* SPDX-License-Identifier: Apache-2.0 */
/*
 * P4: a fenced transaction keeps its lease until it ends, in spite of every attempt to end the
 * lease. Also: locks beneath the same lease exclude each other.
 * Runs on: sqlite postgresql mariadb odbc jdbc
 * Quick: first
 */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/grants.h"
#include "lib/lease.h"

#define SHORT_MS 1000 /* a statement's time limit, in cases where it must expire */

static void begin_own(struct rowlock_connection *connection)
{
    t_own_begin(t_handle(connection), t_engine()->begin);
}

/* Fences the lease's token in a transaction of this connection. */
static void fence_it(struct rowlock_connection *connection, const char *name, int64_t token)
{
    begin_own(connection);
    t_ok(rowlock_fence(connection, name, token, &t_error));
}

static struct rowlock_connection *hasty(void)
{
    return t_open_with(&(struct rowlock_options){.statement_ms = SHORT_MS});
}

/* A limit that passes late on a busy machine costs the session where a cancel does. */
static void times_out(int code)
{
    if (code != ROWLOCK_ECONN || !t_facts()->cancel_ends_session)
        t_fails(code, ETIMEDOUT);
}

TEST(p4_shared_leases_and_permits_are_fenced_too)
{
    struct rowlock_connection *one = t_open(), *two = t_open(), *own = t_open();
    struct rowlock_lease *shared = t_granted(one, t_s("fence s"), 0);
    struct rowlock_lease *permits = t_granted(two, t_p("fence p", 4, 3), 0);

    fence_it(own, "fence s", rowlock_token(shared));
    t_ok(rowlock_fence(own, "fence p", rowlock_token(permits), &t_error));
    t_ok(rowlock_commit(own, &t_error));
    t_give(shared);
    t_give(permits);
}

TEST(p4_the_fence_of_a_lost_lease)
{
    struct rowlock_connection *one = t_open(), *two = t_open(), *own = t_open();
    struct rowlock_lease *lease = t_granted(one, t_x("lost"), 0), *other;
    int64_t token = rowlock_token(lease);

    t_expire(t_native(), token);
    other = t_granted(two, t_x("lost"), 0);
    begin_own(own);
    t_fails(rowlock_fence(own, "lost", token, &t_error), ELOST);
    t_left(KEPT);
    t_left_is_true(own);
    t_ok(rowlock_fence(own, "lost", rowlock_token(other), &t_error));
    t_ok(rowlock_rollback(own, &t_error));
    begin_own(own);
    t_fails(rowlock_fence(own, "never", token, &t_error), ELOST);
    t_fails(rowlock_fence(own, "lost", 12345, &t_error), ELOST);
    t_ok(rowlock_rollback(own, &t_error));
    t_give(other);
    rowlock_lease_free(lease);
}

/* A snapshot from before the takeover still shows the lease. */
TEST(p4_a_frozen_snapshot_does_not_hide_a_loss)
{
    struct rowlock_connection *one = t_open(), *two = t_open(), *own;
    struct rowlock_lease *lease, *other;
    void *handle;

    if (!t_engine()->begin_repeatable[0])
        return;
    own = t_wrap(&handle, NULL);
    lease = t_granted(one, t_x("frozen"), 0);
    t_own_begin(handle, t_engine()->begin_repeatable);
    t_native_sql(handle, "SELECT count(*) FROM %s", lease_table());
    t_ok(rowlock_renew(lease, 0, &t_error));
    t_ok(rowlock_fence(own, "frozen", rowlock_token(lease), &t_error));
    t_native_sql(handle, "COMMIT");
    t_own_begin(handle, t_engine()->begin_repeatable);
    t_native_sql(handle, "SELECT count(*) FROM %s", lease_table());
    t_expire(t_native(), rowlock_token(lease));
    other = t_granted(two, t_x("frozen"), 0);
    t_true(rowlock_fence(own, "frozen", rowlock_token(lease), &t_error) != 0);
    t_true(t_error.code == ROWLOCK_ELOST || t_error.code == ROWLOCK_EABORTED ||
           t_error.code == ROWLOCK_ESNAPSHOT); /* MariaDB since 11.6 */
    t_native_sql(handle, "ROLLBACK");
    t_give(other);
    rowlock_lease_free(lease);
}

TEST(p4_a_read_only_transaction_is_no_place_for_a_fence)
{
    struct rowlock_connection *one = t_open(), *own;
    struct rowlock_lease *lease = t_granted(one, t_x("read only"), 0);
    void *handle;

    if (t_engine()->default_read_only) {
        own = t_wrap(&handle, NULL);
        t_native_sql(handle, "%s", t_engine()->default_read_only);
        t_own_begin(handle, t_engine()->begin);
        t_fails(rowlock_fence(own, "read only", rowlock_token(lease), &t_error), ESERVER);
        t_native_sql(handle, "ROLLBACK");
    }
    t_give(lease);
}

/* ---- a takeover, step by step ---------------------------------------------------------------- */

/* The lease has expired by the clock, but a fence keeps it: another client that asks for the name
   is refused. */
TEST(p4_a_fenced_lease_is_not_taken_over)
{
    struct rowlock_connection *one = t_open(), *own = t_open(), *two = t_open();
    struct rowlock_lease *lease = t_granted(one, t_x("fenced"), 0), *none = NULL;
    struct acquisition next = {.wants = {t_x("fenced")}, .wait_ms = -1};
    struct thread *thread;
    void *hand = t_native();

    t_expire(hand,
             /* before the fence: a lease is valid while its row exists, not by the clock */
             rowlock_token(lease));
    fence_it(own, "fenced", rowlock_token(lease));
    t_fails(t_acquire(two, t_x("fenced"), 0, 0, &none), EBUSY);
    thread = t_acquire_thread(two, &next);
    t_stays(thread, 700);
    t_int(lease_rows(hand, (long)rowlock_token(lease)), 1);
    t_ok(rowlock_fence(own, "fenced", rowlock_token(lease), &t_error));
    t_ok(rowlock_commit(own, &t_error));
    t_ok(t_join(thread));
    t_true(rowlock_token(next.lease) > rowlock_token(lease));
    begin_own(own);
    t_fails(rowlock_fence(own, "fenced", rowlock_token(lease), &t_error), ELOST);
    t_ok(rowlock_rollback(own, &t_error));
    t_give(next.lease);
    rowlock_lease_free(lease);
    t_text(t_all_rows(hand), NO_ROWS);
}

/* A transaction lock that removes an expired lease is a takeover too. */
TEST(p4_a_fenced_lease_is_not_stepped_over_by_a_transaction)
{
    struct rowlock_connection *one = t_open(), *own = t_open(), *two = t_open();
    struct rowlock_lease *lease = t_granted(one, t_x("stepped"), 0);
    struct thread *thread;

    t_expire(t_native(), rowlock_token(lease));
    fence_it(own, "stepped", rowlock_token(lease));
    if (t_begin(two, t_x("stepped"), 0) == ROWLOCK_ECONN && t_facts()->limit_ends_session)
        two = t_open(); /* the sweep costs the session, and the server is late with another one */
    else
        t_fails(t_error.code, EBUSY);
    thread = t_begin_thread(two, t_x("stepped"), -1);
    t_stays(thread, 700);
    t_ok(rowlock_commit(own, &t_error));
    t_ok(t_join(thread));
    t_ok(rowlock_commit(two, &t_error));
    rowlock_lease_free(lease);
}

static int fence_work(struct rowlock_connection *connection, void *data,
                      struct rowlock_error *error)
{
    return rowlock_fence(connection, "steps", *(int64_t *)data, error);
}

/* As rowlock_drop on MariaDB, behind the entry of the index that a fence locks. */
#define END_OF_ROW                                                                                 \
    "UPDATE rowlock_name r FORCE INDEX (rowlock_name_fence) SET held = 0 WHERE name IN ('steps', " \
    "'limit') AND token = %lld"

/* Another session has deleted the heartbeat, or the lease as well, and has not committed yet. */
static void fence_meets(int deleted, int commits)
{
    struct rowlock_connection *one = t_open(), *own = t_open();
    struct rowlock_lease *lease = t_granted(one, t_x("steps"), 60000);
    int64_t token = rowlock_token(lease);
    void *taker = t_native(), *hand = t_native();
    struct thread *thread;

    if (t_facts()->server)
        begin_own(own);
    t_own_begin(taker, t_engine()->begin);
    if (lease_has_views())
        t_native_sql(taker, deleted == 2 ? END_OF_ROW : "DELETE FROM rowlock_heartbeat",
                     (long long)token);
    else
        t_native_sql(taker, "DELETE FROM %s WHERE token = %lld", lease_heartbeat_table(),
                     (long long)token);
    if (deleted == 2 && !lease_has_views())
        t_native_sql(taker, "DELETE FROM %s WHERE token = %lld", lease_table(), (long long)token);
    /* the lease still exists: the taker will wait for the fence */
    if (deleted == 1 && t_facts()->server) {
        t_ok(rowlock_fence(own, "steps", token, &t_error));
        t_native_sql(taker, "ROLLBACK");
    } else if (t_facts()->server) {
        thread = t_thread(own, fence_work, &token);
        t_until_waiting(thread);
        t_native_sql(taker, commits ? "COMMIT" : "ROLLBACK");
        if (commits)
            t_fails(t_join(thread), ELOST);
        else
            t_ok(t_join(thread));
    } else { /* one writer: the fencing transaction cannot begin meanwhile */
        t_native_sql(taker, commits ? "COMMIT" : "ROLLBACK");
        begin_own(own);
        t_int(rowlock_fence(own, "steps", token, &t_error), commits ? ROWLOCK_ELOST : 0);
    }
    t_ok(rowlock_rollback(own, &t_error));
    rowlock_lease_free(lease);
    t_forget_leases(hand);
}

TEST(p4_a4_a_fence_before_the_lease_row_is_deleted)
{
    if (!lease_has_one_row())
        fence_meets(1, 0);
}

TEST(p4_f1_a_fence_during_a_takeover_that_commits_is_lost)
{
    fence_meets(2, 1);
}

TEST(p4_a_fence_during_a_takeover_that_rolls_back_is_valid)
{
    fence_meets(2, 0);
}

TEST(p4_a_fence_does_not_wait_for_ever)
{
    struct rowlock_connection *one = t_open(), *own = hasty();
    struct rowlock_lease *lease = t_granted(one, t_x("limit"), 60000);
    void *taker = t_native();
    long long began;

    if (!t_facts()->server) {
        t_give(lease);
        return;
    }
    t_own_begin(taker, t_engine()->begin);
    if (lease_has_views())
        t_native_sql(taker, END_OF_ROW, (long long)rowlock_token(lease));
    else
        t_native_sql(taker, "DELETE FROM %s WHERE token = %lld", lease_table(),
                     (long long)rowlock_token(lease));
    begin_own(own);
    began = t_now();
    times_out(rowlock_fence(own, "limit", rowlock_token(lease), &t_error));
    t_within(began, 10000);
    if (t_error.transaction != ROWLOCK_TX_DEAD)
        t_left_is_true(own);
    t_native_sql(taker, "ROLLBACK");
    if (t_error.transaction != ROWLOCK_TX_DEAD)
        t_ok(rowlock_rollback(own, &t_error));
    t_give(lease);
}

/* ---- the holder and the operator against a fence --------------------------------------------- */

TEST(p4_my1_a_renewal_passes_a_fence)
{
    struct rowlock_connection *one = t_open(), *own = t_open();
    struct rowlock_lease *lease = t_granted(one, t_x("renewed"), 60000);

    if (t_facts()->server) { /* SQLite has one writer */
        fence_it(own, "renewed", rowlock_token(lease));
        t_ok(rowlock_renew(lease, 0, &t_error));
        t_ok(rowlock_commit(own, &t_error));
    }
    t_give(lease);
}

TEST(p4_a_release_waits_for_a_fence_and_then_gives_up)
{
    struct rowlock_connection *one = hasty(), *own = t_open();
    struct rowlock_lease *lease = t_granted(one, t_x("released"), 60000);
    long long began = t_now();
    int lost;

    fence_it(own, "released", rowlock_token(lease));
    times_out(rowlock_release(lease, &t_error));
    lost = t_error.code == ROWLOCK_ECONN;
    t_within(began, 10000);
    t_ok(rowlock_fence(own, "released", rowlock_token(lease), &t_error));
    t_ok(rowlock_commit(own, &t_error));
    t_ok(lost ? rowlock_break(own, "released", 0, 1, NULL, &t_error)
              : rowlock_release(lease, &t_error));
    rowlock_lease_free(lease);
    t_text(t_all_rows(t_native()), NO_ROWS);
}

TEST(p4_a_break_now_waits_for_a_fence)
{
    struct rowlock_connection *one = t_open(), *own = t_open(), *operator= hasty();
    struct rowlock_lease *lease = t_granted(one, t_x("broken"), 60000);
    void *hand = t_native();

    fence_it(own, "broken", rowlock_token(lease));
    times_out(rowlock_break(operator, "broken", 0, 1, NULL, &t_error));
    if (t_error.code == ROWLOCK_ETIMEDOUT)
        t_contains(t_error.text, "'broken' was not broken: a transaction");
    t_int(lease_rows(hand, (long)rowlock_token(lease)), 1);
    t_int(t_odd_rows(hand), 0);
    t_ok(rowlock_commit(own, &t_error));
    t_ok(rowlock_break(one, "broken", 0, 1, NULL, &t_error));
    t_text(t_all_rows(hand), NO_ROWS);
    rowlock_lease_free(lease);
}

TEST(p4_vacuum_leaves_what_is_fenced)
{
    struct rowlock_connection *one = t_open(), *own = t_open(), *two = t_open();
    struct rowlock_lease *lease = t_granted(one, t_x("vacuumed"), 60000);
    int64_t removed = 0;
    void *hand = t_native();

    if (!t_facts()->server) {
        t_give(lease);
        return;
    }
    if (t_facts()->readers_wait && t_facts()->limit_ends_session)
        t_not_here(WHY_VACUUM);
    t_expire(hand, rowlock_token(lease));
    fence_it(own, "vacuumed", rowlock_token(lease));
    t_ok(rowlock_vacuum(two, &removed, &t_error));
    t_int(lease_rows(hand, (long)rowlock_token(lease)), 1);
    t_int(t_odd_rows(hand), 0);
    t_ok(rowlock_commit(own, &t_error));
    t_ok(rowlock_vacuum(two, &removed, &t_error));
    t_text(t_all_rows(hand), NO_ROWS);
    rowlock_lease_free(lease);
}

TEST(p4_a_sweep_leaves_what_is_fenced_or_expired_just_now)
{
    struct rowlock_connection *own = t_open(), *two = t_open();
    void *hand = t_native();
    int fences = t_facts()->server;

    if (t_is_mysql())
        t_not_here(WHY_MYSQL_SWEEP);
    lease_put(hand, 41, "old", "exclusive", -120000);
    lease_put(hand, 42, "young", "exclusive", -30000);
    lease_put(hand, 43, "fenced", "exclusive", -120000);
    if (fences)
        fence_it(own, "fenced", 43);
    t_ok(rowlock_sweep(two, &t_error));
    t_int(lease_rows(hand, 41), 0);
    t_int(lease_rows(hand, 42), 1);
    t_int(lease_rows(hand, 43), fences);
    t_int(t_odd_rows(hand), 0);
    if (fences)
        t_ok(rowlock_commit(own, &t_error));
    t_ok(rowlock_sweep(two, &t_error));
    t_int(lease_rows(hand, 43), 0);
    t_ok(rowlock_vacuum(two, NULL, &t_error));
    t_text(t_all_rows(hand), NO_ROWS);
}

/* ---- beneath the own lease ------------------------------------------------------------------ */

#define TURNS 15

/* Reads, thinks, writes, in transactions that lock the name beneath the lease. */
static int sibling_work(struct rowlock_connection *connection, void *token,
                        struct rowlock_error *error)
{
    struct rowlock_want want = {"family", ROWLOCK_EXCLUSIVE, *(int64_t *)token, 0, 0};
    int code = 0;

    for (int i = 0; !code && i < TURNS; i++) {
        char text[80], number[300] = "";

        code = rowlock_begin(connection, &want, 1, -1, error);
        if (!code)
            code = t_engine()->sql(t_handle(connection), "SELECT n FROM family", number,
                                   sizeof number);
        sched_yield();
        snprintf(text, sizeof text, "UPDATE family SET n = %ld", atol(number) + 1);
        if (!code)
            code = t_engine()->sql(t_handle(connection), text, number, sizeof number);
        code = code ? code : rowlock_commit(connection, error);
    }
    return code;
}

TEST(p4_siblings_beneath_one_lease_are_exact)
{
    struct rowlock_connection *one = t_open();
    struct rowlock_lease *lease = t_granted(one, t_x("family"), 600000);
    int64_t token = rowlock_token(lease);
    struct thread *siblings[2];

    t_sql(one, "CREATE TABLE family (n INTEGER)");
    t_sql(one, "INSERT INTO family VALUES (0)");
    for (int i = 0; i < 2; i++)
        siblings[i] = t_thread(t_open(), sibling_work, &token);
    for (int i = 0; i < 2; i++)
        t_ok(t_join(siblings[i]));
    t_int(atol(t_sql(one, "SELECT n FROM family")), 2 * TURNS);
    t_ok(rowlock_renew(lease, 0, &t_error));
    t_give(lease);
}

TEST(p4_a_shared_lease_is_not_enough_for_an_exclusive_lock)
{
    struct rowlock_connection *one = t_open(), *own = t_open();
    struct rowlock_lease *lease = t_granted(one, t_s("weak"), 0);
    struct rowlock_want want = {"weak", ROWLOCK_EXCLUSIVE, rowlock_token(lease), 0, 0};

    t_fails(t_begin(own, want, 0), ELOST);
    t_left(NONE);
    t_give(lease);
}
