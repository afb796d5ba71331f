/* SPDX-License-Identifier: Apache-2.0 */
#include "system/library.h"

#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <string.h>

void *rowlock__own_symbols(void)
{
    return RTLD_DEFAULT;
}

struct search {
    const char *file;
    char path[PATH_MAX];
};

static int is_found(struct dl_phdr_info *info, __attribute__((unused)) size_t size, void *data)
{
    struct search *search = data;
    const char *name = strrchr(info->dlpi_name, '/');

    if (strcmp(search->file, info->dlpi_name) != 0 &&
        (!name || strcmp(search->file, name + 1) != 0))
        return 0;
    snprintf(search->path, sizeof search->path, "%s", info->dlpi_name);
    return 1;
}

void *rowlock__loaded_library(const char *file)
{
    struct search search = {.file = file};

    return dl_iterate_phdr(is_found, &search) ? dlopen(search.path, RTLD_LAZY | RTLD_NOLOAD) : NULL;
}

const char *rowlock__path_of_function(const void *function)
{
    Dl_info info;

    return function && dladdr(function, &info) ? info.dli_fname : NULL;
}
