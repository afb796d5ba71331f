/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the tables of jobs and runs as an observer (farm.h). */
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

#include "simulation/farm.h"

/* Triggers record each change of a run, so that no change between two checks is missed. */
#define EVENTS                                                                             \
    "CREATE TABLE event (id INTEGER PRIMARY KEY, token INTEGER, job TEXT, due INTEGER,"    \
    " repeats INTEGER, started INTEGER, taken_until INTEGER, was TEXT, became TEXT,"       \
    " finished INTEGER);"                                                                  \
    "CREATE TRIGGER run_begins AFTER INSERT ON rowlock_run BEGIN"                          \
    " INSERT INTO event (token, job, due, repeats, started, taken_until, was, became,"     \
    " finished)"                                                                           \
    " VALUES (NEW.token, NEW.job, NEW.due, NEW.repeats, NEW.started, NEW.taken_until, ''," \
    " NEW.outcome, NEW.finished); END;"                                                    \
    "CREATE TRIGGER run_ends AFTER UPDATE OF outcome ON rowlock_run BEGIN"                 \
    " INSERT INTO event (token, job, due, repeats, started, taken_until, was, became,"     \
    " finished)"                                                                           \
    " VALUES (NEW.token, NEW.job, NEW.due, NEW.repeats, NEW.started, NEW.taken_until,"     \
    " OLD.outcome, NEW.outcome, NEW.finished); END;"

static sqlite3_stmt *events, *jobs, *leases, *outcome, *running;
static int64_t seen;

void farm_rows_open(void)
{
    rows_must(sqlite3_exec(rows_observer, EVENTS, NULL, NULL, NULL), EVENTS);
    events = rows_prepare("SELECT id, token, job, due, repeats, started, taken_until, was, became,"
                          "       finished"
                          "  FROM event WHERE id > ?1 ORDER BY id LIMIT 1");
    jobs = rows_prepare("SELECT name, version, job.due, last, failed, running, job.repeats, outcome"
                        "  FROM rowlock_job job LEFT JOIN rowlock_run ON token = running");
    leases = rows_prepare(
        "SELECT l.name, l.token, expires, taken_until, b.token IS NOT NULL, stop, outcome"
        "  FROM rowlock_lease l LEFT JOIN rowlock_heartbeat b USING (token)"
        "  LEFT JOIN rowlock_run r USING (token) WHERE l.name LIKE 'job:%'");
    outcome = rows_prepare("SELECT outcome FROM rowlock_run WHERE token = ?1");
    running = rows_prepare("SELECT count(*) FROM rowlock_run WHERE outcome = 'running'");
}

void farm_rows_close(void)
{
    sqlite3_finalize(events);
    sqlite3_finalize(jobs);
    sqlite3_finalize(leases);
    sqlite3_finalize(outcome);
    sqlite3_finalize(running);
}

void farm_rows_reset(void)
{
    seen = 0;
    rows_must(sqlite3_exec(rows_observer,
                           "BEGIN; DELETE FROM rowlock_job; DELETE FROM rowlock_run;"
                           "DELETE FROM event; COMMIT",
                           NULL, NULL, NULL),
              "emptying the tables");
}

/* ---- columns --------------------------------------------------------------------------------- */

static const char *const outcomes[] = {
    [FARM_NO_RUN] = "",       [FARM_RUNNING] = "running",     [FARM_DONE] = "done",
    [FARM_FAILED] = "failed", [FARM_TIMED_OUT] = "timed out", [FARM_BROKEN] = "broken",
    [FARM_LOST] = "lost",     [FARM_LATE] = "late",           [FARM_NOT_STARTED] = "not started"};

const char *farm_outcome_name(enum farm_outcome of)
{
    return of == FARM_NO_RUN ? "no run" : outcomes[of];
}

static enum farm_outcome outcome_of(sqlite3_stmt *stmt, int column)
{
    const char *text = (const char *)sqlite3_column_text(stmt, column);

    for (size_t i = 0; text && i < sizeof outcomes / sizeof *outcomes; i++)
        if (strcmp(text, outcomes[i]) == 0)
            return (enum farm_outcome)i;
    return FARM_NO_RUN;
}

/* "job:3", "3": the names of jobs are numbers. */
static unsigned job_of(sqlite3_stmt *stmt, int column)
{
    const char *text = (const char *)sqlite3_column_text(stmt, column);
    const char *colon = strrchr(text, ':');
    unsigned job = (unsigned)strtoul(colon ? colon + 1 : text, NULL, 10);

    if (job >= FARM_JOBS)
        abort();
    return job;
}

/* ---- reading rows ---------------------------------------------------------------------------- */

bool farm_next_event(struct farm_event *event)
{
    bool found;

    sqlite3_bind_int64(events, 1, seen);
    found = sqlite3_step(events) == SQLITE_ROW;
    if (found) {
        seen = sqlite3_column_int64(events, 0);
        *event = (struct farm_event){.token = sqlite3_column_int64(events, 1),
                                     .job = job_of(events, 2),
                                     .due = sqlite3_column_int64(events, 3),
                                     .repeats = sqlite3_column_int(events, 4),
                                     .started = sqlite3_column_int64(events, 5),
                                     .taken_until = sqlite3_column_int64(events, 6),
                                     .was = outcome_of(events, 7),
                                     .is = outcome_of(events, 8),
                                     .finished = sqlite3_column_int64(events, 9)};
    }
    sqlite3_reset(events);
    return found;
}

void farm_read_jobs(struct farm_row *rows)
{
    for (unsigned i = 0; i < FARM_JOBS; i++)
        rows[i] = (struct farm_row){.known = false};
    while (sqlite3_step(jobs) == SQLITE_ROW)
        rows[job_of(jobs, 0)] = (struct farm_row){.known = true,
                                                  .version = sqlite3_column_int64(jobs, 1),
                                                  .due = sqlite3_column_int64(jobs, 2),
                                                  .last = sqlite3_column_int64(jobs, 3),
                                                  .failed = sqlite3_column_int64(jobs, 4),
                                                  .running = sqlite3_column_int64(jobs, 5),
                                                  .repeats = sqlite3_column_int(jobs, 6),
                                                  .outcome = outcome_of(jobs, 7)};
    sqlite3_reset(jobs);
}

size_t farm_read_leases(struct farm_lease *out, size_t most)
{
    size_t n = 0;

    while (n < most && sqlite3_step(leases) == SQLITE_ROW)
        out[n++] = (struct farm_lease){.job = job_of(leases, 0),
                                       .token = sqlite3_column_int64(leases, 1),
                                       .expires = sqlite3_column_int64(leases, 2),
                                       .taken_until = sqlite3_column_int64(leases, 3),
                                       .heartbeat = sqlite3_column_int(leases, 4) != 0,
                                       .stop = sqlite3_column_int(leases, 5) != 0,
                                       .outcome = outcome_of(leases, 6)};
    sqlite3_reset(leases);
    return n;
}

enum farm_outcome farm_outcome_of(int64_t token)
{
    enum farm_outcome is = FARM_NO_RUN;

    sqlite3_bind_int64(outcome, 1, token);
    if (sqlite3_step(outcome) == SQLITE_ROW)
        is = outcome_of(outcome, 0);
    sqlite3_reset(outcome);
    return is;
}

int64_t farm_count_running(void)
{
    int64_t n = sqlite3_step(running) == SQLITE_ROW ? sqlite3_column_int64(running, 0) : -1;

    sqlite3_reset(running);
    return n;
}
