/* SPDX-License-Identifier: Apache-2.0 */
/* ls: the holders and waiters of all names, or of one. */
#include <unistd.h>

#include "command/lease/argument.h"
#include "command/lease/print.h"
#include "command/output/listing.h"

#define STATUS_FREE 1

struct holders {
    struct listing listing;
    int held;
};

static int visit(const struct rowlock_holder *holder, void *data)
{
    struct holders *holders = data;
    struct listing *listing = &holders->listing;

    if (holder->holding != ROWLOCK_WAITS)
        holders->held = 1;
    if (!listing->json)
        return listing->failed = list_table_add(holder, &listing->table);
    put_holder(listing_next(listing), holder);
    return 0;
}

static void print_empty(const char *name)
{
    if (name)
        message("no lease of '%s' is held, and the database reports no transaction that holds it",
                name);
    else
        message("no lease is held or waited for");
}

static int list(const char *name, struct rowlock_connection *connection, struct holders *holders)
{
    struct listing *listing = &holders->listing;
    struct rowlock_error error;
    int status = listing_open(listing);

    if (status)
        return status;
    if (rowlock_list(connection, name, visit, holders, &error))
        return report(&error);
    listing_end(listing);
    table_sort(&listing->table);
    status = listing_print(listing);
    if (!status && !listing->json && listing_is_empty(listing) && isatty(STDERR_FILENO))
        print_empty(name);
    return status || !name || holders->held ? status : STATUS_FREE;
}

int cmd_ls(struct command *command)
{
    struct rowlock_connection *connection = NULL;
    struct holders holders = {.listing.table = list_table()};
    const char *name = NULL;
    int status;

    while (next_option(command, NULL, NULL) != -1)
        ;
    if (command->n_operands + command->n_rest > 0)
        name = one_name(command);
    holders.listing.json = command->json;
    status = connect_by_lookup(command, &connection);
    if (!status)
        status = list(name, connection, &holders);
    listing_free(&holders.listing);
    rowlock_close(connection);
    return status;
}
