/* SPDX-License-Identifier: Apache-2.0 */
#include "util/glob.h"

#include <stdlib.h>
#include <string.h>

#include "util/error.h"

/* The index after one member of a set: "[:alpha:]", "[.x.]", "[=x=]", an escaped character, or any
   other one. */
static size_t end_of_member(const char *pattern, size_t at)
{
    char kind = pattern[at] == '[' ? pattern[at + 1] : '\0';
    size_t end = at + 2;

    if (kind && strchr(":.=", kind)) {
        while (pattern[end] && !(pattern[end] == kind && pattern[end + 1] == ']'))
            end++;
        if (pattern[end])
            return end + 2;
    }
    return at + 1 + (pattern[at] == '\\' && pattern[at + 1]);
}

/* The index after the ']' of the set that begins at `at`; 0: it has none. */
static size_t end_of_set(const char *pattern, size_t at)
{
    at += 1 + (pattern[at + 1] == '!' || pattern[at + 1] == '^');
    at += pattern[at] == ']';
    while (pattern[at] && pattern[at] != ']')
        at = end_of_member(pattern, at);
    return pattern[at] ? at + 1 : 0;
}

size_t rowlock__glob_mistake(const char *glob)
{
    for (size_t i = 0; glob[i]; i++) {
        size_t end = glob[i] == '[' ? end_of_set(glob, i) : i + 1;

        if (!end)
            return i + 1;
        if (glob[i] == '\\' && glob[i + 1])
            end++;
        i = end - 1;
    }
    return 0;
}

int rowlock__glob_check(const char *glob, struct rowlock_error *error)
{
    size_t at = rowlock__glob_mistake(glob);

    if (!at)
        return ROWLOCK_OK;
    return rowlock__fail(error, ROWLOCK_EINVAL,
                         "the pattern '%.100s' has a '[' without ']' at position %zu; write \\[ "
                         "for the character",
                         glob, at);
}

char *rowlock__glob_to_like(const char *glob, bool *exact)
{
    char *out = malloc(2 * strlen(glob) + 1), *to = out;

    *exact = true;
    for (size_t i = 0; out && glob[i]; i++) {
        size_t end = glob[i] == '[' ? end_of_set(glob, i) : 0;

        if (glob[i] == '*' || glob[i] == '?' || end) {
            *exact = *exact && glob[i] == '*';
            *to++ = '%';
            i = end ? end - 1 : i;
            continue;
        }
        if (glob[i] == '\\' && glob[i + 1])
            i++;
        else
            *exact = *exact && glob[i] != '\\'; /* at the end it matches nothing */
        if (strchr("%_!", glob[i]))
            *to++ = '!';
        *to++ = glob[i];
    }
    if (out)
        *to = '\0';
    return out;
}
