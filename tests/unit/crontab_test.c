/* SPDX-License-Identifier: Apache-2.0 */
/* Crontabs: every kind of line, every setting, and every mistake with its line and column. */
#include <stdio.h>
#include <string.h>

#include "lib/test.h"
#include "run/cron/crontab.h"

static struct crontab crontab;

struct mistakes {
    struct crontab_mistake first;
    size_t n, lines[8];
};

static void take_mistake(const struct crontab_mistake *mistake, void *data)
{
    struct mistakes *mistakes = data;

    if (mistakes->n == 0)
        mistakes->first = *mistake;
    if (mistakes->n < sizeof mistakes->lines / sizeof *mistakes->lines)
        mistakes->lines[mistakes->n] = mistake->line;
    mistakes->n++;
}

static void read_text(const char *text)
{
    struct mistakes mistakes = {0};

    if (crontab_read(text, strlen(text), &crontab, take_mistake, &mistakes))
        t_fail(__FILE__, __LINE__, "%zu:%zu: %s", mistakes.first.line, mistakes.first.column,
               mistakes.first.text);
}

/* ---- accepted lines -------------------------------------------------------------------------- */

TEST(lines_of_every_kind)
{
    read_text("# a comment\n"
              "\n"
              "  \t \n"
              "0 4 * * * nightly -- ./nightly report\n"
              "   # another\n"
              "\t@hourly\tmail\t--\tsend  mail \n"
              "every 5m poll -- poll");
    t_int((long long)crontab.n, 3);
    t_text(crontab.entries[0].name, "nightly");
    t_text(crontab.entries[0].command, "./nightly report");
    t_text(rowlock_schedule_text(crontab.entries[0].schedule), "cron 0 4 * * * UTC");
    t_int((long long)crontab.entries[0].line, 4);
    t_text(crontab.entries[1].name, "mail");
    t_text(crontab.entries[1].command, "send  mail ");
    t_text(crontab.entries[2].name, "poll");
    t_text(crontab.entries[2].command, "poll");
    t_text(rowlock_schedule_text(crontab.entries[2].schedule), "every 5m");
    t_int((long long)crontab.entries[2].line, 7);
    crontab_free(&crontab);
    t_int((long long)crontab.n, 0);
}

/* The numbers are those of the names, in the zone of the line. */
TEST(h_of_two_jobs_in_one_file)
{
    read_text("H H * * *  mail -- a\n"
              "CRON_TZ=Europe/Berlin\n"
              "H H * * *  nightly -- b\n"
              "H/15 * * * *  mail2 --tz Asia/Tokyo -- c\n");
    t_text(rowlock_schedule_text(crontab.entries[0].schedule), "cron 56 7 * * * UTC");
    t_text(rowlock_schedule_text(crontab.entries[1].schedule), "cron 34 12 * * * Europe/Berlin");
    t_text(rowlock_schedule_text(crontab.entries[2].schedule), "cron 12-59/15 * * * * Asia/Tokyo");
    crontab_free(&crontab);
}

TEST(a_file_without_jobs_is_one)
{
    read_text("");
    t_int((long long)crontab.n, 0);
    crontab_free(&crontab);
    read_text("# nothing\n\n");
    t_int((long long)crontab.n, 0);
    crontab_free(&crontab);
}

TEST(the_command_is_kept_unchanged)
{
    read_text("@daily a -- echo 100% 'a b' \"$HOME\" # no comment -- x\\\n"
              "@daily b -- -- x\r\n"
              "@daily c --   # x\n");
    t_text(crontab.entries[0].command, "echo 100% 'a b' \"$HOME\" # no comment -- x\\");
    t_text(crontab.entries[1].command, "-- x");
    t_text(crontab.entries[2].command, "# x");
    crontab_free(&crontab);
}

TEST(words_may_be_quoted)
{
    read_text("@daily 'two words' --note \"it's \"'so' -- x\n"
              "@daily 'na''me' -- x\n"
              "@daily \"#b\" --note=a'b c'd -- x\n"
              "@daily '-c' -- x\n");
    t_text(crontab.entries[0].name, "two words");
    t_text(crontab.entries[0].settings.note, "it's so");
    t_text(crontab.entries[1].name, "name");
    t_text(crontab.entries[2].name, "#b");
    t_text(crontab.entries[3].name, "-c");
    crontab_free(&crontab);
}

TEST(every_setting)
{
    const struct job_settings *settings;

    read_text("@daily a -- x\n"
              "@daily b --tz Europe/Berlin --at-least 5m --max-run=1h30m --retry 3 --backoff 90 "
              "--missed skip --history 7 --ttl 1m --kill-after 500ms --note hello -- x\n"
              "@daily c --retry 0 --missed once --ttl 8s --kill-after 5s --at-least 0 -- x\n"
              "@daily d --ttl 400d -- x\n");
    settings = &crontab.entries[0].settings;
    t_true(!settings->zone && !settings->note);
    t_int(settings->max_run_ms, -1);
    t_int(settings->at_least_ms + settings->backoff_ms + settings->retry + settings->history, 0);
    t_int(settings->missed, ROWLOCK_MISSED_ONCE);
    t_int(settings->ttl_ms, 30000);
    t_int(settings->kill_after_ms, 5000);
    settings = &crontab.entries[1].settings;
    t_text(settings->zone, "Europe/Berlin");
    t_int(settings->at_least_ms, 300000);
    t_int(settings->max_run_ms, 5400000);
    t_int(settings->retry, 3);
    t_int(settings->backoff_ms, 90000);
    t_int(settings->missed, ROWLOCK_MISSED_SKIP);
    t_int(settings->history, 7);
    t_int(settings->ttl_ms, 60000);
    t_int(settings->kill_after_ms, 500);
    t_text(settings->note, "hello");
    settings = &crontab.entries[2].settings;
    t_int(settings->retry, -1); /* the library's word for none */
    t_int(settings->kill_after_ms, 2000);
    t_int(crontab.entries[3].settings.ttl_ms, INT64_C(400) * 86400000);
    crontab_free(&crontab);
}

TEST(zones)
{
    read_text("0 4 * * * a -- x\n"
              "CRON_TZ=Europe/Berlin\n"
              "0 4 * * * b -- x\n"
              "0 4 * * * c --tz America/New_York -- x\n"
              "every 1h d -- x\n"
              " CRON_TZ = 'UTC' \n"
              "0 4 * * * e -- x\n");
    t_text(rowlock_schedule_text(crontab.entries[0].schedule), "cron 0 4 * * * UTC");
    t_text(rowlock_schedule_text(crontab.entries[1].schedule), "cron 0 4 * * * Europe/Berlin");
    t_text(rowlock_schedule_text(crontab.entries[2].schedule), "cron 0 4 * * * America/New_York");
    t_text(rowlock_schedule_text(crontab.entries[3].schedule), "every 1h");
    t_text(rowlock_schedule_text(crontab.entries[4].schedule), "cron 0 4 * * * UTC");
    crontab_free(&crontab);
}

/* ---- mistakes -------------------------------------------------------------------------------- */

struct mistake {
    const char *text;
    size_t line, column;
    const char *says;
};

static void refused_bytes(const char *text, size_t length, size_t line, size_t column,
                          const char *says)
{
    struct mistakes mistakes = {0};
    struct crontab_mistake mistake;
    struct crontab untouched = {.n = 7};

    if (crontab_read(text, length, &untouched, take_mistake, &mistakes) == 0)
        t_fail(__FILE__, __LINE__, "\"%s\": taken", text);
    mistake = mistakes.first;
    if (mistake.line != line || mistake.column != column)
        t_fail(__FILE__, __LINE__, "\"%s\": %zu:%zu, not %zu:%zu (%s)", text, mistake.line,
               mistake.column, line, column, mistake.text);
    t_contains(mistake.text, says);
    t_int((long long)untouched.n, 7);
}

#define REFUSED(...)                                                                    \
    do {                                                                                \
        static const struct mistake mistakes[] = {__VA_ARGS__};                         \
        for (size_t i = 0; i < sizeof mistakes / sizeof *mistakes; i++)                 \
            refused_bytes(mistakes[i].text, strlen(mistakes[i].text), mistakes[i].line, \
                          mistakes[i].column, mistakes[i].says);                        \
    } while (0)

TEST(each_line_that_is_wrong_is_reported)
{
    const char *text = "60 4 * * * a -- x\n"
                       "@daily good -- x\n"
                       "@daily 'open -- x\n"
                       "# @dayly\n"
                       "MAILTO=me\n"
                       "@daily good -- again\n"
                       "@daily b --nosuch 1 -- x\n"
                       "@daily c --\n"
                       "@daily d -- x\n";
    const size_t wrong[] = {1, 3, 5, 6, 7, 8};
    struct crontab untouched = {.n = 7};
    struct mistakes mistakes = {0};

    t_int(crontab_read(text, strlen(text), &untouched, take_mistake, &mistakes), -1);
    t_int((long long)mistakes.n, sizeof wrong / sizeof *wrong);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        t_int((long long)mistakes.lines[i], (long long)wrong[i]);
    t_int((long long)untouched.n, 7);
}

/* All of them are in schedule_mistakes_test. */
TEST(mistakes_of_schedules)
{
    REFUSED({"60 4 * * * a -- x", 1, 1, "minute: \"60\" is invalid"},
            {"# x\n\n  0 24 * * * a -- x", 3, 5, "hour: \"24\" is invalid"},
            {"0 4 * * nightly -- x", 1, 9, "day of week: \"nightly\" is invalid"},
            {"@dayly a -- x", 1, 1, "@dayly is not known"},
            {"every 5x a -- x", 1, 7, "\"5x\" is not a period"}, {"0 4 * *", 1, 8, "day of week"});
}

TEST(mistakes_of_names)
{
    REFUSED({"@daily", 1, 7, "NAME is missing"}, {"@daily  ", 1, 9, "NAME is missing"},
            {"@daily -- x", 1, 8, "NAME is missing"},
            {"@daily --retry 3 a -- x", 1, 8, "NAME is missing"},
            {"@daily '' -- x", 1, 8, "must not be empty"},
            {"@daily \xff -- x", 1, 8, "is not UTF-8"},
            {"@daily a -- x\n@hourly b -- x\n @hourly a -- y", 3, 10,
             "job 'a' exists already, in line 1"});
}

TEST(a_name_leaves_room_for_that_of_its_lock)
{
    char name[253] = "", text[300];

    memset(name, 'n', 251);
    snprintf(text, sizeof text, "@daily %s -- x", name);
    read_text(text);
    crontab_free(&crontab);
    name[251] = 'n';
    snprintf(text, sizeof text, "@daily %s -- x", name);
    refused_bytes(text, strlen(text), 1, 8, "more than 251 bytes");
}

TEST(mistakes_of_options)
{
    REFUSED({"@daily a --nosuch 3 -- x", 1, 10, "unknown option: '--nosuch'"},
            {"@daily a --nosuch=3 -- x", 1, 10, "unknown option: '--nosuch'"},
            {"@daily a --every 5m -- x", 1, 10, "unknown option"},
            {"@daily a --retry", 1, 17, "'--retry' requires a value"},
            {"@daily a --retry many -- x", 1, 18, "--retry: 'many' is not a number"},
            {"@daily a --retry=-1 -- x", 1, 10, "--retry: '-1' is not a number"},
            {"@daily a --max-run 0 -- x", 1, 20, "--max-run: '0' is too short"},
            {"@daily a --max-run soon -- x", 1, 20, "--max-run: 'soon' is not a duration"},
            {"@daily a --at-least 400d -- x", 1, 21, "too long: it is 366d at most"},
            {"@daily a --ttl 500ms -- x", 1, 16, "it is 1s at least"},
            {"@daily a --ttl 9999w -- x", 1, 16, "too long: it is 100 years at most"},
            {"@daily a --missed twice -- x", 1, 19, "must be once or skip"},
            {"@daily a --history 0 -- x", 1, 20, "not a number from 1"},
            {"@daily a --note \xff -- x", 1, 17, "--note: the text is not UTF-8"},
            {"@daily a --tz Nowhere -- x", 1, 15, "Nowhere"},
            {"@daily a --tz '' -- x", 1, 15, "--tz: the value is empty"},
            {"every 5m a --tz UTC -- x", 1, 17, "it has no time zone"},
            {"@daily a b -- x", 1, 10, "'b' is not an option"}, {"@daily a -n -- x", 1, 10, "'-n'"},
            {"@daily a --note 'open -- x", 1, 17, "quote (') is not closed"},
            {"@daily \"a -- x\n\" -- x", 1, 8, "quote (\") is not closed"});
}

TEST(mistakes_of_commands)
{
    REFUSED({"@daily a", 1, 9, "'--' and a command are missing"},
            {"@daily a '--' x", 1, 10, "unknown option"},
            {"@daily a --retry 3", 1, 19, "'--' and a command are missing"},
            {"@daily a --", 1, 12, "command is missing"},
            {"@daily a --  \t", 1, 15, "command is missing"});
}

TEST(mistakes_of_variables)
{
    REFUSED({"PATH=/bin\n", 1, 1, "'PATH=' is not allowed"},
            {"@daily a -- x\n MAILTO = ann", 2, 2, "'MAILTO=' is not allowed"},
            {"cron_tz=UTC", 1, 1, "'cron_tz=' is not allowed"},
            {"CRON_TZ=", 1, 9, "requires a time zone"},
            {"CRON_TZ=''", 1, 9, "requires a time zone"}, {"CRON_TZ=Nowhere", 1, 9, "Nowhere"},
            {"CRON_TZ= ../../etc/passwd", 1, 10, "../../etc/passwd"},
            {"CRON_TZ=UTC UTC", 1, 13, "nothing may follow"});
}

TEST(a_character_that_cannot_be_seen_is_named)
{
    REFUSED({"\xef\xbb\xbf@daily a -- x", 1, 1, "; in column 1 is a byte order mark (U+FEFF)"},
            {"# a\n@daily\xc2\xa0"
             "a -- x",
             2, 1, "; in column 7 is a no-break space (U+00A0)"},
            {"@daily a --retry 3\xc2\xa0 -- x", 1, 18, "; in column 19 is a no-break space"},
            {"@daily a \xe2\x80\x8b-- x", 1, 10, "; in column 10 is a zero width space"});
}

TEST(what_is_no_text)
{
    static const char zero[] = "@daily a -- x\n@daily b\0 -- x\n";
    static char longer[100100];

    refused_bytes(zero, sizeof zero - 1, 2, 9, "a NUL byte");
    memset(longer, 'x', sizeof longer - 1);
    memcpy(longer, "@daily a -- ", 12);
    refused_bytes(longer, strlen(longer), 1, 1, "more than 100000 bytes");
}
