/* SPDX-License-Identifier: Apache-2.0 */
/* Sessions on the database under test, by the ODBC driver alone. */
#include <stdlib.h>
#include <string.h>

#include "dialect/plain.h"
#include "lib/extra.h"
#include "lib/grants.h"
#include "lib/harness.h"
#include "lib/odbc.h"
#include "lib/test.h"
#include "lib/transport.h"
#include "util/clock.h"

extern const struct rowlock_driver rowlock__driver_odbc;
const struct rowlock_driver *const t_odbc = &rowlock__driver_odbc;
static const struct rowlock_dialect dialect = {.name = "of the test"};

/* The driver needs a dialect, but no SQL of locks: the linker puts this one in its place. */
const struct rowlock_dialect *__wrap_rowlock__plain_dialect(const char *product);
const struct rowlock_dialect *__wrap_rowlock__plain_dialect(const char *product)
{
    (void)product;
    return &dialect;
}

const char *t_odbc_url(int port, const char *more)
{
    const char *database = strrchr(t_url(), '/') + 1;
    int postgresql = strcmp(t_facts()->engine, "postgresql") == 0;

    return t_say("odbc:Driver=%s;Server=127.0.0.1;Port=%d;Database=%s;UID=%s%s%s",
                 t_odbc_driver(postgresql ? "psqlodbcw.so" : "libmaodbc.so"), port, database,
                 postgresql ? "tester" : "rowlock", postgresql ? "" : ";PWD=secret", more);
}

struct rowlock_budget t_odbc_within(int64_t ms)
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

void t_odbc_close(struct rowlock_link *link)
{
    for (size_t i = 0; i < sizeof links / sizeof *links; i++)
        if (links[i] == link)
            links[i] = NULL;
    t_odbc->close(link);
}

int t_odbc_open_at(const char *url, const struct rowlock_budget *budget, struct rowlock_link **out)
{
    struct rowlock_budget minute = t_odbc_within(T_ODBC_LATER_MS);
    struct rowlock_source source = {.url = url, .interrupt_fd = -1};
    const struct rowlock_dialect *found = NULL;
    int code = t_odbc->open(&source, budget ? budget : &minute, out, &found, &t_error);

    if (!code)
        keep_link(*out);
    t_true(code || found == &dialect);
    t_lacks(t_error.text, "secret");
    return code;
}

struct rowlock_link *t_odbc_open(void)
{
    struct rowlock_link *link = NULL;

    t_ok(t_odbc_open_at(t_odbc_url(t_port(), ""), NULL, &link));
    return link;
}

void *t_odbc_native(const char *sql)
{
    void *handle = t_engine()->open(t_url());

    t_true(handle != NULL);
    if (sql)
        t_native_sql(handle, "%s", sql);
    return handle;
}

/* A table of its own for each test: (id, n, t). */
void t_odbc_table(void)
{
    void *handle;

    for (size_t i = 0; i < sizeof links / sizeof *links; i++)
        if (links[i])
            t_odbc_close(links[i]);
    handle = t_odbc_native("DROP TABLE IF EXISTS odbc_test");

    t_native_sql(handle, "CREATE TABLE odbc_test (id INT NOT NULL PRIMARY KEY, n BIGINT, t %s)",
                 t_is_postgresql() ? "TEXT" : "LONGTEXT CHARACTER SET utf8mb4");
    t_native_sql(handle, "INSERT INTO odbc_test VALUES (1, 10, 'one')");
    t_native_sql(handle, "INSERT INTO odbc_test VALUES (2, 20, 'two')");
    t_engine()->close(handle);
}

struct rowlock_link *t_odbc_prepare(void)
{
    t_odbc_table();
    return t_odbc_open();
}

const struct rowlock_statement t_odbc_insert = {
    "insert", "INSERT INTO odbc_test (id, n, t) VALUES (?, ?, ?)", 3, "iit", NULL};
const struct rowlock_statement t_odbc_read_one = {
    "read", "SELECT n, t, id FROM odbc_test WHERE id = ?", 1, "i", NULL};
const struct rowlock_statement t_odbc_read_all = {
    "read_all", "SELECT n, t, id FROM odbc_test ORDER BY id", 0, NULL, NULL};
const struct rowlock_statement t_odbc_update = {"update", "UPDATE odbc_test SET n = ? WHERE id = ?",
                                                2, "ii", NULL};
const struct rowlock_statement t_odbc_delete_all = {"delete", "DELETE FROM odbc_test", 0, NULL,
                                                    NULL};
const struct rowlock_statement t_odbc_lock_row = {
    "lock", "SELECT id FROM odbc_test WHERE id = ? FOR UPDATE", 1, "i", NULL};
const struct rowlock_statement t_odbc_mistake = {"mistake", "SELECT FROM WHERE", 0, NULL, NULL};

void t_odbc_keep_row(void *data, const struct rowlock_value *columns, unsigned n)
{
    struct t_odbc_row *row = data;

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

int t_odbc_run_within(struct rowlock_link *link, unsigned flags, struct rowlock_call *calls,
                      size_t n, const struct rowlock_budget *budget,
                      struct rowlock_outcome *outcome)
{
    int code = t_odbc->run(link, flags, calls, n, budget, outcome, &t_error);

    t_lacks(t_error.text, "secret");
    if (code)
        t_int(t_error.transaction, outcome->left);
    return code;
}

int t_odbc_run(struct rowlock_link *link, unsigned flags, struct rowlock_call *calls, size_t n)
{
    struct rowlock_budget budget = t_odbc_within(T_ODBC_LATER_MS);
    struct rowlock_outcome outcome;

    return t_odbc_run_within(link, flags, calls, n, &budget, &outcome);
}

struct rowlock_call t_odbc_with_id(const struct rowlock_statement *statement, int64_t id)
{
    static struct rowlock_value values[8];
    static unsigned turn;

    turn = (turn + 1) % 8;
    values[turn] = rowlock__int_value(id);
    return (struct rowlock_call){.statement = statement, .values = &values[turn]};
}

int t_odbc_set_n(struct rowlock_link *link, unsigned flags, int64_t id, int64_t n,
                 int64_t *affected)
{
    struct rowlock_value values[] = {rowlock__int_value(n), rowlock__int_value(id)};
    struct rowlock_call call = {.statement = &t_odbc_update, .values = values, .affected = -7};
    int code = t_odbc_run(link, flags, &call, 1);

    if (affected)
        *affected = call.affected;
    return code;
}

void t_odbc_n_is(int id, const char *wanted)
{
    void *handle = t_odbc_native(NULL);

    t_text(t_native_sql(handle, "SELECT n FROM odbc_test WHERE id = %d", id), wanted);
    t_engine()->close(handle);
}
