/* SPDX-License-Identifier: Apache-2.0 */
/* The verb acquire: acquires a lease and prints its token; --while-pid renews it for a process. */
#include <limits.h>
#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

#include "run/lease/take.h"
#include "util/renewal.h"

/* $PPID is 1 after the parent has ended; and init ignores the TERM that a lost lease would send. */
static void take_process(const struct command *command, const struct option_row *row, void *into)
{
    char *end;
    long pid = strtol(optarg, &end, 10);

    if (end != optarg && !*end && pid <= 1)
        usage_error(command,
                    "--while-pid: %ld is not a process that works under a lease; name the one that "
                    "does, in a script $$",
                    pid);
    pid = option_number(command, row);
    if (pid == getpid())
        usage_error(command,
                    "--while-pid: %ld is rowlock itself, which returns with the token; "
                    "name the process that works, without exec",
                    pid);
    *(pid_t *)into = (pid_t)pid;
}

static const struct option_row options[] = {
    {"while-pid", 0, required_argument, take_process, offsetof(struct taking, pid), 2, INT_MAX},
    {"verbose", 0, no_argument, set_flag, offsetof(struct taking, verbose), 0, 0},
    {0}};

int cmd_acquire(struct command *command)
{
    struct taking taking = {
        .command = command, .holder = "acquire", .lock = lock_options_default()};
    struct lock_options *lock = &taking.lock;
    int status;

    scan_options(command, (struct option_table[]){{options, &taking}, LOCK_TABLES(lock), {0}});
    for (int i = 0; i < command->n_rest; i++)
        command->operands[command->n_operands++] = command->rest[i];
    if (command->n_operands > 0 && lock->ttl_ms == 0 && !taking.pid)
        usage_error(command, "--ttl DUR is missing: the lease's duration without renewal, such as "
                             "--ttl 5m");
    if (lock->ttl_ms == 0)
        lock->ttl_ms = ROWLOCK_TTL_MS;
    finish_lock_options(command, lock);
    status = check_output();
    if (!status)
        status = taking.pid ? acquire_while(&taking) : take_and_print(&taking);
    return end_taking(&taking, status);
}
