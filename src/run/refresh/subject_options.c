/* SPDX-License-Identifier: Apache-2.0 */
/* The options of the verbs refresh and use. */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command/lock_options.h"
#include "run/refresh/subject_run.h"

#define KILL_AFTER_MS 5000

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

static void check(const struct command *command, enum subject_verb verb,
                  const struct subject_options *options)
{
    if (verb == SUBJECT_REFRESH && options->max_age_ms < 0)
        usage_error(
            command,
            "--max-age is missing: the age from which the subject is stale; 0: always refresh");
    if (verb == SUBJECT_USE && (options->max_age_ms < 0) != !options->shell)
        usage_error(command, "--max-age and --refresh go together");
}

/* Default: 75 if not acquired, 0 if there is nothing to do; -E sets both. */
static void settle_conflict(struct subject_options *options)
{
    struct lock_options *lock = &options->run.lock;

    options->quiet = lock->conflict < 0 ? STATUS_OK : lock->conflict;
    if (lock->conflict < 0)
        lock->conflict = STATUS_NOT_ACQUIRED;
}

void read_subject_options(struct command *command, enum subject_verb verb,
                          struct subject_options *options)
{
    struct lock_options *lock = &options->run.lock;
    int uses = verb == SUBJECT_USE;

    *options = (struct subject_options){
        .run = {.lock = lock_options_default(), .kill_after_ms = KILL_AFTER_MS, .max_run_ms = -1},
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
    check(command, verb, options);
    settle_conflict(options);
    settle_run(&options->run);
}
