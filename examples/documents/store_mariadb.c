/* SPDX-License-Identifier: Apache-2.0 */
/*
 * MariaDB and MySQL: four round trips a document (begin and lock, read, write, COMMIT). DATETIME
 * has no zone, and its value is UTC; TIMESTAMP would end in 2038. Times travel as microseconds
 * since 1970.
 */
#include <errmsg.h>
#include <mysql.h>
#include <mysqld_error.h>
#include <string.h>

#include "store.h"

enum { READ, READ_EXACTLY, WRITE };

#define EPOCH "TIMESTAMP'1970-01-01 00:00:00'"
#define SELECT "SELECT TIMESTAMPDIFF(MICROSECOND, " EPOCH ", ts) FROM document WHERE id = ?"
#define TIME "TIMESTAMPADD(MICROSECOND, ?, " EPOCH ")"

static const char *const sql[] = {
    [READ] = SELECT,
    [READ_EXACTLY] = SELECT " AND ts = " TIME " AND body = ?",
    [WRITE] = "INSERT INTO document (id, ts, body) VALUES (?, " TIME ", ?)"
              " ON DUPLICATE KEY UPDATE ts = VALUES(ts), body = VALUES(body)",
};

static int fail_with(struct rowlock_error *error, const char *context, unsigned native,
                     const char *state, const char *message)
{
    int code = ROWLOCK_EDB;

    switch (native) {
    case CR_SERVER_GONE_ERROR:
    case CR_SERVER_LOST:
    case CR_CONNECTION_ERROR:
    case CR_CONN_HOST_ERROR:
    case ER_SERVER_SHUTDOWN:
    case ER_CONNECTION_KILLED:
        code = ROWLOCK_ECONN;
        break;
    case ER_LOCK_DEADLOCK:
    case ER_LOCK_WAIT_TIMEOUT:
    case ER_CHECKREAD: /* the row changed since the snapshot: MariaDB's snapshot isolation */
        code = ROWLOCK_EROLLEDBACK;
    }
    store_fail(error, code, context, message);
    error->native = (int)native;
    if (strlen(state) == 5)
        memcpy(error->sqlstate, state, 6);
    return code;
}

static int fail(MYSQL_STMT *statement, struct rowlock_error *error, const char *context)
{
    return fail_with(error, context, mysql_stmt_errno(statement), mysql_stmt_sqlstate(statement),
                     mysql_stmt_error(statement));
}

static int execute(struct store *store, const char *text, struct rowlock_error *error)
{
    MYSQL *handle = store->handle;

    if (mysql_query(handle, text) == 0)
        return ROWLOCK_OK;
    return fail_with(error, text, mysql_errno(handle), mysql_sqlstate(handle), mysql_error(handle));
}

static int prepare(struct store *store, struct rowlock_error *error)
{
    int code = execute(store, "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED", error);

    for (int i = READ; i <= WRITE && !code; i++) {
        MYSQL_STMT *statement = store->statements[i] = mysql_stmt_init(store->handle);

        if (!statement)
            code = store_fail(error, ROWLOCK_ENOMEM, "prepare", "out of memory");
        else if (mysql_stmt_prepare(statement, sql[i], strlen(sql[i])))
            code = fail(statement, error, "prepare");
    }
    return code;
}

static void close_store(struct store *store)
{
    for (int i = READ; i <= WRITE; i++)
        if (store->statements[i])
            mysql_stmt_close(store->statements[i]);
}

static MYSQL_BIND bytes(const char *text, size_t length)
{
    return (MYSQL_BIND){.buffer_type = MYSQL_TYPE_LONG_BLOB,
                        .buffer = (void *)text,
                        .buffer_length = (unsigned long)length};
}

static MYSQL_BIND number(int64_t *value)
{
    return (MYSQL_BIND){.buffer_type = MYSQL_TYPE_LONGLONG, .buffer = value};
}

/* A statement that has no second or third parameter ignores it. */
static int run(MYSQL_STMT *statement, const struct document *document)
{
    int64_t time = document->time;
    MYSQL_BIND parameters[] = {bytes(document->id, strlen(document->id)), number(&time),
                               bytes(document->body, document->length)};

    return mysql_stmt_bind_param(statement, parameters) || mysql_stmt_execute(statement);
}

static int read_version(struct store *store, const struct document *document, bool exactly,
                        struct version *version, struct rowlock_error *error)
{
    MYSQL_STMT *statement = store->statements[exactly ? READ_EXACTLY : READ];
    MYSQL_BIND column = number(&version->time);
    int fetched = 1;

    if (run(statement, document) == 0 && !mysql_stmt_bind_result(statement, &column) &&
        !mysql_stmt_store_result(statement))
        fetched = mysql_stmt_fetch(statement);
    version->registered = fetched == 0;
    if (fetched != 0 && fetched != MYSQL_NO_DATA)
        return fail(statement, error, "read");
    mysql_stmt_free_result(statement);
    return ROWLOCK_OK;
}

static int write_and_commit(struct store *store, const struct document *document,
                            struct rowlock_error *error)
{
    if (run(store->statements[WRITE], document))
        return fail(store->statements[WRITE], error, "write");
    return rowlock_commit(store->connection, error);
}

const struct engine engine_mariadb = {
    .create = "CREATE TABLE IF NOT EXISTS document ("
              " id VARBINARY(255) PRIMARY KEY, ts DATETIME(6) NOT NULL, body LONGBLOB NOT NULL)"
              " ENGINE = InnoDB",
    .begin = "START TRANSACTION",
    .execute = execute,
    .prepare = prepare,
    .close = close_store,
    .read = read_version,
    .write = write_and_commit,
};
