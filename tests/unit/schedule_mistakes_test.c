/* SPDX-License-Identifier: Apache-2.0 */
/* Every mistake in a schedule: its position and its message. */
#include <string.h>

#include "lib/test.h"
#include "schedule/schedule.h"

struct mistake {
    const char *text;
    long long column;
    const char *says;
};

static void refused(const struct mistake *mistake)
{
    static const struct rowlock_schedule untouched = {.period_ms = 7};
    struct rowlock_schedule schedule = untouched;
    size_t column = 0;

    t_fails(rowlock__schedule_read(mistake->text, NULL, NULL, &schedule, &column, &t_error),
            EINVAL);
    t_contains(t_error.text, mistake->says);
    if ((long long)column != mistake->column)
        t_fail(__FILE__, __LINE__, "\"%s\": column %zu, not %lld (%s)", mistake->text, column,
               mistake->column, t_error.text);
    t_int(schedule.period_ms, 7);
    t_fails(rowlock__schedule_read(mistake->text, NULL, NULL, &schedule, NULL, NULL), EINVAL);
}

#define REFUSED(...)                                                    \
    do {                                                                \
        static const struct mistake mistakes[] = {__VA_ARGS__};         \
        for (size_t i = 0; i < sizeof mistakes / sizeof *mistakes; i++) \
            refused(&mistakes[i]);                                      \
    } while (0)

TEST(what_is_out_of_a_field)
{
    REFUSED({"60 * * * *", 1, "minute: \"60\" is invalid: allowed are 0 to 59"},
            {"* 24 * * *", 3, "hour: \"24\" is invalid: allowed are 0 to 23"},
            {"* * 0 * *", 5, "day of month: \"0\" is invalid: allowed are 1 to 31"},
            {"* * 32 * *", 5, "day of month: \"32\" is invalid"},
            {"* * * 0 *", 7, "month: \"0\" is invalid: allowed are 1 to 12 and jan to dec"},
            {"* * * 13 *", 7, "month: \"13\" is invalid"},
            {"* * * * 8", 9,
             "day of week: \"8\" is invalid: allowed are 0 to 7, where 0 and 7 are Sunday, "
             "and sun to sat"},
            {"1,2,60 * * * *", 5, "minute: \"60\" is invalid"},
            {"  1-70 * * * *", 5, "minute: \"70\" is invalid"},
            {"4294967296 * * * *", 1, "minute: \"4294967296\" is invalid"},
            {"99999999999999999999999999999999999999999999999999 * * * *", 1,
             "\"9999999999999999999999999999999999999999\" is invalid"});
}

TEST(what_is_no_value)
{
    REFUSED(
        {"x * * * *", 1, "minute: \"x\" is invalid"},
        {"jan * * * *", 1, "minute: \"jan\" is invalid"},
        {"5m * * * *", 1, "minute: \"5m\" is invalid"},
        {"* * L * *", 5, "day of month: \"L\" is invalid"},
        {"* * * mon *", 7, "month: \"mon\" is invalid"},
        {"* * * january *", 7, "month: \"january\" is invalid"},
        {"* * * 1,ja,2 *", 9, "month: \"ja\" is invalid"},
        {"* * * * jan", 9, "day of week: \"jan\" is invalid"},
        {"* * * * mon-fry", 13, "day of week: \"fry\" is invalid"},
        {"* * ? * *", 5, "day of month: \"?\" is not understood"},
        {"* * * * 5#2", 10, "day of week: \"#2\" is not understood"},
        {"* * * * \xc3\xbc", 9, "day of week: \"\xc3\xbc\" is not understood"},
        {"0-~5 * * * *", 3, "minute: \"~5\" is not understood"},
        {"** * * * *", 2, "minute: \"*\" is not understood"},
        {"1-2-3 * * * *", 4, "minute: \"-3\" is not understood"},
        {"*-3 * * * *", 2, "minute: \"-3\" is not understood"},
        {"*/2/3 * * * *", 4, "minute: \"/3\" is not understood"},
        {"5* * * * *", 2, "minute: \"*\" is not understood"},
        {"1.5 * * * *", 2, "minute: \".5\" is not understood: allowed are 0 to 59, *, and , - /"},
        {"* * *\n* *", 6, "day of month: \" *\" is not understood"});
}

TEST(what_is_missing)
{
    REFUSED({"", 1,
             "the minute is missing: the five fields are minute, hour, day of month, month, "
             "day of week"},
            {" \t ", 4, "the minute is missing"}, {"*", 2, "the hour is missing"},
            {"* *", 4, "the day of month is missing"}, {"* * * ", 7, "the month is missing"},
            {"0 4 * *", 8, "the day of week is missing"},
            {",1 * * * *", 1, "minute: a value is missing: allowed are 0 to 59"},
            {"1, * * * *", 3, "minute: a value is missing"},
            {"1,,2 * * * *", 3, "minute: a value is missing"},
            {"-5 * * * *", 1, "minute: a value is missing"},
            {"1- * * * *", 3, "minute: a value is missing"},
            {"* * * * 1-", 11, "day of week: a value is missing"},
            {"/5 * * * *", 1, "minute: a value is missing"},
            {"*/ * * * *", 3, "minute: the step after the / is missing: allowed are 1 to 60"},
            {"* 1-5/,7 * * *", 7, "hour: the step after the / is missing: allowed are 1 to 24"});
}

TEST(useless_steps_and_ranges)
{
    REFUSED({"5/15 * * * *", 2, "minute: a step needs a range: write 5-59/15"},
            {"0,5/15 * * * *", 4, "minute: a step needs a range: write 5-59/15"},
            {"* * * * mon/2", 12, "day of week: a step needs a range: write mon-7/2"},
            {"*/0 * * * *", 3, "minute: the step after the / is out of range: allowed are 1 to 60"},
            {"*/90 * * * *", 3, "minute: the step after the / is out of range"},
            {"* */25 * * *", 5, "hour: the step after the / is out of range: allowed are 1 to 24"},
            {"* * */x * *", 7, "day of month: the step after the / is out of range"},
            {"* * * */99999999999999999999 *", 9, "month: the step after the / is out of range"},
            {"* * * * */8", 11,
             "day of week: the step after the / is out of range: allowed are 1 to 7"},
            {"30-10 * * * *", 1, "minute: the range 30-10 runs backwards"},
            {"* 3,22-2/2 * * *", 5,
             "hour: the range 22-2 runs backwards: write it as two, with a comma"},
            {"* * * * sat-mon", 9, "day of week: the range sat-mon runs backwards"},
            {"* * * * 5-0", 9, "day of week: the range 5-0 runs backwards"},
            {"* * * dec-jan *", 7, "month: the range dec-jan runs backwards"});
}

TEST(what_is_too_much)
{
    REFUSED({"* * * * * *", 11, "unexpected \"*\": a schedule has five fields"},
            {"0 4 * * * mail", 11, "unexpected \"mail\""},
            {"@daily mail", 8, "unexpected \"mail\": @daily is a complete schedule"},
            {"every 5m mail", 10, "every: unexpected \"mail\""},
            {"every 1h 30m", 10, "every: unexpected \"30m\": write a period without blanks"});
}

TEST(what_never_comes)
{
    REFUSED({"0 0 30 2 *", 5, "day of month: never comes"}, {"0 0 30,31 feb *", 5, "never comes"},
            {" 0  0 31 2,4,6,9,11 *", 7, "never comes"}, {"0 0 30 2 */2", 5, "never comes"});
}

TEST(names_of_schedules_that_are_none)
{
    REFUSED({"@reboot", 1, "@reboot is not a time"}, {" @Reboot", 2, "@reboot is not a time"},
            {"@", 1,
             "@ is not known: allowed are @yearly, @annually, @monthly, @weekly, @daily, "
             "@midnight, @hourly"},
            {"@dailyy", 1, "@dailyy is not known"}, {"@dail", 1, "@dail is not known"},
            {"@every 5m", 1, "@every is not known"}, {"@\x80\x01", 1, "@?? is not known"});
}

TEST(periods_that_are_none)
{
    REFUSED(
        {"every", 6, "every: \"\" is not a period"}, {"every ", 7, "every: \"\" is not a period"},
        {"every 0", 7, "every: \"0\" is not a period"}, {" every 0s", 8, "\"0s\" is not a period"},
        {"every -5m", 7, "\"-5m\" is not a period: write it as in 90s, 5m, 1h30m, 1d"},
        {"every 5 minutes", 9, "unexpected \"minutes\""}, {"every 5x", 7, "\"5x\" is not a period"},
        {"every day", 7, "\"day\" is not a period"},
        {"Every 5m", 1, "minute: \"Every\" is invalid"},
        {"every 999999999999999999999999999999999999999999999999999999999999999999999999999s", 7,
         "is not a period"});
}

TEST(h_that_is_wrong)
{
    static const struct mistake wrong[] = {
        {"H( * * * *", 3, "minute: a value is missing"},
        {"* H(5) * * *", 5, "hour: H( requires a range, as in H(0-23)"},
        {"* * H(1-40) * *", 9, "day of month: \"40\" is invalid"},
        {"H(9-5) * * * *", 3, "the range 9-5 runs backwards"},
        {"H(0-5 * * * *", 6, "minute: the ) after the range of H is missing"},
        {"H(0-5)/9 * * * *", 1, "minute: the step of H is 9, but its range has 6 numbers"},
        {"* * H/29 * *", 5, "day of month: the step of H is 29, but its range has 28 numbers"},
        {"* * * H/13 *", 9, "month: the step after the / is out of range"},
        {"H- * * * *", 2, "minute: \"-\" is not understood"},
        {"h * * * *", 1, "minute: \"h\" is invalid"},
        {"HH * * * *", 1, "minute: \"HH\" is invalid"},
        {"0-H * * * *", 3, "minute: \"H\" is invalid"}};
    struct rowlock_schedule schedule;

    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        size_t column = 0;

        t_fails(rowlock__schedule_read(wrong[i].text, "mail", NULL, &schedule, &column, &t_error),
                EINVAL);
        t_contains(t_error.text, wrong[i].says);
        t_int((long long)column, wrong[i].column);
    }
    REFUSED({"0 H * * *", 3, "hour: H is derived from the name of a job, and here is none"});
}
