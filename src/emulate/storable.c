/* SPDX-License-Identifier: Apache-2.0 */
/* Texts for people as the database can store them. A name is sent as hexadecimal digits, so every
   text with other characters than ASCII's is one for people. */
#include <stdlib.h>
#include <string.h>

#include "emulate/work.h"
#include "util/utf8.h"

static bool is_ascii(const struct rowlock_value *value)
{
    for (size_t i = 0; value->type == ROWLOCK_BYTES && i < value->length; i++)
        if ((unsigned char)value->bytes[i] >= 0x80)
            return false;
    return true;
}

bool rowlock__are_ascii(const struct rowlock_value *values, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        if (!is_ascii(&values[i]))
            return false;
    return true;
}

/* A copy, at most as long as the column, with '?' in place of the characters that may be lacking.
   Returns the end of the copy. */
static char *put(char *out, const struct rowlock_value *value, bool lacks, size_t longest)
{
    for (size_t at = 0, n = 0; at < value->length && (!longest || n < longest); n++) {
        size_t bytes = rowlock__utf8_character(value->bytes + at, value->length - at);

        if (bytes == 1 || (bytes && !lacks))
            out = (char *)memcpy(out, value->bytes + at, bytes) + bytes;
        else
            *out++ = '?';
        at += bytes ? bytes : 1;
    }
    return out;
}

static bool can_stay(const struct rowlock_value *value, bool lacks, size_t longest)
{
    bool fits = value->type != ROWLOCK_BYTES || !longest || value->length <= longest;

    return fits && (!lacks || is_ascii(value));
}

int rowlock__storable(const struct rowlock_value *values, unsigned n, bool lacks, int longest,
                      struct rowlock_storable *out)
{
    size_t most = (size_t)longest, size = 0;
    bool all_stay = true;
    char *at;

    *out = (struct rowlock_storable){.values = values};
    for (unsigned i = 0; i < n; i++) {
        all_stay = all_stay && can_stay(&values[i], lacks, most);
        size += values[i].type == ROWLOCK_BYTES ? values[i].length : 0;
    }
    if (all_stay)
        return ROWLOCK_OK;
    out->memory = malloc(n * sizeof *values + size);
    if (!out->memory)
        return ROWLOCK_ENOMEM;
    out->values = memcpy(out->memory, values, n * sizeof *values);
    at = (char *)(out->memory + n);
    for (unsigned i = 0; i < n; i++) {
        char *end;

        if (can_stay(&values[i], lacks, most))
            continue;
        end = put(at, &values[i], lacks, most);
        out->memory[i].bytes = at;
        out->memory[i].length = (size_t)(end - at);
        at = end;
    }
    return ROWLOCK_OK;
}
