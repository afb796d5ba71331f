/* SPDX-License-Identifier: Apache-2.0 */
/*
 * P9: a lease's name is bytes: names that look the same to people are different names.
 *
 * Runs on: sqlite postgresql mariadb odbc jdbc
 * Quick: first
 */
#include <string.h>

#include "lib/grants.h"

static const char *const fixed[] = {
    "p9",       "P9",        "p9 ",      " p9", "p9  ",    "p9\t",
    "p9\n",     "it's p9",   "\"p9\"",   "p,9", "p:9",     "p9,",
    ",p9",      ":x:0:0",    "p\\9",     "p%9", "p_9",     "\xc3\xa4",
    "\xc3\x84", "a\xcc\x88", "\xc3\x9f", "ss",  "null",    "NULL",
    "$1",       "?",         "--",       ";",   "p9;drop", "\xf0\x9f\x94\x92",
    "0",        "-1",        "\x01",     "p`9", "{p9}",    "(p9)",
};
#define FIXED (sizeof fixed / sizeof *fixed)
#define N (FIXED + 3)

/* Three names of full length, which differ in the last byte or in the case of the first. */
static const char *name_of(size_t i)
{
    static char longs[3][256];

    if (i < FIXED)
        return fixed[i];
    memset(longs[i - FIXED], 'n', 255);
    if (i == FIXED + 1)
        longs[1][254] = 'm';
    if (i == FIXED + 2)
        longs[2][0] = 'N';
    return longs[i - FIXED];
}

struct seen {
    size_t named[N], others;
};

static int note(const struct rowlock_holder *holder, void *data)
{
    struct seen *seen = data;

    for (size_t i = 0; i < N; i++)
        if (strcmp(holder->name, name_of(i)) == 0) {
            seen->named[i]++;
            return 0;
        }
    seen->others++;
    return 0;
}

TEST(p9_every_name_is_a_name_of_its_own)
{
    struct rowlock_connection *one = t_open(), *two = t_open();
    struct rowlock_want wants[N / 2 + 1];
    size_t n = 0;
    struct rowlock_lease *lease = NULL, *leases[N] = {NULL}, *same, *none = NULL;
    struct seen seen = {0};

    for (size_t i = 0; i < N; i += 2, n++)
        wants[n] = n % 2 ? t_s(name_of(i)) : t_x(name_of(i));
    t_ok(t_acquire_all(one, wants, n, 0, 0, &lease));
    for (size_t i = 1; i < N; i += 2)
        leases[i] = t_granted(two, t_x(name_of(i)), 0);
    t_ok(rowlock_list(one, NULL, note, &seen, &t_error));
    for (size_t i = 0; i < N; i++) {
        t_int((long long)seen.named[i], 1);
        t_ok(rowlock_adopt(one, name_of(i), rowlock_token(leases[i] ? leases[i] : lease), &same,
                           &t_error));
        rowlock_lease_free(same);
        t_fails(t_acquire(two, t_x(name_of(i)), 0, 0, &none), EBUSY);
    }
    t_int((long long)seen.others, 0);
    t_fails(rowlock_adopt(one, "another", rowlock_token(lease), &same, &t_error), ELOST);
    t_give(lease);
    for (size_t i = 1; i < N; i += 2)
        t_give(leases[i]);
    t_text(t_all_rows(t_native()), NO_ROWS);
}

TEST(p9_the_fence_and_a_break_take_the_name_by_its_bytes)
{
    struct rowlock_connection *one = t_open();
    struct rowlock_lease *lease = t_granted(one, t_x("Fence"), 0);
    int64_t broken = -1;

    t_own_begin(t_handle(one), t_engine()->begin);
    t_ok(rowlock_fence(one, "Fence", rowlock_token(lease), &t_error));
    t_fails(rowlock_fence(one, "fence", rowlock_token(lease), &t_error), ELOST);
    t_fails(rowlock_fence(one, "Fence ", rowlock_token(lease), &t_error), ELOST);
    t_ok(rowlock_rollback(one, &t_error));
    t_ok(rowlock_break(one, "fence", 0, 1, &broken, &t_error));
    t_int(broken, 0);
    t_ok(rowlock_break(one, "Fence ", 0, 1, &broken, &t_error));
    t_int(broken, 0);
    t_give(lease);
}

TEST(p9_a_note_and_a_command_are_data_too)
{
    static const char *const texts[] = {"it's; DROP TABLE x --", "100% \\ \"quoted\"",
                                        "\xf0\x9f\x94\x92 locked", ""};
    struct rowlock_connection *one = t_open(), *two = t_open();
    struct rowlock_want want = t_x("noted");
    struct rowlock_lease *lease = NULL, *none = NULL;

    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct rowlock_terms terms = {.note = texts[i], .command = texts[i]};

        t_ok(rowlock_acquire(one, &want, 1, &terms, &lease, &t_error));
        t_fails(t_acquire(two, want, 0, 0, &none), EBUSY);
        t_contains(t_error.text, texts[i]);
        t_give(lease);
    }
}
