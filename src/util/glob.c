/* SPDX-License-Identifier: Apache-2.0 */
#include "util/glob.h"

size_t rowlock__glob_end_of_set(const char *pattern, size_t at)
{
    at += 1 + (pattern[at + 1] == '!' || pattern[at + 1] == '^');
    at += pattern[at] == ']';
    while (pattern[at] && pattern[at] != ']')
        at++;
    return pattern[at] ? at + 1 : 0;
}

size_t rowlock__glob_mistake(const char *pattern)
{
    for (size_t i = 0; pattern[i]; i++) {
        size_t end = pattern[i] == '[' ? rowlock__glob_end_of_set(pattern, i) : i + 1;

        if (!end)
            return i + 1;
        i = end - 1;
        if (pattern[i] == '\\' && pattern[i + 1])
            i++;
    }
    return 0;
}
