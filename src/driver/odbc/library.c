/* SPDX-License-Identifier: Apache-2.0 */
/* Loads the ODBC driver manager and its functions. */
#include "driver/odbc/library.h"

#include <dlfcn.h>
#include <string.h>

#include "driver/library.h"

struct rowlock__odbc_functions rowlock__odbc;

static const struct rowlock_symbol symbols[] = {
#define ROWLOCK_XX(function) {#function, offsetof(struct rowlock__odbc_functions, function)},
    ROWLOCK_ODBC_FUNCTIONS(ROWLOCK_XX)
#undef ROWLOCK_XX
};

static struct rowlock_library library = {
    .file = "libodbc.so.2",
    .other_file = "libiodbc.so.2",
    .package = "libodbc2",
    .symbols = symbols,
    .n = sizeof symbols / sizeof *symbols,
    .table = &rowlock__odbc,
    .lock = PTHREAD_MUTEX_INITIALIZER,
};

int rowlock__odbc_load(struct rowlock_error *error)
{
    return rowlock__load(&library, error);
}

int rowlock__odbc_is_utf16(void)
{
    void *function = NULL;
    Dl_info info;

    memcpy(&function, &rowlock__odbc.SQLExecute, sizeof function);
    return dladdr(function, &info) == 0 || strstr(info.dli_fname, "iodbc") == NULL;
}
