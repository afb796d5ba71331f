/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The verb job: called on every node by a crontab or a timer, it runs the command on one of them
 * when it is due. It also executes a run that `cron` has claimed: --adopt with the lease's token,
 * and --url-fd.
 */
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include "command/job_name.h"
#include "command/url_lookup.h"
#include "run/job/job_run.h"
#include "run/supervise/child.h"
#include "run/supervise/execute.h"
#include "run/supervise/times.h"
#include "system/command/calls.h"
#include "util/clock.h"

/* ---- options --------------------------------------------------------------------------------- */

#define MOST_SETTINGS 16

#define OF_CRON required_argument /* not for people: help does not name them */

struct said {
    const char *every, *cron;
};

static void take_setting(const struct command *command, const struct option_row *row, void *into)
{
    char why[200];

    if (job_setting_take(into, row->name, optarg, why, sizeof why))
        usage_error(command, "--%s: %s", row->name, why);
}

/* Closes the descriptor before the caller's descriptors are listed: it is not one of them. */
static void take_url(const struct command *command, const struct option_row *row, void *into)
{
    *(struct url *)into = url_receive((int)option_number(command, row));
}

static void take_prefix(const struct command *command, const struct option_row *row, void *into)
{
    set_flag(command, row, into);
    message_with_time();
}

#define AT(member) offsetof(struct job_run, member)

static const struct option_row own_options[] = {
    {"conflict-exit-code", 'E', required_argument, set_number, AT(conflict), 0, 255},
    {"verbose", 0, no_argument, set_flag, AT(verbose), 0, 0},
    {"adopt", 0, OF_CRON, set_long_number, AT(token), 1, LONG_MAX},
    {"url-fd", 0, OF_CRON, take_url, AT(url), 3, 1024},
    {"adopted-due", 0, OF_CRON, set_long_number, AT(due_ms), 0, LONG_MAX},
    {"adopted-attempt", 0, OF_CRON, set_number, AT(attempt), 1, INT_MAX},
    {"adopted-prefix", 0, OF_CRON, take_prefix, AT(prefix), 0, 0},
    {0}};

static const struct option_row schedule_options[] = {
    {"every", 0, required_argument, set_text, offsetof(struct said, every), 0, 0},
    {"cron", 0, required_argument, set_text, offsetof(struct said, cron), 0, 0},
    {0}};

static void open_schedule(const struct command *command, struct job_run *job,
                          const struct said *said)
{
    struct rowlock_error error;
    char every[128];

    if (said->every && said->cron)
        usage_error(command, "--every and --cron exclude each other");
    if (!said->every && !said->cron)
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
    if (command->n_rest == 0)
        command_missing(command, "");
    if (command->n_operands > 1)
        usage_error(command, "unexpected argument: '%s'", shown(command->operands[1]));
    if (job_name_check(command->operands[0], why, sizeof why))
        usage_error(command, "%s", why);
    job->name = command->operands[0];
}

static void read_options(struct command *command, struct job_run *job)
{
    struct option_row settings[MOST_SETTINGS] = {0};
    struct said said = {0};
    char why[160];

    for (int i = 0; job_setting_names[i]; i++)
        settings[i] = (struct option_row){
            .name = job_setting_names[i], .value = required_argument, .take = take_setting};
    *job = (struct job_run){.settings = job_settings_default()};
    scan_options(command, (struct option_table[]){{own_options, job},
                                                  {schedule_options, &said},
                                                  {settings, &job->settings},
                                                  {0}});
    take_name(command, job);
    job->argv = command->rest;
    if (job_settings_settle(&job->settings, why, sizeof why))
        usage_error(command, "%s", why);
    if (!job->token)
        open_schedule(command, job, &said);
}

/* ---- all of it ------------------------------------------------------------------------------- */

static void claim_and_run(struct command *command, struct job_run *job, struct signals *signals,
                          const struct descriptors *callers, struct outcome *outcome)
{
    struct run run = run_of_job(job);
    struct approach approach = {.statement_ms = statement_limit(&run),
                                .interrupt_fd = signals->wait_fd,
                                .signals = signals,
                                .url = job->url.text ? &job->url : NULL,
                                .verbose = job->verbose,
                                .may_create = 1};
    struct holding holding = {0};
    struct job_change change;
    int64_t token;
    int changed;

    job->hook = (struct change_hook){job->settings.on_failure, callers, signals};
    command->is_farm_wide = 1;
    if (job->token) /* an adopted lease lasts for a while: waits for the end of an outage */
        approach.deadline_ms = rowlock__after(rowlock__now_ms(), job->settings.ttl_ms);
    outcome->status = connect_as(command, &approach, &holding.connection);
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
    url_free(&job.url);
    free(callers);
    if (outcome.stuck)
        end_at_once(outcome.status); /* whatever the database does */
    return outcome.status;
}
