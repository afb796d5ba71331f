/* SPDX-License-Identifier: Apache-2.0 */
/* The verb release: releases a lease by its token. */
#include <inttypes.h>
#include <stdio.h>

#include "command/output/json.h"
#include "run/lease/take.h"

/* A broken or expired lease cannot be adopted while its row exists: removes the row, so that the
   name is free. */
static int remove_lost(struct rowlock_connection *connection, const struct lease_argument *argument)
{
    int64_t removed = 0;

    if (rowlock_break(connection, argument->name, argument->token, 1, &removed, NULL) == 0 &&
        removed > 0) {
        message("the lease of '%s' had expired or was broken; it is removed, and the work under it "
                "may have overlapped with another holder's",
                argument->name);
        return STATUS_LOST;
    }
    message("there is no lease %" PRId64
            " of '%s' any more: it was released already, or has ended; if "
            "it was not released, the work under it may have overlapped with another holder's",
            argument->token, argument->name);
    return STATUS_LOST;
}

int cmd_release(struct command *command)
{
    struct rowlock_connection *connection = NULL;
    struct rowlock_lease *lease = NULL;
    struct lease_argument argument;
    struct rowlock_error error;
    int status;

    read_lease_argument(command, 0, &argument);
    status = adopt_lease(command, &argument, &connection, &lease, &error);
    if (lease)
        status = rowlock_release(lease, &error) ? report_lease(connection, &argument, &error)
                                                : STATUS_OK;
    else if (error.code == ROWLOCK_ELOST)
        status = remove_lost(connection, &argument);
    else if (connection)
        status = report_lease(connection, &argument, &error);
    if (command->json && (status == STATUS_OK || status == STATUS_LOST)) {
        fputs("{\"name\":", stdout);
        json_text(stdout, argument.name);
        fputs(",\"token\":", stdout);
        json_number(stdout, argument.token);
        printf(",\"released\":%s}\n", status == STATUS_OK ? "true" : "false");
    }
    rowlock_lease_free(lease);
    rowlock_close(connection);
    return status;
}
