/* SPDX-License-Identifier: Apache-2.0 */
/* The options of the verbs refresh and use. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command/lease/argument.h"
#include "command/refresh/refresh.h"
#include "util/utf8.h"

enum {
    OPTION_MAX_AGE = OPTION_OWN,
    OPTION_STALE_OK,
    OPTION_DESCRIPTION,
    OPTION_REFRESH,
    OPTION_KILL_AFTER,
    OPTION_VERBOSE
};

#define KILL_AFTER_MS 5000

#define COMMON_LONG_OPTIONS                                         \
    LOCK_WAIT_LONG_OPTIONS, LOCK_TTL_LONG_OPTION,                   \
        {"max-age", required_argument, NULL, OPTION_MAX_AGE},       \
        {"kill-after", required_argument, NULL, OPTION_KILL_AFTER}, \
    {                                                               \
        "verbose", no_argument, NULL, OPTION_VERBOSE                \
    }

static const struct option refresh_options[] = {
    COMMON_LONG_OPTIONS,
    {"stale-ok", no_argument, NULL, OPTION_STALE_OK},
    {"description", required_argument, NULL, OPTION_DESCRIPTION},
    {NULL, 0, NULL, 0},
};

static const struct option use_options[] = {
    COMMON_LONG_OPTIONS,
    {"exclusive", no_argument, NULL, 'x'},
    {"refresh", required_argument, NULL, OPTION_REFRESH},
    {NULL, 0, NULL, 0},
};

static void take(const struct command *command, int option, struct subject_options *options)
{
    switch (option) {
    case OPTION_MAX_AGE:
        options->max_age_ms = option_duration(command, "--max-age", 1000);
        break;
    case OPTION_STALE_OK:
        options->stale_ok = 1;
        break;
    case OPTION_DESCRIPTION:
        if (rowlock__utf8_length(optarg, strlen(optarg)) < 0)
            usage_error(command, "--description: the text is not UTF-8");
        options->description = optarg;
        break;
    case OPTION_REFRESH:
        if (strcmp(optarg, "--") == 0)
            usage_error(command, "--refresh: its command is one word, before the other's --: "
                                 "--refresh 'COMMAND [ARG...]' -- COMMAND [ARG...]");
        options->shell = optarg;
        break;
    case OPTION_KILL_AFTER:
        options->run.kill_after_ms = option_duration(command, "--kill-after", 1000);
        break;
    case OPTION_VERBOSE:
        options->run.verbose = 1;
        break;
    }
}

/* One subject before --, the command after it. */
static void take_words(struct command *command, struct subject_options *options)
{
    if (command->n_rest == 0)
        usage_error(command, "the command is missing: -- COMMAND");
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
    const char *letters =
        verb == SUBJECT_USE ? "xe" LOCK_WAIT_SHORT_OPTIONS : LOCK_WAIT_SHORT_OPTIONS;
    int option;

    *options = (struct subject_options){
        .run = {.lock = lock_options_default(), .kill_after_ms = KILL_AFTER_MS, .max_run_ms = -1},
        .max_age_ms = -1};
    options->run.lock.conflict = -1;
    if (verb == SUBJECT_USE)
        options->run.lock.mode = ROWLOCK_SHARED;
    while ((option = next_option(command, letters,
                                 verb == SUBJECT_USE ? use_options : refresh_options)) != -1)
        if (!take_lock_option(command, option, &options->run.lock))
            take(command, option, options);
    take_words(command, options);
    check(command, verb, options);
    settle_conflict(options);
    settle_run(&options->run);
}
