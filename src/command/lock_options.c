/* SPDX-License-Identifier: Apache-2.0 */
/* The options of all verbs that acquire a lock. */
#include "command/lock_options.h"

#include <limits.h>
#include <stddef.h>
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

static void take_mode(const struct command *command, const struct option_row *row, void *into)
{
    struct lock_options *options = into;

    (void)command;
    options->mode = (enum rowlock_mode)row->least;
    options->mode_said = 1;
}

static void take_wait(const struct command *command, const struct option_row *row, void *into)
{
    struct lock_options *options = into;

    options->wait_ms = option_duration(command, row);
    options->waits = 1;
}

/* The library checks this too, but its error speaks of a ttl. */
void take_lasting(const struct command *command, const struct option_row *row, void *into)
{
    int64_t ms = option_duration(command, row);

    if (ms < ROWLOCK_TTL_LEAST_MS)
        usage_error(command, "--%s: a lease lasts 1s at least", row->name);
    if (ms > ROWLOCK_UNTIL_RELEASED)
        usage_error(command, "--%s: a lease lasts 100 years at most", row->name);
    *(int64_t *)into = ms;
}

#define AT(member) offsetof(struct lock_options, member)

const struct option_row lock_exclusive_options[] = {
    {"exclusive", 'x', no_argument, take_mode, 0, ROWLOCK_EXCLUSIVE, 0},
    {NULL, 'e', no_argument, take_mode, 0, ROWLOCK_EXCLUSIVE, 0},
    {0}};

const struct option_row lock_mode_options[] = {
    {"shared", 's', no_argument, take_mode, 0, ROWLOCK_SHARED, 0},
    {"limit", 0, required_argument, set_number, AT(limit), 1, INT_MAX},
    {0}};

const struct option_row lock_wait_options[] = {
    {"nonblock", 'n', no_argument, set_flag, AT(tries), 0, 0},
    {"nb", 0, no_argument, set_flag, AT(tries), 0, 0},
    {"wait", 'w', required_argument, take_wait, 0, 1000, 0},
    {"timeout", 0, required_argument, take_wait, 0, 1000, 0},
    {"conflict-exit-code", 'E', required_argument, set_number, AT(conflict), 0, 255},
    {0}};

const struct option_row lock_note_options[] = {
    {"quiet", 'q', no_argument, set_flag, AT(quiet), 0, 0},
    {"note", 0, required_argument, set_utf8, AT(note), 0, 0},
    {0}};

const struct option_row lock_ttl_options[] = {
    {"ttl", 0, required_argument, take_lasting, AT(ttl_ms), 1000, 0}, {0}};

/* ---- names --------------------------------------------------------------------------------- */

void finish_lock_options(const struct command *command, struct lock_options *options)
{
    enum rowlock_mode mode = options->limit ? ROWLOCK_PERMIT : options->mode;

    if (command->n_operands == 0)
        name_missing(command);
    if (options->tries && options->waits)
        usage_error(command, "-n and -w exclude each other");
    if (options->tries)
        options->wait_ms = 0;
    if (options->limit && options->mode_said)
        usage_error(command, "--limit counts permits: it goes with neither -x nor -s");
    if (options->limit && command->n_operands != 1)
        usage_error(command, "--limit is for one NAME");
    options->mode = mode;
    options->n = (size_t)command->n_operands;
    options->wants = calloc(options->n, sizeof *options->wants);
    if (!options->wants)
        exit(out_of_memory());
    for (size_t i = 0; i < options->n; i++) {
        const char *name = command->operands[i];
        size_t length = strlen(name);

        /* The library checks the name too, but only once it is connected. */
        if (length == 0)
            usage_error(command, "a name must not be empty");
        if (length > NAME_MAX_BYTES)
            usage_error(command, "the name '%.40s...' has more than %d bytes", shown(name),
                        NAME_MAX_BYTES);
        if (rowlock__utf8_length(name, length) < 0)
            usage_error(command, "the name '%s' is not UTF-8", shown(name));
        options->wants[i] =
            (struct rowlock_want){.name = name, .mode = mode, .limit = options->limit};
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

const char *one_name(struct command *command)
{
    struct lock_options checked = lock_options_default();

    for (int i = 0; i < command->n_rest; i++)
        command->operands[command->n_operands++] = command->rest[i];
    command->n_rest = 0;
    if (command->n_operands > 1)
        usage_error(command, "only one NAME is allowed: unexpected '%s'",
                    shown(command->operands[1]));
    finish_lock_options(command, &checked);
    free(checked.wants);
    return command->operands[0];
}
