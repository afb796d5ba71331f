/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The grant of a lease on InnoDB against concurrent events: fences under way, isolation levels, the
 * order of sweeps, which are separate transactions, a vacuumed row, frozen clients, killed
 * statements. The procedures of the schema are called step by step from plain sessions;
 * lease_steps_test has what PostgreSQL does too.
 *
 * Runs on: mariadb
 * Quick: first
 * Rest: mariadb
 */
#include <mysql.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/harness.h"
#include "lib/hand_mariadb.h"
#include "lib/test.h"

#define X(name) ((struct hand_terms){.wants = name ":x:0:0"})

static const char *in_the_way(const char *name, long long number)
{
    static char text[80];

    snprintf(text, sizeof text, "3|%s|0|%lld|", name, number);
    return text;
}

static const char *fence(void *hand, const char *name, long long token)
{
    return hand_row(hand, "CALL rowlock_fence_row('%s', %lld, 30000)", name, token);
}

static void begin(void *hand, const char *level)
{
    hand_row(hand, "SET SESSION TRANSACTION ISOLATION LEVEL %s", level);
    hand_row(hand, "START TRANSACTION");
}

/* ---- isolation levels ------------------------------------------------------------------------ */

/* Sets the level of the session, or of the next transaction only, which the server does not
   show. */
static void look_after_a_wait(const char *set)
{
    void *holder = hand_fresh(), *other = hand_open();
    long long token;

    /* a transaction lock, then a lease under it: a caller that waited for the name lock must see
       the lease */
    hand_row(holder, "CALL rowlock_begin_exclusive('a')");
    hand_row(other, "%s", set);
    hand_start_waiting(other, "a:x:0:0");
    token = my_draw(holder);
    hand_row(holder,
             "INSERT INTO rowlock_lease (token, name, mode, owner, acquired) "
             "VALUES (%lld, 'a', 'exclusive', 'hand', utc_timestamp(6))",
             token);
    hand_row(holder,
             "INSERT INTO rowlock_heartbeat (token, expires) "
             "VALUES (%lld, utc_timestamp(6) + INTERVAL 60 SECOND)",
             token);
    hand_row(holder, "COMMIT");
    t_text(hand_finish(other), in_the_way("a", token));
    t_int(t_engine()->in_transaction(other), 0);
}

TEST(a2_my3_a_grant_sees_what_it_waited_for_at_every_level)
{
    look_after_a_wait("SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ");
    look_after_a_wait("SET SESSION TRANSACTION ISOLATION LEVEL SERIALIZABLE");
    look_after_a_wait("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ");
    look_after_a_wait("SET TRANSACTION ISOLATION LEVEL SERIALIZABLE");
    look_after_a_wait("SET SESSION TRANSACTION READ ONLY");
}

TEST(a2_my5_looking_locks_nothing)
{
    void *hand = hand_fresh(), *other = hand_open();
    long long token = hand_lease(hand, "a:x:0:0"), ticket;

    hand_row(other, "SET SESSION TRANSACTION ISOLATION LEVEL SERIALIZABLE");
    ticket = hand_queue(other, "a:x:0:0", 1);
    hand_row(other, "SET SESSION TRANSACTION ISOLATION LEVEL SERIALIZABLE");
    t_text(hand_field(hand_place(other, "a:x:0:0", ticket, 1), 0), "3");
    hand_row(other, "SET autocommit = 0");
    t_text(hand_field(hand_place(other, "a:x:0:0", ticket, 1), 0), "3");
    t_text(hand_field(hand_row(other, "CALL rowlock_check('a', %lld)", token), 0), "0");
    t_int(t_engine()->in_transaction(other), 0);
    t_int(hand_renew(hand, token, 60000), 0);
    hand_release(hand, token);
    hand_row(other, "SET autocommit = 1");
    hand_row(other, "CALL rowlock_withdraw(%lld, '')", ticket);
}

TEST(a2_a_lease_is_a_transaction_of_its_own)
{
    void *hand = hand_fresh();

    hand_row(hand, "START TRANSACTION");
    hand_start_grant(hand, X("a"));
    t_text(hand_finish(hand), "error 30007");
    t_int(t_engine()->in_transaction(hand), 1);
    hand_start(hand, "CALL rowlock_release_lease(1, NULL, NULL)");
    t_text(hand_finish(hand), "error 30007");
    t_int(t_engine()->in_transaction(hand), 1);
    hand_row(hand, "ROLLBACK");
}

/* ---- the fence ------------------------------------------------------------------------------- */

TEST(my2_a_takeover_waits_for_a_fence)
{
    void *fenced = hand_fresh(), *hand = hand_open(), *other = hand_open();
    long long token = hand_lease(hand, "a:x:0:0");

    begin(fenced, "READ COMMITTED");
    t_text(hand_field(fence(fenced, "a", token), 0), "0");
    hand_expire(hand, token);
    t_text(hand_grant(other, "a:x:0:0", 0), in_the_way("a", token));
    t_text(hand_rows(other, token), "1|1"); /* the rows that the sweep had deleted exist again */
    t_int(hand_renew(hand, token, 60000), 0);
    hand_expire(hand, token);
    hand_start_waiting(other, "a:x:0:0");
    hand_row(fenced, "COMMIT");
    t_text(hand_field(hand_finish(other), 0), "0");
    hand_row(other, "COMMIT");
    t_text(hand_rows(hand, token), "0|0");
    t_int(hand_renew(hand, token, 60000), 8);
}

/* An older snapshot would show the former lease. A current read locks the row: renewals wait. */
TEST(my2c_a_fence_above_read_committed_sees_the_present_lease)
{
    void *fenced = hand_fresh(), *hand = hand_open(), *other = hand_open();
    long long token = hand_lease(hand, "a:x:0:0"), next;

    begin(fenced, "REPEATABLE READ");
    hand_row(fenced, "SELECT count(*) FROM rowlock_name");
    hand_release(hand, token);
    t_text(hand_field(fence(fenced, "a", token), 0), "8");
    hand_row(fenced, "COMMIT");
    hand_row(fenced, "START TRANSACTION");
    hand_row(fenced, "SELECT count(*) FROM rowlock_name");
    next = hand_lease(hand, "a:x:0:0");
    t_text(hand_field(fence(fenced, "a", token), 0), "8");
    hand_row(fenced, "COMMIT");
    hand_row(fenced, "START TRANSACTION");
    hand_row(fenced, "SELECT count(*) FROM rowlock_name");
    t_text(hand_field(fence(fenced, "a", next), 0), "0");
    hand_start(other, "CALL rowlock_renew_lease(%lld, 60000, NULL, NULL)", next);
    if (t_facts()->code == ROWLOCK_ROW)
        hand_until_waiting(other);
    hand_row(fenced, "COMMIT");
    t_text(hand_finish(other), "0");
    hand_release(hand, next);
}

TEST(my2b_a_fenced_transaction_may_lock_the_name_while_it_is_swept)
{
    void *fenced = hand_fresh(), *hand = hand_open(), *other = hand_open();
    long long token = hand_lease(hand, "a:x:0:0");

    begin(fenced, "READ COMMITTED");
    t_text(hand_field(fence(fenced, "a", token), 0), "0");
    hand_expire(hand, token);
    hand_start_waiting(other, "a:x:0:0");
    /* the sweep runs outside of the name lock: no cycle, so no deadlock */
    hand_row(fenced, "CALL rowlock_try_exclusive('a', 0, @got)");
    t_int(t_engine()->in_transaction(fenced), 1);
    hand_row(fenced, "COMMIT");
    t_text(hand_field(hand_finish(other), 0), "0");
    hand_row(other, "COMMIT");
}

TEST(my3_a_lost_fence_says_what_stays_locked)
{
    void *hand = hand_fresh();

    begin(hand, "READ COMMITTED");
    t_text(fence(hand, "a", 12345), "8|a|0|");
    hand_row(hand, "ROLLBACK");
    begin(hand, "REPEATABLE READ");
    t_text(fence(hand, "a", 12345), "8|a|1|");
    hand_row(hand, "ROLLBACK");
    hand_row(hand, "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED");
}

/* ---- sweeps ---------------------------------------------------------------------------------- */

/* Two sessions that sweep the same leases, named in different orders, cannot deadlock. */
TEST(h3_a_sweep_that_waits_for_one_lease_has_done_with_the_other)
{
    void *one = hand_fresh(), *other = hand_open();
    long long first = hand_lease(one, "b:x:0:0"), second = hand_lease(one, "a:x:0:0");

    hand_expire(one, first);
    hand_expire(one, second);
    hand_row(one, "START TRANSACTION");
    hand_row(one, "SELECT token FROM %s WHERE token = %lld FOR UPDATE",
             t_facts()->code == ROWLOCK_ROW ? "rowlock_name" : "rowlock_heartbeat", first);
    t_true(strcmp(hand_field(hand_grant(other, "a:x:0:0,b:x:0:0", 0), 0), "0") != 0);
    t_text(hand_rows(other, second), "0|0");
    t_text(hand_rows(other, first), "1|1");
    hand_row(one, "ROLLBACK");
    t_true(hand_lease(other, "a:x:0:0,b:x:0:0") > second);
    t_text(hand_rows(other, first), "0|0");
}

/* ---- a vacuumed row -------------------------------------------------------------------------- */

TEST(my6_a_grant_that_waited_for_a_row_that_is_gone)
{
    void *vacuum = hand_fresh(), *other = hand_open();

    if (t_facts()->code != ROWLOCK_ROW)
        return;
    hand_row(vacuum, "START TRANSACTION");
    hand_row(vacuum, "DELETE FROM rowlock_name WHERE name = 'a'");
    hand_start_waiting(other, "a:x:0:0");
    hand_row(vacuum, "COMMIT");
    t_text(hand_field(hand_finish(other), 0), "0");
    hand_row(other, "COMMIT");
    t_text(hand_field(hand_grant(vacuum, "a:x:0:0", 0), 0), "3");
}

/* ---- a client that waited for the name lock -------------------------------------------------- */

static const char *idle_limit(void)
{
    return t_is_mysql() ? "wait_timeout" : "idle_write_transaction_timeout";
}

TEST(h5_the_limit_of_a_grant_that_waited_is_taken_back)
{
    static const char *const next[] = {"CALL rowlock_renew_lease(1, 1000, NULL, NULL)",
                                       "CALL rowlock_session_unlock(0, 1, CONNECTION_ID())",
                                       "CALL rowlock_list(NULL)",
                                       "CALL rowlock_begin_exclusive('b')"};
    void *hand = hand_fresh();

    for (int i = 0; i < 4; i++) {
        hand_row(hand, "SET SESSION %s = %d", idle_limit(), i ? 600 : 700);
        t_text(hand_field(hand_grant_as(hand, (struct hand_terms){.wants = "a:x:0:0",
                                                                  .owner = "one",
                                                                  .wait_ms = 1000}),
                          0),
               "0");
        hand_row(hand, "COMMIT");
        hand_row(hand, "%s", next[i]);
        t_int(hand_number(hand, "SELECT @@%s", idle_limit()), i ? 600 : 700);
        hand_row(hand, "ROLLBACK");
    }
}

/* Behind a pooler our next call uses another session, and the time limit would apply to
   the next user of this one. */
TEST(h5_behind_a_pooler_a_grant_that_waited_sets_no_limit)
{
    /* the fast path, and the general one */
    static const char *const wants[] = {"a:x:0:0", "a:s:0:0"};
    void *hand = hand_fresh();
    long long usual = hand_number(hand, "SELECT @@%s", idle_limit());

    hand_row(hand, "CALL rowlock_prepare('a')");
    for (int i = 0; i < 2; i++) {
        long long ticket = hand_queue(hand, wants[i], 0), token;
        const char *row = hand_row(
            hand, "CALL rowlock_grant('%s', 'one', 60000, 1000, %lld, 0, 'here', 1, '', '')",
            hand_wants(wants[i]), ticket);

        t_text(hand_field(row, 0), "0");
        token = atoll(hand_field(row, 2));
        hand_row(hand, "COMMIT");
        t_int(hand_number(hand, "SELECT @@%s", idle_limit()), usual);
        hand_release(hand, token);
    }
}

/* A KILL QUERY during the planning of a DELETE ends it without an error, and nothing is deleted.
   A row of technique insert would then be committed, and lock the name forever. */
TEST(p6_a_lock_that_is_killed_at_any_moment_leaves_no_row)
{
    void *hand = hand_fresh(), *other = hand_open();

    for (int i = 0; i < t_effort(200, 1000); i++) {
        my_kill_at_any_moment(hand, other, i, "CALL rowlock_begin_exclusive('a')", "COMMIT");
        if (i % 10 == 9) {
            hand_row(other, "CALL rowlock_begin_exclusive('a')");
            hand_row(other, "COMMIT");
        }
    }
}

/* The same for a release: its answer is true, and no lease is left without its heartbeat or the
   reverse. */
TEST(p5_a_release_that_is_killed_at_any_moment_tells_the_truth)
{
    void *hand = hand_fresh(), *other = hand_open();

    for (int i = 0; i < t_effort(200, 1000); i++) {
        long long token = hand_lease(other, "a:x:0:0");
        const char *release = t_say("CALL rowlock_release_lease(%lld, NULL, NULL)", token);
        const char *answer = my_kill_at_any_moment(hand, other, i, release, "ROLLBACK");
        const char *rows = hand_rows(other, token);

        /* MySQL may end a killed CALL without an error, but also without an answer */
        if (strncmp(answer, "error", 5) != 0 && strcmp(answer, "(none)") != 0) {
            t_text(hand_field(answer, 0), "0");
            t_text(rows, "0|0");
        } else { /* complete or undone, once the client has rolled back, as the library does */
            t_true(strcmp(rows, "1|1") == 0 || strcmp(rows, "0|0") == 0);
        }
        hand_row(other, "%s", release);
    }
}

TEST(b7_a_session_is_ended_if_it_is_the_same_one_still)
{
    void *hand = hand_fresh(), *lost = hand_open();
    const char *session = hand_row(lost, "CALL rowlock_session()");
    long long token = hand_lease(lost, "a:x:0:0");

    hand_row(hand, "CALL rowlock_end_session(%s, %s - 1)", hand_field(session, 0),
             hand_field(session, 1));
    t_int(my_marker(hand, token), atoll(hand_field(session, 0)));
    hand_row(hand, "CALL rowlock_end_session(%s, %s)", hand_field(session, 0),
             hand_field(session, 1));
    /* at once: the session has ended when the procedure returns */
    t_int(my_marker(hand, token), 0);
    hand_row(hand, "CALL rowlock_end_session(%s, %s)", hand_field(session, 0),
             hand_field(session, 1));
}

/* The grant is committed, but cancelled before its answer ends. The list that looks for it is
   cancelled too, at the moment at which it is denied what needs PROCESS. */
static void cancel_after_commit(void *hand)
{
    /* the procedure grants, because the name may have had other leases */
    hand_row(hand, "INSERT INTO rowlock_name (name, many) VALUES ('a', 1) "
                   "ON DUPLICATE KEY UPDATE many = 1");
    my_replace(hand, "rowlock_grant",
               "(a LONGBLOB, b VARBINARY(255), c BIGINT, d BIGINT, e BIGINT, f BIGINT, g TEXT, "
               "h BIGINT, i TEXT, j TEXT) "
               "BEGIN CALL rowlock_grant_answer(a, b, c, d, e, f, g, h, i, j, @s, @n, @t, @m, @d); "
               "SELECT @s, @n, @t, @m, @d; "
               "SIGNAL SQLSTATE '70100' SET MYSQL_ERRNO = 1317; END");
    my_replace(hand, "rowlock_list",
               "(a VARBINARY(255)) "
               "IF @denied IS NULL THEN SET @denied = 1; "
               "SIGNAL SQLSTATE '42000' SET MYSQL_ERRNO = 1227; "
               "ELSE SELECT 'held', name, mode, token, 0, owner FROM rowlock_held "
               "WHERE name = a; END IF");
}

TEST(a_grant_that_is_cancelled_after_its_commit_is_released)
{
    void *hand = hand_fresh();
    struct rowlock_connection *own = t_open();
    struct rowlock_want want = {.name = "a"};
    struct rowlock_lease *lease = NULL;

    cancel_after_commit(hand);
    t_fails(rowlock_acquire(own, &want, 1, NULL, &lease, &t_error), ECANCELED);
    t_int(hand_number(hand, "SELECT count(*) FROM rowlock_held"), 0);
}

/* No list answers, so the grant remains. */
TEST(a_grant_that_is_cancelled_after_its_commit_and_not_found_is_reported)
{
    void *hand = hand_fresh();
    struct rowlock_connection *own = t_open();
    struct rowlock_want want = {.name = "a"};
    struct rowlock_lease *lease = NULL;

    cancel_after_commit(hand);
    my_replace(hand, "rowlock_list",
               "(a VARBINARY(255)) SIGNAL SQLSTATE '42000' SET MYSQL_ERRNO = 1227");
    t_fails(rowlock_acquire(own, &want, 1, NULL, &lease, &t_error), ECANCELED);
    t_contains(t_error.text, "the server cancelled the statement while waiting for 'a'");
    t_contains(t_error.text, "it may have been granted");
    t_int(hand_number(hand, "SELECT count(*) FROM rowlock_held"), 1);
}
