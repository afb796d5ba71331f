/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Grants, renewals and releases that InnoDB rolls back in the middle, as a deadlock's victim (1213)
 * or after a timeout (1205): by a statement alone and by a procedure. Nothing is left half done,
 * the library repeats what had no effect, and tokens rise.
 *
 * Runs on: mariadb/row
 */
#include <stdio.h>

#include "lib/grants.h"
#include "lib/harness.h"
#include "lib/hand_mariadb.h"
#include "lib/test.h"

#define DEADLOCK 1213
#define TIMEOUT 1205

/* The triggers, each fails the statement of one step: the row of a name; the tables of a shared
   lease, whose rows change one after the other. */
static const char *const of_row[] = {"BEFORE UPDATE ON rowlock_name",
                                     "AFTER UPDATE ON rowlock_name"};
static const char *const of_grant[] = {
    "BEFORE INSERT ON rowlock_lease", "AFTER INSERT ON rowlock_lease",
    "BEFORE INSERT ON rowlock_heartbeat", "AFTER INSERT ON rowlock_heartbeat"};
static const char *const of_renewal[] = {"BEFORE UPDATE ON rowlock_heartbeat",
                                         "AFTER UPDATE ON rowlock_heartbeat"};
static const char *const of_release[] = {
    "BEFORE DELETE ON rowlock_heartbeat", "AFTER DELETE ON rowlock_heartbeat",
    "BEFORE DELETE ON rowlock_lease", "AFTER DELETE ON rowlock_lease"};

/* The next `times` such statements of a session fail, and then none. Variables are not rolled back,
   and each trigger has its own. */
static void break_at(const char *event, int error, int times)
{
    static int n;

    n++;
    hand_row(t_admin(), "DROP TRIGGER IF EXISTS failing");
    hand_row(t_admin(),
             "CREATE TRIGGER failing %s FOR EACH ROW BEGIN "
             "SET @failed_%d = COALESCE(@failed_%d, 0) + 1; "
             "IF @failed_%d <= %d THEN SIGNAL SQLSTATE '%s' SET MYSQL_ERRNO = %d; END IF; END",
             event, n, n, n, times, error == DEADLOCK ? "40001" : "HY000", error);
}

static void fail_no_more(void)
{
    hand_row(t_admin(), "DROP TRIGGER failing");
}

/* Whether the rows fit together, and which session locks remain. */
static void whole(void *hand, long leases)
{
    t_int(hand_number(hand, "SELECT count(*) FROM rowlock_held"), leases);
    t_int(t_odd_rows(hand), 0);
    t_int(hand_number(hand, "SELECT count(*) FROM rowlock_name WHERE held = 1 AND token IS NULL"),
          0);
}

static int64_t newest;

static struct rowlock_lease *grant(struct rowlock_connection *own, struct rowlock_want want)
{
    struct rowlock_lease *lease = t_granted(own, want, 60000);

    t_true(rowlock_token(lease) > newest);
    newest = rowlock_token(lease);
    return lease;
}

/* A grant, a renewal and a release, each of which fails at one of the events. */
static void fail_each(struct rowlock_want want, const char *const *grants, int n_grants,
                      const char *const *renewals, int n_renewals, const char *const *releases,
                      int n_releases, int error, int times)
{
    void *hand = hand_fresh();
    struct rowlock_connection *own = t_open();
    struct rowlock_lease *lease;

    newest = 0;
    t_give(grant(own, want)); /* the session is verified, the row exists */
    for (int i = 0; i < n_grants; i++) {
        break_at(grants[i], error, times);
        lease = grant(own, want);
        fail_no_more();
        whole(hand, 1);
        t_true(my_marker(hand, newest) > 0);
        t_give(lease);
        whole(hand, 0);
        t_int(my_marker(hand, newest), 0);
    }
    lease = grant(own, want);
    for (int i = 0; i < n_renewals; i++) {
        break_at(renewals[i], error, times);
        t_ok(rowlock_renew(lease, 600000 + 60000 * i, &t_error));
        fail_no_more();
        whole(hand, 1);
        t_int(hand_number(hand,
                          "SELECT expires > utc_timestamp(6) + INTERVAL %d MINUTE "
                          "FROM rowlock_held",
                          9 + i),
              1);
    }
    for (int i = 0; i < n_releases; i++) {
        break_at(releases[i], error, times);
        t_give(lease);
        fail_no_more();
        whole(hand, 0);
        t_int(my_marker(hand, newest), 0);
        lease = grant(own, want);
    }
    t_give(lease);
}

TEST(p5_a_deadlock_in_the_middle_of_an_exclusive_lease)
{
    fail_each(t_x("a"), of_row, 2, of_row, 2, of_row, 2, DEADLOCK, 1);
    fail_each(t_x("a"), of_row, 2, of_row, 2, of_row, 2, DEADLOCK, 3);
}

TEST(p5_a_deadlock_in_the_middle_of_a_shared_lease)
{
    fail_each(t_s("a"), of_grant, 4, of_renewal, 2, of_release, 4, DEADLOCK, 1);
    fail_each(t_s("a"), of_grant, 4, of_renewal, 2, of_release, 4, DEADLOCK, 3);
}

/* The grant by one UPDATE waits for nothing; the procedure then grants. */
TEST(p5_a_timeout_in_the_middle_of_the_grant_by_update)
{
    if (t_is_mysql())
        t_not_here(WHY_MYSQL_GRANT);
    fail_each(t_x("a"), of_row, 2, NULL, 0, NULL, 0, TIMEOUT, 1);
}

/* A try that cannot lock is refused, and a renewal reports it; a release is repeated. */
static void timed_out(struct rowlock_want want, const char *grant_event, const char *renewal,
                      const char *release)
{
    void *hand = hand_fresh();
    struct rowlock_connection *own = t_open();
    struct rowlock_lease *lease = NULL;
    const char *expires;
    /* after the statement of its own the procedure tries */
    int tries = want.mode == ROWLOCK_EXCLUSIVE && !t_is_mysql() ? 2 : 1;

    newest = 0;
    t_give(grant(own, want));
    break_at(grant_event, TIMEOUT, 1000);
    t_fails(t_acquire(own, want, 60000, 0, &lease), EBUSY); /* as if the row were locked */
    fail_no_more();
    whole(hand, 0);
    t_true(lease == NULL);
    lease = grant(own, want);
    expires = hand_row(hand, "SELECT expires FROM rowlock_held");
    break_at(renewal, TIMEOUT, 2 * tries);
    t_fails(rowlock_renew(lease, 600000, &t_error), ETIMEDOUT);
    t_text(hand_row(hand, "SELECT expires FROM rowlock_held"), expires);
    t_fails(rowlock_renew(lease, 600000, &t_error), ETIMEDOUT);
    whole(hand, 1);
    t_ok(rowlock_renew(lease, 600000, &t_error));
    fail_no_more();
    t_int(hand_number(hand, "SELECT expires > utc_timestamp(6) + INTERVAL 9 MINUTE "
                            "FROM rowlock_held"),
          1);
    break_at(release, TIMEOUT, 2 * tries);
    t_ok(rowlock_release(lease, &t_error));
    fail_no_more();
    rowlock_lease_free(lease);
    whole(hand, 0);
    t_give(grant(own, want));
}

TEST(p5_a_timeout_leaves_no_part_of_an_exclusive_lease)
{
    timed_out(t_x("a"), of_row[1], of_row[1], of_row[1]);
}

TEST(p5_a_timeout_leaves_no_part_of_a_shared_lease)
{
    timed_out(t_s("a"), of_grant[3], of_renewal[1], of_release[3]);
}

/* ---- a deadlock of the server's own ---------------------------------------------------------- */

static int release(struct rowlock_connection *own, void *data, struct rowlock_error *error)
{
    (void)own;
    return rowlock_release(data, error);
}

static long long deadlocks(void)
{
    return hand_number(t_admin(), t_is_mysql()
                                      ? "SELECT count FROM information_schema.innodb_metrics "
                                        "WHERE name = 'lock_deadlocks'"
                                      : "SELECT variable_value FROM "
                                        "information_schema.global_status "
                                        "WHERE variable_name = 'INNODB_DEADLOCKS'");
}

/* A release has the entry that fences lock, and waits for the row. The other session, which has
   that row, wants the entry: it has changed more rows, so the release is the victim. */
TEST(p5_a_release_that_is_a_deadlocks_victim_is_repeated)
{
    void *hand = hand_fresh();
    struct rowlock_connection *own = t_open();
    struct rowlock_lease *lease;
    struct thread *thread;
    long long before;

    newest = 0;
    t_give(grant(own, t_x("a")));
    lease = grant(own, t_x("a"));
    before = deadlocks();
    hand_row(t_admin(), "CREATE TABLE heavy (n INT PRIMARY KEY) ENGINE = InnoDB");
    hand_row(hand, "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED");
    hand_row(hand, "START TRANSACTION");
    for (int i = 0; i < 50; i++)
        hand_row(hand, "INSERT INTO heavy VALUES (%d)", i);
    hand_row(hand, "SELECT owner FROM rowlock_name FORCE INDEX (PRIMARY) WHERE name = 'a' "
                   "FOR UPDATE");
    thread = t_thread(own, release, lease);
    t_until_waiting(thread);
    hand_row(hand, "SELECT name FROM rowlock_name FORCE INDEX (rowlock_name_fence) "
                   "WHERE name = 'a' LOCK IN SHARE MODE");
    t_until(deadlocks() > before);
    t_until_waiting(thread); /* again */
    hand_row(hand, "COMMIT");
    t_ok(t_join(thread));
    rowlock_lease_free(lease);
    whole(hand, 0);
    t_int(my_marker(hand, newest), 0);
    t_give(grant(own, t_x("a")));
    hand_row(t_admin(), "DROP TABLE heavy");
}
