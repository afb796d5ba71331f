/* SPDX-License-Identifier: Apache-2.0 */
/* Replaces whole words in SQL text. */
#include "util/words.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static int is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

static const char *next_word(const char *text, const char *from)
{
    size_t length = strlen(from);

    for (const char *at = text; (at = strstr(at, from)) != NULL; at += length)
        if ((at == text || !is_word(at[-1])) && !is_word(at[length]))
            return at;
    return NULL;
}

char *rowlock__replace_word(const char *text, const char *from, const char *to)
{
    size_t count = 0, from_length = strlen(from), to_length = strlen(to);
    char *out, *end;

    for (const char *at = text; (at = next_word(at, from)) != NULL; at += from_length)
        count++;
    out = end = malloc(strlen(text) + count * to_length + 1);
    if (!out)
        return NULL;
    for (const char *at; (at = next_word(text, from)) != NULL; text = at + from_length) {
        memcpy(end, text, (size_t)(at - text));
        end += at - text;
        memcpy(end, to, to_length);
        end += to_length;
    }
    memcpy(end, text, strlen(text) + 1);
    return out;
}
