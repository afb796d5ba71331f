/* SPDX-License-Identifier: Apache-2.0 */
/* rowlock on MariaDB, compared with START TRANSACTION, SELECT ... FOR UPDATE, COMMIT by hand. */
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
    MYSQL_STMT *lock;
    int worker;
};

static void run(MYSQL *mysql, const char *text)
{
    if (mysql_query(mysql, text))
        bench_die("%s: %s", text, mysql_error(mysql));
}

/* The hand-written code locks the same rows as rowlock, whose warm-up has created them. */
static void *open_session(const char *url, int worker)
{
    static const char text[] = "SELECT name FROM rowlock_name WHERE name = ? FOR UPDATE";
    struct session *session = calloc(1, sizeof *session);

    session->worker = worker;
    session->connection = bench_connect(url);
    session->mysql = rowlock_mariadb_handle(session->connection);
    session->lock = mysql_stmt_init(session->mysql);
    if (mysql_stmt_prepare(session->lock, text, sizeof text - 1))
        bench_die("%s", mysql_stmt_error(session->lock));
    return session;
}

static void lock_and_commit(void *data, unsigned long i)
{
    struct session *session = data;
    char name[40];

    snprintf(name, sizeof name, "bench:%d:%lu", session->worker, i % 50);
    bench_lock_and_commit(session->connection, name);
}

static void hand(void *data, unsigned long i)
{
    struct session *session = data;
    char name[40];
    unsigned long length;
    MYSQL_BIND bind;

    length = (unsigned long)snprintf(name, sizeof name, "bench:%d:%lu", session->worker, i % 50);
    memset(&bind, 0, sizeof bind);
    bind.buffer_type = MYSQL_TYPE_BLOB;
    bind.buffer = name;
    bind.buffer_length = length;
    bind.length = &length;
    run(session->mysql, "START TRANSACTION");
    if (mysql_stmt_bind_param(session->lock, &bind) || mysql_stmt_execute(session->lock) ||
        mysql_stmt_store_result(session->lock))
        bench_die("%s", mysql_stmt_error(session->lock));
    mysql_stmt_free_result(session->lock);
    run(session->mysql, "COMMIT");
}

static void close_session(void *data)
{
    struct session *session = data;

    mysql_stmt_close(session->lock);
    rowlock_close(session->connection);
    free(session);
}

static const struct comparison comparison = {
    "MariaDB: own connection / START, SELECT FOR UPDATE, COMMIT",
    open_session,
    lock_and_commit,
    hand,
    close_session,
    0.9,
};

int main(int argc, char **argv)
{
    int rounds = argc > 2 ? atoi(argv[2]) : 41;

    if (argc < 2)
        bench_die("usage: mariadb URL [ROUNDS]");
    bench_headline();
    bench_compare(&comparison, argv[1], 1, rounds, 100);
    bench_compare(&comparison, argv[1], 8, rounds, 100);
    return 0;
}
