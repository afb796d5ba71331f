/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Locks beneath your own lease: a command of `rowlock run` locks, in its own transactions, the same
 * name that it runs under. It presents the token of the lease; commands with the same token exclude
 * each other.
 *
 *   rowlock run x -- own_lease URL x TIMES 'SHELL COMMAND'      runs it TIMES times under the lock
 */
#include <stdio.h>
#include <stdlib.h>

#include "rowlock.h"

static int run_locked(struct rowlock_connection *connection, const struct rowlock_want *want,
                      const char *command, struct rowlock_error *error)
{
    int code = rowlock_begin(connection, want, 1, 60000, error); /* waits at most 60 s */

    if (code)
        return code;
    if (system(command) != 0) {
        fprintf(stderr, "%s: failed\n", command);
        exit(1); /* this rolls back and unlocks */
    }
    return rowlock_commit(connection, error);
}

int main(int argc, char **argv)
{
    const char *token = getenv("ROWLOCK_TOKEN");
    struct rowlock_connection *connection = NULL;
    struct rowlock_want want = {.token = token ? atoll(token) : 0};
    struct rowlock_error error;
    int code;

    if (argc != 5) {
        fputs("usage: own_lease URL NAME TIMES 'SHELL COMMAND'\n", stderr);
        return 64;
    }
    want.name = argv[2];
    code = rowlock_open(argv[1], NULL, &connection, &error);
    for (int i = atoi(argv[3]); i > 0 && !code; i--)
        code = run_locked(connection, &want, argv[4], &error);
    if (code)
        fprintf(stderr, "%s: %s\n", rowlock_strerror(code), error.text);
    rowlock_close(connection);
    return code != 0;
}
