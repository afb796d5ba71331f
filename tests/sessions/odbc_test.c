/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ODBC driver as a transport, on real servers: values, rows, transactions, errors. It takes no
 * locks of rowlock; the driver is called directly.
 *
 * Runs on: postgresql/native mariadb/row
 */
#include <stdlib.h>
#include <string.h>

#include "lib/odbc.h"
#include "lib/test.h"

/* ---- values and rows ----------------------------------------------------------------------- */

static void passes(struct rowlock_link *link, int64_t id, struct rowlock_value n,
                   struct rowlock_value t)
{
    struct rowlock_value values[] = {rowlock__int_value(id), n, t};
    struct rowlock_call in = {.statement = &t_odbc_insert, .values = values};
    struct rowlock_call out = t_odbc_with_id(&t_odbc_read_one, id);
    struct t_odbc_row row = {0};

    out.row = t_odbc_keep_row;
    out.data = &row;
    t_ok(t_odbc_run(link, ROWLOCK_INSIDE, &in, 1));
    t_int(in.affected, 1);
    t_ok(t_odbc_run(link, ROWLOCK_INSIDE, &out, 1));
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
    struct rowlock_link *link = t_odbc_prepare();
    int64_t id = 100;

    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        passes(link, id++, rowlock__int_value(1), rowlock__text_value(texts[i]));
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        passes(link, id++, rowlock__int_value(numbers[i]), rowlock__text_value("t"));
    passes(link, id++, none, none);
    passes(link, id++, rowlock__int_value(5), none);
    passes(link, id++, none, rowlock__text_value("again"));
    t_odbc_close(link);
}

/* A wrong encoding on both ways would cancel out. The process's locale must not matter. */
TEST(another_client_reads_the_same_text)
{
    const char *text = "Größe 漢字 🔒";
    struct rowlock_value values[] = {
        rowlock__int_value(50), {.type = ROWLOCK_NULL}, rowlock__text_value(text)};
    struct rowlock_call call = {.statement = &t_odbc_insert, .values = values};
    struct rowlock_link *link;
    void *handle;

    t_odbc_table();
    setenv("LC_ALL", "C", 1);
    link = t_odbc_open();
    setenv("LC_ALL", "C.UTF-8", 1);
    t_ok(t_odbc_run(link, ROWLOCK_INSIDE, &call, 1));
    handle = t_odbc_native(t_is_postgresql() ? NULL : "SET NAMES utf8mb4");
    t_text(t_native_sql(handle, "SELECT t FROM odbc_test WHERE id = 50"), text);
    t_text(t_native_sql(handle, "SELECT char_length(t) FROM odbc_test WHERE id = 50"), "10");
    t_engine()->close(handle);
    t_odbc_close(link);
}

TEST(large_texts_and_many_rows_pass)
{
    enum { SIZE = 300000, ROWS = 300 };
    struct rowlock_link *link = t_odbc_prepare();
    struct t_odbc_row row = {0};
    struct rowlock_call call = {
        .statement = &t_odbc_read_all, .row = t_odbc_keep_row, .data = &row};
    char *text = malloc(SIZE);

    for (int i = 0; i < SIZE; i++)
        text[i] = (char)('a' + i % 26);
    for (size_t length = 200; length < 600; length += 13)
        passes(link, (int64_t)length, rowlock__int_value(7), rowlock__bytes_value(text, length));
    passes(link, 5000, rowlock__int_value(7), rowlock__bytes_value(text, 4001));
    passes(link, 5001, rowlock__int_value(7), rowlock__bytes_value(text, SIZE));
    for (int64_t id = 6000; id < 6000 + ROWS; id++) {
        struct rowlock_value values[] = {rowlock__int_value(id), rowlock__int_value(id),
                                         rowlock__text_value("row")};
        struct rowlock_call in = {.statement = &t_odbc_insert, .values = values};

        t_ok(t_odbc_run(link, ROWLOCK_BEGIN, &in, 1));
    }
    t_ok(t_odbc_run(link, ROWLOCK_COMMIT, &call, 1));
    t_int(row.rows, 2 + 31 + 2 + ROWS);
    t_int(row.id, 6000 + ROWS - 1); /* the last one, in order */
    free(row.t);
    free(text);
    t_odbc_close(link);
}

TEST(affected_rows_are_those_that_were_found)
{
    struct rowlock_call call = {.statement = &t_odbc_delete_all, .affected = -7};
    struct rowlock_link *link = t_odbc_prepare();
    int64_t affected;

    t_ok(t_odbc_set_n(link, ROWLOCK_INSIDE, 1, 11, &affected));
    t_int(affected, 1);
    t_ok(t_odbc_set_n(link, ROWLOCK_INSIDE, 1, 11, &affected)); /* the value that it has already */
    t_int(affected, 1);
    t_ok(t_odbc_set_n(link, ROWLOCK_INSIDE, 3, 11, &affected));
    t_int(affected, 0);
    t_ok(t_odbc_run(link, ROWLOCK_INSIDE, &call, 1));
    t_int(call.affected, 2);
    t_ok(t_odbc_run(link, ROWLOCK_INSIDE, &call, 1));
    t_int(call.affected, 0);
    t_odbc_close(link);
}

/* ---- transactions -------------------------------------------------------------------------- */

TEST(a_call_outside_a_transaction_commits_by_itself)
{
    struct rowlock_link *link = t_odbc_prepare();

    t_int(t_odbc->state(link), ROWLOCK_STATE_IDLE);
    t_ok(t_odbc_set_n(link, ROWLOCK_INSIDE, 1, 11, NULL));
    t_int(t_odbc->state(link), ROWLOCK_STATE_IDLE);
    t_odbc_n_is(1, "11");
    t_odbc_close(link);
}

TEST(a_transaction_ends_by_commit_or_rollback)
{
    struct rowlock_budget budget = t_odbc_within(T_ODBC_LATER_MS);
    struct rowlock_outcome outcome;
    struct rowlock_link *link = t_odbc_prepare();

    t_ok(t_odbc_set_n(link, ROWLOCK_BEGIN, 1, 11, NULL));
    t_int(t_odbc->state(link), ROWLOCK_STATE_OPEN);
    t_odbc_n_is(1, "10");
    t_ok(t_odbc_set_n(link, ROWLOCK_INSIDE, 2, 21, NULL));
    t_ok(t_odbc_run_within(link, ROWLOCK_COMMIT, NULL, 0, &budget, &outcome));
    t_int(outcome.left, ROWLOCK_TX_NONE);
    t_true(outcome.sent_commit);
    t_int(t_odbc->state(link), ROWLOCK_STATE_IDLE);
    t_odbc_n_is(1, "11");
    t_odbc_n_is(2, "21");

    t_ok(t_odbc_set_n(link, ROWLOCK_BEGIN, 1, 12, NULL));
    t_ok(t_odbc->rollback(link, &budget, &t_error));
    t_ok(t_odbc->rollback(link, &budget, &t_error)); /* idempotent */
    t_int(t_odbc->state(link), ROWLOCK_STATE_IDLE);
    t_odbc_n_is(1, "11");
    t_ok(t_odbc_set_n(link, ROWLOCK_BEGIN | ROWLOCK_COMMIT, 1, 13, NULL));
    t_odbc_n_is(1, "13");
    t_ok(t_odbc_set_n(link, ROWLOCK_BEGIN, 1, 14, NULL));
    t_odbc_close(link); /* rolls back */
    t_odbc_n_is(1, "13");
}

TEST(the_isolation_is_read_committed)
{
    struct rowlock_call read = t_odbc_with_id(&t_odbc_read_one, 1);
    struct t_odbc_row row = {0};
    struct rowlock_link *link = t_odbc_prepare();
    void *handle = t_odbc_native(NULL);

    read.row = t_odbc_keep_row;
    read.data = &row;
    t_ok(t_odbc_run(link, ROWLOCK_BEGIN, &read, 1));
    t_int(row.n, 10);
    t_native_sql(handle, "UPDATE odbc_test SET n = 99 WHERE id = 1");
    t_ok(t_odbc_run(link, ROWLOCK_INSIDE, &read, 1));
    t_int(row.n, 99);
    free(row.t);
    t_engine()->close(handle);
    t_odbc_close(link);
}

TEST(an_error_undoes_its_statement_and_keeps_the_transaction)
{
    struct rowlock_value values[] = {rowlock__int_value(1), rowlock__int_value(1),
                                     rowlock__text_value("again")};
    struct rowlock_call duplicate = {.statement = &t_odbc_insert, .values = values};
    struct rowlock_call wrong = {.statement = &t_odbc_mistake};
    struct rowlock_link *link = t_odbc_prepare();

    t_ok(t_odbc_set_n(link, ROWLOCK_BEGIN, 1, 11, NULL));
    for (int i = 0; i < 2; i++) {
        t_fails(t_odbc_run(link, ROWLOCK_INSIDE, &duplicate, 1), EDB);
        t_left(KEPT);
        t_true(strncmp(t_error.sqlstate, "23", 2) == 0);
        t_fails(t_odbc_run(link, ROWLOCK_INSIDE, &wrong, 1), EDB);
        t_left(KEPT);
        t_true(strncmp(t_error.sqlstate, "42", 2) == 0);
        t_lacks(t_error.text, "[");
    }
    t_int(t_odbc->state(link), ROWLOCK_STATE_OPEN);
    t_ok(t_odbc_run(link, ROWLOCK_COMMIT, NULL, 0));
    t_odbc_n_is(1, "11");

    t_fails(t_odbc_run(link, ROWLOCK_INSIDE, &duplicate, 1), EDB); /* by itself */
    t_left(NONE);
    t_int(t_odbc->state(link), ROWLOCK_STATE_IDLE);
    t_odbc_close(link);
}

TEST(a_script_is_run_statement_by_statement)
{
    struct rowlock_budget budget = t_odbc_within(T_ODBC_LATER_MS);
    struct rowlock_link *link = t_odbc_prepare();

    t_ok(t_odbc->script(link,
                        "-- a comment; with a semicolon\nDELETE FROM odbc_test;\n"
                        "INSERT INTO odbc_test VALUES (7, 70, 'a;b');\n",
                        &budget, &t_error));
    t_int(t_odbc->state(link), ROWLOCK_STATE_IDLE);
    t_odbc_n_is(7, "70");
    t_fails(t_odbc->script(link, "DELETE FROM odbc_test; SELECT FROM WHERE;", &budget, &t_error),
            EDB);
    t_odbc_n_is(7, "70");
    t_odbc_close(link);
}
