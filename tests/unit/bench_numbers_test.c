/* SPDX-License-Identifier: Apache-2.0 */
/* The benchmark's statistics, and its detection of two holders of one lock. */
#include "lib/test.h"
#include "overlap.h"
#include "peers/protobuf.h"
#include "result.h"
#include "statistics.h"

#include <math.h>

static void near(double actual, double wanted)
{
    t_true(fabs(actual - wanted) < 1e-9);
}

TEST(a_spread_is_the_median_and_the_ends)
{
    const double odd[] = {30, 10, 20}, even[] = {4, 1, 3, 2};
    struct bench_spread spread = bench_spread_of(odd, 3);

    near(spread.median, 20);
    near(spread.low, 10);
    near(spread.high, 30);
    near(bench_spread_of(even, 4).median, 2.5);
    near(bench_spread_of(odd, 0).median, 0);
    near(odd[0], 30); /* the input is unchanged */
}

TEST(a_quantile_is_a_value_that_occurred)
{
    double values[] = {5, 1, 4, 2, 3, 10, 9, 8, 7, 6};

    near(bench_quantile(values, 10, 0), 1);
    near(bench_quantile(values, 10, 0.5), 5);
    near(bench_quantile(values, 10, 0.99), 10);
    near(bench_quantile(values, 10, 1), 10);
    near(bench_quantile(values, 0, 0.5), 0);
}

/* The ratio of the medians is 2 as well, but its extremes would differ. */
TEST(ratios_are_those_of_the_same_repetition)
{
    const double ours[] = {10, 20, 30}, theirs[] = {5, 20, 10};
    struct bench_spread rate = bench_ratio(ours, theirs, 3, 1);
    struct bench_spread delay = bench_ratio(ours, theirs, 3, -1);

    near(rate.median, 2);
    near(rate.low, 1);
    near(rate.high, 3);
    near(delay.median, 0.5); /* half as good: it takes twice as long */
    near(delay.low, 1.0 / 3);
    near(delay.high, 1);
}

TEST(the_order_goes_there_and_back_again)
{
    for (int repetition = 0; repetition < 4; repetition++) {
        int seen[5] = {0};

        for (size_t turn = 0; turn < 5; turn++)
            seen[bench_turn(repetition, turn, 5)]++;
        for (int i = 0; i < 5; i++)
            t_int(seen[i], 1);
        t_int((int)bench_turn(repetition, 0, 5), repetition % 2 ? 4 : 0);
    }
}

TEST(unequal_durability_is_always_said)
{
    for (int ours = 0; ours < 4; ours++)
        for (int theirs = 0; theirs < 4; theirs++) {
            const char *words = NULL;

            t_int(bench_durability(ours, theirs, 0, &words), ours == theirs);
            if (ours == theirs)
                t_lacks(words, "UNEQUAL");
            else
                t_contains(words, "UNEQUAL");
            t_int(bench_durability(ours, theirs, 1, &words), 1);
            t_contains(words, "nothing is durable");
        }
}

TEST(two_under_one_lock_are_found)
{
    struct bench_overlap *overlap = bench_overlap_new(3);

    bench_enter(overlap, 1, 0);
    bench_enter(overlap, 2, 1); /* another name */
    bench_leave(overlap, 1, 0);
    bench_enter(overlap, 1, 1);
    bench_leave(overlap, 1, 1);
    bench_leave(overlap, 2, 1);
    t_int((int)overlap->found, 0);
    bench_enter(overlap, 0, 0);
    bench_enter(overlap, 0, 1);
    t_int((int)overlap->found, 1);
    bench_leave(overlap, 0, 1); /* it was never alone inside */
    t_int((int)overlap->found, 2);
    bench_overlap_reset(overlap);
    t_int((int)overlap->found, 0);
    bench_overlap_free(overlap);
}

TEST(a_killed_client_is_no_longer_inside)
{
    struct bench_overlap *overlap = bench_overlap_new(1);

    bench_enter(overlap, 0, 0);
    bench_buried(overlap, 0, 0);
    bench_enter(overlap, 0, 1);
    bench_buried(overlap, 0, 0); /* the name is free again */
    bench_leave(overlap, 0, 1);
    t_int((int)overlap->found, 0);
    bench_overlap_free(overlap);
}

/* Each name of the pool belongs to one client, and every name is used once before any repeats. */
TEST(names_of_the_pool_are_taken_once_each)
{
    struct bench_place place = {.names = 4000};
    struct bench_measurement measurement = {
        .place = &place, .clients = 8, .names = BENCH_ALL, .repetition = 3};
    static char seen[4000];

    for (int client = 0; client < 8; client++)
        for (unsigned long i = 0; i < 500; i++) {
            unsigned name = bench_pick(&measurement, client, i);

            t_true(name < 4000);
            t_int(seen[name]++, 0);
        }
}

TEST(a_clients_own_names_are_not_used_by_others)
{
    struct bench_place place = {.names = 4000};
    struct bench_measurement measurement = {.place = &place, .clients = 32, .names = 50};
    static int owner[4000];

    for (int client = 0; client < 32; client++)
        for (unsigned long i = 0; i < 100; i++) {
            unsigned name = bench_pick(&measurement, client, i);

            t_true(owner[name] == 0 || owner[name] == client + 1);
            owner[name] = client + 1;
        }
    measurement.names = BENCH_ONE;
    measurement.hot = 4711;
    t_int(bench_pick(&measurement, 3, 17), 4711);
}

/* The worked example of the Protocol Buffers specification: field 1 with value 150 is 08 96 01. */
TEST(protobuf_messages_are_written_and_read)
{
    static const unsigned char cut[] = {0x12, 0x07, 't', 'e'};
    struct protobuf message = {.size = 0}, inner = {.size = 0};
    struct protobuf_view view;

    protobuf_number(&message, 1, 150);
    t_int((int)message.size, 3);
    t_int(message.data[0] << 16 | message.data[1] << 8 | message.data[2], 0x089601);
    protobuf_text(&inner, 2, "testing");
    protobuf_message(&message, 3, &inner);
    protobuf_message(&message, 3, &message);
    view = (struct protobuf_view){message.data, message.size};
    t_true(protobuf_get_number(view, 1) == 150);
    t_true(protobuf_get_number(view, 9) == 0);
    t_int((int)protobuf_get(protobuf_get(view, 3), 2).size, 7);
    t_true(protobuf_get_number(protobuf_get_nth(view, 3, 1), 1) == 150);
    t_true(protobuf_get((struct protobuf_view){cut, sizeof cut}, 2).data == NULL);
}
