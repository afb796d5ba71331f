/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One act: starts five clones, releases them together, and strikes the first that sends; the others
 * stay untouched. It waits for events that the processes report.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "command/command.h"
#include "demo/clones.h"
#include "system/command/calls.h"
#include "system/system.h"
#include "util/clock.h"

#define SEND_MS 1200  /* duration of a delivery to the mail server */
#define STRIKE_MS 500 /* from the start of the delivery to the blow */
#define RETRY_MS 10   /* if the blow would hit the middle of a statement */
#define FRAME_MS 40   /* between two pictures */
#define LONGEST_MS 60000

/* ---- events ---------------------------------------------------------------------------------- */

/* Keeps the events in the order of their times. */
static void add(struct clones_act *act, struct clones_item item)
{
    size_t at = act->n;

    if (act->n == CLONES_ITEMS)
        return;
    for (; at > 0 && act->events[at - 1].at_ms > item.at_ms; at--)
        act->events[at] = act->events[at - 1];
    act->events[at] = item;
    act->n++;
}

static void add_to_victim(struct clones_act *act, enum clones_event event)
{
    add(act, (struct clones_item){act->victim, event, rowlock__now_ms(), act->token});
}

/* The victim is the latest sender before the blow. An earlier sender lost its lease by itself. */
static void take_events(struct clones_act *act)
{
    struct clones_item item;

    while (rowlock__is_readable(act->farm->events[0], 0) &&
           read(act->farm->events[0], &item, sizeof item) == sizeof item) {
        add(act, item);
        if (item.event != CLONES_SENDING)
            continue;
        act->gate_ms[item.clone] = item.at_ms + SEND_MS;
        if (act->script->blow == CLONES_NO_BLOW || act->struck)
            continue;
        if (act->victim >= 0)
            act->gate_ms[act->victim] = rowlock__now_ms();
        act->gate_ms[item.clone] = ROWLOCK_NEVER;
        act->victim = item.clone;
        act->token = item.token;
        act->strike_ms = item.at_ms + STRIKE_MS;
    }
}

static int count(const struct clones_act *act, enum clones_event event)
{
    int n = 0;

    for (size_t i = 0; i < act->n; i++)
        n += act->events[i].event == event;
    return n;
}

/* ---- the blow -------------------------------------------------------------------------------- */

static void order(struct clones_act *act, int clone)
{
    act->gate_ms[clone] = ROWLOCK_NEVER;
    if (write(act->farm->orders[clone][1], "", 1) < 0)
        return; /* the clone has ended */
}

/* Stops the victim, and kills it if that is the blow; not in the middle of a statement. Checks that
   before it stops the clone, because a clone that is stopped repeatedly makes no progress, and
   again afterwards. */
static void strike(struct clones_act *act)
{
    const atomic_int *asking = &act->farm->asking[act->victim];
    pid_t victim = act->pids[act->victim];
    int is_asking = atomic_load(asking);
    siginfo_t info;

    act->strike_ms = ROWLOCK_NEVER;
    if (!victim)
        return;
    if (!is_asking) {
        kill(victim, SIGSTOP);
        while (waitid(P_PID, (id_t)victim, &info, WSTOPPED | WEXITED | WNOWAIT) && errno == EINTR)
            ;
        is_asking = atomic_load(asking);
        if (is_asking)
            kill(victim, SIGCONT);
    }
    if (is_asking) {
        act->strike_ms = rowlock__now_ms() + RETRY_MS;
        return;
    }
    act->struck = 1;
    add_to_victim(act, act->script->blow == CLONES_KILL ? CLONES_KILLED : CLONES_FROZEN);
    if (act->script->blow == CLONES_KILL)
        kill(victim, SIGKILL);
}

/* Wakes the frozen clone when another one has claimed the mail after it. The mail server has taken
   its mail by then: it writes at once, which is the worst case. */
static void wake(struct clones_act *act)
{
    const struct clones_item *claimed = clones_find(act, -1, CLONES_CLAIMED);

    if (act->script->blow != CLONES_FREEZE || !act->struck || act->woken ||
        claimed->token <= act->token)
        return;
    act->woken = 1;
    order(act, act->victim);
    add_to_victim(act, CLONES_WOKEN);
    kill(act->pids[act->victim], SIGCONT);
}

/* ---- waiting --------------------------------------------------------------------------------- */

static int living(const struct clones_act *act)
{
    int n = 0;

    for (int i = 0; i < CLONES; i++)
        n += act->pids[i] > 0;
    return n;
}

static int is_redrawn(const struct clones_act *act)
{
    return act->live && act->began_ms && !act->ended_ms;
}

/* The time limit of one wait in an act: long enough for a few leases to expire. */
static int64_t longest_ms(const struct clones_act *act)
{
    return LONGEST_MS + 10 * act->farm->ttl_ms;
}

/* Waits for one event and handles all that are due. An exit status, or -N. */
static int turn(struct clones_act *act, int64_t until_ms)
{
    struct pollfd fds[] = {{.fd = act->signals->wait_fd, .events = POLLIN},
                           {.fd = act->children_fd, .events = POLLIN},
                           {.fd = act->farm->events[0], .events = POLLIN}};
    int64_t next_ms = rowlock__least(act->strike_ms, until_ms);
    int number;
    pid_t pid;

    for (int i = 0; i < CLONES; i++)
        next_ms = rowlock__least(next_ms, act->gate_ms[i]);
    if (is_redrawn(act))
        next_ms = rowlock__least(next_ms, rowlock__now_ms() + FRAME_MS);
    poll(fds, 3, rowlock__poll_timeout(next_ms));
    number = signals_next(act->signals->wait_fd, NULL);
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
            order(act, i);
    if (rowlock__now_ms() >= act->strike_ms)
        strike(act);
    wake(act);
    if (is_redrawn(act))
        clones_draw(act, rowlock__now_ms(), 1, 1);
    if (rowlock__now_ms() < until_ms)
        return STATUS_OK;
    message("a clone did not finish within %d s; is the database or the machine very busy?",
            (int)(longest_ms(act) / 1000));
    return STATUS_FAILED;
}

/* ---- the act --------------------------------------------------------------------------------- */

/* Whether the present part of the act has ended: first all clones get ready, then all finish, then
   all end. The frozen one has finished when it knows that its lease is lost. */
static int has_ended(const struct clones_act *act)
{
    if (!act->began_ms)
        return count(act, CLONES_READY) == CLONES;
    if (act->ended_ms)
        return living(act) == 0;
    if (!act->script->locked)
        return count(act, CLONES_SENT) == CLONES;
    if (!count(act, CLONES_FINISHED) || (act->script->blow != CLONES_NO_BLOW && !act->struck))
        return 0;
    return act->script->blow != CLONES_FREEZE || clones_find(act, act->victim, CLONES_LOST);
}

static int play_part(struct clones_act *act)
{
    int64_t until_ms = rowlock__now_ms() + longest_ms(act);
    int status = STATUS_OK;

    while (!status && !has_ended(act) && living(act) > 0 && !atomic_load(&act->farm->failed))
        status = turn(act, until_ms);
    return status;
}

/* Each clone has a process group of its own: a ^C at the terminal reaches only the conductor, which
   ends all clones. */
static int start(struct clones_act *act)
{
    struct clones_farm *farm = act->farm;
    pid_t self = getpid();
    int failed = rowlock__pipe(farm->events);

    for (int i = 0; i < CLONES; i++)
        failed = failed || rowlock__pipe(farm->orders[i]);
    fflush(NULL);
    for (int i = 0; i < CLONES && !failed; i++) {
        act->pids[i] = fork();
        if (act->pids[i] == 0) {
            setpgid(0, 0);
            signals_give_back(act->signals);
            for (int other = 0; other < CLONES; other++)
                close(farm->orders[other][1]); /* otherwise we see no end of the orders */
            _exit(end_with_parent(self) ? 1 : clones_node(farm, i));
        }
        failed = act->pids[i] < 0;
    }
    if (failed)
        message("cannot start the clones: %s", strerror(errno));
    return failed ? STATUS_FAILED : STATUS_OK;
}

static void end(int *fd)
{
    if (*fd > 0)
        close(*fd);
    *fd = 0;
}

int clones_play(struct clones_act *act)
{
    int status;

    act->victim = -1;
    act->strike_ms = ROWLOCK_NEVER;
    for (int i = 0; i < CLONES; i++)
        act->gate_ms[i] = ROWLOCK_NEVER;
    status = start(act);
    if (!status)
        status = play_part(act);
    if (!status && living(act) == CLONES) {
        act->began_ms = rowlock__now_ms();
        if (act->live)
            clones_draw(act, act->began_ms, 1, 0);
        for (int i = 0; i < CLONES; i++)
            order(act, i);
        status = play_part(act);
        act->ended_ms = rowlock__now_ms();
        for (int i = 0; i < CLONES; i++)
            end(&act->farm->orders[i][1]);
        if (!status)
            status = play_part(act);
    }
    for (int i = 0; i < CLONES; i++)
        if (act->pids[i] > 0 && kill(act->pids[i], SIGKILL) == 0)
            waitpid(act->pids[i], NULL, 0);
    for (int side = 0; side < 2; side++) {
        end(&act->farm->events[side]);
        for (int i = 0; i < CLONES; i++)
            end(&act->farm->orders[i][side]);
    }
    if (!status && atomic_load(&act->farm->failed))
        status = report(&act->farm->error);
    return status;
}
