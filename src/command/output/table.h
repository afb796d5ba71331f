/* SPDX-License-Identifier: Apache-2.0 */
/* A table for people: add each row, then print. */
#ifndef ROWLOCK_TABLE_H
#define ROWLOCK_TABLE_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define TABLE_MOST 12

struct table_row {
    char *cells[TABLE_MOST];
    size_t number; /* in the order of adding */
};

struct table {
    const char *const *titles;
    size_t columns;
    size_t coloured; /* the column whose cells have colours, on a terminal */
    const char *(*colour)(const char *cell);
    const unsigned char *spare; /* columns that a narrow terminal lacks, the least important first;
                                   0 ends them. NULL: none */
    size_t who; /* "HOST:PID COMMAND", whose command is cut first; 0: no such column */
    struct table_row *rows;
    size_t n, size;
};

/* The columns of a table are one list, COLUMNS(XX), of a title and the cell in a row:
   enum { COLUMNS(COLUMN_INDEX) N }, titles[] = {COLUMNS(COLUMN_TITLE)} and
   cells[] = {COLUMNS(COLUMN_CELL)} follow from it. */
#define COLUMN_INDEX(title, cell) title,
#define COLUMN_TITLE(title, cell) #title,
#define COLUMN_CELL(title, cell) cell,

/* Adds a row of malloc'd cells, one a column, and owns them, also on failure. Nonzero: out of
   memory, or a cell is NULL. */
int table_add(struct table *table, char *const *cells);
/* Sorts the rows by the first column, then in the order of adding. */
void table_sort(struct table *table);
/* On a terminal the last column and commands, made by cell_text(), are truncated to the line; if it
   is still too narrow, spare columns are left out. */
void table_print(const struct table *table);
/* The same to `out`. `columns`: those of the terminal; 0: there is none. */
void table_write(FILE *out, const struct table *table, size_t columns, int coloured);
void table_free(struct table *table);

/* The following make cells, malloc'd; NULL: out of memory. cell_text() escapes controls. */
char *cell_text(const char *text);
/* The local time of day, and the date if it is not today's; "-": none. */
char *cell_instant(int64_t ms);
/* 900ms, 27s, 4m05s, 2h03m, 3d04h. */
char *cell_duration(int64_t ms);
/* The number; "-" for 0. */
char *cell_number(int64_t number);

#endif
