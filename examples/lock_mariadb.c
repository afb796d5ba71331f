/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A lock on your own MYSQL: begins and locks in one round trip, then runs your statements.
 *
 *   lock_mariadb SOCKET USER DATABASE     after: rowlock schema install
 */
#include <mysql.h>
#include <stdio.h>

#include "rowlock/mariadb.h"

static int run(MYSQL *mine, const char *sql)
{
    MYSQL_RES *result;
    MYSQL_ROW row;

    if (mysql_query(mine, sql)) {
        fprintf(stderr, "%s\n", mysql_error(mine));
        return 1;
    }
    result = mysql_store_result(mine);
    row = result ? mysql_fetch_row(result) : NULL;
    if (row)
        printf("%s\n", row[0]);
    mysql_free_result(result);
    return 0;
}

int main(int argc, char **argv)
{
    const struct rowlock_want bond = {.name = "BondBO:DK0015966592", .mode = ROWLOCK_EXCLUSIVE};
    struct rowlock_connection *locks = NULL;
    struct rowlock_error error;
    MYSQL *mine = mysql_init(NULL);
    int failed = 1;

    if (!mine || argc != 4 ||
        !mysql_real_connect(mine, NULL, argv[2], NULL, argv[3], 0, argv[1], 0)) {
        fprintf(stderr, "%s\n", argc == 4 ? mysql_error(mine) : "SOCKET USER DATABASE");
        goto out;
    }
    if (rowlock_mariadb_wrap(mine, NULL, &locks, &error) ||
        rowlock_begin(locks, &bond, 1, 5000, &error)) { /* waits at most 5 s */
        fprintf(stderr, "%s\n", error.text);
        goto out;
    }
    if (run(mine, "SELECT 'this bond is locked until we commit'") || run(mine, "COMMIT"))
        goto out;
    puts("committed and unlocked");
    failed = 0;
out:
    rowlock_close(locks); /* leaves the MYSQL alone */
    mysql_close(mine);
    return failed;
}
