/* SPDX-License-Identifier: Apache-2.0 */
/* P9: which bytes are a valid name. Every boundary of RFC 3629. */
#include <stdlib.h>
#include <string.h>

#include "lib/test.h"
#include "lock/wants.h"
#include "util/utf8.h"

static long length_of(const char *text)
{
    return rowlock__utf8_length(text, strlen(text));
}

TEST(p9_well_formed_text_is_counted_in_characters)
{
    t_int(length_of(""), 0);
    t_int(length_of("abc"), 3);
    t_int(length_of("\x7f"), 1);
    t_int(length_of("\xc2\x80\xdf\xbf"), 2);
    t_int(length_of("\xe0\xa0\x80\xed\x9f\xbf\xee\x80\x80\xef\xbf\xbf"), 4);
    t_int(length_of("\xf0\x90\x80\x80\xf4\x8f\xbf\xbf"), 2);
}

TEST(p9_ill_formed_text_is_none)
{
    static const char *const bad[] = {
        "\x80",
        "\xbf",
        "\xc2",
        "\xe0\x9f\xbf",
        "\xe0\xa0",
        "\xed\xa0\x80",
        "\xed\xbf\xbf",
        "\xef\xbf",
        "\xf0\x8f\xbf\xbf",
        "\xf0\x90\x80",
        "\xf4\x90\x80\x80",
        "\xf5\x80\x80\x80",
        "\xff",
        "\xfe",
        "\xe2\x82\xac\x82",
    };

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        t_int(length_of(bad[i]), -1);
}

/* Compared with the definition, over every pair of bytes and all first bytes of longer
   sequences. */
TEST(p9_every_two_bytes_are_judged_by_the_definition)
{
    for (int a = 1; a < 256; a++)
        for (int b = 1; b < 256; b++) {
            char text[3] = {(char)a, (char)b, '\0'};
            long wanted = a < 0x80 && b < 0x80                               ? 2
                          : a >= 0xc2 && a <= 0xdf && b >= 0x80 && b <= 0xbf ? 1
                                                                             : -1;

            t_int(length_of(text), wanted);
        }
}

TEST(p9_a_sequence_cut_off_by_the_length_is_ill_formed)
{
    t_int(rowlock__utf8_length("\xe2\x82\xac", 3), 1);
    t_int(rowlock__utf8_length("\xe2\x82\xac", 2), -1);
    t_int(rowlock__utf8_length("\xe2\x82\xac", 1), -1);
    t_int(rowlock__utf8_length("\xe2\x82\xac", 0), 0);
}

TEST(wants_are_sorted_by_bytes_and_each_name_is_there_once)
{
    struct rowlock_want want[] = {
        {.name = "b", .mode = ROWLOCK_SHARED}, {.name = "\xc3\xa4", .mode = ROWLOCK_SHARED},
        {.name = "a", .mode = ROWLOCK_SHARED}, {.name = "b", .mode = ROWLOCK_EXCLUSIVE},
        {.name = "B", .mode = ROWLOCK_SHARED}, {.name = "a", .mode = ROWLOCK_SHARED, .token = 7}};
    struct rowlock_wants wants;

    t_ok(rowlock__wants_init(&wants, want, 6, &t_error));
    t_int((long long)wants.n, 4);
    t_text(wants.packed, "42:s:0,61:s:7,62:x:0,C3A4:s:0");
    t_int((long long)wants.length, (long long)strlen(wants.packed));
    t_text(want[0].name, "b");
    rowlock__wants_clear(&wants);
}

TEST(wants_that_cannot_be_are_refused)
{
    struct rowlock_want bad_token = {.name = "a", .mode = ROWLOCK_EXCLUSIVE, .token = -1};
    struct rowlock_wants wants;

    t_fails(rowlock__wants_init(&wants, &bad_token, 1, &t_error), EINVAL);
    rowlock__wants_clear(&wants);
    t_fails(rowlock__wants_init(&wants, NULL, 3, &t_error), EINVAL);
    rowlock__wants_clear(&wants);
}

TEST(the_longest_wants_fit)
{
    struct rowlock_wants wants;
    struct rowlock_want want[300];
    char(*names)[256] = malloc(sizeof(char[300][256]));

    t_true(names != NULL);
    for (int i = 0; i < 300; i++) {
        memset(names[i], 'n', 255);
        names[i][255] = '\0';
        names[i][0] = (char)('a' + i % 26);
        names[i][1] = (char)('a' + i / 26);
        want[i] =
            (struct rowlock_want){.name = names[i], .mode = ROWLOCK_EXCLUSIVE, .token = INT64_MAX};
    }
    t_ok(rowlock__wants_init(&wants, want, 300, &t_error));
    t_int((long long)wants.length, 300 * (510 + 3 + 19) + 299);
    rowlock__wants_clear(&wants);
    free(names);
}
