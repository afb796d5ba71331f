/* SPDX-License-Identifier: Apache-2.0 */
/* The verb vacuum: removes unused rows. */
#include <inttypes.h>
#include <stdio.h>

#include "command/command.h"

int cmd_vacuum(struct command *command)
{
    struct rowlock_connection *connection = NULL;
    struct rowlock_error error;
    char *missing = NULL;
    int64_t removed = 0;
    int status;

    read_operands(command, 0);
    status = connect_by_lookup(command, &connection);
    if (status)
        return status;
    if (rowlock_vacuum(connection, &removed, &error)) {
        status = report(&error);
    } else {
        printf(command->json ? "{\"removed\":%" PRId64 "}\n" : "%" PRId64 " rows removed\n",
               removed);
        /* A missing part prevented nothing, but an administrator should know. */
        if (rowlock_missing(connection, &missing, NULL) == 0 && missing)
            message("missing, or hidden from this account: %s; to put it back: rowlock schema "
                    "install",
                    missing);
    }
    rowlock_free(missing);
    rowlock_close(connection);
    return status;
}
