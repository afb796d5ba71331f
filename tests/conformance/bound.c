/* SPDX-License-Identifier: Apache-2.0 */
/*
 * P12: a name is data. Whatever bytes it contains, they only select the lock; no part of a name is
 * executed.
 */
#include <string.h>

#include "lib/test.h"

static const char *const hostile[] = {
    "'; DROP TABLE witness; --",
    "\"; DROP TABLE witness; --",
    "`; DROP TABLE witness; --",
    "'); DROP TABLE witness; --",
    "\\'; DROP TABLE witness; --",
    "' OR '1'='1",
    "'",
    "''",
    "\"",
    "\\",
    "\\\\",
    "\\'",
    "`",
    ";",
    "--",
    "/*",
    "*/",
    "#",
    "%",
    "%s%s%n",
    "%d",
    "_",
    "?",
    "$1",
    ":name",
    "@name",
    "{x}",
    "${x}",
    "$$",
    "$body$",
    "E'\\x27'",
    "x'27'",
    "\x01",
    "\t",
    "\n",
    "\r\n",
    "\x1b[2J",
    "\x7f",
    "a,b",
    "a:x:0",
    "41:x:0,42:x:0",
    "a|b",
    "a\tb",
    "\xf0\x9f\x94\x92",
    "\xe2\x80\xae",
    "\xc2\xa0",
    "\xef\xbb\xbf",
    "NULL",
    "null",
    "0",
    "-1",
    "true",
    "DEFAULT",
};

#define N (sizeof hostile / sizeof *hostile)

TEST(p12_a_hostile_name_is_a_lock_of_its_own)
{
    struct rowlock_connection *one = t_open(), *two = t_open();

    t_sql(one, "CREATE TABLE witness (n INTEGER)");
    t_sql(one, "INSERT INTO witness VALUES (7)");
    for (size_t i = 0; i < N; i++) {
        struct rowlock_want want = t_x(hostile[i]);

        t_ok(t_begin(one, want, 0));
        if (t_facts()->names_independent && !t_facts()->neighbours_meet) {
            t_ok(t_begin(two, t_x(hostile[(i + 1) % N]), 0));
            t_ok(rowlock_rollback(two, &t_error));
        }
        t_fails(t_begin(two, want, 0), EBUSY);
        t_ok(rowlock_commit(one, &t_error));
        t_ok(t_begin_freed(two, &want, 1));
        t_ok(rowlock_rollback(two, &t_error));
    }
    t_text(t_sql(one, "SELECT n FROM witness"), "7");
}

TEST(p12_all_of_them_in_one_call)
{
    struct rowlock_connection *one = t_open(), *two = t_open();
    struct rowlock_want wants[N];

    for (size_t i = 0; i < N; i++)
        wants[i] = t_x(hostile[i]);
    t_ok(rowlock_begin(one, wants, N, 0, &t_error));
    for (size_t i = 0; i < N; i++)
        t_fails(t_begin(two, wants[i], 0), EBUSY);
    t_ok(rowlock_commit(one, &t_error));
    t_ok(t_begin_freed(two, wants, N));
}

TEST(p12_taken_later_and_prepared_too)
{
    void *handle;
    struct rowlock_connection *own = t_wrap(&handle, NULL), *two = t_open();

    for (size_t i = 0; i < N; i++) {
        struct rowlock_want want = t_x(hostile[i]);

        t_ok(rowlock_prepare(own, &want, 1, &t_error));
        t_own_begin(handle, t_engine()->begin);
        t_ok(t_lock(own, want, 0));
        t_fails(t_begin(two, want, 0), EBUSY);
        t_native_sql(handle, "COMMIT");
    }
}

TEST(p12_no_control_character_gets_into_a_message)
{
    struct rowlock_connection *one = t_open(), *two = t_open();

    t_ok(t_begin(one, t_x("line\nforged\x1b[2J"), 0));
    t_fails(t_begin(two, t_x("line\nforged\x1b[2J"), 0), EBUSY);
    for (const char *c = t_error.text; *c; c++)
        t_true((unsigned char)*c >= 0x20 && *c != 0x7f);
}
