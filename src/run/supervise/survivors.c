/* SPDX-License-Identifier: Apache-2.0 */
/* Messages about processes that work on after the command's end, with the lock or without it. */
#include "run/supervise/supervise.h"
#include "util/clock.h"

#define SAY_AGAIN_MS 30000 /* the first pause between two messages; doubled each time */
#define SAY_MOST_MS 3600000

static const char *ending_of(const struct watch *watch)
{
    switch (watch->left.cause) {
    case GUARD_TIME_OVER:
        return "exceeded --max-run";
    case GUARD_TOLD:
        return "was stopped";
    case GUARD_BY_ITSELF:
        return "ended after a signal";
    case GUARD_LOCK_OVER:
        break;
    }
    return "lost its guard process";
}

void survivors_say(struct watch *watch)
{
    const struct tree *tree = &watch->left.survivors;
    char pids[TREE_PIDS_SIZE];
    int n = tree->alive;

    tree_pids(tree, pids, sizeof pids);
    message("the command under '%s' %s, but %d process%s of it cannot be ended: %s; the %s is kept "
            "until %s ended%s",
            watch->keeper.name, ending_of(watch), n, n == 1 ? "" : "es", pids,
            watch->holding->lease ? "lease" : "transaction", n == 1 ? "it has" : "they have",
            watch->holding->lease ? ", or until rowlock break revokes it" : "");
    watch->say_pause_ms =
        watch->say_pause_ms ? rowlock__least(2 * watch->say_pause_ms, SAY_MOST_MS) : SAY_AGAIN_MS;
    watch->say_ms = rowlock__after(rowlock__now_ms(), watch->say_pause_ms);
}

void survivors_take(struct watch *watch, const struct guard_report *report)
{
    int is_first = watch->left.event == GUARD_NOTHING;

    watch->left = *report;
    if (is_first && !watch->lost)
        survivors_say(watch);
}

void survivors_say_left(const struct watch *watch)
{
    const struct tree *tree = &watch->end.survivors;
    char pids[TREE_PIDS_SIZE];
    int n = tree->alive;

    tree_pids(tree, pids, sizeof pids);
    if (n > 0 && watch->end.cause == GUARD_BY_ITSELF)
        message("%d process%s that the command started run%s on without the lock on '%s': %s", n,
                n == 1 ? "" : "es", n == 1 ? "s" : "", watch->keeper.name, pids);
    else if (n > 0)
        message("%d process%s of the command did not end: %s", n, n == 1 ? "" : "es", pids);
    else if (watch->left.event != GUARD_NOTHING)
        message("the processes of the command under '%s' have ended", watch->keeper.name);
}
