/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which session MariaDB's probe reports as the holder. A transaction lock is visible there only by
 * trying to lock, so the report must name a session that holds the name at each try, not only at
 * one. The test's own driver acts between two tries.
 *
 * Runs on: mariadb
 * Quick: first
 */
#include <stdio.h>
#include <string.h>

#include "driver/driver.h"
#include "lib/harness.h"
#include "lib/hand.h"
#include "lib/test.h"

const struct rowlock_driver *__real_rowlock__driver_for_url(const char *url,
                                                            struct rowlock_error *error);
const struct rowlock_driver *__wrap_rowlock__driver_for_url(const char *url,
                                                            struct rowlock_error *error);

static const struct rowlock_driver *driver;
static struct rowlock_driver watched;
static void *leaves;     /* this session, the holder, rolls back */
static int leaves_after; /* after this many tries */
static int tries;

static int watched_run(struct rowlock_link *link, unsigned bracket, struct rowlock_call *calls,
                       size_t n, const struct rowlock_budget *budget,
                       struct rowlock_outcome *outcome, struct rowlock_error *error)
{
    int code = driver->run(link, bracket, calls, n, budget, outcome, error);

    if (n == 1 && strcmp(calls[0].statement->name, "probe") == 0 && ++tries == leaves_after)
        t_native_sql(leaves, "COMMIT");
    return code;
}

const struct rowlock_driver *__wrap_rowlock__driver_for_url(const char *url,
                                                            struct rowlock_error *error)
{
    driver = __real_rowlock__driver_for_url(url, error);
    if (!driver)
        return NULL;
    watched = *driver;
    watched.run = watched_run;
    return &watched;
}

struct seen {
    int rows, waits;
    enum rowlock_holding holding;
    enum rowlock_mode mode;
};

static int see(const struct rowlock_holder *holder, void *data)
{
    struct seen *seen = data;

    seen->rows++;
    seen->waits += holder->holding == ROWLOCK_WAITS;
    seen->holding = holder->holding;
    seen->mode = holder->mode;
    return 0;
}

/* Lists the holders of the name "a". */
static struct seen list(struct rowlock_connection *connection)
{
    struct seen seen = {0};

    tries = 0;
    t_ok(rowlock_list(connection, "a", see, &seen, &t_error));
    return seen;
}

TEST(list_does_not_mistake_a_passing_session_for_a_holder)
{
    struct rowlock_connection *own = t_open();
    void *hand = hand_fresh();

    leaves = hand;
    for (leaves_after = 1; leaves_after <= 2; leaves_after++) {
        hand_row(hand, "CALL rowlock_begin_exclusive('a')");
        t_int(list(own).rows, 0);
        t_int(tries, leaves_after + 1);
    }
    leaves_after = 0;
    t_int(list(own).rows, 0);
    t_int(tries, 1);
}

TEST(list_reports_a_holder_that_stays)
{
    struct rowlock_connection *own = t_open();
    void *hand = hand_fresh();
    struct seen seen;

    leaves_after = 0;
    hand_row(hand, "CALL rowlock_begin_exclusive('a')");
    seen = list(own);
    hand_row(hand, "COMMIT");
    t_int(seen.rows, 1);
    t_int(seen.holding, ROWLOCK_HOLDS_TX);
    t_int(seen.mode, ROWLOCK_EXCLUSIVE);
    t_true(tries > 2);
}

/* A user that may list, but not probe. */
static const char *create_onlooker(char *url, size_t size)
{
    static const char *const procedures[] = {"list", "session", "restore_idle_limit", "real_time"};
    const char *database = strrchr(t_url(), '/') + 1, *name = t_say("looks_%.30s", database);

    t_native_sql(t_admin(), "CREATE USER %s@'%%' IDENTIFIED BY 'least'", name);
    t_native_sql(t_admin(), "GRANT SELECT ON `%s`.* TO %s@'%%'", database, name);
    for (size_t i = 0; i < sizeof procedures / sizeof *procedures; i++)
        t_native_sql(t_admin(), "GRANT EXECUTE ON PROCEDURE `%s`.rowlock_%s TO %s@'%%'", database,
                     procedures[i], name);
    snprintf(url, size, "mariadb://%s:least@127.0.0.1:%s%s", name, strrchr(t_url(), ':') + 1,
             t_is_mysql() ? "?ssl=on" : "");
    return name;
}

TEST(a_user_that_may_not_probe_still_sees_the_list)
{
    struct rowlock_connection *onlooker;
    void *hand = hand_fresh();
    const char *name;
    struct seen seen;
    char url[300];

    leaves_after = 0;
    name = create_onlooker(url, sizeof url);
    onlooker = t_open_at(url, NULL);
    t_int(t_try_sql(t_handle(onlooker), "CALL rowlock_probe('a')"), 1);
    hand_queue(hand, "a:x:0:0", 0);
    seen = list(onlooker);
    t_int(seen.rows, 1);
    t_int(seen.waits, 1);
    t_int(t_error.code, 0);
    t_text(t_error.text, "");
    t_close(onlooker);
    hand_row(hand, "DELETE FROM rowlock_waiter");
    t_native_sql(t_admin(), "DROP USER %s@'%%'", name);
}
