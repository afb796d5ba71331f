/* SPDX-License-Identifier: Apache-2.0 */
/* The options of the verb run. */
#include <fcntl.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include "run/supervise/run_options.h"
#include "run/supervise/times.h"
#include "util/renewal.h"

struct shell {
    char *command;    /* of -c, or NULL */
    int names_before; /* operands before -c */
};

static void take_shell(const struct command *command, const struct option_row *row, void *into)
{
    struct shell *shell = into;

    (void)row;
    if (shell->command)
        usage_error(command, "-c is given twice: combine the commands, 'one && two'");
    *shell = (struct shell){optarg, command->n_operands};
}

static void take_max_run(const struct command *command, const struct option_row *row, void *into)
{
    set_duration(command, row, into);
    if (*(int64_t *)into < 1)
        usage_error(command, "--max-run must be positive; leave it out for no limit");
}

static void take_report(const struct command *command, const struct option_row *row, void *into)
{
    if (strcmp(optarg, "-") == 0)
        usage_error(command,
                    "--report: '-' is not a file, and standard output belongs to the command; "
                    "name a file, or /dev/stderr");
    set_text(command, row, into);
}

#define AT(member) offsetof(struct run, member)

static const struct option_row options[] = {
    {"tx", 0, no_argument, set_flag, AT(transaction), 0, 0},
    {"verbose", 0, no_argument, set_flag, AT(verbose), 0, 0},
    {"kill-after", 0, required_argument, set_duration, AT(kill_after_ms), 1000, 0},
    {"max-run", 0, required_argument, take_max_run, AT(max_run_ms), 1000, 0},
    {"foreground", 0, no_argument, set_flag, AT(terminal), 0, 0},
    {"report", 0, required_argument, take_report, AT(report), 0, 0},
    {0}};

static const struct option_row shell_option[] = {
    {"command", 'c', required_argument, take_shell, 0, 0, 0}, {0}};

/* Without the quotes that -c needs, `run nightly -c pg_dump -Fc app` would lock `app` too and run a
   bare pg_dump. So names on both sides of -c are refused. */
static void take_command(struct command *command, struct run *run, const struct shell *shell)
{
    if (!shell->command && command->n_rest == 0)
        command_missing(command, ", or -c 'SHELL COMMAND'");
    if (shell->command && command->n_rest > 0)
        usage_error(command, "-c and a command after -- exclude each other");
    if (shell->command && shell->names_before > 0 && command->n_operands > shell->names_before)
        usage_error(command,
                    "'%s' follows the command of -c, which is one string: -c 'COMMAND "
                    "ARG...'; if it is a NAME, write it before -c",
                    shown(command->operands[shell->names_before]));
    run->argv = command->rest;
    if (!shell->command)
        return;
    run->shell[0] = "/bin/sh";
    run->shell[1] = "-c";
    run->shell[2] = shell->command;
    run->argv = run->shell;
}

/* A program such as `less` reads the keyboard even if its input is a pipe. */
int has_terminal(void)
{
    int fd, is = isatty(STDIN_FILENO);

    if (is || (fd = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY | O_NONBLOCK)) < 0)
        return is;
    is = tcgetpgrp(fd) == getpgrp();
    close(fd);
    return is;
}

void settle_run(struct run *run)
{
    if (!run->transaction && !run->lock.ttl_ms)
        run->lock.ttl_ms = ROWLOCK_TTL_MS;
    run->kill_after_ms = kill_after_of(run->kill_after_ms, run->lock.ttl_ms);
    if (!run->terminal)
        run->terminal = has_terminal();
}

void read_run_options(struct command *command, struct run *run)
{
    struct shell shell = {0};

    *run = (struct run){.lock = lock_options_default(), .kill_after_ms = -1, .max_run_ms = -1};
    scan_options(command,
                 (struct option_table[]){
                     {options, run}, {shell_option, &shell}, LOCK_TABLES(&run->lock), {0}});
    finish_lock_options(command, &run->lock);
    /* a transaction lock has no expiry, no note and no permits */
    if (run->transaction && run->lock.limit)
        usage_error(command, "--limit is for leases: not with --tx");
    if (run->transaction && run->lock.ttl_ms)
        usage_error(command, "--ttl is for leases: a transaction (--tx) does not expire");
    if (run->transaction && run->lock.note)
        usage_error(command, "--note is for leases: not with --tx");
    take_command(command, run, &shell);
    settle_run(run);
}
