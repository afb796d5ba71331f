/* SPDX-License-Identifier: Apache-2.0 */
/* Formats a table for people. */
#include "command/output/table.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "command/output/output.h"
#include "command/output/width.h"
#include "util/instant.h"

#define WIDEST 40     /* a wider cell shifts only its own row */
#define LAST_LEAST 12 /* minimum width of the last column on a narrow terminal */

/* ---- cells ----------------------------------------------------------------------------------- */

char *cell_text(const char *text)
{
    size_t size = 6 * strlen(text) + 16;
    char *out = malloc(size);

    if (out)
        escape_controls(text, out, size);
    return out;
}

char *cell_instant(int64_t ms)
{
    char text[ROWLOCK_INSTANT_SIZE];

    rowlock__local_time_short(ms, (int64_t)time(NULL) * 1000, text, sizeof text);
    return strdup(*text ? text : "-");
}

char *cell_duration(int64_t ms)
{
    int64_t s = ms / 1000;
    char text[64];

    if (s < 1)
        snprintf(text, sizeof text, "%" PRId64 "ms", ms > 0 ? ms : 0);
    else if (s < 60)
        snprintf(text, sizeof text, "%" PRId64 "s", s);
    else if (s < 3600)
        snprintf(text, sizeof text, "%" PRId64 "m%02" PRId64 "s", s / 60, s % 60);
    else if (s < 86400)
        snprintf(text, sizeof text, "%" PRId64 "h%02" PRId64 "m", s / 3600, s / 60 % 60);
    else
        snprintf(text, sizeof text, "%" PRId64 "d%02" PRId64 "h", s / 86400, s / 3600 % 24);
    return strdup(text);
}

char *cell_number(int64_t number)
{
    char *text;

    if (number == 0)
        return strdup("-");
    return asprintf(&text, "%" PRId64, number) < 0 ? NULL : text;
}

/* ---- rows ------------------------------------------------------------------------------------ */

static int grow(struct table *table)
{
    size_t size = table->size ? 2 * table->size : 64;
    void *rows = realloc(table->rows, size * sizeof *table->rows);

    if (!rows)
        return -1;
    table->rows = rows;
    table->size = size;
    return 0;
}

int table_add(struct table *table, char *const *cells)
{
    int complete = 1;

    for (size_t i = 0; i < table->columns; i++)
        complete = complete && cells[i];
    if (!complete || (table->n == table->size && grow(table))) {
        for (size_t i = 0; i < table->columns; i++)
            free(cells[i]);
        return -1;
    }
    table->rows[table->n] = (struct table_row){.number = table->n};
    memcpy(table->rows[table->n++].cells, cells, table->columns * sizeof *cells);
    return 0;
}

void table_free(struct table *table)
{
    for (size_t i = 0; i < table->n; i++)
        for (size_t column = 0; column < table->columns; column++)
            free(table->rows[i].cells[column]);
    free(table->rows);
    table->rows = NULL;
    table->n = table->size = 0;
}

static int by_first(const void *left, const void *right)
{
    const struct table_row *a = left, *b = right;
    int order = strcmp(a->cells[0], b->cells[0]);

    return order ? order : a->number < b->number ? -1 : 1;
}

void table_sort(struct table *table)
{
    if (table->n > 0)
        qsort(table->rows, table->n, sizeof *table->rows, by_first);
}

/* ---- printing -------------------------------------------------------------------------------- */

struct layout {
    size_t widths[TABLE_MOST];
    char is_hidden[TABLE_MOST];
};

static void measure(const struct table *table, size_t *widths)
{
    for (size_t column = 0; column < table->columns; column++) {
        widths[column] = strlen(table->titles[column]);
        for (size_t i = 0; i < table->n; i++) {
            size_t width = text_width(table->rows[i].cells[column]);

            if (width > widths[column] && width <= WIDEST)
                widths[column] = width;
        }
    }
}

/* The least width of "HOST:PID COMMAND": without the command. Nothing is cut from a transaction,
   which has its session's number at the end. */
static size_t least_of_who(const char *who)
{
    return strstr(who, ", server session ") ? text_width(who) : strcspn(who, " ");
}

static void cut_who(char *who, size_t width)
{
    size_t least = least_of_who(who);

    if (text_width(who) <= width)
        return;
    if (width <= least + 2)
        who[least] = '\0';
    else
        cut_text(who, width);
}

static size_t greater(size_t a, size_t b)
{
    return a > b ? a : b;
}

/* The width of the shown columns if notes are cut. */
static size_t needed(const struct table *table, const struct layout *layout)
{
    size_t total = 0, last = table->columns - 1;

    for (size_t column = 0; column < table->columns; column++) {
        size_t width = layout->widths[column];

        if (layout->is_hidden[column])
            continue;
        if (column == last && width > LAST_LEAST)
            width = LAST_LEAST;
        total += width + 2;
    }
    return total - 2;
}

/* Cuts the commands to the room beside the other columns; leaves out spare ones if necessary. */
static void narrow(const struct table *table, struct layout *layout, size_t columns)
{
    size_t who = table->who, most = 0, least = 0, others;

    for (size_t i = 0; who && i < table->n; i++) {
        const char *cell = table->rows[i].cells[who];

        most = greater(most, text_width(cell));
        least = greater(least, least_of_who(cell));
    }
    if (who)
        layout->widths[who] = greater(least, strlen(table->titles[who]));
    for (const unsigned char *spare = table->spare; spare && *spare; spare++)
        layout->is_hidden[*spare] = needed(table, layout) > columns;
    if (!who)
        return;
    others = needed(table, layout) - layout->widths[who];
    if (columns > others + layout->widths[who])
        layout->widths[who] = most < columns - others ? most : columns - others;
    for (size_t i = 0; i < table->n; i++)
        cut_who(table->rows[i].cells[who], layout->widths[who]);
}

/* Truncates the last cell, so that the row does not wrap. cell_text() allocated enough room. */
static void cut_last(const struct table *table, char **row, const struct layout *layout,
                     size_t columns)
{
    size_t before = 0, room, last = table->columns - 1;

    for (size_t column = 0; column < last; column++)
        if (!layout->is_hidden[column])
            before += greater(text_width(row[column]), layout->widths[column]) + 2;
    room = columns > before + LAST_LEAST ? columns - before : LAST_LEAST;
    cut_text(row[last], room);
}

static const char *colour_of(const struct table *table, const char *const *row)
{
    return row == table->titles ? "\033[1m" : table->colour(row[table->coloured]);
}

static void print_row(FILE *out, const struct table *table, const char *const *row,
                      const struct layout *layout, int coloured)
{
    size_t last = table->columns - 1;

    while (last > 0 && (!row[last][0] || layout->is_hidden[last]))
        last--;
    for (size_t column = 0; column <= last; column++) {
        size_t width = text_width(row[column]), full = layout->widths[column];
        int in_colour = coloured && (row == table->titles || column == table->coloured);

        if (layout->is_hidden[column])
            continue;
        fprintf(out, "%s%s%s", in_colour ? colour_of(table, row) : "", row[column],
                in_colour ? "\033[0m" : "");
        if (column < last)
            fprintf(out, "%*s", (int)(width < full ? full - width : 0) + 2, "");
    }
    putc('\n', out);
}

void table_write(FILE *out, const struct table *table, size_t columns, int coloured)
{
    struct layout layout = {.is_hidden = {0}};

    begin_width();
    measure(table, layout.widths);
    if (columns)
        narrow(table, &layout, columns);
    print_row(out, table, table->titles, &layout, coloured);
    for (size_t i = 0; i < table->n; i++) {
        if (columns)
            cut_last(table, table->rows[i].cells, &layout, columns);
        print_row(out, table, (const char *const *)table->rows[i].cells, &layout, coloured);
    }
}

void table_print(const struct table *table)
{
    table_write(stdout, table, terminal_columns(), terminal_is_coloured());
}
