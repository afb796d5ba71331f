/* SPDX-License-Identifier: Apache-2.0 */
/* The verb subjects: lists the subjects of refresh and their status. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "command/lock_options.h"
#include "show/lists/listing.h"
#include "show/lists/subject_columns.h"

#define STATUS_UNKNOWN 1

/* ---- the table ------------------------------------------------------------------------------- */

#define COLUMNS(XX)                                       \
    XX(SUBJECT, cell_text(subject->name))                 \
    XX(STATUS, strdup(subject_statuses[subject->status])) \
    XX(AGE, age(subject))                                 \
    XX(ENDED, cell_instant(subject->ended_ms))            \
    XX(BY, who(subject))                                  \
    XX(ABOUT, cell_text(*subject->error ? subject->error : subject->description))

enum { COLUMNS(COLUMN_INDEX) N_COLUMNS };

static const char *const titles[] = {COLUMNS(COLUMN_TITLE)};

static const char *colour(const char *status)
{
    return strcmp(status, "ERROR") == 0        ? "\033[31m"
           : strcmp(status, "PROCESSING") == 0 ? "\033[33m"
                                               : "";
}

static char *who(const struct rowlock_subject_view *subject)
{
    char *plain, *text;

    if (!*subject->host)
        return strdup("-");
    if (asprintf(&plain, "%s:%" PRId64 " %s", subject->host, subject->pid, subject->by) < 0)
        return NULL;
    text = cell_text(plain);
    free(plain);
    return text;
}

static char *age(const struct rowlock_subject_view *subject)
{
    if (subject->age_ms >= 0)
        return cell_duration(subject->age_ms);
    return strdup(is_expired(subject) ? "expired" : "-");
}

static int add(struct table *table, const struct rowlock_subject_view *subject)
{
    char *cells[] = {COLUMNS(COLUMN_CELL)};

    return table_add(table, cells);
}

/* ---- the list -------------------------------------------------------------------------------- */

static int visit(const struct rowlock_subject_view *subject, void *data)
{
    struct listing *listing = data;

    if (!listing->json)
        return listing->failed = add(&listing->table, subject);
    put_subject(listing_next(listing), subject);
    return 0;
}

static int list(const char *name, struct rowlock_connection *connection, struct listing *listing)
{
    struct rowlock_error error;
    int status = listing_open(listing);

    if (status)
        return status;
    if (rowlock_subjects(connection, name, visit, listing, &error))
        return report(&error);
    listing_end(listing);
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
    struct listing listing = {
        .table = {.titles = titles, .columns = N_COLUMNS, .coloured = STATUS, .colour = colour}};
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
