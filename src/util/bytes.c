/* SPDX-License-Identifier: Apache-2.0 */
#include "util/bytes.h"

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
