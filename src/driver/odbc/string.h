/* SPDX-License-Identifier: Apache-2.0 */
/* Reads and extends an ODBC connection string: KEY=value;KEY={value; with a semicolon};... */
#ifndef ROWLOCK_ODBC_STRING_H
#define ROWLOCK_ODBC_STRING_H

/* The value of the first of these keys ("PWD,Password"), without its braces; any case. NULL: the
   string has none of them, or out of memory. The caller frees it. */
char *rowlock__odbc_value(const char *string, const char *keys);

/* Appends KEY=value to the malloc'd string, in braces where necessary. -1: out of memory. */
int rowlock__odbc_append(char **string, const char *key, const char *value);

#endif
