/* SPDX-License-Identifier: Apache-2.0 */
/* The first lock on a connection: checks that a schema exists and fits this library. */
#include "schema/check.h"

#include <stdlib.h>
#include <string.h>

#include "schema/schema.h"
#include "util/bytes.h"
#include "util/error.h"
#include "util/utf8.h"

/* Puts the name of technique insert's table into the statements, where the server has no functions
   that know it. */
static int rename_object(struct rowlock_connection *connection, struct rowlock_error *error)
{
    static const enum rowlock_statement_id with_object[] = {ROWLOCK_SQL_LEFTOVER,
                                                            ROWLOCK_SQL_VACUUM_OBJECT};

    if (connection->installed.technique != ROWLOCK_INSERT || connection->dialect->procedural)
        return ROWLOCK_OK;
    for (size_t i = 0; i < sizeof with_object / sizeof *with_object; i++) {
        struct rowlock_statement *own = &connection->renamed[with_object[i]];

        if (own->text)
            continue;
        *own = connection->dialect->statements[with_object[i]];
        own->text =
            rowlock__replace_word(own->text, "rowlock_object", connection->installed.object);
        if (!own->text)
            return rowlock__no_memory(error);
    }
    return ROWLOCK_OK;
}

int rowlock__not_installed(struct rowlock_connection *connection, struct rowlock_error *error)
{
    /* a second set of tables would be a second set of locks */
    static const char elsewhere[] =
        "; but if another account has installed it, make that schema this account's default "
        "(docs/databases.md)";
    static const char in_file[] = "; the first lock does that too";
    const struct rowlock_plain *plain = connection->dialect->plain;
    char *name = NULL;

    if (rowlock__sql(connection, ROWLOCK_SQL_DATABASE))
        rowlock__ask(connection, ROWLOCK_SQL_DATABASE, NULL, rowlock__take_text, &name, NULL);
    rowlock__fail(error, ROWLOCK_ESCHEMA,
                  "rowlock is not installed in this database%s%s; run: rowlock schema install%s",
                  name ? ", " : "", name ? name : "",
                  !connection->dialect->procedural ? in_file
                  : plain                          ? elsewhere
                                                   : "");
    free(name);
    return ROWLOCK_ESCHEMA;
}

static int check(struct rowlock_connection *connection, bool may_create,
                 struct rowlock_error *error)
{
    struct rowlock_installed *installed = &connection->installed;
    int64_t granted = 1;
    int code;

    if (connection->checked)
        return ROWLOCK_OK;
    code = rowlock__read_installed(connection, true, installed, error);
    if (!code && installed->version == 0 && may_create) { /* the tables of a file */
        code = rowlock__state(connection) == ROWLOCK_STATE_OPEN
                   ? rowlock__fail(error, ROWLOCK_ESCHEMA,
                                   "rowlock's tables are not in this file yet; call "
                                   "rowlock_install, or rowlock_begin once")
                   : rowlock_install(connection, NULL, error);
        if (!code)
            code = rowlock__read_installed(connection, false, installed, error);
    }
    if (!code)
        code = installed->version == 0
                   ? rowlock__not_installed(connection, error)
                   : rowlock__check_version(connection, installed->version, error);
    /* with an older schema, and as long as this account has no right yet on what this version adds
       to the older one, sends what the older one needs */
    if (!code && installed->version == ROWLOCK_SCHEMA_VERSION)
        code = rowlock__ask(connection, ROWLOCK_SQL_GRANTED, NULL, rowlock__take_number, &granted,
                            error);
    if (!code) {
        rowlock__use_former(connection, installed->version < ROWLOCK_SCHEMA_VERSION || !granted);
        code = rename_object(connection, error);
    }
    connection->checked = code == ROWLOCK_OK && !connection->former;
    return code;
}

int rowlock__check_installed(struct rowlock_connection *connection, struct rowlock_error *error)
{
    return check(connection, !connection->dialect->procedural, error);
}

int rowlock__check_present(struct rowlock_connection *connection, struct rowlock_error *error)
{
    return check(connection, false, error);
}

int rowlock__check_former(struct rowlock_connection *connection, struct rowlock_error *error)
{
    return connection->former ? check(connection, false, error) : ROWLOCK_OK;
}

bool rowlock__inserts(const struct rowlock_connection *connection)
{
    return connection->installed.technique == ROWLOCK_INSERT &&
           !rowlock__sql(connection, ROWLOCK_SQL_LOOK_ONE);
}

int rowlock__check_width(const struct rowlock_connection *connection, const char *name,
                         struct rowlock_error *error)
{
    const struct rowlock_installed *installed = &connection->installed;

    if (!rowlock__inserts(connection) || !installed->id_width ||
        rowlock__utf8_length(name, strlen(name)) <= installed->id_width)
        return ROWLOCK_OK;
    return rowlock__fail(error, ROWLOCK_EINVAL,
                         "the name '%.40s...' is longer than the %d characters of column id in %s",
                         name, installed->id_width, installed->object);
}

int rowlock__check_late(struct rowlock_connection *connection, int code,
                        struct rowlock_error *error)
{
    struct rowlock_error schema = {0};

    if (code && code != ROWLOCK_EDB && code != ROWLOCK_ESCHEMA)
        return code;
    if (rowlock__check_installed(connection, &schema) == ROWLOCK_OK)
        return code;
    *error = schema;
    return rowlock__left(error, schema.code, ROWLOCK_TX_KEPT);
}
