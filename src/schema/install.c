/* SPDX-License-Identifier: Apache-2.0 */
/* rowlock_install: creates every missing part of the schema. A later installer finds
   the work done. An upgrade changes the tables of an older version first. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dialect/plain.h"
#include "schema/schema.h"
#include "util/clock.h"
#include "util/error.h"

/* An upgrade waits for other transactions for that many times statement_ms. */
#define UPGRADE_STATEMENTS 3

/* An existing installation is fine if it matches the request. */
static int accept_installed(struct rowlock_connection *connection,
                            const struct rowlock_installed *found, enum rowlock_technique technique,
                            int stated, const char *table, struct rowlock_error *error)
{
    const char *dot = strrchr(found->object, '.');

    if (!found->version && ((stated && found->technique != technique) ||
                            (table && strcmp(table, dot ? dot + 1 : found->object) != 0)))
        return rowlock__fail(
            error, ROWLOCK_EINVAL,
            "an install or uninstall with technique %s%s%s was interrupted; complete "
            "it with: rowlock schema install; or remove it with: %s",
            rowlock__technique_name(found->technique), found->object[0] ? " and table " : "",
            found->object, rowlock__uninstall_command(connection, false));
    if (stated && found->technique != technique)
        return rowlock__fail(error, ROWLOCK_EINVAL,
                             "installed already with technique %s; to change it, stop all users "
                             "and run: %s",
                             rowlock__technique_name(found->technique),
                             rowlock__uninstall_command(connection, false));
    if (table && strcmp(table, dot ? dot + 1 : found->object) != 0)
        return rowlock__fail(error, ROWLOCK_EINVAL,
                             "installed already with table %s; to change it, stop all users and "
                             "run: %s",
                             found->object, rowlock__uninstall_command(connection, false));
    return ROWLOCK_OK;
}

static int create(struct rowlock_connection *connection, enum rowlock_technique technique,
                  bool upgrades, const struct rowlock_names *names, struct rowlock_error *error)
{
    const char *pieces[ROWLOCK_PIECES];
    size_t n = rowlock__install_pieces(technique, upgrades, pieces);
    int code = rowlock__run_piece(connection, "privileges", names, error);

    for (size_t i = 0; !code && i < n; i++)
        code = rowlock__run_piece(connection, pieces[i], names, error);
    connection->checked = 0;
    return code;
}

static int hopeless(const char *missing, struct rowlock_error *error)
{
    return rowlock__fail(
        error, ROWLOCK_ESCHEMA,
        "the schema is damaged: %s missing, which cannot be put back; to make all of it "
        "again, without its rows, run: rowlock schema uninstall --force, then "
        "rowlock schema install",
        missing);
}

static int check_complete(struct rowlock_connection *connection, enum rowlock_technique technique,
                          const char *object, struct rowlock_error *error)
{
    struct rowlock_parts parts = {0};
    int code = rowlock__read_parts(connection, technique, object, &parts, error);

    if (!code && parts.missing)
        code = hopeless(parts.missing, error);
    free(parts.missing);
    return code;
}

/* Creates the missing objects: all, the rest of an interrupted install, or dropped ones. Refuses to
   guess the technique, because holders that use different techniques do not exclude each other. An
   extension owns its objects, so missing ones cannot be created by this account. */
static int complete(struct rowlock_connection *connection, enum rowlock_technique technique,
                    bool known, const char *object, int version, struct rowlock_error *error)
{
    struct rowlock_parts parts = {0};
    struct rowlock_names names = {object, "application", false};
    char *extension = NULL;
    int code = rowlock__read_parts(connection, technique, object, &parts, error);

    names.again = parts.any;
    if (!code && version && !parts.missing)
        return rowlock__run_piece(connection, "policies", &names, error);
    if (!code && !known && parts.others)
        code = rowlock__fail(error, ROWLOCK_ESCHEMA,
                             "the row of meta is missing, so the technique is unknown; run, with "
                             "the technique T that it had (insert: and its --table): "
                             "rowlock schema install --technique T");
    if (!code && parts.hopeless)
        code = hopeless(parts.missing, error);
    if (!code && parts.any && parts.missing)
        code = rowlock__read_extension(connection, &extension, error);
    if (!code && extension)
        code = rowlock__fail(
            error, ROWLOCK_ESCHEMA,
            "the schema is damaged: %s missing; it is an extension, which its owner can "
            "only make again, without its rows: DROP EXTENSION rowlock CASCADE; "
            "CREATE EXTENSION rowlock",
            parts.missing);
    if (!code)
        code = create(connection, technique, false, &names, error);
    if (!code)
        code = check_complete(connection, technique, object, error);
    free(extension);
    free(parts.missing);
    return code;
}

/* Checks the owners, changes the tables of an older version, and replaces or creates all other
   objects. The last piece writes the version: where each statement commits, an interrupted upgrade
   is repeated. */
static int upgrade(struct rowlock_connection *connection, const struct rowlock_installed *found,
                   const char *object, struct rowlock_error *error)
{
    struct rowlock_names names = {object, "application", true};
    char *extension = NULL;
    int code = rowlock__read_extension(connection, &extension, error);

    if (!code && extension)
        code = rowlock__refuse_version(connection, found->version, error);
    free(extension);
    if (!code)
        code = create(connection, found->technique, true, &names, error);
    return code ? code : check_complete(connection, found->technique, object, error);
}

static int settle(struct rowlock_connection *connection, const struct rowlock_plan *plan,
                  enum rowlock_technique technique, bool upgrades, struct rowlock_error *error)
{
    struct rowlock_installed found;
    const char *table = plan ? plan->table : NULL;
    bool stated = plan && (plan->technique || table), has_row;
    char object[200], *home = NULL;
    int code = rowlock__read_found(connection, &found, error);

    has_row = !code && (found.version || found.technique);
    if (has_row)
        code = accept_installed(connection, &found, technique, stated, table, error);
    if (!code && found.version && !(upgrades && found.version < ROWLOCK_SCHEMA_VERSION)) {
        code = rowlock__check_version(connection, found.version, error);
        /* its own programs repair it */
        if (!code && found.version != ROWLOCK_SCHEMA_VERSION)
            return ROWLOCK_OK;
    }
    if (!code && has_row)
        technique = found.technique;
    /* The table of technique insert is qualified by the installer's default schema, where
       statements without a qualifier find it. A schema whose name would end a text or the body of a
       function is refused, because the name becomes part of both. */
    if (!code && !(has_row && found.object[0]))
        code = rowlock__ask(connection, ROWLOCK_SQL_HOME, NULL, rowlock__take_text, &home, error);
    if (!code && home && (strchr(home, '\'') || strstr(home, "$$")))
        code = rowlock__fail(error, ROWLOCK_EINVAL,
                             "the schema %s that the table would be in has a quote, or $$, in its "
                             "name; choose another search_path",
                             home);
    if (!code && has_row && found.object[0])
        snprintf(object, sizeof object, "%s", found.object);
    else if (!code)
        snprintf(object, sizeof object, "%s%s", home ? home : "", table ? table : "rowlock_object");
    free(home);
    if (!code && found.version && found.version < ROWLOCK_SCHEMA_VERSION)
        return upgrade(connection, &found, object, error);
    /* a plain dialect has one technique. Its installers work at the same time; meta comes last */
    has_row = has_row || rowlock__has_plain_schema(connection->dialect);
    return code ? code
                : complete(connection, technique, stated || has_row, object, found.version, error);
}

static int install(struct rowlock_connection *connection, const struct rowlock_plan *plan,
                   bool upgrades, struct rowlock_error *error)
{
    enum rowlock_technique technique;
    int64_t plain = 0;
    int code = rowlock__ready(connection, ROWLOCK_STATE_IDLE, error);

    if (!code)
        code = rowlock__plan_technique(connection->dialect, plan, &technique, error);
    if (!code)
        code = rowlock__has_database(connection, error);
    if (!code)
        code = rowlock__enter_install(connection, error);
    if (code)
        return code;
    code = rowlock__ask(connection, ROWLOCK_SQL_PLAIN_TABLES, NULL, rowlock__take_number, &plain,
                        error);
    if (!code && plain)
        code = rowlock__other_tables(connection, error);
    if (!code)
        code = settle(connection, plan, technique, upgrades, error);
    code = rowlock__leave_install(connection, code, error);
    return rowlock__say_needs(connection, technique, code, error);
}

int rowlock_install(struct rowlock_connection *connection, const struct rowlock_plan *plan,
                    struct rowlock_error *error)
{
    return install(connection, plan, false, error);
}

/* PostgreSQL: renewals wait while a transaction changes the tables of leases. So this transaction
   does nothing else, and commits. */
static int change_leases(struct rowlock_connection *connection, struct rowlock_error *error)
{
    struct rowlock_names names = {"", "application", true};
    struct rowlock_installed found = {0};
    char *extension = NULL;
    int code = rowlock__enter_install(connection, error);

    if (code)
        return code;
    code = rowlock__read_found(connection, &found, error);
    if (!code)
        code = rowlock__read_extension(connection, &extension, error);
    if (!code && !extension && found.version && found.version < ROWLOCK_SCHEMA_VERSION) {
        code = rowlock__run_piece(connection, "adopt", &names, error);
        if (!code)
            code = rowlock__run_piece(connection, "upgrade_leases", &names, error);
    }
    free(extension);
    code = rowlock__leave_install(connection, code, error);
    return rowlock__say_needs(connection, found.technique, code, error);
}

/* Each attempt waits for a short time only, because other sessions wait behind it (upgrade.sql). */
int rowlock__upgrade_installed(struct rowlock_connection *connection, struct rowlock_error *error)
{
    struct rowlock_pause pause = {.next_ms = 500, .most_ms = 2000};
    int64_t limit_ms = UPGRADE_STATEMENTS * connection->statement_ms;
    int64_t deadline_ms = rowlock__after(rowlock__now_ms(), limit_ms);
    bool gave_way;
    int code;

    do {
        code = change_leases(connection, error);
        if (!code)
            code = install(connection, NULL, true, error);
        if (!code) /* the policies, for which renewals wait, as for change_leases */
            code = install(connection, NULL, true, error);
        /* Whether the attempt failed because of a transaction that uses the tables: it stayed open,
           or had a deadlock with the attempt. Nothing has changed then; on MariaDB the next attempt
           continues. */
        gave_way =
            code == ROWLOCK_ETIMEDOUT || code == ROWLOCK_EABORTED || code == ROWLOCK_EROLLEDBACK;
    } while (gave_way &&
             rowlock__pause(&pause, connection->interrupt_fd, deadline_ms) == ROWLOCK_WAKE_READY);
    if (gave_way)
        rowlock__wrap_error(error, code,
                            "could not upgrade the schema: transactions that use its tables are "
                            "open; end them, then run rowlock schema upgrade again");
    return code;
}
