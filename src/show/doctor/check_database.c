/* SPDX-License-Identifier: Apache-2.0 */
/* The checks of doctor that ask the database. */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "command/output/words.h"
#include "show/doctor/doctor.h"
#include "util/calendar.h"
#include "util/clock.h"

#define OLD_MS 300000  /* of a transaction that holds a name */
#define CLOCK_MS 2000  /* how long the database's clock is watched */
#define STEADY_MS 100  /* tolerated deviation in that time */
#define OFFSET_MS 1000 /* tolerated difference of this node's clock */
#define JOBS_MOST 10   /* named; the others are counted */

/* ---- opening --------------------------------------------------------------------------------- */

/* Opening would create it, unless the URL has an option that forbids it. Its folder exists, or is
   one that rowlock creates. */
static int is_new_file(const struct doctor *doctor)
{
    const char *path = doctor->url.text + strlen("sqlite:"), *slash = strrchr(path, '/');
    char folder[4096];
    struct stat is;

    if (strncmp(doctor->url.text, "sqlite:", strlen("sqlite:")) != 0 || !*path || strchr(path, '?'))
        return 0;
    if (stat(path, &is) == 0 || (errno != ENOENT && errno != ENOTDIR))
        return 0;
    snprintf(folder, sizeof folder, "%.*s", slash ? (int)(slash - path) : 1, slash ? path : ".");
    return doctor->url.is_local || !*folder || (stat(folder, &is) == 0 && S_ISDIR(is.st_mode));
}

static void explain(struct doctor *doctor, const struct rowlock_error *error)
{
    static const struct {
        int code;
        const char *check, *advice;
    } known[] = {
        {ROWLOCK_EINVAL, "url", "correct the URL"},
        {ROWLOCK_EDRIVER, "driver",
         "correct the URL, or install the client library of this database"},
        {ROWLOCK_EDENIED, "server", "correct the user, its password or its rights"},
        {ROWLOCK_ESERVER, "server", "use the URL of the server that accepts writes"},
        {ROWLOCK_ECONN, "server", "check that the server runs, and that this node reaches it"},
    };
    size_t i = 0, n = sizeof known / sizeof *known;
    int is_server = error->code == ROWLOCK_ESERVER &&
                    strncmp(doctor->url.text, "sqlite:", strlen("sqlite:")) != 0;
    /* a Galera node; a database that forgets commits; a password without TLS */
    int advises =
        (is_server && (strstr(error->text, "; use ") || strstr(error->text, ", run: "))) ||
        strstr(error->text, "; add ssl=on ");

    while (i < n && known[i].code != error->code)
        i++;
    is_needed(doctor, i < n ? known[i].check : "server");
    finding(doctor, i < n ? known[i].check : "server", ROWLOCK_UNSAFE,
            i < n && !advises && (is_server || error->code != ROWLOCK_ESERVER) ? known[i].advice
                                                                               : "",
            "%s", error->text);
    if (is_server)
        return;
    doctor->status = error->code == ROWLOCK_EINVAL ? STATUS_USAGE : STATUS_UNAVAILABLE;
}

static int note_finding(const struct rowlock_finding *row, void *data)
{
    struct doctor *doctor = data;

    if (strcmp(row->check, "schema") == 0)
        doctor->usable = row->status != ROWLOCK_UNSAFE;
    finding(doctor, row->check, row->status, row->advice, "%s", row->finding);
    return 0;
}

void examine_database(struct doctor *doctor)
{
    struct rowlock_options options = {0};
    struct rowlock_error error = {0};

    if (is_new_file(doctor)) {
        is_needed(doctor, "server");
        finding(doctor, "server", ROWLOCK_WARNS, "the first lock creates it",
                "the file '%s' does not exist yet", doctor->url.text + strlen("sqlite:"));
        return;
    }
    keep_url_secret(&doctor->url);
    if (rowlock_open(doctor->url.text, &options, &doctor->connection, &error) ||
        rowlock_examine(doctor->connection, note_finding, doctor, &error))
        explain(doctor, &error);
}

/* A check that failed by itself, not its subject. */
static void not_examined(struct doctor *doctor, const char *check,
                         const struct rowlock_error *error)
{
    finding(doctor, check, ROWLOCK_UNSAFE, "", "cannot be examined: %s", error->text);
    if (error->code == ROWLOCK_ECONN)
        doctor->status = STATUS_UNAVAILABLE;
}

/* ---- transactions ---------------------------------------------------------------------------- */

struct transactions {
    struct doctor *doctor;
    int64_t now_ms;
};

static int visit_holder(const struct rowlock_holder *holder, void *data)
{
    const struct transactions *transactions = data;
    char since[ROWLOCK_INSTANT_SIZE], session[60] = "";

    if (holder->holding != ROWLOCK_HOLDS_TX || !holder->since_ms ||
        holder->since_ms > transactions->now_ms - OLD_MS)
        return 0;
    rowlock__local_time(holder->since_ms, since, sizeof since);
    if (holder->pid)
        snprintf(session, sizeof session, ", server session %" PRId64, holder->pid);
    finding(transactions->doctor, "transactions", ROWLOCK_WARNS, "",
            "'%s' is held since %s by %s%s", holder->name, since,
            *holder->command ? holder->command : "a transaction", session);
    return 0;
}

void examine_transactions(struct doctor *doctor)
{
    struct transactions transactions = {.doctor = doctor};
    struct rowlock_error error;

    if (rowlock_clock(doctor->connection, &transactions.now_ms, &error) ||
        rowlock_list(doctor->connection, NULL, visit_holder, &transactions, &error))
        not_examined(doctor, "transactions", &error);
    else
        finding(doctor, "transactions", ROWLOCK_SOUND, "",
                "no reported transaction holds a name for more than 5 minutes");
}

/* ---- jobs ------------------------------------------------------------------------------------ */

struct troubles {
    struct doctor *doctor;
    int64_t n;                            /* shown */
    int advised[ROWLOCK_HEALTH_LOST + 1]; /* by health */
};

static int visit_trouble(const struct rowlock_job_view *job, void *data)
{
    static const char *const advice[] = {
        [ROWLOCK_HEALTH_SLOW] = "slow: see where it runs: rowlock jobs NAME",
        [ROWLOCK_HEALTH_LATE] =
            "late: check that a node calls it, or remove it: rowlock jobs NAME --forget",
        [ROWLOCK_HEALTH_FAILING] = "failing: read its output: rowlock jobs NAME",
        [ROWLOCK_HEALTH_LOST] = "lost: read its history: rowlock jobs NAME",
    };
    struct troubles *troubles = data;
    char since[ROWLOCK_INSTANT_SIZE];
    int64_t since_ms;
    enum rowlock_health health = rowlock_job_health(job, &since_ms);

    if (health == ROWLOCK_HEALTH_PAUSED) /* an operator paused it */
        return 0;
    rowlock__local_time(since_ms, since, sizeof since);
    finding(troubles->doctor, "jobs", ROWLOCK_WARNS,
            troubles->advised[health] ? "" : advice[health], "%s: '%s' since %s",
            job_healths[health], job->name, since);
    troubles->advised[health] = 1;
    troubles->n++;
    return 0;
}

void examine_jobs(struct doctor *doctor)
{
    struct rowlock_job_choice choice = {.most_rows = JOBS_MOST};
    struct rowlock_job_counts counts = {0};
    struct troubles troubles = {.doctor = doctor};
    struct rowlock_error error;
    int64_t n = 0;

    if (rowlock_job_troubles(doctor->connection, &choice, visit_trouble, &troubles, &counts,
                             &error)) {
        not_examined(doctor, "jobs", &error);
        return;
    }
    for (int health = ROWLOCK_HEALTH_PAUSED + 1; health <= ROWLOCK_HEALTH_LOST; health++)
        n += counts.of[health];
    if (n > troubles.n)
        finding(doctor, "jobs", ROWLOCK_WARNS, "see all: rowlock jobs --check",
                "and %" PRId64 " more", n - troubles.n);
    finding(doctor, "jobs", ROWLOCK_SOUND, "", "fine: %" PRId64 " job%s", counts.jobs,
            counts.jobs == 1 ? "" : "s");
}

/* ---- clocks ---------------------------------------------------------------------------------- */

/* A reading of the database's clock, between two of ours. */
struct reading {
    int64_t before_ms, after_ms; /* monotonic */
    int64_t from_ms, to_ms;      /* this node's time of day */
    int64_t database_ms;
};

static int read_clock(struct doctor *doctor, struct reading *out, struct rowlock_error *error)
{
    int code;

    out->before_ms = rowlock__now_ms();
    out->from_ms = rowlock__wall_ms();
    code = rowlock_clock(doctor->connection, &out->database_ms, error);
    out->to_ms = rowlock__wall_ms();
    out->after_ms = rowlock__now_ms();
    return code;
}

void examine_clock(struct doctor *doctor)
{
    const struct rowlock_options options = {0};
    int64_t passed, least, most, ahead, behind;
    struct reading one, two;
    struct rowlock_error error;

    if (read_clock(doctor, &one, &error)) {
        not_examined(doctor, "clock", &error);
        return;
    }
    poll(NULL, 0, CLOCK_MS);
    if (read_clock(doctor, &two, &error)) {
        if (error.code == ROWLOCK_ECONN) { /* a session again, for the checks that follow */
            rowlock_close(doctor->connection);
            doctor->connection = NULL;
            rowlock_open(doctor->url.text, &options, &doctor->connection, NULL);
        }
        if (error.code == ROWLOCK_ECONN && doctor->connection)
            finding(doctor, "clock", ROWLOCK_UNSAFE,
                    "raise the limit of idle sessions: PostgreSQL idle_session_timeout, MariaDB "
                    "and MySQL wait_timeout, or that of the pooler",
                    "the server ended this session, which was idle for %d s", CLOCK_MS / 1000);
        else
            not_examined(doctor, "clock", &error);
        return;
    }
    /* Round trips, however slow, widen the limits, so a busy machine causes no finding. */
    passed = two.database_ms - one.database_ms;
    least = two.before_ms - one.after_ms;
    most = two.after_ms - one.before_ms;
    if (passed < least - STEADY_MS || passed > most + STEADY_MS)
        finding(doctor, "clock", ROWLOCK_UNSAFE,
                "on the server, let chrony or ntpd adjust the clock gradually: leases expire by it",
                "the database's clock advanced by %" PRId64 " ms in %" PRId64 " ms", passed, least);
    ahead = two.from_ms - two.database_ms;
    behind = two.database_ms - two.to_ms;
    if (ahead > OFFSET_MS || behind > OFFSET_MS)
        finding(doctor, "clock", ROWLOCK_WARNS,
                "synchronize this node's clock: cron shows and plans times by it",
                "this node's clock is %" PRId64 " ms %s the database's", ahead > 0 ? ahead : behind,
                ahead > 0 ? "ahead of" : "behind");
    finding(doctor, "clock", ROWLOCK_SOUND, "",
            "steady over 2 s, and this node agrees within a second");
}
