/* SPDX-License-Identifier: Apache-2.0 */
/* Formats a table for people. */
#include "command/output/list.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "command/output/output.h"
#include "util/calendar.h"
#include "util/rows.h"

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

char *cell_format(const char *format, ...)
{
    va_list arguments;
    char *plain, *text = NULL;

    va_start(arguments, format);
    if (vasprintf(&plain, format, arguments) >= 0) {
        text = cell_text(plain);
        free(plain);
    }
    va_end(arguments);
    return text;
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
    return number ? cell_format("%" PRId64, number) : strdup("-");
}

void print_lines(const char *indent, const char *text)
{
    while (*text) {
        size_t length = strcspn(text, "\n");
        char *line = cell_format("%.*s", (int)length, text);

        printf("%s%s\n", indent, line ? line : "");
        free(line);
        text += length + (text[length] == '\n');
    }
}

/* ---- rows ------------------------------------------------------------------------------------ */

int table_add(struct table *table, const void *row)
{
    struct table_row *rows =
        rowlock__grown(table->rows, table->n, &table->size, sizeof *table->rows);
    struct fields to = {.headings = table->headings};
    int complete = 1;

    if (!rows)
        return -1;
    table->rows = rows;
    rows[table->n].number = table->n;
    to.cells = rows[table->n].cells;
    table->list->fields(&to, row);
    table->columns = to.n;
    for (size_t i = 0; i < to.n; i++)
        complete = complete && to.cells[i];
    for (size_t i = 0; !complete && i < to.n; i++)
        free(to.cells[i]);
    table->n += (size_t)complete;
    return complete ? 0 : -1;
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
    size_t widths[LIST_MOST];
    char is_hidden[LIST_MOST + 1]; /* the last: no column */
};

/* The column of a heading; the number of columns: none. */
static size_t column_of(const struct table *table, const char *heading)
{
    size_t column = 0;

    while (column < table->columns && (!heading || strcmp(table->headings[column], heading) != 0))
        column++;
    return column;
}

/* The bytes of "HOST:PID COMMAND" before the command. Nothing is cut from a transaction, which has
   its session's number at the end. */
static size_t uncut(const char *who)
{
    return strstr(who, ", server session ") ? strlen(who) : strcspn(who, " ");
}

static size_t least_of_who(const char *who) /* columns */
{
    return text_width(who) - text_width(who + uncut(who));
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
    size_t who = column_of(table, table->list->who), most = 0, least = 0, others;
    int has_who = who < table->columns;

    for (size_t i = 0; has_who && i < table->n; i++) {
        const char *cell = table->rows[i].cells[who];

        most = greater(most, text_width(cell));
        least = greater(least, least_of_who(cell));
    }
    if (has_who)
        layout->widths[who] = greater(least, strlen(table->headings[who]));
    for (const char *const *spare = table->list->spare; spare && *spare; spare++)
        layout->is_hidden[column_of(table, *spare)] = needed(table, layout) > columns;
    if (!has_who)
        return;
    others = needed(table, layout) - layout->widths[who];
    if (columns > others + layout->widths[who])
        layout->widths[who] = most < columns - others ? most : columns - others;
    for (size_t i = 0; i < table->n; i++) {
        char *cell = table->rows[i].cells[who];

        if (text_width(cell) <= layout->widths[who])
            continue;
        if (layout->widths[who] <= least_of_who(cell) + 2)
            cell[uncut(cell)] = '\0';
        else
            cut_text(cell, layout->widths[who]);
    }
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

static void print_row(FILE *out, const struct table *table, const char *const *row,
                      const struct layout *layout, int coloured)
{
    size_t last = table->columns - 1, of_colour = column_of(table, table->list->coloured);
    int is_head = row == table->headings;

    while (last > 0 && (!row[last][0] || layout->is_hidden[last]))
        last--;
    for (size_t column = 0; column <= last; column++) {
        size_t width = text_width(row[column]), full = layout->widths[column];
        int in_colour = coloured && (is_head || column == of_colour);

        if (layout->is_hidden[column])
            continue;
        if (in_colour)
            fputs(is_head ? "\033[1m" : table->list->colour(row[column]), out);
        fprintf(out, "%s%s", row[column], in_colour ? "\033[0m" : "");
        if (column < last)
            fprintf(out, "%*s", (int)(width < full ? full - width : 0) + 2, "");
    }
    putc('\n', out);
}

void table_write(FILE *out, const struct table *table, size_t columns, int coloured)
{
    struct layout layout = {.is_hidden = {0}};

    if (table->n == 0)
        return;
    begin_width();
    for (size_t column = 0; column < table->columns; column++) {
        layout.widths[column] = strlen(table->headings[column]);
        for (size_t i = 0; i < table->n; i++) {
            size_t width = text_width(table->rows[i].cells[column]);

            if (width > layout.widths[column] && width <= WIDEST)
                layout.widths[column] = width;
        }
    }
    if (columns)
        narrow(table, &layout, columns);
    print_row(out, table, table->headings, &layout, coloured);
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
