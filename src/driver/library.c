/* SPDX-License-Identifier: Apache-2.0 */
/* Loads a client library by dlopen and looks up its functions. */
#include "driver/library.h"

#include <dlfcn.h>
#include <string.h>

#include "util/error.h"

/* Prefers the process's own copy, because a wrapped handle belongs to that copy. */
static void *open_library(const struct rowlock_library *library)
{
    void *handle;

    if (dlsym(RTLD_DEFAULT, library->symbols[0].name))
        return RTLD_DEFAULT;
    handle = dlopen(library->file, RTLD_NOW | RTLD_LOCAL);
    if (!handle && library->other_file)
        handle = dlopen(library->other_file, RTLD_NOW | RTLD_LOCAL);
    return handle;
}

static int fill(struct rowlock_library *library, struct rowlock_error *error)
{
    void *handle = open_library(library);

    if (!handle && !dlsym(RTLD_DEFAULT, library->symbols[0].name))
        return rowlock__fail(error, ROWLOCK_EDRIVER,
                             "cannot load the client library %s; install the package %s",
                             library->file, library->package);
    for (size_t i = 0; i < library->n; i++) {
        void *symbol = dlsym(handle, library->symbols[i].name);

        if (!symbol)
            return rowlock__fail(error, ROWLOCK_EDRIVER, "%s has no %s; install a newer %s",
                                 library->file, library->symbols[i].name, library->package);
        memcpy((char *)library->table + library->symbols[i].offset, &symbol, sizeof symbol);
    }
    library->loaded = 1;
    return ROWLOCK_OK;
}

/* The file of the first function of the table. */
static const char *path_of(const struct rowlock_library *library)
{
    void *function = NULL;
    Dl_info info;

    memcpy(&function, (char *)library->table + library->symbols[0].offset, sizeof function);
    return dladdr(function, &info) ? info.dli_fname : library->file;
}

void rowlock__describe_library(struct rowlock_library *library, FILE *out)
{
    if (rowlock__load(library, NULL) == ROWLOCK_OK)
        fprintf(out, "%s\n", path_of(library));
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
