/* SPDX-License-Identifier: Apache-2.0 */
/* The verb subjects: lists the subjects of refresh and their status. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "command/output/json.h"
#include "command/lease/argument.h"
#include "command/output/listing.h"

#define STATUS_UNKNOWN 1

static const char *const statuses[] = {[ROWLOCK_SUBJECT_NONE] = "NONE",
                                       [ROWLOCK_SUBJECT_PROCESSING] = "PROCESSING",
                                       [ROWLOCK_SUBJECT_COMPLETE] = "COMPLETE",
                                       [ROWLOCK_SUBJECT_ERROR] = "ERROR"};

/* ---- JSON ------------------------------------------------------------------------------------ */

static void put_text(FILE *out, const char *key, const char *text)
{
    fprintf(out, ",\"%s\":", key);
    json_text(out, text);
}

static void put_instant(FILE *out, const char *key, int64_t ms)
{
    fprintf(out, ",\"%s\":", key);
    json_instant(out, ms);
}

/* -1 is null, and 0 a number. */
static void put_count(FILE *out, const char *key, int64_t number)
{
    if (number < 0)
        fprintf(out, ",\"%s\":null", key);
    else
        fprintf(out, ",\"%s\":%" PRId64, key, number);
}

static void put(FILE *out, const struct rowlock_subject_view *subject)
{
    fputs("{\"subject\":", out);
    json_text(out, subject->name);
    put_text(out, "description", subject->description);
    put_text(out, "status", statuses[subject->status]);
    put_instant(out, "began", subject->began_ms);
    put_instant(out, "ended", subject->ended_ms);
    put_instant(out, "updated", subject->updated_ms);
    put_count(out, "age_ms", subject->age_ms);
    put_text(out, "by", subject->by);
    put_text(out, "host", subject->host);
    put_count(out, "pid", subject->pid ? subject->pid : -1);
    put_text(out, "error", subject->error);
    put_count(out, "exit", subject->exit);
    putc('}', out);
}

/* ---- the table ------------------------------------------------------------------------------- */

enum { SUBJECT, STATUS, AGE, ENDED, BY, ABOUT, COLUMNS };

static const char *const titles[COLUMNS] = {
    [SUBJECT] = "SUBJECT", [STATUS] = "STATUS", [AGE] = "AGE",
    [ENDED] = "ENDED",     [BY] = "BY",         [ABOUT] = "ABOUT"};

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

static int add(struct table *table, const struct rowlock_subject_view *subject)
{
    char *cells[COLUMNS] = {
        [SUBJECT] = cell_text(subject->name),
        [STATUS] = strdup(statuses[subject->status]),
        [AGE] = subject->age_ms < 0 ? strdup("-") : cell_duration(subject->age_ms),
        [ENDED] = cell_instant(subject->ended_ms),
        [BY] = who(subject),
        [ABOUT] = cell_text(*subject->error ? subject->error : subject->description)};

    return table_add(table, cells);
}

/* ---- the list -------------------------------------------------------------------------------- */

static int visit(const struct rowlock_subject_view *subject, void *data)
{
    struct listing *listing = data;

    if (!listing->json)
        return listing->failed = add(&listing->table, subject);
    put(listing_next(listing), subject);
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
        .table = {.titles = titles, .columns = COLUMNS, .coloured = STATUS, .colour = colour}};
    struct rowlock_connection *connection = NULL;
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
    listing_free(&listing);
    rowlock_close(connection);
    return status;
}
