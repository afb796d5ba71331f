/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The list of error codes: each has a unique number, name and text. Also the texts of the version.
 */
#include <string.h>

#include "lib/test.h"

static const int codes[] = {
#define ROWLOCK_XX(name, value, text) ROWLOCK_##name,
    ROWLOCK_ERRORS(ROWLOCK_XX)
#undef ROWLOCK_XX
};

TEST(every_code_has_a_number_a_name_and_a_text_of_its_own)
{
    size_t n = sizeof codes / sizeof *codes;

    for (size_t i = 0; i < n; i++) {
        t_int(codes[i], -(long long)i - 1);
        t_int(rowlock_error_name(codes[i])[0], 'E');
        for (size_t j = 0; j < i; j++) {
            t_true(strcmp(rowlock_error_name(codes[i]), rowlock_error_name(codes[j])) != 0);
            t_true(strcmp(rowlock_strerror(codes[i]), rowlock_strerror(codes[j])) != 0);
        }
    }
    t_text(rowlock_error_name(ROWLOCK_EBUSY), "EBUSY");
}

TEST(a_code_that_is_none_has_a_text_too)
{
    t_text(rowlock_strerror(-1000), "unknown error");
    t_text(rowlock_strerror(7), "unknown error");
    t_text(rowlock_error_name(-1000), "E?");
}

TEST(the_version_names_the_drivers)
{
    t_int(strncmp(rowlock_version(), ROWLOCK_VERSION, strlen(ROWLOCK_VERSION)), 0);
#ifdef ROWLOCK_WITH_SQLITE
    t_contains(rowlock_version(), " sqlite");
#endif
#ifdef ROWLOCK_WITH_POSTGRESQL
    t_contains(rowlock_version(), " postgresql");
#endif
#ifdef ROWLOCK_WITH_MARIADB
    t_contains(rowlock_version(), " mariadb");
#endif
}
