/* SPDX-License-Identifier: Apache-2.0 */
/*
 * P11: a refusal or a timeout leaves the caller's transaction as it was, with its work and its
 * locks. If the engine itself ended the transaction, the error says exactly that.
 * Quick: sqlite postgresql mariadb postgresql/odbc h2/jdbc
 */

#include "lib/test.h"

/* Two concurrent transactions, each with a lock and a row of its own. Engines with one writer
   have no such pair. */
struct pair {
    struct rowlock_connection *holder, *other;
};

static struct pair pair_of_transactions(const char *table)
{
    struct pair pair = {t_open(), t_open()};

    t_sql(pair.holder, "CREATE TABLE %s (n INTEGER)", table);
    t_ok(t_begin(pair.holder, t_x(t_name(1)), 0));
    t_ok(t_begin(pair.other, t_x(t_name(2)), 0));
    t_sql(pair.other, "INSERT INTO %s VALUES (1)", table);
    return pair;
}

static void survived(struct pair pair, const char *table)
{
    if (t_facts()->limit_aborts) {
        t_left(ABORTED);
        t_not_here(WHY_LIMIT_ABORTS);
    }
    if (t_facts()->limit_ends_session) {
        t_left(DEAD);
        t_int(t_engine()->in_transaction(t_handle(pair.other)), 0);
        t_not_here(WHY_LIMIT_ENDS);
    }
    t_true(t_error.transaction == ROWLOCK_TX_KEPT ||
           (t_facts()->busy_keeps_row && t_error.transaction == ROWLOCK_TX_KEPT_LOCKED));
    t_int(t_engine()->in_transaction(t_handle(pair.other)), 1);
    t_int(t_is_free(t_x(t_name(2))), 0);
    t_sql(pair.other, "INSERT INTO %s VALUES (2)", table);
    t_ok(t_lock(pair.other, t_x(t_name(3)), 0));
    t_ok(rowlock_commit(pair.other, &t_error));
    t_text(t_sql(pair.holder, "SELECT count(*) FROM %s", table), "2");
    t_int(t_is_free(t_x(t_name(2))), 1);
}

TEST(p11_busy_leaves_the_transaction_and_its_locks)
{
    struct pair pair;

    if (!t_facts()->names_independent)
        return;
    pair = pair_of_transactions("after_busy");
    t_fails(t_lock(pair.other, t_x(t_name(1)), 0), EBUSY);
    survived(pair, "after_busy");
}

TEST(p11_timed_out_leaves_the_transaction_and_its_locks)
{
    struct pair pair;

    if (!t_facts()->names_independent)
        return;
    pair = pair_of_transactions("after_timeout");
    t_fails(t_lock(pair.other, t_x(t_name(1)), 60), ETIMEDOUT);
    survived(pair, "after_timeout");
}

TEST(p11_refused_many_times_and_then_granted)
{
    struct pair pair;

    if (!t_facts()->names_independent)
        return;
    if (t_facts()->limit_aborts)
        t_not_here(WHY_LIMIT_ABORTS);
    if (t_facts()->limit_ends_session)
        t_not_here(WHY_LIMIT_ENDS);
    pair = pair_of_transactions("after_many");
    for (int i = 0; i < 20; i++) {
        t_fails(t_lock(pair.other, t_x(t_name(1)), 0), EBUSY);
        t_fails(t_lock(pair.other, t_x(t_name(1)), 5), ETIMEDOUT);
    }
    t_ok(rowlock_commit(pair.holder, &t_error));
    t_ok(t_lock(pair.other, t_x(t_name(1)), 0));
    t_ok(rowlock_commit(pair.other, &t_error));
}

TEST(p11_the_applications_savepoint_survives_a_refusal)
{
    struct pair pair;

    if (!t_facts()->names_independent)
        return;
    if (t_facts()->own_savepoints)
        t_not_here(WHY_SAVEPOINT);
    if (t_facts()->limit_aborts)
        t_not_here(WHY_LIMIT_ABORTS);
    if (t_facts()->limit_ends_session)
        t_not_here(WHY_LIMIT_ENDS);
    pair = pair_of_transactions("after_savepoint");
    t_sql(pair.other, "SAVEPOINT mine");
    t_sql(pair.other, "INSERT INTO after_savepoint VALUES (2)");
    t_fails(t_lock(pair.other, t_x(t_name(1)), 20), ETIMEDOUT);
    t_sql(pair.other, "ROLLBACK TO SAVEPOINT mine");
    t_ok(rowlock_commit(pair.other, &t_error));
    t_text(t_sql(pair.holder, "SELECT count(*) FROM after_savepoint"), "1");
}

/* Joins the thread of the victim, whose error is then in t_error; returns its index. */
static int join_victim(struct thread *const threads[2])
{
    int first;

    while (!t_is_done(threads[0]) && !t_is_done(threads[1]))
        t_pause(2);
    first = t_is_done(threads[1]);
    if (t_join(threads[first]))
        return first;
    t_true(t_join(threads[!first]) != 0);
    return !first;
}

/* Where the victim keeps its locks, the other one continues when the victim has rolled back. */
TEST(p11_a_deadlock_victim_learns_the_state_of_its_transaction)
{
    struct rowlock_connection *both[2];
    struct thread *threads[2];
    int victim;

    if (!t_facts()->deadlock_code)
        return;
    both[0] = t_open();
    both[1] = t_open();
    t_sql(both[0], "CREATE TABLE deadlocked (n INTEGER)");
    t_ok(t_begin(both[0], t_x(t_name(1)), 0));
    t_ok(t_begin(both[1], t_x(t_name(2)), 0));
    t_sql(both[0], "INSERT INTO deadlocked VALUES (1)");
    t_sql(both[1], "INSERT INTO deadlocked VALUES (2)");
    threads[0] = t_lock_thread(both[0], t_x(t_name(2)), -1);
    t_until_waiting(threads[0]);
    threads[1] = t_lock_thread(both[1], t_x(t_name(1)), -1);
    victim = join_victim(threads);
    t_int(t_error.code, t_facts()->deadlock_code);
    t_int((int)t_error.transaction, (int)t_facts()->deadlock_left);
    t_true(t_error.sqlstate[0] != '\0');
    if (!t_facts()->victim_keeps)
        t_ok(t_join(threads[!victim]));
    if (t_facts()->deadlock_left != ROWLOCK_TX_KEPT)
        t_true(rowlock_commit(both[victim], &t_error) != 0);
    t_ok(rowlock_rollback(both[victim], &t_error));
    t_ok(t_join(threads[!victim]));
    t_ok(rowlock_commit(both[!victim], &t_error));
    t_text(t_sql(both[0], "SELECT count(*) FROM deadlocked"), "1");
    t_ok(t_begin(both[victim], t_x(t_name(1)), 0));
}

TEST(p11_an_aborted_transaction_is_refused_at_once_and_commit_says_so)
{
    struct rowlock_connection *connection = t_open();

    t_sql(connection, "CREATE TABLE unfinished (n INTEGER NOT NULL)");
    t_ok(t_begin(connection, t_x(t_name(1)), 0));
    t_sql(connection, "INSERT INTO unfinished VALUES (1)");
    t_int(t_try_sql(t_handle(connection), "INSERT INTO unfinished VALUES (NULL)"), 1);
    if (!t_facts()->an_error_aborts) {
        t_ok(t_lock(connection, t_x(t_name(2)), 0));
        t_ok(rowlock_commit(connection, &t_error));
        t_text(t_sql(connection, "SELECT count(*) FROM unfinished"), "1");
        return;
    }
    t_fails(t_lock(connection, t_x(t_name(2)), 0), EABORTED);
    t_left(ABORTED);
    t_fails(rowlock_commit(connection, &t_error), EABORTED);
    t_left(NONE);
    t_text(t_sql(connection, "SELECT count(*) FROM unfinished"), "0");
    t_ok(t_begin(connection, t_x(t_name(1)), 0));
}

TEST(p11_after_the_session_is_killed_the_error_says_that_all_is_lost)
{
    struct rowlock_connection *connection;
    void *killer;

    if (!t_facts()->server)
        return;
    connection = t_open();
    killer = t_native();
    t_ok(t_begin(connection, t_x(t_name(1)), 0));
    t_engine()->kill(killer, t_engine()->session(t_handle(connection)));
    t_fails(t_lock(connection, t_x(t_name(2)), 0), ECONN);
    t_left(DEAD);
    t_fails(t_lock(connection, t_x(t_name(2)), 0), ECONN);
    t_left(DEAD);
    t_fails(rowlock_rollback(connection, &t_error), ECONN);
    t_int(t_is_free(t_x(t_name(1))), 1);
}
