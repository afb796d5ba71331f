/* SPDX-License-Identifier: Apache-2.0 */
/* Patterns of names: their mistakes, and their translation for the database, compared with the
   C library's fnmatch(). */
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "emulate/judge.h"
#include "lib/test.h"
#include "util/glob.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

TEST(a_set_without_an_end_is_a_mistake)
{
    static const struct {
        const char *glob;
        int at;
    } cases[] = {{"", 0},      {"a*?", 0},  {"[a-c]", 0},       {"[", 1},
                 {"ab[c", 3},  {"[]", 1},   {"[]a]", 0},        {"[!]", 1},
                 {"[!]a]", 0}, {"\\[", 0},  {"[[:digit:]]", 0}, {"[[:digit:]", 1},
                 {"[\\]]", 0}, {"[\\]", 1}, {"[a][b", 4}};

    for (size_t i = 0; i < COUNT(cases); i++) {
        t_int((long)rowlock__glob_mistake(cases[i].glob), cases[i].at);
        t_int(rowlock__glob_check(cases[i].glob, &t_error) == ROWLOCK_EINVAL, cases[i].at != 0);
    }
}

/* The translation may accept more names, but never fewer; an exact one accepts the same. */
TEST(the_database_finds_every_name_that_matches)
{
    static const char *const globs[] = {
        "*",      "a*",    "*b",         "a?c", "?",    "a",     "a[bc]d", "[]a]x",
        "[!a]*",  "100%",  "a_b*",       "a!b", "\\*",  "a\\",   "[\\]]x", "[[:digit:]]x",
        "[a-c]*", "*a*b*", "job:*[0-9]", "",    "[^]]", "\\[a]", "a\\?b",  "**"};
    static const char *const names[] = {"a",    "b",     "ab",   "abc", "acd", "]x",  "ax",  "100%",
                                        "1000", "a_b1",  "axb",  "a!b", "*",   "a\\", "1x",  "c",
                                        "xaxb", "job:7", "job:", "",    "]",   "[a]", "a?b", "a!!b",
                                        "aabb", "100%%", "abd",  "_",   "%",   "!"};

    for (size_t i = 0; i < COUNT(globs); i++) {
        bool exact;
        char *like = rowlock__glob_to_like(globs[i], &exact);

        t_true(like != NULL);
        for (size_t j = 0; j < COUNT(names); j++) {
            bool matches = fnmatch(globs[i], names[j], 0) == 0;
            bool found = rowlock__is_like(names[j], like);

            if ((matches && !found) || (exact && matches != found))
                t_fail(__FILE__, __LINE__, "'%s' as '%s': '%s' %d", globs[i], like, names[j],
                       found);
        }
        free(like);
    }
}

TEST(only_stars_are_translated_exactly)
{
    static const char *const inexact[] = {"a?", "[ab]", "a\\"};
    bool exact;

    free(rowlock__glob_to_like("job:*\\*", &exact));
    t_true(exact);
    for (size_t i = 0; i < COUNT(inexact); i++) {
        free(rowlock__glob_to_like(inexact[i], &exact));
        t_true(!exact);
    }
}
