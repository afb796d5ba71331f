/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One act: starts five clones, releases them together, and strikes the first that sends; the others
 * stay untouched. It waits for events that the processes report, and for states of the database.
 */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "command/command.h"
#include "demo/clones.h"
#include "demo/demo_log.h"
#include "system/command/calls.h"
#include "system/system.h"
#include "util/clock.h"

#define SEND_MS 1200  /* duration of a delivery to the mail server */
#define STRIKE_MS 500 /* from the start of the delivery to the blow */
#define RETRY_MS 10   /* if the blow would hit the middle of a statement */
#define FRAME_MS 40   /* between two pictures */
#define LONGEST_MS 60000

/* ---- reported events ------------------------------------------------------------------------- */

/* The victim is the latest sender before the blow. An earlier sender lost its lease by itself. */
static void take_sending(struct clones_act *act, const struct clones_item *item)
{
    if (act->script->blow == CLONES_NO_BLOW || act->struck) {
        act->gate_ms[item->clone] = item->at_ms + SEND_MS;
        return;
    }
    act->victim = item->clone;
    act->sender = item->pid;
    act->token = item->token;
    act->strike_ms = item->at_ms + STRIKE_MS;
}

/* Takes the wake-up before it reads the log, because a later event sends another one. */
static void take_events(struct clones_act *act)
{
    const struct clones_item *events[CLONES_ITEMS];
    size_t n;

    rowlock__wakeup_take(&act->farm.told);
    n = clones_events(act->farm.log, events);
    for (size_t i = 0; i < n; i++) {
        size_t at = (size_t)(events[i] - act->farm.log->items);

        if (!act->seen[at]++) {
            if (events[i]->event == CLONES_SENDING)
                take_sending(act, events[i]);
            else if (events[i]->event == CLONES_SENT)
                act->counts.sent++;
            else if (events[i]->event == CLONES_FINISHED)
                act->finished = 1;
        }
    }
}

static int has_told(const struct clones_act *act, int clone, enum clones_event event)
{
    return clones_find(act->farm.log, clone, event) != NULL;
}

/* Whether another clone has claimed the mail after the victim. */
static int has_successor(const struct clones_act *act)
{
    const struct clones_item *events[CLONES_ITEMS];
    size_t n = clones_events(act->farm.log, events);

    for (size_t i = 0; i < n; i++)
        if (events[i]->event == CLONES_CLAIMED && events[i]->token > act->token)
            return 1;
    return 0;
}

/* ---- the blow -------------------------------------------------------------------------------- */

/* Freezes the victim. If its guard has ended the sender already, the next sender becomes the
   victim. */
static void strike_still(struct clones_act *act, pid_t pid)
{
    int missed = clones_freeze(&act->farm, act->victim, pid);

    if (!missed)
        clones_tell(&act->farm, act->victim, CLONES_FROZEN, act->token);
    act->struck = !missed;
    if (missed > 0)
        act->strike_ms = rowlock__now_ms() + RETRY_MS;
}

static int see_successor(const struct rowlock_job_view *job, void *data)
{
    struct clones_act *act = data;

    act->woken = job->running.token > act->token || job->last.token > act->token;
    return 0;
}

static void open_gate(struct clones_act *act, int clone)
{
    static const char byte = 1;

    act->gate_ms[clone] = ROWLOCK_NEVER;
    if (write(act->farm.gate[clone][1], &byte, 1) < 0)
        return; /* its sender has ended */
}

/* Wakes the sender when the database shows its successor. The sender wakes before its guard, which
   is the worst case. */
static int wake_sender(struct clones_act *act)
{
    struct rowlock_error error;

    if (rowlock_jobs(act->connection, act->farm.job, see_successor, act, &error))
        return report(&error);
    if (!act->woken)
        return STATUS_OK;
    open_gate(act, act->victim);
    clones_tell(&act->farm, act->victim, CLONES_WOKEN, act->token);
    kill(act->sender, SIGCONT);
    return STATUS_OK;
}

/* Wakes the rest of the clone after the sender's write was accepted or refused. */
static void wake_rest(struct clones_act *act)
{
    if (!has_told(act, act->victim, CLONES_REFUSED) && !has_told(act, act->victim, CLONES_SENT))
        return;
    act->recovered = 1;
    clones_wake(act->pids[act->victim]);
}

static int attend_to_victim(struct clones_act *act)
{
    if (act->victim >= 0 && rowlock__now_ms() >= act->strike_ms) {
        pid_t pid = act->pids[act->victim];

        act->strike_ms = ROWLOCK_NEVER;
        if (pid > 0 && act->script->blow == CLONES_KILL) {
            clones_kill(pid);
            clones_tell(&act->farm, act->victim, CLONES_KILLED, act->token);
            act->struck = 1;
        } else if (pid > 0) {
            strike_still(act, pid);
        }
    }
    if (act->script->blow != CLONES_FREEZE || !act->struck)
        return STATUS_OK;
    if (!act->woken && has_successor(act))
        return wake_sender(act);
    if (act->woken && !act->recovered)
        wake_rest(act);
    return STATUS_OK;
}

/* ---- waiting --------------------------------------------------------------------------------- */

static int living(const struct clones_act *act)
{
    int n = 0;

    for (int i = 0; i < CLONES; i++)
        n += act->pids[i] > 0;
    return n;
}

static int time_out(const struct clones_act *act, int64_t until_ms)
{
    int64_t next = act->strike_ms < until_ms ? act->strike_ms : until_ms, left;

    for (int i = 0; i < CLONES; i++)
        if (act->gate_ms[i] < next)
            next = act->gate_ms[i];
    left = next - rowlock__now_ms();
    if (act->live && act->began_ms && left > FRAME_MS)
        left = FRAME_MS;
    return left < 0 ? 0 : (int)left;
}

static void redraw(const struct clones_act *act)
{
    if (!act->live || !act->began_ms)
        return;
    printf("\033[%dA", CLONES);
    clones_draw(stdout, act, rowlock__now_ms(), 1);
    fflush(stdout);
}

/* The time limit of one wait in an act: long enough for a few leases to expire. */
static int64_t longest_ms(const struct clones_act *act)
{
    return LONGEST_MS + 10 * act->farm.ttl_ms;
}

/* Waits for one event and handles all that are due. An exit status, or -N. */
static int turn(struct clones_act *act, int64_t until_ms)
{
    struct pollfd fds[] = {{.fd = act->signals_fd, .events = POLLIN},
                           {.fd = act->children_fd, .events = POLLIN},
                           {.fd = act->farm.told.fd, .events = POLLIN}};
    int number;
    pid_t pid;

    poll(fds, 3, time_out(act, until_ms));
    number = signals_next(act->signals_fd, NULL);
    if (number)
        return -number;
    while (signals_next(act->children_fd, NULL))
        ;
    while ((pid = waitpid(-1, NULL, WNOHANG)) > 0)
        for (int i = 0; i < CLONES; i++)
            if (act->pids[i] == pid)
                act->pids[i] = 0;
    take_events(act);
    for (int i = 0; i < CLONES; i++)
        if (rowlock__now_ms() >= act->gate_ms[i])
            open_gate(act, i);
    redraw(act);
    if (rowlock__now_ms() < until_ms)
        return attend_to_victim(act);
    message("a clone did not finish within %d s; is the database or the machine very busy?",
            (int)(longest_ms(act) / 1000));
    return STATUS_FAILED;
}

/* ---- the act --------------------------------------------------------------------------------- */

static int are_ready(const struct clones_act *act)
{
    int n = 0;

    for (int i = 0; i < CLONES; i++)
        n += has_told(act, i, CLONES_READY);
    return n == CLONES;
}

/* Whether all clones have finished. The frozen one has when it knows that its lease is lost. */
static int is_done(const struct clones_act *act)
{
    if (!act->script->locked)
        return act->counts.sent == CLONES;
    if (!act->finished || (act->script->blow != CLONES_NO_BLOW && !act->struck))
        return 0;
    return act->script->blow != CLONES_FREEZE || has_told(act, act->victim, CLONES_LOST);
}

static int are_gone(const struct clones_act *act)
{
    return living(act) == 0;
}

static int until(struct clones_act *act, int (*is_so)(const struct clones_act *act))
{
    int64_t until_ms = rowlock__now_ms() + longest_ms(act);
    int status = STATUS_OK;

    while (!status && !is_so(act) && living(act) > 0 && !atomic_load(&act->farm.log->failed))
        status = turn(act, until_ms);
    return status;
}

static int open_pipes(struct clones_farm *farm)
{
    int failed = rowlock__pipe(farm->go) || rowlock__pipe(farm->over);

    for (int i = 0; i < CLONES; i++)
        failed = failed || rowlock__pipe(farm->gate[i]);
    return failed;
}

static void end(int *fd)
{
    if (*fd > 0)
        close(*fd);
    *fd = 0;
}

/* Opens our own connection after the fork: a SQLite connection must not cross it. */
static int perform(struct clones_act *act)
{
    struct rowlock_error error;
    int status;

    if (act->script->locked && rowlock_open(act->farm.url, &DEMO_OPTIONS, &act->connection, &error))
        return report(&error);
    status = until(act, are_ready);
    if (status || living(act) < CLONES)
        return status;
    act->began_ms = rowlock__now_ms();
    if (act->live)
        clones_draw(stdout, act, act->began_ms, 1);
    end(&act->farm.go[1]);
    status = until(act, is_done);
    act->ended_ms = rowlock__now_ms();
    end(&act->farm.over[1]);
    if (!status)
        status = until(act, are_gone);
    return status;
}

int clones_play(struct clones_act *act)
{
    int status;

    act->victim = -1;
    act->strike_ms = ROWLOCK_NEVER;
    for (int i = 0; i < CLONES; i++)
        act->gate_ms[i] = ROWLOCK_NEVER;
    clones_log_empty(act->farm.log);
    fflush(NULL);
    if (open_pipes(&act->farm) || clones_start(&act->farm, act->pids)) {
        message("cannot start the clones: %s", strerror(errno));
        status = STATUS_FAILED;
    } else {
        status = perform(act);
    }
    clones_end_all(act->pids);
    for (int side = 0; side < 2; side++) {
        end(&act->farm.go[side]);
        end(&act->farm.over[side]);
        for (int i = 0; i < CLONES; i++)
            end(&act->farm.gate[i][side]);
    }
    if (!status && atomic_load(&act->farm.log->failed))
        status = report(&act->farm.log->error);
    return status;
}
