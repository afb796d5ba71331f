/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reaches databases through JDBC, without the library's locks (struct engine in engine.h).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/jdbc.h"
#include "lib/test.h"
#include "lib/transport.h"

static void *open_session(const char *url)
{
    struct rowlock_source source = {.url = url, .interrupt_fd = -1};

    t_java_runs = 1;
    return transport_open("jdbc", &source);
}

static void close_session(void *handle)
{
    transport_close(handle);
}

static int wrap(void *handle, const struct rowlock_options *options,
                struct rowlock_connection **out, struct rowlock_error *error)
{
    (void)handle;
    (void)options;
    (void)out;
    (void)error;
    t_not_here(WHY_WRAP);
}

#define COMMON                                                                                    \
    .open = open_session, .close = close_session, .wrap = wrap, .handle = transport_handle,       \
    .in_transaction = transport_in_transaction, .session = transport_session, .begin = {"BEGIN"}, \
    .meta = "rowlock_meta"

/* No statement of these servers ends a session that waits. */
static void cut(void *admin, long session)
{
    (void)admin;
    transport_cut(session);
}

static void cut_all(void *admin)
{
    transport_cut_others(admin);
}

/* ---- H2 -------------------------------------------------------------------------------------- */

static const struct engine h2 = {
    COMMON,
    .sql = transport_sql,
    .name = "h2",
    .now_ms = "(SELECT DATEDIFF(MILLISECOND, TIMESTAMP WITH TIME ZONE '1970-01-01 00:00:00+00', "
              "EXECUTING_STATEMENT_START) FROM INFORMATION_SCHEMA.SESSIONS WHERE SESSION_ID = "
              "SESSION_ID())",
    .unreachable = "jdbc:h2:tcp://127.0.0.1:1/mem:test;USER=sa;PASSWORD=hunter2",
    .silent = "jdbc:h2:tcp://127.0.0.1:%d/mem:test;USER=sa;PASSWORD=hunter2",
    .own_id = "SELECT SESSION_ID()",
    .is_waiting = t_query_waiting,
    .waiting = "SELECT COUNT(*) FROM INFORMATION_SCHEMA.SESSIONS WHERE SESSION_ID = %ld "
               "AND BLOCKER_ID IS NOT NULL",
    .sessions = "SELECT COUNT(*) FROM INFORMATION_SCHEMA.SESSIONS WHERE SESSION_ID <> SESSION_ID()",
    .waits = "SELECT COUNT(*) FROM INFORMATION_SCHEMA.SESSIONS WHERE BLOCKER_ID IS NOT NULL",
    .lockers = "SELECT COUNT(*) FROM INFORMATION_SCHEMA.SESSIONS WHERE CONTAINS_UNCOMMITTED",
    .kill = cut,
    .cut_all = cut_all,
};

/* ---- HSQLDB ---------------------------------------------------------------------------------- */

/* The server may forget a session that was cut off while it waited (docs/databases.md). CREATE
   TABLE would wait for its transaction without end. */
static void hsqldb_end_forgotten(void *admin)
{
    char answer[300];
    char text[60];
    long session = 0;

    while ((session = t_number(
                admin,
                "SELECT MIN(SESSION_ID) FROM INFORMATION_SCHEMA.SYSTEM_SESSIONS WHERE TRANSACTION "
                "AND CURRENT_STATEMENT <> '' AND SESSION_ID > %ld AND SESSION_ID <> SESSION_ID()",
                session)) > 0) {
        snprintf(text, sizeof text, "ALTER SESSION %ld END STATEMENT", session);
        transport_sql(admin, text, answer, sizeof answer);
    }
}

static const struct engine hsqldb = {
    COMMON,
    .sql = transport_sql,
    .name = "hsqldb",
    .now_ms = "CAST(UNIX_MILLIS(CURRENT_TIMESTAMP) AS BIGINT)",
    .one = "VALUES (1)",
    .unreachable = "jdbc:hsqldb:hsql://127.0.0.1:1/test;user=SA;password=hunter2",
    .silent = "jdbc:hsqldb:hsql://127.0.0.1:%d/test;user=SA;password=hunter2",
    .own_id = "CALL SESSION_ID()",
    .is_waiting = t_query_waiting,
    .waiting = "SELECT COUNT(*) FROM INFORMATION_SCHEMA.SYSTEM_SESSIONS WHERE SESSION_ID = %ld "
               "AND THIS_WAITING_FOR <> ''",
    .sessions =
        "SELECT COUNT(*) FROM INFORMATION_SCHEMA.SYSTEM_SESSIONS WHERE SESSION_ID <> SESSION_ID()",
    .waits = "SELECT COUNT(*) FROM INFORMATION_SCHEMA.SYSTEM_SESSIONS WHERE THIS_WAITING_FOR <> ''",
    .lockers = "SELECT COUNT(*) FROM INFORMATION_SCHEMA.SYSTEM_SESSIONS WHERE TRANSACTION_SIZE > 0",
    .kill = cut,
    .cut_all = cut_all,
    .end_forgotten = hsqldb_end_forgotten,
};

/* ---- Derby ----------------------------------------------------------------------------------- */

/* Its table of locks names transactions, not sessions. So a transaction that waits, and that
   belongs to no session asked about before, is that of the session asked about. */
#define DERBY_WAITS "FROM SYSCS_DIAG.LOCK_TABLE WHERE STATE = 'WAIT'"

static int derby_is_waiting(void *admin, long session)
{
    static struct {
        long session, transaction;
    } waiting[64];
    static size_t n;
    char known[64 * 24] = "'none'";
    long transaction;

    for (size_t i = n; i-- > 0;) {
        if (!t_number(admin, "SELECT COUNT(*) " DERBY_WAITS " AND XID = '%ld'",
                      waiting[i].transaction))
            waiting[i] = waiting[--n];
        else if (waiting[i].session == session)
            return 1;
        else
            snprintf(known + strlen(known), sizeof known - strlen(known), ", '%ld'",
                     waiting[i].transaction);
    }
    transaction = t_number(
        admin, "SELECT MAX(CAST(XID AS BIGINT)) " DERBY_WAITS " AND XID NOT IN (%s)", known);
    if (!transaction || n == sizeof waiting / sizeof *waiting)
        return 0;
    waiting[n].session = session;
    waiting[n++].transaction = transaction;
    return 1;
}

/* Its SAVEPOINT has a clause about cursors. */
static int derby_sql(void *handle, const char *text, char *out, size_t size)
{
    char longer[200];

    snprintf(longer, sizeof longer, "%.150s ON ROLLBACK RETAIN CURSORS", text);
    return transport_sql(handle, strncmp(text, "SAVEPOINT ", 10) == 0 ? longer : text, out, size);
}

static const struct engine derby = {
    COMMON,
    .sql = derby_sql,
    .name = "derby",
    .now_ms = "rowlock_now()",
    .one = "VALUES 1",
    .unreachable = "jdbc:derby://127.0.0.1:1/test;user=app;password=hunter2",
    .silent = "jdbc:derby://127.0.0.1:%d/test;user=app;password=hunter2",
    .own_id = NULL, /* it has none */
    .is_waiting = derby_is_waiting,
    .sessions = "SELECT COUNT(*) - 1 FROM SYSCS_DIAG.TRANSACTION_TABLE WHERE USERNAME IS NOT NULL",
    .waits = "SELECT COUNT(DISTINCT XID) " DERBY_WAITS,
    .lockers = "SELECT COUNT(DISTINCT XID) FROM SYSCS_DIAG.LOCK_TABLE WHERE MODE IN ('X', 'U')",
    .kill = cut,
    .cut_all = cut_all,
};

/* ---- PostgreSQL ------------------------------------------------------------------------------ */

static const struct engine postgresql = {
    COMMON,
    .sql = transport_sql,
    .name = "postgresql",
    .now_ms = "CAST(floor(extract(epoch FROM clock_timestamp()) * 1000) AS bigint)",
    .unreachable = "jdbc:postgresql://127.0.0.1:1/test?user=rowlock&password=hunter2",
    .stranger = "jdbc:postgresql://127.0.0.1:%d/test?user=nobody_here&password=hunter2",
    .silent = "jdbc:postgresql://127.0.0.1:%d/test?user=rowlock&password=hunter2",
    T_POSTGRESQL_SESSIONS,
    .lockers = "SELECT COUNT(*) FROM pg_stat_activity WHERE backend_xid IS NOT NULL "
               "AND datname = current_database() AND pid <> pg_backend_pid()",
};

const struct engine *t_jdbc_engine(const char *name)
{
    static struct engine vendor = {COMMON, .sql = transport_sql};
    static const struct engine *const engines[] = {&h2, &hsqldb, &derby, &postgresql};

    for (size_t i = 0; i < sizeof engines / sizeof *engines; i++)
        if (strcmp(engines[i]->name, name) == 0)
            return engines[i];
    if (t_vendor_engine(name, 1, &vendor))
        return &vendor;
    fprintf(stderr, "no such engine through JDBC: %s\n", name);
    exit(2);
}
