/* SPDX-License-Identifier: Apache-2.0 */
/* The database under test, reached through its ODBC driver. */
#ifndef TEST_ODBC_H
#define TEST_ODBC_H

/* The file of an ODBC driver (psqlodbcw.so): no driver is registered on the machine. Fails the test
   if it is not installed. */
const char *t_odbc_driver(const char *file);

/* The URL "odbc:Driver=...;..." of the database under test, at that port of 127.0.0.1; `more` is
   appended. Valid until the fourth call after it. */
const char *t_odbc_url(int port, const char *more);

#endif
