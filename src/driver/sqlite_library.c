/* SPDX-License-Identifier: Apache-2.0 */
/* Loads libsqlite3 and its functions. */
#include "driver/sqlite_library.h"

#include <stddef.h>

#include "driver/library.h"

struct rowlock_sqlite_library rowlock__sqlite;

static const struct rowlock_symbol symbols[] = {
#define ROWLOCK_XX(function) {#function, offsetof(struct rowlock_sqlite_library, function)},
    ROWLOCK_SQLITE_FUNCTIONS(ROWLOCK_XX)
#undef ROWLOCK_XX
};

static struct rowlock_library library = {
    .file = "libsqlite3.so.0",
    .package = "libsqlite3-0 (3.34 or later)",
    .symbols = symbols,
    .n = sizeof symbols / sizeof *symbols,
    .table = &rowlock__sqlite,
    .lock = PTHREAD_MUTEX_INITIALIZER,
};

int rowlock__sqlite_load(struct rowlock_error *error)
{
    return rowlock__load(&library, error);
}

void rowlock__sqlite_describe(FILE *out)
{
    rowlock__describe_library(&library, out);
}
