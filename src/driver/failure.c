/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The failure table: from each engine's errors to rowlock's codes. The rows were observed on real
 * servers; docs/techniques.md explains the surprising ones. rowlock's own SQL functions raise the
 * SQLSTATEs RLnnn.
 */
#include "driver/failure.h"

#include <stdio.h>
#include <string.h>

#include "util/error.h"

struct failure {
    const char *engine;   /* NULL: any */
    const char *sqlstate; /* NULL: any; two characters: the class; "": none */
    int native;           /* 0: any */
    int code;
    const char *advice; /* appended to the engine's message; NULL: none */
};

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

    {"postgresql", "55P03", 0, ROWLOCK_ETIMEDOUT, NULL},
    {"postgresql", "57014", 0, ROWLOCK_ETIMEDOUT, NULL},
    {"postgresql", "40P01", 0, ROWLOCK_EABORTED, "chosen as the deadlock victim; roll back"},
    {"postgresql", "40001", 0, ROWLOCK_EABORTED, "roll back and try again"},
    {"postgresql", "25P02", 0, ROWLOCK_EABORTED, "an earlier statement failed; roll back"},
    {"postgresql", "25006", 0, ROWLOCK_ESERVER, "rowlock needs a server that can write"},
    {"postgresql", "3F000", 0, ROWLOCK_ESCHEMA, "run: rowlock schema install"},
    {"postgresql", "42883", 0, ROWLOCK_ESCHEMA, "run: rowlock schema install"},
    {"postgresql", "42P01", 0, ROWLOCK_ESCHEMA, "run: rowlock schema install"},
    {"postgresql", "42703", 0, ROWLOCK_ESCHEMA, "run: rowlock schema install"},
    {"postgresql", "42501", 0, ROWLOCK_EDENIED,
     "its owner can grant it: rowlock schema print --grants --role NAME"},
    {"postgresql", "28", 0, ROWLOCK_EDENIED, NULL},
    {"postgresql", "3D000", 0, ROWLOCK_EDENIED, NULL},
    {"postgresql", "57P", 0, ROWLOCK_ECONN, NULL},
    {"postgresql", "25P03", 0, ROWLOCK_ECONN, NULL},
    {"postgresql", "53300", 0, ROWLOCK_ECONN, NULL},
    {"postgresql", "08", 0, ROWLOCK_ECONN, NULL},
    {"postgresql", "22021", 0, ROWLOCK_EINVAL, "a name must be UTF-8"},
    {"postgresql", "22P05", 0, ROWLOCK_EINVAL, "the database's encoding lacks a character of it"},
    {"postgresql", "0A000", 0, ROWLOCK_ESERVER,
     "a lock on a standby would exclude no other session"},

    {"mariadb", NULL, 1205, ROWLOCK_ETIMEDOUT, NULL},
    {"mariadb", NULL, 1969, ROWLOCK_ETIMEDOUT, NULL},
    {"mariadb", NULL, 3024, ROWLOCK_ETIMEDOUT, NULL},
    {"mariadb", NULL, 1317, ROWLOCK_ECANCELED, NULL},
    {"mariadb", NULL, 1213, ROWLOCK_EROLLEDBACK,
     "the whole transaction was rolled back; begin again"},
    {"mariadb", NULL, 1020, ROWLOCK_ESNAPSHOT, "roll back and begin again"},
    {"mariadb", NULL, 1305, ROWLOCK_ESCHEMA, "run: rowlock schema install"},
    {"mariadb", NULL, 1146, ROWLOCK_ESCHEMA, "run: rowlock schema install"},
    {"mariadb", NULL, 1054, ROWLOCK_ESCHEMA, "run: rowlock schema install"},
    {"mariadb", NULL, 1356, ROWLOCK_ESCHEMA,
     "run: rowlock schema install"}, /* a view without its table */
    {"mariadb", NULL, 1049, ROWLOCK_EDENIED, NULL},
    {"mariadb", NULL, 1046, ROWLOCK_EINVAL, "name a database in the URL or choose one by USE"},
    {"mariadb", NULL, 1044, ROWLOCK_EDENIED, NULL},
    {"mariadb", NULL, 1045, ROWLOCK_EDENIED, NULL},
    {"mariadb", NULL, 1698, ROWLOCK_EDENIED, NULL},
    {"mariadb", NULL, 1130, ROWLOCK_EDENIED, NULL}, /* no account for this host */
    {"mariadb", NULL, 1129, ROWLOCK_EDENIED, NULL}, /* the host is blocked until FLUSH HOSTS */
    {"mariadb", NULL, 1251, ROWLOCK_EDENIED, NULL}, /* authentication that the client lacks */
    {"mariadb", NULL, 1820, ROWLOCK_EDENIED, NULL}, /* the password has expired */
    {"mariadb", NULL, 1862, ROWLOCK_EDENIED, NULL},
    {"mariadb", NULL, 2059, ROWLOCK_EDENIED, NULL}, /* a plugin that the client lacks */
    {"mariadb", NULL, 3118, ROWLOCK_EDENIED, NULL}, /* the account is locked: MySQL, MariaDB */
    {"mariadb", NULL, 4151, ROWLOCK_EDENIED, NULL},
    {"mariadb", NULL, 1142, ROWLOCK_EDENIED,
     "its owner can grant it: rowlock schema print --grants --role NAME"},
    {"mariadb", NULL, 1227, ROWLOCK_EDENIED, NULL},
    {"mariadb", NULL, 1370, ROWLOCK_EDENIED,
     "its owner can grant it: rowlock schema print --grants --role NAME"},
    {"mariadb", NULL, 1290, ROWLOCK_ESERVER, "rowlock needs a server that can write"},
    {"mariadb", NULL, 1792, ROWLOCK_ESERVER, "the transaction is READ ONLY"},
    {"mariadb", NULL, 1836, ROWLOCK_ESERVER, "rowlock needs a server that can write"},
    {"mariadb", NULL, 1047, ROWLOCK_ESERVER, NULL},
    {"mariadb", NULL, 1040, ROWLOCK_ECONN, NULL},
    {"mariadb", NULL, 1203, ROWLOCK_ECONN, NULL}, /* of this account, too many connections */
    {"mariadb", NULL, 1226, ROWLOCK_ECONN, NULL},
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

    {"sqlite", NULL, 5, ROWLOCK_ETIMEDOUT, NULL}, /* SQLITE_BUSY */
    {"sqlite", NULL, 517, ROWLOCK_ESNAPSHOT, "roll back and begin with BEGIN IMMEDIATE"},
    {"sqlite", NULL, 6, ROWLOCK_ETIMEDOUT, NULL}, /* SQLITE_LOCKED */
    {"sqlite", NULL, 7, ROWLOCK_ENOMEM, NULL},    /* SQLITE_NOMEM */
    {"sqlite", NULL, 8, ROWLOCK_ESERVER, "the file or its folder is read-only"},
    {"sqlite", NULL, 9, ROWLOCK_ECANCELED, NULL}, /* SQLITE_INTERRUPT */
    {"sqlite", NULL, 10, ROWLOCK_EDB,             /* SQLITE_IOERR */
     "is the disk full, or the size of files limited (df, ulimit -f)? or was the file deleted or "
     "restored without its -wal and -shm? all commits are kept"},
    {"sqlite", NULL, 13, ROWLOCK_EDB, "the disk is full; all commits are kept"},
    {"sqlite", NULL, 14, ROWLOCK_ECONN, "the file cannot be opened or created"},
    {"sqlite", NULL, 26, ROWLOCK_EINVAL, "the file is not a SQLite database"},
    {"sqlite", NULL, 3, ROWLOCK_EDENIED, NULL}, /* SQLITE_PERM */
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
    {{"mariadb", NULL, 2026, ROWLOCK_EDENIED, NULL}, "certificate"},
    {{"mariadb", NULL, 2026, ROWLOCK_EDENIED, NULL}, "server does not support"},
    /* no SQLite error has a number for these */
    {{"sqlite", NULL, 1, ROWLOCK_ESCHEMA, "run: rowlock schema install"},
     "no such table: rowlock_"},
    {{"sqlite", NULL, 1, ROWLOCK_ESCHEMA, "run: rowlock schema install"},
     "no such table: main.rowlock_"},
    {{"sqlite", NULL, 1, ROWLOCK_ESCHEMA, "run: rowlock schema install"}, "no such column: "},
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

void rowlock__advise(struct rowlock_error *error, const char *advice)
{
    size_t length = error ? strlen(error->text) : 0;

    for (size_t i = 0; error && i < sizeof failures / sizeof *failures; i++) {
        const char *old = failures[i].advice;

        if (old && strlen(old) + 2 <= length &&
            strcmp(error->text + length - strlen(old), old) == 0) {
            length -= strlen(old) + 2;
            break;
        }
    }
    if (error)
        snprintf(error->text + length, sizeof error->text - length, "; %s", advice);
}
