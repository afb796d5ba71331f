/* SPDX-License-Identifier: Apache-2.0 */
/* request URL NAME transaction|session SECONDS COMMAND: runs a shell command under a lock, as
   programs do by DBMS_LOCK.REQUEST or sp_getapplock. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rowlock.h"

/* release_on_commit => TRUE, or @LockOwner = 'Transaction': COMMIT releases the lock. */
static int in_transaction(struct rowlock_connection *connection, const struct rowlock_want *want,
                          int seconds, const char *command, struct rowlock_error *error)
{
    int code = rowlock_begin(connection, want, 1, seconds * 1000, error);

    if (code)
        return code;
    if (system(command) != 0)
        exit(1); /* this rolls back, and releases the lock */
    return rowlock_commit(connection, error);
}

/* release_on_commit => FALSE, or @LockOwner = 'Session': a lease, which a thread renews. */
static int as_lease(struct rowlock_connection *connection, const struct rowlock_want *want,
                    int seconds, const char *command, struct rowlock_error *error)
{
    struct rowlock_terms terms = {.wait_ms = seconds * 1000};
    struct rowlock_lease *lease = NULL;
    int code = rowlock_acquire(connection, want, 1, &terms, &lease, error);

    if (!code)
        code = rowlock_auto_renew(lease, NULL, NULL, error);
    if (!code && system(command) != 0)
        fprintf(stderr, "%s: failed\n", command);
    if (!code)
        code = rowlock_release(lease, error); /* ELOST: it ended before the command did */
    rowlock_lease_free(lease);
    return code;
}

int main(int argc, char **argv)
{
    struct rowlock_want want = {.mode = ROWLOCK_EXCLUSIVE};
    struct rowlock_connection *connection = NULL;
    struct rowlock_error error;
    int code;

    if (argc != 6) {
        fputs("usage: request URL NAME transaction|session SECONDS COMMAND\n", stderr);
        return 64;
    }
    want.name = argv[2];
    code = rowlock_open(argv[1], NULL, &connection, &error);
    if (!code && strcmp(argv[3], "transaction") == 0)
        code = in_transaction(connection, &want, atoi(argv[4]), argv[5], &error);
    else if (!code)
        code = as_lease(connection, &want, atoi(argv[4]), argv[5], &error);
    if (code)
        fprintf(stderr, "%s: %s\n", rowlock_error_name(code), error.text);
    rowlock_close(connection);
    return code != 0;
}
