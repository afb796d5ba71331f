/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows and their locks. A transaction has an exclusive lock on each row that it changes; until it
 * ends, other sessions see the committed version, or wait for it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "simulation/table.h"

static struct table *tables;

static uint64_t bit(int session)
{
    return UINT64_C(1) << session;
}

/* ---- tables ---------------------------------------------------------------------------------- */

struct table *table_find(const char *name, size_t length)
{
    for (struct table *table = tables; table; table = table->next)
        if (strlen(table->name) == length && strncmp(table->name, name, length) == 0)
            return table;
    return NULL;
}

struct table *table_of(const char *name)
{
    return table_find(name, strlen(name));
}

int table_column(const struct table *table, const char *name, size_t length)
{
    for (unsigned i = 0; i < table->columns; i++)
        if (strlen(table->column[i]) == length && strncmp(table->column[i], name, length) == 0)
            return (int)i;
    return -1;
}

static const char *take_word(const char *at, char *out, size_t size)
{
    size_t length;

    at += strspn(at, " \n(,");
    length = strspn(at, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789");
    snprintf(out, size, "%.*s", (int)length, at);
    return at + length;
}

/* The end of a column's line, past the commas in parentheses. */
static const char *end_of_column(const char *at)
{
    int depth = 0;

    for (; *at && (depth > 0 || (*at != ',' && *at != ')')); at++)
        depth += (*at == '(') - (*at == ')');
    return at;
}

static void read_key(struct table *table, const char *at)
{
    char word[32];

    for (at = strchr(at, '('); at && *at != ')'; at += strspn(at, " ")) {
        at = take_word(at, word, sizeof word);
        table->key |= 1u << table_column(table, word, strlen(word));
    }
}

void table_create(const char *text)
{
    struct table *table = calloc(1, sizeof *table);
    const char *at = text + strlen("CREATE TABLE ");
    char word[32];

    if (!table)
        abort();
    at = take_word(at, table->name, sizeof table->name);
    at = strchr(at, '(');
    while (at && *at && *at != ')') {
        const char *rest = take_word(at, word, sizeof word);

        if (strcmp(word, "PRIMARY") == 0)
            read_key(table, rest);
        else if (table->columns < TABLE_COLUMNS)
            snprintf(table->column[table->columns++], sizeof *table->column, "%.23s", word);
        at = end_of_column(rest);
    }
    table->next = tables;
    tables = table;
}

static void forget_rows(struct table *table)
{
    for (size_t i = 0; i < table->n; i++) {
        free(table->row[i].committed);
        free(table->row[i].pending);
    }
    table->n = 0;
}

void table_empty(const char *name)
{
    forget_rows(table_of(name));
}

void table_free(void)
{
    while (tables) {
        struct table *table = tables;

        tables = table->next;
        forget_rows(table);
        free(table->row);
        free(table);
    }
}

/* ---- versions -------------------------------------------------------------------------------- */

/* One block: the values, then their bytes. */
static struct table_version *copy(const struct rowlock_value *values, unsigned n)
{
    size_t size = sizeof(struct table_version);
    struct table_version *version;
    char *to;

    for (unsigned i = 0; i < n; i++)
        size += values[i].type == ROWLOCK_BYTES ? values[i].length : 0;
    version = calloc(1, size);
    if (!version)
        abort();
    to = (char *)(version + 1);
    for (unsigned i = 0; i < n; i++) {
        version->column[i] = values[i];
        if (values[i].type != ROWLOCK_BYTES)
            continue;
        memcpy(to, values[i].bytes, values[i].length);
        version->column[i].bytes = to;
        to += values[i].length;
    }
    return version;
}

static const struct table_version *seen(const struct table_row *row, int session)
{
    return row->writer == session && row->written ? row->pending : row->committed;
}

static void write_row(struct table_row *row, int session, struct table_version *version)
{
    if (row->written)
        free(row->pending);
    row->pending = version;
    row->writer = session;
    row->written = true;
}

/* ---- locks ----------------------------------------------------------------------------------- */

/* The sessions that keep this one from a lock on the row. */
static uint64_t against(const struct table_row *row, int session, char lock)
{
    uint64_t others = 0;

    if (row->writer != TABLE_NOBODY && row->writer != session)
        others |= bit(row->writer);
    if (lock == 'x')
        others |= row->sharers & ~bit(session);
    return others;
}

static void lock_row(struct table_row *row, int session, char lock)
{
    if (lock == 's')
        row->sharers |= bit(session);
    else
        row->writer = session;
}

static bool settle(struct table_row *row, int session, bool commits)
{
    bool changed = false;

    row->sharers &= ~bit(session);
    if (row->writer != session)
        return false;
    row->writer = TABLE_NOBODY;
    if (row->written && commits) {
        free(row->committed);
        row->committed = row->pending;
        changed = true;
    } else if (row->written) {
        free(row->pending);
    }
    row->pending = NULL;
    row->written = false;
    return changed;
}

bool table_end(int session, bool commits)
{
    bool changed = false;

    for (struct table *table = tables; table; table = table->next) {
        size_t kept = 0;

        for (size_t i = 0; i < table->n; i++) {
            struct table_row *row = &table->row[i];

            changed = settle(row, session, commits) || changed;
            if (row->committed || row->writer != TABLE_NOBODY)
                table->row[kept++] = *row;
        }
        table->n = kept;
    }
    return changed;
}

/* ---- statements ------------------------------------------------------------------------------ */

static bool matches(const struct table_run *run, const struct table_version *version)
{
    return version && table_matches(run->sql, run->values, version->column);
}

/* Whether the statement concerns the row. Where reads wait, so do rows that are not yet there. */
static bool concerns(const struct table_run *run, const struct table_row *row)
{
    return matches(run, seen(row, run->session)) ||
           (run->reads_wait && row->written && row->writer != run->session &&
            matches(run, row->pending));
}

/* Locks the rows that the statement concerns. A row on which it must wait is judged again then. */
static void lock_rows(struct table_run *run)
{
    struct table *table = run->sql->table;
    char lock = run->sql->verb == TABLE_SELECT ? run->sql->lock : 'x';

    for (size_t i = 0; i < table->n; i++) {
        struct table_row *row = &table->row[i];
        bool reads = !lock && run->reads_wait && row->written;

        if ((!lock && !reads) || !concerns(run, row))
            continue;
        run->blockers |= against(row, run->session, lock);
        if (lock && !against(row, run->session, lock))
            lock_row(row, run->session, lock);
    }
}

static void answer(const struct table_run *run, const struct table_version *version)
{
    struct rowlock_value out[ROWLOCK_COLUMNS];
    unsigned n = table_evaluate(run->sql, run->values, version->column, out);

    if (run->row)
        run->row(run->data, out, n);
}

static void change(const struct table_run *run, struct table_row *row)
{
    struct table_version changed;

    if (run->sql->verb == TABLE_DELETE) {
        write_row(row, run->session, NULL);
        return;
    }
    changed = *seen(row, run->session);
    table_evaluate(run->sql, run->values, seen(row, run->session)->column, changed.column);
    write_row(row, run->session, copy(changed.column, run->sql->table->columns));
}

static bool same_key(const struct table *table, const struct table_version *a,
                     const struct table_version *b)
{
    for (unsigned i = 0; i < table->columns; i++) {
        const struct rowlock_value *left = &a->column[i], *right = &b->column[i];

        if (!(table->key & 1u << i))
            continue;
        if (left->type == ROWLOCK_BYTES ? left->length != right->length ||
                                              memcmp(left->bytes, right->bytes, left->length) != 0
                                        : left->number != right->number)
            return false;
    }
    return true;
}

static struct table_row *add_row(struct table *table)
{
    if (table->n == table->room) {
        table->room = table->room ? 2 * table->room : 16;
        table->row = realloc(table->row, table->room * sizeof *table->row);
        if (!table->row)
            abort();
    }
    table->row[table->n] = (struct table_row){.writer = TABLE_NOBODY};
    return &table->row[table->n++];
}

static enum table_result insert(struct table_run *run)
{
    struct table *table = run->sql->table;
    struct table_version fresh = {.column = {{.type = ROWLOCK_NULL}}};
    struct table_row *to = NULL;

    table_evaluate(run->sql, run->values, NULL, fresh.column);
    for (size_t i = 0; i < table->n; i++) {
        struct table_row *row = &table->row[i];
        bool other = row->written && row->writer != run->session;

        if (!(row->committed && same_key(table, row->committed, &fresh)) &&
            !(row->pending && same_key(table, row->pending, &fresh)))
            continue;
        if (other) {
            run->blockers = bit(row->writer);
            return TABLE_BLOCKED;
        }
        if (seen(row, run->session))
            return TABLE_DUPLICATE;
        to = row;
    }
    write_row(to ? to : add_row(table), run->session, copy(fresh.column, table->columns));
    run->affected = 1;
    return TABLE_DONE;
}

enum table_result table_execute(struct table_run *run)
{
    struct table *table = run->sql->table;

    run->affected = 0;
    run->blockers = 0;
    if (run->sql->verb == TABLE_INSERT)
        return insert(run);
    lock_rows(run);
    if (run->blockers)
        return TABLE_BLOCKED;
    for (size_t i = 0; i < table->n; i++) {
        struct table_row *row = &table->row[i];

        if (!matches(run, seen(row, run->session)))
            continue;
        if (run->sql->verb == TABLE_SELECT)
            answer(run, seen(row, run->session));
        else
            change(run, row);
        run->affected++;
    }
    return TABLE_DONE;
}
