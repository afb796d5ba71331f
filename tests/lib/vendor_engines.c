/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Oracle, SQL Server and DB2 for tests/vendor/run, through ODBC or JDBC: the words of struct
 * engine, written from the vendors' documentation and not tested on a server. The account under
 * test, or that of --admin, needs the rights to see and end sessions.
 */
#include <stdlib.h>
#include <string.h>

#include "lib/test.h"
#include "lib/transport.h"

struct words {
    const char *name, *one, *now_ms;
    const char *own_id, *waiting, *killing, *existing, *numbered; /* as in struct engine */
    const char *odbc_unreachable, *jdbc_unreachable;
};

/* Babelfish (tests/vendor/babelfish) has no sys.dm_exec_requests. Its sessions are PostgreSQL's. */
#define BABELFISH_WAITING \
    "SELECT COUNT(*) FROM pg_stat_activity WHERE pid = %ld AND wait_event_type = 'Lock'"

/* The words of the plain dialects, sql/plain/words, for the clock. */
#define ORACLE_UTC "SYS_EXTRACT_UTC(SYSTIMESTAMP)"

static const struct words all[] = {
    {
        .name = "oracle",
        .one = "SELECT 1 FROM DUAL",
        .now_ms = "TRUNC((TRUNC(" ORACLE_UTC ") - DATE '1970-01-01') * 86400000 + EXTRACT(HOUR "
                  "FROM " ORACLE_UTC ") * 3600000 + EXTRACT(MINUTE FROM " ORACLE_UTC
                  ") * 60000 + EXTRACT(SECOND FROM " ORACLE_UTC ") * 1000)",
        .own_id = "SELECT TO_NUMBER(SYS_CONTEXT('USERENV', 'SID')) FROM DUAL",
        .waiting =
            "SELECT COUNT(*) FROM v$session WHERE sid = %ld AND blocking_session IS NOT NULL",
        .existing = "SELECT COUNT(*) FROM v$session WHERE sid = %ld AND status <> 'KILLED'",
        .killing = "BEGIN FOR s IN (SELECT sid, serial# AS n FROM v$session WHERE sid = %ld) LOOP "
                   "EXECUTE IMMEDIATE 'ALTER SYSTEM KILL SESSION ''' || s.sid || ',' || s.n || ''' "
                   "IMMEDIATE'; END LOOP; END;",
        .numbered = "SELECT sid FROM v$session WHERE username = USER AND "
                    "sid <> TO_NUMBER(SYS_CONTEXT('USERENV', 'SID')) ORDER BY sid "
                    "OFFSET %zu ROWS FETCH NEXT 1 ROWS ONLY",
        .odbc_unreachable = "odbc:%s;Dbq=//127.0.0.1:1/none;UID=rowlock;PWD=hunter2",
        .jdbc_unreachable = "jdbc:oracle:thin:rowlock/hunter2@//127.0.0.1:1/none",
    },
    {
        .name = "sqlserver",
        .one = "SELECT 1",
        .now_ms = "DATEDIFF_BIG(MILLISECOND, '1970-01-01', SYSUTCDATETIME())",
        .own_id = "SELECT @@SPID",
        .waiting = "SELECT COUNT(*) FROM sys.dm_exec_requests WHERE session_id = %ld AND "
                   "blocking_session_id <> 0",
        .existing = "SELECT COUNT(*) FROM sys.dm_exec_sessions WHERE session_id = %ld",
        .killing = "KILL %ld",
        .numbered = "SELECT session_id FROM sys.dm_exec_sessions WHERE is_user_process = 1 AND "
                    "database_id = DB_ID() AND session_id <> @@SPID ORDER BY session_id "
                    "OFFSET %zu ROWS FETCH NEXT 1 ROWS ONLY",
        .odbc_unreachable = "odbc:%s;Server=tcp:127.0.0.1,1;Database=none;UID=rowlock;PWD=hunter2",
        .jdbc_unreachable = "jdbc:sqlserver://127.0.0.1:1;databaseName=none;user=rowlock;"
                            "password=hunter2",
    },
    {
        .name = "db2",
        .one = "SELECT 1 FROM SYSIBM.SYSDUMMY1",
        .now_ms = "BIGINT(DAYS(CURRENT TIMESTAMP - CURRENT TIMEZONE) - DAYS(DATE('1970-01-01'))) * "
                  "86400000 + BIGINT(MIDNIGHT_SECONDS(CURRENT TIMESTAMP - CURRENT TIMEZONE)) * "
                  "1000 + MICROSECOND(CURRENT TIMESTAMP) / 1000",
        .own_id = "SELECT MON_GET_APPLICATION_HANDLE() FROM SYSIBM.SYSDUMMY1",
        .waiting =
            "SELECT COUNT(*) FROM SYSIBMADM.MON_LOCKWAITS WHERE REQ_APPLICATION_HANDLE = %ld",
        .existing = "SELECT COUNT(*) FROM TABLE(MON_GET_CONNECTION(%ld, -2)) AS c",
        .killing = "CALL SYSPROC.ADMIN_CMD('FORCE APPLICATION (%ld)')",
        .numbered = "SELECT application_handle FROM TABLE(MON_GET_CONNECTION(CAST(NULL AS BIGINT), "
                    "-2)) AS c WHERE application_handle <> MON_GET_APPLICATION_HANDLE() "
                    "ORDER BY application_handle OFFSET %zu ROWS FETCH NEXT 1 ROWS ONLY",
        .odbc_unreachable = "odbc:%s;Hostname=127.0.0.1;Port=1;Protocol=TCPIP;Database=none;"
                            "UID=rowlock;PWD=hunter2",
        .jdbc_unreachable = "jdbc:db2://127.0.0.1:1/none:user=rowlock;password=hunter2;",
    },
};

int t_vendor_engine(const char *name, int jdbc, struct engine *engine)
{
    const struct words *words = NULL;

    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (strcmp(all[i].name, name) == 0)
            words = &all[i];
    if (!words)
        return 0;
    engine->name = words->name;
    engine->begin[0] = "BEGIN"; /* a call of ODBC or JDBC (transport.h) */
    engine->begin[1] = NULL;
    engine->one = words->one;
    engine->now_ms = words->now_ms;
    engine->settings = words->one; /* rowlock's own settings end with its session */
    engine->unreachable = jdbc ? words->jdbc_unreachable : words->odbc_unreachable;
    engine->stranger = engine->silent = NULL;
    engine->own_id = words->own_id;
    engine->is_waiting = t_query_waiting;
    engine->waiting = getenv("ROWLOCK_TEST_BABELFISH") ? BABELFISH_WAITING : words->waiting;
    engine->kill = t_query_kill;
    engine->killing = words->killing;
    engine->existing = words->existing;
    engine->numbered = words->numbered;
    return 1;
}
