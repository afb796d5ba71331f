/* SPDX-License-Identifier: Apache-2.0 */
/* schema install, upgrade, set, print, uninstall. Any number of nodes may install at once. */
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "command/command.h"
#include "command/history_rules.h"
#include "command/output/json.h"
#include "command/url_lookup.h"
#include "util/clock.h"

#define PROOF_MS 10000

struct request {
    struct rowlock_plan plan;
    int force;
    struct rules_request rules;
};

static const char *const techniques[] = {"default", "native", "row", "insert"};

static void take_technique(const struct command *command, const struct option_row *row, void *into)
{
    (void)row;
    for (int i = 0; i < 4; i++)
        if (strcmp(optarg, techniques[i]) == 0) {
            *(enum rowlock_technique *)into = (enum rowlock_technique)i;
            return;
        }
    usage_error(command, "--technique: '%s' is none of native, row and insert", shown(optarg));
}

/* A bare number is seconds, as elsewhere. */
static void take_kept(const struct command *command, const struct option_row *row, void *into)
{
    int64_t ms = option_duration(command, row);

    if (ms < 60000 || ms > INT64_C(3155760000000))
        usage_error(command, "--%s must be between 1m and 100 years, not %s", row->name,
                    shown(optarg));
    *(int64_t *)into = ms;
}

#define AT(member) offsetof(struct request, member)

static const struct option_row options[] = {
    {"technique", 0, required_argument, take_technique, AT(plan.technique), 0, 0},
    {"table", 0, required_argument, set_text, AT(plan.table), 0, 0},
    {"role", 0, required_argument, set_text, AT(plan.role), 0, 0},
    {"grants", 0, no_argument, set_flag, AT(plan.grants_only), 0, 0},
    {"extension", 0, no_argument, set_flag, AT(plan.extension), 0, 0},
    {"from", 0, required_argument, set_number, AT(plan.from), 1, INT_MAX},
    {"force", 0, no_argument, set_flag, AT(force), 0, 0},
    {"keep-good", 0, required_argument, take_kept, AT(rules.keep_good_ms), 1000, 0},
    {"keep-bad", 0, required_argument, take_kept, AT(rules.keep_bad_ms), 1000, 0},
    {0}};

static void say(const struct command *command, const char *state, const char *text)
{
    if (command->json)
        printf("{\"schema\":\"%s\"}\n", state);
    else
        puts(text);
}

/* ---- actions --------------------------------------------------------------------------------- */

/* The schema before the verb: ABSENT, or of a version that this program does not work with; WHOLE;
   DAMAGED: it lacks `*missing`. */
enum before { ABSENT, WHOLE, DAMAGED };

static enum before look_before(struct rowlock_connection *connection, char **missing)
{
    if (rowlock_missing(connection, missing, NULL))
        return ABSENT;
    return *missing ? DAMAGED : WHOLE;
}

struct state {
    enum before before;
    int version, own; /* of the schema after the verb, and of this program */
    char *missing;
    enum rowlock_technique technique;
    char *extension; /* its version; NULL: not an extension */
};

static void print_json(const struct state *state, const char *word)
{
    printf("{\"schema\":\"%s\",\"technique\":\"%s\",\"database\":", word,
           techniques[state->technique]);
    json_text(stdout, database_place());
    printf(",\"version\":%d", state->version);
    if (state->before == DAMAGED) {
        printf(",\"missing\":");
        json_text(stdout, state->missing);
    }
    if (state->extension) {
        printf(",\"extension\":");
        json_text(stdout, state->extension);
    }
    puts("}");
}

/* A schema in the wrong database looks like one in the right database, so prints the database. */
static void say_installed(const struct command *command, const struct state *state)
{
    static const char *const words[] = {"installed", "present", "repaired"};
    const char *name = techniques[state->technique], *where = database_place();

    if (command->json) {
        print_json(state, words[state->before]);
    } else if (state->before == DAMAGED) {
        printf("rowlock is repaired in %s, technique %s; missing were: %s; grant the use of them "
               "again: rowlock schema print --grants --role NAME\n",
               where, name, state->missing);
    } else if (state->extension) {
        printf("rowlock is installed already in %s, technique %s, as an extension (version %s)\n",
               where, name, state->extension);
    } else {
        printf("rowlock is installed%s in %s, technique %s\n",
               state->before == WHOLE ? " already" : "", where, name);
    }
    if (!command->json && state->version != state->own)
        message("the schema is version %d, and this program's is %d: it works with both; %s",
                state->version, state->own,
                state->version > state->own ? "update rowlock on this node"
                : state->extension          ? "to upgrade, run: ALTER EXTENSION rowlock UPDATE"
                                            : "to upgrade, run: rowlock schema upgrade");
}

/* Reads what is reported after the verb. */
static int look_after(struct rowlock_connection *connection, struct state *state,
                      struct rowlock_error *error)
{
    int code = rowlock_installed(connection, &state->technique, error);

    if (!code)
        code = rowlock_extension(connection, &state->extension, error);
    return code ? code : rowlock_schema_version(connection, &state->version, &state->own, error);
}

int prove_exclusion(struct rowlock_connection *one, struct rowlock_connection *two,
                    struct rowlock_error *error)
{
    char name[200], host[100] = "";
    struct rowlock_want want = {.name = name};
    int code, second;

    gethostname(host, sizeof host - 1);
    snprintf(name, sizeof name, "rowlock proof %s %d %lld", host, (int)getpid(),
             (long long)rowlock__now_ms());
    code = rowlock_begin(one, &want, 1, PROOF_MS, error);
    if (code)
        return code;
    second = rowlock_begin(two, &want, 1, 0, error);
    if (!second)
        rowlock_rollback(two, NULL);
    rowlock_rollback(one, NULL);
    rowlock_vacuum_name(one, name, NULL);
    if (second)
        return second == ROWLOCK_EBUSY ? ROWLOCK_OK : second;
    snprintf(error->text, sizeof error->text,
             "this server cannot keep a lock: two sessions had the same one at the same time, "
             "because it ignores row locks; use another database");
    return error->code = ROWLOCK_ESERVER;
}

/* Exit status. A server that ignores locks gets no schema. */
static int prove(struct rowlock_connection *connection, enum before before)
{
    struct rowlock_connection *second = NULL;
    struct rowlock_error error = {0}, ignored;
    int code;

    if (strncmp(database_place(), "sqlite:", strlen("sqlite:")) == 0)
        return STATUS_OK;
    code = open_database(&(struct rowlock_options){0}, &second, &error);
    if (!code)
        code = prove_exclusion(connection, second, &error);
    rowlock_close(second);
    if (code && code != ROWLOCK_ESERVER)
        message("warning: it was not examined whether this server keeps locks: %s", error.text);
    if (code != ROWLOCK_ESERVER)
        return STATUS_OK;
    if (before == ABSENT)
        rowlock_uninstall(connection, &ignored);
    return report(&error);
}

static int install(const struct command *command, struct rowlock_connection *connection,
                   const struct request *request)
{
    struct state state = {0};
    struct rowlock_error error;
    char *warning = NULL;
    int status = STATUS_OK;

    warn_of_schema(connection);
    state.before = look_before(connection, &state.missing);
    if (rowlock_install(connection, &request->plan, &error) ||
        look_after(connection, &state, &error)) {
        status = report(&error);
    } else if (!(status = prove(connection, state.before))) {
        say_installed(command, &state);
        /* for the administrator of the server, printed once; no error */
        if (!command->json && rowlock_durability(connection, &warning, NULL) == 0 && warning)
            message("warning: %s", warning);
    }
    rowlock_free(warning);
    rowlock_free(state.extension);
    rowlock_free(state.missing);
    return status;
}

static int upgrade(const struct command *command, struct rowlock_connection *connection,
                   const struct request *request)
{
    struct state state = {0};
    struct rowlock_error error;
    int status = STATUS_OK, version = 0;

    (void)request;
    rowlock_schema_version(connection, &version, &state.own, &error);
    state.before = look_before(connection, &state.missing);
    if (rowlock_upgrade(connection, &error) || look_after(connection, &state, &error))
        status = report(&error);
    else if (version && version < state.own && command->json)
        print_json(&state, "upgraded");
    else if (version && version < state.own)
        printf("rowlock is upgraded in %s, technique %s; grant the use of its new objects: rowlock "
               "schema print --grants --role NAME\n",
               database_place(), techniques[state.technique]);
    else if (state.before == DAMAGED)
        say_installed(command, &state);
    else
        say(command, "current",
            version > state.own ? "the schema is current, and newer than this program's"
            : state.extension
                ? "the schema is current; it is an extension: ALTER EXTENSION rowlock UPDATE "
                  "brings a newer one"
                : "the schema is current");
    rowlock_free(state.extension);
    rowlock_free(state.missing);
    return status;
}

static int uninstall(const struct command *command, struct rowlock_connection *connection,
                     const struct request *request)
{
    struct rowlock_error error;
    char *missing = NULL;
    enum before before = look_before(connection, &missing);

    rowlock_free(missing);
    if (request->force ? rowlock_uninstall_force(connection, &error)
                       : rowlock_uninstall(connection, &error))
        return report(&error);
    if (before != ABSENT)
        say(command, "removed",
            "removed: rowlock's tables with all their rows, its functions and "
            "procedures; a table that was there before it stays");
    else
        say(command, "absent", "rowlock is not installed in this database");
    return STATUS_OK;
}

static int set(const struct command *command, struct rowlock_connection *connection,
               const struct request *request)
{
    return rules_set(command, connection, &request->rules);
}

/* ---- print ----------------------------------------------------------------------------------- */

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
        message("this URL has no known dialect; name one: rowlock schema print postgresql");
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

/* ---- the verb -------------------------------------------------------------------------------- */

static const struct {
    const char *name;
    int (*run)(const struct command *command, struct rowlock_connection *connection,
               const struct request *request);
} actions[] = {{"install", install}, {"upgrade", upgrade}, {"set", set}, {"uninstall", uninstall}};

#define N_ACTIONS (sizeof actions / sizeof *actions)

int cmd_schema(struct command *command)
{
    struct rowlock_connection *connection = NULL;
    struct request request = {0};
    const char *name;
    size_t action = 0;
    int status;

    scan_own_options(command, options, &request);
    if (command->n_operands == 0)
        usage_error(command, "an operation is missing: install, upgrade, set, print or uninstall");
    name = command->operands[0];
    if (request.force && strcmp(name, "print") == 0)
        usage_error(command, "--force requires uninstall");
    if (request.plan.from && !(request.plan.extension && strcmp(name, "print") == 0))
        usage_error(command, "--from requires print --extension");
    if (strcmp(name, "print") == 0 && command->n_operands <= 2 && command->n_rest == 0)
        return print(command, &request.plan);
    if (strcmp(name, "set") == 0)
        rules_read(command, &request.rules);
    else if (request.rules.keep_good_ms || request.rules.keep_bad_ms)
        usage_error(command, "--keep-good and --keep-bad require set history");
    else if (command->n_operands + command->n_rest > 1)
        usage_error(command, "unexpected argument");
    if (request.plan.extension)
        usage_error(command,
                    "--extension requires print; in the database run: CREATE EXTENSION rowlock");
    if (request.plan.role || request.plan.grants_only)
        usage_error(command, "--role and --grants require print: read the GRANTs and "
                             "run");
    while (action < N_ACTIONS && strcmp(name, actions[action].name) != 0)
        action++;
    if (action == N_ACTIONS)
        usage_error(command, "unknown operation '%s': install, upgrade, set, print or uninstall",
                    shown(name));
    if (strcmp(name, "install") != 0 && (request.plan.technique || request.plan.table))
        usage_error(command, "--technique and --table require install or print");
    if (strcmp(name, "uninstall") != 0 && request.force)
        usage_error(command, "--force requires uninstall");
    status = connect_as(command, &(struct approach){.may_create = actions[action].run == install},
                        &connection);
    if (!status)
        status = actions[action].run(command, connection, &request);
    rowlock_close(connection);
    return status;
}
