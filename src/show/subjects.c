/* SPDX-License-Identifier: Apache-2.0 */
/* The verb subjects: lists the subjects of refresh and their status. */
#include <unistd.h>

#include "command/lock_options.h"
#include "show/lists/lists.h"

#define STATUS_UNKNOWN 1

static int visit(const struct rowlock_subject_view *subject, void *data)
{
    return listing_add(data, subject);
}

static int list(const char *name, struct rowlock_connection *connection, struct listing *listing)
{
    struct rowlock_error error;
    int status = listing_open(listing);

    if (status)
        return status;
    if (rowlock_subjects(connection, name, visit, listing, &error))
        return report(&error);
    status = listing_print(listing);
    if (status || !listing_is_empty(listing))
        return status;
    if (!listing->json && name)
        message("'%s' was never refreshed", shown(name));
    else if (!listing->json && isatty(STDERR_FILENO))
        message("no subject was refreshed yet");
    return name ? STATUS_UNKNOWN : STATUS_OK;
}

int cmd_subjects(struct command *command)
{
    struct listing listing = {.table.list = &subject_list};
    struct rowlock_connection *connection = NULL;
    const char *name = NULL;
    int status;

    scan_options(command, NULL);
    if (command->n_operands + command->n_rest > 0)
        name = one_name(command);
    listing.json = command->json;
    status = connect_by_lookup(command, &connection);
    if (!status)
        status = list(name, connection, &listing);
    listing_free(&listing);
    rowlock_close(connection);
    return status;
}
