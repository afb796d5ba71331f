/* SPDX-License-Identifier: Apache-2.0 */
/* Describes a holder or a waiter. */
#include "command/output/words.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "command/output/table.h"

const char *const holder_modes[] = {
    [ROWLOCK_EXCLUSIVE] = "exclusive", [ROWLOCK_SHARED] = "shared", [ROWLOCK_PERMIT] = "permit"};

int is_endless(const struct rowlock_holder *holder)
{
    return holder->remaining_ms > ROWLOCK_UNTIL_RELEASED / 2;
}

int is_hold(const struct rowlock_holder *holder)
{
    return holder->pid == 0 && (strcmp(holder->command, "hold") == 0 ||
                                strncmp(holder->command, HOLD_BY, strlen(HOLD_BY)) == 0);
}

char *holder_state(const struct rowlock_holder *holder)
{
    static const char *const states[] = {
        [ROWLOCK_HOLDS] = "held", [ROWLOCK_WAITS] = "waiting", [ROWLOCK_HOLDS_TX] = "held, tx"};

    return strdup(holder->stop ? "held, told to stop" : states[holder->holding]);
}

char *holder_mode(const struct rowlock_holder *holder)
{
    if (holder->mode != ROWLOCK_PERMIT)
        return strdup(holder_modes[holder->mode]);
    return cell_format("%d of %d permits", holder->count > 0 ? holder->count : 1, holder->limit);
}

static char *who_of(const char *host, int64_t pid, const char *command, const char *session)
{
    char process[32] = "";

    if (pid)
        snprintf(process, sizeof process, ":%" PRId64, pid);
    return cell_format("%s%s%s%s%s", *host ? host : "-", process, *command ? " " : "", command,
                       session);
}

char *who_cell(const char *host, int64_t pid, const char *command)
{
    return who_of(host, pid, command, "");
}

char *holder_who(const struct rowlock_holder *holder)
{
    char session[64] = "";

    if (holder->holding != ROWLOCK_HOLDS_TX)
        return who_cell(holder->host, holder->pid, holder->command);
    if (holder->pid)
        snprintf(session, sizeof session, ", server session %" PRId64, holder->pid);
    return who_of(holder->host, 0, holder->command, session);
}

char *holder_left(const struct rowlock_holder *holder)
{
    return holder->expires_ms && !is_endless(holder) ? cell_duration(holder->remaining_ms)
                                                     : strdup("-");
}

const char *const job_healths[] = {
    [ROWLOCK_HEALTH_FINE] = "fine",       [ROWLOCK_HEALTH_PAUSED] = "paused",
    [ROWLOCK_HEALTH_SLOW] = "slow",       [ROWLOCK_HEALTH_LATE] = "late",
    [ROWLOCK_HEALTH_FAILING] = "failing", [ROWLOCK_HEALTH_LOST] = "lost"};

struct rowlock_job_view settled(const struct rowlock_job_view *job)
{
    struct rowlock_job_view view = *job;

    if (!view.running.token || view.running.outcome == ROWLOCK_RUN_RUNNING)
        return view;
    view.last = view.running;
    view.running.token = 0;
    return view;
}

char *run_result(const struct rowlock_run *run)
{
    if (!run->token)
        return strdup("-");
    if (run->outcome != ROWLOCK_RUN_FAILED)
        return strdup(rowlock_outcome_text(run->outcome));
    return cell_format("exit %d", run->exit);
}

int has_ended(const struct rowlock_run *run)
{
    return run->token && run->finished_ms > 0 && run->outcome != ROWLOCK_RUN_LOST &&
           run->outcome != ROWLOCK_RUN_NOTSTARTED;
}
