/* SPDX-License-Identifier: Apache-2.0 */
/* Compares the objects that the schema's text creates with the catalog. */
#include "schema/schema.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/rows.h"

#define MOST_NAMED 6 /* more objects would not fit into the line of an error */

/* A list is rows of `const char *`: lines, which become NULL when the other list has them. */
static void add(struct rowlock_rows *list, const char *line)
{
    const char **row = rowlock__rows_add(list);

    if (row)
        *row = line;
}

static void part_row(void *data, const struct rowlock_value *columns, unsigned n)
{
    if (n > 0)
        add(data, rowlock__rows_text(data, &columns[0]));
}

/* Whether the line is a column or a key, which is not reported if its whole table is missing. */
static bool is_piece_of_table(const char *line)
{
    return strncmp(line, "column ", 7) == 0 || strncmp(line, "key ", 4) == 0;
}

static void describe(const struct rowlock_dialect *dialect, const struct rowlock_rows *missing,
                     struct rowlock_parts *out)
{
    size_t length = 0, named = 0, all = 0;
    char text[MOST_NAMED * 80 + 40] = "";

    for (size_t i = 0; i < missing->n; i++) {
        const char *line = ((const char **)missing->row)[i];
        const char *name = strchr(line, ' ') + 1, *dot = strrchr(name, '.');

        bool goes = false; /* with its table, which is missing too */

        for (size_t j = 0; is_piece_of_table(line) && !goes && j < missing->n; j++) {
            const char *other = ((const char **)missing->row)[j], *table = other + 6;
            size_t n = strncmp(other, "table ", 6) == 0 ? strlen(table) : 0;

            goes = n && strncmp(name, table, n) == 0 && (name[n] == '\0' || name + n == dot);
        }
        if (goes)
            continue;
        out->hopeless = out->hopeless || is_piece_of_table(line);
        out->unsafe = out->unsafe || !rowlock__is_of_history(dialect, line);
        out->relation = out->relation || is_piece_of_table(line) ||
                        strncmp(line, "table ", 6) == 0 || strncmp(line, "view ", 5) == 0;
        if (all++ >= MOST_NAMED)
            continue;
        length += (size_t)snprintf(text + length, sizeof text - length, "%s%.70s",
                                   named++ ? ", " : "", line);
    }
    if (all > named)
        snprintf(text + length, sizeof text - length, " and %zu more", all - named);
    out->missing = all ? strdup(text) : NULL;
}

static int compare(const struct rowlock_dialect *dialect, struct rowlock_rows *expected,
                   struct rowlock_rows *there, const char *object, struct rowlock_parts *out,
                   struct rowlock_error *error)
{
    struct rowlock_rows missing = {.size = sizeof(char *)};
    struct rowlock_parts parts = {0};
    const char **row = there->row;
    int code;

    for (size_t i = 0; i < expected->n; i++) {
        const char *line = ((const char **)expected->row)[i];
        bool relation = strncmp(line, "table ", 6) == 0 || strncmp(line, "view ", 5) == 0 ||
                        strncmp(line, "sequence ", 9) == 0;
        size_t found = 0;

        while (found < there->n && !(row[found] && strcmp(row[found], line) == 0))
            found++;
        if (found == there->n) {
            add(&missing, line);
            continue;
        }
        row[found] = NULL; /* a function may exist twice, with other parameters */
        if (!strstr(line, object)) {
            parts.any = true;
            parts.others = parts.others || (relation && strcmp(line, "table meta") != 0 &&
                                            strcmp(line, "table rowlock_meta") != 0);
        }
    }
    /* An interrupted install may leave the procedure by which it tests its privileges. */
    for (size_t i = 0; i < there->n; i++)
        if (row[i] && strstr(row[i], " rowlock_installing"))
            parts.any = true;
    if (!missing.failed)
        describe(dialect, &missing, &parts);
    missing.failed |= missing.n && !parts.missing;
    code = rowlock__rows_complete(&missing, ROWLOCK_OK, error);
    rowlock__rows_clear(&missing);
    if (!code)
        *out = parts;
    return code;
}

int rowlock__read_parts(struct rowlock_connection *connection, enum rowlock_technique technique,
                        const char *object, struct rowlock_parts *out, struct rowlock_error *error)
{
    struct rowlock_value values[4];
    struct rowlock_rows there = {.size = sizeof(char *)}, expected = there;
    char *text = NULL;
    int code = rowlock__parts_text(connection->dialect, technique, object, &text, error);

    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        values[i] = rowlock__text_value(object);
    if (!code)
        code = rowlock__ask(connection, ROWLOCK_SQL_PARTS, values, part_row, &there, error);
    for (const char *at = text; !code && *at;) {
        size_t length = strcspn(at, "\n");

        add(&expected, rowlock__rows_copy(&expected, at, length));
        at += length + (at[length] == '\n');
    }
    code = rowlock__rows_complete(&there, code, error);
    code = rowlock__rows_complete(&expected, code, error);
    if (!code)
        code = compare(connection->dialect, &expected, &there, object, out, error);
    rowlock__rows_clear(&there);
    rowlock__rows_clear(&expected);
    free(text);
    return code;
}
