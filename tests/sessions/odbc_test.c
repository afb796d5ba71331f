/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ODBC driver as a transport, on real servers: values, rows, transactions, errors, time limits.
 * It takes no locks of rowlock; the driver is called directly.
 *
 * Runs on: postgresql/native mariadb/row
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "dialect/plain.h"
#include "driver/driver.h"
#include "driver/odbc/library.h"
#include "lib/extra.h"
#include "lib/grants.h"
#include "lib/harness.h"
#include "lib/odbc.h"
#include "lib/proxy.h"
#include "lib/test.h"
#include "util/clock.h"

#define O rowlock__odbc
#define LATER_MS 60000

extern const struct rowlock_driver rowlock__driver_odbc;
static const struct rowlock_driver *const driver = &rowlock__driver_odbc;
static const struct rowlock_dialect dialect = {.name = "of the test"};

const struct rowlock_dialect *__wrap_rowlock__plain_dialect(const char *product);
const struct rowlock_dialect *__wrap_rowlock__plain_dialect(const char *product)
{
    return strcmp(product, "unknown") == 0 ? NULL : &dialect;
}

/* ---- the scene ----------------------------------------------------------------------------- */

static bool is_postgresql(void)
{
    return strcmp(t_facts()->engine, "postgresql") == 0;
}

static struct rowlock_budget within(int64_t ms)
{
    return (struct rowlock_budget){.deadline_ms = rowlock__after(rowlock__now_ms(), ms),
                                   .interrupt_fd = -1};
}

static struct rowlock_link *links[8]; /* that a failed test leaves open, with their locks */

static void keep_link(struct rowlock_link *link)
{
    for (size_t i = 0; i < sizeof links / sizeof *links; i++)
        if (!links[i]) {
            links[i] = link;
            return;
        }
    t_fail(__FILE__, __LINE__, "too many sessions");
}

static void close_link(struct rowlock_link *link)
{
    for (size_t i = 0; i < sizeof links / sizeof *links; i++)
        if (links[i] == link)
            links[i] = NULL;
    driver->close(link);
}

static int open_at(const char *url, const struct rowlock_budget *budget, struct rowlock_link **out)
{
    struct rowlock_source source = {.url = url, .interrupt_fd = -1};
    const struct rowlock_dialect *found = NULL;
    int code = driver->open(&source, budget, out, &found, &t_error);

    if (!code)
        keep_link(*out);
    t_true(code || found == &dialect);
    t_lacks(t_error.text, "secret");
    return code;
}

static struct rowlock_link *open_link(void)
{
    struct rowlock_budget budget = within(LATER_MS);
    struct rowlock_link *link = NULL;

    t_ok(open_at(t_odbc_url(t_port(), ""), &budget, &link));
    return link;
}

static void *native(const char *sql)
{
    void *handle = t_engine()->open(t_url());

    t_true(handle != NULL);
    if (sql)
        t_native_sql(handle, "%s", sql);
    return handle;
}

/* A table of its own for each test: (id, n, t). */
static void make_table(void)
{
    void *handle;

    for (size_t i = 0; i < sizeof links / sizeof *links; i++)
        if (links[i])
            close_link(links[i]);
    handle = native("DROP TABLE IF EXISTS odbc_test");

    t_native_sql(handle, "CREATE TABLE odbc_test (id INT NOT NULL PRIMARY KEY, n BIGINT, t %s)",
                 is_postgresql() ? "TEXT" : "LONGTEXT CHARACTER SET utf8mb4");
    t_native_sql(handle, "INSERT INTO odbc_test VALUES (1, 10, 'one')");
    t_native_sql(handle, "INSERT INTO odbc_test VALUES (2, 20, 'two')");
    t_engine()->close(handle);
}

static const struct rowlock_statement insert = {
    "insert", "INSERT INTO odbc_test (id, n, t) VALUES (?, ?, ?)", 3, "iit"};
static const struct rowlock_statement read_one = {
    "read", "SELECT n, t, id FROM odbc_test WHERE id = ?", 1, "i"};
static const struct rowlock_statement read_all = {
    "read_all", "SELECT n, t, id FROM odbc_test ORDER BY id", 0, NULL};
static const struct rowlock_statement update = {"update", "UPDATE odbc_test SET n = ? WHERE id = ?",
                                                2, "ii"};
static const struct rowlock_statement delete_all = {"delete", "DELETE FROM odbc_test", 0, NULL};
static const struct rowlock_statement lock_row = {
    "lock", "SELECT id FROM odbc_test WHERE id = ? FOR UPDATE", 1, "i"};
static const struct rowlock_statement mistake = {"mistake", "SELECT FROM WHERE", 0, NULL};

struct row {
    int64_t n, id;
    bool n_is_null, t_is_null;
    char *t;
    size_t length;
    int rows;
};

static void keep_row(void *data, const struct rowlock_value *columns, unsigned n)
{
    struct row *row = data;

    row->rows++;
    if (n == 1) {
        row->n = rowlock__value_number(&columns[0]);
        return;
    }
    row->n_is_null = columns[0].type == ROWLOCK_NULL;
    row->n = row->n_is_null ? 0 : rowlock__value_number(&columns[0]);
    row->t_is_null = columns[1].type == ROWLOCK_NULL;
    row->length = columns[1].length;
    free(row->t);
    row->t = row->t_is_null ? NULL : strndup(columns[1].bytes, columns[1].length);
    row->id = rowlock__value_number(&columns[2]);
}

static int send_within(struct rowlock_link *link, unsigned flags, struct rowlock_call *calls,
                       size_t n, const struct rowlock_budget *budget,
                       struct rowlock_outcome *outcome)
{
    int code = driver->run(link, flags, calls, n, budget, outcome, &t_error);

    t_lacks(t_error.text, "secret");
    if (code)
        t_int(t_error.transaction, outcome->left);
    return code;
}

static int send(struct rowlock_link *link, unsigned flags, struct rowlock_call *calls, size_t n)
{
    struct rowlock_budget budget = within(LATER_MS);
    struct rowlock_outcome outcome;

    return send_within(link, flags, calls, n, &budget, &outcome);
}

static int64_t number_of(struct rowlock_link *link, const struct rowlock_statement *statement)
{
    struct row row = {0};
    struct rowlock_call call = {.statement = statement, .row = keep_row, .data = &row};

    t_ok(send(link, ROWLOCK_INSIDE, &call, 1));
    t_int(row.rows, 1);
    return row.n;
}

static struct rowlock_call with_id(const struct rowlock_statement *statement, int64_t id)
{
    static struct rowlock_value values[8];
    static unsigned turn;

    turn = (turn + 1) % 8;
    values[turn] = rowlock__int_value(id);
    return (struct rowlock_call){.statement = statement, .values = &values[turn]};
}

static int set_n(struct rowlock_link *link, unsigned flags, int64_t id, int64_t n,
                 int64_t *affected)
{
    struct rowlock_value values[] = {rowlock__int_value(n), rowlock__int_value(id)};
    struct rowlock_call call = {.statement = &update, .values = values, .affected = -7};
    int code = send(link, flags, &call, 1);

    if (affected)
        *affected = call.affected;
    return code;
}

/* ---- values and rows ----------------------------------------------------------------------- */

static void passes(struct rowlock_link *link, int64_t id, struct rowlock_value n,
                   struct rowlock_value t)
{
    struct rowlock_value values[] = {rowlock__int_value(id), n, t};
    struct rowlock_call in = {.statement = &insert, .values = values};
    struct rowlock_call out = with_id(&read_one, id);
    struct row row = {0};

    out.row = keep_row;
    out.data = &row;
    t_ok(send(link, ROWLOCK_INSIDE, &in, 1));
    t_int(in.affected, 1);
    t_ok(send(link, ROWLOCK_INSIDE, &out, 1));
    t_int(row.rows, 1);
    t_int(row.id, id);
    t_int(row.n_is_null, n.type == ROWLOCK_NULL);
    t_int(row.n, n.number);
    t_int(row.t_is_null, t.type == ROWLOCK_NULL);
    if (t.type == ROWLOCK_BYTES) {
        t_int(row.length, t.length);
        t_true(memcmp(row.t, t.bytes, t.length) == 0);
    }
    free(row.t);
}

TEST(values_of_every_type_pass_unchanged)
{
    static const char *const texts[] = {
        "", "x", "it's \"quoted\" \\ {braces}; -- ?", "Größe, Ω, 漢字", "🔒 locked 🔑", "a\tb\nc"};
    static const int64_t numbers[] = {0, 1, -1, INT64_MAX, INT64_MIN, 2147483648, -2147483649};
    struct rowlock_value none = {.type = ROWLOCK_NULL};
    struct rowlock_link *link;
    int64_t id = 100;

    make_table();
    link = open_link();
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        passes(link, id++, rowlock__int_value(1), rowlock__text_value(texts[i]));
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        passes(link, id++, rowlock__int_value(numbers[i]), rowlock__text_value("t"));
    passes(link, id++, none, none);
    passes(link, id++, rowlock__int_value(5), none);
    passes(link, id++, none, rowlock__text_value("again"));
    close_link(link);
}

/* A wrong encoding on both ways would cancel out. */
TEST(another_client_reads_the_same_text)
{
    const char *text = "Größe 漢字 🔒";
    struct rowlock_value values[] = {
        rowlock__int_value(50), {.type = ROWLOCK_NULL}, rowlock__text_value(text)};
    struct rowlock_call call = {.statement = &insert, .values = values};
    struct rowlock_link *link;
    void *handle;

    make_table();
    link = open_link();
    t_ok(send(link, ROWLOCK_INSIDE, &call, 1));
    handle = native(is_postgresql() ? NULL : "SET NAMES utf8mb4");
    t_text(t_native_sql(handle, "SELECT t FROM odbc_test WHERE id = 50"), text);
    t_text(t_native_sql(handle, "SELECT char_length(t) FROM odbc_test WHERE id = 50"), "10");
    t_engine()->close(handle);
    close_link(link);
}

TEST(large_texts_and_many_rows_pass)
{
    enum { SIZE = 300000, ROWS = 300 };
    struct rowlock_link *link;
    struct row row = {0};
    struct rowlock_call call = {.statement = &read_all, .row = keep_row, .data = &row};
    char *text = malloc(SIZE);

    for (int i = 0; i < SIZE; i++)
        text[i] = (char)('a' + i % 26);
    make_table();
    link = open_link();
    for (size_t length = 200; length < 600; length += 13)
        passes(link, (int64_t)length, rowlock__int_value(7), rowlock__bytes_value(text, length));
    passes(link, 5000, rowlock__int_value(7), rowlock__bytes_value(text, 4001));
    passes(link, 5001, rowlock__int_value(7), rowlock__bytes_value(text, SIZE));
    for (int64_t id = 6000; id < 6000 + ROWS; id++) {
        struct rowlock_value values[] = {rowlock__int_value(id), rowlock__int_value(id),
                                         rowlock__text_value("row")};
        struct rowlock_call in = {.statement = &insert, .values = values};

        t_ok(send(link, ROWLOCK_BEGIN, &in, 1));
    }
    t_ok(send(link, ROWLOCK_COMMIT, &call, 1));
    t_int(row.rows, 2 + 31 + 2 + ROWS);
    t_int(row.id, 6000 + ROWS - 1); /* the last one, in order */
    free(row.t);
    free(text);
    close_link(link);
}

TEST(affected_rows_are_those_that_were_found)
{
    struct rowlock_call call = {.statement = &delete_all, .affected = -7};
    struct rowlock_link *link;
    int64_t affected;

    make_table();
    link = open_link();
    t_ok(set_n(link, ROWLOCK_INSIDE, 1, 11, &affected));
    t_int(affected, 1);
    t_ok(set_n(link, ROWLOCK_INSIDE, 1, 11, &affected)); /* the value that it has already */
    t_int(affected, 1);
    t_ok(set_n(link, ROWLOCK_INSIDE, 3, 11, &affected));
    t_int(affected, 0);
    t_ok(send(link, ROWLOCK_INSIDE, &call, 1));
    t_int(call.affected, 2);
    t_ok(send(link, ROWLOCK_INSIDE, &call, 1));
    t_int(call.affected, 0);
    close_link(link);
}

/* ---- transactions -------------------------------------------------------------------------- */

static void native_n_is(int id, const char *wanted)
{
    void *handle = native(NULL);

    t_text(t_native_sql(handle, "SELECT n FROM odbc_test WHERE id = %d", id), wanted);
    t_engine()->close(handle);
}

TEST(a_call_outside_a_transaction_commits_by_itself)
{
    struct rowlock_link *link;

    make_table();
    link = open_link();
    t_int(driver->state(link), ROWLOCK_STATE_IDLE);
    t_ok(set_n(link, ROWLOCK_INSIDE, 1, 11, NULL));
    t_int(driver->state(link), ROWLOCK_STATE_IDLE);
    native_n_is(1, "11");
    close_link(link);
}

TEST(a_transaction_ends_by_commit_or_rollback)
{
    struct rowlock_budget budget = within(LATER_MS);
    struct rowlock_outcome outcome;
    struct rowlock_link *link;

    make_table();
    link = open_link();
    t_ok(set_n(link, ROWLOCK_BEGIN, 1, 11, NULL));
    t_int(driver->state(link), ROWLOCK_STATE_OPEN);
    native_n_is(1, "10");
    t_ok(set_n(link, ROWLOCK_INSIDE, 2, 21, NULL));
    t_ok(send_within(link, ROWLOCK_COMMIT, NULL, 0, &budget, &outcome));
    t_int(outcome.left, ROWLOCK_TX_NONE);
    t_true(outcome.sent_commit);
    t_int(driver->state(link), ROWLOCK_STATE_IDLE);
    native_n_is(1, "11");
    native_n_is(2, "21");

    t_ok(set_n(link, ROWLOCK_BEGIN, 1, 12, NULL));
    t_ok(driver->rollback(link, &budget, &t_error));
    t_ok(driver->rollback(link, &budget, &t_error)); /* idempotent */
    t_int(driver->state(link), ROWLOCK_STATE_IDLE);
    native_n_is(1, "11");
    t_ok(set_n(link, ROWLOCK_BEGIN | ROWLOCK_COMMIT, 1, 13, NULL));
    native_n_is(1, "13");
    t_ok(set_n(link, ROWLOCK_BEGIN, 1, 14, NULL));
    close_link(link); /* rolls back */
    native_n_is(1, "13");
}

TEST(the_isolation_is_read_committed)
{
    struct rowlock_call read = with_id(&read_one, 1);
    struct row row = {0};
    struct rowlock_link *link;
    void *handle;

    make_table();
    link = open_link();
    handle = native(NULL);
    read.row = keep_row;
    read.data = &row;
    t_ok(send(link, ROWLOCK_BEGIN, &read, 1));
    t_int(row.n, 10);
    t_native_sql(handle, "UPDATE odbc_test SET n = 99 WHERE id = 1");
    t_ok(send(link, ROWLOCK_INSIDE, &read, 1));
    t_int(row.n, 99);
    free(row.t);
    t_engine()->close(handle);
    close_link(link);
}

TEST(an_error_undoes_its_statement_and_keeps_the_transaction)
{
    struct rowlock_value values[] = {rowlock__int_value(1), rowlock__int_value(1),
                                     rowlock__text_value("again")};
    struct rowlock_call duplicate = {.statement = &insert, .values = values};
    struct rowlock_call wrong = {.statement = &mistake};
    struct rowlock_link *link;

    make_table();
    link = open_link();
    t_ok(set_n(link, ROWLOCK_BEGIN, 1, 11, NULL));
    for (int i = 0; i < 2; i++) {
        t_fails(send(link, ROWLOCK_INSIDE, &duplicate, 1), EDB);
        t_left(KEPT);
        t_true(strncmp(t_error.sqlstate, "23", 2) == 0);
        t_fails(send(link, ROWLOCK_INSIDE, &wrong, 1), EDB);
        t_left(KEPT);
        t_true(strncmp(t_error.sqlstate, "42", 2) == 0);
        t_lacks(t_error.text, "[");
    }
    t_int(driver->state(link), ROWLOCK_STATE_OPEN);
    t_ok(send(link, ROWLOCK_COMMIT, NULL, 0));
    native_n_is(1, "11");

    t_fails(send(link, ROWLOCK_INSIDE, &duplicate, 1), EDB); /* by itself */
    t_left(NONE);
    t_int(driver->state(link), ROWLOCK_STATE_IDLE);
    close_link(link);
}

static int lock_in_thread(struct rowlock_connection *connection, void *data,
                          struct rowlock_error *error)
{
    struct rowlock_call call = with_id(&lock_row, 2);
    struct rowlock_budget budget = within(LATER_MS);
    struct rowlock_outcome outcome;
    int code = driver->run(data, ROWLOCK_INSIDE, &call, 1, &budget, &outcome, error);

    (void)connection;
    if (outcome.left == ROWLOCK_TX_KEPT && code) /* with its locks: the other session waits */
        driver->rollback(data, &budget, NULL);
    return code;
}

static const struct rowlock_statement session_id = {"session", "SELECT connection_id()", 0, NULL};
static const struct rowlock_statement backend_pid = {"pid", "SELECT pg_backend_pid()", 0, NULL};

static long session_of(struct rowlock_link *link)
{
    return (long)number_of(link, is_postgresql() ? &backend_pid : &session_id);
}

/* Each session waits in a thread of its own: one must not block the other in the driver manager. */
TEST(a_deadlock_has_one_victim)
{
    struct rowlock_call first = with_id(&lock_row, 1), second = with_id(&lock_row, 2);
    struct rowlock_link *one, *two, *victim;
    struct rowlock_error error;
    struct thread *thread;
    int codes[2];

    make_table();
    one = open_link();
    two = open_link();
    t_ok(send(one, ROWLOCK_BEGIN, &first, 1));
    t_ok(set_n(one, ROWLOCK_INSIDE, 1, 111, NULL));
    t_ok(send(two, ROWLOCK_BEGIN, &second, 1));
    t_ok(set_n(two, ROWLOCK_INSIDE, 2, 222, NULL));
    thread = t_thread(NULL, lock_in_thread, one);
    codes[1] = send(two, ROWLOCK_INSIDE, &first, 1);
    error = t_error;
    if (codes[1] && error.transaction == ROWLOCK_TX_KEPT) /* its locks too: the other waits */
        t_ok(driver->rollback(two, &(struct rowlock_budget){ROWLOCK_NEVER, -1, 0}, NULL));
    codes[0] = t_join(thread);
    if (codes[0])
        error = t_error;
    t_true((codes[0] == 0) != (codes[1] == 0));
    victim = codes[0] ? one : two;
    t_int(error.code, is_postgresql() ? ROWLOCK_EABORTED : ROWLOCK_EROLLEDBACK);
    t_int(error.transaction, is_postgresql() ? ROWLOCK_TX_KEPT : ROWLOCK_TX_GONE);
    if (!is_postgresql()) { /* a plain COMMIT would return OK */
        t_fails(send(victim, ROWLOCK_COMMIT, NULL, 0), EROLLEDBACK);
        t_left(GONE);
    }
    t_ok(driver->rollback(one, &(struct rowlock_budget){ROWLOCK_NEVER, -1, 0}, &t_error));
    t_ok(driver->rollback(two, &(struct rowlock_budget){ROWLOCK_NEVER, -1, 0}, &t_error));
    close_link(one);
    close_link(two);
}

TEST(a_script_is_run_statement_by_statement)
{
    struct rowlock_budget budget = within(LATER_MS);
    struct rowlock_link *link;

    make_table();
    link = open_link();
    t_ok(driver->script(link,
                        "-- a comment; with a semicolon\nDELETE FROM odbc_test;\n"
                        "INSERT INTO odbc_test VALUES (7, 70, 'a;b');\n",
                        &budget, &t_error));
    t_int(driver->state(link), ROWLOCK_STATE_IDLE);
    native_n_is(7, "70");
    t_fails(driver->script(link, "DELETE FROM odbc_test; SELECT FROM WHERE;", &budget, &t_error),
            EDB);
    native_n_is(7, "70");
    close_link(link);
}

/* ---- time limits --------------------------------------------------------------------------- */

static void *hold_row_2(void)
{
    return native(is_postgresql() ? "BEGIN; UPDATE odbc_test SET n = 21 WHERE id = 2"
                                  : "SET autocommit = 0");
}

static void *holder_of_row_2(void)
{
    void *handle = hold_row_2();

    if (!is_postgresql())
        t_native_sql(handle, "UPDATE odbc_test SET n = 21 WHERE id = 2");
    return handle;
}

TEST(the_deadline_ends_a_wait_for_a_lock_and_keeps_the_transaction)
{
    struct rowlock_call wait = with_id(&lock_row, 2);
    struct rowlock_budget budget;
    struct rowlock_outcome outcome;
    struct rowlock_link *link;
    void *holder;

    make_table();
    link = open_link();
    holder = holder_of_row_2();
    t_ok(set_n(link, ROWLOCK_BEGIN, 1, 11, NULL));
    for (int i = 0; i < 3; i++) {
        budget = within(100);
        budget.give_up_ms = budget.deadline_ms + LATER_MS;
        t_fails(send_within(link, ROWLOCK_INSIDE, &wait, 1, &budget, &outcome), ETIMEDOUT);
        t_left(KEPT);
    }
    t_ok(set_n(link, ROWLOCK_INSIDE, 1, 12, NULL)); /* no late cancel hits it */
    t_ok(send(link, ROWLOCK_COMMIT, NULL, 0));
    native_n_is(1, "12");
    t_engine()->close(holder);
    close_link(link);
}

TEST(a_statements_own_limit_ends_it_too)
{
    struct rowlock_call wait = with_id(&lock_row, 2);
    struct rowlock_link *link;
    void *holder;

    make_table();
    link = open_link();
    holder = holder_of_row_2();
    wait.limit_ms = 50;
    t_fails(send(link, ROWLOCK_BEGIN, &wait, 1), ETIMEDOUT);
    t_left(KEPT);
    t_engine()->close(holder);
    close_link(link);
}

TEST(an_interrupt_ends_a_wait_for_a_lock)
{
    struct rowlock_call wait = with_id(&lock_row, 2);
    struct rowlock_budget budget = within(LATER_MS);
    struct rowlock_outcome outcome;
    struct rowlock_link *link;
    void *holder;
    int ends[2];

    make_table();
    link = open_link();
    holder = holder_of_row_2();
    t_int(pipe(ends), 0);
    t_true(write(ends[1], "!", 1) == 1);
    budget.interrupt_fd = ends[0];
    budget.give_up_ms = rowlock__now_ms() + LATER_MS;
    t_fails(send_within(link, ROWLOCK_BEGIN, &wait, 1, &budget, &outcome), ECANCELED);
    t_left(KEPT);
    budget.interrupt_fd = -1;
    t_ok(driver->rollback(link, &budget, &t_error));
    t_ok(set_n(link, ROWLOCK_INSIDE, 1, 12, NULL));
    close(ends[0]);
    close(ends[1]);
    t_engine()->close(holder);
    close_link(link);
}

static struct rowlock_link *open_through(struct proxy *proxy)
{
    struct rowlock_budget budget = within(LATER_MS);
    struct rowlock_link *link = NULL;

    t_ok(open_at(t_odbc_url(proxy_port(proxy), ""), &budget, &link));
    t_true(driver->socket(link) >= 0);
    return link;
}

TEST(a_silent_server_is_given_up)
{
    struct proxy *proxy = proxy_start(t_port(), is_postgresql());
    struct rowlock_call call = with_id(&lock_row, 1);
    struct rowlock_budget budget;
    struct rowlock_outcome outcome;
    struct rowlock_link *link;

    make_table();
    link = open_through(proxy);
    t_ok(send(link, ROWLOCK_BEGIN, &call, 1));
    proxy_arm(proxy, PROXY_STALL, PROXY_TO_CLIENT, 0);
    budget = within(100);
    budget.give_up_ms = budget.deadline_ms + 200;
    t_fails(send_within(link, ROWLOCK_INSIDE, &call, 1, &budget, &outcome), ETIMEDOUT);
    t_left(DEAD);
    t_contains(t_error.text, "given up");
    t_int(driver->state(link), ROWLOCK_STATE_DEAD);
    t_int(driver->socket(link), -1);
    t_fails(send_within(link, ROWLOCK_INSIDE, &call, 1, &budget, &outcome), ECONN);
    t_left(DEAD);
    t_fails(driver->rollback(link, &budget, &t_error), ECONN);
    close_link(link);
    proxy_cut_all(proxy);
    proxy_stop(proxy);
}

TEST(a_commit_without_an_answer_is_unknown)
{
    struct proxy *proxy = proxy_start(t_port(), is_postgresql());
    struct rowlock_budget budget;
    struct rowlock_outcome outcome;
    struct rowlock_link *link;

    make_table();
    link = open_through(proxy);
    t_ok(set_n(link, ROWLOCK_BEGIN, 1, 11, NULL));
    proxy_arm(proxy, PROXY_STALL, PROXY_TO_CLIENT, 0);
    budget = within(100);
    budget.give_up_ms = budget.deadline_ms + 200;
    t_fails(send_within(link, ROWLOCK_COMMIT, NULL, 0, &budget, &outcome), EUNKNOWN);
    t_left(DEAD);
    close_link(link);
    proxy_cut_all(proxy);
    proxy_stop(proxy);
}

TEST(closing_a_silent_session_does_not_hang)
{
    struct proxy *proxy = proxy_start(t_port(), is_postgresql());
    struct rowlock_link *link;

    make_table();
    link = open_through(proxy);
    t_ok(set_n(link, ROWLOCK_BEGIN, 1, 11, NULL));
    proxy_arm(proxy, PROXY_STALL, PROXY_TO_CLIENT, 0);
    close_link(link);
    proxy_cut_all(proxy);
    proxy_stop(proxy);
}

/* Opens a session on a server that accepts connections, and does not answer. */
static int open_in_silence(const struct rowlock_budget *budget)
{
    struct proxy *proxy = proxy_start(t_port(), is_postgresql());
    struct rowlock_link *link = NULL;
    int code;

    proxy_arm(proxy, PROXY_STALL, PROXY_TO_CLIENT, 0);
    code = open_at(t_odbc_url(proxy_port(proxy), ""), budget, &link);
    proxy_cut_all(proxy);
    proxy_stop(proxy);
    return code;
}

TEST(connecting_to_a_silent_server_ends_in_time)
{
    struct rowlock_budget budget = within(100);
    int ends[2];

    t_fails(open_in_silence(&budget), ECONN);
    t_contains(t_error.text, "did not answer in time");
    t_int(pipe(ends), 0);
    t_true(write(ends[1], "!", 1) == 1);
    budget = within(LATER_MS);
    budget.interrupt_fd = ends[0];
    t_fails(open_in_silence(&budget), ECANCELED);
    close(ends[0]);
    close(ends[1]);
}

TEST(a_killed_session_is_lost)
{
    struct rowlock_call call = with_id(&lock_row, 1);
    struct rowlock_budget budget = within(LATER_MS);
    struct rowlock_outcome outcome;
    struct rowlock_link *link;

    make_table();
    link = open_link();
    t_ok(send(link, ROWLOCK_BEGIN, &call, 1));
    t_engine()->kill(t_admin(), session_of(link));
    t_fails(send_within(link, ROWLOCK_INSIDE, &call, 1, &budget, &outcome), ECONN);
    t_left(DEAD);
    t_int(driver->state(link), ROWLOCK_STATE_DEAD);
    close_link(link);

    link = open_link();
    t_ok(send(link, ROWLOCK_BEGIN, &call, 1));
    t_engine()->kill(t_admin(), session_of(link));
    t_true(rowlock__wait_fd(driver->socket(link), 1 /* POLLIN */, -1, budget.deadline_ms) ==
           ROWLOCK_WAKE_READY); /* the news has arrived */
    t_fails(send_within(link, ROWLOCK_COMMIT, NULL, 0, &budget, &outcome), ECONN);
    t_left(DEAD);
    t_true(!outcome.sent_commit); /* nothing is unknown */
    close_link(link);
}

/* ---- descriptors, secrets, refusals ------------------------------------------------------- */

static int open_after_exec(void)
{
    DIR *folder = opendir("/proc/self/fd");
    struct dirent *entry;
    int n = 0;

    while ((entry = readdir(folder))) {
        int flags = fcntl(atoi(entry->d_name), F_GETFD);

        n += flags >= 0 && !(flags & FD_CLOEXEC);
    }
    closedir(folder);
    return n;
}

TEST(no_descriptor_reaches_a_command)
{
    int before = open_after_exec();
    struct rowlock_link *link = open_link();

    t_int(open_after_exec(), before);
    t_true(fcntl(driver->socket(link), F_GETFD) & FD_CLOEXEC);
    close_link(link);
}

static void is_refused(const char *more, const char *part)
{
    struct rowlock_budget budget = within(LATER_MS);
    struct rowlock_link *link = NULL;

    t_fails(open_at(t_odbc_url(t_port(), more), &budget, &link), EINVAL);
    t_contains(t_error.text, part);
}

TEST(an_option_that_would_break_transactions_is_refused)
{
    if (is_postgresql()) {
        is_refused(";Protocol=7.4-1", "Protocol=7.4-2");
        is_refused(";protocol = 7.4", "Protocol=7.4-2");
    } else {
        is_refused(";OPTION=0", "Option=2");
        is_refused(";Option={64}", "Option=2");
    }
}

/* A driver may quote the connection string in its message. */
TEST(a_refused_login_is_edenied_and_shows_no_password)
{
    struct rowlock_budget budget = within(LATER_MS);
    struct rowlock_link *link = NULL;
    char url[500];

    snprintf(url, sizeof url,
             "odbc:Driver=%s;Server=127.0.0.1;Port=%d;Database=test;UID=nobody_here;PWD={hun;ter2}",
             t_odbc_driver(is_postgresql() ? "psqlodbcw.so" : "libmaodbc.so"), t_port());
    t_fails(open_at(url, &budget, &link), EDENIED);
    t_lacks(t_error.text, "hun;ter2");
    t_contains(t_error.text, "nobody_here");
}

static char *password_file(const char *text, mode_t mode)
{
    static char path[300];
    FILE *file;

    snprintf(path, sizeof path, "%s/password", getenv("ROWLOCK_TEST_TEMP"));
    file = fopen(path, "w");
    t_true(file != NULL);
    fputs(text, file);
    fclose(file);
    t_int(chmod(path, mode), 0);
    return path;
}

TEST(user_and_password_come_from_the_environment)
{
    struct rowlock_budget budget = within(LATER_MS);
    struct rowlock_link *link = NULL;
    const char *database = strrchr(t_url(), '/') + 1;
    char url[500];

    snprintf(url, sizeof url, "odbc:Driver=%s;Server=127.0.0.1;Port=%d;Database=%s",
             t_odbc_driver(is_postgresql() ? "psqlodbcw.so" : "libmaodbc.so"), t_port(), database);
    setenv("ROWLOCK_USER", is_postgresql() ? "tester" : "rowlock", 1);
    setenv("ROWLOCK_PASSWORD_FILE", password_file("secret\n", 0600), 1);
    t_ok(open_at(url, &budget, &link));
    close_link(link);
    link = NULL;
    if (!is_postgresql()) { /* which trusts everyone here */
        setenv("ROWLOCK_PASSWORD_FILE", password_file("geheim;}\n", 0600), 1);
        t_fails(open_at(url, &budget, &link), EDENIED);
        t_lacks(t_error.text, "geheim");
    }
    setenv("ROWLOCK_PASSWORD_FILE", password_file("secret\n", 0644), 1);
    t_fails(open_at(url, &budget, &link), EDENIED);
    t_contains(t_error.text, "chmod 600");
    unsetenv("ROWLOCK_USER");
    unsetenv("ROWLOCK_PASSWORD_FILE");
}

TEST(a_missing_driver_is_named_with_its_package)
{
    struct rowlock_budget budget = within(LATER_MS);
    struct rowlock_link *link = NULL;

    t_fails(open_at("odbc:Driver=/nowhere/psqlodbcw.so;Server=h;PWD=secret", &budget, &link),
            EDRIVER);
    t_contains(t_error.text, "odbc-postgresql");
    t_fails(open_at("odbc:Driver={ODBC Driver 18 for SQL Server};Server=h", &budget, &link),
            EDRIVER);
    t_contains(t_error.text, "msodbcsql18");
    t_fails(open_at("odbc:Driver=/nowhere/strange.so", &budget, &link), EDRIVER);
    t_contains(t_error.text, "/nowhere/strange.so");
    t_fails(open_at("odbc:DSN=nowhere;PWD=secret", &budget, &link), EDRIVER);
    t_contains(t_error.text, "data source 'nowhere'");
    t_fails(open_at("odbc:Server=h", &budget, &link), EINVAL);
    t_contains(t_error.text, "names no ODBC driver");
}

TEST(a_server_that_is_away_is_econn)
{
    struct rowlock_budget budget = within(LATER_MS);
    struct rowlock_link *link = NULL;

    t_fails(open_at(t_odbc_url(1, ""), &budget, &link), ECONN);
}

/* The string does not tell the driver, which then lacks its option at first. */
TEST(a_data_source_gets_the_option_too)
{
    struct rowlock_value values[] = {rowlock__int_value(1), rowlock__int_value(1),
                                     rowlock__text_value("again")};
    struct rowlock_call duplicate = {.statement = &insert, .values = values};
    struct rowlock_budget budget = within(LATER_MS);
    struct rowlock_link *link = NULL;
    char path[300];
    int64_t affected;
    FILE *file;

    make_table();
    snprintf(path, sizeof path, "%s/odbc.ini", getenv("ROWLOCK_TEST_TEMP"));
    file = fopen(path, "w");
    t_true(file != NULL);
    fprintf(file, "[farm]\nDriver=%s\n%s=127.0.0.1\nPort=%d\nDatabase=%s\n%s",
            t_odbc_driver(is_postgresql() ? "psqlodbcw.so" : "libmaodbc.so"),
            is_postgresql() ? "Servername" : "Server", t_port(), strrchr(t_url(), '/') + 1,
            is_postgresql() ? "Protocol=7.4-0\n" : "");
    fclose(file);
    setenv("ODBCINI", path, 1);
    t_ok(open_at(is_postgresql() ? "odbc:DSN=farm;UID=tester"
                                 : "odbc:DSN=farm;UID=rowlock;PWD=secret",
                 &budget, &link));
    unsetenv("ODBCINI");
    t_ok(set_n(link, ROWLOCK_BEGIN, 1, 10, &affected)); /* the value that it has already */
    t_int(affected, 1);
    t_fails(send(link, ROWLOCK_INSIDE, &duplicate, 1), EDB);
    t_ok(set_n(link, ROWLOCK_INSIDE, 1, 11, NULL));
    t_ok(send(link, ROWLOCK_COMMIT, NULL, 0));
    native_n_is(1, "11");
    close_link(link);
}
