/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "command/lease/argument.h"
#include "command/lease/print.h"

#define STATUS_FREE 1

struct listing {
    int json;
    int held;
    int failed;
    struct list_json array; /* into text, so that a list that breaks off is not printed */
    char *text;
    size_t size;
    struct table table;
};

static int visit(const struct rowlock_holder *holder, void *data)
{
    struct listing *listing = data;

    if (holder->holding != ROWLOCK_WAITS)
        listing->held = 1;
    if (listing->json)
        return list_json_add(holder, &listing->array);
    return listing->failed = list_table_add(holder, &listing->table);
}

static void print_table(struct table *table)
{
    table_sort(table);
    table_print(table);
}

static int print(struct listing *listing, const char *name)
{
    if (listing->failed) {
        message("out of memory");
        return STATUS_FAILED;
    }
    if (listing->json)
        fwrite(listing->text, 1, listing->size, stdout);
    else if (listing->table.n > 0)
        print_table(&listing->table);
    else if (isatty(STDERR_FILENO) && name)
        message("nobody holds a lease of '%s', and no transaction is seen holding it", name);
    else if (isatty(STDERR_FILENO))
        message("nobody holds a lease, and nobody waits for one");
    return !name || listing->held ? STATUS_OK : STATUS_FREE;
}

static int list(const char *name, struct rowlock_connection *connection, struct listing *listing)
{
    struct rowlock_error error;
    int code;

    listing->array.out = open_memstream(&listing->text, &listing->size);
    if (!listing->array.out) {
        message("out of memory");
        return STATUS_FAILED;
    }
    code = rowlock_list(connection, name, visit, listing, &error);
    list_json_end(&listing->array);
    fclose(listing->array.out);
    return code ? report(&error) : print(listing, name);
}

int cmd_ls(struct command *command)
{
    struct rowlock_connection *connection = NULL;
    struct listing listing = {.table = list_table()};
    const char *name = NULL;
    int status;

    while (next_option(command, NULL, NULL) != -1)
        ;
    if (command->n_operands + command->n_rest > 0)
        name = one_name(command);
    listing.json = command->json;
    status = connect_by_lookup(command, &connection);
    if (!status)
        status = list(name, connection, &listing);
    table_free(&listing.table);
    free(listing.text);
    rowlock_close(connection);
    return status;
}
