/* SPDX-License-Identifier: Apache-2.0 */
/* The options of the verb run. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "command/run/run.h"

enum {
    OPTION_TX = OPTION_OWN,
    OPTION_VERBOSE,
    OPTION_KILL_AFTER,
    OPTION_MAX_RUN,
    OPTION_FOREGROUND,
    OPTION_REPORT
};

#define SHORT_OPTIONS LOCK_SHORT_OPTIONS "c:"

static const struct option options[] = {
    LOCK_LONG_OPTIONS,
    {"command", required_argument, NULL, 'c'},
    {"tx", no_argument, NULL, OPTION_TX},
    {"verbose", no_argument, NULL, OPTION_VERBOSE},
    {"kill-after", required_argument, NULL, OPTION_KILL_AFTER},
    {"max-run", required_argument, NULL, OPTION_MAX_RUN},
    {"foreground", no_argument, NULL, OPTION_FOREGROUND},
    {"report", required_argument, NULL, OPTION_REPORT},
    {NULL, 0, NULL, 0},
};

struct shell {
    char *command;    /* of -c, or NULL */
    int names_before; /* it */
};

static void take(struct command *command, int option, struct run *run, struct shell *shell)
{
    switch (option) {
    case 'c':
        if (shell->command)
            usage_error(command, "-c is given twice: combine the commands, 'one && two'");
        *shell = (struct shell){optarg, command->n_operands};
        break;
    case OPTION_TX:
        run->transaction = 1;
        break;
    case OPTION_VERBOSE:
        run->verbose = 1;
        break;
    case OPTION_KILL_AFTER:
        run->kill_after_ms = option_duration(command, "--kill-after", 1000);
        break;
    case OPTION_MAX_RUN:
        run->max_run_ms = option_duration(command, "--max-run", 1000);
        if (run->max_run_ms < 1)
            usage_error(command, "--max-run must be positive; leave it out for no limit");
        break;
    case OPTION_FOREGROUND:
        run->terminal = 1;
        break;
    case OPTION_REPORT:
        if (strcmp(optarg, "-") == 0)
            usage_error(command,
                        "--report: '-' is not a file, and standard output belongs to the command; "
                        "name a file, or /dev/stderr");
        run->report = optarg;
        break;
    }
}

/* Without the quotes that -c needs, `run nightly -c pg_dump -Fc app` would lock `app` too and run a
   bare pg_dump. So names on both sides of -c are refused. */
static void check_shell(const struct command *command, const struct shell *shell)
{
    if (command->n_rest > 0)
        usage_error(command, "-c and a command after -- exclude each other");
    if (shell->names_before > 0 && command->n_operands > shell->names_before)
        usage_error(command,
                    "'%s' follows the command of -c, which is one string: -c 'COMMAND "
                    "ARG...'; if it is a NAME, write it before -c",
                    shown(command->operands[shell->names_before]));
}

static void take_command(struct command *command, struct run *run, const struct shell *shell)
{
    if (shell->command)
        check_shell(command, shell);
    else if (command->n_rest == 0)
        usage_error(command, "the command is missing: -- COMMAND, or -c 'SHELL COMMAND'");
    run->argv = command->rest;
    if (!shell->command)
        return;
    run->shell[0] = "/bin/sh";
    run->shell[1] = "-c";
    run->shell[2] = shell->command;
    run->argv = run->shell;
}

/* A transaction lock has no expiry, no note and no permits. */
static void check_transaction(const struct command *command, const struct run *run)
{
    if (!run->transaction)
        return;
    if (run->lock.limit)
        usage_error(command, "--limit is for leases: not with --tx");
    if (run->lock.ttl_ms)
        usage_error(command, "--ttl is for leases: a transaction (--tx) does not expire");
    if (run->lock.note)
        usage_error(command, "--note is for leases: not with --tx");
}

static void settle_times(struct run *run)
{
    if (!run->transaction && !run->lock.ttl_ms)
        run->lock.ttl_ms = ROWLOCK_TTL_MS;
    run->kill_after_ms = kill_after_of(run->kill_after_ms, run->lock.ttl_ms);
}

/* A program such as `less` reads the keyboard even if its input is a pipe. */
static int is_in_foreground(void)
{
    int fd = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY | O_NONBLOCK), is;

    if (fd < 0)
        return 0;
    is = tcgetpgrp(fd) == getpgrp();
    close(fd);
    return is;
}

int has_terminal(void)
{
    return isatty(STDIN_FILENO) || is_in_foreground();
}

void settle_run(struct run *run)
{
    settle_times(run);
    if (!run->terminal)
        run->terminal = has_terminal();
}

void read_run_options(struct command *command, struct run *run)
{
    struct shell shell = {0};
    int option;

    *run = (struct run){.lock = lock_options_default(), .kill_after_ms = -1, .max_run_ms = -1};
    while ((option = next_option(command, SHORT_OPTIONS, options)) != -1)
        if (!take_lock_option(command, option, &run->lock))
            take(command, option, run, &shell);
    finish_lock_options(command, &run->lock);
    check_transaction(command, run);
    take_command(command, run, &shell);
    settle_run(run);
}
