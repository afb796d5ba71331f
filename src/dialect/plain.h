/* SPDX-License-Identifier: Apache-2.0 */
/* The plain dialects: single-table statements for engines without functions of ours. */
#ifndef ROWLOCK_PLAIN_H
#define ROWLOCK_PLAIN_H

#include "dialect/dialect.h"

/* The dialect for a database product, by the name that its ODBC or JDBC driver reports ("Microsoft
   SQL Server"). NULL: there is none. */
const struct rowlock_dialect *rowlock__plain_dialect(const char *product);

#endif
