/* SPDX-License-Identifier: Apache-2.0 */
/* schema install, upgrade, print, uninstall. Any number of nodes may install at once. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command/command.h"
#include "command/json.h"
#include "command/url_lookup.h"

enum { OPTION_TECHNIQUE = OPTION_OWN, OPTION_TABLE, OPTION_ROLE, OPTION_GRANTS, OPTION_EXTENSION };

static const char *const techniques[] = {"default", "native", "row", "insert"};

static enum rowlock_technique technique_of(const struct command *command, const char *name)
{
    for (int i = 0; i < 4; i++)
        if (strcmp(name, techniques[i]) == 0)
            return (enum rowlock_technique)i;
    usage_error(command, "--technique: '%s' is none of native, row and insert", shown(name));
}

static void read_plan(struct command *command, struct rowlock_plan *plan)
{
    static const struct option options[] = {
        {"technique", required_argument, NULL, OPTION_TECHNIQUE},
        {"table", required_argument, NULL, OPTION_TABLE},
        {"role", required_argument, NULL, OPTION_ROLE},
        {"grants", no_argument, NULL, OPTION_GRANTS},
        {"extension", no_argument, NULL, OPTION_EXTENSION},
        {NULL, 0, NULL, 0}};
    int option;

    while ((option = next_option(command, NULL, options)) != -1) {
        if (option == OPTION_TECHNIQUE)
            plan->technique = technique_of(command, optarg);
        else if (option == OPTION_TABLE)
            plan->table = optarg;
        else if (option == OPTION_ROLE)
            plan->role = optarg;
        else if (option == OPTION_GRANTS)
            plan->grants_only = 1;
        else
            plan->extension = 1;
    }
}

static void say(const struct command *command, const char *state, const char *text)
{
    if (command->json)
        printf("{\"schema\":\"%s\"}\n", state);
    else
        puts(text);
}

/* ---- what is done ------------------------------------------------------------------------------ */

/* The library's answers that need no connection of their own: is a schema of this version there? */
static int is_there(struct rowlock_connection *connection)
{
    return rowlock_upgrade(connection, NULL) == ROWLOCK_OK;
}

/* Once, and to whom it may concern: whoever sets up the server. It hinders nothing. */
static void warn(const struct command *command, struct rowlock_connection *connection)
{
    char *warning = NULL;

    if (command->json || rowlock_durability(connection, &warning, NULL))
        return;
    if (warning)
        message("warning: %s", warning);
    rowlock_free(warning);
}

struct state {
    int was_there;
    enum rowlock_technique technique;
    char *extension; /* its version; NULL: it is none */
};

/* A schema in the wrong database looks like one in the right one: so it is said where it is. */
static void say_installed(const struct command *command, const struct state *state)
{
    const char *name = techniques[state->technique], *where = database_place();

    if (command->json) {
        printf("{\"schema\":\"%s\",\"technique\":\"%s\",\"database\":",
               state->was_there ? "present" : "installed", name);
        json_text(stdout, where);
        if (state->extension) {
            printf(",\"extension\":");
            json_text(stdout, state->extension);
        }
        puts("}");
    } else if (state->extension) {
        printf("rowlock is installed already in %s, technique %s, as an extension (version %s)\n",
               where, name, state->extension);
    } else {
        printf("rowlock is installed%s in %s, technique %s%s\n", state->was_there ? " already" : "",
               where, name,
               state->was_there
                   ? ""
                   : ": tables, and functions or procedures where the engine has them");
    }
}

static int install(const struct command *command, struct rowlock_connection *connection,
                   const struct rowlock_plan *plan)
{
    struct state state = {.was_there = is_there(connection)};
    struct rowlock_error error;

    if (rowlock_install(connection, plan, &error) ||
        rowlock_installed(connection, &state.technique, &error) ||
        rowlock_extension(connection, &state.extension, &error))
        return report(&error);
    say_installed(command, &state);
    rowlock_free(state.extension);
    warn(command, connection);
    return STATUS_OK;
}

static int upgrade(const struct command *command, struct rowlock_connection *connection,
                   const struct rowlock_plan *plan)
{
    struct rowlock_error error;
    char *extension = NULL;

    (void)plan;
    if (rowlock_upgrade(connection, &error) || rowlock_extension(connection, &extension, &error))
        return report(&error);
    say(command, "current",
        extension ? "the schema is current; it is an extension: ALTER EXTENSION rowlock UPDATE "
                    "brings a newer one"
                  : "the schema is current");
    rowlock_free(extension);
    return STATUS_OK;
}

static int uninstall(const struct command *command, struct rowlock_connection *connection,
                     const struct rowlock_plan *plan)
{
    struct rowlock_error error;
    int there = is_there(connection);

    (void)plan;
    if (rowlock_uninstall(connection, &error))
        return report(&error);
    if (there)
        say(command, "removed",
            "removed: rowlock's tables with all their rows, its functions and "
            "procedures; a table that was there before it stays");
    else
        say(command, "absent", "nothing of rowlock's is left in this database");
    return STATUS_OK;
}

/* ---- print ------------------------------------------------------------------------------------- */

static int print(const struct command *command, const struct rowlock_plan *plan)
{
    const char *dialect = command->n_operands > 1 ? command->operands[1] : NULL;
    struct rowlock_error error;
    struct url url = {0};
    char *text = NULL;
    int status = dialect ? STATUS_OK : url_lookup(command->db, &url);

    if (status)
        return status;
    if (!dialect)
        dialect = url_dialect(&url);
    if (!dialect) {
        message("no dialect is known for this URL; name one: rowlock schema print postgresql");
        status = STATUS_USAGE;
    } else if (rowlock_schema_text(dialect, plan, &text, &error)) {
        status = report(&error);
    } else {
        fputs(text, stdout);
    }
    rowlock_free(text);
    url_free(&url);
    return status;
}

/* ---- the verb ------------------------------------------------------------------------------------ */

static const struct {
    const char *name;
    int (*run)(const struct command *command, struct rowlock_connection *connection,
               const struct rowlock_plan *plan);
} actions[] = {{"install", install}, {"upgrade", upgrade}, {"uninstall", uninstall}};

static int act(const struct command *command, size_t action, const struct rowlock_plan *plan)
{
    struct rowlock_connection *connection = NULL;
    int status = connect_by_lookup(command, &connection);

    if (!status)
        status = actions[action].run(command, connection, plan);
    rowlock_close(connection);
    return status;
}

int cmd_schema(struct command *command)
{
    struct rowlock_plan plan = {0};
    const char *name;

    read_plan(command, &plan);
    if (command->n_operands == 0)
        usage_error(command, "what? install, upgrade, print or uninstall");
    name = command->operands[0];
    if (strcmp(name, "print") == 0 && command->n_operands <= 2 && command->n_rest == 0)
        return print(command, &plan);
    if (command->n_operands + command->n_rest > 1)
        usage_error(command, "one word too many");
    if (plan.extension)
        usage_error(command,
                    "--extension goes with print; in the database it is: CREATE EXTENSION rowlock");
    if (plan.role || plan.grants_only)
        usage_error(command, "--role and --grants go with print: the GRANTs are yours to read and "
                             "run");
    for (size_t i = 0; i < sizeof actions / sizeof *actions; i++)
        if (strcmp(name, actions[i].name) == 0) {
            if (strcmp(name, "install") != 0 && (plan.technique || plan.table))
                usage_error(command, "--technique and --table go with install and print");
            return act(command, i, &plan);
        }
    usage_error(command, "'%s' is none of install, upgrade, print and uninstall", shown(name));
}
