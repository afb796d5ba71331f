/* SPDX-License-Identifier: Apache-2.0 */
/* Runs the commands of refresh and use under leases of the subject. */
#include "run/refresh/subject_run.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command/lock_options.h"
#include "run/supervise/child.h"
#include "run/supervise/pass_output.h"

#define MESSAGE_SIZE 2100

struct making {
    const struct subject_options *options;
    struct rowlock_refresh found;
    int elsewhere; /* another session refreshes it */
};

/* ---- taking ---------------------------------------------------------------------------------- */

struct others {
    int made, processing, exclusive;
};

static int see_subject(const struct rowlock_subject_view *subject, void *data)
{
    struct others *others = data;

    others->made = subject->has_data;
    others->processing = subject->status == ROWLOCK_SUBJECT_PROCESSING;
    return 0;
}

/* A refreshing transaction is visible by its lock only; a waiter for that lock will find fresh
   data. */
static int see_holder(const struct rowlock_holder *holder, void *data)
{
    struct others *others = data;

    if (holder->mode == ROWLOCK_EXCLUSIVE && holder->holding != ROWLOCK_HOLDS)
        others->exclusive = 1;
    return 0;
}

static int take_for(struct holding *holding, const struct rowlock_terms *terms,
                    struct rowlock_error *error)
{
    struct making *making = holding->data;
    struct rowlock_subject subject = {.name = making->options->subject,
                                      .max_age_ms = making->options->max_age_ms,
                                      .description = making->options->description};

    return rowlock_refresh_acquire(holding->connection, &subject, terms, &making->found,
                                   &holding->lease, error);
}

static int take(struct holding *holding, const struct rowlock_terms *terms,
                struct rowlock_error *error)
{
    struct making *making = holding->data;
    const struct subject_options *options = making->options;
    struct rowlock_terms once = *terms;
    struct others others = {0};
    int code;

    if (!options->stale_ok)
        return take_for(holding, terms, error);
    once.wait_ms = 0;
    once.owner = NULL; /* that of the call that waits */
    code = take_for(holding, &once, error);
    /* Whether there is data, and another session refreshes it. If that is unknown, we wait. */
    if (code == ROWLOCK_EBUSY &&
        rowlock_subjects(holding->connection, options->subject, see_subject, &others, NULL) == 0 &&
        others.made && !others.processing)
        rowlock_list(holding->connection, options->name, see_holder, &others, NULL);
    making->elsewhere = others.made && (others.processing || others.exclusive);
    if (making->elsewhere)
        return ROWLOCK_OK;
    if (terms->wait_ms == 0 || (code != ROWLOCK_EBUSY && code != ROWLOCK_ECONN))
        return code;
    return take_for(holding, terms, error);
}

/* ---- releasing ------------------------------------------------------------------------------- */

static void say_how(const struct ending *ending, char *out, size_t size)
{
    switch (ending->outcome) {
    case ROWLOCK_RUN_LOST:
        snprintf(out, size, "the lock was lost");
        break;
    case ROWLOCK_RUN_NOTSTARTED:
        snprintf(out, size, "the command was not started");
        break;
    case ROWLOCK_RUN_TIMEDOUT:
        snprintf(out, size, "it exceeded its time limit and was stopped");
        break;
    default:
        snprintf(out, size, ending->exit > 128 ? "killed by signal %d" : "exit %d",
                 ending->exit > 128 ? ending->exit - 128 : ending->exit);
    }
}

/* The message ends with the last line of the output that is not blank. */
static int write_down(const struct holding *holding, const struct ending *ending,
                      struct rowlock_error *error)
{
    const char *output = ending->output ? ending->output : "", *end = output + strlen(output);
    const char *line;
    char how[80], message[MESSAGE_SIZE];
    struct rowlock_result result = {
        .outcome = ending->outcome, .exit = ending->exit, .output = message};

    while (end > output && (end[-1] == '\n' || end[-1] == '\r' || end[-1] == ' '))
        end--;
    for (line = end; line > output && line[-1] != '\n';)
        line--;
    say_how(ending, how, sizeof how);
    snprintf(message, sizeof message, "%s%s%.*s", how, line < end ? ": " : "", (int)(end - line),
             line);
    return rowlock_refresh_release(holding->lease, &result, error);
}

/* ---- stages ---------------------------------------------------------------------------------- */

int stage_open(struct stage *stage, const struct command *command, const struct run *run)
{
    *stage = (struct stage){.callers = descriptors_of_caller()};
    if (!stage->callers || signals_open(&stage->signals)) {
        message("no memory or cannot create a file descriptor for signals");
        return STATUS_FAILED;
    }
    return connect_to_run(command, run, &stage->signals, &stage->connection);
}

int stage_close(struct stage *stage, int status)
{
    if (status < 0 || stage->outcome.stuck)
        end_at_once(status); /* whatever the database does */
    rowlock_close(stage->connection);
    free(stage->callers);
    return status;
}

static int run_under(struct stage *stage, const struct run *run, struct holding *holding)
{
    stage->outcome = (struct outcome){.acquired = 1, .waited_ms = holding->waited_ms};
    execute(run, &stage->signals, stage->callers, holding, &stage->outcome);
    if (!stage->outcome.stuck) {
        rowlock_lease_free(holding->lease);
        holding->lease = NULL;
    }
    return stage->outcome.status;
}

int refresh_if_stale(struct stage *stage, const struct subject_options *options,
                     const struct run *run, enum made *made)
{
    struct making making = {.options = options};
    struct holding holding = {
        .connection = stage->connection, .take = take, .give_back = write_down, .data = &making};
    int acquired = 0, status = acquire(run, &stage->signals, &holding, &acquired);

    *made = MADE_NOT;
    if (!acquired)
        return status;
    if (!holding.lease) {
        *made = making.elsewhere ? MADE_ELSEWHERE : MADE_FRESH;
        if (run->verbose)
            message(making.elsewhere
                        ? "'%s' is being refreshed by another node: using the stale data"
                        : "'%s' is fresh",
                    options->subject);
        return STATUS_OK;
    }
    status = run_under(stage, run, &holding);
    if (!status)
        *made = MADE_HERE;
    return status;
}

static int see_status(const struct rowlock_subject_view *subject, void *data)
{
    enum rowlock_subject_status *status = data;

    *status = subject->status;
    return 0;
}

int use_it(struct stage *stage, const struct subject_options *options, enum used *used)
{
    enum rowlock_subject_status found = ROWLOCK_SUBJECT_NONE;
    struct holding holding = {.connection = stage->connection};
    int acquired = 0, status = acquire(&options->run, &stage->signals, &holding, &acquired);
    struct rowlock_error error = {0};

    *used = USED;
    if (!acquired)
        return status;
    /* Between our refresh and our lease another refresh may have begun and failed. Under the lease
       no refresh can begin. */
    if (options->shell) {
        if (rowlock_subjects(holding.connection, options->subject, see_status, &found, &error))
            status = report(&error);
        else if (found != ROWLOCK_SUBJECT_COMPLETE)
            *used = USED_NOT;
    }
    if (!status && *used == USED)
        return run_under(stage, &options->run, &holding);
    rowlock_release(holding.lease, NULL);
    rowlock_lease_free(holding.lease);
    holding.lease = NULL;
    return status;
}

/* The options of the verbs refresh and use. */

static void take_refresh(const struct command *command, const struct option_row *row, void *into)
{
    if (strcmp(optarg, "--") == 0)
        usage_error(command, "--refresh: its command is one word, before the other's --: "
                             "--refresh 'COMMAND [ARG...]' -- COMMAND [ARG...]");
    set_text(command, row, into);
}

#define AT(member) offsetof(struct subject_options, member)

static const struct option_row common_options[] = {
    {"max-age", 0, required_argument, set_duration, AT(max_age_ms), 1000, 0},
    {"kill-after", 0, required_argument, set_duration, AT(run.kill_after_ms), 1000, 0},
    {"verbose", 0, no_argument, set_flag, AT(run.verbose), 0, 0},
    {0}};

static const struct option_row refresh_options[] = {
    {"stale-ok", 0, no_argument, set_flag, AT(stale_ok), 0, 0},
    {"description", 0, required_argument, set_utf8, AT(description), 0, 0},
    {0}};

static const struct option_row use_options[] = {
    {"refresh", 0, required_argument, take_refresh, AT(shell), 0, 0}, {0}};

/* One subject before --, the command after it. */
static void take_words(struct command *command, struct subject_options *options)
{
    if (command->n_rest == 0)
        command_missing(command, "");
    if (command->n_operands != 1)
        usage_error(command, command->n_operands ? "one SUBJECT, not %d" : "the SUBJECT is missing",
                    command->n_operands);
    options->subject = command->operands[0];
    options->run.argv = command->rest;
    finish_lock_options(command, &options->run.lock);
    if (snprintf(options->name, sizeof options->name, "subject:%s", options->subject) > 255)
        usage_error(command, "the subject's name has more than 247 bytes");
    options->run.lock.wants->name = options->name;
}

void read_subject_options(struct command *command, enum subject_verb verb,
                          struct subject_options *options)
{
    struct lock_options *lock = &options->run.lock;
    int uses = verb == SUBJECT_USE;

    *options = (struct subject_options){
        .run = {.lock = lock_options_default(), .kill_after_ms = -1, .max_run_ms = -1},
        .max_age_ms = -1};
    lock->conflict = -1;
    if (uses)
        lock->mode = ROWLOCK_SHARED;
    scan_options(command, (struct option_table[]){{common_options, options},
                                                  LOCK_WAIT_TABLES(lock),
                                                  {lock_ttl_options, lock},
                                                  {uses ? use_options : refresh_options, options},
                                                  {uses ? lock_exclusive_options : NULL, lock},
                                                  {0}});
    take_words(command, options);
    if (verb == SUBJECT_REFRESH && options->max_age_ms < 0)
        usage_error(
            command,
            "--max-age is missing: the age from which the subject is stale; 0: always refresh");
    if (verb == SUBJECT_USE && (options->max_age_ms < 0) != !options->shell)
        usage_error(command, "--max-age and --refresh go together");
    /* 75 if not acquired, 0 if there is nothing to do; -E sets both */
    options->quiet = lock->conflict < 0 ? STATUS_OK : lock->conflict;
    if (lock->conflict < 0)
        lock->conflict = STATUS_NOT_ACQUIRED;
    settle_run(&options->run);
}
