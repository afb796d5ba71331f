/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of facts about each engine and technique, as observed on real servers.
 * docs/techniques.md describes the same facts for users.
 */
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/engine.h"
#include "lib/test.h"
#include "system/system.h"

/* what becomes of the victim of a deadlock */
#define VICTIM_ABORTED .deadlock_code = ROWLOCK_EABORTED, .deadlock_left = ROWLOCK_TX_ABORTED
#define VICTIM_KEEPS \
    .deadlock_code = ROWLOCK_EABORTED, .deadlock_left = ROWLOCK_TX_KEPT, .victim_keeps = 1
#define VICTIM_GONE .deadlock_code = ROWLOCK_EROLLEDBACK, .deadlock_left = ROWLOCK_TX_GONE

#define SERVER .names_independent = 1, .server = 1
#define WITH_FUNCTIONS SERVER, .wraps = 1, .levels = 1
#define JDBC SERVER, .plain = 1, .commits_unseen = 1
#define ODBC JDBC, .wraps = 1

#define POSTGRESQL WITH_FUNCTIONS, .an_error_aborts = 1, VICTIM_ABORTED
#define MARIADB .busy_keeps_row = 1, .ddl_commits = 1, VICTIM_GONE
#define IN_JAVA JDBC, .creates_database = 1, .cancel_ends_session = 1, .keeps_limit = 1
#define ORACLE .busy_keeps_row = 1, .ddl_commits = 1, .limit_ends_session = 1, VICTIM_KEEPS
#define SQLSERVER .busy_keeps_row = 1, VICTIM_GONE
#define DB2 .limit_ends_session = 1, VICTIM_GONE

static const struct facts facts[] = {
    {"sqlite", "native", ROWLOCK_NATIVE, SHARED_EXCLUDES, .wraps = 1, .installs_itself = 1},
    {"sqlite", "insert", ROWLOCK_INSERT, SHARED_REFUSED, .wraps = 1},
    {"postgresql", "native", ROWLOCK_NATIVE, SHARED_TOGETHER, POSTGRESQL, .first_come = 1,
     .writer_queues = 1},
    {"postgresql", "row", ROWLOCK_ROW, SHARED_TOGETHER, POSTGRESQL, .first_come = 1,
     .must_be_known = 1},
    {"postgresql", "insert", ROWLOCK_INSERT, SHARED_REFUSED, POSTGRESQL},
    /* a simulation (yugabytedb.pl), used by tests/command/yugabytedb_conformance.bats; technique
       row */
    {"postgresql", "yugabytedb", ROWLOCK_ROW, SHARED_TOGETHER, POSTGRESQL},
    {"mariadb", "row", ROWLOCK_ROW, SHARED_TOGETHER, WITH_FUNCTIONS, MARIADB, .first_come = 1,
     .writer_queues = 1, .must_be_known = 1},
    {"mariadb", "insert", ROWLOCK_INSERT, SHARED_REFUSED, WITH_FUNCTIONS, MARIADB, .begins_meet = 1,
     .neighbours_meet = 1},
    {"postgresql", "odbc", ROWLOCK_ROW, SHARED_TOGETHER, ODBC, .keeps_limit = 1, .first_come = 1,
     .busy_keeps_row = 1, .must_be_known = 1, .own_savepoints = 1, VICTIM_KEEPS},
    {"mariadb", "odbc", ROWLOCK_ROW, SHARED_TOGETHER, ODBC, MARIADB, .keeps_limit = 1,
     .first_come = 1, .writer_queues = 1, .must_be_known = 1},
    {"postgresql", "jdbc", ROWLOCK_ROW, SHARED_TOGETHER, JDBC, .limit_aborts = 1, .keeps_limit = 1,
     .first_come = 1, .busy_keeps_row = 1, .an_error_aborts = 1, VICTIM_ABORTED},
    {"derby", "jdbc", ROWLOCK_ROW, SHARED_TOGETHER, IN_JAVA, .readers_wait = 1, .installs_alone = 1,
     .limit_ends_session = 1, VICTIM_GONE},
    {"h2", "jdbc", ROWLOCK_ROW, SHARED_EXCLUDES, IN_JAVA, .busy_keeps_row = 1, .victim_keeps = 1,
     VICTIM_ABORTED},
    {"hsqldb", "jdbc", ROWLOCK_ROW, SHARED_EXCLUDES, IN_JAVA, .limit_ends_session = 1, VICTIM_GONE},
    /* By the vendors' documentation, for tests/vendor/run. */
    {"oracle", "odbc", ROWLOCK_ROW, SHARED_EXCLUDES, ODBC, ORACLE, .must_be_known = 1},
    {"oracle", "jdbc", ROWLOCK_ROW, SHARED_EXCLUDES, JDBC, ORACLE},
    {"sqlserver", "odbc", ROWLOCK_ROW, SHARED_TOGETHER, ODBC, SQLSERVER, .must_be_known = 1},
    {"sqlserver", "jdbc", ROWLOCK_ROW, SHARED_TOGETHER, JDBC, SQLSERVER},
    {"db2", "odbc", ROWLOCK_ROW, SHARED_TOGETHER, ODBC, DB2, .must_be_known = 1},
    {"db2", "jdbc", ROWLOCK_ROW, SHARED_TOGETHER, JDBC, DB2},
};

/* Why a test is not run. Tests ask facts, and give one of these reasons; docs/databases.md has them
   for users, with the programs whose line "Runs on:" leaves an engine out. */
const char *t_reason(enum reason why)
{
    static const char *const reasons[] = {
        [WHY_MYSQL_TIME] = "MySQL has no max_statement_time",
        [WHY_MYSQL_GALERA] = "MySQL has no Galera",
        [WHY_MYSQL_PROC] = "MySQL has no table mysql.proc",
        [WHY_MYSQL_SWEEP] = "rowlock_sweep does nothing on MySQL",
        [WHY_WRAP] = "a JDBC connection of the application's cannot be wrapped",
        [WHY_SESSION_LOCKS] = "sessions have no session locks",
        [WHY_IDLE_LIMIT] = "rowlock sets no time limit for idle transactions",
        [WHY_POLLS] = "the client polls, and no view shows whether it has reached the name lock",
        [WHY_TABLE_LOCK] = "a try waits there as long as the lock of a table lasts",
        [WHY_READERS] = "a SELECT of the application's waits there for every writer",
        [WHY_COMMIT_UNSEEN] = "a COMMIT in the middle of a refresh is not detected",
        [WHY_ROLLBACK_UNSEEN] = "a ROLLBACK in the middle of a refresh is not detected",
        [WHY_DDL_UNSEEN] = "a statement that commits in the middle of a refresh is not detected",
        [WHY_SAVEPOINT] = "the ODBC driver ends the application's savepoint with its own one",
        [WHY_CREATES] = "a client creates the database",
        [WHY_FUNCTION] = "the server has no function that claims a job",
        [WHY_LIMIT_ABORTS] = "the end of a limited wait aborts the transaction",
        [WHY_LIMIT_ENDS] = "the end of a limited wait costs the session, and so the transaction",
        [WHY_LIMIT_STAYS] = "the limit of rowlock's last wait stays until the transaction ends",
        [WHY_INTERRUPT_ABORTS] = "an interrupt of a wait aborts the transaction",
        [WHY_INTERRUPT_ENDS] = "a wait can be interrupted only at the cost of its session",
        [WHY_CATALOG] = "nodes that install at the same time deadlock in the server's catalog",
        [WHY_SETTINGS] = "the server's settings are not checked",
        [WHY_ISOLATION] = "the isolation level of the caller's transaction is not checked",
        [WHY_VACUUM] = "a vacuum that meets a fence reads what its own lost session has locked",
        [WHY_NO_TABLE_LOCK] = "the test has no statement that locks a table of this server",
        [WHY_PREPARE] =
            "the test's session does not survive the preparation of a locked name there",
    };

    return reasons[why];
}

const struct facts *t_find_facts(const char *engine, const char *technique)
{
    for (size_t i = 0; i < sizeof facts / sizeof *facts; i++)
        if (strcmp(facts[i].engine, engine) == 0 && strcmp(facts[i].technique, technique) == 0)
            return &facts[i];
    return NULL;
}

static int end_is_visible_behind_bytes(void)
{
    int pair[2], is;

    t_int(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    t_int(write(pair[1], "farewell", 8), 8);
    t_int(shutdown(pair[1], SHUT_WR), 0);
    is = rowlock__has_hung_up(pair[0]);
    close(pair[0]);
    close(pair[1]);
    return is;
}

/* A server says farewell, and unlocks, before it closes the connection. */
static void until_closed(struct rowlock_connection *connection)
{
    struct pollfd end = {.fd = rowlock_socket(connection), .events = POLLRDHUP};

    if (end.fd >= 0 && end_is_visible_behind_bytes())
        t_int(poll(&end, 1, 60000), 1);
}

void t_commit_is_lost_before(struct rowlock_connection *connection)
{
    int code;

    until_closed(connection);
    code = rowlock_commit(connection, &t_error);
    if (code != ROWLOCK_EUNKNOWN || end_is_visible_behind_bytes())
        t_int(code, ROWLOCK_ECONN);
}
