/* SPDX-License-Identifier: Apache-2.0 */
/* rowlock_uninstall: removes the schema, complete or not, if it is unused or removal is forced. */
#include <stdio.h>
#include <stdlib.h>

#include "dialect/plain.h"
#include "schema/schema.h"
#include "util/error.h"

/* "leases: 2 (backup, farm); counters: 1 (invoice)" */
struct reasons {
    char text[330]; /* fits into the error together with the advice */
    size_t length;
};

static void reason_row(void *data, const struct rowlock_value *columns, unsigned n)
{
    struct reasons *reasons = data;
    char kind[40], some[100];

    if (n < 3 || reasons->length >= sizeof reasons->text)
        return;
    rowlock__column_text(&columns[0], kind, sizeof kind);
    rowlock__column_text(&columns[2], some, sizeof some);
    reasons->length += (size_t)snprintf(
        reasons->text + reasons->length, sizeof reasons->text - reasons->length, "%s%s: %lld%s%s%s",
        reasons->length ? "; " : "", kind, (long long)rowlock__value_number(&columns[1]),
        some[0] ? " (" : "", some, some[0] ? ")" : "");
}

/* Refuses to remove a schema that is in use. If a table is missing, no query can tell. An install
   that was never complete has no users; its row of meta distinguishes it from a damaged schema. The
   plain dialect inserts that row last: without it, only the tables can show whether there was any
   use. */
static int refuse_in_use(struct rowlock_connection *connection, const struct rowlock_parts *parts,
                         const struct rowlock_installed *found, struct rowlock_error *error)
{
    bool comes_last = rowlock__has_plain_schema(connection->dialect);
    bool locks = rowlock__sql(connection, ROWLOCK_SQL_UNINSTALL_LOCK) != NULL;
    struct reasons reasons = {0};
    int code = ROWLOCK_OK;

    if (!found->version && !found->technique && parts->others && !comes_last)
        return rowlock__fail(error, ROWLOCK_EBUSY,
                             "the row of meta is missing, so it is unknown whether rowlock is in "
                             "use; to remove all of it nevertheless, run: %s",
                             rowlock__uninstall_command(connection, true));
    if (parts->relation && !found->version)
        return ROWLOCK_OK;
    if (parts->relation)
        return rowlock__fail(error, ROWLOCK_ESCHEMA,
                             "the schema is damaged, so its use is unknown: %s missing; run: "
                             "rowlock schema install, or remove it as it is: rowlock schema "
                             "uninstall --force",
                             parts->missing);
    for (int looks = 0; !code && looks <= locks; looks++) {
        if (looks > 0) /* and looks again: use may have begun before the lock was taken */
            code = rowlock__ask(connection, ROWLOCK_SQL_UNINSTALL_LOCK, NULL, NULL, NULL, error);
        if (!code)
            code = rowlock__ask(connection, ROWLOCK_SQL_IN_USE, NULL, reason_row, &reasons, error);
        if (!code && reasons.length)
            code = rowlock__fail(
                error, ROWLOCK_EBUSY,
                "rowlock is in use here: %s; to remove all of it nevertheless, run: %s",
                reasons.text, rowlock__uninstall_command(connection, true));
    }
    return code;
}

/* Removes the schema. With `force`, a table meta that cannot be read counts as none. Of a newer
   version, the objects that this one lacks would stay. An extension is left to its owner: the
   server would refuse DROP SCHEMA. */
static int remove_all(struct rowlock_connection *connection, bool force,
                      struct rowlock_error *error)
{
    struct rowlock_installed found = {0};
    struct rowlock_parts parts = {0};
    struct rowlock_names names = {"rowlock_object", "application", false};
    enum rowlock_technique technique = ROWLOCK_DEFAULT;
    char *extension = NULL;
    int code = rowlock__plan_technique(connection->dialect, NULL, &technique, error);

    if (!code)
        code = rowlock__read_installed(connection, false, &found, error);
    if (code == ROWLOCK_ESCHEMA && force)
        code = ROWLOCK_OK;
    if (!code && !force && found.version > ROWLOCK_SCHEMA_VERSION)
        code = rowlock__fail(error, ROWLOCK_ESCHEMA,
                             "the schema is version %d, newer than this library's %d: only a newer "
                             "rowlock uninstalls it",
                             found.version, ROWLOCK_SCHEMA_VERSION);
    if (found.object[0])
        names.object = found.object;
    if (!code)
        code = rowlock__read_parts(connection, found.technique ? found.technique : technique,
                                   names.object, &parts, error);
    if (found.version < ROWLOCK_SCHEMA_VERSION && found.version)
        parts.relation = false; /* an older schema lacks some */
    if (!code && parts.any)
        code = rowlock__read_extension(connection, &extension, error);
    if (!code && extension)
        code =
            rowlock__fail(error, ROWLOCK_EINVAL,
                          "rowlock is installed as an extension; its owner removes it in SQL: DROP "
                          "EXTENSION rowlock");
    if (!code && parts.any && !force)
        code = refuse_in_use(connection, &parts, &found, error);
    if (!code && parts.any) {
        code = rowlock__run_piece(connection, "uninstall", &names, error);
        connection->checked = 0;
        if (!code && found.owned)
            code = rowlock__run_piece(connection, "drop_object", &names, error);
    }
    free(extension);
    free(parts.missing);
    return code;
}

static int uninstall(struct rowlock_connection *connection, bool force, struct rowlock_error *error)
{
    int code = rowlock__ready(connection, ROWLOCK_STATE_IDLE, error);

    if (!code)
        code = rowlock__has_database(connection, error);
    if (!code)
        code = rowlock__enter_install(connection, error);
    if (code)
        return code;
    code = remove_all(connection, force, error);
    code = rowlock__leave_install(connection, code, error);
    return rowlock__say_needs(connection, ROWLOCK_DEFAULT, code, error);
}

int rowlock_uninstall(struct rowlock_connection *connection, struct rowlock_error *error)
{
    return uninstall(connection, false, error);
}

int rowlock_uninstall_force(struct rowlock_connection *connection, struct rowlock_error *error)
{
    return uninstall(connection, true, error);
}
