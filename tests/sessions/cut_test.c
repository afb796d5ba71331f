/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The socket is cut, or stalls, after every message of a locked transaction, one after the other.
 * No call hangs. Each returns ECONN, or EUNKNOWN if COMMIT was under way. The name is free for
 * others soon, and the transaction's work exists completely or not at all. Technique insert sends
 * no message that row does not send.
 *
 * Runs on: postgresql mariadb odbc
 * Quick: first
 * Rest: postgresql/native mariadb/row odbc
 */
#include <stdlib.h>
#include <string.h>

#include "lib/cut.h"
#include "lib/grants.h"
#include "lib/test.h"

#define MOST_MESSAGES 4000

struct outcome {
    int begin, work, lock, commit;
    struct rowlock_error error;
};

static const struct rowlock_want wants[] = {{.name = "cut", .mode = ROWLOCK_EXCLUSIVE},
                                            {.name = "cut too", .mode = ROWLOCK_EXCLUSIVE},
                                            {.name = "cut later", .mode = ROWLOCK_EXCLUSIVE}};

static struct outcome transact(struct rowlock_connection *connection)
{
    struct outcome outcome = {.begin = 1, .work = 1, .lock = 1, .commit = 1};

    outcome.begin = rowlock_begin(connection, wants, 2, 5000, &outcome.error);
    if (!outcome.begin)
        outcome.work = t_try_sql(t_handle(connection), "INSERT INTO cut_work VALUES (1)");
    if (!outcome.work)
        outcome.lock = rowlock_lock(connection, &wants[2], 1, 5000, &outcome.error);
    if (!outcome.lock)
        outcome.commit = rowlock_commit(connection, &outcome.error);
    return outcome;
}

/* Over a connection of its own, not through the proxy. */
static void check_others(struct rowlock_connection *witness, const struct outcome *outcome)
{
    long rows;

    for (int i = 0; i < 3; i++)
        t_lock_once(witness, wants[i], T_TIMEOUT_MS);
    rows = atol(t_sql(witness, "SELECT count(*) FROM cut_work"));
    if (outcome->commit == ROWLOCK_EUNKNOWN)
        t_true(rows == 0 || rows == 1);
    else
        t_int(rows, outcome->commit == 0);
    t_sql(witness, "DELETE FROM cut_work");
}

static void check_outcome(const struct outcome *outcome, int n)
{
    int code = outcome->begin      ? outcome->begin
               : outcome->lock < 0 ? outcome->lock
                                   : outcome->commit;

    if (outcome->begin == 0 && outcome->work != 0)
        return; /* the fault hit the application's own statement */
    if (code == 0)
        return;
    t_error = outcome->error;
    if (code != ROWLOCK_ECONN && !(code == ROWLOCK_EUNKNOWN && outcome->commit == code))
        t_fail(__FILE__, __LINE__, "after %d messages: %s %s", n, rowlock_error_name(code),
               outcome->error.text);
    t_left(DEAD);
    t_true(outcome->error.text[0] != '\0');
    t_int(outcome->error.code, code);
}

static struct rowlock_connection *wrapped_through_proxy(void **handle)
{
    *handle = t_native_at(t_proxied_url(&t_proxy));
    return t_wrap_handle(*handle, NULL);
}

static struct rowlock_connection *set_up(void)
{
    struct rowlock_connection *witness = t_open();

    t_sql(witness, "CREATE TABLE IF NOT EXISTS cut_work (n INTEGER)");
    t_sql(witness, "DELETE FROM cut_work");
    t_ok(rowlock_prepare(witness, wants, 3, &t_error));
    return witness;
}

static void sweep(enum proxy_direction direction, int borrowed, int used)
{
    struct rowlock_connection *witness = set_up(), *connection;
    struct outcome outcome;
    void *handle = NULL;
    int n;

    for (n = 0; n < MOST_MESSAGES; n++) {
        connection = borrowed ? wrapped_through_proxy(&handle) : t_through_proxy();
        if (used) { /* statements and names are prepared by now: the batches are short */
            outcome = transact(connection);
            t_int(outcome.commit, 0);
            t_sql(witness, "DELETE FROM cut_work");
        }
        proxy_arm(t_proxy, PROXY_CUT, direction, n);
        outcome = transact(connection);
        check_outcome(&outcome, n);
        t_close(connection);
        if (borrowed)
            t_engine()->close(handle);
        check_others(witness, &outcome);
        if (!proxy_has_struck(t_proxy))
            break;
    }
    t_true(n > 3 && n < MOST_MESSAGES);
    t_int(outcome.commit, 0);
}

TEST(p2_cut_after_every_message_to_the_server)
{
    sweep(PROXY_TO_SERVER, 0, 0);
}

TEST(p2_cut_after_every_message_to_the_client)
{
    sweep(PROXY_TO_CLIENT, 0, 0);
}

TEST(p2_cut_after_every_message_of_a_connection_in_use)
{
    sweep(PROXY_TO_SERVER, 0, 1);
    sweep(PROXY_TO_CLIENT, 0, 1);
}

TEST(p2_cut_after_every_message_of_a_borrowed_handle)
{
    sweep(PROXY_TO_SERVER, 1, 0);
    sweep(PROXY_TO_CLIENT, 1, 0);
}

/* Opening a connection also returns ECONN and nothing else. */
TEST(cut_after_every_message_while_connecting)
{
    struct rowlock_options options = {.connect_ms = 5000};
    int n, code;

    for (int direction = PROXY_TO_SERVER; direction <= PROXY_TO_CLIENT; direction++) {
        for (n = 0; n < MOST_MESSAGES; n++) {
            struct rowlock_connection *connection = NULL;
            const char *url = t_proxied_url(&t_proxy);

            proxy_arm(t_proxy, PROXY_CUT, (enum proxy_direction)direction, n);
            code = rowlock_open(url, &options, &connection, &t_error);
            if (code == 0) {
                t_close(connection);
                break;
            }
            t_int(code, ROWLOCK_ECONN);
            t_true(connection == NULL);
        }
        t_true(n > 1 && n < MOST_MESSAGES);
    }
}

static const char *remains(void)
{
    if (t_is_postgresql())
        return t_facts()->plain ? "SELECT count(*) FROM pg_tables WHERE tablename LIKE 'rowlock%%'"
                                : "SELECT count(*) FROM pg_namespace WHERE nspname = 'rowlock'";
    return "SELECT (SELECT count(*) FROM information_schema.tables WHERE "
           "table_schema = DATABASE() AND table_name LIKE 'rowlock%%') + (SELECT "
           "count(*) FROM information_schema.routines WHERE routine_schema = DATABASE())";
}

/* After the first messages only some are cut, because an install has hundreds. */
static int next_cut(int n)
{
    if (n < t_effort(5, 20))
        return n + 1;
    return n + t_effort(101, t_facts()->plain ? 67 : 17);
}

/* Wherever an install was cut, the next one completes it, and uninstall removes everything. */
TEST(cut_after_messages_all_through_an_install)
{
    struct rowlock_plan plan = {.technique = t_facts()->code};
    struct rowlock_options slow = {.statement_ms =
                                       120000}; /* the whole script counts as one statement */
    struct rowlock_connection *witness = t_open_with(&slow);
    int n, code = -1;

    for (n = 0; code != 0 && n < MOST_MESSAGES; n = next_cut(n)) {
        struct rowlock_connection *connection = t_through_proxy();

        t_ok(rowlock_uninstall(witness, &t_error));
        proxy_arm(t_proxy, PROXY_CUT, PROXY_TO_SERVER, n);
        code = rowlock_install(connection, &plan, &t_error);
        t_true(code == 0 || code == ROWLOCK_ECONN || code == ROWLOCK_EUNKNOWN);
        t_close(connection);
        t_ok(rowlock_uninstall(witness, &t_error));
        t_text(t_sql(witness, "%s", remains()), "0");
        connection = t_through_proxy();
        proxy_arm(t_proxy, PROXY_CUT, PROXY_TO_SERVER, n);
        rowlock_install(connection, &plan, &t_error);
        t_close(connection);
        t_ok(rowlock_install(witness, &plan, &t_error));
        t_lock_once(witness, t_x("cut"), T_TIMEOUT_MS);
    }
    t_true(n > 3 && n < MOST_MESSAGES);
}

/* An uninstall that reports success has removed everything; the next one completes any other. */
TEST(cut_after_messages_all_through_an_uninstall)
{
    struct rowlock_plan plan = {.technique = t_facts()->code};
    struct rowlock_options slow = {.statement_ms = 120000};
    struct rowlock_connection *witness = t_open_with(&slow);
    int n, struck = 1;

    for (n = 0; struck && n < MOST_MESSAGES; n = next_cut(n)) {
        struct rowlock_connection *connection = t_through_proxy();
        int code;

        t_ok(rowlock_install(witness, &plan, &t_error));
        proxy_arm(t_proxy, PROXY_CUT, PROXY_TO_SERVER, n);
        code = rowlock_uninstall(connection, &t_error);
        struck = proxy_has_struck(t_proxy);
        t_true(code == 0 || code == ROWLOCK_ECONN || code == ROWLOCK_EUNKNOWN);
        t_close(connection);
        if (code == 0)
            t_text(t_sql(witness, "%s", remains()), "0");
        t_ok(rowlock_uninstall(witness, &t_error));
        t_text(t_sql(witness, "%s", remains()), "0");
    }
    t_true(n > 3 && n < MOST_MESSAGES);
    t_ok(rowlock_install(witness, &plan, &t_error));
}

/* ---- silence --------------------------------------------------------------------------------- */

/* The timeouts of the calls, a statement's limit after each, the grace of 2 s, and a generous
   reserve. */
#define STATEMENT_MS 300
#define LONGEST_MS 9000

TEST(silence_ends_every_call_in_time)
{
    struct rowlock_options options = {.statement_ms = STATEMENT_MS, .connect_ms = 3000};
    struct rowlock_connection *witness = set_up();

    for (int n = 0; n < 4; n++) {
        struct rowlock_connection *connection = t_open_at(t_proxied_url(&t_proxy), &options);
        long long began;
        int code;

        if (n < 3) { /* in begin: before the answer, or after one or two of its messages */
            proxy_arm(t_proxy, PROXY_STALL, PROXY_TO_CLIENT, n);
            began = t_now();
            code = rowlock_begin(connection, wants, 1, 300, &t_error);
        } else { /* in commit */
            t_ok(rowlock_begin(connection, wants, 1, T_TIMEOUT_MS, &t_error));
            proxy_arm(t_proxy, PROXY_STALL, PROXY_TO_CLIENT, 0);
            began = t_now();
            code = rowlock_commit(connection, &t_error);
        }
        t_true(proxy_has_struck(t_proxy) || code == 0);
        if (n == 3)
            t_true(code == ROWLOCK_EUNKNOWN);
        else
            t_true(code == 0 || code == ROWLOCK_ECONN || code == ROWLOCK_ETIMEDOUT);
        t_within(began, LONGEST_MS);
        proxy_cut_all(t_proxy);
        t_close(connection);
        t_lock_once(witness, wants[0], T_TIMEOUT_MS);
    }
}

TEST(silence_while_connecting_ends_in_time)
{
    struct rowlock_options options = {.connect_ms = 400, .statement_ms = STATEMENT_MS};

    for (int n = 0; n < 3; n++) {
        struct rowlock_connection *connection = NULL;
        const char *url = t_proxied_url(&t_proxy);
        long long began = t_now();
        int code;

        proxy_arm(t_proxy, PROXY_STALL, PROXY_TO_CLIENT, n);
        code = rowlock_open(url, &options, &connection, &t_error);
        t_true(code == ROWLOCK_ECONN || code == ROWLOCK_ETIMEDOUT || code == 0);
        if (code == 0)
            t_close(connection);
        t_within(began, LONGEST_MS);
    }
    proxy_cut_all(t_proxy);
}
