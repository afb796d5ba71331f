/* SPDX-License-Identifier: Apache-2.0 */
/* The verb expire: marks a subject as stale. */
#include <stdio.h>

#include "command/lock_options.h"

int cmd_expire(struct command *command)
{
    struct rowlock_connection *connection = NULL;
    struct rowlock_error error;
    const char *subject;
    int status, known = 0;

    scan_options(command, NULL);
    subject = one_name(command);
    command->is_farm_wide = 1;
    status = connect_by_lookup(command, &connection);
    if (!status && rowlock_expire(connection, subject, &known, &error))
        status = report(&error);
    else if (!status && command->json)
        printf("{\"expired\":%s}\n", known ? "true" : "false");
    else if (!status && !known)
        message("'%s' was never refreshed: nothing to expire", shown(subject));
    rowlock_close(connection);
    return status;
}
