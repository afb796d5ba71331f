/* SPDX-License-Identifier: Apache-2.0 */
/* Cells of a table for people, malloc'd; NULL: out of memory. */
#ifndef ROWLOCK_TABLE_H
#define ROWLOCK_TABLE_H

#include <stdint.h>

/* Escapes controls. Has room for three bytes more, as cut_text() needs. */
char *cell_text(const char *text);
/* The same of a formatted text. */
char *cell_format(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* The local time of day, and the date if it is not today's; "-": none. */
char *cell_instant(int64_t ms);
/* 900ms, 27s, 4m05s, 2h03m, 3d04h: rounded down; 0ms for less than 0. */
char *cell_duration(int64_t ms);
/* The number; "-" for 0. */
char *cell_number(int64_t number);

/* Prints each line of a text to standard output, after `indent`, with controls escaped. */
void print_lines(const char *indent, const char *text);

#endif
