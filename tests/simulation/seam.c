/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Replaces the library's clock, pauses and random numbers, and observes its steps. The linker sends
 * these calls here first (simulation.mk).
 */
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "emulate/judge.h"
#include "job/decide.h"
#include "lease/request.h"
#include "simulation/sim.h"
#include "util/clock.h"

/* ---- time ------------------------------------------------------------------------------------ */

SEAM(int64_t, rowlock__now_ms, void)
{
    return sim.running ? sim_own_ms(sim.running) : sim.now;
}

static enum rowlock_wake wait_until(int64_t deadline_ms)
{
    if (!sim.running)
        return ROWLOCK_WAKE_DEADLINE;
    if (sim.running->dying)
        return ROWLOCK_WAKE_INTERRUPT;
    sim_until(deadline_ms);
    return sim.running->dying ? ROWLOCK_WAKE_INTERRUPT : ROWLOCK_WAKE_DEADLINE;
}

SEAM(enum rowlock_wake, rowlock__wait_fd, int fd, short events, int interrupt_fd,
     int64_t deadline_ms)
{
    (void)fd, (void)events, (void)interrupt_fd;
    return wait_until(rowlock__after(deadline_ms, sim.temper.late_ms));
}

/* Works like the real one, but its jitter comes from the seed. */
SEAM(enum rowlock_wake, rowlock__pause, struct rowlock_pause *pause, int interrupt_fd,
     int64_t deadline_ms)
{
    int64_t now = __wrap_rowlock__now_ms(), until;

    (void)interrupt_fd;
    if (now >= deadline_ms)
        return ROWLOCK_WAKE_DEADLINE;
    until = now + pause->next_ms - (int64_t)(sim_dice() % (uint32_t)(pause->next_ms / 2 + 1));
    pause->next_ms = pause->next_ms * 3 / 2 + 1;
    if (pause->next_ms > pause->most_ms)
        pause->next_ms = pause->most_ms;
    if (wait_until(until < deadline_ms ? until : deadline_ms) == ROWLOCK_WAKE_INTERRUPT)
        return ROWLOCK_WAKE_INTERRUPT;
    return ROWLOCK_WAKE_READY;
}

SEAM(uint32_t, rowlock__dice, void)
{
    return sim_dice();
}

/* ---- acquiring a lease ----------------------------------------------------------------------- */

SEAM(struct rowlock_step, rowlock__acquire_start, struct rowlock_acquire_machine *machine,
     int64_t now_ms)
{
    machine->in.remote |= sim.temper.pooled | sim.temper.sessions;
    machine->in.seizes |= sim.temper.seizes;
    machine->in.turns &= !sim.temper.seizes;
    machine->in.reconnect_ms = 20000; /* as for a file that is far away */
    return __real_rowlock__acquire_start(machine, now_ms);
}

/* A client that is dying takes no further step. */
SEAM(struct rowlock_step, rowlock__acquire_next, struct rowlock_acquire_machine *machine,
     int64_t now_ms, const struct rowlock_reply *reply, uint32_t dice)
{
    if (!sim.running || !sim.running->dying)
        return __real_rowlock__acquire_next(machine, now_ms, reply, dice);
    machine->code = ROWLOCK_ECONN;
    return (struct rowlock_step){.act = ROWLOCK_ACT_DONE};
}

/* A look that began before the call may have read the ticket before it was marked; that is
   not an answer. */
static void follow(struct sim_client *client, const struct rowlock_step *step,
                   const struct rowlock_reply *reply, int64_t began)
{
    sim.asked[step->act]++;
    if (reply->code)
        return;
    sim.removed += reply->status == ROWLOCK_STATUS_UNQUEUED;
    if (step->act == ROWLOCK_ACT_ENQUEUE && reply->status == ROWLOCK_STATUS_OK) {
        client->ticket = reply->number;
        check_ticket(reply->number, client->id);
    }
    if (step->act == ROWLOCK_ACT_OVERTAKE && !step->called && reply->number)
        check_called(client, reply->number);
    if (step->act == ROWLOCK_ACT_PLACE)
        client->looked = began;
}

/* A ticket with a session lock has no time of its last look. */
static struct rowlock_step as_seen(const struct rowlock_step *step)
{
    struct rowlock_step seen = *step;

    if ((sim.temper.frozen || sim.temper.sessions) && seen.good_ms)
        seen.good_ms = 1000000000;
    return seen;
}

SEAM(int, rowlock__execute, struct rowlock_request *request, const struct rowlock_step *step,
     int64_t deadline_ms, struct rowlock_reply *reply, struct rowlock_refused *refused,
     struct rowlock_error *error)
{
    struct sim_client *client = sim.running;
    const struct rowlock_step seen = as_seen(step);
    int64_t began = sim.now;
    int code;

    step = &seen;
    if (!client)
        return __real_rowlock__execute(request, step, deadline_ms, reply, refused, error);
    client->request = request;
    client->step = step;
    client->asked = sim_database_ms();
    client->asked_step = sim.steps;
    code = __real_rowlock__execute(request, step, deadline_ms, reply, refused, error);
    client->step = NULL;
    client->met_busy |=
        step->act == ROWLOCK_ACT_GRANT &&
        (reply->status == ROWLOCK_STATUS_BUSY || reply->status == ROWLOCK_STATUS_TIMEDOUT);
    follow(client, step, reply, began);
    story_reply(client, step, reply);
    if (sim.wrong == SIM_NEW_OWNER && code == ROWLOCK_ECONN && step->act == ROWLOCK_ACT_GRANT)
        snprintf(request->owner, sizeof request->owner, "%032x", sim_below(1u << 30));
    memcpy(client->owner, request->owner, sizeof client->owner);
    return code;
}

/* ---- jobs ------------------------------------------------------------------------------------ */

SEAM(struct rowlock_job_decision, rowlock__job_decide, const struct rowlock_job_state *state,
     const struct rowlock_job_rules *rules)
{
    struct rowlock_job_rules told = *rules;
    struct rowlock_job_state seen = *state;

    if (sim.wrong == SIM_RUNS_EARLY)
        seen.now_ms += rules->early_ms;
    told.skips_missed |= sim.wrong == SIM_SKIPS_ALWAYS;
    if (sim.wrong == SIM_REPEATS_FOR_EVER)
        told.retry = INT_MAX;
    return __real_rowlock__job_decide(&seen, &told);
}

SEAM(void, rowlock__judge_run_end, struct rowlock_run_end *end)
{
    struct rowlock_run_end seen = *end;

    seen.has_lease |= sim.wrong == SIM_CLEARS_SUCCESSOR || sim.wrong == SIM_TRUSTS_THE_LATE;
    seen.is_current |= sim.wrong == SIM_CLEARS_SUCCESSOR;
    __real_rowlock__judge_run_end(&seen);
    *end = seen;
}

/* ---- keeping a lease ------------------------------------------------------------------------- */

SEAM(void, rowlock__lease_renewed, struct rowlock_lease *lease, int64_t sent_ms, int64_t ttl_ms)
{
    if (sim.wrong == SIM_COUNTS_FROM_ANSWER)
        sent_ms = rowlock__now_ms();
    __real_rowlock__lease_renewed(lease, sent_ms, ttl_ms);
}
