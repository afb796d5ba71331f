/* SPDX-License-Identifier: Apache-2.0 */
/* Whether two URLs of a database differ in the login only. */
#ifndef ROWLOCK_UTIL_URL_H
#define ROWLOCK_UTIL_URL_H

#include <stdbool.h>

/* Whether two URLs differ at most in the password, in settings of TLS and authentication, and in
   the user. Behind ODBC and JDBC, and if a URL names no database, the user must be the same,
   because it may select the schema or the database. Any other difference counts, even of a harmless
   option, or of the order. */
bool rowlock__same_database(const char *url, const char *other);

#endif
