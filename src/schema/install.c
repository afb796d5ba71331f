/* SPDX-License-Identifier: Apache-2.0 */
/*
 * install, upgrade, uninstall. Any number of nodes may start them at once: one lock of the engine's
 * own (INSTALL_LOCK; on SQLite the write lock) lets them in one after the other, and who comes
 * later finds the work done.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "schema/check.h"
#include "schema/extension.h"
#include "schema/installed.h"
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

static int enter(struct rowlock_connection *connection, struct rowlock_error *error)
{
    int refused = 0;
    struct rowlock_call lock = {.statement = rowlock__sql(connection, ROWLOCK_SQL_INSTALL_LOCK),
                                .row = refused_row,
                                .data = &refused};
    struct rowlock_budget budget = rowlock__budget(connection);
    struct rowlock_outcome outcome = {0};
    int code = connection->driver->run(connection->link, ROWLOCK_BEGIN, &lock,
                                       lock.statement ? 1 : 0, &budget, &outcome, error);

    if (!code && refused)
        code = rowlock__fail(error, ROWLOCK_ETIMEDOUT, "the installers' lock was not to be had");
    if (!code)
        return ROWLOCK_OK;
    rowlock__wrap_error(error, code, "while another node installs");
    return rowlock__cleaned_up(connection, &outcome, code, error);
}

static int leave(struct rowlock_connection *connection, int code, struct rowlock_error *error)
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

static int run_piece(struct rowlock_connection *connection, const char *name,
                     const struct rowlock_names *names, struct rowlock_error *error)
{
    struct rowlock_budget budget = rowlock__budget(connection);
    char *text = NULL;
    int code = rowlock__piece(connection->dialect, name, names, &text, error);

    if (!code && *text) /* not every dialect has every piece */
        code = connection->driver->script(connection->link, text, &budget, error);
    free(text);
    return code ? rowlock__wrap_error(error, code, "schema/%s.sql", name) : ROWLOCK_OK;
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

static int create(struct rowlock_connection *connection, enum rowlock_technique technique,
                  const char *table, struct rowlock_error *error)
{
    const char *pieces[] = {"install",
                            "lease",
                            "queue",
                            "turn",
                            "batch",
                            "door",
                            "lease_door",
                            "counter",
                            "job",
                            "subject",
                            rowlock__technique_name(technique),
                            "views",
                            "finish"};
    char object[200];
    struct rowlock_names names = {object, "application"};
    int code =
        object_name(connection, table ? table : "rowlock_object", object, sizeof object, error);

    for (size_t i = 0; !code && i < sizeof pieces / sizeof *pieces; i++)
        code = run_piece(connection, pieces[i], &names, error);
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
    if (stated && found->technique != technique)
        return rowlock__fail(error, ROWLOCK_EINVAL,
                             "installed already with technique %s; to change it, stop what locks "
                             "and run: %s",
                             rowlock__technique_name(found->technique),
                             rowlock__uninstall_command(connection));
    if (table && strcmp(table, dot ? dot + 1 : found->object) != 0)
        return rowlock__fail(error, ROWLOCK_EINVAL,
                             "installed already with table %s; to change it, stop what locks and "
                             "run: %s",
                             found->object, rowlock__uninstall_command(connection));
    return ROWLOCK_OK;
}

int rowlock_install(struct rowlock_connection *connection, const struct rowlock_plan *plan,
                    struct rowlock_error *error)
{
    struct rowlock_installed found;
    enum rowlock_technique technique;
    const char *table = plan ? plan->table : NULL;
    int code = rowlock__ready(connection, ROWLOCK_STATE_IDLE, error);

    if (!code)
        code = rowlock__plan_technique(connection->dialect, plan, &technique, error);
    if (!code)
        code = enter(connection, error);
    if (code)
        return code;
    code = rowlock__read_installed(connection, &found, error);
    if (!code && found.version == 0)
        code = create(connection, technique, table, error);
    else if (!code)
        code = accept_installed(connection, &found, technique, plan && (plan->technique || table),
                                table, error);
    return leave(connection, code, error);
}

struct warning {
    char *text;
    bool lost; /* there is one, but no memory for it */
};

static void warning_row(void *data, const struct rowlock_value *columns, unsigned n)
{
    struct warning *warning = data;

    rowlock__take_text(&warning->text, columns, n);
    warning->lost = n > 0 && columns[0].type != ROWLOCK_NULL && !warning->text;
}

int rowlock_durability(struct rowlock_connection *connection, char **out,
                       struct rowlock_error *error)
{
    struct warning warning = {0};
    int code = rowlock__ready(connection, ROWLOCK_STATE_IDLE, error);

    if (!code && !out)
        code = rowlock__fail(error, ROWLOCK_EINVAL, "where is the warning to be put? out is NULL");
    if (!code)
        code = rowlock__ask(connection, ROWLOCK_SQL_DURABILITY, NULL, warning_row, &warning, error);
    if (!code && warning.lost)
        code = rowlock__fail(error, ROWLOCK_ENOMEM, "out of memory");
    if (code)
        free(warning.text);
    else
        *out = warning.text;
    return code;
}

/* Version 1 is the first: what is there is current or newer. */
static int find_current(struct rowlock_connection *connection, struct rowlock_error *error)
{
    struct rowlock_installed found;
    int code = rowlock__ready(connection, ROWLOCK_STATE_IDLE, error);

    if (!code)
        code = rowlock__read_installed(connection, &found, error);
    if (!code && found.version == 0)
        code = rowlock__fail(error, ROWLOCK_ESCHEMA,
                             "rowlock is not installed in this database; run: rowlock schema "
                             "install");
    if (code)
        return code;
    connection->checked = 0;
    return rowlock__check_installed(connection, error);
}

int rowlock_upgrade(struct rowlock_connection *connection, struct rowlock_error *error)
{
    return find_current(connection, error);
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

/* DROP SCHEMA would be refused by the server, and DROP EXTENSION is not ours to say. */
static int refuse_extension(struct rowlock_connection *connection, struct rowlock_error *error)
{
    char *version = NULL;
    int code = rowlock__read_extension(connection, &version, error);

    if (!code && version)
        code = rowlock__fail(error, ROWLOCK_EINVAL,
                             "rowlock is here as an extension; its owner removes it in SQL: DROP "
                             "EXTENSION rowlock");
    free(version);
    return code;
}

static int drop(struct rowlock_connection *connection, const struct rowlock_installed *found,
                struct rowlock_error *error)
{
    struct rowlock_names names = {found->object[0] ? found->object : "rowlock_object",
                                  "application"};

    int code = run_piece(connection, "uninstall", &names, error);

    connection->checked = 0;
    if (!code && found->owned)
        code = run_piece(connection, "drop_object", &names, error);
    return code;
}

int rowlock_uninstall(struct rowlock_connection *connection, struct rowlock_error *error)
{
    struct rowlock_installed found;
    int code = rowlock__ready(connection, ROWLOCK_STATE_IDLE, error);

    if (!code)
        code = enter(connection, error);
    if (code)
        return code;
    code = rowlock__read_installed(connection, &found, error);
    if (!code && found.version != 0)
        code = refuse_extension(connection, error);
    if (!code && found.version != 0)
        code = drop(connection, &found, error);
    return leave(connection, code, error);
}
