/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A lock on your own sqlite3. There is nothing to install: it creates the tables on first use.
 *
 *   lock_sqlite FILE
 */
#include <sqlite3.h>
#include <stdio.h>

#include "rowlock/sqlite.h"

static int run(sqlite3 *mine, const char *sql)
{
    if (sqlite3_exec(mine, sql, NULL, NULL, NULL) == SQLITE_OK)
        return 0;
    fprintf(stderr, "%s\n", sqlite3_errmsg(mine));
    return 1;
}

int main(int argc, char **argv)
{
    const struct rowlock_want bond = {.name = "BondBO:DK0015966592", .mode = ROWLOCK_EXCLUSIVE};
    struct rowlock_connection *locks = NULL;
    struct rowlock_error error;
    sqlite3 *mine = NULL;
    int failed = 1;

    if (sqlite3_open(argc > 1 ? argv[1] : "example.db", &mine)) {
        fprintf(stderr, "%s\n", sqlite3_errmsg(mine));
        goto out;
    }
    if (rowlock_sqlite_wrap(mine, NULL, &locks, &error) || rowlock_install(locks, NULL, &error) ||
        rowlock_begin(locks, &bond, 1, 5000, &error)) { /* waits at most 5 s */
        fprintf(stderr, "%s\n", error.text);
        goto out;
    }
    if (run(mine, "CREATE TABLE IF NOT EXISTS bond (isin TEXT PRIMARY KEY, handled INTEGER)") ||
        run(mine, "INSERT INTO bond VALUES ('DK0015966592', 1)"
                  " ON CONFLICT (isin) DO UPDATE SET handled = handled + 1"))
        goto out;
    puts("no other program writes this file until we commit");
    if (run(mine, "COMMIT"))
        goto out;
    puts("committed and unlocked");
    failed = 0;
out:
    rowlock_close(locks); /* leaves the sqlite3 alone */
    sqlite3_close(mine);
    return failed;
}
