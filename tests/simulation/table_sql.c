/* SPDX-License-Identifier: Apache-2.0 */
/* The statements of the plain dialects: as tokens, whose expressions are evaluated when needed. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "simulation/table.h"

static void refuse(const char *text, const char *at)
{
    fprintf(stderr, "simulation: a statement that the tables do not understand, at '%.20s': %s\n",
            at, text);
    exit(1);
}

/* ---- tokens ---------------------------------------------------------------------------------- */

static size_t length_of(const char *at, char *kind)
{
    size_t length = 1;

    *kind = *at;
    if (isalpha((unsigned char)*at)) {
        *kind = 'w';
        while (isalnum((unsigned char)at[length]) || at[length] == '_')
            length++;
    } else if (isdigit((unsigned char)*at)) {
        *kind = 'n';
        length = strspn(at, "0123456789");
    } else if (*at == '\'') {
        *kind = 's';
        length = strcspn(at + 1, "'") + 2;
    } else if ((*at == '<' || *at == '>') && at[1] == '=') {
        *kind = *at == '<' ? 'L' : 'G';
        length = 2;
    }
    return length;
}

static void tokenize(const char *text, const char *now, struct table_sql *sql)
{
    size_t now_length = strlen(now);
    int64_t parameters = 0;

    for (const char *at = text + strspn(text, " \n"); *at && *at != ';';) {
        struct table_token *token = &sql->token[sql->tokens++];

        if (sql->tokens == TABLE_TOKENS)
            refuse(text, at);
        *token = (struct table_token){.at = at, .column = -1};
        if (strncmp(at, now, now_length) == 0) {
            token->kind = 'N';
            token->length = now_length;
        } else {
            token->length = length_of(at, &token->kind);
        }
        if (token->kind == 'n')
            token->number = strtoll(at, NULL, 10);
        if (token->kind == '?')
            token->number = parameters++;
        at += token->length;
        at += strspn(at, " \n");
    }
    sql->token[sql->tokens].kind = '\0';
}

static bool is(const struct table_token *token, const char *word)
{
    return token->kind == 'w' && token->length == strlen(word) &&
           strncasecmp(token->at, word, token->length) == 0;
}

static size_t find(const struct table_sql *sql, size_t from, const char *word)
{
    while (from < sql->tokens && !is(&sql->token[from], word))
        from++;
    return from < sql->tokens ? from : 0;
}

/* ---- statements ------------------------------------------------------------------------------ */

static void read_lock(struct table_sql *sql, size_t from)
{
    for (size_t i = from; i < sql->tokens; i++) {
        const struct table_token *token = &sql->token[i];

        if (is(token, "UPDATE"))
            sql->lock = 'x';
        else if (is(token, "SHARE") || is(token, "RS") || is(token, "HOLDLOCK"))
            sql->lock = 's';
        sql->nowait = sql->nowait || is(token, "NOWAIT");
    }
}

static void read_into(const char *text, struct table_sql *sql)
{
    for (size_t i = 4; sql->token[i].kind && sql->token[i - 1].kind != ')'; i += 2) {
        int column = table_column(sql->table, sql->token[i].at, sql->token[i].length);

        if (column < 0 || sql->n_into == TABLE_COLUMNS)
            refuse(text, sql->token[i].at);
        sql->into[sql->n_into++] = column;
    }
}

bool table_parse(const char *text, const char *now, struct table_sql *out)
{
    static const char *const verbs[] = {"SELECT", "INSERT", "UPDATE", "DELETE"};
    size_t name, i = 0;

    *out = (struct table_sql){.tokens = 0};
    tokenize(text, now, out);
    while (i < 4 && !is(&out->token[0], verbs[i]))
        i++;
    out->verb = i;
    name = i == TABLE_SELECT ? find(out, 0, "FROM") + 1 : i == TABLE_UPDATE ? 1 : 2;
    if (i < 4 && name > 0)
        out->table = table_find(out->token[name].at, out->token[name].length);
    if (i == 4)
        refuse(text, text);
    if (!out->table)
        return false;
    out->where = find(out, name, "WHERE");
    out->list = i == TABLE_SELECT   ? 1
                : i == TABLE_INSERT ? find(out, name, "VALUES") + 2
                : i == TABLE_UPDATE ? find(out, name, "SET") + 1
                                    : 0;
    if (i == TABLE_SELECT)
        read_lock(out, name);
    if (i == TABLE_INSERT)
        read_into(text, out);
    for (size_t j = 0; j < out->tokens; j++)
        if (out->token[j].kind == 'w')
            out->token[j].column = table_column(out->table, out->token[j].at, out->token[j].length);
    return true;
}

/* ---- expressions ----------------------------------------------------------------------------- */

struct scan {
    const struct table_token *token;
    const struct rowlock_value *values, *row;
};

static struct rowlock_value sum(struct scan *scan);
static bool condition(struct scan *scan);

static struct rowlock_value choice(struct scan *scan)
{
    struct rowlock_value yes, no;
    bool holds;

    scan->token++; /* WHEN */
    holds = condition(scan);
    scan->token++; /* THEN */
    yes = sum(scan);
    scan->token++; /* ELSE */
    no = sum(scan);
    scan->token++; /* END */
    return holds ? yes : no;
}

static struct rowlock_value factor(struct scan *scan)
{
    const struct table_token *token = scan->token++;

    switch (token->kind) {
    case 'n':
        return rowlock__int_value(token->number);
    case 's':
        return rowlock__bytes_value(token->at + 1, token->length - 2);
    case '?':
        return scan->values[token->number];
    case 'N':
        return rowlock__int_value(sim_database_ms());
    default:
        if (is(token, "CASE"))
            return choice(scan);
        if (token->column >= 0 && scan->row)
            return scan->row[token->column];
        return (struct rowlock_value){.type = ROWLOCK_NULL};
    }
}

static struct rowlock_value product(struct scan *scan)
{
    struct rowlock_value left = factor(scan);

    while (scan->token->kind == '*') {
        struct rowlock_value right;

        scan->token++;
        right = factor(scan);
        left = rowlock__int_value(rowlock__value_number(&left) * rowlock__value_number(&right));
    }
    return left;
}

static struct rowlock_value sum(struct scan *scan)
{
    struct rowlock_value left = product(scan);

    while (scan->token->kind == '+') {
        struct rowlock_value right;

        scan->token++;
        right = product(scan);
        left = rowlock__int_value(rowlock__value_number(&left) + rowlock__value_number(&right));
    }
    return left;
}

static int compare(const struct rowlock_value *a, const struct rowlock_value *b)
{
    int64_t left, right;

    if (a->type == ROWLOCK_BYTES && b->type == ROWLOCK_BYTES) {
        size_t least = a->length < b->length ? a->length : b->length;
        int order = memcmp(a->bytes, b->bytes, least);

        return order ? order : (a->length > b->length) - (a->length < b->length);
    }
    left = rowlock__value_number(a);
    right = rowlock__value_number(b);
    return (left > right) - (left < right);
}

static bool holds(char sign, const struct rowlock_value *a, const struct rowlock_value *b)
{
    int order;

    if (a->type == ROWLOCK_NULL || b->type == ROWLOCK_NULL)
        return false;
    order = compare(a, b);
    return sign == '='   ? order == 0
           : sign == '<' ? order < 0
           : sign == '>' ? order > 0
           : sign == 'L' ? order <= 0
                         : order >= 0;
}

static bool comparison(struct scan *scan)
{
    struct rowlock_value left = sum(scan), right;
    const struct table_token *sign = scan->token++;
    bool found = false;

    if (!is(sign, "IN")) {
        right = sum(scan);
        return holds(sign->kind, &left, &right);
    }
    do {
        scan->token++; /* the parenthesis or the comma */
        right = sum(scan);
        found = found || holds('=', &left, &right);
    } while (scan->token->kind == ',');
    scan->token++;
    return found;
}

static bool condition(struct scan *scan)
{
    bool all = comparison(scan);

    while (is(scan->token, "AND")) {
        scan->token++;
        all = comparison(scan) && all;
    }
    return all;
}

bool table_matches(const struct table_sql *sql, const struct rowlock_value *values,
                   const struct rowlock_value *row)
{
    struct scan scan = {&sql->token[sql->where + 1], values, row};

    return !sql->where || condition(&scan);
}

unsigned table_evaluate(const struct table_sql *sql, const struct rowlock_value *values,
                        const struct rowlock_value *row, struct rowlock_value *out)
{
    struct scan scan = {&sql->token[sql->list], values, row};
    unsigned n = 0;

    for (;; scan.token++) {
        unsigned to = n++;

        if (sql->verb == TABLE_INSERT)
            to = (unsigned)sql->into[to];
        if (sql->verb == TABLE_UPDATE) {
            to = (unsigned)scan.token->column;
            scan.token += 2; /* the column, = */
        }
        out[to] = sum(&scan);
        if (is(scan.token, "AS"))
            scan.token += 2;
        if (scan.token->kind != ',')
            return n;
    }
}
