/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz targets with LLVMFuzzerTestOneInput of libFuzzer. `make fuzz` runs each for a minute
 * (clang). fuzz/main.c runs them over their corpus with any compiler, as part of `make check`.
 */
#ifndef FUZZ_H
#define FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* An assertion that optimized builds keep. */
#define fuzz_check(condition) \
    do {                      \
        if (!(condition))     \
            abort();          \
    } while (0)

/* Copies the input into a text of its exact length, so that sanitizers detect a read beyond its
   end. */
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
