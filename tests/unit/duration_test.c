/* SPDX-License-Identifier: Apache-2.0 */
/* Durations as people write them. */
#include "util/duration.h"

#include "lib/test.h"

static long long read_as(const char *text, long long bare_ms)
{
    int64_t ms = -7;

    return rowlock__duration(text, bare_ms, &ms) ? -1 : ms;
}

struct duration {
    const char *text;
    long long ms; /* -1: it is none */
};

/* Each is read so, where a number without a unit is seconds. */
#define READS(...)                                                                                \
    do {                                                                                          \
        static const struct duration durations[] = {__VA_ARGS__};                                 \
        for (size_t i = 0; i < sizeof durations / sizeof *durations; i++)                         \
            if (read_as(durations[i].text, 1000) != durations[i].ms)                              \
                t_fail(__FILE__, __LINE__, "\"%s\" is read as %lld, not %lld", durations[i].text, \
                       read_as(durations[i].text, 1000), durations[i].ms);                        \
    } while (0)

TEST(a_number_with_a_unit)
{
    READS({"90s", 90000}, {"500ms", 500}, {"5m", 300000}, {"2h", 7200000}, {"1d", 86400000},
          {"1w", 604800000}, {"0", 0}, {"0s", 0});
}

TEST(a_bare_number_is_what_the_caller_says)
{
    READS({"90", 90000}, {"1.5", 1500}, {"1h30", -1});
    t_int(read_as("90", 1), 90);
}

TEST(several_units_the_greater_first)
{
    READS({"1h30m", 5400000}, {"1w2d3h4m5s6ms", 788645006}, {"30m1h", -1}, {"1m1m", -1});
}

TEST(fractions)
{
    READS({"0.5s", 500}, {".5s", 500}, {"1.25h", 4500000}, {"0.000000000000s", 0}, {"1.", -1},
          {".", -1}, {"1.5.5s", -1});
}

TEST(what_is_less_than_a_millisecond_is_not_nothing)
{
    READS({"0.1ms", 1}, {"0.0000000000001s", 1}, {"1.0004", 1001});
}

TEST(what_is_no_duration)
{
    READS({"", -1}, {"s", -1}, {"-1", -1}, {"+1", -1}, {" 1", -1}, {"1 ", -1}, {"1y", -1},
          {"1S", -1}, {"1e3", -1}, {"0x10", -1}, {"inf", -1});
}

TEST(what_is_too_long)
{
    READS({"9223372036854775807ms", 9223372036854775807LL}, {"9223372036854775808ms", -1},
          {"9223372036854775.807s", 9223372036854775807LL}, {"9223372036854775.808s", -1},
          {"99999999999999999999", -1}, {"15250284452w", 9223372036569600000LL},
          {"15250284453w", -1});
}
