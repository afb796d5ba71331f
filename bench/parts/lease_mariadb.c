/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Acquiring and releasing a lease on MariaDB, compared with a conditional UPDATE of an existing row
 * and the UPDATE that empties it, both prepared.
 */
#include <mysql.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rate.h"
#include "rowlock.h"
#include "rowlock/mariadb.h"

struct session {
    struct rowlock_connection *connection;
    MYSQL *mysql; /* the same session */
    MYSQL_STMT *acquire, *release;
    int worker;
};

static void run(MYSQL *mysql, const char *text)
{
    if (mysql_query(mysql, text))
        bench_die("%s: %s", text, mysql_error(mysql));
}

static MYSQL_STMT *prepare(MYSQL *mysql, const char *text)
{
    MYSQL_STMT *statement = mysql_stmt_init(mysql);

    if (mysql_stmt_prepare(statement, text, strlen(text)))
        bench_die("%s", mysql_stmt_error(statement));
    return statement;
}

static void *open_session(const char *url, int worker)
{
    struct session *session = calloc(1, sizeof *session);

    session->worker = worker;
    session->connection = bench_connect(url);
    session->mysql = rowlock_mariadb_handle(session->connection);
    session->acquire =
        prepare(session->mysql, "UPDATE bench_lease SET owner = 'me', expires = utc_timestamp(6) + "
                                "INTERVAL 30 SECOND WHERE name = ? AND (owner IS NULL OR expires "
                                "<= utc_timestamp(6))");
    session->release = prepare(
        session->mysql, "UPDATE bench_lease SET owner = NULL WHERE name = ? AND owner = 'me'");
    return session;
}

static void close_session(void *data)
{
    struct session *session = data;

    mysql_stmt_close(session->acquire);
    mysql_stmt_close(session->release);
    rowlock_close(session->connection);
    free(session);
}

static void ours(void *data, unsigned long i)
{
    struct session *session = data;
    char name[40];

    snprintf(name, sizeof name, "bench:%d:%lu", session->worker, i % 50);
    bench_pair(session->connection, name);
}

static void update(MYSQL_STMT *statement, char *name)
{
    unsigned long length = strlen(name);
    MYSQL_BIND bind;

    memset(&bind, 0, sizeof bind);
    bind.buffer_type = MYSQL_TYPE_STRING;
    bind.buffer = name;
    bind.buffer_length = length;
    bind.length = &length;
    if (mysql_stmt_bind_param(statement, &bind) || mysql_stmt_execute(statement))
        bench_die("%s", mysql_stmt_error(statement));
    if (mysql_stmt_affected_rows(statement) != 1)
        bench_die("by hand: not one row");
}

static void by_hand(void *data, unsigned long i)
{
    struct session *session = data;
    char name[40];

    snprintf(name, sizeof name, "bench:%d:%lu", session->worker, i % 50);
    update(session->acquire, name);
    update(session->release, name);
}

static void create_table(const char *url)
{
    struct rowlock_connection *connection = bench_connect(url);
    MYSQL *mysql = rowlock_mariadb_handle(connection);
    char text[120];

    run(mysql, "DROP TABLE IF EXISTS bench_lease");
    run(mysql, "CREATE TABLE bench_lease (name VARBINARY(255) PRIMARY KEY, owner VARCHAR(40), "
               "expires DATETIME(6)) ENGINE = InnoDB");
    for (int worker = 0; worker < 32; worker++)
        for (int i = 0; i < 50; i++) {
            snprintf(text, sizeof text, "INSERT INTO bench_lease (name) VALUES ('bench:%d:%d')",
                     worker, i);
            run(mysql, text);
        }
    rowlock_close(connection);
}

int main(int argc, char **argv)
{
    static const struct comparison comparison = {"lease acquire+release / conditional UPDATE pair",
                                                 open_session,
                                                 ours,
                                                 by_hand,
                                                 close_session,
                                                 0.7};
    static const int workers[] = {1, 8, 32};
    int rounds = argc > 2 ? atoi(argv[2]) : 41;

    if (argc < 2)
        bench_die("usage: lease_mariadb URL [ROUNDS]");
    create_table(argv[1]);
    bench_headline();
    for (size_t i = 0; i < sizeof workers / sizeof *workers; i++)
        bench_compare(&comparison, argv[1], workers[i], rounds, 100);
    return 0;
}
