/* SPDX-License-Identifier: Apache-2.0 */
/* Checks and copies UTF-8. */
#include "util/utf8.h"

#include <string.h>

struct form {                  /* RFC 3629, section 4 */
    unsigned char first, last; /* of the leading byte */
    unsigned char low, high;   /* of the second byte */
    unsigned char length;
};

static const struct form forms[] = {
    {0x00, 0x7f, 0, 0, 1},       {0xc2, 0xdf, 0x80, 0xbf, 2}, {0xe0, 0xe0, 0xa0, 0xbf, 3},
    {0xe1, 0xec, 0x80, 0xbf, 3}, {0xed, 0xed, 0x80, 0x9f, 3}, {0xee, 0xef, 0x80, 0xbf, 3},
    {0xf0, 0xf0, 0x90, 0xbf, 4}, {0xf1, 0xf3, 0x80, 0xbf, 4}, {0xf4, 0xf4, 0x80, 0x8f, 4},
};

size_t rowlock__utf8_character(const char *text, size_t left)
{
    const unsigned char *at = (const unsigned char *)text;

    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        const struct form *form = &forms[i];

        if (*at < form->first || *at > form->last)
            continue;
        if (form->length > left)
            return 0;
        if (form->length > 1 && (at[1] < form->low || at[1] > form->high))
            return 0;
        for (size_t j = 2; j < form->length; j++)
            if ((at[j] & 0xc0) != 0x80)
                return 0;
        return form->length;
    }
    return 0;
}

long rowlock__utf8_length(const char *text, size_t bytes)
{
    long count = 0;

    while (bytes > 0) {
        size_t length = rowlock__utf8_character(text, bytes);

        if (length == 0)
            return -1;
        text += length;
        bytes -= length;
        count++;
    }
    return count;
}

unsigned rowlock__utf8_control(const char *text, size_t left)
{
    static const struct {
        unsigned first, last;
    } controls[] = {
        {0x80, 0x9f}, {0x61c, 0x61c}, {0x200e, 0x200f}, {0x2028, 0x202e}, {0x2066, 0x2069}};
    const unsigned char *at = (const unsigned char *)text;
    size_t length = rowlock__utf8_character(text, left);
    unsigned code = length == 2   ? (at[0] & 0x1fu) << 6 | (at[1] & 0x3fu)
                    : length == 3 ? (at[0] & 0x0fu) << 12 | (at[1] & 0x3fu) << 6 | (at[2] & 0x3fu)
                                  : 0;

    for (size_t i = 0; i < sizeof controls / sizeof *controls; i++)
        if (code >= controls[i].first && code <= controls[i].last)
            return code;
    return 0;
}

const char *rowlock__utf8_unseen(const char *text, const char **at)
{
    static const struct {
        const char *bytes, *name;
    } unseen[] = {
        {"\xef\xbb\xbf", "a byte order mark (U+FEFF)"},
        {"\xc2\xa0", "a no-break space (U+00A0)"},
        {"\xe2\x80\xaf", "a narrow no-break space (U+202F)"},
        {"\xe2\x80\x8b", "a zero width space (U+200B)"},
        {"\xe3\x80\x80", "an ideographic space (U+3000)"},
    };

    for (; *text; text++)
        for (size_t i = 0; i < sizeof unseen / sizeof *unseen; i++)
            if (strncmp(text, unseen[i].bytes, strlen(unseen[i].bytes)) == 0) {
                if (at)
                    *at = text;
                return unseen[i].name;
            }
    return NULL;
}

void rowlock__utf8_copy(char *out, size_t size, const char *text)
{
    size_t left = strlen(text), at = 0;

    while (left > 0) {
        size_t step = rowlock__utf8_character(text, left);
        size_t bytes = step ? step : 1;

        if (at + bytes >= size)
            break;
        memcpy(out + at, step ? text : "?", bytes);
        at += bytes;
        text += bytes;
        left -= bytes;
    }
    out[at] = '\0';
}
