/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Oracle, SQL Server and DB2 without their servers: a driver that replays a script
 * (lib/fake/odbc.c) behind the real driver manager. The errors and types are by the vendors'
 * documentation.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/odbc.h"
#include "lib/test.h"
#include "lib/vendor.h"

static char script[300], logged[300];

static void write_script(const char *text)
{
    FILE *file;

    snprintf(script, sizeof script, "%s/script", getenv("ROWLOCK_TEST_TEMP"));
    snprintf(logged, sizeof logged, "%s/log", getenv("ROWLOCK_TEST_TEMP"));
    unlink(logged);
    file = fopen(script, "w");
    t_true(file != NULL);
    fputs(text, file);
    fclose(file);
}

static const char *read_log(void)
{
    static char text[20000];
    FILE *file = fopen(logged, "r");
    size_t n = file ? fread(text, 1, sizeof text - 1, file) : 0;

    text[n] = '\0';
    if (file)
        fclose(file);
    return text;
}

/* A link with the name that the product's driver has. */
static const char *file_of(const char *product)
{
    static char path[300];
    char target[300];

    snprintf(path, sizeof path, "%s/lib%s.so", getenv("ROWLOCK_TEST_TEMP"),
             product[0] == 'O'   ? "sqora"
             : product[0] == 'M' ? "msodbcsql"
                                 : "db2o");
    snprintf(target, sizeof target, "%s/tests/fake_odbc.so", getenv("ROWLOCK_TEST_BIN"));
    if (access(path, F_OK) != 0)
        t_int(symlink(target, path), 0);
    return path;
}

static int try_open(const char *product, const char *more, struct rowlock_link **out)
{
    struct rowlock_budget budget = t_odbc_within(T_ODBC_LATER_MS);
    char url[1500];

    snprintf(url, sizeof url, "odbc:Driver=%s;Product=%s;Script=%s;Log=%s%s", file_of(product),
             product, script, logged, more);
    return t_odbc_open_at(url, &budget, out);
}

static struct rowlock_link *open_product(const char *product, const char *text)
{
    struct rowlock_link *link = NULL;

    write_script(text);
    t_ok(try_open(product, "", &link));
    return link;
}

static const struct rowlock_statement work = {"work", "UPDATE work SET n = 1", 0, NULL, NULL};
static const struct rowlock_statement other = {"other", "UPDATE other SET n = 1", 0, NULL, NULL};
static const struct rowlock_statement typed = {"typed", "INSERT INTO t VALUES (?, ?, ?, ?, ?)", 5,
                                               "ittit", NULL};
static const struct rowlock_statement look = {"look", "SELECT n, t, x FROM t", 0, NULL, NULL};

static int run_one(struct rowlock_link *link, unsigned flags, const struct rowlock_statement *what)
{
    struct rowlock_call call = {.statement = what};

    return t_odbc_run(link, flags, &call, what ? 1 : 0);
}

/* ---- the failure table ----------------------------------------------------------------------- */

static const struct {
    const char *product, *engine, *sqlstate;
    int native;
    const char *text;
    int code;
    enum rowlock_transaction left;
} failures[] = {
#define VENDOR(product, engine, sqlstate, native, text, code, left) \
    {product, engine, sqlstate, native, text, ROWLOCK_##code, ROWLOCK_TX_##left},
    VENDOR_FAILURES(VENDOR)
    /* DB2's number for both ends of a wait */
    VENDOR("DB2/LINUXX8664", "db2", "40001", -911, "SQL0911N  Reason code \"68\".", ETIMEDOUT, GONE)
#undef VENDOR
};

/* COMMIT after the failure: only a transaction that was kept can be committed. */
static void commit_after(struct rowlock_link *link, enum rowlock_transaction left)
{
    struct rowlock_budget budget = t_odbc_within(T_ODBC_LATER_MS);

    switch (left) {
    case ROWLOCK_TX_KEPT:
        t_ok(run_one(link, ROWLOCK_INSIDE, &other));
        t_ok(run_one(link, ROWLOCK_COMMIT, NULL));
        t_contains(read_log(), "RUN COMMIT");
        break;
    case ROWLOCK_TX_GONE:
        t_fails(run_one(link, ROWLOCK_COMMIT, NULL), EROLLEDBACK);
        t_left(GONE);
        t_lacks(read_log(), "RUN COMMIT");
        t_ok(run_one(link, ROWLOCK_BEGIN | ROWLOCK_COMMIT, &other));
        break;
    case ROWLOCK_TX_DEAD:
        t_fails(run_one(link, ROWLOCK_COMMIT, NULL), ECONN);
        t_left(DEAD);
        break;
    default:
        t_fails(run_one(link, ROWLOCK_COMMIT, NULL), EABORTED);
        t_lacks(read_log(), "RUN COMMIT");
        t_ok(t_odbc->rollback(link, &budget, &t_error));
        t_contains(read_log(), "RUN ROLLBACK");
        t_ok(run_one(link, ROWLOCK_BEGIN | ROWLOCK_COMMIT, &other));
    }
}

TEST(every_vendors_error_gets_its_code_and_leaves_the_right_transaction)
{
    for (size_t i = 0; i < sizeof failures / sizeof *failures; i++) {
        struct rowlock_link *link;
        char line[600];

        snprintf(line, sizeof line, "UPDATE work|%s|%d|%s\n", failures[i].sqlstate,
                 failures[i].native, failures[i].text);
        link = open_product(failures[i].product, line);
        t_ok(run_one(link, ROWLOCK_BEGIN, &other));
        /* a refused login inside a session is a lost session */
        t_code_is(__FILE__, __LINE__, line, run_one(link, ROWLOCK_INSIDE, &work),
                  failures[i].left == ROWLOCK_TX_DEAD ? ROWLOCK_ECONN : failures[i].code);
        t_text(t_error.sqlstate, failures[i].sqlstate);
        t_int(t_error.native, failures[i].native);
        t_int(strncmp(t_error.text, failures[i].text, strlen(failures[i].text)), 0);
        t_int(t_error.transaction, failures[i].left);
        commit_after(link, failures[i].left);
        t_odbc_close(link);
    }
}

TEST(a_commit_that_loses_the_connection_is_unknown)
{
    struct rowlock_link *link =
        open_product("Oracle", "COMMIT|HY000|3113|ORA-03113: end-of-file\n");

    t_ok(run_one(link, ROWLOCK_BEGIN, &work));
    t_fails(run_one(link, ROWLOCK_COMMIT, NULL), EUNKNOWN);
    t_left(DEAD);
    t_odbc_close(link);
}

TEST(a_refused_login_is_refused_and_not_awaited)
{
    static const struct {
        const char *product, *line;
        int code;
    } logins[] = {
        {"Oracle", "CONNECT|28000|1017|ORA-01017: invalid username/password hunter2\n",
         ROWLOCK_EDENIED},
        {"Microsoft SQL Server", "CONNECT|28000|18456|Login failed; UID=sa;PWD=hunter2\n",
         ROWLOCK_EDENIED},
        {"DB2/LINUXX8664", "CONNECT|08001|-30082|SQL30082N with hunter2\n", ROWLOCK_EDENIED},
        {"Oracle", "CONNECT|HY000|12541|ORA-12541: TNS:no listener, hunter2\n", ROWLOCK_ECONN},
        {"Microsoft SQL Server", "CONNECT|HYT00|0|Login timeout expired hunter2\n", ROWLOCK_ECONN},
        {"DB2/LINUXX8664", "CONNECT|08001|-30081|SQL30081N hunter2\n", ROWLOCK_ECONN},
    };

    for (size_t i = 0; i < sizeof logins / sizeof *logins; i++) {
        struct rowlock_link *link = NULL;

        write_script(logins[i].line);
        t_code_is(__FILE__, __LINE__, logins[i].line,
                  try_open(logins[i].product, ";Pwd=hunter2", &link), logins[i].code);
        t_lacks(t_error.text, "hunter2");
        t_contains(t_error.text, "***");
    }
}

TEST(a_server_without_a_free_session_is_asked_again)
{
    struct rowlock_options options = {.connect_ms = 2000};
    struct rowlock_connection *connection = NULL;
    char url[1500];

    write_script("CONNECT|HY000|20|ORA-00020: maximum number of processes exceeded\n");
    snprintf(url, sizeof url, "odbc:Driver=%s;Product=Oracle;Script=%s;Log=%s", file_of("Oracle"),
             script, logged);
    t_fails(rowlock_open(url, &options, &connection, &t_error), ECONN);
    t_true(rowlock_is_full(&t_error));
    t_contains(read_log(), "\nCONNECT ");
}

/* ---- sessions, types ------------------------------------------------------------------------- */

TEST(a_session_is_set_up_before_manual_commit)
{
    struct rowlock_link *link = open_product("Microsoft SQL Server", "");
    const char *log = read_log();

    t_contains(log, "RUN SET XACT_ABORT OFF\n");
    t_contains(log, "RUN SET LOCK_TIMEOUT -1\n");
    t_contains(log, "SET 108=2\n"); /* SQL_ATTR_TXN_ISOLATION, SQL_TXN_READ_COMMITTED */
    t_contains(strstr(log, "LOCK_TIMEOUT"), "SET 102=0\n"); /* SQL_ATTR_AUTOCOMMIT, off */
    t_odbc_close(link);
}

static int wrap_handle_of(struct rowlock_link *link, struct rowlock_link **out)
{
    struct rowlock_source source = {.handle = t_odbc->handle(link), .interrupt_fd = -1};
    struct rowlock_budget budget = t_odbc_within(T_ODBC_LATER_MS);
    const struct rowlock_dialect *dialect;

    return t_odbc->open(&source, &budget, out, &dialect, &t_error);
}

TEST(a_handle_that_does_not_tell_its_autocommit_mode_is_refused)
{
    struct rowlock_link *link = open_product("DB2/LINUXX8664", ""), *wrapped = NULL;

    t_ok(wrap_handle_of(link, &wrapped));
    t_int(t_odbc->state(wrapped), ROWLOCK_STATE_IDLE);
    t_odbc->close(wrapped);
    t_odbc_close(link);

    t_ok(try_open("DB2/LINUXX8664", ";Mode=unknown", &link));
    t_fails(wrap_handle_of(link, &wrapped), EINVAL);
    t_contains(t_error.text, "SQL_ATTR_AUTOCOMMIT");
    t_contains(t_error.text, "rowlock_open");
    t_odbc_close(link);
}

static void run_typed(struct rowlock_link *link)
{
    struct rowlock_value values[] = {rowlock__int_value(-9007199254740993),
                                     rowlock__text_value("plain"),
                                     rowlock__text_value("\xf0\x9f\x94\x92!"),
                                     {.type = ROWLOCK_NULL},
                                     {.type = ROWLOCK_NULL}};
    struct rowlock_call call = {.statement = &typed, .values = values};

    t_ok(t_odbc_run(link, ROWLOCK_INSIDE, &call, 1));
    t_int(call.affected, 1);
}

/* The numbers are those of sqlext.h: 1 SQL_C_CHAR, -25 SQL_C_SBIGINT, -8 SQL_C_WCHAR;
   -5 SQL_BIGINT, 3 SQL_DECIMAL, 12 SQL_VARCHAR, -9 SQL_WVARCHAR. */
TEST(parameters_have_the_types_that_the_product_knows)
{
    struct rowlock_link *link = open_product("Oracle", "");
    const char *log;

    run_typed(link);
    log = read_log();
    t_contains(log, "PARAMETER 1 3 -9007199254740993\n");
    t_contains(log, "PARAMETER 1 12 plain\n");
    t_contains(log, "PARAMETER -8 -9 3 units, the first d83d\n");
    t_contains(log, "PARAMETER 1 3 NULL\n");
    t_contains(log, "PARAMETER 1 12 NULL\n");
    t_odbc_close(link);

    link = open_product("Microsoft SQL Server", "");
    run_typed(link);
    log = read_log();
    t_contains(log, "PARAMETER -25 -5 -9007199254740993\n");
    t_contains(log, "PARAMETER -8 -9 3 units, the first d83d\n");
    t_contains(log, "PARAMETER -25 -5 NULL\n");
    t_odbc_close(link);
}

TEST(columns_of_any_type_are_read)
{
    struct rowlock_link *link = open_product("Oracle", "SELECT|ROW|n9007199254740993|wlocked *|-\n"
                                                       "SELECT|ROW|i-1|c|w\n");
    struct t_odbc_row row = {0};
    struct rowlock_call call = {.statement = &look, .row = t_odbc_keep_row, .data = &row};

    t_ok(t_odbc_run(link, ROWLOCK_INSIDE, &call, 1));
    t_int(row.rows, 1);
    t_true(row.n == 9007199254740993);
    t_text(row.t, "locked \xf0\x9f\x94\x92");
    t_ok(t_odbc_run(link, ROWLOCK_INSIDE, &call, 1));
    t_int(row.n, -1);
    t_text(row.t, "");
    free(row.t);
    t_odbc_close(link);
}

TEST(a_long_wide_column_comes_in_pieces)
{
    char line[560] = "SELECT|ROW|i1|w";
    struct t_odbc_row row = {0};
    struct rowlock_call call = {.statement = &look, .row = t_odbc_keep_row, .data = &row};
    struct rowlock_link *link;

    for (int i = 0; i < 500; i++)
        strcat(line, i % 7 ? "a" : "*");
    strcat(line, "|i2\n");
    link = open_product("Microsoft SQL Server", line);
    t_ok(t_odbc_run(link, ROWLOCK_INSIDE, &call, 1));
    t_int((long long)row.length, 500 + 72 * 3);
    t_int(strncmp(row.t,
                  "\xf0\x9f\x94\x92"
                  "aaaaaa\xf0\x9f\x94\x92",
                  14),
          0);
    t_int(row.id, 2);
    free(row.t);
    t_odbc_close(link);
}

static int count_prepared(void)
{
    int n = 0;

    for (const char *at = read_log(); (at = strstr(at, "PREPARE UPDATE work")); at++)
        n++;
    return n;
}

TEST(a_statement_is_prepared_once_if_the_driver_keeps_it)
{
    struct rowlock_link *link = open_product("DB2/LINUXX8664", "");

    for (int i = 0; i < 3; i++)
        t_ok(run_one(link, ROWLOCK_INSIDE, &work));
    t_int(count_prepared(), 1);
    t_odbc_close(link);

    write_script("");
    t_ok(try_open("DB2/LINUXX8664", ";Ends=0", &link));
    for (int i = 0; i < 3; i++)
        t_ok(run_one(link, ROWLOCK_INSIDE, &work));
    t_int(count_prepared(), 3);
    t_odbc_close(link);
}

TEST(the_deadline_cancels_a_vendors_statement)
{
    struct rowlock_link *link = open_product("DB2/LINUXX8664", "UPDATE work|HANG\n");
    struct rowlock_call call = {.statement = &work};
    struct rowlock_budget budget = t_odbc_within(20);
    struct rowlock_outcome outcome;

    budget.give_up_ms = budget.deadline_ms + T_ODBC_LATER_MS;
    t_fails(t_odbc_run_within(link, ROWLOCK_BEGIN, &call, 1, &budget, &outcome), ETIMEDOUT);
    t_text(t_error.sqlstate, "HY008");
    t_left(ABORTED);
    t_odbc_close(link);
}
