/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs the schema's scripts. They are written for the mariadb client, so that a DBA can run the
 * same text. Both split them by the same rules: a statement ends with the delimiter at the end of a
 * line; a line "DELIMITER x" changes it; a line that begins with -- is a comment.
 *
 * MariaDB commits after each CREATE, so a script is not a transaction; install_lock.sql excludes
 * other installers. A procedure that is there already is not created again: that would wait for the
 * transactions that have called it, and on MySQL, which has no OR REPLACE, calls would miss it.
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

static size_t trimmed(const char *line, size_t length)
{
    while (length > 0 && isspace((unsigned char)line[length - 1]))
        length--;
    return length;
}

/* The name of the procedure that the statement creates, or drops: after `head`. */
static bool takes_name(const char *statement, const char *head, char *out, size_t size)
{
    size_t length = strlen(head);

    if (strncmp(statement, head, length) != 0)
        return false;
    snprintf(out, size, "%.*s", (int)strcspn(statement + length, "(\n "), statement + length);
    return *out != '\0';
}

static bool creates(const char *statement, char *out, size_t size)
{
    return takes_name(statement, "CREATE OR REPLACE PROCEDURE ", out, size) ||
           takes_name(statement, "CREATE PROCEDURE ", out, size);
}

/* The server's text of the procedure, and the mode of its creation, malloc'd; NULL: none. */
static char *show_procedure(struct rowlock_link *link, const char *name, char *mode, size_t size)
{
    char text[120], *found = NULL;
    MYSQL_RES *result = NULL;
    int failed = 0;

    snprintf(text, sizeof text, "SHOW CREATE PROCEDURE %s", name);
    ROWLOCK_MARIADB_CALL(link, failed, real_query, link->mysql, text, strlen(text));
    if (!failed)
        ROWLOCK_MARIADB_CALL(link, result, store_result, link->mysql);
    if (result && result->data && result->data->data && result->field_count > 2) {
        char **column = result->data->data->data;

        snprintf(mode, size, "%s", column[1] ? column[1] : "");
        found = column[2] ? strdup(column[2]) : NULL; /* another account's: hidden */
    }
    if (result)
        rowlock__mariadb.free_result(result);
    return found;
}

#define RIGHTS "\n    SQL SECURITY INVOKER"

/* The body of a procedure: BEGIN, perhaps with a label, at the left edge. */
static const char *body_of(const char *text)
{
    const char *at = strstr(text, RIGHTS);

    while (at && (at = strchr(at + 1, '\n')) && isspace((unsigned char)at[1]))
        ;
    return at;
}

/* Whether the parameters, the comment and the body are those of the statement, and it has the
   rights of its caller. */
static bool is_same(const char *statement, const char *shown)
{
    const char *from = strchr(statement, '('), *to = strstr(statement, RIGHTS);
    const char *body = body_of(statement), *theirs = strchr(shown, '(');
    const char *comment = strstr(statement, "\n    COMMENT '"), *their_body = body_of(shown);
    size_t length;

    if (!from || !to || !body || !theirs || !their_body || to < from ||
        strncmp(from, theirs, (size_t)(to - from)) != 0)
        return false;
    if (comment && comment < body) {
        char *whole = strndup(comment, (size_t)(body - comment));
        bool there = whole && strstr(shown, whole);

        free(whole);
        if (!there)
            return false;
    }
    length = trimmed(body, strlen(body));
    return length == trimmed(their_body, strlen(their_body)) &&
           strncmp(body, their_body, length) == 0;
}

static bool is_there(struct rowlock_link *link, const char *statement)
{
    char name[80], mode[1000] = "", own_mode[1000];
    char *shown = creates(statement, name, sizeof name)
                      ? show_procedure(link, name, mode, sizeof mode)
                      : NULL;
    bool same =
        shown && is_same(statement, shown) &&
        rowlock__mariadb_query(link, "SELECT @@SESSION.sql_mode", own_mode, sizeof own_mode) == 0 &&
        strcmp(mode, own_mode) == 0;

    free(shown);
    return same;
}

/* A script with the statement before, if that is a DROP whose effect the next one may undo. */
struct script {
    struct rowlock_link *link;
    char *dropped; /* malloc'd; NULL: none */
};

static int run_dropped(struct script *script, struct rowlock_error *error)
{
    int code = script->dropped ? rowlock__mariadb_execute(script->link, script->dropped, error)
                               : ROWLOCK_OK;

    free(script->dropped);
    script->dropped = NULL;
    return code;
}

static int run_statement(struct script *script, const char *statement, struct rowlock_error *error)
{
    char name[80], dropped[80] = "";
    int code;

    if (script->dropped)
        takes_name(script->dropped, "DROP PROCEDURE IF EXISTS ", dropped, sizeof dropped);
    if (creates(statement, name, sizeof name) && (!*dropped || strcmp(name, dropped) == 0) &&
        is_there(script->link, statement)) {
        free(script->dropped);
        script->dropped = NULL;
        return ROWLOCK_OK;
    }
    code = run_dropped(script, error);
    if (!code && takes_name(statement, "DROP PROCEDURE IF EXISTS ", name, sizeof name)) {
        script->dropped = strdup(statement);
        return script->dropped ? ROWLOCK_OK : rowlock__no_memory(error);
    }
    return code ? code : rowlock__mariadb_execute(script->link, statement, error);
}

static int run_statements(struct rowlock_link *link, const char *text, struct rowlock_error *error)
{
    struct script script = {.link = link};
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
                code = run_statement(&script, statement, error);
                to = statement;
            }
        }
        text += line + (text[line] == '\n');
    }
    if (!code && trimmed(statement, (size_t)(to - statement)) > 0)
        code = run_statement(&script, statement, error);
    if (!code)
        code = run_dropped(&script, error);
    free(script.dropped);
    free(statement);
    return code;
}

int rowlock__mariadb_script(struct rowlock_link *link, const char *text,
                            struct rowlock_error *error)
{
    char before[260] = "", use[80];
    int code = ROWLOCK_OK;

    if (link->database) {
        if (rowlock__mariadb_query(link, "SELECT DATABASE()", before, sizeof before) != 0)
            return rowlock__mariadb_query_failure(link, error);
        snprintf(use, sizeof use, "USE `%s`", link->database);
        code = rowlock__mariadb_execute(link, use, error);
    }
    if (!code)
        code = run_statements(link, text, error);
    if (before[0] && !link->dead && rowlock__mariadb_plain_database(before)) {
        snprintf(use, sizeof use, "USE `%.64s`", before);
        rowlock__mariadb_execute(link, use, NULL);
    }
    return code;
}
