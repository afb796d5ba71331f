/* SPDX-License-Identifier: Apache-2.0 */
/* Questions about an installed schema, and its upgrade. */
#include <stdlib.h>
#include <string.h>

#include "dialect/plain.h"
#include "schema/check.h"
#include "schema/schema.h"
#include "util/error.h"

static int find_current(struct rowlock_connection *connection, struct rowlock_error *error)
{
    struct rowlock_installed found;
    int code = rowlock__ready(connection, ROWLOCK_STATE_IDLE, error);

    if (!code)
        code = rowlock__read_installed(connection, false, &found, error);
    if (!code && found.version == 0)
        code = rowlock__not_installed(connection, error);
    if (code)
        return code;
    connection->checked = 0;
    return rowlock__check_installed(connection, error);
}

int rowlock_installed(struct rowlock_connection *connection, enum rowlock_technique *out,
                      struct rowlock_error *error)
{
    int code = find_current(connection, error);

    if (!code && !out)
        code = rowlock__fail(error, ROWLOCK_EINVAL, "out must not be NULL");
    if (!code)
        *out = connection->installed.technique;
    return code;
}

/* If the technique is unknown, expects only the objects that all techniques have. A plain dialect
   has one technique. The text of this version does not tell what another version has. */
int rowlock__missing(struct rowlock_connection *connection, struct rowlock_parts *out,
                     struct rowlock_error *error)
{
    struct rowlock_installed found = {0};
    struct rowlock_parts parts = {0};
    enum rowlock_technique technique = ROWLOCK_DEFAULT;
    int code = rowlock__read_found(connection, &found, error);

    if (!code && found.version)
        code = rowlock__check_version(connection, found.version, error);
    if (!code && found.technique)
        technique = found.technique;
    else if (!code && rowlock__has_plain_schema(connection->dialect))
        technique = ROWLOCK_ROW;
    if (!code && (!found.version || found.version == ROWLOCK_SCHEMA_VERSION))
        code =
            rowlock__read_parts(connection, technique,
                                found.object[0] ? found.object : "rowlock_object", &parts, error);
    if (!code && !found.version && !parts.any)
        code = rowlock__not_installed(connection, error);
    if (!code && !found.version && !parts.missing) {
        parts.unsafe = true;
        if (!(parts.missing = strdup("the row of meta")))
            code = rowlock__no_memory(error);
    }
    if (code)
        free(parts.missing);
    else
        *out = parts;
    return code;
}

int rowlock_missing(struct rowlock_connection *connection, char **out, struct rowlock_error *error)
{
    struct rowlock_parts parts;
    int code = rowlock__ready(connection, ROWLOCK_STATE_IDLE, error);

    if (!code && !out)
        code = rowlock__fail(error, ROWLOCK_EINVAL, "out must not be NULL");
    if (!code)
        code = rowlock__missing(connection, &parts, error);
    if (!code)
        *out = parts.missing;
    return code;
}

int rowlock_schema_version(struct rowlock_connection *connection, int *installed, int *own,
                           struct rowlock_error *error)
{
    struct rowlock_installed found;
    int code = rowlock__ready(connection, ROWLOCK_STATE_IDLE, error);

    if (!code && (!installed || !own))
        code = rowlock__fail(error, ROWLOCK_EINVAL, "installed and own must not be NULL");
    if (!code)
        code = rowlock__read_found(connection, &found, error);
    if (code)
        return code;
    *installed = found.version;
    *own = ROWLOCK_SCHEMA_VERSION;
    return ROWLOCK_OK;
}

int rowlock_upgrade(struct rowlock_connection *connection, struct rowlock_error *error)
{
    struct rowlock_installed found;
    char *missing = NULL;
    int code = rowlock__ready(connection, ROWLOCK_STATE_IDLE, error);

    if (!code)
        code = rowlock__read_installed(connection, false, &found, error);
    if (!code && found.version && found.version < ROWLOCK_SCHEMA_VERSION)
        return rowlock__upgrade_installed(connection, error);
    if (!code)
        code = find_current(connection, error);
    if (!code)
        code = rowlock_missing(connection, &missing, error);
    if (!code && missing)
        code = rowlock_install(connection, NULL, error);
    free(missing);
    return code;
}
