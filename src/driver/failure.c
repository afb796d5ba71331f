/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The failure table: from each engine's errors to rowlock's codes. The rows were observed on real
 * servers, except those that say otherwise; docs/internals/techniques.md explains the surprising
 * ones. rowlock's own SQL functions raise the SQLSTATEs RLnnn.
 */
#include "driver/failure.h"

#include <stdio.h>
#include <string.h>

#include "system/system.h"
#include "util/error.h"

struct failure {
    const char *engine;   /* NULL: any */
    const char *sqlstate; /* NULL: any; two characters: the class; "": none */
    int native;           /* 0: any */
    int code;
    const char *advice; /* appended to the engine's message; NULL: none */
};

#define ENDED_BY_DDL 1689

static const char no_session[] =
    "no session is free: end idle ones, raise the limit, or use a pooler";
#define NO_ROOM "the server has no memory left, perhaps for its table of locks"
#define NO_ROOM_BY(setting) NO_ROOM ": end transactions with many locks, or raise " setting
static const char no_room[] = NO_ROOM_BY("the limit");

static const char no_schema[] = "run: rowlock schema install";
static const char no_grant[] = "its owner can grant it: rowlock schema print --grants --role NAME";
static const char rolled_back[] = "the whole transaction was rolled back; begin again";
static const char read_only[] = "rowlock needs a server that can write";

static const char no_postgresql_password[] =
    "is the password right? a URL without one reads it from ~/.pgpass (mode 600)";
static const char no_mariadb_password[] = "is the password right? a URL without one reads it from "
                                          "an option file: ?default-file=/PATH/my.cnf";

static const struct failure failures[] = {
    {NULL, "RL001", 0, ROWLOCK_ESNAPSHOT, NULL},
    {NULL, "RL002", 0, ROWLOCK_ESERVER, NULL},
    {NULL, "RL003", 0, ROWLOCK_EINVAL, NULL},
    {NULL, "RL004", 0, ROWLOCK_EMODE, NULL},
    {NULL, "RL005", 0, ROWLOCK_ELOST, NULL},
    {NULL, "RL006", 0, ROWLOCK_ENOTX, NULL},
    {NULL, "RL007", 0, ROWLOCK_EINTX, NULL},
    {NULL, "RL008", 0, ROWLOCK_EUNPREPARED, NULL},
    {NULL, "RL009", 0, ROWLOCK_ELEFTOVER, NULL},
    {NULL, "RL010", 0, ROWLOCK_EDENIED, NULL},

    {"postgresql", "55P03", 0, ROWLOCK_ETIMEDOUT, NULL},
    {"postgresql", "57014", 0, ROWLOCK_ETIMEDOUT, NULL},
    {"postgresql", "40P01", 0, ROWLOCK_EABORTED, "chosen as the deadlock victim; roll back"},
    {"postgresql", "40001", 0, ROWLOCK_EABORTED, "roll back and try again"},
    {"postgresql", "25P02", 0, ROWLOCK_EABORTED, "an earlier statement failed; roll back"},
    {"postgresql", "25006", 0, ROWLOCK_ESERVER, read_only},
    {"postgresql", "3F000", 0, ROWLOCK_ESCHEMA, no_schema},
    {"postgresql", "42883", 0, ROWLOCK_ESCHEMA, no_schema},
    {"postgresql", "42P01", 0, ROWLOCK_ESCHEMA, no_schema},
    {"postgresql", "42703", 0, ROWLOCK_ESCHEMA, no_schema},
    {"postgresql", "42501", 0, ROWLOCK_EDENIED, no_grant},
    {"postgresql", "28P01", 0, ROWLOCK_EDENIED, no_postgresql_password},
    {"postgresql", "28", 0, ROWLOCK_EDENIED, NULL},
    {"postgresql", "3D000", 0, ROWLOCK_EDENIED, NULL},
    {"postgresql", "57P", 0, ROWLOCK_ECONN, NULL},
    {"postgresql", "25P03", 0, ROWLOCK_ECONN, NULL},
    {"postgresql", "53300", 0, ROWLOCK_ECONN, no_session},
    {"postgresql", "53200", 0, ROWLOCK_ECONN, NO_ROOM_BY("max_locks_per_transaction")},
    {"postgresql", "08", 0, ROWLOCK_ECONN, NULL},
    {"postgresql", "22021", 0, ROWLOCK_EINVAL, "a name must be UTF-8"},
    {"postgresql", "22P05", 0, ROWLOCK_EINVAL, "the database's encoding lacks a character of it"},
    {"postgresql", "0A000", 0, ROWLOCK_ESERVER,
     "a lock on a standby would exclude no other session"},

    {"mariadb", NULL, 1205, ROWLOCK_ETIMEDOUT, NULL},
    {"mariadb", NULL, 1969, ROWLOCK_ETIMEDOUT, NULL},
    {"mariadb", NULL, 3024, ROWLOCK_ETIMEDOUT, NULL},
    {"mariadb", NULL, 3572, ROWLOCK_ETIMEDOUT, NULL}, /* NOWAIT: MySQL, TiDB */
    {"mariadb", NULL, 1317, ROWLOCK_ECANCELED, NULL},
    {"mariadb", NULL, 1213, ROWLOCK_EROLLEDBACK, rolled_back},
    /* DDL ended the wait for a table lock, that of mysql.proc when a procedure's text is read */
    {"mariadb", NULL, ENDED_BY_DDL, ROWLOCK_EABORTED, "roll back and try again"},
    {"mariadb", NULL, 1020, ROWLOCK_ESNAPSHOT, "roll back and begin again"},
    {"mariadb", NULL, 1305, ROWLOCK_ESCHEMA, no_schema},
    {"mariadb", NULL, 1146, ROWLOCK_ESCHEMA, no_schema},
    {"mariadb", NULL, 1054, ROWLOCK_ESCHEMA, no_schema},
    {"mariadb", NULL, 1356, ROWLOCK_ESCHEMA, no_schema}, /* a view without its table */
    {"mariadb", NULL, 1049, ROWLOCK_EDENIED, NULL},
    {"mariadb", NULL, 1046, ROWLOCK_EINVAL, "name a database in the URL or choose one by USE"},
    {"mariadb", NULL, 1044, ROWLOCK_EDENIED, NULL},
    {"mariadb", NULL, 1045, ROWLOCK_EDENIED, no_mariadb_password},
    {"mariadb", NULL, 1698, ROWLOCK_EDENIED, NULL},
    {"mariadb", NULL, 1130, ROWLOCK_EDENIED, NULL}, /* no account for this host */
    {"mariadb", NULL, 1129, ROWLOCK_EDENIED, NULL}, /* FLUSH HOSTS must unblock this host */
    {"mariadb", NULL, 1251, ROWLOCK_EDENIED, NULL}, /* authentication that the client lacks */
    {"mariadb", NULL, 1820, ROWLOCK_EDENIED, NULL}, /* the password has expired */
    {"mariadb", NULL, 1862, ROWLOCK_EDENIED, NULL},
    {"mariadb", NULL, 2059, ROWLOCK_EDENIED, NULL}, /* a plugin that the client lacks */
    {"mariadb", NULL, 5010, ROWLOCK_EDENIED,
     "the server asks for the password itself, which TLS or a Unix socket must protect; add ssl=on "
     "to the URL, and ssl-verify-server-cert=on against a false server"},
    {"mariadb", NULL, 3118, ROWLOCK_EDENIED, NULL}, /* the account is locked: MySQL, MariaDB */
    {"mariadb", NULL, 4151, ROWLOCK_EDENIED, NULL},
    {"mariadb", NULL, 1142, ROWLOCK_EDENIED, no_grant},
    {"mariadb", NULL, 1227, ROWLOCK_EDENIED, NULL},
    {"mariadb", NULL, 1370, ROWLOCK_EDENIED, no_grant},
    {"mariadb", NULL, 1290, ROWLOCK_ESERVER, read_only},
    {"mariadb", NULL, 1792, ROWLOCK_ESERVER, "the transaction is READ ONLY"},
    {"mariadb", NULL, 1836, ROWLOCK_ESERVER, read_only},
    {"mariadb", NULL, 1047, ROWLOCK_ESERVER, NULL},
    {"mariadb", NULL, 1040, ROWLOCK_ECONN, no_session},
    {"mariadb", NULL, 1203, ROWLOCK_ECONN, no_session}, /* of this account */
    {"mariadb", NULL, 1226, ROWLOCK_ECONN, no_session}, /* of this account, or its statements */
    {"mariadb", NULL, 1206, ROWLOCK_ECONN, NO_ROOM_BY("innodb_buffer_pool_size")},
    {"mariadb", NULL, 1041, ROWLOCK_ECONN, no_room},
    {"mariadb", NULL, 1053, ROWLOCK_ECONN, NULL}, /* the server is shutting down */
    {"mariadb", NULL, 1077, ROWLOCK_ECONN, NULL},
    {"mariadb", NULL, 1079, ROWLOCK_ECONN, NULL},
    {"mariadb", NULL, 1152, ROWLOCK_ECONN, NULL},
    {"mariadb", NULL, 1158, ROWLOCK_ECONN, NULL}, /* the server lost the client: read, write */
    {"mariadb", NULL, 1159, ROWLOCK_ECONN, NULL},
    {"mariadb", NULL, 1160, ROWLOCK_ECONN, NULL},
    {"mariadb", NULL, 1161, ROWLOCK_ECONN, NULL},
    {"mariadb", NULL, 1927, ROWLOCK_ECONN, NULL},
    {"mariadb", NULL, 2002, ROWLOCK_ECONN, NULL},
    {"mariadb", NULL, 2003, ROWLOCK_ECONN, NULL},
    {"mariadb", NULL, 2005, ROWLOCK_ECONN, NULL},
    {"mariadb", NULL, 2006, ROWLOCK_ECONN, NULL},
    {"mariadb", NULL, 2012, ROWLOCK_ECONN, NULL},
    {"mariadb", NULL, 2013, ROWLOCK_ECONN, NULL},
    {"mariadb", NULL, 2026, ROWLOCK_ECONN, NULL},
    {"mariadb", NULL, 2055, ROWLOCK_ECONN, NULL},
    {"mariadb", NULL, 5013, ROWLOCK_ECONN, NULL}, /* of the client library: read, write */
    {"mariadb", NULL, 5014, ROWLOCK_ECONN, NULL},
    {"mariadb", NULL, 4031, ROWLOCK_ECONN, NULL},
    /* TiDB, by its documentation: a conflict that a COMMIT finds, or DDL beside it */
    {"mariadb", NULL, 8002, ROWLOCK_EABORTED, "roll back and try again"},
    {"mariadb", NULL, 8005, ROWLOCK_EABORTED, "roll back and try again"},
    {"mariadb", NULL, 8022, ROWLOCK_EABORTED, "roll back and try again"},
    {"mariadb", NULL, 8028, ROWLOCK_EABORTED, "roll back and try again"},
    {"mariadb", NULL, 9007, ROWLOCK_EABORTED, "roll back and try again"},

    {"sqlite", NULL, 5, ROWLOCK_ETIMEDOUT, NULL}, /* SQLITE_BUSY */
    {"sqlite", NULL, 517, ROWLOCK_ESNAPSHOT, "roll back and begin with BEGIN IMMEDIATE"},
    {"sqlite", NULL, 6, ROWLOCK_ETIMEDOUT, NULL}, /* SQLITE_LOCKED */
    {"sqlite", NULL, 7, ROWLOCK_ENOMEM, NULL},    /* SQLITE_NOMEM */
    {"sqlite", NULL, 8, ROWLOCK_ESERVER, "the file or its folder is read-only"},
    {"sqlite", NULL, 9, ROWLOCK_ECANCELED, NULL}, /* SQLITE_INTERRUPT */
    {"sqlite", NULL, 10, ROWLOCK_EDB,             /* SQLITE_IOERR */
     "is the disk full, or the size of files limited (df, ulimit -f)? or was the file deleted or "
     "restored without its -wal and -shm? all commits are kept"},
    {"sqlite", NULL, 13, ROWLOCK_EDB,
     "make room on the disk of the file (df), or in this user's quota; all commits are kept"},
    {"sqlite", NULL, 14, ROWLOCK_ECONN, "the file cannot be opened or created"},
    {"sqlite", NULL, 26, ROWLOCK_EINVAL, "the file is not a SQLite database"},
    {"sqlite", NULL, 3, ROWLOCK_EDENIED, NULL}, /* SQLITE_PERM */

    /* The vendors' numbers are from their documentation: no such server was at hand. */
    {"oracle", NULL, 54, ROWLOCK_ETIMEDOUT, NULL},    /* NOWAIT */
    {"oracle", NULL, 30006, ROWLOCK_ETIMEDOUT, NULL}, /* WAIT n */
    {"oracle", NULL, 60, ROWLOCK_EABORTED,
     "chosen as the deadlock victim; the other session waits until you roll back"},
    {"oracle", NULL, 8177, ROWLOCK_ESNAPSHOT, "roll back and begin again"},
    {"oracle", NULL, 1013, ROWLOCK_ECANCELED, NULL},
    {"oracle", NULL, 942, ROWLOCK_ESCHEMA, no_schema},
    {"oracle", NULL, 904, ROWLOCK_ESCHEMA, no_schema},
    {"oracle", NULL, 1031, ROWLOCK_EDENIED, no_grant},
    {"oracle", NULL, 1017, ROWLOCK_EDENIED, NULL},
    {"oracle", NULL, 1045, ROWLOCK_EDENIED, NULL},  /* lacks CREATE SESSION */
    {"oracle", NULL, 28000, ROWLOCK_EDENIED, NULL}, /* the account is locked */
    {"oracle", NULL, 28001, ROWLOCK_EDENIED, NULL}, /* the password has expired */
    {"oracle", NULL, 1456, ROWLOCK_ESERVER, "the transaction is READ ONLY"},
    {"oracle", NULL, 16000, ROWLOCK_ESERVER, read_only},
    {"oracle", NULL, 18, ROWLOCK_ECONN, no_session},    /* of the server */
    {"oracle", NULL, 20, ROWLOCK_ECONN, no_session},    /* processes */
    {"oracle", NULL, 2391, ROWLOCK_ECONN, no_session},  /* of this account */
    {"oracle", NULL, 12516, ROWLOCK_ECONN, no_session}, /* the listener found none */
    {"oracle", NULL, 12519, ROWLOCK_ECONN, no_session},
    {"oracle", NULL, 12520, ROWLOCK_ECONN, no_session},
    {"oracle", NULL, 52, ROWLOCK_ECONN, no_room}, /* enqueue resources */
    {"oracle", NULL, 55, ROWLOCK_ECONN, no_room}, /* DML locks */
    {"oracle", NULL, 4031, ROWLOCK_ECONN, no_room},
    {"oracle", NULL, 28, ROWLOCK_ECONN, NULL}, /* the session was killed */
    {"oracle", NULL, 1012, ROWLOCK_ECONN, NULL},
    {"oracle", NULL, 1033, ROWLOCK_ECONN, NULL}, /* starting up, shutting down */
    {"oracle", NULL, 1034, ROWLOCK_ECONN, NULL},
    {"oracle", NULL, 1089, ROWLOCK_ECONN, NULL},
    {"oracle", NULL, 3113, ROWLOCK_ECONN, NULL},
    {"oracle", NULL, 3114, ROWLOCK_ECONN, NULL},
    {"oracle", NULL, 3135, ROWLOCK_ECONN, NULL},
    {"oracle", NULL, 12170, ROWLOCK_ECONN, NULL},
    {"oracle", NULL, 12514, ROWLOCK_ECONN, NULL},
    {"oracle", NULL, 12541, ROWLOCK_ECONN, NULL},
    {"oracle", "28", 0, ROWLOCK_EDENIED, NULL},
    {"oracle", "08", 0, ROWLOCK_ECONN, NULL},

    {"sqlserver", NULL, 1222, ROWLOCK_ETIMEDOUT, NULL},
    {"sqlserver", NULL, 1205, ROWLOCK_EROLLEDBACK, rolled_back},
    {"sqlserver", NULL, 3960, ROWLOCK_ESNAPSHOT, "roll back and begin again"},
    {"sqlserver", NULL, 208, ROWLOCK_ESCHEMA, no_schema},
    {"sqlserver", NULL, 207, ROWLOCK_ESCHEMA, no_schema},
    {"sqlserver", NULL, 229, ROWLOCK_EDENIED, no_grant},
    {"sqlserver", NULL, 262, ROWLOCK_EDENIED, NULL}, /* CREATE TABLE */
    {"sqlserver", NULL, 916, ROWLOCK_EDENIED, NULL},
    {"sqlserver", NULL, 911, ROWLOCK_EDENIED, NULL}, /* no such database */
    {"sqlserver", NULL, 4060, ROWLOCK_EDENIED, NULL},
    {"sqlserver", NULL, 18456, ROWLOCK_EDENIED, NULL},
    {"sqlserver", NULL, 18487, ROWLOCK_EDENIED, NULL}, /* the password has expired */
    {"sqlserver", NULL, 18488, ROWLOCK_EDENIED, NULL},
    {"sqlserver", NULL, 3906, ROWLOCK_ESERVER, "rowlock needs a database that can be written"},
    {"sqlserver", NULL, 17809, ROWLOCK_ECONN, no_session},
    {"sqlserver", NULL, 701, ROWLOCK_ECONN, no_room},
    {"sqlserver", NULL, 1204, ROWLOCK_ECONN, no_room},
    {"sqlserver", NULL, 596, ROWLOCK_ECONN, NULL}, /* KILL */
    {"sqlserver", NULL, 6005, ROWLOCK_ECONN, NULL},
    /* FreeTDS' own numbers, observed on Babelfish: the server ended the session */
    {"sqlserver", NULL, 20004, ROWLOCK_ECONN, NULL}, /* read failed */
    {"sqlserver", NULL, 20006, ROWLOCK_ECONN, NULL}, /* write failed */
    {"sqlserver", NULL, 20017, ROWLOCK_ECONN, NULL}, /* unexpected end */
    {"sqlserver", NULL, 20047, ROWLOCK_ECONN, NULL}, /* the session is dead */
    {"sqlserver", "28", 0, ROWLOCK_EDENIED, NULL},
    {"sqlserver", "08", 0, ROWLOCK_ECONN, NULL},
    {"sqlserver", "HYT01", 0, ROWLOCK_ECONN, NULL},
    {"sqlserver", "HYT00", 0, ROWLOCK_ECONN, "the login timed out"},

    {"db2", NULL, -911, ROWLOCK_EROLLEDBACK, rolled_back},
    {"db2", NULL, -952, ROWLOCK_ECANCELED, NULL},
    {"db2", NULL, -204, ROWLOCK_ESCHEMA, no_schema},
    {"db2", NULL, -206, ROWLOCK_ESCHEMA, no_schema},
    {"db2", NULL, -551, ROWLOCK_EDENIED, no_grant},
    {"db2", NULL, -552, ROWLOCK_EDENIED, NULL},
    {"db2", NULL, -1060, ROWLOCK_EDENIED, NULL},  /* lacks CONNECT */
    {"db2", NULL, -30082, ROWLOCK_EDENIED, NULL}, /* a wrong password */
    {"db2", NULL, -1040, ROWLOCK_ECONN, no_session},
    {"db2", NULL, -1226, ROWLOCK_ECONN, no_session},
    {"db2", NULL, -912, ROWLOCK_ECONN, NO_ROOM_BY("LOCKLIST")},
    {"db2", NULL, -1224, ROWLOCK_ECONN, NULL}, /* FORCE APPLICATION */
    {"db2", NULL, -30081, ROWLOCK_ECONN, NULL},
    {"db2", "28", 0, ROWLOCK_EDENIED, NULL},
    {"db2", "08", 0, ROWLOCK_ECONN, NULL},

    {"derby", "40XL1", 0, ROWLOCK_ETIMEDOUT, rolled_back},
    {"derby", "40001", 0, ROWLOCK_EROLLEDBACK, rolled_back},
    {"derby", "42X05", 0, ROWLOCK_ESCHEMA, no_schema},
    {"derby", "42Y07", 0, ROWLOCK_ESCHEMA, no_schema},
    {"derby", "42X04", 0, ROWLOCK_ESCHEMA, no_schema},
    {"derby", "425", 0, ROWLOCK_EDENIED, NULL},
    {"derby", "08004", 0, ROWLOCK_EDENIED, NULL},
    {"derby", "25503", 0, ROWLOCK_ESERVER, "rowlock needs a database that can be written"},
    {"derby", "08", 0, ROWLOCK_ECONN, NULL},

    {"h2", NULL, 50200, ROWLOCK_ETIMEDOUT, NULL},
    {"h2", "40001", 0, ROWLOCK_EABORTED, "chosen as the deadlock victim; roll back"},
    /* an internal error; seen: another session ended its transaction */
    {"h2", NULL, 50000, ROWLOCK_EABORTED, "roll back and try again"},
    {"h2", NULL, 57014, ROWLOCK_ECANCELED, NULL},
    {"h2", "42S02", 0, ROWLOCK_ESCHEMA, no_schema},
    {"h2", "42S03", 0, ROWLOCK_ESCHEMA, no_schema},
    {"h2", "42S04", 0, ROWLOCK_ESCHEMA, no_schema},
    {"h2", "42S22", 0, ROWLOCK_ESCHEMA, no_schema},
    {"h2", NULL, 90040, ROWLOCK_ESERVER,
     "a killed server would forget leases, because of its WRITE_DELAY, which only an account with "
     "ADMIN turns off; as one, run: ALTER USER NAME ADMIN TRUE"},
    {"h2", NULL, 90066, ROWLOCK_EINVAL, "leave WRITE_DELAY out of the URL: rowlock sets it to 0"},
    {"h2", NULL, 90096, ROWLOCK_EDENIED, NULL},
    {"h2", NULL, 90149, ROWLOCK_EDENIED, NULL}, /* no such database */
    {"h2", "28", 0, ROWLOCK_EDENIED, NULL},
    {"h2", NULL, 90097, ROWLOCK_ESERVER, "rowlock needs a database that can be written"},
    {"h2", NULL, 90067, ROWLOCK_ECONN, NULL},
    {"h2", NULL, 90098, ROWLOCK_ECONN, NULL},
    {"h2", NULL, 90121, ROWLOCK_ECONN, NULL},
    {"h2", "08", 0, ROWLOCK_ECONN, NULL},

    {"hsqldb", NULL, -4861, ROWLOCK_EROLLEDBACK, rolled_back},
    {"hsqldb", NULL, -5501, ROWLOCK_ESCHEMA, no_schema},
    {"hsqldb", NULL, -5507, ROWLOCK_EDENIED, NULL}, /* lacks the role DBA */
    {"hsqldb", NULL, -3706, ROWLOCK_ESERVER, "the transaction is READ ONLY"},
    {"hsqldb", "28", 0, ROWLOCK_EDENIED, NULL},
    {"hsqldb", "08", 0, ROWLOCK_ECONN, NULL},
};

/* The state of an open transaction after an error, where the engine decides that. */
static const struct {
    struct failure failure; /* only its first three columns */
    enum rowlock_transaction left;
} leaves[] = {
#define LEAVES(engine, sqlstate, native, left)    \
    {                                             \
        {engine, sqlstate, native, 0, NULL}, left \
    }
    LEAVES("postgresql", "HY000", 8, ROWLOCK_TX_ABORTED), /* psqlODBC: its savepoint failed */
    LEAVES("mariadb", NULL, 1213, ROWLOCK_TX_GONE),
    LEAVES("mariadb", NULL, 1206, ROWLOCK_TX_GONE),
    LEAVES("mariadb", NULL, 1205, ROWLOCK_TX_ABORTED), /* gone, if innodb_rollback_on_timeout */
    LEAVES("mariadb", NULL, 0, ROWLOCK_TX_KEPT),
    LEAVES("oracle", NULL, 54, ROWLOCK_TX_KEPT),
    LEAVES("oracle", NULL, 30006, ROWLOCK_TX_KEPT),
    LEAVES("oracle", NULL, 60, ROWLOCK_TX_KEPT), /* only the statement was rolled back */
    LEAVES("oracle", "23", 0, ROWLOCK_TX_KEPT),
    LEAVES("sqlserver", NULL, 1222, ROWLOCK_TX_KEPT),     /* with XACT_ABORT OFF */
    LEAVES("sqlserver", NULL, 33557097, ROWLOCK_TX_GONE), /* Babelfish: see `worded` */
    LEAVES("sqlserver", NULL, 1205, ROWLOCK_TX_GONE),
    LEAVES("sqlserver", NULL, 3960, ROWLOCK_TX_GONE),
    LEAVES("sqlserver", "23", 0, ROWLOCK_TX_KEPT),
    LEAVES("db2", NULL, -911, ROWLOCK_TX_GONE),
    LEAVES("db2", NULL, -912, ROWLOCK_TX_ABORTED), /* the manual does not say that it is gone */
    LEAVES("db2", "23", 0, ROWLOCK_TX_KEPT),
    LEAVES("derby", "40", 0, ROWLOCK_TX_GONE),
    LEAVES("derby", "23", 0, ROWLOCK_TX_KEPT),
    LEAVES("h2", NULL, 50200, ROWLOCK_TX_KEPT),
    LEAVES("h2", NULL, 50000, ROWLOCK_TX_ABORTED),
    LEAVES("h2", "40001", 0, ROWLOCK_TX_ABORTED), /* its locks are kept until ROLLBACK */
    LEAVES("h2", "23", 0, ROWLOCK_TX_KEPT),
    LEAVES("hsqldb", NULL, -4861, ROWLOCK_TX_GONE),
    LEAVES("hsqldb", "23", 0, ROWLOCK_TX_KEPT),
#undef LEAVES
};

/* Errors whose number or state is too general: the message must contain this text. */
static const struct {
    struct failure failure;
    const char *words;
} worded[] = {
    /* YugabyteDB: statement_timeout, or a limit of the cluster, ended the wait for a row */
    {{"postgresql", "XX000", 0, ROWLOCK_ETIMEDOUT, NULL}, "timed out after"},
    /* TLS failures: the client's errors have no state, or the general one of TLS */
    {{"postgresql", "", 0, ROWLOCK_EDENIED, NULL}, "does not support SSL"},
    {{"postgresql", "", 0, ROWLOCK_EDENIED, NULL}, "certificate"},
    {{"postgresql", "", 0, ROWLOCK_EDENIED, NULL}, "private key file"},
    /* psqlODBC has one number for every failure to connect */
    {{"postgresql", "08001", 101, ROWLOCK_EDENIED, NULL}, "password authentication failed"},
    {{"postgresql", "08001", 101, ROWLOCK_EDENIED, NULL}, "no password supplied"},
    {{"postgresql", "08001", 101, ROWLOCK_EDENIED, NULL}, "no pg_hba.conf entry"},
    {{"postgresql", "08001", 101, ROWLOCK_EDENIED, NULL}, "does not exist"},
    {{"postgresql", "08001", 101, ROWLOCK_EDENIED, NULL}, "is not permitted to log in"},
    {{"postgresql", "08001", 101, ROWLOCK_EDENIED, NULL}, "does not support SSL"},
    {{"postgresql", "08001", 101, ROWLOCK_EDENIED, NULL}, "certificate"},
    {{"postgresql", "08001", 101, ROWLOCK_ECONN, no_session}, "too many c"},
    {{"postgresql", "08001", 101, ROWLOCK_ECONN, no_session}, "remaining connection slots"},
    {{"mariadb", NULL, 2026, ROWLOCK_EDENIED, NULL}, "certificate"},
    /* Babelfish has this number for every error of PostgreSQL's without one of SQL Server's */
    {{"sqlserver", NULL, 33557097, ROWLOCK_ETIMEDOUT, NULL}, "lock timeout"},
    {{"sqlserver", NULL, 33557097, ROWLOCK_ESCHEMA, no_schema}, "does not exist"},
    {{"mariadb", NULL, 2026, ROWLOCK_EDENIED, NULL}, "server does not support"},
    /* psqlODBC's own statements around one of ours: a cancel that hits them has no SQLSTATE */
    {{"postgresql", "HY000", 8, ROWLOCK_EABORTED, "roll back and try again"}, "internal SAVEPOINT"},
    {{"postgresql", "HY000", 8, ROWLOCK_EABORTED, "roll back and try again"}, "internal ROLLBACK"},
    /* DB2 has one number for a deadlock and for the end of a wait; by ODBC and by JDBC */
    {{"db2", NULL, -911, ROWLOCK_ETIMEDOUT, rolled_back}, "\"68\""},
    {{"db2", NULL, -911, ROWLOCK_ETIMEDOUT, rolled_back}, "SQLERRMC=68"},
    /* its clock is a column of the present INFORMATION_SCHEMA alone */
    {{"h2", NULL, 42122, ROWLOCK_ESERVER,
      "rowlock reads the clock there; use a URL without OLD_INFORMATION_SCHEMA=TRUE"},
     "EXECUTING_STATEMENT_START"},
    /* no SQLite error has a number for these */
    {{"sqlite", NULL, 1, ROWLOCK_ESCHEMA, no_schema}, "no such table: rowlock_"},
    {{"sqlite", NULL, 1, ROWLOCK_ESCHEMA, no_schema}, "no such table: main.rowlock_"},
    {{"sqlite", NULL, 1, ROWLOCK_ESCHEMA, no_schema}, "no such column: "},
};

static int matches(const struct failure *row, const char *engine, const char *sqlstate, int native)
{
    if (row->engine && strcmp(row->engine, engine) != 0)
        return 0;
    if (row->sqlstate && !*row->sqlstate && *sqlstate)
        return 0;
    if (row->sqlstate && strncmp(row->sqlstate, sqlstate, strlen(row->sqlstate)) != 0)
        return 0;
    if (row->native == 0 || row->native == native)
        return 1;
    /* SQLite's extended codes carry the primary one in their low byte */
    return strcmp(engine, "sqlite") == 0 && row->native < 256 && (native & 0xff) == row->native;
}

static const struct failure *find(const char *engine, const char *sqlstate, int native,
                                  const char *message)
{
    const struct failure *general = NULL;

    for (size_t i = 0; i < sizeof worded / sizeof *worded; i++)
        if (matches(&worded[i].failure, engine, sqlstate, native) &&
            strstr(message, worded[i].words))
            return &worded[i].failure;
    for (size_t i = 0; i < sizeof failures / sizeof *failures; i++) {
        if (!matches(&failures[i], engine, sqlstate, native))
            continue;
        if (failures[i].native == native)
            return &failures[i];
        if (!general)
            general = &failures[i];
    }
    return general;
}

int rowlock__failure(struct rowlock_error *error, const char *engine, const char *sqlstate,
                     int native, const char *message)
{
    const struct failure *found = find(engine, sqlstate ? sqlstate : "", native, message);
    int code = found ? found->code : ROWLOCK_EDB;
    enum rowlock_transaction left = error ? error->transaction : ROWLOCK_TX_NONE;

    if (strncmp(message, "rowlock: ", 9) == 0) /* a prefix for other clients */
        message += 9;

    if (found && found->advice)
        rowlock__fail(error, code, "%s; %s", message, found->advice);
    else
        rowlock__fail(error, code, "%s", message);
    if (!error)
        return code;
    error->native = native;
    error->transaction = left;
    if (sqlstate)
        strncpy(error->sqlstate, sqlstate, sizeof error->sqlstate - 1);
    return code;
}

enum rowlock_transaction rowlock__failure_left(const char *engine, const char *sqlstate, int native,
                                               enum rowlock_transaction otherwise)
{
    for (size_t i = 0; i < sizeof leaves / sizeof *leaves; i++)
        if (matches(&leaves[i].failure, engine, sqlstate ? sqlstate : "", native))
            return leaves[i].left;
    return otherwise;
}

bool rowlock__failure_is_cancel(int code)
{
    return code == ROWLOCK_ETIMEDOUT || code == ROWLOCK_ECANCELED || code == ROWLOCK_EABORTED;
}

bool rowlock__failure_is_by_ddl(const struct rowlock_error *error)
{
    return error->code == ROWLOCK_EABORTED && error->native == ENDED_BY_DDL;
}

int rowlock__cut_off(struct rowlock_error *error, enum rowlock_wake why, bool connecting,
                     bool given_up)
{
    int code = why == ROWLOCK_WAKE_INTERRUPT ? ROWLOCK_ECANCELED
               : connecting                  ? ROWLOCK_ECONN
                                             : ROWLOCK_ETIMEDOUT;

    if (error)
        error->code = code;
    if (error && given_up)
        snprintf(error->text, sizeof error->text,
                 "the server did not answer in time; the connection was given up");
    return code;
}

int rowlock__had_been_lost(struct rowlock_error *error)
{
    rowlock__fail(error, ROWLOCK_ECONN, "the connection had been lost before");
    return rowlock__left(error, ROWLOCK_ECONN, ROWLOCK_TX_DEAD);
}

int rowlock__check_before_commit(int socket, bool *dead, struct rowlock_error *error)
{
    if (!rowlock__has_hung_up(socket))
        return ROWLOCK_OK;
    *dead = true;
    return rowlock__fail(error, ROWLOCK_ECONN, "the connection was lost before COMMIT");
}

static bool ends_with(const struct rowlock_error *error, const char *advice)
{
    size_t length = strlen(error->text), n = advice ? strlen(advice) : 0;

    return n > 0 && n + 2 <= length && strcmp(error->text + length - n, advice) == 0;
}

/* In place of the table's advice at the end of the error's text, if it has one. */
void rowlock__advise(struct rowlock_error *error, const char *advice)
{
    const char *old = NULL;
    size_t length;

    if (!error)
        return;
    for (size_t i = 0; !old && i < sizeof worded / sizeof *worded; i++)
        if (ends_with(error, worded[i].failure.advice))
            old = worded[i].failure.advice;
    for (size_t i = 0; !old && i < sizeof failures / sizeof *failures; i++)
        if (ends_with(error, failures[i].advice))
            old = failures[i].advice;
    length = strlen(error->text) - (old ? strlen(old) + 2 : 0);
    snprintf(error->text + length, sizeof error->text - length, "; %s", advice);
}

int rowlock_is_full(const struct rowlock_error *error)
{
    if (!error)
        return 0;
    return strstr(error->text, no_session) ? 1 : strstr(error->text, NO_ROOM) ? 2 : 0;
}
