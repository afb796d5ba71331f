/* SPDX-License-Identifier: Apache-2.0 */
/* The verb run: runs a command under a lease, or under a transaction lock (--tx). */
#include <stdlib.h>

#include "run/supervise/child.h"
#include "run/supervise/execute.h"

/* A ^C after the command's end is for us, or for the shell loop around us, which continues if we
   end normally: so we end by the signal, whatever we are doing. USR1 and USR2 were for the command.
   A lost lock has priority. */
static void apply_late_signals(const struct signals *signals, struct outcome *outcome)
{
    int number;

    while (outcome->status >= 0 && !outcome->lost &&
           (number = signals_next(signals->fd >= 0 ? signals->fd : signals->wait_fd, NULL)))
        if (number != SIGUSR1 && number != SIGUSR2)
            outcome->status = -number;
}

int cmd_run(struct command *command)
{
    struct descriptors *callers = descriptors_of_caller();
    struct outcome outcome = {.status = STATUS_FAILED};
    struct holding holding = {0};
    struct signals signals;
    struct run run;
    int fd = -1;

    read_run_options(command, &run);
    if (!callers || signals_open(&signals)) {
        message("no memory or cannot create a file descriptor for signals");
        return STATUS_FAILED;
    }
    if (!run.report || (fd = report_open(run.report)) >= 0)
        outcome.status = connect_to_run(command, &run, &signals, &holding.connection);
    if (!outcome.status)
        outcome.status = acquire(&run, &signals, &holding, &outcome.acquired);
    outcome.waited_ms = holding.waited_ms;
    outcome.token = holding.lease ? rowlock_token(holding.lease) : 0;
    if (outcome.acquired)
        outcome.status = execute(&run, &signals, callers, &holding, &outcome);
    if (!outcome.stuck) {
        rowlock_lease_free(holding.lease);
        rowlock_close(holding.connection);
    }
    apply_late_signals(&signals, &outcome);
    if (fd >= 0)
        report_write(fd, &outcome, &run.lock);
    apply_late_signals(&signals, &outcome);
    if (outcome.stuck)
        end_at_once(outcome.status); /* whatever the database does */
    free(run.lock.wants);
    free(callers);
    return outcome.status;
}
