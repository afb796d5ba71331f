/* SPDX-License-Identifier: Apache-2.0 */
/* Loads the ODBC driver manager and its functions. */
#include "driver/odbc/library.h"

#include <string.h>

struct rowlock__odbc_functions rowlock__odbc;

static const char *const names[] = {ROWLOCK_ODBC_FUNCTIONS(ROWLOCK_LIBRARY_NAME) NULL};

struct rowlock_library rowlock__odbc_client = {
    .file = "libodbc.so.2",
    .other_file = "libiodbc.so.2",
    .package = "libodbc2",
    .names = names,
    .table = &rowlock__odbc,
    .lock = PTHREAD_MUTEX_INITIALIZER,
};

void rowlock__odbc_describe(FILE *out)
{
    SQLHENV env = SQL_NULL_HENV;
    SQLCHAR name[256], attributes[1024];
    SQLSMALLINT length, more;
    SQLUSMALLINT direction = SQL_FETCH_FIRST;

    rowlock__describe_library(&rowlock__odbc_client, out);
    if (!rowlock__odbc_client.loaded ||
        !SQL_SUCCEEDED(rowlock__odbc.SQLAllocHandle(SQL_HANDLE_ENV, SQL_NULL_HANDLE, &env)))
        return;
    if (SQL_SUCCEEDED(
            rowlock__odbc.SQLSetEnvAttr(env, SQL_ATTR_ODBC_VERSION, (SQLPOINTER)SQL_OV_ODBC3, 0))) {
        fputs("    drivers: ", out);
        while (SQL_SUCCEEDED(rowlock__odbc.SQLDrivers(env, direction, name, sizeof name, &length,
                                                      attributes, sizeof attributes, &more))) {
            fprintf(out, "%s%s", direction == SQL_FETCH_FIRST ? "" : ", ", (char *)name);
            direction = SQL_FETCH_NEXT;
        }
        fputs(direction == SQL_FETCH_FIRST
                  ? "none in odbcinst.ini: install the package odbc-postgresql or odbc-mariadb, or "
                    "the driver of the database's vendor\n"
                  : "\n",
              out);
    }
    rowlock__odbc.SQLFreeHandle(SQL_HANDLE_ENV, env);
}

int rowlock__odbc_is_utf16(void)
{
    return strstr(rowlock__library_path(&rowlock__odbc_client), "iodbc") == NULL;
}
