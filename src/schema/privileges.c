/* SPDX-License-Identifier: Apache-2.0 */
/* Compares the GRANTs of the schema with the privileges that the server reports. */
#include "schema/schema.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/error.h"

/* reported for each object, and for "", where an account sees all objects */
#define EXISTS "exists"
#define PROCEDURE "PROCEDURE "
#define EVERY_PROCEDURE PROCEDURE "*" /* reported if EXECUTE is granted on the whole database */
#define WHOLE_DATABASE "*"            /* so the text names it */
#define CHOSEN_TABLE "rowlock_object" /* of technique insert */
#define OF_HISTORY "history "         /* begins a line of the grants */

struct privilege {
    const char *object, *privilege, *qualifier;
};

struct comparison {
    struct rowlock_rows held; /* of struct privilege; the first is the account */
    const struct rowlock_installed *installed;
    bool all_seen, of_history;
    rowlock_lacks *lacks;
    void *data;
};

static void held_row(void *data, const struct rowlock_value *columns, unsigned n)
{
    struct comparison *comparison = data;
    struct privilege *held = n < 3 ? NULL : rowlock__rows_add(&comparison->held);

    if (!held)
        return;
    held->object = rowlock__rows_text(&comparison->held, &columns[0]);
    held->privilege = rowlock__rows_text(&comparison->held, &columns[1]);
    held->qualifier = rowlock__rows_text(&comparison->held, &columns[2]);
    comparison->all_seen = comparison->all_seen || strcmp(held->privilege, EXISTS) == 0;
}

/* Whether the account has the privilege on the object. EXECUTE on the whole database includes
   procedures that are missing. Where the text grants that, one procedure shows it: the server does
   not report what a role grants on a database. */
static bool is_held(const struct comparison *comparison, const char *object, const char *privilege)
{
    const struct privilege *held = comparison->held.row;
    size_t length = strlen(PROCEDURE);
    bool whole = strcmp(object, WHOLE_DATABASE) == 0;
    bool procedure = strncmp(object, PROCEDURE, length) == 0;

    for (size_t i = 0; i < comparison->held.n; i++)
        if (strcmp(held[i].privilege, privilege) == 0 &&
            (strcmp(held[i].object, object) == 0 ||
             (whole && strncmp(held[i].object, PROCEDURE, length) == 0) ||
             (procedure && strcmp(held[i].object, EVERY_PROCEDURE) == 0)))
            return true;
    return false;
}

/* ---- the GRANTs ------------------------------------------------------------------------------ */

/* `privileges`: "SELECT, UPDATE (n)", up to `end`. Writes the GRANT of those that lack. In
   "PROCEDURE p" the qualifier comes after the kind. */
static void compare_object(const struct comparison *comparison, const char *object,
                           const char *privileges, const char *end)
{
    const struct privilege *account = comparison->held.row;
    char one[100], lacking[400] = "", what[600], grant[900];
    const char *name;

    if (strcmp(object, CHOSEN_TABLE) == 0) {
        if (comparison->installed->technique != ROWLOCK_INSERT)
            return;
        object = comparison->installed->object;
    }
    if (comparison->all_seen && !is_held(comparison, object, EXISTS))
        return; /* of another technique, or missing: rowlock_missing reports it */
    while (privileges < end) {
        size_t length = strcspn(privileges, ",\n"), so_far = strlen(lacking);

        snprintf(one, sizeof one, "%.*s", (int)length, privileges);
        if (!is_held(comparison, object, one))
            snprintf(lacking + so_far, sizeof lacking - so_far, "%s%s", so_far ? ", " : "", one);
        privileges += length + strlen(", ");
    }
    if (!*lacking)
        return;
    name = strrchr(object, ' ');
    name = *account->qualifier && name ? name + 1 : object;
    snprintf(what, sizeof what, "%s on %s", lacking, object);
    snprintf(grant, sizeof grant, "GRANT %s ON %.*s%s%s TO %s;", lacking, (int)(name - object),
             object, account->qualifier, name, account->privilege);
    comparison->lacks(comparison->data, what, grant, comparison->of_history);
}

int rowlock__read_privileges(struct rowlock_connection *connection,
                             const struct rowlock_installed *installed, rowlock_lacks *lacks,
                             void *data, char **account, struct rowlock_error *error)
{
    struct comparison comparison = {.held = {.size = sizeof(struct privilege)},
                                    .installed = installed,
                                    .lacks = lacks,
                                    .data = data};
    struct rowlock_value object =
        rowlock__text_value(*installed->object ? installed->object : NULL);
    const struct privilege *held;
    const char *line = rowlock__grants(connection->dialect);
    bool exists = false, sees, compares;
    int code =
        rowlock__ask(connection, ROWLOCK_SQL_PRIVILEGES, &object, held_row, &comparison, error);

    *account = NULL;
    code = rowlock__rows_complete(&comparison.held, code, error);
    held = comparison.held.row;
    sees = comparison.all_seen;
    for (size_t i = 0; i < comparison.held.n; i++)
        if (strcmp(held[i].object, EVERY_PROCEDURE) == 0)
            sees = true;
        else if (*held[i].object)
            exists = true;
    /* not if no object exists: the account sees none, although it has a grant that shows it all */
    compares = !code && comparison.held.n > 0 && (exists || !sees);
    for (size_t length; compares && *line; line += length + 1) { /* dialect.h, rowlock_piece */
        const char *granted, *privileges = strchr(line, '\t') + 1;
        char name[300];

        length = strcspn(line, "\n");
        comparison.of_history = strncmp(line, OF_HISTORY, strlen(OF_HISTORY)) == 0;
        granted = line + (comparison.of_history ? strlen(OF_HISTORY) : 0);
        snprintf(name, sizeof name, "%.*s", (int)(privileges - 1 - granted), granted);
        compare_object(&comparison, name, privileges, line + length);
    }
    if (compares) {
        *account = strdup(((const struct privilege *)comparison.held.row)->privilege);
        if (!*account)
            code = rowlock__no_memory(error);
    }
    rowlock__rows_clear(&comparison.held);
    return code;
}
