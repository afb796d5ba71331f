/* SPDX-License-Identifier: Apache-2.0 */
/* The verb release: releases a lease by its token. */
#include <inttypes.h>
#include <stdio.h>

#include "command/output/json.h"
#include "run/lease/take.h"

/* A broken or expired lease cannot be adopted while its row exists: removes the row, so that the
   name is free. */
static int remove_lost(const struct lease_argument *argument)
{
    int64_t removed = 0;

    if (rowlock_break(argument->connection, argument->name, argument->token, 1, &removed, NULL) ==
            0 &&
        removed > 0) {
        message("the lease of '%s' had expired or was broken; it is removed, and the work under it "
                "may have overlapped with another holder's",
                argument->name);
        return STATUS_LOST;
    }
    message("%s: 'rowlock ls %s%s' shows what there is; if it was not released, the work under it "
            "may have overlapped with another holder's",
            argument->error.text, before_name(argument->name), argument->name);
    return STATUS_LOST;
}

int cmd_release(struct command *command)
{
    struct lease_argument argument;
    int status;

    read_lease_argument(command, 0, &argument);
    status = adopt_lease(command, &argument);
    if (argument.lease)
        status =
            rowlock_release(argument.lease, &argument.error) ? report_lease(&argument) : STATUS_OK;
    else if (argument.error.code == ROWLOCK_ELOST)
        status = remove_lost(&argument);
    else if (argument.connection)
        status = report_lease(&argument);
    if (command->json && (status == STATUS_OK || status == STATUS_LOST)) {
        fputs("{\"name\":", stdout);
        json_text(stdout, argument.name);
        printf(",\"token\":%" PRId64 ",\"released\":%s}\n", argument.token,
               status == STATUS_OK ? "true" : "false");
    }
    rowlock_lease_free(argument.lease);
    rowlock_close(argument.connection);
    return status;
}
