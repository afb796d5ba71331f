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

static const char *name_of(const struct watch *watch)
{
    return watch->run->lock.wants[0].name;
}

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

/* All ways in which a run can end, except `broken`, which the database sets. The first match
   counts. */
static enum rowlock_run_outcome outcome_of(const struct watch *watch)
{
    const struct guard_report *end = &watch->end;
    int ended = end->event == GUARD_ENDED;

    if (ended && end->cause == GUARD_TIME_OVER && !watch->lost)
        return ROWLOCK_RUN_TIMEDOUT;
    if (!end->began)
        return ROWLOCK_RUN_NOTSTARTED;
    if (watch->lost)
        return ROWLOCK_RUN_LOST;
    return ended && end->cause == GUARD_BY_ITSELF && WIFEXITED(end->number) &&
                   WEXITSTATUS(end->number) == 0
               ? ROWLOCK_RUN_DONE
               : ROWLOCK_RUN_FAILED;
}

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

/* A command that was ended and exited with 0 has not done its work. */
static struct ending ending_of(const struct watch *watch)
{
    struct ending ending = {.outcome = outcome_of(watch),
                            .exit = exit_of(watch),
                            .output = watch->output ? output_end(watch->output) : NULL};

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

/* Whether the result may be missing from the database, and the lease is still ours. */
static int is_worth_repeating(const struct watch *watch)
{
    int code = watch->keeper.code;

    return watch->holding->give_back && !watch->keeper.asking &&
           (is_outage(code) || code == ROWLOCK_EUNKNOWN) &&
           rowlock_remaining(watch->holding->lease) > 0;
}

/* Repeats recording the result as long as the lease lasts. */
static int give_back_surely(struct watch *watch, int64_t until)
{
    int64_t pause_ms = PAUSE_LEAST_MS;
    int number = give_back(watch, until);

    if (!number && is_worth_repeating(watch))
        message("could not record the result of '%s', trying again: %s", name_of(watch),
                watch->keeper.error.text);
    while (!number && is_worth_repeating(watch) && rowlock__now_ms() < until) {
        int came = rowlock__is_readable(watch->signals->fd, (int)pause_ms);

        /* number is 0, or -N if signal N came meanwhile */
        number = came ? -signals_next(watch->signals->fd, NULL) : 0;
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
        message("the lock on '%s' was lost before the command had ended: %s", name_of(watch),
                watch->keeper.error.text);
    } else {
        rowlock__local_time(time(NULL) * INT64_C(1000) + watch->run->lock.ttl_ms, until,
                            sizeof until);
        message("the lease on '%s' could not be released; it expires by %s: %s", name_of(watch),
                until, watch->keeper.error.text);
    }
}

static int status_of(const struct watch *watch)
{
    if (watch->lost)
        return STATUS_LOST;
    if (watch->end.event == GUARD_ENDED && watch->end.cause != GUARD_TIME_OVER &&
        WIFSIGNALED(watch->end.number))
        return -WTERMSIG(watch->end.number);
    if (watch->keeper.ending.outcome == ROWLOCK_RUN_FAILED && watch->told && exit_of(watch) == 0)
        return -SIGTERM; /* the status of a command that does not catch TERM */
    return exit_of(watch);
}

static int64_t release_deadline(const struct watch *watch)
{
    if (!watch->lost && !watch->told)
        return ROWLOCK_NEVER;
    return rowlock__after(rowlock__now_ms(), watch->lost ? SOON_MS : TOLD_MS);
}

int finish(struct watch *watch)
{
    int number;

    /* Signals before the command's end were for the command: after a ^C that ended it, the lock
       must still be released. */
    while (signals_next(watch->signals->fd, NULL))
        ;
    if (watch->end.event == GUARD_NOT_STARTED)
        message("cannot fork: %s", strerror(watch->end.number));
    if (watch->end.event == GUARD_ENDED && watch->end.cause == GUARD_TIME_OVER)
        message("the command under '%s' exceeded --max-run%s", name_of(watch),
                watch->end.survivors.alive ? "" : " and was ended");
    survivors_say_left(watch);
    guard_close(&watch->guard);
    if (watch->end.event == GUARD_ENDED && watch->end.cause == GUARD_LOCK_OVER && !watch->lost) {
        watch->lost = 1;
        message("the lock on '%s' was lost%s", name_of(watch),
                watch->end.began ? "" : " before the command was started");
    }
    watch->keeper.ending = ending_of(watch);
    number = give_back_surely(watch, release_deadline(watch));
    if (number)
        return watch->lost ? STATUS_LOST : number;
    if (!watch->keeper.asking)
        judge_release(watch);
    return status_of(watch);
}
