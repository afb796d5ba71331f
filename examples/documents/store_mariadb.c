/* SPDX-License-Identifier: Apache-2.0 */
/*
 * MariaDB and MySQL: four round trips a document (begin and lock, read, write, COMMIT). DATETIME
 * has no zone, and its value is UTC. TIMESTAMP would end in 2038.
 */
#include <errmsg.h>
#include <mysql.h>
#include <mysqld_error.h>
#include <stdlib.h>
#include <string.h>

#include "rowlock/mariadb.h"
#include "store.h"
#include "timestamp.h"

static const char sql_create[] = "CREATE TABLE IF NOT EXISTS document ("
                                 " id VARBINARY(255) PRIMARY KEY,"
                                 " ts DATETIME(6) NOT NULL,"
                                 " body LONGBLOB NOT NULL) ENGINE = InnoDB";
static const char sql_empty[] = "DELETE FROM document";
static const char sql_level[] = "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED";
static const char sql_begin[] = "START TRANSACTION";
static const char sql_read[] = "SELECT ts FROM document WHERE id = ?";
static const char sql_write[] = "INSERT INTO document (id, ts, body) VALUES (?, ?, ?)"
                                " ON DUPLICATE KEY UPDATE ts = VALUES(ts), body = VALUES(body)";
static const char sql_each[] = "SELECT id, ts, body FROM document ORDER BY id";

struct mariadb_store {
    struct store store;
    MYSQL *handle;
    MYSQL_STMT *read, *write;
    MYSQL_TIME version; /* the column of the read */
};

static int code_of(unsigned native)
{
    switch (native) {
    case CR_SERVER_GONE_ERROR:
    case CR_SERVER_LOST:
    case CR_CONNECTION_ERROR:
    case CR_CONN_HOST_ERROR:
    case ER_SERVER_SHUTDOWN:
    case ER_CONNECTION_KILLED:
        return ROWLOCK_ECONN;
    case ER_LOCK_DEADLOCK:
    case ER_LOCK_WAIT_TIMEOUT:
    case ER_CHECKREAD: /* the row changed since the snapshot: MariaDB's snapshot isolation */
        return ROWLOCK_EROLLEDBACK;
    default:
        return ROWLOCK_EDB;
    }
}

static int fail_with(struct rowlock_error *error, const char *context, unsigned native,
                     const char *state, const char *message)
{
    int code = store_fail(error, code_of(native), context, message);

    error->native = (int)native;
    if (strlen(state) == 5)
        memcpy(error->sqlstate, state, 6);
    return code;
}

static int fail(MYSQL *handle, struct rowlock_error *error, const char *context)
{
    return fail_with(error, context, mysql_errno(handle), mysql_sqlstate(handle),
                     mysql_error(handle));
}

static int fail_statement(MYSQL_STMT *statement, struct rowlock_error *error, const char *context)
{
    return fail_with(error, context, mysql_stmt_errno(statement), mysql_stmt_sqlstate(statement),
                     mysql_stmt_error(statement));
}

static int open_store(struct rowlock_connection *connection, struct store **out,
                      struct rowlock_error *error)
{
    struct mariadb_store *m = calloc(1, sizeof *m);

    if (!m)
        return store_fail(error, ROWLOCK_ENOMEM, "documents", "out of memory");
    m->store.engine = &engine_mariadb;
    m->store.connection = connection;
    m->handle = rowlock_mariadb_handle(connection);
    *out = &m->store;
    return ROWLOCK_OK;
}

static void close_store(struct store *store)
{
    struct mariadb_store *m = (struct mariadb_store *)store;

    if (m->read)
        mysql_stmt_close(m->read);
    if (m->write)
        mysql_stmt_close(m->write);
    free(m);
}

static int execute(struct store *store, const char *sql, struct rowlock_error *error,
                   const char *context)
{
    MYSQL *handle = ((struct mariadb_store *)store)->handle;

    return mysql_query(handle, sql) ? fail(handle, error, context) : ROWLOCK_OK;
}

static int create(struct store *store, struct rowlock_error *error)
{
    return execute(store, sql_create, error, "create table");
}

static int empty(struct store *store, struct rowlock_error *error)
{
    return execute(store, sql_empty, error, "empty table");
}

static int prepare_one(MYSQL *handle, const char *sql, MYSQL_STMT **out,
                       struct rowlock_error *error)
{
    *out = mysql_stmt_init(handle);
    if (!*out)
        return store_fail(error, ROWLOCK_ENOMEM, "prepare", "out of memory");
    if (mysql_stmt_prepare(*out, sql, strlen(sql)))
        return fail_statement(*out, error, "prepare");
    return ROWLOCK_OK;
}

static int prepare(struct store *store, struct rowlock_error *error)
{
    struct mariadb_store *m = (struct mariadb_store *)store;
    int code = execute(store, sql_level, error, "isolation level");

    if (!code)
        code = prepare_one(m->handle, sql_read, &m->read, error);
    if (!code)
        code = prepare_one(m->handle, sql_write, &m->write, error);
    return code;
}

static int begin(struct store *store, struct rowlock_error *error)
{
    return execute(store, sql_begin, error, "begin");
}

static MYSQL_BIND bind_bytes(const char *bytes, size_t length)
{
    return (MYSQL_BIND){.buffer_type = MYSQL_TYPE_LONG_BLOB,
                        .buffer = (void *)bytes,
                        .buffer_length = (unsigned long)length};
}

static MYSQL_BIND bind_time(MYSQL_TIME *time)
{
    return (MYSQL_BIND){
        .buffer_type = MYSQL_TYPE_DATETIME, .buffer = time, .buffer_length = sizeof *time};
}

static MYSQL_TIME to_wire(int64_t microseconds)
{
    struct timestamp_parts p = timestamp_split(microseconds);

    return (MYSQL_TIME){.year = (unsigned)p.year,
                        .month = (unsigned)p.month,
                        .day = (unsigned)p.day,
                        .hour = (unsigned)p.hour,
                        .minute = (unsigned)p.minute,
                        .second = (unsigned)p.second,
                        .second_part = (unsigned long)p.microsecond,
                        .time_type = MYSQL_TIMESTAMP_DATETIME};
}

static int64_t from_wire(const MYSQL_TIME *time)
{
    struct timestamp_parts p = {.year = (int)time->year,
                                .month = (int)time->month,
                                .day = (int)time->day,
                                .hour = (int)time->hour,
                                .minute = (int)time->minute,
                                .second = (int)time->second,
                                .microsecond = (int)time->second_part};

    return timestamp_join(&p);
}

static int read_version(struct store *store, const struct document *document,
                        struct version *version, struct rowlock_error *error)
{
    struct mariadb_store *m = (struct mariadb_store *)store;
    MYSQL_BIND parameters[] = {bind_bytes(document->id, document->id_length)};
    MYSQL_BIND columns[] = {bind_time(&m->version)};
    int fetched;

    if (mysql_stmt_bind_param(m->read, parameters) || mysql_stmt_execute(m->read) ||
        mysql_stmt_bind_result(m->read, columns) || mysql_stmt_store_result(m->read))
        return fail_statement(m->read, error, "read");
    fetched = mysql_stmt_fetch(m->read);
    version->registered = fetched == 0;
    version->time = version->registered ? from_wire(&m->version) : 0;
    mysql_stmt_free_result(m->read);
    if (fetched != 0 && fetched != MYSQL_NO_DATA)
        return fail_statement(m->read, error, "read");
    return ROWLOCK_OK;
}

static int write_and_commit(struct store *store, const struct document *document,
                            struct rowlock_error *error)
{
    struct mariadb_store *m = (struct mariadb_store *)store;
    MYSQL_TIME time = to_wire(document->time);
    MYSQL_BIND parameters[] = {bind_bytes(document->id, document->id_length), bind_time(&time),
                               bind_bytes(document->body, document->body_length)};

    if (mysql_stmt_bind_param(m->write, parameters) || mysql_stmt_execute(m->write))
        return fail_statement(m->write, error, "write");
    return rowlock_commit(store->connection, error);
}

/* Rows come one by one; only a body longer than any before makes the buffer grow. */
struct cursor {
    MYSQL_STMT *statement;
    char id[DOCUMENT_ID_MAX];
    unsigned long id_length, body_length;
    MYSQL_TIME time;
    char *body;
    size_t room;
};

static bool fetch_body(struct cursor *cursor)
{
    MYSQL_BIND column = bind_bytes(NULL, 0);

    if (cursor->body_length > cursor->room) {
        char *larger = realloc(cursor->body, cursor->body_length);

        if (!larger)
            return false;
        cursor->body = larger;
        cursor->room = cursor->body_length;
    }
    column.buffer = cursor->body;
    column.buffer_length = cursor->room;
    return cursor->body_length == 0 || !mysql_stmt_fetch_column(cursor->statement, &column, 2, 0);
}

static int fetch_all(struct cursor *cursor, store_row *row, void *data, struct rowlock_error *error)
{
    for (;;) {
        struct document document;
        int fetched = mysql_stmt_fetch(cursor->statement);

        if (fetched == MYSQL_NO_DATA)
            return ROWLOCK_OK;
        if (fetched == 1 || !fetch_body(cursor))
            return fail_statement(cursor->statement, error, "read all");
        store_document(&document, cursor->id, cursor->id_length, from_wire(&cursor->time),
                       cursor->body, cursor->body_length);
        row(data, &document);
    }
}

static int each(struct store *store, store_row *row, void *data, struct rowlock_error *error)
{
    struct mariadb_store *m = (struct mariadb_store *)store;
    struct cursor cursor = {0};
    MYSQL_BIND columns[] = {bind_bytes(cursor.id, sizeof cursor.id), bind_time(&cursor.time),
                            bind_bytes(NULL, 0)};
    int code = prepare_one(m->handle, sql_each, &cursor.statement, error);

    columns[0].length = &cursor.id_length;
    columns[2].length = &cursor.body_length;
    if (!code &&
        (mysql_stmt_execute(cursor.statement) || mysql_stmt_bind_result(cursor.statement, columns)))
        code = fail_statement(cursor.statement, error, "read all");
    if (!code)
        code = fetch_all(&cursor, row, data, error);
    free(cursor.body);
    if (cursor.statement)
        mysql_stmt_close(cursor.statement);
    return code;
}

const struct engine engine_mariadb = {
    .name = "mariadb",
    .open = open_store,
    .close = close_store,
    .create = create,
    .empty = empty,
    .prepare = prepare,
    .begin = begin,
    .read = read_version,
    .write = write_and_commit,
    .each = each,
};
