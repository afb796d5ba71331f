/* SPDX-License-Identifier: Apache-2.0 */
#include "util/bytes.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

void rowlock__wipe(void *bytes, size_t n)
{
    volatile unsigned char *at = bytes;

    while (n-- > 0)
        *at++ = 0;
}

const char *rowlock__find_bytes(const char *in, size_t size, const char *bytes, size_t n)
{
    for (size_t at = 0; at + n <= size; at++)
        if (memcmp(in + at, bytes, n) == 0)
            return in + at;
    return NULL;
}

const char *rowlock__find_caseless(const char *text, const char *word)
{
    size_t length = strlen(word);

    for (; strlen(text) >= length; text++)
        if (strncasecmp(text, word, length) == 0)
            return text;
    return NULL;
}

char *rowlock__join(const char *first, const char *second, const char *third)
{
    size_t size = strlen(first) + strlen(second) + strlen(third) + 1;
    char *joined = malloc(size);

    if (joined) {
        strcpy(joined, first);
        strcat(strcat(joined, second), third);
    }
    return joined;
}

char *rowlock__put_hex(char *out, const char *bytes, size_t n)
{
    static const char digits[] = "0123456789ABCDEF";

    for (size_t i = 0; i < n; i++) {
        *out++ = digits[(unsigned char)bytes[i] >> 4];
        *out++ = digits[(unsigned char)bytes[i] & 15];
    }
    *out = '\0';
    return out;
}

static int digit(char c)
{
    static const char digits[] = "0123456789ABCDEF0123456789abcdef";
    const char *at = c ? strchr(digits, c) : NULL;

    return at ? (int)(at - digits) % 16 : -1;
}

int rowlock__hex_byte(const char *text)
{
    int high = digit(text[0]), low = high < 0 ? -1 : digit(text[1]);

    return low < 0 ? -1 : high * 16 + low;
}

/* Replaces whole words in SQL text. */

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
