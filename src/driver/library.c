/* SPDX-License-Identifier: Apache-2.0 */
/* Loads a client library by dlopen and looks up its functions. */
#include "driver/library.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <string.h>

#include "system/system.h"
#include "util/error.h"

/* Prefers the copy that the process has loaded, because a wrapped handle belongs to that copy.
   Binding is lazy, as for a linked library: libpq loads 22 other libraries, and binding all their
   functions would be an eighth of the client's work in a short `rowlock run`. The functions that we
   call are looked up here. */
static int fill(struct rowlock_library *library, struct rowlock_error *error)
{
    void *handle = rowlock__own_symbols(); /* may be NULL, and is not an error */
    bool loaded = dlsym(handle, library->names[0]) != NULL;

    library->opened = library->file;
    if (!loaded)
        handle = dlopen(library->file, RTLD_LAZY | RTLD_LOCAL);
    if (!loaded && !handle && library->other_file) {
        library->opened = library->other_file;
        handle = dlopen(library->other_file, RTLD_LAZY | RTLD_LOCAL);
    }
    if (!loaded && !handle)
        return rowlock__fail(error, ROWLOCK_EDRIVER,
                             "cannot load the client library %s; install the package %s",
                             library->file, library->package);
    for (size_t i = 0; library->names[i]; i++) {
        void *symbol = dlsym(handle, library->names[i]);

        if (!symbol)
            return rowlock__fail(error, ROWLOCK_EDRIVER, "%s has no %s; install a newer %s",
                                 library->file, library->names[i], library->package);
        memcpy((char *)library->table + i * sizeof symbol, &symbol, sizeof symbol);
    }
    library->loaded = 1;
    return ROWLOCK_OK;
}

/* The file of the first function of the table. */
const char *rowlock__library_path(const struct rowlock_library *library)
{
    void *function = NULL;
    const char *path;

    memcpy(&function, library->table, sizeof function);
    path = rowlock__path_of_function(function);
    return path ? path : library->opened;
}

void rowlock__describe_library(struct rowlock_library *library, FILE *out)
{
    if (rowlock__load(library, NULL) == ROWLOCK_OK)
        fprintf(out, "%s\n", rowlock__library_path(library));
    else
        fprintf(out, "not found: install the package %s\n", library->package);
}

int rowlock__load(struct rowlock_library *library, struct rowlock_error *error)
{
    int code = ROWLOCK_OK;

    pthread_mutex_lock(&library->lock);
    if (!library->loaded)
        code = fill(library, error);
    pthread_mutex_unlock(&library->lock);
    return code;
}
