/* SPDX-License-Identifier: Apache-2.0 */
/* The schema's SQL text, for install, print and CREATE EXTENSION. */
#include "schema/schema.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dialect/plain.h"
#include "session/connection.h"
#include "util/bytes.h"
#include "util/error.h"

#define HOST_CHARACTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_%:"

static const struct rowlock_dialect *const dialects[] = {
    &rowlock__dialect_postgresql, &rowlock__dialect_yugabytedb, &rowlock__dialect_mariadb,
    &rowlock__dialect_mysql, &rowlock__dialect_sqlite};

int rowlock__is_identifier(const char *text)
{
    size_t length = text ? strlen(text) : 0;

    if (length == 0 || length > 63 || isdigit((unsigned char)text[0]))
        return 0;
    for (size_t i = 0; i < length; i++)
        if (text[i] != '_' && ((unsigned char)text[i] >= 0x80 || !isalnum((unsigned char)text[i])))
            return 0;
    return 1;
}

static const struct rowlock_piece *find_piece(const struct rowlock_dialect *dialect,
                                              const char *name)
{
    for (const struct rowlock_piece *piece = dialect->pieces; piece->name; piece++)
        if (strcmp(piece->name, name) == 0)
            return piece;
    return NULL;
}

size_t rowlock__install_pieces(enum rowlock_technique technique, bool upgrades,
                               const char *out[ROWLOCK_PIECES])
{
    static const char *const begins[] = {"", "native_begin", "row_begin", "insert_begin"};
    const char *begin = begins[technique], *own = rowlock__technique_name(technique);
    const char *leases = upgrades ? "upgrade_leases" : "", *change = upgrades ? "upgrade" : "";
    const char *policies = upgrades ? "" : "policies";
    const char *const pieces[] = {"adopt",   leases,     change,   begin,        "install",
                                  "history", "lease",    "queue",  "door",       "request",
                                  "counter", "schedule", "job",    "job_decide", "job_door",
                                  "subject", own,        policies, "views",      "finish"};
    size_t n = sizeof pieces / sizeof *pieces;

    memcpy(out, pieces, sizeof pieces);
    return n;
}

/* Statements that fail if their object exists, by their first words, and the text to insert after
   the first word or at the end. Statements with IF NOT EXISTS or OR REPLACE need no change. */
static const struct {
    const char *head;
    size_t at;
    const char *insert;
} heads[] = {
    {"CREATE FUNCTION ", 7, "OR REPLACE "},     {"CREATE VIEW ", 7, "OR REPLACE "},
    {"CREATE TABLE ", 13, "IF NOT EXISTS "},    {"CREATE INDEX ", 13, "IF NOT EXISTS "},
    {"CREATE SEQUENCE ", 16, "IF NOT EXISTS "}, {"CREATE UNIQUE INDEX ", 20, "IF NOT EXISTS "},
};

/* Statements begin in the first column; frees the text. */
static char *made_repeatable(char *text)
{
    size_t lines = 1, length = strlen(text), at = 0, n;
    char *out;

    for (const char *c = text; *c; c++)
        lines += *c == '\n';
    out = malloc(length + lines * 16 + 1);
    for (const char *line = text; out && *line; line += n) {
        const char *insert = "";
        size_t head = 0;

        for (size_t i = 0; !*insert && i < sizeof heads / sizeof *heads; i++) {
            size_t first = strlen(heads[i].head);

            if (strncmp(line, heads[i].head, first) != 0 ||
                strncmp(line + first, "IF NOT EXISTS ", 14) == 0)
                continue;
            insert = heads[i].insert;
            head = heads[i].at;
        }
        n = strcspn(line, "\n");
        n += line[n] == '\n';
        at += (size_t)sprintf(out + at, "%.*s%s", (int)head, line, insert);
        memcpy(out + at, line + head, n - head);
        at += n - head;
    }
    if (out)
        out[at] = '\0';
    free(text);
    return out;
}

int rowlock__plan_technique(const struct rowlock_dialect *dialect, const struct rowlock_plan *plan,
                            enum rowlock_technique *out, struct rowlock_error *error)
{
    enum rowlock_technique technique = plan ? plan->technique : ROWLOCK_DEFAULT;
    char offered[40] = "";

    if ((int)technique < ROWLOCK_DEFAULT || technique > ROWLOCK_INSERT)
        return rowlock__fail(error, ROWLOCK_EINVAL, "unknown technique %d", (int)technique);
    if (technique == ROWLOCK_DEFAULT && plan && plan->table)
        technique = ROWLOCK_INSERT;
    if (technique == ROWLOCK_DEFAULT)
        technique = find_piece(dialect, "native") ? ROWLOCK_NATIVE : ROWLOCK_ROW;
    if (!find_piece(dialect, rowlock__technique_name(technique))) {
        for (int t = ROWLOCK_NATIVE; t <= ROWLOCK_INSERT; t++)
            if (find_piece(dialect, rowlock__technique_name(t)))
                snprintf(offered + strlen(offered), sizeof offered - strlen(offered), "%s%s",
                         offered[0] ? ", " : "", rowlock__technique_name(t));
        return rowlock__fail(error, ROWLOCK_EMODE, "%s does not offer technique %s; it has %s",
                             dialect->name, rowlock__technique_name(technique), offered);
    }
    if (plan && plan->table && technique != ROWLOCK_INSERT)
        return rowlock__fail(error, ROWLOCK_EINVAL, "a table requires technique insert");
    if (plan && plan->table && !rowlock__is_identifier(plan->table))
        return rowlock__fail(error, ROWLOCK_EINVAL,
                             "'%s' is not a plain table name (letters, digits, _; no schema)",
                             plan->table);
    *out = technique;
    return ROWLOCK_OK;
}

int rowlock__piece(const struct rowlock_dialect *dialect, const char *name,
                   const struct rowlock_names *names, char **out, struct rowlock_error *error)
{
    const struct rowlock_piece *piece = find_piece(dialect, name);
    char *with_object =
        rowlock__replace_word(piece ? piece->text : "", "rowlock_object", names->object);
    char *whole =
        with_object ? rowlock__replace_word(with_object, "application", names->role) : NULL;

    free(with_object);
    if (whole && names->again &&
        !rowlock__has_plain_schema(dialect)) /* emulate/ looks for each object */
        whole = made_repeatable(whole);
    if (!whole)
        return rowlock__no_memory(error);
    *out = whole;
    return ROWLOCK_OK;
}

#define N_PARTS (ROWLOCK_PIECES + 4)

static int join(const struct rowlock_dialect *dialect, const char *const *parts, size_t n,
                const struct rowlock_names *names, char **out, struct rowlock_error *error)
{
    size_t length = 1;
    char *texts[N_PARTS] = {0}, *whole = NULL;
    int code = ROWLOCK_OK;

    for (size_t i = 0; !code && i < n; i++) {
        code = rowlock__piece(dialect, parts[i], names, &texts[i], error);
        length += code ? 0 : strlen(texts[i]) + 1;
    }
    if (!code && !(whole = malloc(length)))
        code = rowlock__no_memory(error);
    for (size_t i = 0, at = 0; !code && i < n; i++)
        at += (size_t)snprintf(whole + at, length - at, "%s%s", texts[i], *texts[i] ? "\n" : "");
    for (size_t i = 0; i < n; i++)
        free(texts[i]);
    if (!code)
        *out = whole;
    return code;
}

/* Joins "header", the pieces that install runs, the grants and "footer": a script that a DBA can
   run by hand. Or joins the script of CREATE EXTENSION, or that of ALTER EXTENSION. */
static int join_schema(const struct rowlock_dialect *dialect, enum rowlock_technique technique,
                       int extension, const struct rowlock_names *names, char **out,
                       struct rowlock_error *error)
{
    const char *parts[N_PARTS] = {names->again ? "extension_upgrade"
                                  : extension  ? "extension_begin"
                                               : "header"};
    size_t n = 1;

    n += rowlock__install_pieces(technique, names->again, parts + n);
    if (names->again) /* of one transaction */
        parts[n++] = "policies";
    if (extension) { /* its owner grants, and CREATE EXTENSION commits */
        parts[n++] = "extension_end";
    } else {
        parts[n++] = "grants";
        parts[n++] = "footer";
    }
    return join(dialect, parts, n, names, out, error);
}

int rowlock__parts_text(const struct rowlock_dialect *dialect, enum rowlock_technique technique,
                        const char *object, char **out, struct rowlock_error *error)
{
    const char *pieces[ROWLOCK_PIECES];
    size_t n = rowlock__install_pieces(technique, false, pieces), length = 1, at = 0;
    const struct rowlock_piece *piece;
    char *text;

    for (size_t i = 0; i < n; i++)
        if ((piece = find_piece(dialect, pieces[i])))
            length += strlen(piece->parts);
    text = calloc(1, length);
    for (size_t i = 0; text && i < n; i++)
        if ((piece = find_piece(dialect, pieces[i])))
            at += (size_t)sprintf(text + at, "%s", piece->parts);
    *out = text ? rowlock__replace_word(text, "rowlock_object", object) : NULL;
    free(text);
    return *out ? ROWLOCK_OK : rowlock__no_memory(error);
}

const char *rowlock__grants(const struct rowlock_dialect *dialect)
{
    const struct rowlock_piece *piece = find_piece(dialect, "grants");

    return piece ? piece->parts : "";
}

bool rowlock__is_of_history(const struct rowlock_dialect *dialect, const char *line)
{
    const struct rowlock_piece *piece = find_piece(dialect, "history");
    size_t length = strlen(line);
    bool is = false;

    if (!piece || strncmp(line, "function ", 9) == 0 || (dialect->plain && dialect->plain->whole))
        return false;
    for (const char *part = piece->parts; !is && *part;) {
        size_t n = strcspn(part, "\n");

        is = n == length && strncmp(part, line, length) == 0;
        part += n + (part[n] == '\n');
    }
    return is;
}

/* Refuses other techniques for an extension: a dump of the database contains only the extension's
   name, so the extension must mean one technique. */
static int check_extension(const struct rowlock_dialect *dialect, enum rowlock_technique technique,
                           int from, struct rowlock_error *error)
{
    if (!find_piece(dialect, "extension_begin"))
        return rowlock__fail(error, ROWLOCK_EMODE, "an extension is for postgresql, not for %s",
                             dialect->name);
    if (from && (from < 1 || from >= ROWLOCK_SCHEMA_VERSION))
        return rowlock__fail(error, ROWLOCK_EINVAL,
                             "there is no upgrade from version %d; the extension has version %d",
                             from, ROWLOCK_SCHEMA_VERSION);
    if (technique != ROWLOCK_NATIVE)
        return rowlock__fail(error, ROWLOCK_EMODE,
                             "the extension is of technique native; for %s run: rowlock schema "
                             "install --technique %s",
                             rowlock__technique_name(technique),
                             rowlock__technique_name(technique));
    return ROWLOCK_OK;
}

/* A plain name; on MariaDB and MySQL also user@host, which is then quoted. */
static int role_name(const struct rowlock_dialect *dialect, const char *role, char *out,
                     size_t size, struct rowlock_error *error)
{
    const char *at = strchr(role, '@'), *host = at ? at + 1 : "";
    size_t length = strlen(host);
    char user[64];

    if (at && strstr("mariadb mysql", dialect->name) && at - role < (long)sizeof user) {
        snprintf(user, sizeof user, "%.*s", (int)(at - role), role);
        if (rowlock__is_identifier(user) && length > 0 && length < 80 &&
            strspn(host, HOST_CHARACTERS) == length) {
            snprintf(out, size, "'%s'@'%s'", user, host);
            return ROWLOCK_OK;
        }
    } else if (rowlock__is_identifier(role)) {
        snprintf(out, size, "%s", role);
        return ROWLOCK_OK;
    }
    return rowlock__fail(error, ROWLOCK_EINVAL,
                         "'%s' is not a plain role name (letters, digits, _); print without it and "
                         "edit the GRANTs",
                         role);
}

int rowlock_schema_text(const char *dialect_name, const struct rowlock_plan *plan, char **out,
                        struct rowlock_error *error)
{
    const struct rowlock_dialect *dialect =
        dialect_name ? rowlock__plain_named(dialect_name) : NULL;
    struct rowlock_names names = {plan && plan->table ? plan->table : "rowlock_object",
                                  plan && plan->role ? plan->role : "application",
                                  plan && plan->extension && plan->from};
    enum rowlock_technique technique;
    char object[80], role[160];
    int code;

    rowlock__clear_error(error);
    for (size_t i = 0; dialect_name && i < sizeof dialects / sizeof *dialects; i++)
        if (strcmp(dialects[i]->name, dialect_name) == 0)
            dialect = dialects[i];
    if (!dialect)
        return rowlock__fail(
            error, ROWLOCK_EINVAL,
            "no dialect '%s'; there are postgresql, yugabytedb, mariadb, mysql, tidb, sqlite, "
            "derby, h2, hsqldb, oracle, sqlserver and db2",
            dialect_name ? dialect_name : "");
    code = rowlock__plan_technique(dialect, plan, &technique, error);
    if (!code && plan && plan->extension)
        code = check_extension(dialect, technique, plan->from, error);
    if (code)
        return code;
    code = role_name(dialect, names.role, role, sizeof role, error);
    if (code)
        return code;
    names.role = role;
    if (dialect->statements[ROWLOCK_SQL_HOME].text) {
        snprintf(object, sizeof object, "public.%s", names.object);
        names.object = object;
    }
    if (plan && plan->grants_only)
        return join(dialect, (const char *const[]){"grants"}, 1, &names, out, error);
    return join_schema(dialect, technique, plan && plan->extension, &names, out, error);
}

void rowlock_free(char *text)
{
    free(text);
}
