/* SPDX-License-Identifier: Apache-2.0 */
/* ls: the holders and waiters of all names, of one, or of those that match a pattern; --tree: as a
   tree across names. */
#include <fnmatch.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include "command/lock_options.h"
#include "show/lists/lists.h"
#include "show/tree/lock_tree.h"

#define STATUS_FREE 1

struct holders {
    struct listing listing;
    const char *name, *glob; /* at most one of them; NULL: all names */
    int held;
    int as_tree;
    struct lock_tree tree;
};

static int visit(const struct rowlock_holder *holder, void *data)
{
    struct holders *holders = data;
    int fits = !holders->glob || fnmatch(holders->glob, holder->name, 0) == 0;

    if (fits && holder->holding != ROWLOCK_WAITS)
        holders->held = 1;
    if (holders->as_tree)
        return holders->listing.failed = tree_add(holder, &holders->tree);
    return fits ? listing_add(&holders->listing, holder) : 0;
}

/* The rows of the tree's only root are complete already. */
static int visit_others(const struct rowlock_holder *holder, void *data)
{
    struct holders *holders = data;

    if (strcmp(holder->name, holders->tree.root) == 0)
        return 0;
    return holders->listing.failed = tree_add(holder, &holders->tree);
}

static int list(struct rowlock_connection *connection, struct holders *holders)
{
    struct listing *listing = &holders->listing;
    struct rowlock_error error;
    int status = listing_open(listing), explains = !listing->json && isatty(STDERR_FILENO), code;

    if (status)
        return status;
    /* A list of one name reports more of its holders than the list of all names does. A pattern is
       compared here, because rowlock_list_some() reports no transactions on some databases. */
    code = rowlock_list(connection, holders->name, visit, holders, &error);
    if (!code && holders->as_tree && holders->name)
        code = rowlock_list(connection, NULL, visit_others, holders, &error);
    if (code)
        return report(&error);
    if (!holders->as_tree)
        table_sort(&listing->table);
    else if (tree_grow(&holders->tree) || tree_table_add(&holders->tree, 0, &listing->table))
        listing->failed = 1;
    status = listing_print(listing);
    if (status)
        return status;
    if (explains && listing_is_empty(listing) && holders->name)
        message("no lease of '%s' is held, and the database reports no transaction that holds it",
                shown(holders->name));
    else if (explains && listing_is_empty(listing) && holders->glob)
        message("no name that is held or waited for matches '%s'; rowlock ls lists all",
                shown(holders->glob));
    else if (explains && listing_is_empty(listing))
        message("no lease is held or waited for");
    /* No engine reports the name of every transaction lock, and SQLite none. */
    if (explains && !holders->name)
        message("transactions may be missing; see rowlock ls NAME");
    return holders->held || (!holders->name && !holders->glob) ? STATUS_OK : STATUS_FREE;
}

int cmd_ls(struct command *command)
{
    static const struct option_row options[] = {
        {"tree", 0, no_argument, set_flag, offsetof(struct holders, as_tree), 0, 0}, {0}};
    struct rowlock_connection *connection = NULL;
    struct holders holders = {0};
    int status;

    scan_own_options(command, options, &holders);
    if (command->n_operands + command->n_rest > 0) {
        /* A word with a special character is a pattern, as in `log`, unless --name states a
           name. */
        const char *word = one_name(command);

        if (strpbrk(word, "*?[") && !command->has_name_option) {
            check_pattern(command, word);
            holders.glob = word;
        } else {
            holders.name = word;
        }
    }
    holders.listing.json = command->json;
    holders.as_tree &= !command->json;
    holders.listing.table.list = holders.as_tree ? &tree_list : &holder_list;
    holders.tree.order = ROWLOCK_BY_NAME;
    holders.tree.root = holders.name;
    holders.tree.glob = holders.glob;
    status = connect_by_lookup(command, &connection);
    if (!status) {
        warn_of_schema(connection);
        status = list(connection, &holders);
    }
    listing_free(&holders.listing);
    tree_free(&holders.tree);
    rowlock_close(connection);
    return status;
}
