/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The functions of the ODBC driver manager (unixODBC, else iODBC), loaded on first use. Called as
 * rowlock__odbc.SQLExecute(...).
 */
#ifndef ROWLOCK_ODBC_LIBRARY_H
#define ROWLOCK_ODBC_LIBRARY_H

#include <sql.h>
#include <sqlext.h>
#include <stdio.h>

#include "driver/library.h"
#include "rowlock.h"

/* As sql.h and sqlext.h declare them. */
#define ROWLOCK_ODBC_FUNCTIONS(XX) \
    XX(SQLAllocHandle)             \
    XX(SQLFreeHandle)              \
    XX(SQLSetEnvAttr)              \
    XX(SQLSetConnectAttr)          \
    XX(SQLGetConnectAttr)          \
    XX(SQLDriverConnect)           \
    XX(SQLDisconnect)              \
    XX(SQLGetInfo)                 \
    XX(SQLPrepare)                 \
    XX(SQLExecDirect)              \
    XX(SQLExecute)                 \
    XX(SQLBindParameter)           \
    XX(SQLNumResultCols)           \
    XX(SQLDescribeCol)             \
    XX(SQLFetch)                   \
    XX(SQLGetData)                 \
    XX(SQLRowCount)                \
    XX(SQLFreeStmt)                \
    XX(SQLEndTran)                 \
    XX(SQLGetDiagRec)              \
    XX(SQLCancel)                  \
    XX(SQLDrivers)

struct rowlock__odbc_functions {
    ROWLOCK_ODBC_FUNCTIONS(ROWLOCK_LIBRARY_MEMBER)
};

/* Valid after rowlock__load. */
extern struct rowlock__odbc_functions rowlock__odbc;
extern struct rowlock_library rowlock__odbc_client;

/* `describe` of struct rowlock_driver; also lists the drivers of odbcinst.ini. */
void rowlock__odbc_describe(FILE *out);

/* Whether the driver manager's SQLWCHAR has the 2 bytes of the header that we compile with. iODBC's
   has 4: then no text is converted (text.h). */
int rowlock__odbc_is_utf16(void);

#endif
