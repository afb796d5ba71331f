/* SPDX-License-Identifier: Apache-2.0 */
/* Loads libmariadb and its functions. */
#include "driver/mariadb_link.h"

#include <dlfcn.h>
#include <string.h>

#include "system/system.h"

struct rowlock__mariadb_functions rowlock__mariadb;

static const char *const names[] = {
#define ROWLOCK_XX(member, function) #function,
    ROWLOCK_MARIADB_FUNCTIONS(ROWLOCK_XX) NULL
#undef ROWLOCK_XX
};

struct rowlock_library rowlock__mariadb_client = {
    .file = "libmariadb.so.3",
    .package = "libmariadb3",
    .names = names,
    .table = &rowlock__mariadb,
    .lock = PTHREAD_MUTEX_INITIALIZER,
};

void rowlock__mariadb_forget_tls_errors(void)
{
    void (*clear)(void) = NULL;
    void *symbol, *handle;

    if (!rowlock__mariadb_client.loaded)
        return;
    handle = rowlock__loaded_library(rowlock__library_path(&rowlock__mariadb_client));
    if (!handle) /* dlsym(NULL) searches the whole process, not libmariadb's dependencies */
        return;
    symbol = dlsym(handle, "ERR_clear_error");
    memcpy(&clear, &symbol, sizeof clear);
    if (clear)
        clear();
    dlclose(handle);
}
