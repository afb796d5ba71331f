/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs the schema's scripts. They are written for the mariadb client, so that a DBA can run the
 * same text. Both split them by the same rules: a statement ends with the delimiter at the end of a
 * line; a line "DELIMITER x" changes it; a line that begins with -- is a comment.
 *
 * MariaDB commits after each CREATE, so a script is not a transaction; install_lock.sql excludes
 * other installers.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "driver/mariadb_link.h"
#include "util/error.h"

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '$' || (unsigned char)c >= 0x80;
}

bool rowlock__mariadb_plain_database(const char *name)
{
    size_t length = strlen(name);

    for (size_t i = 0; i < length; i++)
        if (!is_word(name[i]) && name[i] != '-')
            return false;
    return length >= 1 && length <= 64;
}

char *rowlock__mariadb_qualify(const char *text, const char *database)
{
    static const char current[] = "DATABASE()", prefix[] = "rowlock_";
    size_t length = strlen(text), most = length / (sizeof prefix - 1) + 1; /* names */
    char *out = malloc(length + most * (strlen(database) + sizeof "``.") + 1), *to = out;

    for (const char *at = text; out && *at; at++) {
        bool begins = at == text || (!is_word(at[-1]) && !strchr("@.`'", at[-1]));

        if (begins && strncmp(at, current, sizeof current - 1) == 0) {
            to += sprintf(to, "'%s'", database);
            at += sizeof current - 2;
            continue;
        }
        if (begins && strncmp(at, prefix, sizeof prefix - 1) == 0)
            to += sprintf(to, "`%s`.", database);
        *to++ = *at;
    }
    if (out)
        *to = '\0';
    return out;
}

static int query(struct rowlock_link *link, const char *text, struct rowlock_error *error)
{
    if (rowlock__mariadb_query(link, text, NULL, 0) == 0)
        return ROWLOCK_OK;
    return rowlock__mariadb_query_failure(link, error);
}

static size_t trimmed(const char *line, size_t length)
{
    while (length > 0 && isspace((unsigned char)line[length - 1]))
        length--;
    return length;
}

static int run_statements(struct rowlock_link *link, const char *text, struct rowlock_error *error)
{
    char *statement = malloc(strlen(text) + 2), *to = statement, delimiter[16] = ";";
    int code = statement ? ROWLOCK_OK : rowlock__no_memory(error);

    while (!code && *text) {
        size_t line = strcspn(text, "\n"), length = trimmed(text, line), end = strlen(delimiter);
        bool last = length >= end && memcmp(text + length - end, delimiter, end) == 0;

        if (strncmp(text, "DELIMITER ", 10) == 0 && length > 10 && length - 10 < sizeof delimiter) {
            memcpy(delimiter, text + 10, length - 10);
            delimiter[length - 10] = '\0';
        } else if (strncmp(text, "--", 2) != 0 && (length > 0 || to > statement)) {
            to += sprintf(to, "%.*s\n", (int)(last ? length - end : length), text);
            if (last) {
                code = query(link, statement, error);
                to = statement;
            }
        }
        text += line + (text[line] == '\n');
    }
    if (!code && trimmed(statement, (size_t)(to - statement)) > 0)
        code = query(link, statement, error);
    free(statement);
    return code;
}

/* The name can be inserted between backquotes. */
static int use_database(struct rowlock_link *link, const char *name, struct rowlock_error *error)
{
    char text[80];

    snprintf(text, sizeof text, "USE `%s`", name);
    return query(link, text, error);
}

int rowlock__mariadb_script(struct rowlock_link *link, const char *text,
                            struct rowlock_error *error)
{
    char before[260] = "";
    int code = ROWLOCK_OK;

    if (link->database) {
        if (rowlock__mariadb_query(link, "SELECT DATABASE()", before, sizeof before) != 0)
            return rowlock__mariadb_query_failure(link, error);
        code = use_database(link, link->database, error);
    }
    if (!code)
        code = run_statements(link, text, error);
    if (before[0] && !link->dead && rowlock__mariadb_plain_database(before))
        use_database(link, before, NULL);
    return code;
}
