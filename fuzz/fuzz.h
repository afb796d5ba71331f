/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz targets: LLVMFuzzerTestOneInput of libFuzzer. `make fuzz` runs each for a minute (clang);
 * fuzz/main.c runs them over their corpus, which any compiler can do, and `make check` does.
 */
#ifndef FUZZ_H
#define FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Stays in optimised builds. */
#define fuzz_check(condition) \
    do {                      \
        if (!(condition))     \
            abort();          \
    } while (0)

/* The input as a text of its own length, so that a step beyond its end is seen. */
static inline char *fuzz_text(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);

    if (!text)
        abort();
    if (size > 0)
        memcpy(text, data, size);
    text[size] = '\0';
    return text;
}

#endif
