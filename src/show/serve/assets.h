/* SPDX-License-Identifier: Apache-2.0 */
/* The files of src/show/serve/assets, which tools/embed-files turns into data. */
#ifndef ROWLOCK_SERVE_ASSETS_H
#define ROWLOCK_SERVE_ASSETS_H

#include <stddef.h>

struct asset {
    const char *name; /* the file's name */
    const char *data;
    size_t size;
};
extern const struct asset serve_assets[]; /* ends with a NULL name */

#endif
