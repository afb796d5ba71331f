/* SPDX-License-Identifier: Apache-2.0 */
/* The options of all verbs that acquire a lock. */
#include "command/lock_options.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "util/clock.h"
#include "util/renewal.h"
#include "util/utf8.h"

#define NAME_MAX_BYTES 255

struct lock_options lock_options_default(void)
{
    return (struct lock_options){
        .mode = ROWLOCK_EXCLUSIVE, .wait_ms = -1, .conflict = STATUS_NOT_ACQUIRED};
}

/* ---- values -------------------------------------------------------------------------------- */

static void take_mode(struct lock_options *options, enum rowlock_mode mode)
{
    options->mode = mode;
    options->mode_said = 1;
}

/* The database stores UTF-8 text, and its own error would be less clear. */
static void take_note(const struct command *command, struct lock_options *options)
{
    if (rowlock__utf8_length(optarg, strlen(optarg)) < 0)
        usage_error(command, "--note: the text is not UTF-8");
    options->note = optarg;
}

/* The library checks this too, but only calls it a ttl. */
int64_t option_lasting(const struct command *command, const char *option)
{
    int64_t ms = option_duration(command, option, 1000);

    if (ms < ROWLOCK_TTL_LEAST_MS)
        usage_error(command, "%s: a lease lasts 1s at least", option);
    if (ms > ROWLOCK_UNTIL_RELEASED)
        usage_error(command, "%s: a lease lasts 100 years at most", option);
    return ms;
}

int take_lock_option(const struct command *command, int option, struct lock_options *options)
{
    switch (option) {
    case 'x':
    case 'e':
        take_mode(options, ROWLOCK_EXCLUSIVE);
        return 1;
    case 's':
        take_mode(options, ROWLOCK_SHARED);
        return 1;
    case 'n':
        options->tries = 1;
        return 1;
    case 'w':
        options->wait_ms = option_duration(command, "--wait", 1000);
        options->waits = 1;
        return 1;
    case 'q':
        options->quiet = 1;
        return 1;
    case 'E':
        options->conflict = (int)option_number(command, "--conflict-exit-code", 0, 255);
        return 1;
    case OPTION_LIMIT:
        options->limit = (int)option_number(command, "--limit", 1, INT_MAX);
        return 1;
    case OPTION_TTL:
        options->ttl_ms = option_lasting(command, "--ttl");
        return 1;
    case OPTION_NOTE:
        take_note(command, options);
        return 1;
    }
    return 0;
}

/* ---- names --------------------------------------------------------------------------------- */

/* The library checks this too, but only once it is connected. */
static void check_name(const struct command *command, const char *name)
{
    size_t length = strlen(name);

    if (length == 0)
        usage_error(command, "a name must not be empty");
    if (length > NAME_MAX_BYTES)
        usage_error(command, "the name '%.40s...' has more than %d bytes", shown(name),
                    NAME_MAX_BYTES);
    if (rowlock__utf8_length(name, length) < 0)
        usage_error(command, "the name '%s' is not UTF-8", shown(name));
}

static void check_limit(const struct command *command, const struct lock_options *options)
{
    if (options->limit && options->mode_said)
        usage_error(command, "--limit counts permits: it goes with neither -x nor -s");
    if (options->limit && command->n_operands != 1)
        usage_error(command, "--limit is for one NAME");
}

void finish_lock_options(const struct command *command, struct lock_options *options)
{
    enum rowlock_mode mode = options->limit ? ROWLOCK_PERMIT : options->mode;

    if (command->n_operands == 0)
        name_missing(command);
    if (options->tries && options->waits)
        usage_error(command, "-n and -w exclude each other");
    if (options->tries)
        options->wait_ms = 0;
    check_limit(command, options);
    options->mode = mode;
    options->n = (size_t)command->n_operands;
    options->wants = calloc(options->n, sizeof *options->wants);
    if (!options->wants) {
        message("out of memory");
        exit(STATUS_FAILED);
    }
    for (size_t i = 0; i < options->n; i++) {
        check_name(command, command->operands[i]);
        options->wants[i] = (struct rowlock_want){
            .name = command->operands[i], .mode = mode, .limit = options->limit};
    }
    if (options->wait_ms > 0)
        options->deadline_ms = rowlock__after(rowlock__now_ms(), options->wait_ms);
}

int64_t lock_wait_left(const struct lock_options *options)
{
    int64_t left;

    if (!options->deadline_ms)
        return options->wait_ms;
    left = options->deadline_ms - rowlock__now_ms();
    return left < 0 ? 0 : left;
}
