/* SPDX-License-Identifier: Apache-2.0 */
/*
 * install and upgrade. Any number of nodes may start them at once: one lock of the engine's own
 * (INSTALL_LOCK; on SQLite the write lock) lets them in one after the other, and later ones find the
 * work done. Both create what is missing, whatever is there.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "driver/failure.h"
#include "schema/check.h"
#include "schema/extension.h"
#include "schema/install.h"
#include "schema/installed.h"
#include "schema/parts.h"
#include "schema/text.h"
#include "session/connection.h"
#include "util/error.h"

/* An engine whose lock call can end without the lock (GET_LOCK) answers 1 when it was got. */
static void refused_row(void *data, const struct rowlock_value *columns, unsigned n)
{
    char answer[4];

    if (n > 0)
        rowlock__column_text(&columns[0], answer, sizeof answer);
    *(int *)data = n > 0 && (columns[0].type == ROWLOCK_NULL || strcmp(answer, "0") == 0);
}

/* A script of many CREATEs counts as one statement, and another installer runs such scripts. */
static struct rowlock_budget patient_budget(const struct rowlock_connection *connection)
{
    struct rowlock_budget budget = rowlock__budget(connection);

    if (budget.deadline_ms != ROWLOCK_NEVER && connection->statement_ms > 0)
        budget.deadline_ms += 5 * connection->statement_ms;
    return budget;
}

int rowlock__enter_install(struct rowlock_connection *connection, struct rowlock_error *error)
{
    int refused = 0;
    struct rowlock_call lock = {.statement = rowlock__sql(connection, ROWLOCK_SQL_INSTALL_LOCK),
                                .row = refused_row,
                                .data = &refused};
    struct rowlock_budget budget = patient_budget(connection);
    struct rowlock_outcome outcome = {0};
    int code = connection->driver->run(connection->link, ROWLOCK_BEGIN, &lock,
                                       lock.statement ? 1 : 0, &budget, &outcome, error);

    if (!code && refused)
        code = rowlock__fail(error, ROWLOCK_ETIMEDOUT, "timed out waiting for the install lock");
    if (!code)
        return ROWLOCK_OK;
    rowlock__wrap_error(error, code, "while another node installs");
    return rowlock__cleaned_up(connection, &outcome, code, error);
}

int rowlock__leave_install(struct rowlock_connection *connection, int code,
                           struct rowlock_error *error)
{
    struct rowlock_call unlock = {.statement =
                                      rowlock__sql(connection, ROWLOCK_SQL_INSTALL_UNLOCK)};
    struct rowlock_budget budget = rowlock__budget(connection);
    struct rowlock_outcome outcome = {0};
    int ended;

    budget.interrupt_fd = -1; /* to leave nothing half-done matters more */
    if (code) {
        connection->driver->rollback(connection->link, &budget, NULL);
        if (unlock.statement)
            connection->driver->run(connection->link, ROWLOCK_INSIDE, &unlock, 1, &budget, &outcome,
                                    NULL);
        return rowlock__left(error, code, ROWLOCK_TX_NONE);
    }
    ended = connection->driver->run(connection->link, ROWLOCK_COMMIT, &unlock,
                                    unlock.statement ? 1 : 0, &budget, &outcome, error);
    return ended ? rowlock__cleaned_up(connection, &outcome, ended, error) : ROWLOCK_OK;
}

int rowlock__run_piece(struct rowlock_connection *connection, const char *name,
                       const struct rowlock_names *names, struct rowlock_error *error)
{
    struct rowlock_budget budget = patient_budget(connection);
    char *text = NULL;
    int code = rowlock__piece(connection->dialect, name, names, &text, error);

    if (!code && *text) /* not every dialect has every piece */
        code = connection->driver->script(connection->link, text, &budget, error);
    free(text);
    return code ? rowlock__wrap_error(error, code, "schema/%s.sql", name) : ROWLOCK_OK;
}

int rowlock__say_needs(struct rowlock_connection *connection, enum rowlock_technique technique,
                       int code, struct rowlock_error *error)
{
    struct rowlock_value insert[1] = {rowlock__int_value(technique == ROWLOCK_INSERT)};
    char *needs = NULL;

    if (code == ROWLOCK_EDENIED && rowlock__sql(connection, ROWLOCK_SQL_INSTALL_NEEDS) &&
        rowlock__ask(connection, ROWLOCK_SQL_INSTALL_NEEDS, insert, rowlock__take_text, &needs,
                     NULL) == ROWLOCK_OK &&
        needs)
        rowlock__advise(error, needs);
    free(needs);
    return code;
}

/* Where the article's own statements will find it: the default schema of whoever installs. Its name gets into
   texts, and into the bodies of functions. */
static int object_name(struct rowlock_connection *connection, const char *table, char *out,
                       size_t size, struct rowlock_error *error)
{
    char *home = NULL;
    int code = rowlock__ask(connection, ROWLOCK_SQL_HOME, NULL, rowlock__take_text, &home, error);

    if (!code && home && (strchr(home, '\'') || strstr(home, "$$")))
        code = rowlock__fail(error, ROWLOCK_EINVAL,
                             "the schema %s that the table would be in has a quote, or $$, in its "
                             "name; choose another search_path",
                             home);
    if (!code)
        snprintf(out, size, "%s%s", home ? home : "", table);
    free(home);
    return code;
}

/* What another installed before us is fine if it is what we were asked for. */
static int accept_installed(struct rowlock_connection *connection,
                            const struct rowlock_installed *found, enum rowlock_technique technique,
                            int stated, const char *table, struct rowlock_error *error)
{
    const char *dot = strrchr(found->object, '.');

    if (found->version > ROWLOCK_SCHEMA_VERSION)
        return rowlock__fail(error, ROWLOCK_ESCHEMA,
                             "schema version %d is there already, newer "
                             "than this library's %d",
                             found->version, ROWLOCK_SCHEMA_VERSION);
    if (!found->version && ((stated && found->technique != technique) ||
                            (table && strcmp(table, dot ? dot + 1 : found->object) != 0)))
        return rowlock__fail(error, ROWLOCK_EINVAL,
                             "an install or uninstall with technique %s%s%s was cut off; complete "
                             "it with: rowlock schema install; or remove it with: %s",
                             rowlock__technique_name(found->technique),
                             found->object[0] ? " and table " : "", found->object,
                             rowlock__uninstall_command(connection, false));
    if (stated && found->technique != technique)
        return rowlock__fail(error, ROWLOCK_EINVAL,
                             "installed already with technique %s; to change it, stop what locks "
                             "and run: %s",
                             rowlock__technique_name(found->technique),
                             rowlock__uninstall_command(connection, false));
    if (table && strcmp(table, dot ? dot + 1 : found->object) != 0)
        return rowlock__fail(error, ROWLOCK_EINVAL,
                             "installed already with table %s; to change it, stop what locks and "
                             "run: %s",
                             found->object, rowlock__uninstall_command(connection, false));
    return ROWLOCK_OK;
}

static int create(struct rowlock_connection *connection, enum rowlock_technique technique,
                  const char *object, bool again, struct rowlock_error *error)
{
    const char *pieces[ROWLOCK_PIECES];
    size_t n = rowlock__install_pieces(technique, pieces);
    struct rowlock_names names = {object, "application", again};
    int code = rowlock__run_piece(connection, "privileges", &names, error);

    for (size_t i = 0; !code && i < n; i++)
        code = rowlock__run_piece(connection, pieces[i], &names, error);
    connection->checked = 0;
    return code;
}

/* What CREATE EXTENSION made belongs to the extension, and so must all that is put there. */
static int refuse_extension(struct rowlock_connection *connection, const char *missing,
                            struct rowlock_error *error)
{
    char *version = NULL;
    int code = rowlock__read_extension(connection, &version, error);

    if (!code && version)
        code = rowlock__fail(
            error, ROWLOCK_ESCHEMA,
            "the schema is damaged: %s missing; it is an extension, which its owner can "
            "only make again, without its rows: DROP EXTENSION rowlock CASCADE; "
            "CREATE EXTENSION rowlock",
            missing);
    free(version);
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

/* The technique is part of the protocol: holders that use two of them do not exclude each other. */
static int refuse_unknown(struct rowlock_error *error)
{
    return rowlock__fail(error, ROWLOCK_ESCHEMA,
                         "the row of meta is gone, so the technique is not known; run, with the "
                         "technique T that it had (insert: and its --table): "
                         "rowlock schema install --technique T");
}

/* Creates what is not there: all of it, what an install that was cut off left undone, or what was dropped. */
static int complete(struct rowlock_connection *connection, enum rowlock_technique technique,
                    bool known, const char *object, int version, struct rowlock_error *error)
{
    struct rowlock_parts parts = {0}, after = {0};
    int code = rowlock__read_parts(connection, technique, object, &parts, error);

    if (!code && version && !parts.missing)
        return ROWLOCK_OK;
    if (!code && !known && parts.others)
        code = refuse_unknown(error);
    if (!code && parts.hopeless)
        code = hopeless(parts.missing, error);
    if (!code && parts.any && parts.missing)
        code = refuse_extension(connection, parts.missing, error);
    if (!code)
        code = create(connection, technique, object, parts.any, error);
    if (!code)
        code = rowlock__read_parts(connection, technique, object, &after, error);
    if (!code && after.missing)
        code = hopeless(after.missing, error);
    free(parts.missing);
    free(after.missing);
    return code;
}

/* A table meta of another shape is a damage that reading the parts names. */
static int read_found(struct rowlock_connection *connection, struct rowlock_installed *found,
                      struct rowlock_error *error)
{
    int code = rowlock__read_installed(connection, found, error);

    if (code != ROWLOCK_ESCHEMA)
        return code;
    *found = (struct rowlock_installed){0};
    return ROWLOCK_OK;
}

static int settle(struct rowlock_connection *connection, const struct rowlock_plan *plan,
                  enum rowlock_technique technique, struct rowlock_error *error)
{
    struct rowlock_installed found;
    const char *table = plan ? plan->table : NULL;
    bool stated = plan && (plan->technique || table), has_row;
    char object[200];
    int code = read_found(connection, &found, error);

    has_row = !code && (found.version || found.technique);
    if (has_row)
        code = accept_installed(connection, &found, technique, stated, table, error);
    if (!code && has_row)
        technique = found.technique;
    if (!code && has_row && found.object[0])
        snprintf(object, sizeof object, "%s", found.object);
    else if (!code)
        code =
            object_name(connection, table ? table : "rowlock_object", object, sizeof object, error);
    return code ? code
                : complete(connection, technique, stated || has_row, object, found.version, error);
}

int rowlock_install(struct rowlock_connection *connection, const struct rowlock_plan *plan,
                    struct rowlock_error *error)
{
    enum rowlock_technique technique;
    int code = rowlock__ready(connection, ROWLOCK_STATE_IDLE, error);

    if (!code)
        code = rowlock__plan_technique(connection->dialect, plan, &technique, error);
    if (!code)
        code = rowlock__has_database(connection, error);
    if (!code)
        code = rowlock__enter_install(connection, error);
    if (code)
        return code;
    code = settle(connection, plan, technique, error);
    code = rowlock__leave_install(connection, code, error);
    return rowlock__say_needs(connection, technique, code, error);
}

/* Version 1 is the first: what is there is current or newer. */
static int find_current(struct rowlock_connection *connection, struct rowlock_error *error)
{
    struct rowlock_installed found;
    int code = rowlock__ready(connection, ROWLOCK_STATE_IDLE, error);

    if (!code)
        code = rowlock__read_installed(connection, &found, error);
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
        code =
            rowlock__fail(error, ROWLOCK_EINVAL, "where is the technique to be put? out is NULL");
    if (!code)
        *out = connection->installed.technique;
    return code;
}

int rowlock_missing(struct rowlock_connection *connection, char **out, struct rowlock_error *error)
{
    struct rowlock_installed found;
    struct rowlock_parts parts = {0};
    enum rowlock_technique technique = ROWLOCK_DEFAULT;
    int code = rowlock__ready(connection, ROWLOCK_STATE_IDLE, error);

    if (!code && !out)
        code = rowlock__fail(error, ROWLOCK_EINVAL, "out must not be NULL");
    if (!code)
        code = rowlock__plan_technique(connection->dialect, NULL, &technique, error);
    if (!code)
        code = read_found(connection, &found, error);
    if (!code)
        code =
            rowlock__read_parts(connection, found.technique ? found.technique : technique,
                                found.object[0] ? found.object : "rowlock_object", &parts, error);
    if (!code && !found.version && !parts.any)
        code = rowlock__not_installed(connection, error);
    if (!code && !found.version && !parts.missing && !(parts.missing = strdup("the row of meta")))
        code = rowlock__fail(error, ROWLOCK_ENOMEM, "out of memory");
    if (code)
        free(parts.missing);
    else
        *out = parts.missing;
    return code;
}

int rowlock_upgrade(struct rowlock_connection *connection, struct rowlock_error *error)
{
    char *missing = NULL;
    int code = find_current(connection, error);

    if (!code)
        code = rowlock_missing(connection, &missing, error);
    if (!code && missing)
        code = rowlock_install(connection, NULL, error);
    free(missing);
    return code;
}
