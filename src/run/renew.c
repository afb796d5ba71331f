/* SPDX-License-Identifier: Apache-2.0 */
/* The verb renew: renews a lease by its token. */
#include <inttypes.h>

#include "command/output/json.h"
#include "run/lease/take.h"
#include "run/supervise/child.h"
#include "util/renewal.h"

static void print(const struct command *command, const struct lease_argument *argument,
                  struct rowlock_connection *connection, struct rowlock_lease *lease)
{
    struct rowlock_want want = {.name = argument->name};

    if (argument->ttl_ms && lease_is_endless(lease))
        message("'%s' is held until it is released; --ttl does not shorten that: rowlock release "
                "%s'%s' --token %" PRId64 " ends it",
                argument->name, before_name(argument->name), argument->name, argument->token);
    if (command->json)
        print_lease_json(&want, 1, lease,
                         lease_expires(connection, argument->name, argument->token));
}

int cmd_renew(struct command *command)
{
    struct rowlock_connection *connection = NULL;
    struct rowlock_lease *lease = NULL;
    struct lease_argument argument;
    struct rowlock_error error;
    int status;

    read_lease_argument(command, 1, &argument);
    if (argument.guard_fd)
        return stand_in(&(struct stand_in_argument){argument.name, argument.token, argument.ttl_ms,
                                                    argument.url_fd, argument.guard_fd});
    status = adopt_lease(command, &argument, &connection, &lease, &error);
    if (lease)
        status = exit_status(
            rowlock_renew(lease, argument.ttl_ms ? argument.ttl_ms : ROWLOCK_TTL_MS, &error));
    if (status && connection)
        report_lease(connection, &argument, &error);
    else if (!status)
        print(command, &argument, connection, lease);
    rowlock_lease_free(lease);
    rowlock_close(connection);
    return status;
}
