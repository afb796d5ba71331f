/* SPDX-License-Identifier: Apache-2.0 */
#include "show/serve/library.h"

#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

#include "command/output/output.h"

#define LIBRARY_FILE "libmicrohttpd.so.12"

static const struct {
    const char *name;
    size_t offset;
} functions[] = {
#define SERVE_XX(function) {#function, offsetof(struct serve_library, function)},
    SERVE_FUNCTIONS(SERVE_XX)
#undef SERVE_XX
};

static struct serve_library library;

const struct serve_library *serve_library(void)
{
    void *handle = dlopen(LIBRARY_FILE, RTLD_NOW | RTLD_LOCAL);

    if (!handle) {
        message("cannot load %s; install the package libmicrohttpd12", LIBRARY_FILE);
        return NULL;
    }
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        void *symbol = dlsym(handle, functions[i].name);

        if (!symbol) {
            message("%s has no %s; install a newer libmicrohttpd", LIBRARY_FILE, functions[i].name);
            return NULL;
        }
        memcpy((char *)&library + functions[i].offset, &symbol, sizeof symbol);
    }
    return &library;
}
