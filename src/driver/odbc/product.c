/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of database products. PostgreSQL's and MariaDB's rows were observed on servers; those
 * of Oracle, SQL Server and DB2 follow their documentation.
 */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "driver/odbc/link.h"
#include "util/bytes.h"

/* With 7.4-2 psqlODBC sets a savepoint before each statement, so that an error undoes only the
   statement. With 7.4-1 it silently rolls the transaction back and continues in another one. */
static bool is_per_statement(const char *protocol)
{
    return strcmp(protocol, "7.4-2") == 0;
}

/* With FOUND_ROWS, MariaDB counts the rows that an UPDATE found, not only those that it changed. */
static bool finds_rows(const char *option)
{
    return (atoi(option) & 2) != 0;
}

static bool is_utf8(const char *charset)
{
    return strncasecmp(charset, "utf8", 4) == 0;
}

static const struct rowlock__odbc_option postgresql_options[] = {
    {"Protocol", "7.4-2", "Protocol,A1", is_per_statement}, {0}};
static const struct rowlock__odbc_option mariadb_options[] = {
    {"Option", "2", "Option,Options", finds_rows}, {"Charset", "utf8mb4", "Charset", is_utf8}, {0}};

static const char *const postgresql_set_up[] = {"SET lock_timeout = 0; SET statement_timeout = 0",
                                                NULL};
static const char *const mariadb_set_up[] = {
    "SET SESSION sql_mode = 'STRICT_ALL_TABLES,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION', "
    "time_zone = '+00:00', completion_type = 0",
    NULL};
/* With XACT_ABORT, a lock timeout would roll the whole transaction back. */
static const char *const sqlserver_set_up[] = {"SET XACT_ABORT OFF", "SET LOCK_TIMEOUT -1", NULL};

static const struct rowlock__odbc_product products[] = {
    {
        .name = "PostgreSQL",
        .engine = "postgresql",
        .drivers = "psqlodbc,postgresql",
        .package = "odbc-postgresql",
        .set_up = postgresql_set_up,
        .left = ROWLOCK_TX_KEPT,
        .options = postgresql_options,
        .cancels = true,
        .warns = true,
    },
    {
        .name = "MariaDB",
        .engine = "mariadb",
        .timeout = 1205,
        .drivers = "maodbc,mariadb",
        .package = "odbc-mariadb",
        .set_up = mariadb_set_up,
        .left = ROWLOCK_TX_KEPT,
        .options = mariadb_options,
        .cancels = true,
    },
    {
        .name = "MySQL",
        .engine = "mariadb",
        .timeout = 1205,
        .drivers = "myodbc,mysql",
        .package = "odbc-mariadb",
        .set_up = mariadb_set_up,
        .left = ROWLOCK_TX_KEPT,
        .options = mariadb_options,
        .cancels = true,
    },
    {
        .name = "Oracle",
        .engine = "oracle",
        .drivers = "oracle,sqora",
        .package = "oracle-instantclient-odbc (from Oracle)",
        .left = ROWLOCK_TX_ABORTED,
        .cancels = true,
        .numbers_as_text = true,
        .wide = true,
    },
    {
        .name = "Microsoft SQL Server",
        .engine = "sqlserver",
        .drivers = "sql server,msodbcsql",
        .package = "msodbcsql18 (from Microsoft)",
        .set_up = sqlserver_set_up,
        .left = ROWLOCK_TX_ABORTED,
        .cancels = true,
        .wide = true,
    },
    {
        /* found by its driver only, while a session is opened */
        .name = "Microsoft SQL Server",
        .engine = "sqlserver",
        .drivers = "tdsodbc,freetds",
        .package = "tdsodbc",
        .left = ROWLOCK_TX_ABORTED,
    },
    {
        .name = "DB2",
        .engine = "db2",
        .drivers = "db2",
        .package = "IBM Data Server Driver for ODBC and CLI (from IBM)",
        .left = ROWLOCK_TX_ABORTED,
        .cancels = true,
        .wide = true,
    },
};

static const struct rowlock__odbc_product unknown = {
    .name = "",
    .engine = "",
    .drivers = "",
    .left = ROWLOCK_TX_ABORTED,
};

const struct rowlock__odbc_product *rowlock__odbc_product(const char *name)
{
    for (size_t i = 0; i < sizeof products / sizeof *products; i++)
        if (strncasecmp(name, products[i].name, strlen(products[i].name)) == 0)
            return &products[i];
    return &unknown;
}

const struct rowlock__odbc_product *rowlock__odbc_product_of_driver(const char *driver)
{
    const char *slash = driver ? strrchr(driver, '/') : NULL;

    if (slash) /* a file: its folder does not depend on the product */
        driver = slash + 1;
    for (size_t i = 0; driver && i < sizeof products / sizeof *products; i++) {
        const char *words = products[i].drivers;
        char word[32];

        for (size_t length; *words; words += length, words += *words == ',') {
            length = strcspn(words, ",");
            memcpy(word, words, length);
            word[length] = '\0';
            if (rowlock__find_caseless(driver, word))
                return &products[i];
        }
    }
    return &unknown;
}
