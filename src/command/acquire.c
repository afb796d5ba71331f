/* SPDX-License-Identifier: Apache-2.0 */
/* The verb acquire: acquires a lease and prints its token; --while-pid renews it for a process. */
#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

#include "command/lease/take.h"

enum { OPTION_WHILE_PID = OPTION_OWN, OPTION_VERBOSE };

/* $PPID is 1 after the parent has ended; and init ignores the TERM that a lost lease would send. */
static pid_t option_process(const struct command *command)
{
    char *end;
    long pid = strtol(optarg, &end, 10);

    if (end != optarg && !*end && pid <= 1)
        usage_error(command,
                    "--while-pid: %ld is not a process that works under a lease; name the one that "
                    "does, in a script $$",
                    pid);
    pid = option_number(command, "--while-pid", 2, INT_MAX);
    if (pid == getpid())
        usage_error(command,
                    "--while-pid: %ld is rowlock itself, which returns with the token; "
                    "name the process that works, without exec",
                    pid);
    return (pid_t)pid;
}

static void read_options(struct command *command, struct taking *taking, pid_t *pid)
{
    static const struct option options[] = {
        {"while-pid", required_argument, NULL, OPTION_WHILE_PID},
        {"verbose", no_argument, NULL, OPTION_VERBOSE},
        LOCK_LONG_OPTIONS,
        {NULL, 0, NULL, 0}};
    struct lock_options *lock = &taking->lock;
    int option;

    *pid = 0;
    *lock = lock_options_default();
    while ((option = next_option(command, LOCK_SHORT_OPTIONS, options)) != -1)
        if (option == OPTION_WHILE_PID)
            *pid = option_process(command);
        else if (option == OPTION_VERBOSE)
            taking->verbose = 1;
        else
            take_lock_option(command, option, lock);
    for (int i = 0; i < command->n_rest; i++)
        command->operands[command->n_operands++] = command->rest[i];
    if (command->n_operands > 0 && lock->ttl_ms == 0 && !*pid)
        usage_error(command, "--ttl DUR is missing: the lease's duration without renewal, such as "
                             "--ttl 5m");
    if (lock->ttl_ms == 0)
        lock->ttl_ms = ROWLOCK_TTL_MS;
    finish_lock_options(command, lock);
}

int cmd_acquire(struct command *command)
{
    struct taking taking = {.command = command, .holder = "acquire"};
    pid_t pid;

    read_options(command, &taking, &pid);
    if (check_output())
        return end_taking(&taking, STATUS_FAILED);
    if (pid)
        return end_taking(&taking, acquire_while(&taking, pid));
    return end_taking(&taking, take_and_print(&taking));
}
