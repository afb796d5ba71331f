/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The grant by one UPDATE (sql/mariadb/grant_free.sql) beside shared leases: each is stopped before
 * the lock of the name's row, and between that and its COMMIT, while the other one runs. That
 * statement reads rowlock_lease, and no server promises whether before or after the row's lock. So
 * it runs here without that look: the row itself must exclude. Mistakes that this must find are
 * planted in the statement and in the procedures.
 *
 * Runs on: mariadb/row
 */
#include <mysql.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dialect/dialect.h"
#include "lib/harness.h"
#include "lib/hand_mariadb.h"
#include "lib/test.h"

#define LOOK "AND NOT EXISTS (SELECT 1 FROM rowlock_lease l WHERE l.name = "
#define GATE "CONCAT('gate ', DATABASE())"

static const char *omitted; /* a condition of grant_free, as a mistake */

/* ---- the statement --------------------------------------------------------------------------- */

static void cut(char *text, const char *part)
{
    char *at = strstr(text, part);

    if (!at)
        t_fail(__FILE__, __LINE__, "grant_free lacks '%s'", part);
    memmove(at, at + strlen(part), strlen(at + strlen(part)) + 1);
}

/* grant_free for the name a, and an owner of that name. It waits for the row. */
static const char *free_grant(const char *owner)
{
    static char text[4000];
    const struct rowlock_statement *product =
        &rowlock__dialect_mariadb.statements[ROWLOCK_SQL_GRANT_FREE];
    const char *values[] = {"'a'", NULL, "60000", "'h'", "1", "'c'", "NULL", "0", "10000"};
    const char *at = product->text;
    size_t n = 0;

    for (unsigned i = 0; *at && n < sizeof text - 40; at++) {
        if (*at != '?') {
            text[n++] = *at;
        } else {
            const char *value = values[product->order[i++] - '1'];

            n += (size_t)sprintf(text + n, value ? "%s" : "'%s'", value ? value : owner);
        }
    }
    text[n] = '\0';
    cut(text, "SET STATEMENT innodb_lock_wait_timeout = 0 FOR\n");
    cut(text, LOOK "'a')");
    if (omitted)
        cut(text, omitted);
    return text;
}

/* The row of the name a, as an exclusive lease leaves it. */
static void *fresh(void)
{
    void *hand;

    if (t_is_mysql())
        t_not_here(WHY_MYSQL_GRANT);
    hand = hand_fresh();
    hand_row(hand, "DELETE FROM rowlock_name WHERE name = 'a'");
    hand_release(hand, hand_lease(hand, "a:x:0:0"));
    t_text(hand_row(hand, "SELECT held, many FROM rowlock_name WHERE name = 'a'"), "0|0");
    return hand;
}

static void start_shared(void *hand, const char *owner)
{
    hand_start_grant(hand,
                     (struct hand_terms){.wants = "a:s:0:0", .owner = owner, .wait_ms = 60000});
}

static const char *holders(void)
{
    return hand_row(t_admin(), "SELECT GROUP_CONCAT(mode ORDER BY mode) FROM rowlock_held "
                               "WHERE name = 'a'");
}

static int excludes(void)
{
    return strcmp(holders(), "exclusive") == 0 || strcmp(holders(), "shared") == 0;
}

/* ---- the scenes: each returns whether the leases exclude each other -------------------------- */

/* A level of the session would refuse the statement; that of the next transaction does not. */
static const char *const levels[] = {"SET TRANSACTION ISOLATION LEVEL READ COMMITTED",
                                     "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ",
                                     "SET TRANSACTION ISOLATION LEVEL SERIALIZABLE"};

/* A shared lease is stopped before its COMMIT; the UPDATE waits for it. */
static int beside_a_shared_grant(const char *level)
{
    void *shared = fresh(), *update = hand_open();

    start_shared(shared, "one");
    t_text(hand_field(hand_finish(shared), 0), "0");
    hand_row(update, "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED");
    hand_row(update, "%s", level);
    hand_start(update, "%s", free_grant("free"));
    hand_until_waiting(update);
    hand_row(shared, "COMMIT");
    t_text(hand_finish(update), "(none)");
    return excludes();
}

static void until_waiting_or_done(void *hand)
{
    long session = t_engine()->session(hand);

    t_until(t_engine()->has_answered(hand) || t_engine()->is_waiting(t_admin(), session));
}

/* A transaction has the row locked in share mode. A shared lease may have to wait for it; the
   UPDATE does. */
static int beside_a_shared_lock(const char *level)
{
    void *lock = fresh(), *update = hand_open(), *shared = hand_open();

    hand_row(lock, "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED");
    hand_row(lock, "START TRANSACTION");
    hand_row(lock, "CALL rowlock_shared('a')");
    start_shared(shared, "one");
    until_waiting_or_done(shared);
    hand_row(update, "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED");
    hand_row(update, "%s", level);
    hand_start(update, "%s", free_grant("free"));
    hand_until_waiting(update);
    hand_row(lock, "COMMIT");
    t_text(hand_field(hand_finish(shared), 0), "0");
    hand_row(shared, "COMMIT");
    t_text(hand_finish(update), "(none)");
    return excludes();
}

/* The UPDATE is stopped after the row's lock and its conditions, and the shared lease waits. */
static int before_a_shared_grant(const char *level)
{
    void *gate = fresh(), *update = hand_open(), *shared = hand_open();

    hand_row(t_admin(), "DROP TRIGGER IF EXISTS gate_of_free");
    hand_row(t_admin(), "CREATE TRIGGER gate_of_free BEFORE UPDATE ON rowlock_name FOR EACH ROW "
                        "SET @gate = IF(NEW.owner = 'free' AND NOT OLD.held, "
                        "GET_LOCK(" GATE ", 60), 0)");
    t_int(hand_number(gate, "SELECT GET_LOCK(" GATE ", 0)"), 1);
    hand_row(update, "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED");
    hand_row(update, "%s", level);
    hand_start(update, "%s", free_grant("free"));
    hand_until_waiting(update);
    start_shared(shared, "one");
    hand_until_waiting(shared);
    t_int(hand_number(gate, "SELECT RELEASE_LOCK(" GATE ")"), 1);
    t_text(hand_finish(update), "(none)");
    hand_finish(shared);
    hand_row(shared, "COMMIT");
    hand_row(update, "DO RELEASE_LOCK(" GATE ")");
    hand_row(t_admin(), "DROP TRIGGER gate_of_free");
    return excludes();
}

static void at_each_level(int (*scene)(const char *level))
{
    for (int i = 0; i < 3; i++)
        t_int(scene(levels[i]), 1);
}

TEST(p1_a_grant_by_update_that_waited_for_a_shared_grant_sees_it)
{
    at_each_level(beside_a_shared_grant);
}

TEST(p1_a_grant_by_update_sees_a_shared_lease_that_was_granted_beside_a_shared_lock)
{
    at_each_level(beside_a_shared_lock);
}

TEST(p1_a_shared_grant_that_waited_for_a_grant_by_update_sees_it)
{
    at_each_level(before_a_shared_grant);
}

/* The first one has the row alone until its COMMIT, and so has one that waits for it. */
TEST(shared_leases_of_a_name_that_had_exclusive_ones_share_it)
{
    void *one = fresh(), *other = hand_open();

    start_shared(one, "one");
    t_text(hand_field(hand_finish(one), 0), "0");
    start_shared(other, "other");
    hand_until_waiting(other);
    hand_row(one, "COMMIT");
    t_text(hand_field(hand_finish(other), 0), "0");
    hand_row(other, "COMMIT");
    start_shared(one, "third");
    t_text(hand_field(hand_finish(one), 0), "0");
    t_text(hand_field(hand_grant(other, "a:s:0:0", 0), 0), "0"); /* the third is not committed */
    hand_row(one, "COMMIT");
    t_text(holders(), "shared,shared,shared,shared");
}

/* rowlock_begin_shared sets `many` before its transaction, so that the lease need not wait. */
TEST(a_shared_lease_is_granted_beside_a_shared_lock_of_a_name_that_had_exclusive_ones)
{
    void *lock = fresh(), *shared = hand_open();

    hand_row(lock, "CALL rowlock_begin_shared('a')");
    t_text(hand_field(hand_grant(shared, "a:s:0:0", 0), 0), "0");
    hand_row(lock, "COMMIT");
    fresh();
    hand_row(lock, "CALL rowlock_begin_lock(CONCAT(HEX('a'), ':s:0'), 1000)");
    t_text(hand_field(hand_grant(shared, "a:s:0:0", 0), 0), "0");
    hand_row(lock, "COMMIT");
}

TEST(a_level_of_the_session_above_read_committed_refuses_a_grant_by_update)
{
    void *update = fresh();

    hand_row(update, "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ");
    hand_row(update, "%s", free_grant("free"));
    t_text(holders(), "");
    hand_row(update, "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED");
    hand_row(update, "%s", free_grant("free"));
    t_text(holders(), "exclusive");
}

/* ---- mistakes -------------------------------------------------------------------------------- */

struct mistake {
    const char *procedure, *from, *to;
};

/* The text of a procedure, for free(). */
static char *text_of(const char *procedure)
{
    MYSQL *admin = t_admin();
    MYSQL_RES *result;
    char *text;

    t_int(mysql_query(admin, t_say("SHOW CREATE PROCEDURE %s", procedure)), 0);
    result = mysql_store_result(admin);
    text = strdup(mysql_fetch_row(result)[2]);
    mysql_free_result(result);
    return text;
}

static void replace(const char *procedure, const char *text)
{
    t_int(mysql_query(t_admin(), t_say("DROP PROCEDURE %s", procedure)), 0);
    t_int(mysql_query(t_admin(), text), 0);
}

/* Makes the mistake; returns the former text. */
static char *make(const struct mistake *mistake)
{
    char *former = text_of(mistake->procedure), *at = strstr(former, mistake->from);
    char *text = malloc(strlen(former) + strlen(mistake->to) + 1);

    if (!at)
        t_fail(__FILE__, __LINE__, "%s lacks '%s'", mistake->procedure, mistake->from);
    sprintf(text, "%.*s%s%s", (int)(at - former), former, mistake->to, at + strlen(mistake->from));
    replace(mistake->procedure, text);
    free(text);
    return former;
}

static void finds(int (*scene)(const char *level), const struct mistake *mistake, int n)
{
    char *former[3];
    int right;

    fresh();
    for (int i = 0; i < n; i++)
        former[i] = make(&mistake[i]);
    right = scene(levels[0]);
    for (int i = n; i-- > 0; free(former[i]))
        replace(mistake[i].procedure, former[i]);
    t_int(right, 0);
}

TEST(finds_a_grant_by_update_that_does_not_look_at_the_mark)
{
    omitted = " AND many = 0";
    finds(beside_a_shared_grant, NULL, 0);
    omitted = NULL;
}

TEST(finds_a_shared_grant_that_sets_no_mark)
{
    static const struct mistake mistake[] = {
        {"rowlock_insert_lease", "IF v_many < v_mark THEN", "IF FALSE THEN"},
        {"rowlock_insert_lease", "IF NOT COALESCE(v_many > 0, 0) THEN", "IF FALSE THEN"}};

    finds(beside_a_shared_grant, mistake, 2);
}

TEST(finds_a_shared_grant_that_shares_the_row_without_a_mark)
{
    static const struct mistake mistake[] = {
        {"rowlock_name_lock_all", "SET p_status = IF(v_many > 0, 0, NULL)", "SET p_status = 0"},
        {"rowlock_name_lock_all", "SET v_alone = COALESCE(v_many, 0) = 0",
         "SET v_alone = v_mode <> 's'"},
        {"rowlock_insert_lease", "IF NOT COALESCE(v_many > 0, 0) THEN", "IF FALSE THEN"}};

    finds(beside_a_shared_lock, mistake, 3);
}
