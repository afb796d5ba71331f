/* SPDX-License-Identifier: Apache-2.0 */
/* The verb renew: renews a lease by its token. */
#include <inttypes.h>

#include "run/lease/take.h"
#include "run/supervise/child.h"
#include "util/renewal.h"

int cmd_renew(struct command *command)
{
    struct lease_argument argument;
    int status;

    read_lease_argument(command, 1, &argument);
    if (argument.guard_fd)
        return stand_in(&(struct stand_in_argument){argument.name, argument.token, argument.ttl_ms,
                                                    argument.url_fd, argument.guard_fd});
    status = adopt_lease(command, &argument);
    if (argument.lease)
        status = exit_status(rowlock_renew(
            argument.lease, argument.ttl_ms ? argument.ttl_ms : ROWLOCK_TTL_MS, &argument.error));
    if (status && argument.connection)
        report_lease(&argument);
    if (!status && argument.ttl_ms && lease_is_endless(argument.lease))
        message("'%s' is held until it is released; --ttl does not shorten that: rowlock release "
                "%s'%s' --token %" PRId64 " ends it",
                argument.name, before_name(argument.name), argument.name, argument.token);
    if (!status && command->json)
        print_lease_json(&(struct rowlock_want){.name = argument.name}, 1, argument.lease,
                         lease_expires(argument.connection, argument.name, argument.token));
    rowlock_lease_free(argument.lease);
    rowlock_close(argument.connection);
    return status;
}
