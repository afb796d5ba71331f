/* SPDX-License-Identifier: Apache-2.0 */
/* Describes a holder or a waiter. */
#include "command/output/holder.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command/output/table.h"

const char *const holder_modes[] = {
    [ROWLOCK_EXCLUSIVE] = "exclusive", [ROWLOCK_SHARED] = "shared", [ROWLOCK_PERMIT] = "permit"};

int is_endless(const struct rowlock_holder *holder)
{
    return holder->remaining_ms > ROWLOCK_UNTIL_RELEASED / 2;
}

char *holder_state(const struct rowlock_holder *holder)
{
    static const char *const states[] = {
        [ROWLOCK_HOLDS] = "held", [ROWLOCK_WAITS] = "waiting", [ROWLOCK_HOLDS_TX] = "held, tx"};

    return strdup(holder->stop ? "held, told to stop" : states[holder->holding]);
}

char *holder_mode(const struct rowlock_holder *holder)
{
    char *text;

    if (holder->mode != ROWLOCK_PERMIT)
        return strdup(holder_modes[holder->mode]);
    if (asprintf(&text, "%d of %d permits", holder->count > 0 ? holder->count : 1, holder->limit) <
        0)
        return NULL;
    return text;
}

/* host:pid command, as far as known; for a transaction the server's id of the session. */
char *holder_who(const struct rowlock_holder *holder)
{
    int transaction = holder->holding == ROWLOCK_HOLDS_TX;
    char *plain, *text, pid[32] = "", session[64] = "";

    if (holder->pid && transaction)
        snprintf(session, sizeof session, ", server session %" PRId64, holder->pid);
    else if (holder->pid)
        snprintf(pid, sizeof pid, ":%" PRId64, holder->pid);
    if (asprintf(&plain, "%s%s%s%s%s", *holder->host ? holder->host : "-", pid,
                 *holder->command ? " " : "", holder->command, session) < 0)
        return NULL;
    text = cell_text(plain);
    free(plain);
    return text;
}

char *holder_left(const struct rowlock_holder *holder)
{
    return holder->expires_ms && !is_endless(holder) ? cell_duration(holder->remaining_ms)
                                                     : strdup("-");
}
