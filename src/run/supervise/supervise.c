/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The loop while the command runs. It renews the lease, or checks that the session lives; reports
 * to the guard until when the lock is certain; passes signals on; and waits for the command's end,
 * all in one poll(). A transaction's session is checked once a second, and also when its socket
 * becomes readable while no question is open: the server may have ended the session.
 */
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "run/supervise/child.h"
#include "run/supervise/supervise.h"
#include "run/supervise/times.h"
#include "system/command/processes.h"
#include "util/clock.h"
#include "util/random.h"

#define PING_MS 1000
#define STOP_LOOK_MS 100 /* a command that was stopped together with us continues sooner */
#define SILENT_GUARD_MS 2000
#define ORPHANS_MS 500 /* between two looks at those of a guard that is gone */

/* ---- the lock's end -------------------------------------------------------------------------- */

int64_t end_of(const struct run *run, const struct holding *holding)
{
    int64_t end = end_of_lease(holding->lease);

    return holding->lease ? end - margin_for_kill(run->lock.ttl_ms) : end;
}

/* A guard that was stopped must not keep the command alive: sets the time to replace it. */
static void expect_end(struct watch *watch)
{
    watch->replace_ms = watch->end_ms;
    if (watch->end_ms != ROWLOCK_NEVER)
        watch->replace_ms += margin_for_kill(watch->run->lock.ttl_ms) / 2;
}

/* ---- the lock -------------------------------------------------------------------------------- */

/* The library's advice to a program that lost a lease follows the semicolon. It is omitted, because
   it is followed here. */
static void lose(struct watch *watch, const char *why)
{
    size_t length = watch->keeper.code == ROWLOCK_ELOST ? strcspn(why, ";") : strlen(why);

    if (watch->lost)
        return;
    watch->lost = 1;
    message("the lock on '%s' is lost, stopping the command: %.*s", watch->run->lock.wants[0].name,
            (int)length, why);
    watch->replace_ms =
        rowlock__after(rowlock__now_ms(), watch->run->kill_after_ms + SILENT_GUARD_MS);
    guard_give(watch->guard.fd, GUARD_END, 0);
}

/* The reason why the lease was not extended in time. */
static const char *why_over(const struct watch *watch)
{
    if (watch->keeper.asking)
        return "the database does not answer";
    return watch->renewal.pause_ms ? watch->keeper.error.text : "it was not renewed in time";
}

/* When the lease ends. While rowlock was stopped, a stand-in may have renewed it: then only the
   guard knows the end. */
static int64_t known_end(const struct watch *watch)
{
    return watch->keeper.overslept ? ROWLOCK_NEVER : end_of_lease(watch->holding->lease);
}

static void ask(struct watch *watch)
{
    watch->socket_quiet = 0;
    watch->stale = 0;
    keeper_ask(&watch->keeper, KEEPER_KEEP);
}

static void take_step(struct watch *watch, struct rowlock_renewal_step step)
{
    if (step.act == ROWLOCK_RENEWAL_SEND)
        ask(watch);
    else if (step.act == ROWLOCK_RENEWAL_SLEEP)
        watch->next_keep_ms = step.until_ms;
    else
        lose(watch,
             watch->renewal.code == ROWLOCK_ELOST ? watch->keeper.error.text : why_over(watch));
}

/* Renews, or checks that the session lives. */
static void keep(struct watch *watch)
{
    int64_t now = rowlock__now_ms();

    if (watch->holding->lease)
        take_step(watch, rowlock__renewal_now(&watch->renewal, now, known_end(watch)));
    else
        ask(watch);
}

/* Prints the first of several failures. */
static void take_result(struct watch *watch, int code)
{
    int64_t now = rowlock__now_ms();
    int failed_before = watch->renewal.pause_ms != 0;
    struct rowlock_renewal_step step;

    if (!code) {
        watch->end_ms = end_of(watch->run, watch->holding);
        watch->keeper.overslept = 0;
        expect_end(watch);
        guard_give(watch->guard.fd, GUARD_EXTEND, watch->end_ms);
        if (failed_before && watch->run->verbose)
            message("the lease on '%s' is renewed again", watch->keeper.name);
    }
    step = rowlock__renewal_next(&watch->renewal, now, known_end(watch), code, rowlock__dice());
    if (code && step.act == ROWLOCK_RENEWAL_SLEEP && !failed_before)
        message("the lease on '%s' could not be renewed, trying again: %s", watch->keeper.name,
                watch->keeper.error.text);
    take_step(watch, step);
}

static void take_answer(struct watch *watch)
{
    int code = keeper_answer(&watch->keeper);

    if (watch->lost)
        return;
    if (watch->stale)
        keep(watch);
    else if (watch->holding->lease)
        take_result(watch, code);
    else if (code)
        lose(watch, watch->keeper.error.text);
    else
        watch->next_keep_ms = rowlock__after(rowlock__now_ms(), PING_MS);
}

/* ---- signals --------------------------------------------------------------------------------- */

/* The command defines the meaning of SIGUSR1 and SIGUSR2, so its descendants do not get them. */
static void pass_on(struct watch *watch)
{
    int number, by_kernel;

    while ((number = signals_next(watch->signals->fd, &by_kernel))) {
        /* A signal of the terminal reached the command too if it is in our group, and existed by
           then. But SIGHUP for a terminal that hung up goes to the session's leader alone. */
        int has_reached = watch->guard.has_command && watch->run->terminal && by_kernel &&
                          !(number == SIGHUP && getsid(0) == getpid());

        if (number == SIGTERM && watch->run->ends_on_term) {
            watch->told = 1;
            guard_give(watch->guard.fd, GUARD_STOP, 0);
        } else if (!has_reached) {
            guard_signal(&watch->guard, number, number != SIGUSR1 && number != SIGUSR2);
        }
    }
}

/* The command stopped itself, and the shell that started us waits for us alone, so we stop too. But
   the command may run again already, and the report of that be under way. */
static void stop_too(struct watch *watch)
{
    struct process command;

    watch->stop_look_ms = ROWLOCK_NEVER;
    if (watch->lost || !process_read(watch->guard.command, &command) || !command.is_stopped)
        return;
    if (watch->keeper.asking) { /* a transaction left open would block the stand-in */
        watch->stop_look_ms = rowlock__after(rowlock__now_ms(), STOP_LOOK_MS);
        return;
    }
    signals_stop();
    guard_signal(&watch->guard, SIGCONT, 0);
}

/* We may have been stopped for a long time, by job control or by another process. The stand-in may
   have renewed the lease: the guard knows its end, and gets time to report it. 1: we were. */
static int wake(struct watch *watch)
{
    int64_t now = rowlock__now_ms();

    if (!signals_next(watch->signals->awake_fd, NULL))
        return 0;
    if (watch->lost)
        return 1;
    watch->keeper.overslept = 1;
    watch->stale = watch->keeper.asking;
    watch->next_keep_ms = now;
    if (now >= watch->replace_ms)
        watch->replace_ms = now + SILENT_GUARD_MS;
    guard_give(watch->guard.fd, GUARD_ASK, 0);
    return 1;
}

/* ---- the guard ------------------------------------------------------------------------------- */

/* Takes all waiting reports: after a long stop the clock alone is misleading, because a report that
   waits may have a later end of the lease. */
static void take_reports(struct watch *watch)
{
    struct guard_report report;

    do {
        guard_next(&watch->guard, &report);
        switch (report.event) {
        case GUARD_NOTHING:
        case GUARD_STARTED:
            break;
        case GUARD_NOT_EXECUTED:
            if (!watch->output) /* else its process has written the reason to the kept output */
                say_not_executed(watch->run->argv[0], report.number);
            break;
        case GUARD_STOPPED:
            if (watch->run->terminal && !watch->lost)
                watch->stop_look_ms = rowlock__after(rowlock__now_ms(), STOP_LOOK_MS);
            break;
        case GUARD_CONTINUED:
            watch->stop_look_ms = ROWLOCK_NEVER;
            break;
        case GUARD_UNTIL:
            if (!watch->lost && report.end_ms > watch->end_ms) {
                watch->end_ms = report.end_ms;
                expect_end(watch);
            }
            break;
        case GUARD_ENDING:
            if (report.cause == GUARD_LOCK_OVER)
                lose(watch, why_over(watch));
            break;
        case GUARD_SURVIVED:
            survivors_take(watch, &report);
            break;
        case GUARD_NOT_STARTED:
        case GUARD_ENDED:
        case GUARD_GONE:
            watch->end = report;
            watch->done = 1;
            break;
        }
    } while (!watch->done && report.event != GUARD_NOTHING);
}

/* ---- the loop -------------------------------------------------------------------------------- */

static void on_time(struct watch *watch)
{
    int64_t now = rowlock__now_ms();

    if (now >= watch->replace_ms && !wake(watch)) {
        lose(watch, why_over(watch));
        watch->end = (struct guard_report){.event = GUARD_GONE, .cause = GUARD_LOCK_OVER};
        watch->done = 1;
    }
    if (now >= watch->say_ms)
        survivors_say(watch);
    if (now >= watch->stop_look_ms)
        stop_too(watch);
    else if (!watch->keeper.asking && !watch->lost && now >= watch->next_keep_ms)
        keep(watch);
}

/* Signals come before reports: see pass_on(). Reports come before the answer: once the command has
   ended, the release shows whether its lock was lost. */
static void turn(struct watch *watch)
{
    int listen = !watch->lost && !watch->keeper.asking && !watch->socket_quiet;
    struct pollfd fds[] = {{.fd = watch->guard.fd, .events = POLLIN},
                           {.fd = watch->signals->fd, .events = POLLIN},
                           {.fd = watch->keeper.fd, .events = POLLIN},
                           {.fd = watch->signals->awake_fd, .events = POLLIN},
                           {.fd = listen ? watch->socket_fd : -1, .events = POLLIN}};
    int64_t next = rowlock__least(watch->replace_ms, watch->stop_look_ms);

    next = rowlock__least(rowlock__least(next, watch->say_ms), watch->look_ms);
    if (!watch->keeper.asking && !watch->lost)
        next = rowlock__least(next, watch->next_keep_ms);
    if (poll(fds, sizeof fds / sizeof *fds, rowlock__poll_timeout(next)) < 0)
        return;
    if (fds[3].revents)
        wake(watch);
    if (fds[1].revents)
        pass_on(watch);
    if (fds[0].revents)
        take_reports(watch);
    if (watch->done)
        return;
    if (fds[2].revents)
        take_answer(watch);
    if (fds[4].revents && !watch->keeper.asking) {
        ask(watch);
        watch->socket_quiet = 1; /* once: if the session lives, the next ping is in a second */
    }
    on_time(watch);
}

/* The guard was killed, or does not react. Those of its orphans that do not end are watched here,
   until they have ended, or the lock is lost. */
static void replace_guard(struct watch *watch)
{
    if (!watch->lost)
        message("the command's guard process was killed: ending the command too");
    watch->end.cause = GUARD_LOCK_OVER;
    watch->end.survivors = guard_replace(&watch->guard);
    guard_close(&watch->guard);
    watch->done = 0;
    while (watch->end.survivors.alive && !watch->lost && !watch->done) {
        survivors_take(watch, &watch->end);
        watch->look_ms = rowlock__after(rowlock__now_ms(), ORPHANS_MS);
        turn(watch);
        watch->end.survivors = guard_orphans(&watch->guard);
    }
    watch->end.began = watch->guard.has_command;
}

void supervise(struct watch *watch)
{
    int64_t now = rowlock__now_ms();

    watch->renewal.ttl_ms = watch->run->lock.ttl_ms;
    watch->next_keep_ms = now + PING_MS;
    watch->stop_look_ms = ROWLOCK_NEVER;
    watch->say_ms = watch->look_ms = ROWLOCK_NEVER;
    expect_end(watch);
    if (watch->holding->lease)
        take_step(watch, rowlock__renewal_start(&watch->renewal, now, known_end(watch)));
    while (!watch->done)
        turn(watch);
    if (watch->end.event == GUARD_GONE)
        replace_guard(watch);
}
