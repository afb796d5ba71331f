/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The verb job: called on every node by a crontab or a timer, it runs the command on one of them
 * when it is due. It also executes a run that `cron` has claimed: --adopt with the lease's token,
 * and --url-fd.
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "command/command.h"
#include "command/job/run.h"
#include "command/url_lookup.h"
#include "system/command/process.h"

/* ---- options --------------------------------------------------------------------------------- */

enum {
    OPTION_EVERY = OPTION_OWN,
    OPTION_CRON,
    OPTION_VERBOSE,
    OPTION_ADOPT,
    OPTION_URL_FD,
    OPTION_DUE,
    OPTION_ATTEMPT,
    OPTION_PREFIX,
    OPTION_SETTING /* and those behind it */
};

#define MOST_SETTINGS 16

#define OF_CRON required_argument /* not for people: help does not name them */

static const struct option own_options[] = {
    {"every", required_argument, NULL, OPTION_EVERY},
    {"cron", required_argument, NULL, OPTION_CRON},
    {"conflict-exit-code", required_argument, NULL, 'E'},
    {"verbose", no_argument, NULL, OPTION_VERBOSE},
    {"adopt", OF_CRON, NULL, OPTION_ADOPT},
    {"url-fd", OF_CRON, NULL, OPTION_URL_FD},
    {"adopted-due", OF_CRON, NULL, OPTION_DUE},
    {"adopted-attempt", OF_CRON, NULL, OPTION_ATTEMPT},
    {"adopted-prefix", OF_CRON, NULL, OPTION_PREFIX},
};

static void list_options(struct option *out)
{
    size_t n = sizeof own_options / sizeof *own_options;

    memcpy(out, own_options, sizeof own_options);
    for (int i = 0; job_setting_names[i]; i++)
        out[n++] =
            (struct option){job_setting_names[i], required_argument, NULL, OPTION_SETTING + i};
    out[n] = (struct option){0};
}

struct said {
    const char *every, *cron;
};

static void take_setting(const struct command *command, const char *name, struct job_run *job)
{
    char why[200];

    if (job_setting_take(&job->settings, name, optarg, why, sizeof why))
        usage_error(command, "--%s: %s", name, why);
}

static void take(const struct command *command, int option, struct job_run *job, struct said *said)
{
    switch (option) {
    case OPTION_EVERY:
        said->every = optarg;
        break;
    case OPTION_CRON:
        said->cron = optarg;
        break;
    case 'E':
        job->conflict = (int)option_number(command, "--conflict-exit-code", 0, 255);
        break;
    case OPTION_VERBOSE:
        job->verbose = 1;
        break;
    case OPTION_ADOPT:
        job->token = option_number(command, "--adopt", 1, LONG_MAX);
        break;
    case OPTION_URL_FD:
        /* before we look which descriptors are the caller's: this one is not */
        job->url = url_receive((int)option_number(command, "--url-fd", 3, 1024));
        break;
    case OPTION_DUE:
        job->due_ms = option_number(command, "--adopted-due", 0, LONG_MAX);
        break;
    case OPTION_ATTEMPT:
        job->attempt = (int)option_number(command, "--adopted-attempt", 1, INT_MAX);
        break;
    case OPTION_PREFIX:
        job->prefix = 1;
        message_with_time();
        break;
    default:
        take_setting(command, job_setting_names[option - OPTION_SETTING], job);
    }
}

static void open_schedule(const struct command *command, struct job_run *job,
                          const struct said *said)
{
    struct rowlock_error error;
    char every[128];

    if (!said->every == !said->cron)
        usage_error(command, "the schedule is missing: either --every DUR or --cron 'EXPR'");
    if (said->every && job->settings.zone)
        usage_error(command, "--every counts real time: it has no time zone (--tz)");
    snprintf(every, sizeof every, "every %.100s", said->every ? said->every : "");
    if (rowlock_schedule_open_for(said->every ? every : said->cron, job->settings.zone, job->name,
                                  &job->schedule, NULL, &error))
        usage_error(command, "%s: %s", said->every ? "--every" : "--cron", error.text);
}

static void take_name(const struct command *command, struct job_run *job)
{
    char why[160];

    if (command->n_operands == 0)
        name_missing(command);
    if (command->n_operands > 1)
        usage_error(command, "unexpected argument: '%s'", shown(command->operands[1]));
    if (job_name_check(command->operands[0], why, sizeof why))
        usage_error(command, "%s", why);
    job->name = command->operands[0];
}

static void read_options(struct command *command, struct job_run *job)
{
    struct option options[sizeof own_options / sizeof *own_options + MOST_SETTINGS];
    struct said said = {0};
    char why[160];
    int option;

    list_options(options);
    *job = (struct job_run){.settings = job_settings_default()};
    while ((option = next_option(command, "E:", options)) != -1)
        take(command, option, job, &said);
    take_name(command, job);
    if (command->n_rest == 0)
        usage_error(command, "the command is missing: -- COMMAND");
    job->argv = command->rest;
    if (job_settings_check(&job->settings, why, sizeof why))
        usage_error(command, "%s", why);
    job_settings_settle(&job->settings);
    if (!job->token)
        open_schedule(command, job, &said);
}

/* ---- the database ---------------------------------------------------------------------------- */

static int find_database(const struct command *command, const struct job_run *job, struct url *out)
{
    int status;

    *out = (struct url){.text = job->url ? strdup(job->url) : NULL};
    if (job->url)
        return out->text ? STATUS_OK : STATUS_FAILED;
    status = url_lookup(command->db, out);
    if (!status && job->verbose)
        report_overridden(out);
    return status ? status : refuse_default(command, out);
}

/* An exit status, or -N: signal N came. An adopted lease lasts for a while,
   so it waits for the end of an outage. */
static int connect_to(const struct command *command, const struct job_run *job,
                      const struct run *run, const struct signals *signals,
                      struct rowlock_connection **out)
{
    struct approach approach = {.interrupt_fd = signals->wait_fd,
                                .statement_ms = statement_limit(run)};
    int number;
    struct url url = {0};
    int status = find_database(command, job, &url), code = ROWLOCK_OK;

    if (job->token)
        approach.deadline_ms = rowlock__after(rowlock__now_ms(), job->settings.ttl_ms);
    if (!status)
        status = connect_database(&url, &approach, out, &code);
    url_free(&url);
    if (status && (number = signals_next(signals->wait_fd, NULL)))
        return -number;
    return status;
}

/* ---- all of it ------------------------------------------------------------------------------- */

static void claim_and_run(const struct command *command, struct job_run *job,
                          struct signals *signals, const struct descriptors *callers,
                          struct outcome *outcome)
{
    struct run run = run_of_job(job);
    struct holding holding = {0};
    struct job_change change;
    int64_t token;
    int changed;

    job->hook = (struct change_hook){job->settings.on_failure, callers, &signals->original,
                                     &signals->broken_pipe};
    outcome->status = connect_to(command, job, &run, signals, &holding.connection);
    if (!outcome->status)
        outcome->status = job->token ? adopt_job(job, signals, &holding, &outcome->acquired)
                                     : claim_job(job, signals, &holding, &outcome->acquired);
    if (outcome->acquired)
        outcome->status = execute(&run, signals, callers, &holding, outcome);
    if (outcome->stuck)
        return;
    token = holding.lease ? rowlock_token(holding.lease) : job->token;
    rowlock_lease_free(holding.lease);
    changed = job->recorded && job->hook.command &&
              job_change_read(holding.connection, job->name, token, &change);
    rowlock_close(holding.connection);
    if (changed)
        job_change_run(&job->hook, &change, !job->token); /* cron waits for the run to end */
}

int cmd_job(struct command *command)
{
    struct outcome outcome = {.status = STATUS_FAILED};
    struct descriptors *callers;
    struct signals signals;
    struct job_run job;

    name_this_process("rowlock"); /* also where cron has started us by execute_again() */
    read_options(command, &job);
    callers = fill_standard_descriptors() ? NULL : descriptors_of_caller();
    if (!callers || signals_open(&signals))
        message("out of memory or file descriptors");
    else
        claim_and_run(command, &job, &signals, callers, &outcome);
    rowlock_schedule_close(job.schedule);
    free(job.url);
    free(callers);
    if (outcome.status < 0)
        die_by(-outcome.status);
    if (outcome.stuck)
        _exit(outcome.status); /* whatever the database does, we end now */
    return outcome.status;
}
