/* SPDX-License-Identifier: Apache-2.0 */
/* Starts the command under the acquired lock, supervises it, and releases the lock. */
#include <errno.h>
#include <string.h>

#include "run/supervise/child.h"
#include "run/supervise/execute.h"
#include "run/supervise/pass_output.h"
#include "run/supervise/supervise.h"

#define LOST_MS \
    200 /* after a lost lock rowlock ends within a second, even if its output is not read */

static int start(struct watch *watch, struct child *child)
{
    struct guard_plan plan = {.end_ms = watch->end_ms,
                              .max_run_ms = watch->run->max_run_ms,
                              .kill_after_ms = watch->run->kill_after_ms,
                              .own_group = !watch->run->terminal,
                              .dies_with_rowlock = !watch->holding->lease,
                              .become = become_command,
                              .data = child};

    /* in the caller's process group job control stops rowlock together with the command */
    if (watch->run->terminal && watch->holding->lease)
        plan.stand_in = become_stand_in;
    if (guard_start(&watch->guard, &plan)) {
        message("cannot fork: %s", strerror(errno));
        return -1;
    }
    if (!(watch->output && output_start(watch->output)) &&
        keeper_start(&watch->keeper, watch->holding, &watch->run->lock) == 0)
        return 0;
    message("cannot start the renewal thread; ending the command");
    guard_replace(&watch->guard);
    return -1;
}

static int not_started(const struct holding *holding)
{
    finish_not_started(holding, STATUS_FAILED, "no process, thread or descriptor to start it\n");
    return STATUS_FAILED;
}

int execute(const struct run *run, struct signals *signals, const struct descriptors *callers,
            struct holding *holding, struct outcome *outcome)
{
    static struct output output; /* of a thread that may outlive us */
    struct output *kept = run->keeps_output || run->keeps_errors ? &output : NULL;
    struct child child = {run, signals, callers, holding, kept};
    struct watch watch = {.run = run,
                          .holding = holding,
                          .signals = signals,
                          .output = kept,
                          .end_ms = end_of(run, holding),
                          .socket_fd = holding->lease ? -1 : rowlock_socket(holding->connection)};

    if (signals_turn_to_command(signals)) {
        message("cannot create a file descriptor for signals");
        return outcome->status = not_started(holding);
    }
    if (kept && output_open(kept, !run->keeps_output, run->prefix)) {
        message("cannot create a pipe for the command's output: %s", strerror(errno));
        return outcome->status = not_started(holding);
    }
    say_unendable(run);
    if (start(&watch, &child)) {
        outcome->status = not_started(holding);
    } else {
        supervise(&watch);
        outcome->status = finish(&watch);
        outcome->lost = watch.lost;
        if (watch.keeper.asking)
            outcome->stuck = 1;
        else
            keeper_stop(&watch.keeper);
    }
    if (kept)
        output_close(kept, signals, outcome->lost ? LOST_MS : -1);
    return outcome->status;
}
