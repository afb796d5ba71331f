/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>

#include "command/json.h"
#include "command/lease_argument.h"

#define STATUS_NOT_VALID 1

static void print_json(const struct lease_argument *argument, const struct rowlock_lease *lease)
{
    fputs("{\"name\":", stdout);
    json_text(stdout, argument->name);
    printf(",\"token\":%" PRId64 ",\"valid\":%s,\"left_ms\":%" PRId64 "}\n", argument->token,
           lease ? "true" : "false", lease ? rowlock_left(lease) : 0);
}

static int answer(const struct command *command, const struct lease_argument *argument,
                  struct rowlock_connection *connection, const struct rowlock_lease *lease,
                  const struct rowlock_error *error)
{
    if (!lease && error->code != ROWLOCK_ELOST)
        return report(error);
    if (command->json)
        print_json(argument, lease);
    else if (lease)
        printf("valid, %.1f s left\n", (double)rowlock_left(lease) / 1000);
    else
        report_lease(connection, argument, error);
    return lease ? STATUS_OK : STATUS_NOT_VALID;
}

int cmd_check(struct command *command)
{
    struct rowlock_connection *connection = NULL;
    struct rowlock_lease *lease = NULL;
    struct lease_argument argument;
    struct rowlock_error error;
    int status;

    read_lease_argument(command, 0, &argument);
    status = adopt_lease(command, &argument, &connection, &lease, &error);
    if (connection)
        status = answer(command, &argument, connection, lease, &error);
    rowlock_lease_free(lease);
    rowlock_close(connection);
    return status;
}
