/* SPDX-License-Identifier: Apache-2.0 */
/* Loads libpq and its functions. */
#include "driver/postgresql_library.h"

#include <stddef.h>

#include "driver/library.h"

struct rowlock_postgresql_library rowlock__postgresql;

static const struct rowlock_symbol symbols[] = {
#define ROWLOCK_XX(function) {#function, offsetof(struct rowlock_postgresql_library, function)},
    ROWLOCK_POSTGRESQL_FUNCTIONS(ROWLOCK_XX)
#undef ROWLOCK_XX
};

static struct rowlock_library library = {
    .file = "libpq.so.5",
    .package = "libpq5 (14 or later)",
    .symbols = symbols,
    .n = sizeof symbols / sizeof *symbols,
    .table = &rowlock__postgresql,
    .lock = PTHREAD_MUTEX_INITIALIZER,
};

int rowlock__postgresql_load(struct rowlock_error *error)
{
    return rowlock__load(&library, error);
}

void rowlock__postgresql_describe(FILE *out)
{
    rowlock__describe_library(&library, out);
}
