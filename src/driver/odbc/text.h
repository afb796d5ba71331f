/* SPDX-License-Identifier: Apache-2.0 */
/* UTF-8 to UTF-16 and back, for drivers that convert SQL_C_CHAR by the process's locale. */
#ifndef ROWLOCK_ODBC_TEXT_H
#define ROWLOCK_ODBC_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Whether all bytes are ASCII: then both encodings of SQL_C_CHAR agree. */
bool rowlock__is_ascii(const char *text, size_t length);

/* Converts `length` bytes: writes at most as many units to `out`, without a NUL, and returns their
   number. A byte that is not UTF-8 becomes U+FFFD. */
size_t rowlock__utf16(const char *text, size_t length, uint16_t *out);

/* Writes at most 3 bytes for each unit, and returns their number. A lone surrogate becomes
   U+FFFD. */
size_t rowlock__utf8_from_utf16(const uint16_t *units, size_t n, char *out);

/* Reads and extends an ODBC connection string: KEY=value;KEY={value; with a semicolon};... */

/* The value of the first of these keys ("PWD,Password"), without its braces; any case. NULL: the
   string has none of them, or out of memory. The caller frees it. */
char *rowlock__odbc_value(const char *string, const char *keys);

/* Appends KEY=value to the malloc'd string, which may move, in braces where necessary. -1: out of
   memory, and it is unchanged. */
int rowlock__odbc_append(char **string, const char *key, const char *value);

#endif
