/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the version and technique of the installed schema. */
#include "schema/schema.h"

#include <stdlib.h>
#include <string.h>

#include "dialect/plain.h"
#include "session/connection.h"
#include "util/error.h"

static const char *const techniques[] = {"default", "native", "row", "insert"};
#define PLAIN "plain" /* what the plain dialects store as technique; it means technique row */

const char *rowlock__technique_name(enum rowlock_technique technique)
{
    return techniques[technique];
}

static void meta_row(void *data, const struct rowlock_value *columns, unsigned n)
{
    struct rowlock_installed *installed = data;
    char technique[20];

    if (n < 4)
        return;
    installed->version = (int)rowlock__value_number(&columns[0]);
    rowlock__column_text(&columns[1], technique, sizeof technique);
    installed->plain = strcmp(technique, PLAIN) == 0;
    installed->technique = installed->plain ? ROWLOCK_ROW : ROWLOCK_DEFAULT;
    for (size_t i = 1; i < sizeof techniques / sizeof *techniques; i++)
        if (strcmp(techniques[i], technique) == 0)
            installed->technique = (enum rowlock_technique)i;
    rowlock__column_text(&columns[2], installed->object, sizeof installed->object);
    installed->id_width = (int)rowlock__value_number(&columns[3]);
    installed->owned = n > 4 ? (int)rowlock__value_number(&columns[4]) : 0;
}

/* Reads the row in the same round trip as the session's id, which every own connection needs
   once. */
static int read_meta(struct rowlock_connection *connection, struct rowlock_installed *found,
                     struct rowlock_error *error)
{
    struct rowlock_call calls[2] = {
        {.statement = rowlock__sql(connection, ROWLOCK_SQL_META), .row = meta_row, .data = found}};
    struct rowlock_budget budget = rowlock__budget(connection);
    struct rowlock_outcome outcome = {0};
    enum rowlock_state before = rowlock__state(connection);
    bool both = rowlock__session_question(connection, &calls[1]);
    int code = connection->driver->run(connection->link, ROWLOCK_INSIDE, calls, both ? 2 : 1,
                                       &budget, &outcome, error);

    if (!code && both)
        rowlock__session_answered(connection);
    if (before == ROWLOCK_STATE_IDLE)
        rowlock__clean_up(connection, &outcome);
    return code;
}

struct there {
    bool nowhere; /* the session has no database */
    int64_t count;
};

static void there_row(void *data, const struct rowlock_value *columns, unsigned n)
{
    struct there *there = data;

    there->nowhere = n > 0 && columns[0].type == ROWLOCK_NULL;
    rowlock__take_number(&there->count, columns, n);
}

static int read_there(struct rowlock_connection *connection, struct there *there,
                      struct rowlock_error *error)
{
    int code = rowlock__ask(connection, ROWLOCK_SQL_INSTALLED, NULL, there_row, there, error);

    if (!code && there->nowhere)
        code = rowlock__fail(error, ROWLOCK_EINVAL,
                             "the URL names no database, and none is chosen: add its name, as in "
                             "%s://USER@HOST/DATABASE",
                             connection->dialect->name);
    return code;
}

int rowlock__has_database(struct rowlock_connection *connection, struct rowlock_error *error)
{
    struct there there = {0};

    return read_there(connection, &there, error);
}

/* Two sets of tables would be two sets of locks, which do not exclude each other. */
int rowlock__other_tables(const struct rowlock_connection *connection, struct rowlock_error *error)
{
    if (rowlock__has_plain_schema(connection->dialect))
        return rowlock__fail(error, ROWLOCK_EMODE,
                             "this database has rowlock's functions, and locks taken without them "
                             "would not exclude theirs: use a %s: URL",
                             connection->dialect->name);
    return rowlock__fail(error, ROWLOCK_EMODE,
                         "this database has rowlock's tables for odbc: and jdbc: URLs: use such a "
                         "URL, or remove them first by one: rowlock schema uninstall");
}

int rowlock__read_installed(struct rowlock_connection *connection, bool expected,
                            struct rowlock_installed *out, struct rowlock_error *error)
{
    bool plain = rowlock__has_plain_schema(connection->dialect), searches = true;
    struct rowlock_installed found = {0};
    struct there there = {0};
    int code = ROWLOCK_OK;

    if (expected && !plain && rowlock__state(connection) == ROWLOCK_STATE_IDLE) {
        code = read_meta(connection, &found, error);
        searches = code == ROWLOCK_ESCHEMA || code == ROWLOCK_EINVAL; /* no table, no database */
    }
    if (searches) {
        found = (struct rowlock_installed){0};
        code = read_there(connection, &there, error);
        if (!code && there.count)
            code = read_meta(connection, &found, error);
        /* an install was interrupted: the procedure for the session's id is missing */
        if (code == ROWLOCK_ESCHEMA && rowlock__state(connection) == ROWLOCK_STATE_IDLE)
            code = rowlock__ask(connection, ROWLOCK_SQL_META, NULL, meta_row, &found, error);
    }
    if (!code && found.technique && found.plain != plain)
        code = rowlock__other_tables(connection, error);
    if (!code)
        *out = found;
    return code;
}

int rowlock__read_found(struct rowlock_connection *connection, struct rowlock_installed *found,
                        struct rowlock_error *error)
{
    int code = rowlock__read_installed(connection, false, found, error);

    if (code != ROWLOCK_ESCHEMA)
        return code;
    *found = (struct rowlock_installed){0};
    return ROWLOCK_OK;
}

/* Whether the schema belongs to a PostgreSQL extension. */

struct version {
    char *text;
    bool there;
};

static void version_row(void *data, const struct rowlock_value *columns, unsigned n)
{
    struct version *version = data;

    version->there = n > 0;
    rowlock__take_text(&version->text, columns, n);
}

int rowlock__read_extension(struct rowlock_connection *connection, char **out,
                            struct rowlock_error *error)
{
    struct version version = {0};
    int code = ROWLOCK_OK;

    if (rowlock__sql(connection, ROWLOCK_SQL_EXTENSION))
        code = rowlock__ask(connection, ROWLOCK_SQL_EXTENSION, NULL, version_row, &version, error);
    if (!code && version.there && !version.text)
        code = rowlock__no_memory(error);
    if (code)
        free(version.text);
    else
        *out = version.text;
    return code;
}

static bool is_extension(struct rowlock_connection *connection)
{
    char *version = NULL;
    bool yes = rowlock__read_extension(connection, &version, NULL) == ROWLOCK_OK && version;

    free(version);
    return yes;
}

const char *rowlock__upgrade_command(struct rowlock_connection *connection)
{
    return is_extension(connection) ? "ALTER EXTENSION rowlock UPDATE" : "rowlock schema upgrade";
}

/* Every version of the schema serves the programs of the version before, and every program works
   with that version: so nodes and schema are upgraded one after the other, in any order. A version
   that cannot keep this skips a number. */
#define NEWEST (ROWLOCK_SCHEMA_VERSION + 1)
#define OLDEST (ROWLOCK_SCHEMA_VERSION > 1 ? ROWLOCK_SCHEMA_VERSION - 1 : 1)

int rowlock__refuse_version(struct rowlock_connection *connection, int version,
                            struct rowlock_error *error)
{
    bool older = version < ROWLOCK_SCHEMA_VERSION;

    return rowlock__fail(error, ROWLOCK_ESCHEMA,
                         "the schema is version %d, %s than this library's %d, which works with %d "
                         "to %d; %s%s",
                         version, older ? "older" : "newer", ROWLOCK_SCHEMA_VERSION, OLDEST, NEWEST,
                         older ? "run: " : "",
                         older ? rowlock__upgrade_command(connection)
                               : "update rowlock on this node, and restart its processes");
}

int rowlock__check_version(struct rowlock_connection *connection, int version,
                           struct rowlock_error *error)
{
    return version >= OLDEST && version <= NEWEST
               ? ROWLOCK_OK
               : rowlock__refuse_version(connection, version, error);
}

const char *rowlock__uninstall_command(struct rowlock_connection *connection, bool force)
{
    if (is_extension(connection))
        return "DROP EXTENSION rowlock";
    return force ? "rowlock schema uninstall --force" : "rowlock schema uninstall";
}

int rowlock_extension(struct rowlock_connection *connection, char **out,
                      struct rowlock_error *error)
{
    int code = rowlock__ready(connection, ROWLOCK_STATE_IDLE, error);

    if (!code && !out)
        code = rowlock__fail(error, ROWLOCK_EINVAL, "out must not be NULL");
    return code ? code : rowlock__read_extension(connection, out, error);
}
