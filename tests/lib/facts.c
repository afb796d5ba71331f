/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of facts about each engine and technique, as observed on real servers.
 * docs/internals/techniques.md describes the same facts for users.
 */
#include <string.h>

#include "lib/engine.h"

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
#define SQLSERVER .busy_keeps_row = 1, .readers_wait = 1, VICTIM_GONE
#define DB2 .limit_ends_session = 1, VICTIM_GONE

static const struct facts facts[] = {
    {"sqlite", "native", ROWLOCK_NATIVE, SHARED_EXCLUDES, .wraps = 1, .installs_itself = 1},
    {"sqlite", "insert", ROWLOCK_INSERT, SHARED_REFUSED, .wraps = 1},
    {"postgresql", "native", ROWLOCK_NATIVE, SHARED_TOGETHER, POSTGRESQL, .first_come = 1,
     .writer_queues = 1},
    {"postgresql", "insert", ROWLOCK_INSERT, SHARED_TOGETHER, POSTGRESQL, .first_come = 1,
     .writer_queues = 1},
    /* a simulation (yugabytedb.pl), used by tests/command/yugabytedb_conformance.bats */
    {"postgresql", "yugabytedb", ROWLOCK_NATIVE, SHARED_TOGETHER, POSTGRESQL, .first_come = 1,
     .writer_queues = 1},
    {"mariadb", "row", ROWLOCK_ROW, SHARED_TOGETHER, WITH_FUNCTIONS, MARIADB, .first_come = 1,
     .writer_queues = 1, .must_be_known = 1},
    {"mariadb", "insert", ROWLOCK_INSERT, SHARED_REFUSED, WITH_FUNCTIONS, MARIADB, .begins_meet = 1,
     .neighbours_meet = 1},
    /* by make check-tidb */
    {"tidb", "row", ROWLOCK_ROW, SHARED_EXCLUDES, ODBC, MARIADB, .keeps_limit = 1,
     .must_be_known = 1, .levels = 1},
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

const struct facts *t_find_facts(const char *engine, const char *technique)
{
    for (size_t i = 0; i < sizeof facts / sizeof *facts; i++)
        if (strcmp(facts[i].engine, engine) == 0 && strcmp(facts[i].technique, technique) == 0)
            return &facts[i];
    return NULL;
}
