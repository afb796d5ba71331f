/* SPDX-License-Identifier: Apache-2.0 */
/* After the command's end: releases the lock, records the result, and prints messages. */
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

#include "run/supervise/pass_output.h"
#include "run/supervise/supervise.h"
#include "util/calendar.h"
#include "util/clock.h"

/* After a lost lock, or a signal now, rowlock ends within a second, even if the database does not
   answer. */
#define SOON_MS 800
#define TOLD_MS \
    5000 /* after a signal to end, rowlock waits this long for an unreachable database */
#define PAUSE_LEAST_MS 100
#define PAUSE_MOST_MS 2000

/* ---- releasing ------------------------------------------------------------------------------- */

/* Waits until the database has answered, or `*until` has passed. A signal shortens the wait for a
   hanging database, but leaves time for the release: it may have come twice, or to both us and the
   command. 0, or -N: signal N came. */
static int await_answer(struct watch *watch, int64_t *until)
{
    int number = 0;

    while (watch->keeper.asking) {
        struct pollfd fds[] = {{.fd = watch->signals->fd, .events = POLLIN},
                               {.fd = watch->keeper.fd, .events = POLLIN}};
        int n = poll(fds, 2, rowlock__poll_timeout(*until)), next;

        if (n == 0)
            break;
        next = n > 0 ? signals_next(watch->signals->fd, NULL) : 0;
        if (next && !number) {
            number = -next;
            *until = rowlock__least(*until, rowlock__after(rowlock__now_ms(), SOON_MS));
        }
        if (n > 0 && fds[1].revents)
            keeper_answer(&watch->keeper);
    }
    return number;
}

static int give_back(struct watch *watch, int64_t until)
{
    int number = await_answer(watch, &until), later;

    if (watch->keeper.asking)
        return number;
    keeper_ask(&watch->keeper, KEEPER_END);
    later = await_answer(watch, &until);
    return number ? number : later;
}

/* ---- recording the result -------------------------------------------------------------------- */

static int exit_of(const struct watch *watch)
{
    int how = watch->end.number;

    if (watch->end.event != GUARD_ENDED)
        return STATUS_FAILED;
    if (watch->end.cause == GUARD_TIME_OVER)
        return STATUS_TIME_OVER;
    if (WIFSIGNALED(how))
        return 128 + WTERMSIG(how);
    return WIFEXITED(how) ? WEXITSTATUS(how) : STATUS_FAILED;
}

/* All ways in which a run can end, except `broken`, which the database sets. The first match
   counts. A command that was ended and exited with 0 has not done its work. */
static struct ending ending_of(const struct watch *watch)
{
    const struct guard_report *end = &watch->end;
    int ended = end->event == GUARD_ENDED;
    struct ending ending = {.outcome = ROWLOCK_RUN_FAILED,
                            .exit = exit_of(watch),
                            .output = watch->output ? output_end(watch->output) : NULL};

    if (ended && end->cause == GUARD_TIME_OVER && !watch->lost)
        ending.outcome = ROWLOCK_RUN_TIMEDOUT;
    else if (!end->began)
        ending.outcome = ROWLOCK_RUN_NOTSTARTED;
    else if (watch->lost)
        ending.outcome = ROWLOCK_RUN_LOST;
    else if (ended && end->cause == GUARD_BY_ITSELF && WIFEXITED(end->number) &&
             WEXITSTATUS(end->number) == 0)
        ending.outcome = ROWLOCK_RUN_DONE;
    if (ending.outcome != ROWLOCK_RUN_DONE && ending.exit == 0)
        ending.exit = watch->lost ? STATUS_LOST : 128 + SIGTERM;
    return ending;
}

void finish_not_started(const struct holding *holding, int status, const char *why)
{
    struct ending ending = {.outcome = ROWLOCK_RUN_NOTSTARTED, .exit = status, .output = why};

    if (holding->lease && holding->give_back)
        holding->give_back(holding, &ending, NULL);
    else if (holding->lease)
        rowlock_release(holding->lease, NULL);
}

/* Repeats recording the result while it may be missing from the database, as long as the lease
   lasts. 0, or -N: signal N came meanwhile. */
static int give_back_surely(struct watch *watch, int64_t until)
{
    const struct keeper *keeper = &watch->keeper;
    int64_t pause_ms = PAUSE_LEAST_MS;
    int number = give_back(watch, until), said = 0;

    while (!number && watch->holding->give_back && !keeper->asking &&
           (is_outage(keeper->code) || keeper->code == ROWLOCK_EUNKNOWN) &&
           rowlock_remaining(watch->holding->lease) > 0) {
        if (!said++)
            message("could not record the result of '%s', trying again: %s", keeper->name,
                    keeper->error.text);
        if (rowlock__now_ms() >= until)
            break;
        if (rowlock__is_readable(watch->signals->fd, (int)pause_ms))
            number = -signals_next(watch->signals->fd, NULL);
        pause_ms = rowlock__least(2 * pause_ms, PAUSE_MOST_MS);
        if (!number)
            number = give_back(watch, until);
    }
    return number;
}

/* ---- messages -------------------------------------------------------------------------------- */

/* If the answer to COMMIT was lost, the session was alive when it was sent, so the lock lasted. A
   lease that cannot be released is not lost: no other caller acquires it before it expires. */
static void judge_release(struct watch *watch)
{
    char until[ROWLOCK_INSTANT_SIZE];
    int code = watch->keeper.code;

    if (!code || code == ROWLOCK_EUNKNOWN || watch->lost)
        return;
    if (!watch->holding->lease || code == ROWLOCK_ELOST) {
        watch->lost = 1;
        message("the lock on '%s' was lost before the command had ended: %s", watch->keeper.name,
                watch->keeper.error.text);
    } else {
        rowlock__local_time(time(NULL) * INT64_C(1000) + watch->run->lock.ttl_ms, until,
                            sizeof until);
        message("the lease on '%s' could not be released; it expires by %s: %s", watch->keeper.name,
                until, watch->keeper.error.text);
    }
}

int finish(struct watch *watch)
{
    const struct guard_report *end = &watch->end;
    int64_t until = ROWLOCK_NEVER;
    int number;

    /* Signals before the command's end were for the command: after a ^C that ended it, the lock
       must still be released. */
    while (signals_next(watch->signals->fd, NULL))
        ;
    if (end->event == GUARD_NOT_STARTED)
        message("cannot fork: %s", strerror(end->number));
    if (end->event == GUARD_ENDED && end->cause == GUARD_TIME_OVER)
        message("the command under '%s' exceeded --max-run%s", watch->keeper.name,
                end->survivors.alive ? "" : " and was ended");
    survivors_say_left(watch);
    guard_close(&watch->guard);
    if (end->event == GUARD_ENDED && end->cause == GUARD_LOCK_OVER && !watch->lost) {
        watch->lost = 1;
        message("the lock on '%s' was lost%s", watch->keeper.name,
                end->began ? "" : " before the command was started");
    }
    watch->keeper.ending = ending_of(watch);
    if (watch->lost || watch->told)
        until = rowlock__after(rowlock__now_ms(), watch->lost ? SOON_MS : TOLD_MS);
    number = give_back_surely(watch, until);
    if (number)
        return watch->lost ? STATUS_LOST : number;
    if (!watch->keeper.asking)
        judge_release(watch);
    if (watch->lost)
        return STATUS_LOST;
    if (end->event == GUARD_ENDED && end->cause != GUARD_TIME_OVER && WIFSIGNALED(end->number))
        return -WTERMSIG(end->number);
    if (watch->keeper.ending.outcome == ROWLOCK_RUN_FAILED && watch->told && exit_of(watch) == 0)
        return -SIGTERM; /* the status of a command that does not catch TERM */
    return exit_of(watch);
}
