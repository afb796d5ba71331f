/* SPDX-License-Identifier: Apache-2.0 */
/* The verb jobs: lists jobs, where they run, and how their last runs ended. */
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "command/command.h"
#include "command/job_name.h"
#include "command/output/json.h"
#include "command/output/words.h"
#include "show/lists/lists.h"
#include "util/calendar.h"

#define STATUS_UNKNOWN 1

struct asking {
    const char *name; /* NULL: all */
    int limit;        /* of runs; < 0: not given */
    int check, forget, now;

    struct rowlock_connection *connection;
    struct listing listing; /* of jobs */
    size_t n_runs;
    struct table runs;
    char *last_output;
};

/* ---- options --------------------------------------------------------------------------------- */

#define AT(member) offsetof(struct asking, member)

static const struct option_row options[] = {
    {"limit", 0, required_argument, set_number, AT(limit), 0, INT_MAX},
    {"check", 0, no_argument, set_flag, AT(check), 0, 0},
    {"forget", 0, no_argument, set_flag, AT(forget), 0, 0},
    {"now", 0, no_argument, set_flag, AT(now), 0, 0},
    {0}};

/* ---- the list -------------------------------------------------------------------------------- */

static int visit_job(const struct rowlock_job_view *view, void *data)
{
    struct asking *asking = data;
    struct rowlock_job_view job = settled(view);

    if (asking->listing.json && asking->name) {
        job_document_add(&asking->listing, &job);
        return 0;
    }
    if (asking->name && job.last.token && *job.last.output) {
        asking->last_output = strdup(job.last.output);
        asking->listing.failed |= !asking->last_output;
    }
    return listing_add(&asking->listing, &job);
}

static int visit_run(const struct rowlock_run *run, void *data)
{
    struct asking *asking = data;

    if (asking->limit == 0)
        return 1;
    asking->limit -= asking->limit > 0;
    if (asking->listing.json) {
        job_document_add_run(&asking->listing, run, asking->n_runs++);
        return 0;
    }
    return asking->listing.failed |= table_add(&asking->runs, run) != 0;
}

/* The jobs; of one job also its runs, and what the last one printed. */
static int list(struct asking *asking)
{
    struct listing *listing = &asking->listing;
    struct rowlock_error error;
    int code = rowlock_jobs(asking->connection, asking->name, visit_job, asking, &error), status;

    if (!code && asking->name && !listing_is_empty(listing)) {
        code = rowlock_runs(asking->connection, asking->name, visit_run, asking, &error);
        if (listing->json)
            job_document_end(listing);
    }
    if (code)
        return report(&error);
    status = listing_print(listing);
    if (status)
        return status;
    if (listing_is_empty(listing) && asking->name) {
        message("no node has asked for a job '%s'", asking->name);
        return STATUS_UNKNOWN;
    }
    if (listing_is_empty(listing) && !listing->json && isatty(STDERR_FILENO))
        message("no node has asked for a job");
    if (asking->runs.n > 0) {
        putchar('\n');
        table_print(&asking->runs);
    }
    if (asking->last_output) {
        puts("\nThe last run printed:");
        print_lines("  ", asking->last_output);
    }
    return STATUS_OK;
}

/* ---- monitoring ------------------------------------------------------------------------------ */

struct checking {
    struct asking *asking;
    enum rowlock_health worst;
    size_t n, fine, troubles;
};

/* Prints the trouble of a job, or its pause. */
static void put_trouble(struct checking *checking, const struct rowlock_job_view *job,
                        enum rowlock_health health, int64_t since_ms)
{
    FILE *out = checking->asking->listing.out;
    const char *on = health == ROWLOCK_HEALTH_PAUSED ? job->paused_by
                     : health == ROWLOCK_HEALTH_SLOW ? job->running.node
                                                     : job->last.node;
    char *name = cell_text(job->name), *node = cell_text(on), *note = cell_text(job->paused_note);
    char since[ROWLOCK_INSTANT_SIZE];

    rowlock__local_time(since_ms, since, sizeof since);
    fprintf(out, "%s%s: '%s' since %s", checking->troubles++ ? "; " : "", job_healths[health],
            name ? name : "", since);
    if (health != ROWLOCK_HEALTH_LATE && node && *node)
        fprintf(out, " on %s", node);
    if (health == ROWLOCK_HEALTH_PAUSED && note && *note)
        fprintf(out, " (%s)", note);
    free(name);
    free(node);
    free(note);
}

static void check_fields(struct fields *to, const void *row)
{
    const struct rowlock_job_view *job = row;
    int64_t since_ms;

    field_text(to, NULL, "name", job->name);
    field_text(to, NULL, "state", job_healths[rowlock_job_health(job, &since_ms)]);
    field_instant(to, NULL, "since", since_ms);
}

static int check_job(const struct rowlock_job_view *view, void *data)
{
    struct checking *checking = data;
    struct rowlock_job_view job = settled(view);
    int64_t since_ms;
    enum rowlock_health health = rowlock_job_health(&job, &since_ms);

    if (checking->asking->listing.json)
        listing_add(&checking->asking->listing, &job);
    else if (health != ROWLOCK_HEALTH_FINE)
        put_trouble(checking, &job, health, since_ms);
    checking->n++;
    checking->fine += health == ROWLOCK_HEALTH_FINE;
    if (health > checking->worst)
        checking->worst = health;
    return 0;
}

static int check_all(struct asking *asking)
{
    static const struct list list = {.fields = check_fields};
    struct listing *listing = &asking->listing;
    struct checking checking = {.asking = asking};
    struct rowlock_error error;
    int is_fine;

    listing->table.list = &list;
    if (rowlock_jobs(asking->connection, asking->name, check_job, &checking, &error))
        return report(&error);
    is_fine = checking.worst == ROWLOCK_HEALTH_FINE ||
              (checking.worst == ROWLOCK_HEALTH_PAUSED && checking.fine);
    if (listing->json)
        listing_end(listing);
    else if (checking.n == 0 && asking->name)
        fprintf(listing->out, "late: no node has asked for '%s' yet", asking->name);
    else if (is_fine)
        fprintf(listing->out, "%sfine: %zu job%s", checking.troubles ? "; " : "", checking.fine,
                checking.fine == 1 ? "" : "s");
    if (!listing->json)
        listing->failed |= putc('\n', listing->out) == EOF;
    if (listing_write(listing))
        return STATUS_FAILED;
    if (asking->name && checking.n == 0)
        return 1;
    return checking.worst == ROWLOCK_HEALTH_LOST ? 2 : checking.worst > ROWLOCK_HEALTH_PAUSED;
}

/* ---- all of it ------------------------------------------------------------------------------- */

static int is_known(const struct rowlock_job_view *job, void *data)
{
    (void)job;
    *(int *)data = 1;
    return 1;
}

/* The result of a change, in JSON. */
static void print_change(const struct asking *asking, int known)
{
    if (!asking->listing.json)
        return;
    fputs("{\"name\":", stdout);
    json_text(stdout, asking->name);
    printf(",\"%s\":%s}\n", asking->now ? "due_now" : "forgotten", known ? "true" : "false");
}

/* Says why the job cannot be due now. */
static int say_busy(const struct rowlock_job_view *view, void *data)
{
    struct rowlock_job_view job = settled(view);
    char since[ROWLOCK_INSTANT_SIZE];

    if (job.running.token) {
        rowlock__local_time(job.running.started_ms, since, sizeof since);
        message("the job '%s' runs on %s since %s: it is not started twice; ask again when it has "
                "ended, or stop it: rowlock break '" JOB_LOCK_PREFIX "%s'",
                job.name, *job.running.node ? job.running.node : "-", since, job.name);
    } else if (job.paused_token) {
        rowlock__local_time(job.paused_since_ms, since, sizeof since);
        message("the job '%s' is paused by %s since %s%s%s; to end the pause: rowlock release "
                "'" JOB_LOCK_PREFIX "%s' --token %lld",
                job.name, *job.paused_by ? job.paused_by : "-", since,
                *job.paused_note ? ", note: " : "", job.paused_note, job.name,
                (long long)job.paused_token);
    }
    *(int *)data = job.running.token || job.paused_token;
    return 1;
}

static int change(const struct asking *asking)
{
    struct rowlock_error error;
    int known = 0, said = 0, code;

    if (rowlock_jobs(asking->connection, asking->name, is_known, &known, &error))
        return report(&error);
    if (!known) {
        print_change(asking, 0);
        message("no job '%s' is known; `rowlock jobs` lists those that are", asking->name);
        return STATUS_UNKNOWN;
    }
    code = asking->forget ? rowlock_forget_job(asking->connection, asking->name, &error)
                          : rowlock_hasten_job(asking->connection, asking->name, &error);
    if (!code) {
        print_change(asking, 1);
        if (asking->now && !asking->listing.json)
            message("'%s' is due now: the next node that asks runs it", asking->name);
        return STATUS_OK;
    }
    /* Prints what say_busy() finds, because the library's error does not state the reason. */
    if (asking->now && code == ROWLOCK_EBUSY)
        rowlock_jobs(asking->connection, asking->name, say_busy, &said, NULL);
    return said ? exit_status(ROWLOCK_EBUSY) : report(&error);
}

int cmd_jobs(struct command *command)
{
    struct asking asking = {.limit = -1, .listing.table.list = &job_list, .runs.list = &run_list};
    int status;
    char why[160];

    scan_own_options(command, options, &asking);
    read_operands(command, 1);
    asking.name = command->n_operands > 0 ? command->operands[0] : NULL;
    asking.listing.json = command->json;
    if (asking.name && job_name_check(asking.name, why, sizeof why))
        usage_error(command, "%s", why);
    if (asking.check + asking.forget + asking.now > 1)
        usage_error(command, "--check, --forget and --now exclude each other");
    if (asking.limit >= 0 && (asking.check || asking.forget || asking.now || !asking.name))
        usage_error(command, "--limit is for the history of one NAME");
    if ((asking.forget || asking.now) && !asking.name)
        usage_error(command, "--%s: a NAME is missing", asking.now ? "now" : "forget");
    status = connect_by_lookup(command, &asking.connection);
    if (!status && (asking.forget || asking.now)) {
        status = change(&asking);
    } else if (!status) {
        status = listing_open(&asking.listing);
        if (!status)
            status = asking.check ? check_all(&asking) : list(&asking);
    }
    listing_free(&asking.listing);
    free(asking.last_output);
    table_free(&asking.runs);
    rowlock_close(asking.connection);
    return status;
}
