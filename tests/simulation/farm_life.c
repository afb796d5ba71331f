/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The life of a node: it sleeps until its next question, asks, and runs the job that it has
 * claimed.
 */
#include "simulation/farm.h"

#define POLL_MS INT64_C(180000)
#define LONGEST_MS (INT64_C(3) * 3600000)
#define FINISHES 5

static struct farm_node *node_of(const struct sim_client *client)
{
    return &farm.node[client->id - 1];
}

/* ---- when to ask ----------------------------------------------------------------------------- */

static int64_t since_start(int64_t database_ms)
{
    return database_ms > INT64_MAX / 2 ? INT64_MAX / 2
                                       : database_ms - (sim_database_ms() - sim.now);
}

/* The next line of its crontab, by a clock that is slightly wrong. */
static int64_t next_line(struct farm_node *node, unsigned j)
{
    const struct rowlock_schedule *schedule = farm.job[j].told.schedule;
    int64_t after = sim_database_ms() - 1000;

    if (after < node->instant_ms[j])
        after = node->instant_ms[j];
    node->instant_ms[j] = rowlock__schedule_next(schedule, after);
    if (sim.calm)
        return since_start(node->instant_ms[j]);
    return since_start(node->instant_ms[j]) +
           (sim_below(4) ? sim_between(-500, 500) : sim_between(-20000, 0));
}

/* `claim` is NULL if no answer came. */
static void plan_call(struct farm_node *node, unsigned j, const struct rowlock_claim *claim)
{
    int64_t *call_ms = &node->call_ms[j];

    switch (node->habit) {
    case FARM_LINES:
        *call_ms = next_line(node, j);
        break;
    case FARM_POLLS:
        *call_ms = sim.now + sim_between(1, POLL_MS);
        break;
    default:
        *call_ms = !claim ? sim.now + sim_between(1000, 10000)
                   : claim->claimed == ROWLOCK_JOB_CLAIMED
                       ? sim.now
                       : since_start(claim->next_ms) + (sim.calm ? 0 : sim_between(0, 20));
    }
}

/* ---- running a job --------------------------------------------------------------------------- */

static int64_t draw_length(const struct farm_job *job)
{
    unsigned kind = sim_below(10);
    int64_t ms = kind < 7   ? sim_between(0, job->usual_ms)
                 : kind < 9 ? sim_between(0, 3 * job->told.ttl_ms)
                            : sim_between(0, 20 * job->usual_ms);

    return ms < LONGEST_MS ? ms : LONGEST_MS;
}

static enum farm_outcome draw_outcome(const struct farm_job *job)
{
    unsigned lot = sim_below(100);

    if (!sim.calm && lot == 99)
        return FARM_LOST; /* its own node ended it as lost, though the lease still exists */
    if (sim.calm || lot >= job->fails + job->times_out)
        return FARM_DONE;
    return lot < job->fails ? FARM_FAILED : FARM_TIMED_OUT;
}

/* Repeats the finish if no answer came, as the command does, but not without limit. */
static void finish(struct sim_client *client, struct rowlock_lease *lease,
                   enum farm_outcome outcome)
{
    static const enum rowlock_run_outcome reported[FARM_OUTCOMES] = {
        [FARM_LOST] = ROWLOCK_RUN_LOST, [FARM_NOT_STARTED] = ROWLOCK_RUN_NOTSTARTED};
    struct rowlock_result result = {.exit = outcome == FARM_FAILED,
                                    .timed_out = outcome == FARM_TIMED_OUT,
                                    .outcome = reported[outcome]};
    struct rowlock_error error;
    int code = ROWLOCK_ECONN;

    client->believes = false;
    node_of(client)->finishes = rowlock_token(lease);
    for (int i = 0; code == ROWLOCK_ECONN && i < FINISHES && !client->dying; i++) {
        if (i)
            sim_pass(1000);
        code = rowlock_finish(lease, &result, &error);
    }
    node_of(client)->finishes = 0;
    if (client->dying)
        return;
    sim_check_code(client, "finishing", code, &error);
    tell("%s finishes its run of job %u (%s): %s", story_client(client->id), node_of(client)->job,
         farm_outcome_name(outcome), rowlock_strerror(code));
    farm_finished(client, rowlock_token(lease), outcome, code);
}

static void run(struct sim_client *client, unsigned j, struct rowlock_lease *lease)
{
    const struct farm_job *job = &farm.job[j];

    node_of(client)->job = j;
    client->token = rowlock_token(lease);
    if (!sim.calm && !sim_below(30)) {
        sim_pass(sim_between(0, sim_below(2) ? 1000 : 2 * job->told.ttl_ms));
        if (!client->dying)
            finish(client, lease, FARM_NOT_STARTED);
        return;
    }
    client->end_ms = sim_own_ms(client) + rowlock_remaining(lease);
    client->believes = true;
    if (sim_hold(client, lease, draw_length(job)) || sim_below(4)) {
        if (!client->dying)
            finish(client, lease, draw_outcome(job));
    }
    client->believes = false;
}

/* ---- asking for a job ------------------------------------------------------------------------ */

static void ask(struct sim_client *client, unsigned j)
{
    struct farm_node *node = node_of(client);
    struct rowlock_job told = farm.job[j].told;
    struct rowlock_claim claim = {.now_ms = 0};
    struct rowlock_lease *lease = NULL;
    struct rowlock_error error;
    int code;

    told.early_ms = farm_early_ms(node);
    do {
        sim_pass(claim.next_ms - claim.now_ms); /* it came early, and waits for the due time */
        if (client->dying)
            return;
        farm_asks(client, j);
        code = rowlock_claim(client->connection, &told, &claim, &lease, &error);
        if (!client->dying) {
            sim_check_code(client, "claiming", code, &error);
            if (!code)
                farm_told(client, j, &claim);
        }
    } while (!code && !client->dying && claim.claimed == ROWLOCK_JOB_EARLY);
    if (!code && !client->dying && lease)
        run(client, j, lease);
    rowlock_lease_free(lease);
    plan_call(node, j, code ? NULL : &claim);
}

static unsigned soonest(const struct farm_node *node)
{
    unsigned first = 0;

    for (unsigned j = 1; j < farm.jobs; j++)
        if (node->call_ms[j] < node->call_ms[first])
            first = j;
    return first;
}

static void live_until(struct sim_client *client, int64_t end_ms)
{
    struct farm_node *node = node_of(client);

    for (unsigned j = 0; j < farm.jobs; j++) {
        node->instant_ms[j] = 0;
        node->call_ms[j] = sim.now;
        if (node->habit == FARM_LINES)
            plan_call(node, j, NULL);
    }
    while (!client->dying && !*sim.failure) {
        unsigned j = soonest(node);

        if (node->call_ms[j] >= end_ms)
            return;
        sim_pass(node->call_ms[j] - sim.now);
        if (!client->dying)
            ask(client, j);
    }
}

void farm_live(struct sim_client *client)
{
    live_until(client, farm.length_ms);
}

/* All others have ended. Every run left behind gets its outcome, and due jobs run, within hours. */
void farm_come_new(struct sim_client *client)
{
    int64_t longest = 0;

    for (unsigned j = 0; j < farm.jobs; j++)
        if (farm.job[j].told.at_least_ms > longest)
            longest = farm.job[j].told.at_least_ms;
    live_until(client, sim.now + longest + 3600000);
    sim_pass(2 * longest + 3600000);
    for (unsigned j = 0; j < farm.jobs && !*sim.failure; j++)
        ask(client, j);
}

/* ---- the operator ---------------------------------------------------------------------------- */

static void hold(struct sim_client *client, const struct farm_job *job)
{
    struct rowlock_want want = {.name = job->lock, .mode = ROWLOCK_EXCLUSIVE};
    struct rowlock_terms terms = {.ttl_ms = sim_between(1000, 1800000)};
    struct rowlock_lease *lease = NULL;
    struct rowlock_error error;
    int code = rowlock_acquire(client->connection, &want, 1, &terms, &lease, &error);

    sim_check_code(client, "holding a name", code, &error);
    if (!code && !client->dying) {
        tell("%s holds %s", story_client(client->id), job->lock);
        sim_pass(sim_between(0, 2 * terms.ttl_ms));
        if (!client->dying)
            rowlock_release(lease, &error);
    }
    rowlock_lease_free(lease);
}

static void start_the_dead(void)
{
    for (unsigned i = 0; i < farm.nodes; i++)
        if (!sim.client[i].running && sim_below(2)) {
            tell("%s starts", story_client(i + 1));
            sim_enter(&sim.client[i], i + 1, farm_live);
        }
}

void farm_operate(struct sim_client *client)
{
    while (!client->dying && !*sim.failure && sim.now < farm.length_ms) {
        const struct farm_job *job = &farm.job[sim_below(farm.jobs)];

        sim_pass(sim_between(1, farm.visit_ms));
        if (client->dying || sim.now >= farm.length_ms || !sim_connect(client))
            return;
        start_the_dead();
        if (sim_below(100) < farm.breaks)
            sim_break(client, job->lock, sim_below(2));
        if (!client->dying && sim_below(100) < farm.holds)
            hold(client, job);
    }
}
