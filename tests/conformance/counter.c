/* SPDX-License-Identifier: Apache-2.0 */
/* Counters: no number is drawn twice, none is missing, on every engine and technique. */
#include <stdio.h>
#include <string.h>

#include "lib/test.h"

#define DRAWERS 4
#define DRAWS 15

static int draw(struct rowlock_connection *connection, const char *counter, int64_t count,
                int64_t *first)
{
    return rowlock_next(connection, counter, 1, count, -1, first, &t_error);
}

/* Draws in a transaction that also holds another lock, and leaves the transaction open. */
static int64_t draw_in_new(struct rowlock_connection *connection, int64_t start, int64_t count)
{
    int64_t first = 0;

    t_ok(t_begin(connection, t_x(t_name(9)), -1));
    t_ok(rowlock_next(connection, t_name(0), start, count, -1, &first, &t_error));
    return first;
}

TEST(a_counter_begins_with_1_and_continues_with_each_transaction)
{
    struct rowlock_connection *one = t_open();
    int64_t second = 0;

    t_int(draw_in_new(one, 1, 1), 1);
    t_ok(rowlock_commit(one, &t_error));
    t_int(draw_in_new(one, 1, 10), 2); /* several numbers follow each other */
    t_ok(rowlock_commit(one, &t_error));
    t_int(draw_in_new(one, 1, 1), 12);
    t_ok(draw(one, t_name(0), 1, &second));
    t_int(second, 13);
    t_ok(rowlock_commit(one, &t_error));
}

TEST(a_counter_begins_at_the_given_start_and_only_once)
{
    struct rowlock_connection *one = t_open();

    t_int(draw_in_new(one, 1000, 1), 1000);
    t_ok(rowlock_commit(one, &t_error));
    t_int(draw_in_new(one, 5, 1), 1001);
}

TEST(rollback_takes_the_numbers_back)
{
    struct rowlock_connection *one = t_open();

    t_int(draw_in_new(one, 1, 1), 1);
    t_ok(rowlock_commit(one, &t_error));
    t_int(draw_in_new(one, 1, 7), 2);
    t_ok(rowlock_rollback(one, &t_error));
    t_int(draw_in_new(one, 1, 1), 2);
}

/* Rolls back in the open transaction. Where the end of a limited wait costs the session, asserts
   that, and returns another one. */
static struct rowlock_connection *after_refusal(struct rowlock_connection *connection)
{
    if (!t_facts()->limit_ends_session) {
        t_ok(rowlock_rollback(connection, &t_error));
        return connection;
    }
    t_left(DEAD);
    t_close(connection);
    return t_open();
}

TEST(a_draw_waits_for_an_earlier_one_and_gets_a_number_that_was_rolled_back)
{
    struct rowlock_connection *one = t_open(), *two = t_open();
    int64_t number = 0;

    t_ok(t_begin(one, t_x(t_name(8)), -1));
    t_ok(draw(one, t_name(0), 1, &number));
    if (t_facts()->names_independent && !t_facts()->neighbours_meet) {
        t_ok(t_begin(two, t_x(t_name(9)), -1));
        t_fails(rowlock_next(two, t_name(0), 1, 1, 0, &number, &t_error), EBUSY);
        t_contains(t_error.text, "counter:");
        two = after_refusal(two);
    }
    t_int(t_is_free(t_x(t_say("counter:%s", t_name(0)))), 0);
    t_ok(rowlock_rollback(one, &t_error));
    t_ok(t_begin(two, t_x(t_name(9)), -1));
    t_ok(draw(two, t_name(0), 1, &number));
    t_int(number, 1);
    t_ok(rowlock_commit(two, &t_error));
}

TEST(counters_that_differ_by_case_space_and_quotes_are_different)
{
    const char *endings[] = {"a", "A", "a ", "a'", "a\"", "a,b"};
    struct rowlock_connection *one = t_open();
    int64_t number = 0;

    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        const char *counter = t_say("%.100s/%s", t_name(0), endings[i]);

        t_ok(t_begin(one, t_x(t_name(9)), -1));
        t_ok(draw(one, counter, 1, &number));
        t_int(number, 1);
        t_ok(rowlock_commit(one, &t_error));
    }
}

TEST(an_invalid_counter_is_refused_and_the_transaction_continues)
{
    struct rowlock_connection *one = t_open();
    char longest[249];
    int64_t number = 0;

    memset(longest, 'c', sizeof longest);
    longest[sizeof longest - 1] = '\0';
    t_fails(draw(one, t_name(0), 1, &number), ENOTX);
    t_ok(t_begin(one, t_x(t_name(9)), -1));
    t_fails(draw(one, "", 1, &number), EINVAL);
    t_left(KEPT);
    t_fails(draw(one, longest, 1, &number), EINVAL);
    t_contains(t_error.text, "247");
    t_fails(draw(one, "\xff", 1, &number), EINVAL);
    t_fails(draw(one, t_name(0), 0, &number), EINVAL);
    t_fails(draw(one, t_name(0), 1000000001, &number), EINVAL);
    t_fails(rowlock_next(one, t_name(0), INT64_MAX, 1, -1, &number, &t_error), EINVAL);
    t_left_is_true(one);
    t_ok(draw(one, t_name(0), 1, &number));
    t_int(number, 1);
    t_ok(rowlock_commit(one, &t_error));
}

/* ---- many at once ---------------------------------------------------------------------------- */

struct drawer {
    const char *counter;
    char begun[300]; /* a name of its own first */
    int64_t numbers[DRAWS];
    int n;
};

/* Every third transaction is rolled back, and that of the victim of a deadlock. */
static int draw_on(struct rowlock_connection *connection, void *data, struct rowlock_error *error)
{
    struct drawer *drawer = data;
    struct rowlock_want want = {.name = drawer->begun};
    int64_t number = 0;

    for (int turn = 0; drawer->n < DRAWS; turn++) {
        int code = rowlock_begin(connection, &want, 1, -1, error);

        if (!code)
            code = rowlock_next(connection, drawer->counter, 1, 1, -1, &number, error);
        if (!code && turn % 3 != 2) {
            code = rowlock_commit(connection, error);
            if (!code)
                drawer->numbers[drawer->n++] = number;
        } else if (!code || code == t_facts()->deadlock_code) {
            code = rowlock_rollback(connection, error);
        }
        if (code)
            return code;
    }
    return ROWLOCK_OK;
}

TEST(drawers_side_by_side_some_rolled_back_leave_no_gap_and_no_duplicate)
{
    static struct drawer drawers[DRAWERS];
    struct thread *threads[DRAWERS];
    int seen[DRAWERS * DRAWS + 1] = {0};

    for (int i = 0; i < DRAWERS; i++) {
        drawers[i] = (struct drawer){.counter = t_name(0)};
        snprintf(drawers[i].begun, sizeof drawers[i].begun, "%.200s", t_name(i + 1));
        threads[i] = t_thread(t_open(), draw_on, &drawers[i]);
    }
    for (int i = 0; i < DRAWERS; i++)
        t_ok(t_join(threads[i]));
    for (int i = 0; i < DRAWERS; i++)
        for (int k = 0; k < DRAWS; k++) {
            t_true(drawers[i].numbers[k] >= 1 && drawers[i].numbers[k] <= DRAWERS * DRAWS);
            seen[drawers[i].numbers[k]]++;
        }
    for (int n = 1; n <= DRAWERS * DRAWS; n++)
        t_int(seen[n], 1);
}
