/* SPDX-License-Identifier: Apache-2.0 */
/* Converts texts between UTF-8 and UTF-16. */
#include "driver/odbc/text.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "util/utf8.h"

#define REPLACEMENT 0xfffdu

bool rowlock__is_ascii(const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if ((unsigned char)text[i] >= 0x80)
            return false;
    return true;
}

size_t rowlock__utf16(const char *text, size_t length, uint16_t *out)
{
    static const unsigned char first[] = {0, 0x7f, 0x1f, 0x0f, 0x07}; /* by the bytes */
    size_t n = 0;

    for (size_t at = 0; at < length;) {
        size_t bytes = rowlock__utf8_character(text + at, length - at);
        uint32_t point = bytes ? (unsigned char)text[at] & first[bytes] : REPLACEMENT;

        for (size_t i = 1; i < bytes; i++)
            point = point << 6 | ((unsigned char)text[at + i] & 0x3f);
        at += bytes ? bytes : 1;
        if (point >= 0x10000) {
            out[n++] = (uint16_t)(0xd800 + ((point - 0x10000) >> 10));
            out[n++] = (uint16_t)(0xdc00 + ((point - 0x10000) & 0x3ff));
        } else {
            out[n++] = (uint16_t)point;
        }
    }
    return n;
}

static bool is_surrogate(uint16_t unit, uint16_t base)
{
    return unit >= base && unit < base + 0x400;
}

static size_t put(uint32_t point, char *out)
{
    if (point < 0x80) {
        out[0] = (char)point;
        return 1;
    }
    if (point < 0x800) {
        out[0] = (char)(0xc0 | point >> 6);
        out[1] = (char)(0x80 | (point & 0x3f));
        return 2;
    }
    if (point < 0x10000) {
        out[0] = (char)(0xe0 | point >> 12);
        out[1] = (char)(0x80 | (point >> 6 & 0x3f));
        out[2] = (char)(0x80 | (point & 0x3f));
        return 3;
    }
    out[0] = (char)(0xf0 | point >> 18);
    out[1] = (char)(0x80 | (point >> 12 & 0x3f));
    out[2] = (char)(0x80 | (point >> 6 & 0x3f));
    out[3] = (char)(0x80 | (point & 0x3f));
    return 4;
}

size_t rowlock__utf8_from_utf16(const uint16_t *units, size_t n, char *out)
{
    size_t length = 0;

    for (size_t i = 0; i < n; i++) {
        uint32_t point = units[i];

        if (is_surrogate(units[i], 0xd800) && i + 1 < n && is_surrogate(units[i + 1], 0xdc00)) {
            point = 0x10000 + ((uint32_t)(units[i] - 0xd800) << 10) + (units[i + 1] - 0xdc00u);
            i++;
        } else if (is_surrogate(units[i], 0xd800) || is_surrogate(units[i], 0xdc00)) {
            point = REPLACEMENT;
        }
        length += put(point, out + length);
    }
    return length;
}

/* Connection strings. */

#define BLANKS " \t\r\n"

/* The end of a value: braces protect semicolons, and in them }} means }. */
static const char *value_end(const char *value)
{
    if (*value != '{')
        return value + strcspn(value, ";");
    for (value++; *value; value++) {
        if (value[0] == '}' && value[1] == '}')
            value++;
        else if (value[0] == '}')
            return value + 1 + strcspn(value + 1, ";");
    }
    return value;
}

static char *unwrap(const char *value, const char *end)
{
    char *copy, *to;

    while (end > value && strchr(BLANKS, end[-1]))
        end--;
    copy = strndup(value, (size_t)(end - value));
    if (!copy || *copy != '{')
        return copy;
    to = copy;
    for (const char *from = copy + 1; *from && !(from[0] == '}' && from[1] != '}'); from++) {
        from += *from == '}';
        *to++ = *from;
    }
    *to = '\0';
    return copy;
}

char *rowlock__odbc_value(const char *string, const char *keys)
{
    for (const char *at = string; *at;) {
        const char *key = at + strspn(at, BLANKS ";"), *equals = key + strcspn(key, "=;");
        size_t length = (size_t)(equals - key);
        const char *value, *end;

        if (*equals != '=') {
            at = equals;
            if (!*at)
                break;
            continue;
        }
        while (length > 0 && strchr(BLANKS, key[length - 1]))
            length--;
        value = equals + 1 + strspn(equals + 1, BLANKS);
        end = value_end(value);
        for (const char *one = keys; *one; one += strcspn(one, ","), one += *one == ',')
            if (strcspn(one, ",") == length && strncasecmp(one, key, length) == 0)
                return unwrap(value, end);
        at = *end ? end + 1 : end;
    }
    return NULL;
}

int rowlock__odbc_append(char **string, const char *key, const char *value)
{
    size_t length = strlen(*string);
    bool braces = strpbrk(value, "[]{}(),;?*=!@ \t") != NULL || !*value;
    char *longer = realloc(*string, length + strlen(key) + 2 * strlen(value) + 5), *to;

    if (!longer)
        return -1;
    *string = longer;
    to = longer + length;
    if (length > 0 && to[-1] != ';')
        *to++ = ';';
    to = stpcpy(stpcpy(to, key), "=");
    if (braces)
        *to++ = '{';
    for (; *value; value++) {
        *to++ = *value;
        if (*value == '}')
            *to++ = '}';
    }
    if (braces)
        *to++ = '}';
    *to = '\0';
    return 0;
}
