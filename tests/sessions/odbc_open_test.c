/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opening sessions by ODBC: descriptors, secrets, refusals, the caller's own HDBC.
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

#include "driver/odbc/library.h"
#include "lib/grants.h"
#include "lib/odbc.h"
#include "lib/proxy.h"
#include "lib/test.h"
#include "lib/transport.h"

#define O rowlock__odbc

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
    struct rowlock_link *link = t_odbc_open();

    t_int(open_after_exec(), before);
    t_true(fcntl(t_odbc->socket(link), F_GETFD) & FD_CLOEXEC);
    t_odbc_close(link);
}

static void is_refused(const char *more, const char *part)
{
    struct rowlock_link *link = NULL;

    t_fails(t_odbc_open_at(t_odbc_url(t_port(), more), NULL, &link), EINVAL);
    t_contains(t_error.text, part);
}

TEST(an_option_that_would_break_transactions_is_refused)
{
    if (t_is_postgresql()) {
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
    struct rowlock_link *link = NULL;
    const char *url = t_say(
        "odbc:Driver=%s;Server=127.0.0.1;Port=%d;Database=test;UID=nobody_here;PWD={hun;ter2}",
        t_odbc_driver(t_is_postgresql() ? "psqlodbcw.so" : "libmaodbc.so"), t_port());

    t_fails(t_odbc_open_at(url, NULL, &link), EDENIED);
    t_lacks(t_error.text, "hun;ter2");
    t_contains(t_error.text, "nobody_here");
}

static const char *password_file(const char *text, mode_t mode)
{
    const char *path = t_say("%s/password", getenv("ROWLOCK_TEST_TEMP"));
    FILE *file = fopen(path, "w");

    t_true(file != NULL);
    fputs(text, file);
    fclose(file);
    t_int(chmod(path, mode), 0);
    return path;
}

TEST(user_and_password_come_from_the_environment)
{
    struct rowlock_link *link = NULL;
    const char *database = strrchr(t_url(), '/') + 1;
    const char *url = t_say("odbc:Driver=%s;Server=127.0.0.1;Port=%d;Database=%s",
                            t_odbc_driver(t_is_postgresql() ? "psqlodbcw.so" : "libmaodbc.so"),
                            t_port(), database);

    setenv("ROWLOCK_USER", t_is_postgresql() ? "tester" : "rowlock", 1);
    setenv("ROWLOCK_PASSWORD_FILE", password_file("secret\n", 0600), 1);
    t_ok(t_odbc_open_at(url, NULL, &link));
    t_odbc_close(link);
    link = NULL;
    if (!t_is_postgresql()) { /* which trusts everyone here */
        setenv("ROWLOCK_PASSWORD_FILE", password_file("geheim;}\n", 0600), 1);
        t_fails(t_odbc_open_at(url, NULL, &link), EDENIED);
        t_lacks(t_error.text, "geheim");
    }
    setenv("ROWLOCK_PASSWORD_FILE", password_file("secret\n", 0644), 1);
    t_fails(t_odbc_open_at(url, NULL, &link), EDENIED);
    t_contains(t_error.text, "chmod 600");
    unsetenv("ROWLOCK_USER");
    unsetenv("ROWLOCK_PASSWORD_FILE");
}

TEST(a_missing_driver_is_named_with_its_package)
{
    struct rowlock_link *link = NULL;

    t_fails(t_odbc_open_at("odbc:Driver=/nowhere/psqlodbcw.so;Server=h;PWD=secret", NULL, &link),
            EDRIVER);
    t_contains(t_error.text, "odbc-postgresql");
    t_fails(t_odbc_open_at("odbc:Driver={ODBC Driver 18 for SQL Server};Server=h", NULL, &link),
            EDRIVER);
    t_contains(t_error.text, "msodbcsql18");
    t_fails(t_odbc_open_at("odbc:Driver=/nowhere/strange.so", NULL, &link), EDRIVER);
    t_contains(t_error.text, "/nowhere/strange.so");
    t_fails(t_odbc_open_at("odbc:DSN=nowhere;PWD=secret", NULL, &link), EDRIVER);
    t_contains(t_error.text, "data source 'nowhere'");
    t_fails(t_odbc_open_at("odbc:Server=h", NULL, &link), EINVAL);
    t_contains(t_error.text, "names no ODBC driver");
}

/* The string does not tell the driver, which then lacks its options at first. */
TEST(a_data_source_gets_the_options_too)
{
    struct rowlock_value values[] = {rowlock__int_value(1), rowlock__int_value(1),
                                     rowlock__text_value("again")};
    struct rowlock_call duplicate = {.statement = &t_odbc_insert, .values = values};
    struct rowlock_link *link = NULL;
    const char *path = t_say("%s/odbc.ini", getenv("ROWLOCK_TEST_TEMP"));
    FILE *file = fopen(path, "w");
    int64_t affected;
    void *handle;

    t_odbc_table();
    t_true(file != NULL);
    fprintf(file, "[farm]\nDriver=%s\n%s=127.0.0.1\nPort=%d\nDatabase=%s\n%s",
            t_odbc_driver(t_is_postgresql() ? "psqlodbcw.so" : "libmaodbc.so"),
            t_is_postgresql() ? "Servername" : "Server", t_port(), strrchr(t_url(), '/') + 1,
            t_is_postgresql() ? "Protocol=7.4-0\n" : "Charset=latin1\n");
    fclose(file);
    setenv("ODBCINI", path, 1);
    t_ok(t_odbc_open_at(t_is_postgresql() ? "odbc:DSN=farm;UID=tester"
                                          : "odbc:DSN=farm;UID=rowlock;PWD=secret",
                        NULL, &link));
    unsetenv("ODBCINI");
    t_ok(t_odbc_set_n(link, ROWLOCK_BEGIN, 1, 10, &affected)); /* the value that it has already */
    t_int(affected, 1);
    t_fails(t_odbc_run(link, ROWLOCK_INSIDE, &duplicate, 1), EDB);
    t_ok(t_odbc_set_n(link, ROWLOCK_INSIDE, 1, 11, NULL));
    t_ok(t_odbc_run(link, ROWLOCK_COMMIT, NULL, 0));
    t_odbc_n_is(1, "11");
    values[0] = rowlock__int_value(50);
    values[2] = rowlock__text_value("漢字 🔒");
    t_ok(t_odbc_run(link, ROWLOCK_INSIDE, &duplicate, 1)); /* not a duplicate any more */
    handle = t_odbc_native(t_is_postgresql() ? NULL : "SET NAMES utf8mb4");
    t_text(t_native_sql(handle, "SELECT t FROM odbc_test WHERE id = 50"), "漢字 🔒");
    t_engine()->close(handle);
    t_odbc_close(link);
}

/* ---- the caller's own HDBC ----------------------------------------------------------------- */

struct handles {
    SQLHENV env;
    SQLHDBC dbc;
};

static struct handles connect_by_hand(int port)
{
    struct handles own = {SQL_NULL_HENV, SQL_NULL_HDBC};
    const char *options = t_is_postgresql() ? ";Protocol=7.4-2" : ";Option=2;Charset=utf8mb4";

    t_ok(rowlock__load(&rowlock__odbc_client, &t_error));
    O.SQLAllocHandle(SQL_HANDLE_ENV, SQL_NULL_HANDLE, &own.env);
    O.SQLSetEnvAttr(own.env, SQL_ATTR_ODBC_VERSION, (SQLPOINTER)SQL_OV_ODBC3, 0);
    O.SQLAllocHandle(SQL_HANDLE_DBC, own.env, &own.dbc);
    t_true(SQL_SUCCEEDED(O.SQLDriverConnect(own.dbc, NULL,
                                            (SQLCHAR *)t_odbc_url(port, options) + strlen("odbc:"),
                                            SQL_NTS, NULL, 0, NULL, SQL_DRIVER_NOPROMPT)));
    return own;
}

static void disconnect(struct handles *own)
{
    O.SQLDisconnect(own->dbc);
    O.SQLFreeHandle(SQL_HANDLE_DBC, own->dbc);
    O.SQLFreeHandle(SQL_HANDLE_ENV, own->env);
}

static struct rowlock_link *adopt(void *handle)
{
    struct rowlock_source source = {.handle = handle, .interrupt_fd = -1};
    struct rowlock_budget budget = t_odbc_within(T_ODBC_LATER_MS);
    const struct rowlock_dialect *found;
    struct rowlock_link *link = NULL;

    t_ok(t_odbc->open(&source, &budget, &link, &found, &t_error));
    t_true(t_odbc->handle(link) == handle);
    return link;
}

static void by_hand(struct handles *own, const char *text)
{
    SQLHSTMT stmt;

    O.SQLAllocHandle(SQL_HANDLE_STMT, own->dbc, &stmt);
    t_true(SQL_SUCCEEDED(O.SQLExecDirect(stmt, (SQLCHAR *)text, SQL_NTS)));
    O.SQLFreeHandle(SQL_HANDLE_STMT, stmt);
}

static bool is_autocommit(struct handles *own)
{
    SQLUINTEGER mode = 0;

    O.SQLGetConnectAttr(own->dbc, SQL_ATTR_AUTOCOMMIT, &mode, sizeof mode, NULL);
    return mode == SQL_AUTOCOMMIT_ON;
}

TEST(adopting_a_handle_sends_nothing)
{
    struct proxy *proxy = proxy_start(t_port(), t_is_postgresql());
    struct handles own = connect_by_hand(proxy_port(proxy));
    long before = proxy_trips(proxy);
    struct rowlock_link *link = adopt(own.dbc);

    t_int(t_odbc->state(link), ROWLOCK_STATE_IDLE);
    t_odbc->close(link);
    t_int(proxy_trips(proxy), before);
    by_hand(&own, "SELECT 1"); /* it is still connected */
    t_true(proxy_trips(proxy) > before);
    disconnect(&own);
    proxy_stop(proxy);
}

TEST(a_handle_in_autocommit_is_so_again_after_our_transaction)
{
    struct rowlock_budget budget = t_odbc_within(T_ODBC_LATER_MS);
    struct rowlock_link *link;
    struct handles own;

    t_odbc_table();
    own = connect_by_hand(t_port());
    link = adopt(own.dbc);
    t_ok(t_odbc_set_n(link, ROWLOCK_INSIDE, 1, 11, NULL));
    t_odbc_n_is(1, "11");
    for (int i = 0; i < 2; i++) {
        t_ok(t_odbc_set_n(link, ROWLOCK_BEGIN, 1, 12 + i, NULL));
        t_int(t_odbc->state(link), ROWLOCK_STATE_OPEN);
        t_true(!is_autocommit(&own));
        by_hand(&own, "UPDATE odbc_test SET n = n + 100 WHERE id = 2"); /* in the transaction */
        if (i == 0)
            t_ok(t_odbc_run(link, ROWLOCK_COMMIT, NULL, 0));
        else
            t_ok(t_odbc->rollback(link, &budget, &t_error));
        t_int(t_odbc->state(link), ROWLOCK_STATE_IDLE);
        t_true(is_autocommit(&own));
        t_odbc_n_is(1, "12");
        t_odbc_n_is(2, "120");
    }
    t_odbc->close(link);
    disconnect(&own);
}

TEST(a_handle_in_manual_commit_is_in_its_callers_transaction)
{
    struct rowlock_link *link;
    struct handles own;

    t_odbc_table();
    own = connect_by_hand(t_port());
    O.SQLSetConnectAttr(own.dbc, SQL_ATTR_AUTOCOMMIT, (SQLPOINTER)SQL_AUTOCOMMIT_OFF, 0);
    link = adopt(own.dbc);
    t_int(t_odbc->state(link), ROWLOCK_STATE_OPEN);
    t_ok(t_odbc_set_n(link, ROWLOCK_INSIDE, 1, 11, NULL));
    t_odbc_n_is(1, "10");
    t_true(SQL_SUCCEEDED(O.SQLEndTran(SQL_HANDLE_DBC, own.dbc, SQL_COMMIT)));
    t_odbc_n_is(1, "11");
    t_ok(t_odbc_set_n(link, ROWLOCK_INSIDE, 1, 12, NULL));
    t_true(SQL_SUCCEEDED(O.SQLEndTran(SQL_HANDLE_DBC, own.dbc, SQL_ROLLBACK)));
    t_odbc_n_is(1, "11");
    t_ok(t_odbc_set_n(link, ROWLOCK_INSIDE, 1, 13, NULL));
    t_ok(t_odbc_run(link, ROWLOCK_COMMIT, NULL, 0));
    t_odbc_n_is(1, "13");
    t_true(!is_autocommit(&own));
    t_odbc->close(link);
    disconnect(&own);
}

TEST(a_handle_that_is_not_connected_is_refused)
{
    struct handles own = connect_by_hand(t_port());
    struct rowlock_source source = {.handle = own.dbc, .interrupt_fd = -1};
    struct rowlock_budget budget = t_odbc_within(T_ODBC_LATER_MS);
    const struct rowlock_dialect *found;
    struct rowlock_link *link = NULL;

    O.SQLDisconnect(own.dbc);
    t_fails(t_odbc->open(&source, &budget, &link, &found, &t_error), EINVAL);
    t_contains(t_error.text, "not connected");
    t_true(link == NULL);
    disconnect(&own);
}
