/* SPDX-License-Identifier: Apache-2.0 */
/* Measures and cuts text for a terminal. */
#include "command/output/output.h"

#include <locale.h>
#include <string.h>
#include <wchar.h>

void begin_width(void)
{
    static locale_t utf8;

    if (!utf8)
        utf8 = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
    if (utf8)
        uselocale(utf8);
}

/* The length of the first character or colour (an escape sequence "ESC [ ... m"); `*columns`: the
   columns that it takes. */
static size_t measure(const char *text, size_t left, mbstate_t *state, size_t *columns)
{
    size_t length = 2;
    wchar_t character;
    int width;

    *columns = 0;
    if (text[0] == '\033' && text[1] == '[') {
        length += strspn(text + length, "0123456789;");
        if (text[length] == 'm')
            return length + 1;
    }
    length = mbrtowc(&character, text, left, state);
    if (length == 0 || length > left) { /* not UTF-8: impossible, because it was escaped */
        *state = (mbstate_t){0};
        *columns = 1;
        return 1;
    }
    width = wcwidth(character);
    *columns = width > 0 ? (size_t)width : 0;
    return length;
}

size_t text_within(const char *text, size_t columns)
{
    mbstate_t state = {0};
    size_t at = 0, left = strlen(text), width;

    while (at < left) {
        size_t length = measure(text + at, left - at, &state, &width);

        if (width > columns)
            break;
        columns -= width;
        at += length;
    }
    return at;
}

size_t text_width(const char *text)
{
    mbstate_t state = {0};
    size_t left = strlen(text), total = 0, width;

    while (left > 0) {
        size_t length = measure(text, left, &state, &width);

        total += width;
        text += length;
        left -= length;
    }
    return total;
}

void cut_text(char *text, size_t columns)
{
    if (columns > 0 && text_width(text) > columns)
        strcpy(text + text_within(text, columns - 1), "…");
}
