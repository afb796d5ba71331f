/* SPDX-License-Identifier: Apache-2.0 */
/* Connection strings. */
#include "driver/odbc/string.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define BLANKS " \t\r\n"

static bool is_one_of(const char *key, size_t length, const char *keys)
{
    for (const char *at = keys; *at; at += strcspn(at, ","), at += *at == ',')
        if (strcspn(at, ",") == length && strncasecmp(at, key, length) == 0)
            return true;
    return false;
}

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
        if (is_one_of(key, length, keys))
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
