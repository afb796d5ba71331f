/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The JDBC driver as a transport, on each engine that has a server here: values, counts,
 * transactions, errors, waits that are cut off, lost sessions.
 * Runs on: alone
 * Needs: derby h2 hsqldb postgresql mariadb
 * Quick: never
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "lib/jdbc.h"
#include "lib/proxy.h"
#include "lib/test.h"
#include "util/clock.h"

#define SOON_MS 300
#define EMOJI "\xf0\x9f\x94\x92" /* four bytes in UTF-8, two characters in Java */

/* ---- values and statements ----------------------------------------------------------------- */

struct seen {
    int rows;
    int64_t id, n, small;
    char text[200], letter[8], sum[20];
    unsigned nulls;
};

static void see(void *data, const struct rowlock_value *columns, unsigned n)
{
    struct seen *seen = data;

    seen->rows++;
    for (unsigned i = 0; i < n; i++)
        seen->nulls += columns[i].type == ROWLOCK_NULL;
    seen->id = rowlock__value_number(&columns[0]);
    seen->n = rowlock__value_number(&columns[1]);
    seen->small = rowlock__value_number(&columns[2]);
    snprintf(seen->text, sizeof seen->text, "%.*s", (int)columns[3].length,
             columns[3].bytes ? columns[3].bytes : "");
    snprintf(seen->letter, sizeof seen->letter, "%.*s", (int)columns[4].length,
             columns[4].bytes ? columns[4].bytes : "");
    snprintf(seen->sum, sizeof seen->sum, "%.*s", (int)columns[5].length,
             columns[5].bytes ? columns[5].bytes : "");
}

static void put(struct rowlock_link *link, int64_t id, const struct rowlock_value *rest)
{
    struct rowlock_value values[6] = {
        rowlock__int_value(id), rest[0], rest[1], rest[2], rest[3], rest[4]};
    struct rowlock_call call = {.values = values};

    t_ok(t_jdbc_run(
        link, ROWLOCK_INSIDE, NULL, &call,
        "INSERT INTO item (id, n, small, text, letter, amount) VALUES (?, ?, ?, ?, ?, ?)",
        "iiitti"));
    t_int(call.affected, 1);
}

static struct seen get(struct rowlock_link *link, int64_t id)
{
    struct rowlock_value value = rowlock__int_value(id);
    struct seen seen = {0};
    struct rowlock_call call = {.values = &value, .row = see, .data = &seen};

    t_ok(t_jdbc_run(link, ROWLOCK_INSIDE, NULL, &call,
                    "SELECT id, n, small, text, letter, amount FROM item WHERE id = ?", "i"));
    t_int(call.affected, 0);
    return seen;
}

T_JDBC_ON_EACH(carries_values_of_every_type)
{
    static const char text[] = "na\xc3\xafve; '" EMOJI "' \xe4\xb8\xad\n?";
    struct rowlock_value full[] = {rowlock__int_value(INT32_MIN), rowlock__int_value(INT16_MAX),
                                   rowlock__text_value(text), rowlock__text_value("x"),
                                   rowlock__int_value(-7)};
    struct rowlock_value null = rowlock__text_value(NULL);
    struct rowlock_value empty[] = {null, null, rowlock__text_value(""), null, null};
    struct rowlock_value nothing[] = {null, null, null, null, null};
    struct rowlock_link *link = t_jdbc_prepare(on);
    struct seen seen;

    put(link, INT64_MAX, full);
    put(link, INT64_MIN, empty);
    put(link, 0, nothing);
    seen = get(link, INT64_MAX);
    t_int(seen.rows, 1);
    t_int(seen.id, INT64_MAX);
    t_int(seen.n, INT32_MIN);
    t_int(seen.small, INT16_MAX);
    t_text(seen.text, text);
    t_text(seen.letter, "x");
    t_text(seen.sum, "-7.00");
    seen = get(link, INT64_MIN);
    t_int(seen.id, INT64_MIN);
    t_int(seen.nulls, 4);
    seen = get(link, 0);
    t_int(seen.rows, 1);
    t_int(seen.nulls, 5);
    t_int(get(link, 99).rows, 0);
    t_text(get(link, 1).text, "it's; one");
    t_jdbc()->close(link);
}

T_JDBC_ON_EACH(counts_affected_rows)
{
    struct rowlock_link *link = t_jdbc_prepare(on);
    struct rowlock_call call = {0};

    t_ok(t_jdbc_run(link, ROWLOCK_INSIDE, NULL, &call, "UPDATE item SET n = 5", ""));
    t_int(call.affected, 2);
    t_ok(t_jdbc_run(link, ROWLOCK_INSIDE, NULL, &call, "UPDATE item SET n = 5",
                    "")); /* the same value */
    t_int(call.affected, 2);
    t_ok(t_jdbc_run(link, ROWLOCK_INSIDE, NULL, &call, "DELETE FROM item WHERE id = 9", ""));
    t_int(call.affected, 0);
    t_jdbc()->close(link);
}

T_JDBC_ON_EACH(commits_and_rolls_back)
{
    struct rowlock_link *link = t_jdbc_prepare(on), *other = t_jdbc_open(on);

    t_int(t_jdbc()->state(link), ROWLOCK_STATE_IDLE);
    t_ok(t_jdbc_sql(link, ROWLOCK_BEGIN, "UPDATE item SET n = 1"));
    t_int(t_jdbc_outcome.left, ROWLOCK_TX_KEPT);
    t_int(t_jdbc()->state(link), ROWLOCK_STATE_OPEN);
    t_ok(t_jdbc_end(link, 0));
    t_ok(t_jdbc_end(link, 0));
    t_int(t_jdbc()->state(link), ROWLOCK_STATE_IDLE);
    t_int(t_jdbc_ask(other, "SELECT COUNT(*) FROM item WHERE n = 1"), 0);
    t_ok(t_jdbc_sql(link, ROWLOCK_BEGIN, "UPDATE item SET n = 2"));
    t_ok(t_jdbc_end(link, 1));
    t_true(t_jdbc_outcome.sent_commit);
    t_int(t_jdbc_outcome.left, ROWLOCK_TX_NONE);
    t_int(t_jdbc_ask(other, "SELECT COUNT(*) FROM item WHERE n = 2"), 2);
    t_ok(t_jdbc_sql(link, ROWLOCK_BEGIN | ROWLOCK_COMMIT, "UPDATE item SET n = 3"));
    t_int(t_jdbc()->state(link), ROWLOCK_STATE_IDLE);
    t_int(t_jdbc_ask(other, "SELECT COUNT(*) FROM item WHERE n = 3"), 2);
    t_fails(t_jdbc_end(link, 1), ENOTX);
    /* a session that is closed with an open transaction commits nothing */
    t_ok(t_jdbc_sql(link, ROWLOCK_BEGIN, "UPDATE item SET n = 4"));
    t_jdbc()->close(link);
    t_ok(t_jdbc_sql(other, ROWLOCK_INSIDE,
                    "UPDATE item SET small = 1 WHERE n = 3")); /* waits for it */
    t_int(t_jdbc_ask(other, "SELECT COUNT(*) FROM item WHERE small = 1"), 2);
    t_jdbc()->close(other);
}

T_JDBC_ON_EACH(reports_errors)
{
    struct rowlock_link *link = t_jdbc_prepare(on);

    t_true(t_jdbc_sql(link, ROWLOCK_INSIDE, "INSERT INTO item (id) VALUES (1)") != ROWLOCK_OK);
    t_text(t_error.sqlstate, on->sqlstate);
    t_int(t_error.native, on->duplicate);
    t_int(t_jdbc_outcome.left, ROWLOCK_TX_NONE);
    t_int(t_jdbc()->state(link), ROWLOCK_STATE_IDLE);
    t_ok(t_jdbc_sql(link, ROWLOCK_BEGIN, "UPDATE item SET n = 6 WHERE id = 1"));
    t_true(t_jdbc_sql(link, ROWLOCK_INSIDE, "INSERT INTO item (id) VALUES (2)") != ROWLOCK_OK);
    t_int(t_jdbc_outcome.left, on->after_error);
    t_int(t_error.transaction, on->after_error);
    t_int(t_jdbc()->state(link),
          on->after_error == ROWLOCK_TX_KEPT ? ROWLOCK_STATE_OPEN : ROWLOCK_STATE_ABORTED);
    if (on->after_error == ROWLOCK_TX_ABORTED)
        t_fails(t_jdbc_end(link, 1), EABORTED);
    t_ok(t_jdbc_end(link, 0));
    t_true(t_jdbc_sql(link, ROWLOCK_INSIDE, "SELEKT 1") != ROWLOCK_OK);
    t_int(strlen(t_error.sqlstate), 5);
    t_lacks(t_error.text, "SQL statement:");
    t_int(t_jdbc_ask(link, "SELECT COUNT(*) FROM item WHERE n = 6"), 0);
    t_jdbc()->close(link);
}

TEST(jdbc_postgresql_a_server_without_memory_keeps_the_session)
{
    struct rowlock_link *link = t_jdbc_prepare(&t_jdbc_postgresql);

    t_ok(t_jdbc_sql(link, ROWLOCK_BEGIN, "UPDATE item SET n = 5"));
    t_fails(t_jdbc_sql(link, ROWLOCK_INSIDE, "DO 'BEGIN RAISE SQLSTATE ''53200''; END'"), ECONN);
    t_int(rowlock_is_full(&t_error), 2);
    t_left(ABORTED);
    t_int(t_jdbc()->state(link), ROWLOCK_STATE_ABORTED);
    t_ok(t_jdbc_end(link, 0));
    t_int(t_jdbc_ask(link, "SELECT COUNT(*) FROM item WHERE n = 5"), 0);
    t_jdbc()->close(link);
}

/* ---- waits --------------------------------------------------------------------------------- */

/* The session may be lost, though the engine can cancel a statement. PostgreSQL's driver sends no
   second cancel, and the server may get the first before the statement. */
T_JDBC_ON_EACH(cuts_a_wait_at_the_deadline)
{
    struct rowlock_link *holder = t_jdbc_prepare(on), *waiter = t_jdbc_open(on), *next;
    struct rowlock_budget budget = {0, -1, 0};
    struct rowlock_call call = {0};

    t_ok(t_jdbc_sql(holder, ROWLOCK_BEGIN, "UPDATE item SET n = 1 WHERE id = 1"));
    t_ok(t_jdbc_sql(waiter, ROWLOCK_BEGIN, "UPDATE item SET n = 2 WHERE id = 2"));
    budget.deadline_ms = rowlock__now_ms() + SOON_MS;
    t_fails(t_jdbc_run(waiter, ROWLOCK_INSIDE, &budget, &call, "UPDATE item SET n = 2 WHERE id = 1",
                       ""),
            ETIMEDOUT);
    if (t_jdbc_outcome.left != ROWLOCK_TX_DEAD)
        t_int(t_jdbc_outcome.left, on->after_cancel);
    t_int(t_jdbc()->state(waiter), t_jdbc_outcome.left == ROWLOCK_TX_DEAD ? ROWLOCK_STATE_DEAD
                                   : t_jdbc_outcome.left == ROWLOCK_TX_KEPT
                                       ? ROWLOCK_STATE_OPEN
                                       : ROWLOCK_STATE_ABORTED);
    t_jdbc()->close(waiter);
    t_ok(t_jdbc_end(holder, 1));
    /* nothing of the waiter is left: neither its locks nor its changes */
    next = t_jdbc_open(on);
    t_ok(t_jdbc_sql(next, ROWLOCK_INSIDE, "UPDATE item SET small = 3"));
    t_int(t_jdbc_ask(next, "SELECT COUNT(*) FROM item WHERE n = 2"), 0);
    t_jdbc()->close(next);
    t_jdbc()->close(holder);
}

/* ---- lost sessions ------------------------------------------------------------------------- */

T_JDBC_ON_EACH(notices_a_lost_session)
{
    struct rowlock_link *link = t_jdbc_prepare(on);

    t_ok(t_jdbc_sql(link, ROWLOCK_BEGIN, "UPDATE item SET n = 1"));
    shutdown(t_jdbc()->socket(link), SHUT_RDWR);
    t_fails(t_jdbc_sql(link, ROWLOCK_INSIDE, "UPDATE item SET n = 2"), ECONN);
    t_left(DEAD);
    t_int(t_jdbc()->state(link), ROWLOCK_STATE_DEAD);
    t_int(t_jdbc()->socket(link), -1);
    t_fails(t_jdbc_sql(link, ROWLOCK_INSIDE, "UPDATE item SET n = 2"), ECONN);
    t_fails(t_jdbc_end(link, 0), ECONN);
    t_jdbc()->close(link);
    /* a session that was lost before COMMIT leaves no doubt */
    link = t_jdbc_prepare(on);
    t_ok(t_jdbc_sql(link, ROWLOCK_BEGIN, "UPDATE item SET n = 1"));
    shutdown(t_jdbc()->socket(link), SHUT_RDWR);
    t_fails(t_jdbc_end(link, 1), ECONN);
    t_true(!t_jdbc_outcome.sent_commit);
    t_jdbc()->close(link);
}

/* The URL with another port. */
static const char *at_port(const char *url, int port)
{
    const char *digits = strstr(url, "127.0.0.1:") + 10;

    return t_say("%.*s%d%s", (int)(digits - url), url, port, digits + strspn(digits, "0123456789"));
}

TEST(jdbc_postgresql_a_commit_without_an_answer_is_unknown)
{
    struct proxy *proxy = proxy_start(atoi(getenv("ROWLOCK_TEST_POSTGRESQL_PORT")), 1);
    struct rowlock_link *link = NULL;

    t_jdbc()->close(t_jdbc_prepare(&t_jdbc_postgresql));
    t_ok(t_jdbc_open_url(at_port(t_jdbc_url(&t_jdbc_postgresql), proxy_port(proxy)), NULL, &link));
    t_ok(t_jdbc_sql(link, ROWLOCK_BEGIN, "UPDATE item SET n = 1"));
    proxy_arm(proxy, PROXY_CUT, PROXY_TO_CLIENT, 0);
    t_fails(t_jdbc_end(link, 1), EUNKNOWN);
    t_left(DEAD);
    t_true(t_jdbc_outcome.sent_commit);
    t_int(t_jdbc_outcome.left, ROWLOCK_TX_DEAD);
    t_jdbc()->close(link);
    proxy_stop(proxy);
}

/* Connection.commit alone would succeed there; Connection.getWarnings after it fails. */
TEST(p1_jdbc_h2_an_aborted_session_does_not_commit)
{
    struct rowlock_link *link = t_jdbc_prepare(&t_jdbc_h2), *other = t_jdbc_open(&t_jdbc_h2);
    const char *abort = t_say("SELECT CASE WHEN ABORT_SESSION(%d) THEN 1 ELSE 0 END",
                              (int)t_jdbc_ask(link, "SELECT SESSION_ID()"));

    t_ok(t_jdbc_end(link, 0));
    t_ok(t_jdbc_sql(link, ROWLOCK_BEGIN, "UPDATE item SET n = 7"));
    t_int(t_jdbc_ask(other, abort), 1);
    t_true(t_jdbc_end(link, 1) != ROWLOCK_OK);
    t_left(DEAD);
    t_int(t_jdbc_ask(other, "SELECT COUNT(*) FROM item WHERE n = 7"), 0);
    t_jdbc()->close(link);
    t_jdbc()->close(other);
}

/* The process that answers the session: PostgreSQL has one for each. */
static pid_t process_of(const struct t_jdbc_facts *on, struct rowlock_link *link, pid_t server)
{
    if (strcmp(on->name, "postgresql") != 0)
        return server;
    return (pid_t)t_jdbc_ask(link, "SELECT pg_backend_pid()");
}

/* Stops a process, and waits until all its threads have stopped. */
static void freeze(pid_t pid)
{
    const char *command = t_say("! grep -q '^State:.[^T]' /proc/%d/task/*/status", (int)pid);

    kill(pid, SIGSTOP);
    while (system(command) != 0)
        continue;
}

/* A stopped server neither answers nor obeys a cancel. Then it is killed. */
T_JDBC_ON_EACH(gives_up_a_frozen_server_and_notices_a_killed_one)
{
    struct rowlock_budget budget;
    struct rowlock_link *link = NULL, *busy = NULL;
    struct rowlock_call call = {0};
    char url[300];
    pid_t server = t_jdbc_start_server(on, NULL, url, sizeof url);
    int code;

    t_ok(t_jdbc_open_url(url, NULL, &link));
    t_ok(t_jdbc_open_url(url, NULL, &busy));
    t_ok(t_jdbc_sql(link, ROWLOCK_INSIDE, "CREATE TABLE item (id BIGINT)"));
    t_ok(t_jdbc_sql(busy, ROWLOCK_BEGIN, "INSERT INTO item (id) VALUES (1)"));
    server = process_of(on, link, server);
    freeze(server);
    budget = (struct rowlock_budget){rowlock__now_ms() + SOON_MS, -1, 0};
    t_fails(t_jdbc_run(link, ROWLOCK_BEGIN, &budget, &call, "INSERT INTO item (id) VALUES (2)", ""),
            ETIMEDOUT);
    t_left(DEAD);
    kill(server, SIGKILL);
    /* PostgreSQL ends its other processes when it notices that one was killed */
    while ((code = t_jdbc_sql(busy, ROWLOCK_INSIDE, "INSERT INTO item (id) VALUES (3)")) ==
           ROWLOCK_OK)
        continue;
    t_int(code, ROWLOCK_ECONN);
    t_left(DEAD);
    t_int(t_jdbc()->state(busy), ROWLOCK_STATE_DEAD);
    t_jdbc()->close(link);
    t_jdbc()->close(busy);
}
