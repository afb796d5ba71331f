/* SPDX-License-Identifier: Apache-2.0 */
/* Compares the GRANTs of the schema's text with the privileges that the server reports. */
#include "schema/schema.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/error.h"

#define ROLE "application" /* the role in the text */
/* reported for each object, and for "", where an account sees all objects */
#define EXISTS "exists"
#define PROCEDURE "PROCEDURE "
#define EVERY_PROCEDURE PROCEDURE "*" /* reported if EXECUTE is granted on the whole database */
#define WHOLE_DATABASE "*"            /* so the text names it */
/* begins a paragraph of the text */
#define OF_HISTORY "-- Only the history (rowlock log) needs these"

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

static bool is_procedure(const char *object)
{
    return strncmp(object, PROCEDURE, strlen(PROCEDURE)) == 0;
}

/* Whether the account has the privilege on the object. EXECUTE on the whole database includes
   procedures that are missing. Where the text grants that, one procedure shows it: the server does
   not report what a role grants on a database. */
static bool is_held(const struct comparison *comparison, const char *object, const char *privilege)
{
    const struct privilege *held = comparison->held.row;
    bool whole = strcmp(object, WHOLE_DATABASE) == 0;

    for (size_t i = 0; i < comparison->held.n; i++)
        if (strcmp(held[i].privilege, privilege) == 0 &&
            (strcmp(held[i].object, object) == 0 || (whole && is_procedure(held[i].object)) ||
             (is_procedure(object) && strcmp(held[i].object, EVERY_PROCEDURE) == 0)))
            return true;
    return false;
}

/* Whether no object exists: the account sees none, although it has a grant that shows it all. */
static bool is_absent(const struct comparison *comparison)
{
    const struct privilege *held = comparison->held.row;
    bool sees = comparison->all_seen;

    for (size_t i = 0; i < comparison->held.n; i++)
        if (strcmp(held[i].object, EVERY_PROCEDURE) == 0)
            sees = true;
        else if (*held[i].object)
            return false;
    return sees;
}

/* ---- one GRANT ------------------------------------------------------------------------------- */

/* The next privilege of a list; a list of columns counts as one for each: "UPDATE (a, b)" is
   "UPDATE (a)" and "UPDATE (b)". `verb` is the word before the columns. Returns what follows. */
static const char *next_privilege(const char *at, const char *end, char verb[32], char out[100])
{
    size_t length;

    at += strspn(at, ", ");
    if (*at == ')') {
        *verb = '\0';
        at++;
        at += strspn(at, ", ");
    }
    if (at >= end)
        return NULL;
    length = strcspn(at, ",(");
    if (!*verb && at[length] == '(' && at + length < end) {
        snprintf(verb, 32, "%.*s", (int)length, at);
        at += length + 1;
    }
    length = strcspn(at, ",)");
    if (at + length > end)
        length = (size_t)(end - at);
    snprintf(out, 100, *verb ? "%s(%.*s)" : "%s%.*s", verb, (int)length, at);
    return at + length;
}

/* Writes the GRANT. In "PROCEDURE p" the qualifier comes after the kind. */
static void put_grant(const struct comparison *comparison, const char *lacking, const char *object)
{
    const struct privilege *account = comparison->held.row;
    const char *name = strrchr(object, ' ');
    char what[600], grant[900];

    name = *account->qualifier && name ? name + 1 : object;
    snprintf(what, sizeof what, "%s on %s", lacking, object);
    snprintf(grant, sizeof grant, "GRANT %s ON %.*s%s%s TO %s;", lacking, (int)(name - object),
             object, account->qualifier, name, account->privilege);
    comparison->lacks(comparison->data, what, grant, comparison->of_history);
}

static void compare_object(const struct comparison *comparison, const char *list, const char *end,
                           const char *object)
{
    char verb[32] = "", one[100], lacking[400] = "";

    if (comparison->all_seen && !is_held(comparison, object, EXISTS))
        return; /* of another technique, or missing: rowlock_missing reports it */
    while ((list = next_privilege(list, end, verb, one))) {
        size_t length = strlen(lacking);

        if (!is_held(comparison, object, one))
            snprintf(lacking + length, sizeof lacking - length, "%s%s", length ? ", " : "", one);
    }
    if (*lacking)
        put_grant(comparison, lacking, object);
}

/* The length of the kind before a list of objects: in "SEQUENCE a, b" it is that of all of them. */
static size_t kind_length(const char *objects)
{
    static const char *const kinds[] = {"SEQUENCE ", PROCEDURE};

    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strncmp(objects, kinds[i], strlen(kinds[i])) == 0)
            return strlen(kinds[i]);
    return 0;
}

/* Whether the GRANT is for the table of technique insert, whose name the text computes. */
static bool is_computed(const char *from, const char *to)
{
    return memchr(from, '%', (size_t)(to - from)) || memchr(from, '"', (size_t)(to - from));
}

static void compare_grant(const struct comparison *comparison, const char *privileges,
                          const char *on, const char *to)
{
    const char *objects = on + strlen(" ON ");
    size_t kind = kind_length(objects);
    char object[300];

    if (is_computed(objects, to)) {
        if (comparison->installed->technique == ROWLOCK_INSERT)
            compare_object(comparison, privileges, on, comparison->installed->object);
        return;
    }
    for (const char *at = objects + kind; at < to;) {
        size_t length = strcspn(at, ",");

        if (length > (size_t)(to - at))
            length = (size_t)(to - at);
        snprintf(object, sizeof object, "%.*s%.*s", (int)kind, objects, (int)length, at);
        compare_object(comparison, privileges, on, object);
        at += length;
        at += strspn(at, ", ");
    }
}

/* ---- the text -------------------------------------------------------------------------------- */

/* Removes comments, and makes each run of blanks one space. */
static void flatten(char *text)
{
    char *to = text;

    for (char *at = text; *at;) {
        size_t blanks = strspn(at, " \n");

        at += blanks;
        if (strncmp(at, "--", 2) == 0) {
            at += strcspn(at, "\n");
            continue;
        }
        if (blanks && to > text)
            *to++ = ' ';
        while (*at && !strchr(" \n", *at))
            *to++ = *at++;
    }
    *to = '\0';
}

static void compare_text(const struct comparison *comparison, const char *text)
{
    while ((text = strstr(text, "GRANT "))) {
        const char *privileges = text + strlen("GRANT ");
        const char *on = strstr(privileges, " ON "), *to = on ? strstr(on, " TO ") : NULL;

        if (!to)
            return;
        if (strncmp(to + strlen(" TO "), ROLE, strlen(ROLE)) == 0)
            compare_grant(comparison, privileges, on, to);
        text = to;
    }
}

static void compare_part(struct comparison *comparison, char *text, bool of_history)
{
    comparison->of_history = of_history;
    flatten(text);
    compare_text(comparison, text);
}

/* Compares every GRANT of the text, and frees it. */
static void compare_all(struct comparison *comparison, char *text)
{
    char *history = strstr(text, OF_HISTORY), *rest = history ? strstr(history, "\n\n") : NULL;

    if (history)
        history[-1] = '\0';
    if (rest)
        *rest++ = '\0';
    compare_part(comparison, text, false);
    if (history)
        compare_part(comparison, history, true);
    if (rest)
        compare_part(comparison, rest, false);
    free(text);
}

static int compare(struct comparison *comparison, const struct rowlock_dialect *dialect,
                   char **account, struct rowlock_error *error)
{
    const struct rowlock_names names = {.object = comparison->installed->object, .role = ROLE};
    char *text = NULL;
    int code = rowlock__piece(dialect, "grants", &names, &text, error);

    if (code)
        return code;
    compare_all(comparison, text);
    *account = strdup(((const struct privilege *)comparison->held.row)->privilege);
    return *account ? ROWLOCK_OK : rowlock__fail(error, ROWLOCK_ENOMEM, "out of memory");
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
    int code =
        rowlock__ask(connection, ROWLOCK_SQL_PRIVILEGES, &object, held_row, &comparison, error);

    *account = NULL;
    code = rowlock__rows_complete(&comparison.held, code, error);
    if (!code && comparison.held.n > 0 && !is_absent(&comparison))
        code = compare(&comparison, connection->dialect, account, error);
    rowlock__rows_clear(&comparison.held);
    return code;
}
