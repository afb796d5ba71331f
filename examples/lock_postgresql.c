/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A lock on your own PGconn, in your own transaction. COMMIT releases it.
 *
 *   lock_postgresql 'host=/run/postgresql dbname=test'     after: rowlock schema install
 */
#include <libpq-fe.h>
#include <stdio.h>

#include "rowlock/postgresql.h"

static int run(PGconn *mine, const char *sql)
{
    PGresult *result = PQexec(mine, sql);
    ExecStatusType status = PQresultStatus(result);

    if (status == PGRES_TUPLES_OK)
        printf("%s\n", PQgetvalue(result, 0, 0));
    else if (status != PGRES_COMMAND_OK)
        fputs(PQerrorMessage(mine), stderr);
    PQclear(result);
    return status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK;
}

int main(int argc, char **argv)
{
    const struct rowlock_want bond = {.name = "BondBO:DK0015966592", .mode = ROWLOCK_EXCLUSIVE};
    struct rowlock_connection *locks = NULL;
    struct rowlock_error error;
    PGconn *mine = PQconnectdb(argc > 1 ? argv[1] : "");
    int failed = 1;

    if (PQstatus(mine) != CONNECTION_OK) {
        fputs(PQerrorMessage(mine), stderr);
        goto out;
    }
    if (rowlock_postgresql_wrap(mine, NULL, &locks, &error))
        goto rowlock_failed;
    if (run(mine, "BEGIN ISOLATION LEVEL READ COMMITTED"))
        goto out;
    if (rowlock_lock(locks, &bond, 1, 5000, &error)) /* waits at most 5 s */
        goto rowlock_failed;
    if (run(mine, "SELECT 'this bond is locked until we commit'") || run(mine, "COMMIT"))
        goto out;
    puts("committed and unlocked");
    failed = 0;
    goto out;
rowlock_failed:
    fprintf(stderr, "%s\n", error.text);
out:
    rowlock_close(locks); /* leaves the PGconn alone */
    PQfinish(mine);
    return failed;
}
