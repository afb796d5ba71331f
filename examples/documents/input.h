/* SPDX-License-Identifier: Apache-2.0 */
/* The text of one document, from a file or from the generator, in a buffer that is used again. */
#ifndef DOCUMENTS_INPUT_H
#define DOCUMENTS_INPUT_H

#include <stddef.h>
#include <stdint.h>

#include "generate.h"

struct input {
    const struct generator *generator;
    char *text;
    size_t length, room;
};

enum input_result { INPUT_OK, INPUT_TOO_LONG, INPUT_FAILED };

/* `path` empty: the generated document `number`. INPUT_FAILED: see errno. */
enum input_result input_load(struct input *input, const char *path, uint64_t number);
void input_free(struct input *input);

#endif
