/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two locks at once: both or none. The library sorts them, so two programs that name them in
 * different order do not deadlock.
 *
 *   two_locks URL     sqlite:PATH, postgresql://..., mariadb://...
 */
#include <stdio.h>

#include "rowlock.h"

static int transfer(struct rowlock_connection *connection, struct rowlock_error *error)
{
    const struct rowlock_want accounts[] = {{.name = "AccountBO:42", .mode = ROWLOCK_EXCLUSIVE},
                                            {.name = "AccountBO:7", .mode = ROWLOCK_EXCLUSIVE}};
    int code = rowlock_begin(connection, accounts, 2, 5000, error); /* waits at most 5 s */

    if (code)
        return code;
    puts("both accounts are ours until we commit");
    return rowlock_commit(connection, error);
}

int main(int argc, char **argv)
{
    struct rowlock_connection *connection = NULL;
    struct rowlock_error error;
    int code;

    if (argc != 2) {
        fputs("usage: two_locks URL\n", stderr);
        return 64;
    }
    code = rowlock_open(argv[1], NULL, &connection, &error);
    if (!code)
        code = transfer(connection, &error);
    if (code)
        fprintf(stderr, "%s: %s\n", rowlock_strerror(code), error.text);
    else
        puts("committed; both unlocked");
    rowlock_close(connection);
    return code != 0;
}
