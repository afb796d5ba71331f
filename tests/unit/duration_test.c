/* SPDX-License-Identifier: Apache-2.0 */
/* Durations as people write them. */
#include "util/duration.h"

#include "lib/test.h"

static long long read_as(const char *text, long long bare_ms)
{
    int64_t ms = -7;

    return rowlock__duration(text, bare_ms, &ms) ? -1 : ms;
}

TEST(a_number_with_a_unit)
{
    t_int(read_as("90s", 1000), 90000);
    t_int(read_as("500ms", 1000), 500);
    t_int(read_as("5m", 1000), 300000);
    t_int(read_as("2h", 1000), 7200000);
    t_int(read_as("1d", 1000), 86400000);
    t_int(read_as("1w", 1000), 604800000);
    t_int(read_as("0", 1000), 0);
    t_int(read_as("0s", 1000), 0);
}

TEST(a_bare_number_is_what_the_caller_says)
{
    t_int(read_as("90", 1000), 90000);
    t_int(read_as("90", 1), 90);
    t_int(read_as("1.5", 1000), 1500);
    t_int(read_as("1h30", 1000), -1);
}

TEST(several_units_the_greater_first)
{
    t_int(read_as("1h30m", 1000), 5400000);
    t_int(read_as("1w2d3h4m5s6ms", 1000), 788645006);
    t_int(read_as("30m1h", 1000), -1);
    t_int(read_as("1m1m", 1000), -1);
}

TEST(fractions)
{
    t_int(read_as("0.5s", 1000), 500);
    t_int(read_as(".5s", 1000), 500);
    t_int(read_as("1.25h", 1000), 4500000);
    t_int(read_as("0.000000000000s", 1000), 0);
    t_int(read_as("1.", 1000), -1);
    t_int(read_as(".", 1000), -1);
    t_int(read_as("1.5.5s", 1000), -1);
}

TEST(what_is_less_than_a_millisecond_is_not_nothing)
{
    t_int(read_as("0.1ms", 1000), 1);
    t_int(read_as("0.0000000000001s", 1000), 1);
    t_int(read_as("1.0004", 1000), 1001);
}

TEST(what_is_no_duration)
{
    t_int(read_as("", 1000), -1);
    t_int(read_as("s", 1000), -1);
    t_int(read_as("-1", 1000), -1);
    t_int(read_as("+1", 1000), -1);
    t_int(read_as(" 1", 1000), -1);
    t_int(read_as("1 ", 1000), -1);
    t_int(read_as("1y", 1000), -1);
    t_int(read_as("1S", 1000), -1);
    t_int(read_as("1e3", 1000), -1);
    t_int(read_as("0x10", 1000), -1);
    t_int(read_as("inf", 1000), -1);
}

TEST(what_is_too_long)
{
    t_int(read_as("9223372036854775807ms", 1000), 9223372036854775807LL);
    t_int(read_as("9223372036854775808ms", 1000), -1);
    t_int(read_as("9223372036854775.807s", 1000), 9223372036854775807LL);
    t_int(read_as("9223372036854775.808s", 1000), -1);
    t_int(read_as("99999999999999999999", 1000), -1);
    t_int(read_as("15250284452w", 1000), 9223372036569600000LL);
    t_int(read_as("15250284453w", 1000), -1);
}
