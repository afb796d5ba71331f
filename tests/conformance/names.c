/* SPDX-License-Identifier: Apache-2.0 */
/* P9: a name is its bytes: UTF-8, 1 to 255 of them. */
#include <string.h>

#include "lib/test.h"

/* Different names that some collation, padding rule or normal form treats as equal. */
static const char *const pairs[][2] = {
    {"a", "A"},
    {"a", "a "},
    {"a", " a"},
    {"a", "a\t"},
    {"a", "\xc3\xa1"},                        /* a with acute */
    {"\xc3\xa9", "e\xcc\x81"},                /* composed, decomposed */
    {"ss", "\xc3\x9f"},                       /* sharp s */
    {"i", "\xc4\xb1"},                        /* dotless i */
    {"\xf0\x9f\x98\x80", "\xf0\x9f\x98\x81"}, /* two faces */
    {"\xef\xac\x80", "ff"},                   /* ligature */
    {"a", "a\xe2\x80\x8b"},                   /* zero width */
    {"1", "01"},
    {"a%", "ab"},
    {"a_", "ab"},
    {"NULL", "null"},
};

TEST(p9_names_that_look_alike_are_different_locks)
{
    struct rowlock_connection *one = t_open(), *two = t_open();

    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        struct rowlock_want first = t_x(pairs[i][0]);

        t_ok(t_begin_freed(one, &first, 1)); /* earlier pairs contain it too */
        if (t_facts()->names_independent && !t_facts()->neighbours_meet) {
            t_ok(t_begin(two, t_x(pairs[i][1]), 0));
            t_ok(rowlock_commit(two, &t_error));
        }
        t_fails(t_begin(two, t_x(pairs[i][0]), 0), EBUSY);
        t_ok(rowlock_commit(one, &t_error));
    }
}

TEST(p9_a_name_has_up_to_255_bytes)
{
    struct rowlock_connection *one = t_open(), *two = t_open();
    char longest[257], almost[257];

    memset(longest, 'n', sizeof longest);
    memset(almost, 'n', sizeof almost);
    longest[255] = '\0';
    almost[254] = 'm';
    almost[255] = '\0';
    t_ok(t_begin(one, t_x(longest), 0));
    t_fails(t_begin(two, t_x(longest), 0), EBUSY);
    if (t_facts()->names_independent && !t_facts()->neighbours_meet)
        t_ok(t_begin(two, t_x(almost), 0));
    t_ok(rowlock_rollback(two, &t_error));
    longest[255] = 'n';
    longest[256] = '\0';
    t_fails(t_begin(two, t_x(longest), 0), EINVAL);
    t_contains(t_error.text, "256");
}

static void refuses(const char *name)
{
    struct rowlock_connection *idle = t_open(), *busy = t_open();
    struct rowlock_want want = t_x(name);

    t_fails(t_begin(idle, want, 0), EINVAL);
    t_left(NONE);
    t_fails(rowlock_prepare(idle, &want, 1, &t_error), EINVAL);
    t_ok(t_begin(busy, t_x(t_name(1)), 0));
    t_fails(t_lock(busy, want, 0), EINVAL);
    t_left(KEPT);
    t_int(t_is_free(t_x(t_name(1))), 0);
    t_ok(rowlock_rollback(busy, &t_error));
    t_close(busy);
    t_close(idle);
}

/* unit/utf8_test has all that is not UTF-8. */
TEST(p9_what_is_no_name_is_refused)
{
    refuses("");
    refuses(NULL);
    refuses("good\xc3\x28");
}

TEST(p9_a_bad_name_among_good_ones_locks_none)
{
    struct rowlock_connection *connection = t_open();
    struct rowlock_want wants[] = {t_x(t_name(1)), t_x(""), t_x(t_name(2))};

    t_fails(rowlock_begin(connection, wants, 3, 0, &t_error), EINVAL);
    t_left(NONE);
    t_int(t_is_free(t_x(t_name(1))), 1);
}
