/* SPDX-License-Identifier: Apache-2.0 */
/* Whether the schema belongs to a PostgreSQL extension. */
#include "schema/extension.h"

#include <stdlib.h>

#include "schema/check.h"
#include "schema/installed.h"
#include "util/error.h"

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
        code = rowlock__fail(error, ROWLOCK_ENOMEM, "out of memory");
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

int rowlock__check_version(struct rowlock_connection *connection, int version,
                           struct rowlock_error *error)
{
    if (version == ROWLOCK_SCHEMA_VERSION)
        return ROWLOCK_OK;
    if (version < ROWLOCK_SCHEMA_VERSION)
        return rowlock__fail(error, ROWLOCK_ESCHEMA,
                             "the schema is version %d, this library needs %d; run: %s", version,
                             ROWLOCK_SCHEMA_VERSION, rowlock__upgrade_command(connection));
    return rowlock__fail(error, ROWLOCK_ESCHEMA,
                         "the schema is version %d, newer than this library's %d; update rowlock "
                         "on this node, and restart its processes",
                         version, ROWLOCK_SCHEMA_VERSION);
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
