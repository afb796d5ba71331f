/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For tests/vendor/run. probe --tables URL TABLE... prints lines for a shell: the target in the
 * harness's table of facts (engine=, technique=), the server's version (version=), and the tables
 * of rowlock, and of those named, that the database has (tables=). --drop URL TABLE... drops those
 * named. --facts ENGINE TECHNIQUE prints the facts of a target.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "driver/odbc/library.h"
#include "lib/engine.h"
#include "rowlock/odbc.h"
#include "session/connection.h"

static const struct rowlock_options patient = {.connect_ms = 60000, .statement_ms = 60000};

/* ---- the server ------------------------------------------------------------------------------ */

static void take_text(void *data, const struct rowlock_value *columns, unsigned n)
{
    char *out = data;

    if (n > 0 && columns[0].type == ROWLOCK_INT)
        snprintf(out, 200, "%lld", (long long)columns[0].number);
    else if (n > 0 && columns[0].type == ROWLOCK_BYTES)
        snprintf(out, 200, "%.*s", (int)columns[0].length, columns[0].bytes);
}

/* The code of the statement, and its first value. A failure may abort the transaction. */
static int ask(struct rowlock_connection *connection, const char *text, char *out)
{
    static struct rowlock_statement statements[100]; /* drivers keep them prepared by address */
    static size_t next;
    struct rowlock_call call = {.statement = &statements[next], .row = take_text, .data = out};
    struct rowlock_budget budget = rowlock__budget(connection);
    struct rowlock_outcome outcome;
    struct rowlock_error error;
    int code;

    statements[next++] = (struct rowlock_statement){.name = "probe", .text = text};
    code = connection->driver->run(connection->link, ROWLOCK_BEGIN, &call, 1, &budget, &outcome,
                                   &error);
    connection->driver->rollback(connection->link, &budget, NULL);
    return code;
}

static void odbc_info(SQLHDBC dbc, SQLUSMALLINT which, char *out, size_t size)
{
    SQLSMALLINT length;

    *out = '\0';
    rowlock__odbc.SQLGetInfo(dbc, which, out, (SQLSMALLINT)size, &length);
}

static void print_odbc_version(SQLHDBC dbc)
{
    char product[100], version[100], driver[100], driver_version[100];

    odbc_info(dbc, SQL_DBMS_NAME, product, sizeof product);
    odbc_info(dbc, SQL_DBMS_VER, version, sizeof version);
    odbc_info(dbc, SQL_DRIVER_NAME, driver, sizeof driver);
    odbc_info(dbc, SQL_DRIVER_VER, driver_version, sizeof driver_version);
    printf("version=%s %s, by %s %s\n", product, version, driver, driver_version);
}

/* An engine has one of them at most. */
static void print_version(struct rowlock_connection *connection)
{
    static const char *const queries[] = {
        "SELECT version()",
        "SELECT H2VERSION()",
        "SELECT character_value FROM information_schema.sql_implementation_info WHERE "
        "implementation_info_name = 'DBMS VERSION'",
        "SELECT banner FROM v$version WHERE ROWNUM = 1",
        "SELECT service_level FROM sysibmadm.env_inst_info",
        "SELECT @@VERSION",
        "SELECT SYSCS_UTIL.SYSCS_GET_DATABASE_PROPERTY('DataDictionaryVersion') FROM "
        "SYSIBM.SYSDUMMY1",
    };
    char version[200] = "";

    for (size_t i = 0; !*version && i < sizeof queries / sizeof *queries; i++)
        ask(connection, queries[i], version);
    version[strcspn(version, "\r\n")] = '\0';
    printf("version=%s\n", *version ? version : "unknown");
}

static bool has_table(struct rowlock_connection *connection, const char *table)
{
    char *text = NULL, ignored[200];
    int code;

    if (asprintf(&text, "SELECT COUNT(*) FROM %s WHERE 1 = 0", table) < 0)
        abort();
    code = ask(connection, text, ignored); /* the text is for the program's life */
    /* It may belong to another role. MariaDB denies another database before it looks there. */
    return code == ROWLOCK_OK || (code == ROWLOCK_EDENIED && !strchr(table, '.'));
}

static void print_tables(struct rowlock_connection *connection, char *const *more)
{
    static char *const tables[] = {"rowlock_meta", "rowlock_name", "rowlock_lease", "rowlock.meta",
                                   NULL};

    printf("tables=");
    for (char *const *table = tables; *table; table++)
        if (has_table(connection, *table))
            printf("%s ", *table);
    for (; *more; more++)
        if (has_table(connection, *more))
            printf("%s ", *more);
    puts("");
}

static int drop(struct rowlock_connection *connection, char *const *tables)
{
    struct rowlock_budget budget = rowlock__budget(connection);
    struct rowlock_error error;
    char text[200];
    int failed = 0;

    for (; *tables; tables++) {
        if (!has_table(connection, *tables))
            continue;
        snprintf(text, sizeof text, "DROP TABLE %s;\n", *tables);
        if (connection->driver->script(connection->link, text, &budget, &error)) {
            fprintf(stderr, "%s: %s\n", *tables, error.text);
            failed = 1;
        }
    }
    return failed;
}

static bool is(const char *text, const char *other)
{
    return strcmp(text, other) == 0;
}

static void print_target(const struct rowlock_connection *connection)
{
    const char *dialect = connection->dialect->name, *engine = dialect, *technique = "row";

    if (connection->dialect->plain && !is(dialect, "tidb"))
        technique = connection->transport->name;
    else if (is(dialect, "postgresql"))
        technique = "native";
    else if (is(dialect, "yugabytedb"))
        engine = "postgresql", technique = dialect;
    else if (is(dialect, "mysql"))
        engine = "mariadb";
    printf("product=%s\nengine=%s\ntechnique=%s\n", dialect, engine, technique);
}

static struct rowlock_connection *open_url(const char *url)
{
    struct rowlock_connection *connection = NULL;
    struct rowlock_error error;

    if (rowlock_open(url, &patient, &connection, &error)) {
        fprintf(stderr, "%s\n", error.text);
        exit(1);
    }
    return connection;
}

static void probe(struct rowlock_connection *connection, char *const *tables)
{
    SQLHDBC dbc = rowlock_odbc_handle(connection);

    print_target(connection);
    if (dbc)
        print_odbc_version(dbc);
    else
        print_version(connection);
    print_tables(connection, tables);
}

/* ---- facts ----------------------------------------------------------------------------------- */

static int print_facts(const char *engine, const char *technique)
{
    static const char *const shared[] = {"together", "exclude each other", "refused"};
    const struct facts *facts = t_find_facts(engine, technique);

    if (!facts)
        return 1;
    printf("shared locks: %s\n", shared[facts->shared]);
#define FACT(field) printf("%s: %s\n", #field, facts->field ? "yes" : "no")
    FACT(names_independent);
    FACT(neighbours_meet);
    FACT(server);
    FACT(first_come);
    FACT(writer_queues);
    FACT(busy_keeps_row);
    FACT(must_be_known);
    FACT(levels);
    FACT(begins_meet);
    FACT(an_error_aborts);
    FACT(ddl_commits);
    FACT(limit_ends_session);
    FACT(victim_keeps);
    FACT(commits_unseen);
    FACT(wraps);
    printf("deadlock: %s\n",
           facts->deadlock_code ? rowlock_error_name(facts->deadlock_code) : "impossible");
    return 0;
}

int main(int argc, char **argv)
{
    struct rowlock_connection *connection;
    int failed = 0;

    if (argc == 4 && is(argv[1], "--facts"))
        return print_facts(argv[2], argv[3]);
    if (argc < 3 || (!is(argv[1], "--tables") && !is(argv[1], "--drop"))) {
        fputs("usage: probe --tables|--drop URL [TABLE...] | probe --facts ENGINE TECHNIQUE\n",
              stderr);
        return 64;
    }
    connection = open_url(argv[2]);
    if (is(argv[1], "--drop"))
        failed = drop(connection, argv + 3);
    else
        probe(connection, argv + 3);
    rowlock_close(connection);
    return failed;
}
