/* SPDX-License-Identifier: Apache-2.0 */
/* Reaches MariaDB directly, without the library (struct engine in engine.h). */
#include <mysql.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "lib/engine.h"
#include "lib/test.h"
#include "rowlock/mariadb.h"

/* mariadb://USER[:PASSWORD]@HOST:PORT/DATABASE, as tests/run writes it, or mysql:// */
static void *open_session(const char *url)
{
    char user[64] = "", password[64] = "", host[64] = "", database[64] = "";
    unsigned port = 0;
    MYSQL *session;

    if (strncmp(url, "mysql", 5) == 0)
        url += strlen("mysql://");
    else
        url += strlen("mariadb://");
    if (sscanf(url, "%63[^:@]:%63[^@]@%63[^:]:%u/%63s", user, password, host, &port, database) !=
            5 &&
        sscanf(url, "%63[^:@]@%63[^:]:%u/%63s", user, host, &port, database) != 4)
        return NULL;
    session = mysql_init(NULL);
    if (session && mysql_real_connect(session, host, user, password, database, port, NULL, 0)) {
        mysql_set_character_set(session, "utf8mb4");
        return session;
    }
    fprintf(stderr, "%s\n", mysql_error(session));
    mysql_close(session);
    return NULL;
}

static void close_session(void *handle)
{
    mysql_close(handle);
}

static int wrap(void *handle, const struct rowlock_options *options,
                struct rowlock_connection **out, struct rowlock_error *error)
{
    return rowlock_mariadb_wrap(handle, options, out, error);
}

static void *handle_of(struct rowlock_connection *connection)
{
    return rowlock_mariadb_handle(connection);
}

static int sql(void *handle, const char *text, char *out, size_t size)
{
    int failed = mysql_query(handle, text);

    out[0] = '\0';
    while (!failed) {
        MYSQL_RES *result = mysql_store_result(handle);
        MYSQL_ROW row = result ? mysql_fetch_row(result) : NULL;

        if (!result && mysql_errno(handle))
            break;
        if (row && row[0] && out[0] == '\0')
            snprintf(out, size, "%s", row[0]);
        mysql_free_result(result);
        failed = mysql_next_result(handle);
        if (failed < 0)
            return 0;
    }
    snprintf(out, size, "%u %s", mysql_errno(handle), mysql_error(handle));
    return 1;
}

static int in_transaction(void *handle)
{
    unsigned status = 0;

    mariadb_get_infov(handle, MARIADB_CONNECTION_SERVER_STATUS, &status);
    return (status & SERVER_STATUS_IN_TRANS) != 0;
}

static long session_of(void *handle)
{
    return (long)mysql_thread_id(handle);
}

static int is_waiting(void *admin, long session)
{
    MYSQL_RES *result;
    MYSQL_ROW row;
    int waiting;

    if (t_is_mysql())
        return t_query_waiting(admin, session);
    if (mysql_query(admin, "SHOW ENGINE INNODB STATUS"))
        return 0;
    result = mysql_store_result(admin);
    row = result ? mysql_fetch_row(result) : NULL;
    waiting = row && t_innodb_waits(row[2], session);
    mysql_free_result(result);
    return waiting;
}

/* ---- step by step ---------------------------------------------------------------------------- */

static int send_text(void *handle, const char *text)
{
    return mysql_send_query(handle, text, strlen(text));
}

static void join(MYSQL_RES *result, char *out, size_t size)
{
    MYSQL_ROW row = mysql_fetch_row(result);
    size_t at = 0;

    out[0] = '\0';
    for (unsigned i = 0; i < mysql_num_fields(result) && at < size; i++)
        at += (size_t)snprintf(out + at, size - at, "%s%s", i ? "|" : "", row[i] ? row[i] : "");
}

static void receive(void *handle, char *out, size_t size, char *failed, size_t failed_size)
{
    int more = mysql_read_query_result(handle), found = 0;

    snprintf(out, size, "(none)");
    failed[0] = '\0';
    while (more == 0) {
        MYSQL_RES *result = mysql_store_result(handle);

        if (result && !found && mysql_num_rows(result) > 0) {
            join(result, out, size);
            found = 1;
        }
        mysql_free_result(result);
        more = mysql_next_result(handle);
    }
    if (more > 0) {
        snprintf(failed, failed_size, "error %u", mysql_errno(handle));
        snprintf(out, size, "%s", mysql_error(handle));
    }
}

static int has_answered(void *handle)
{
    struct pollfd fd = {(int)mysql_get_socket(handle), POLLIN, 0};

    return poll(&fd, 1, 0) > 0;
}

const struct engine t_engine_mariadb = {
    .name = "mariadb",
    .begin = {"SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED", "START TRANSACTION"},
    .begin_repeatable = {"SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ",
                         "START TRANSACTION"},
    .default_repeatable = "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ",
    .default_read_only = "SET SESSION TRANSACTION READ ONLY",
    /* in a comment what MySQL does not know */
    .settings = "SELECT concat_ws(' ', @@innodb_lock_wait_timeout, "
                "@@autocommit, @@sql_mode, @@time_zone, @@character_set_client, "
                "@@character_set_results, @@collation_connection, @@lock_wait_timeout, "
                "@@sql_safe_updates, @@wait_timeout "
                "/*M! , @@max_statement_time, @@tx_read_only, @@idle_transaction_timeout, "
                "@@idle_write_transaction_timeout */)",
    .now_ms = "TIMESTAMPDIFF(MICROSECOND, '1970-01-01', utc_timestamp(6)) DIV 1000",
    .meta = "rowlock_meta",
    .unreachable = "mariadb://rowlock:hunter2@127.0.0.1:1/test",
    .stranger = "mariadb://nobody_here:hunter2@127.0.0.1:%d/test",
    .silent = "mariadb://rowlock:hunter2@127.0.0.1:%d/test",
    .open = open_session,
    .close = close_session,
    .wrap = wrap,
    .handle = handle_of,
    .sql = sql,
    .in_transaction = in_transaction,
    .session = session_of,
    .is_waiting = is_waiting,
    /* MySQL's SHOW ENGINE INNODB STATUS omits a session that waits for a shared lock */
    .waiting = "SELECT count(*) FROM performance_schema.data_lock_waits w "
               "JOIN performance_schema.threads t ON t.thread_id = w.requesting_thread_id "
               "WHERE t.processlist_id = %ld",
    .kill = t_query_kill,
    T_MARIADB_KILLING,
    .send = send_text,
    .receive = receive,
    .has_answered = has_answered,
};

/* Its dialect is a plain one, and it has no table of InnoDB's waits. */
const struct engine t_engine_tidb = {
    .name = "tidb",
    .begin = {"SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED", "BEGIN PESSIMISTIC"},
    .begin_repeatable = {"SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ",
                         "BEGIN PESSIMISTIC"},
    .default_repeatable = "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ",
    .settings = "SELECT concat_ws(' ', @@autocommit, @@sql_mode, @@time_zone, "
                "@@character_set_client, @@character_set_results, @@collation_connection, "
                "@@sql_safe_updates, @@wait_timeout, @@tidb_txn_mode)",
    .now_ms = "CAST(UNIX_TIMESTAMP(SYSDATE(3)) * 1000 AS SIGNED)",
    .meta = "rowlock_meta",
    .unreachable = "mariadb://rowlock:hunter2@127.0.0.1:1/test",
    .stranger = "mariadb://nobody_here:hunter2@127.0.0.1:%d/test",
    .silent = "mariadb://rowlock:hunter2@127.0.0.1:%d/test",
    .open = open_session,
    .close = close_session,
    .wrap = wrap,
    .handle = handle_of,
    .sql = sql,
    .in_transaction = in_transaction,
    .session = session_of,
    .own_id = "SELECT connection_id()",
    .is_waiting = t_query_waiting,
    .waiting = "SELECT count(*) FROM information_schema.tidb_trx WHERE session_id = %ld "
               "AND state = 'LockWaiting'",
    .lockers = "SELECT count(*) FROM information_schema.tidb_trx WHERE mem_buffer_keys > 0 "
               "AND session_id <> connection_id()",
    .kill = t_query_kill,
    .killing = "KILL %ld",
    .existing = "SELECT count(*) FROM information_schema.processlist WHERE id = %ld",
    .numbered = "SELECT id FROM information_schema.processlist WHERE db = database() AND "
                "id <> connection_id() ORDER BY id LIMIT 1 OFFSET %zu",
};
