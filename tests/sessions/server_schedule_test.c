/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A server with functions calculates due times and decides about jobs itself
 * (sql/<dialect>/schema/schedule.sql, job_decide.sql). Both must be those of src/schedule and
 * src/job/decide.c: random schedules around the changes of the clocks in 14 zones, and random
 * states of a job.
 *
 * Runs on: postgresql/native mariadb/row
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "job/decide.h"
#include "lib/cron_line.h"
#include "lib/extra.h"
#include "lib/instants.h"
#include "lib/test.h"
#include "schedule/schedule.h"

#define DAY_MS INT64_C(86400000)
#define BATCH 100

static const char *const zones[] = {
    "Europe/Berlin",       "Europe/Dublin", "America/New_York", "America/St_Johns",
    "Asia/Kathmandu",      "Asia/Tehran",   "Asia/Gaza",        "Africa/Cairo",
    "Africa/Casablanca",   "Pacific/Apia",  "Antarctica/Troll", "Pacific/Chatham",
    "Australia/Lord_Howe", "UTC",           "+05:30",           "-03:00"};
#define ZONES (sizeof zones / sizeof *zones)

static uint64_t seed;
static void *server;

/* ---- rows of values, which the server compares with its own ---------------------------------- */

static struct {
    char *text;
    size_t length;
    int n;
} rows;

__attribute__((format(printf, 1, 2))) static void add_row(const char *format, ...)
{
    va_list arguments;
    FILE *to = NULL;
    char *more = NULL;
    size_t length;

    to = open_memstream(&more, &length);
    fprintf(to, "%s%s", rows.text ? rows.text : "", rows.n++ ? ",\n" : "");
    va_start(arguments, format);
    vfprintf(to, format, arguments);
    va_end(arguments);
    fclose(to);
    free(rows.text);
    rows.text = more;
}

static void forget_rows(void)
{
    free(rows.text);
    memset(&rows, 0, sizeof rows);
}

/* Fails with the first row that `differs`. */
static void compare(const char *select, const char *columns, const char *differs)
{
    t_text(t_native_sql(server,
                        "SELECT coalesce((SELECT %s FROM (VALUES %s) AS c (%s) WHERE %s LIMIT 1), "
                        "'')",
                        select, rows.text, columns, differs),
           "");
    forget_rows();
}

/* On MariaDB: a procedure that executes `body` for each row of a table. `body` calls a procedure
   with the columns, and sets @wrong if it differs. `columns` has their definitions, `names` the
   names. It is made once: after each CREATE PROCEDURE a session compiles all procedures again. */
static void make_comparison(const char *columns, const char *names, const char *body)
{
    char *declared = calloc(10, strlen(columns) + 1);

    for (size_t i = 0, at = 0; columns[i]; i++)
        at += (size_t)sprintf(declared + at, columns[i] == ',' ? "; DECLARE" : "%c", columns[i]);
    t_native_sql(server, "DROP TABLE IF EXISTS compared");
    t_native_sql(server, "DROP PROCEDURE IF EXISTS compare");
    t_native_sql(server, "CREATE TABLE compared (%s) CHARACTER SET utf8mb4", columns);
    t_native_sql(server,
                 "CREATE PROCEDURE compare() BEGIN DECLARE more TINYINT DEFAULT 1; DECLARE %s; "
                 "DECLARE cases CURSOR FOR SELECT * FROM compared; "
                 "DECLARE CONTINUE HANDLER FOR NOT FOUND SET more = 0; SET @wrong = ''; "
                 "OPEN cases; FETCH cases INTO %s; WHILE more DO %s FETCH cases INTO %s; "
                 "END WHILE; END",
                 declared, names, body, names);
    free(declared);
}

static void compare_by_procedure(void)
{
    for (char *cast; (cast = strstr(rows.text, "::bigint"));)
        memset(cast, ' ', strlen("::bigint"));
    t_native_sql(server, "DELETE FROM compared");
    t_native_sql(server, "INSERT INTO compared VALUES %s", rows.text);
    t_native_sql(server, "CALL compare()");
    t_text(t_native_sql(server, "SELECT @wrong"), "");
    forget_rows();
}

static void begin(void)
{
    char all[400] = "";

    for (size_t i = 0; i < ZONES - 3; i++) /* not UTC and the offsets */
        snprintf(all + strlen(all), sizeof all - strlen(all), "%s ", zones[i]);
    t_install();
    server = t_native();
    memset(&rows, 0, sizeof rows);
    if (!t_is_postgresql())
        extra_shell("load_zones \"$ROWLOCK_TEST_MARIADB_SOCKET/socket\" %s", all);
}

/* ---- due times ------------------------------------------------------------------------------- */

static void make_comparison_of_due_times(void)
{
    make_comparison("s VARCHAR(400), a BIGINT, d INT, w BIGINT", "s, a, d, w",
                    "CALL rowlock_due(s, a, d, @due); IF NOT @due <=> w THEN SET @wrong = "
                    "CONCAT_WS(' ', s, 'at', a, 'step', d, 'is', @due, 'not', w); END IF;");
}

static void compare_due_times(void)
{
    if (rows.n == 0)
        return;
    if (!t_is_postgresql())
        compare_by_procedure();
    else
        compare("format('%s at %s step %s: %s, not %s', s, a, d, rowlock.due(s, a, d), w)",
                "s, a, d, w", "rowlock.due(s, a, d) <> w");
}

static void add_due(const struct rowlock_schedule *schedule, int64_t at, int step)
{
    int64_t due =
        step > 0 ? rowlock__schedule_next(schedule, at) : rowlock__schedule_previous(schedule, at);

    add_row("('%s', %lld::bigint, %d, %lld::bigint)", schedule->text, (long long)at, step,
            (long long)due);
    if (rows.n == BATCH)
        compare_due_times();
}

/* An instant within two days of a change of the zone's clocks, between 1975 and 2037; any instant
   if the zone has none within 400 days. */
static int64_t near_a_change(const struct rowlock_zone *zone)
{
    int64_t at = INT64_C(157766400) + (int64_t)t_random(&seed, 62 * 365) * 86400;
    struct rowlock_zone_span span = rowlock__zone_at(zone, at);

    if (span.until - at < 400 * 86400)
        at = span.until;
    return (at + t_random(&seed, 4 * 86400)) * 1000 - 2 * DAY_MS + t_random(&seed, 1000);
}

static int add_line(const char *text, const struct rowlock_zone *zone, int64_t at)
{
    struct rowlock_schedule schedule;

    if (rowlock__schedule_read(text, "a job", zone, &schedule, NULL, NULL) != 0)
        return 0; /* it never comes */
    for (int i = 0; i < 8; i++) {
        add_due(&schedule, at, 1);
        add_due(&schedule, at, -1);
        at = i % 2 ? rowlock__schedule_next(&schedule, at) : at + t_random(&seed, 3600000);
        if (at == ROWLOCK_NEVER)
            break;
    }
    return 16;
}

TEST(the_servers_due_times_are_those_of_the_library)
{
    int wanted = t_effort(1000, 100000);

    begin();
    if (!t_is_postgresql())
        make_comparison_of_due_times();
    for (int found = 0; found < wanted;) {
        struct cron_line line = t_cron_line(&seed);
        struct rowlock_zone *zone;

        t_ok(rowlock__zone_open(zones[t_random(&seed, ZONES)], &zone, &t_error));
        found += add_line(line.text, zone, near_a_change(zone));
        rowlock__zone_close(zone);
    }
    compare_due_times();
}

/* The tables of MariaDB end with 2037: there it repeats a year. */
TEST(the_rules_of_a_zone_go_on_after_2037)
{
    int64_t year_ms = 365 * DAY_MS;

    begin();
    if (!t_is_postgresql())
        make_comparison_of_due_times();
    for (int found = 0; found < 500;) {
        static const char *const steady[] = {"Europe/Berlin", "America/New_York", "Asia/Kathmandu"};
        struct cron_line line = t_cron_line(&seed);
        struct rowlock_zone *zone;

        t_ok(rowlock__zone_open(steady[t_random(&seed, 3)], &zone, &t_error));
        found += add_line(line.text, zone,
                          68 * year_ms + t_random(&seed, 30) * year_ms +
                              t_random(&seed, 365) * DAY_MS + t_random(&seed, DAY_MS));
        rowlock__zone_close(zone);
    }
    compare_due_times();
}

/* ---- normal forms ---------------------------------------------------------------------------- */

static const char *const written[] = {"every 90s",
                                      "every 1h30m",
                                      "every 0.5s",
                                      "every  36h",
                                      "every 8d",
                                      "every 90",
                                      "every 1w2d",
                                      "every 500ms",
                                      "every 1m1500ms",
                                      "@daily",
                                      "@Hourly",
                                      "@yearly",
                                      "@weekly",
                                      "@monthly",
                                      "0 4 * * MON",
                                      " 007\t1 * * *",
                                      "*/25 */24 * * *",
                                      "0 0 * * fri-sun",
                                      "0 0 1,15 jan-mar/2 7",
                                      "H H * * *",
                                      "H(0-29) * * * *",
                                      "H/15 H(0-7)/3 H H H",
                                      "5-5,1-3/2,59 8-9 * * *",
                                      "0 0 29 2 *"};
static const char *const mistakes[] = {"",
                                       "every",
                                       "every 0s",
                                       "every 0ms",
                                       "every 5m 3",
                                       "every 1m1h",
                                       "every 5x",
                                       "every -5m",
                                       "@reboot",
                                       "@daily 5",
                                       "60 * * * *",
                                       "0 24 * * *",
                                       "0 0 0 * *",
                                       "0 0 * 13 *",
                                       "0 0 * * 8",
                                       "5/15 * * * *",
                                       "*/90 * * * *",
                                       "0 5-3 * * *",
                                       "* * * *",
                                       "* * * * * *",
                                       "a * * * *",
                                       "1,,2 * * * *",
                                       "0 0 30 2 *",
                                       "0 0 31 4,6 *",
                                       "1- * * * *",
                                       "h * * * *",
                                       "H(5) * * * *",
                                       "H(9-5) * * * *",
                                       "H/70 * * * *",
                                       "H(0-5)/9 * * * *",
                                       "0 0 * * sunday",
                                       "*5 * * * *",
                                       "1 2 3 4 5,"};

static const char *reading(const char *text, const char *job)
{
    return t_say(t_is_postgresql() ? "SELECT rowlock.read_schedule('%s', NULL, '%s')"
                                   : "CALL rowlock_read_schedule('%s', NULL, '%s', @normal)",
                 text, job);
}

TEST(the_server_reads_what_the_library_reads)
{
    begin();
    for (size_t i = 0; i < sizeof written / sizeof *written; i++) {
        struct rowlock_schedule schedule;

        t_ok(rowlock__schedule_read(written[i], "nightly import", NULL, &schedule, NULL, &t_error));
        if (t_is_postgresql()) {
            t_text(t_native_sql(server, "%s", reading(written[i], "nightly import")),
                   schedule.text);
        } else {
            t_native_sql(server, "%s", reading(written[i], "nightly import"));
            t_text(t_native_sql(server, "SELECT @normal"), schedule.text);
        }
    }
}

TEST(the_server_refuses_what_the_library_refuses)
{
    begin();
    for (size_t i = 0; i < sizeof mistakes / sizeof *mistakes; i++) {
        struct rowlock_schedule schedule;

        t_true(rowlock__schedule_read(mistakes[i], "x", NULL, &schedule, NULL, NULL) != 0);
        t_true(t_try_sql(server, "%s", reading(mistakes[i], "x")));
        t_contains(t_sql_error, "rowlock: ");
    }
}

static const char *const offsets[] = {"+00:00", "-12:00", "+14:00", "-14:30", "+25:59", "+26:00",
                                      "-26:00", "+26:01", "-26:59", "+27:00", "+29:59", "+30:00",
                                      "+1:00",  "+02:60", "02:00",  "+02:00x"};

static const char *reading_in(const char *zone)
{
    return t_say(t_is_postgresql() ? "SELECT rowlock.read_schedule('0 4 * * *', '%s', 'x')"
                                   : "CALL rowlock_read_schedule('0 4 * * *', '%s', 'x', @normal)",
                 zone);
}

/* No zone is further than 26 hours from UTC: the search for a due time begins there. */
TEST(the_server_takes_the_offsets_that_the_library_takes)
{
    begin();
    if (!t_is_postgresql())
        make_comparison_of_due_times();
    for (size_t i = 0; i < sizeof offsets / sizeof *offsets; i++) {
        struct rowlock_zone *zone;

        if (rowlock__zone_open(offsets[i], &zone, &t_error) == 0) {
            t_native_sql(server, "%s", reading_in(offsets[i]));
            add_line("0 4 * * *", zone, INT64_C(1774000000000));
            rowlock__zone_close(zone);
        } else {
            t_contains(t_error.text, "an offset, as in +05:30, 26:00 at most");
            t_true(t_try_sql(server, "%s", reading_in(offsets[i])));
            t_contains(t_sql_error, offsets[i]);
            t_contains(t_sql_error, "an offset is 26:00 at most");
        }
    }
    compare_due_times();
}

/* ---- decisions ------------------------------------------------------------------------------- */

static const char *const lines[] = {"every 5m",     "every 1s",   "every 7d",     "0 3 * * *",
                                    "*/10 * * * *", "30 2 * * *", "0 0 29 2 mon", "0 0 1 1 *"};

static int64_t near(int64_t at)
{
    static const int64_t spans[] = {0, 1, 1000, 59999, 60000, 60001, 300000, 3600000, DAY_MS};
    int64_t span = spans[t_random(&seed, 9)];

    return t_random(&seed, 2) ? at + span : at - span;
}

static void add_decision(const struct rowlock_job_state *s, const struct rowlock_job_rules *r)
{
    struct rowlock_job_decision d = rowlock__job_decide(s, r);
    const char *stored = s->same_schedule ? r->schedule->text : "every 11m";
    int waits = d.act == ROWLOCK_JOB_WAIT || d.act == ROWLOCK_JOB_AWAIT;
    int claims = d.act == ROWLOCK_JOB_CLAIM;

    add_row("('%s', %lld::bigint, %d, %lld::bigint, %s, %lld::bigint, %lld::bigint, '%s', "
            "%lld::bigint, %lld::bigint, %lld::bigint, %d, %lld::bigint, %s, %s, %lld::bigint, %s, "
            "'act %d until %lld instant %lld due %lld repeats %d former %lld%s')",
            r->schedule->text, (long long)r->early_ms, r->retry, (long long)r->backoff_ms,
            r->skips_missed ? "true" : "false", (long long)s->now_ms, (long long)s->version,
            s->known ? stored : "", (long long)s->due_ms, (long long)s->last_ms,
            (long long)s->failed_ms, s->repeats, (long long)s->running,
            s->broken ? "true" : "false", s->held ? "true" : "false", (long long)s->free_ms,
            s->not_started ? "true" : "false", (int)d.act, waits ? (long long)d.until_ms : 0,
            claims ? (long long)d.instant_ms : 0, waits ? 0 : (long long)d.due_ms,
            claims ? d.repeats : 0, d.lost || d.broken ? (long long)s->running : 0,
            d.broken ? " broken" : "");
}

static void compare_decisions(void)
{
    if (!t_is_postgresql()) {
        compare_by_procedure();
        return;
    }
    compare("c::text || ' the server: ' || g",
            "schedule, early, retry, backoff, skips, now_ms, "
            "version, stored, due, last, failed, repeats, running, broken, held, free_ms, "
            "not_started, wanted) CROSS JOIN LATERAL (SELECT format("
            "'act %s until %s instant %s due %s repeats %s former %s%s', d.act, "
            "CASE WHEN d.act < 2 THEN d.until_ms ELSE 0 END, "
            "CASE WHEN d.act = 3 THEN d.instant ELSE 0 END, "
            "CASE WHEN d.act < 2 THEN 0 ELSE d.due END, "
            "CASE WHEN d.act = 3 THEN d.repeats ELSE 0 END, d.former, "
            "CASE WHEN d.former <> 0 AND d.outcome = 'broken' THEN ' broken' ELSE '' END) AS g "
            "FROM rowlock.decide_job(schedule, early, retry, backoff, skips, now_ms, version, "
            "nullif(stored, ''), due, last, failed, repeats, running, broken, held, free_ms, "
            "not_started) d) AS own (g",
            "g <> wanted");
}

static void make_comparison_of_decisions(void)
{
    make_comparison(
        "s VARCHAR(400), early BIGINT, retry INT, backoff BIGINT, skips INT, now_ms BIGINT, "
        "version BIGINT, kept VARCHAR(400), due BIGINT, last BIGINT, failed BIGINT, "
        "repeats INT, running BIGINT, broken INT, held INT, free_ms BIGINT, not_started INT, "
        "wanted VARCHAR(200)",
        "s, early, retry, backoff, skips, now_ms, version, kept, due, last, failed, repeats, "
        "running, broken, held, free_ms, not_started, wanted",
        "CALL rowlock_decide_job(s, early, retry, backoff, skips, now_ms, version, "
        "NULLIF(kept, ''), due, last, failed, repeats, running, broken, held, free_ms, "
        "not_started, @act, @until, @instant, @due, @repeats, @former, @outcome); "
        "SET @got = CONCAT('act ', @act, ' until ', IF(@act < 2, @until, 0), ' instant ', "
        "IF(@act = 3, @instant, 0), ' due ', IF(@act < 2, 0, @due), ' repeats ', "
        "IF(@act = 3, @repeats, 0), ' former ', @former, "
        "IF(@former <> 0 AND @outcome = 'broken', ' broken', '')); "
        "IF NOT @got <=> wanted THEN SET @wrong = CONCAT_WS(' ', s, early, retry, backoff, "
        "skips, now_ms, version, kept, due, last, failed, repeats, running, broken, held, "
        "free_ms, not_started, wanted, 'the server:', @got); END IF;");
}

static void add_state(const struct rowlock_schedule *schedule)
{
    struct rowlock_job_rules rules = {
        .schedule = schedule,
        .early_ms = t_random(&seed, 2) ? 0 : 30000,
        .retry = (int)t_random(&seed, 4) - 1,
        .backoff_ms = t_random(&seed, 2) ? 10000 : 0,
        .skips_missed = t_random(&seed, 2),
    };
    struct rowlock_job_state s = {.known = t_random(&seed, 8) != 0,
                                  .now_ms = INT64_C(1774000000000) + t_random(&seed, 2000000000)};
    int64_t next = rowlock__schedule_next(schedule, s.now_ms);
    int64_t previous = rowlock__schedule_previous(schedule, s.now_ms);

    if (t_random(&seed, 2) && previous != ROWLOCK_NEVER)
        s.now_ms = near(previous);
    s.held = t_random(&seed, 6) == 0;
    s.free_ms = s.held ? s.now_ms + t_random(&seed, 100000) : 0;
    if (s.known) {
        s.version = 7;
        s.same_schedule = t_random(&seed, 4) != 0;
        s.due_ms = t_random(&seed, 3) ? next : near(t_random(&seed, 2) ? previous : next);
        s.last_ms = t_random(&seed, 8) ? near(previous) : 0;
        s.failed_ms = t_random(&seed, 3) ? 0 : near(s.now_ms);
        s.repeats = (int)t_random(&seed, 3);
        s.running = t_random(&seed, 2) ? 4711 : 0;
        s.broken = s.running && t_random(&seed, 4) == 0;
        s.not_started = s.running && !s.broken && t_random(&seed, 4) == 0;
    }
    add_decision(&s, &rules);
}

TEST(the_servers_decisions_are_those_of_the_library)
{
    struct rowlock_zone *berlin;

    begin();
    if (!t_is_postgresql())
        make_comparison_of_decisions();
    t_ok(rowlock__zone_open("Europe/Berlin", &berlin, &t_error));
    for (int i = 0; i < t_effort(8, 400); i++) {
        struct rowlock_schedule schedule;

        for (int n = 0; n < BATCH; n++) {
            const struct rowlock_zone *zone = t_random(&seed, 2) ? berlin : NULL;

            t_ok(rowlock__schedule_read(lines[t_random(&seed, 8)], NULL, zone, &schedule, NULL,
                                        &t_error));
            add_state(&schedule);
        }
        compare_decisions();
    }
    rowlock__zone_close(berlin);
}
