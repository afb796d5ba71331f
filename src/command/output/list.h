/* SPDX-License-Identifier: Apache-2.0 */
/* A list has one description: a function that states each field of a row. The table for people and
   the JSON for scripts follow from it; completion reads the JSON. */
#ifndef ROWLOCK_LIST_H
#define ROWLOCK_LIST_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "command/output/table.h"

#define LIST_MOST 12 /* columns of a table */

struct fields;

/* The description; a constant. */
struct list {
    /* Calls field_... for each field of a row, in the order of the columns. The columns are the
       same in all rows. */
    void (*fields)(struct fields *to, const void *row);
    const char *coloured; /* the heading of the column with colours, on a terminal; NULL: none */
    const char *(*colour)(const char *cell);
    const char *const *spare; /* headings of columns that a narrow terminal lacks, the least
                                 important first, NULL ends them; NULL: none */
    const char *who; /* heading of "HOST:PID COMMAND", whose command is cut first; NULL: none */
};

/* ---- fields ---------------------------------------------------------------------------------- */

/* Where the fields of a row go: members of a JSON object, or cells of a table. Only the functions
   below use its members, and callers that add members to the JSON. */
struct fields {
    FILE *json;                  /* NULL: a table */
    const char *before, *prefix; /* JSON: the text before the next member; the beginning of keys */
    const char **headings;
    char **cells;
    size_t n;
};

/* A field has a heading, a key, or both: without a heading (NULL) only the JSON has it, without a
   key only the table. A value that is absent is "-" and null. */

/* A text, which must not be NULL; in JSON "" is null. */
void field_text(struct fields *to, const char *heading, const char *key, const char *text);
/* A number, of which 0 stands for "none". */
void field_number(struct fields *to, const char *heading, const char *key, int64_t number);
/* Absent if `is` is 0; a number 0 is present in JSON, but "-" in the table. */
void field_count(struct fields *to, const char *heading, const char *key, int is, int64_t number);
/* Milliseconds since 1970; 0 and INT64_MAX are absent. */
void field_instant(struct fields *to, const char *heading, const char *key, int64_t ms);
/* Absent if `is` is 0. In JSON the number of milliseconds. */
void field_duration(struct fields *to, const char *heading, const char *key, int is, int64_t ms);
/* Only in JSON: true or false. */
void field_is(struct fields *to, const char *key, int is);
/* Only in the table: a malloc'd cell, which is not made for JSON. */
#define field_cell(to, heading, cell) ((to)->json ? (void)0 : field_own(to, heading, cell))
void field_own(struct fields *to, const char *heading, char *cell);

/* Writes a row as a JSON object; _members without the "}", for more members that follow. */
void list_object(FILE *out, const struct list *list, const void *row);
void list_members(FILE *out, const struct list *list, const void *row);

/* ---- tables ---------------------------------------------------------------------------------- */

/* The cells are malloc'd, and the table's. */
struct table_row {
    char *cells[LIST_MOST];
    size_t number; /* in the order of adding */
};

/* Set `list`, and zero the rest. */
struct table {
    const struct list *list;
    const char *headings[LIST_MOST];
    size_t columns; /* 0: no row yet */
    struct table_row *rows;
    size_t n, size;
};

/* Adds the cells of a row, which is not kept. Nonzero: out of memory, and the row is missing. */
int table_add(struct table *table, const void *row);
/* Sorts the rows by the first column, then in the order of adding. */
void table_sort(struct table *table);
/* To `out`, if there is a row. `columns`: those of the terminal; 0: there is none. On a terminal
   the last column and commands, made by cell_text(), are truncated to the line; if it is still too
   narrow, spare columns are left out. */
void table_write(FILE *out, const struct table *table, size_t columns, int coloured);
/* The same to standard output, as its terminal allows. */
void table_print(const struct table *table);
/* Removes all rows; the table can be filled again. */
void table_free(struct table *table);

/* ---- listings -------------------------------------------------------------------------------- */

/* A list that a verb prints, as a table or an array of JSON. It is collected first, so that a list
   that fails half-way prints nothing. */
struct listing { /* the caller sets json and table.list, and zeroes the rest */
    int json;
    int failed; /* no memory for a row, or for the last thing that was written to `out` */
    size_t n;   /* items of the array so far */
    struct table table;
    FILE *out; /* collects the text */
    char *text;
    size_t size;
};

/* Returns an exit status, after a message. Call listing_free() in any case. */
int listing_open(struct listing *listing);
/* Adds a row, to the table or as the next item of the array. Nonzero: out of memory; also
   remembered for listing_print(). */
int listing_add(struct listing *listing, const void *row);
/* Begins the next item of the array: the caller writes its "{" next. */
FILE *listing_next(struct listing *listing);
/* Ends the array, for a caller that writes it by listing_write(). */
void listing_end(struct listing *listing);
/* Ends and prints the array, or prints the table. Returns an exit status, after a message. */
int listing_print(struct listing *listing);
/* Prints the collected JSON to standard output, unchanged. Returns an exit status: after a message
   if there was no memory for all of it. */
int listing_write(struct listing *listing);
/* Whether there is no item and no row. */
int listing_is_empty(const struct listing *listing);
void listing_free(struct listing *listing);

#endif
