/* SPDX-License-Identifier: Apache-2.0 */
/* The order of the clients' steps, true time, and faults: all drawn from one seed (sim.h). */
#include <string.h>

#include "simulation/sim.h"

#define EPOCH_MS INT64_C(1800000000000)

struct sim_world sim = {.kind = &sim_leases};

/* ---- random numbers (splitmix64) ------------------------------------------------------------- */

static uint64_t roll(void)
{
    uint64_t z = sim.random += 0x9e3779b97f4a7c15u;

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

uint32_t sim_dice(void)
{
    return sim.calm ? 0 : (uint32_t)roll();
}

unsigned sim_below(unsigned n)
{
    return (unsigned)(roll() % n);
}

int64_t sim_between(int64_t least, int64_t most)
{
    return least + (int64_t)(roll() % (uint64_t)(most - least + 1));
}

int64_t sim_pick(const int64_t *values, unsigned n)
{
    return values[sim_below(n)];
}

bool sim_chance(unsigned of_10000)
{
    return !sim.calm && of_10000 && sim_below(10000) < of_10000;
}

/* ---- time ------------------------------------------------------------------------------------ */

int64_t sim_database_ms(void)
{
    return EPOCH_MS + sim.now;
}

int64_t sim_own_ms(const struct sim_client *client)
{
    return client->offset + sim.now * client->rate / 1000;
}

int64_t sim_true_ms(const struct sim_client *client, int64_t own_ms)
{
    if (own_ms > INT64_MAX / 2000)
        return INT64_MAX / 2;
    return ((own_ms - client->offset) * 1000 + client->rate - 1) / client->rate;
}

int64_t sim_delay(void)
{
    return sim.temper.delay_ms < 0 ? 0 : sim.temper.delay_ms ? sim.temper.delay_ms : 3;
}

void sim_pass(int64_t ms)
{
    struct sim_client *client = sim.running;

    if (!client || client->dying)
        return;
    client->wake = sim.now + (ms > 0 ? ms : 0);
    fiber_yield();
}

void sim_until(int64_t own_ms)
{
    struct sim_client *client = sim.running;

    if (client)
        sim_pass(sim_true_ms(client, own_ms) - sim.now);
}

/* ---- clients --------------------------------------------------------------------------------- */

static void live(void *data)
{
    struct sim_client *client = data;

    if (sim_connect(client))
        client->script(client);
    rowlock_close(client->connection);
    client->connection = NULL;
    client->believes = client->locks = false;
}

void sim_enter(struct sim_client *client, unsigned id, void (*script)(struct sim_client *client))
{
    struct fiber *fiber = client->fiber ? client->fiber : fiber_new();

    *client = (struct sim_client){.id = id,
                                  .fiber = fiber,
                                  .running = true,
                                  .honest = true,
                                  .wake = sim.now,
                                  .offset = sim_between(0, 1000000000),
                                  .rate = 1000,
                                  .script = script};
    if (!sim.calm && sim_below(4) == 0)
        client->rate = sim_between(1000, 1200); /* a fast clock is on the safe side */
    if (!sim.calm && sim.temper.wild && sim_below(2) == 0) {
        client->rate = sim_between(300, 3000);
        client->honest = client->rate >= 1000;
    }
    fiber_start(fiber, live, client);
}

static void run(struct sim_client *client)
{
    sim.running = client;
    client->running = fiber_resume(client->fiber);
    sim.running = NULL;
}

/* The client dies at once: its session ends, and none of its further actions has an effect. */
static void sim_kill(struct sim_client *client)
{
    if (!client->running)
        return;
    client->dying = true;
    if (client->locks)
        record_rolled_back(client);
    client->believes = client->locks = false;
    sim_cut(client);
    while (client->running)
        run(client);
}

int64_t sim_draw_stop(const struct sim_client *client)
{
    (void)client;
    return sim_between(10, sim.temper.stopped_ms);
}

/* ---- the scheduler --------------------------------------------------------------------------- */

/* Picks at random among the clients whose time has come; advances the time if there is none. */
static struct sim_client *choose(void)
{
    struct sim_client *ready[SIM_ALL];
    int64_t first = INT64_MAX;
    unsigned n = 0;

    for (unsigned i = 0; i < sim.kind->clients; i++)
        if (sim.client[i].running && !sim.client[i].stopped && sim.client[i].wake < first)
            first = sim.client[i].wake;
    if (first == INT64_MAX)
        return NULL;
    if (first > sim.now)
        sim.now = first;
    for (unsigned i = 0; i < sim.kind->clients; i++)
        if (sim.client[i].running && !sim.client[i].stopped && sim.client[i].wake <= sim.now)
            ready[n++] = &sim.client[i];
    return ready[sim.calm ? 0 : sim_below(n)];
}

/* Draws a fault that hits the client instead of its next step; false if none does. */
static bool misfortune(struct sim_client *client)
{
    if (client->id == sim.kind->spared)
        return false;
    if (sim_chance(sim.temper.crash)) {
        tell("%s dies", story_client(client->id));
        sim_kill(client);
        return true;
    }
    if (sim_chance(sim.temper.stop)) {
        int64_t ms = sim.kind->draw_stop(client);

        tell("%s is stopped for %.1f s", story_client(client->id), (double)ms / 1000);
        client->wake = sim.now + ms;
        if (!sim.kind->check_step)
            record_stop(client, ms);
        return true;
    }
    return false;
}

void sim_play(void)
{
    struct sim_client *client;

    while (!*sim.failure && (client = choose())) {
        if (++sim.steps > sim.kind->most_steps) {
            sim_fail("P6: no end: after %lu steps and %.0f s clients still wait", sim.steps,
                     (double)sim.now / 1000);
            break;
        }
        if (sim.kind->check_step)
            sim.kind->check_step();
        if (!misfortune(client))
            run(client);
    }
    sim.calm = true;
    for (unsigned i = 0; i < sim.kind->clients; i++)
        sim_kill(&sim.client[i]);
}

void sim_reset(uint64_t seed)
{
    sim.seed = seed;
    sim.now = sim.steps = sim.removed = 0;
    memset(sim.asked, 0, sizeof sim.asked);
    sim.running = NULL;
    sim.calm = false;
    *sim.failure = '\0';
    sim.kind->store->reset();
    sim.random = seed; /* after the reset, which installs the schema before the first history */
    check_reset();
    record_reset();
    story_reset();
}

/* Some histories have few faults of some kinds, so that the other kinds go deeper. */
static struct sim_temper draw_temper(void)
{
    struct sim_temper temper = {
        .clients = PICK(2, 3, 3, 4, 5, 6),
        .names = PICK(1, 1, 2, 3),
        .episodes = PICK(2, 3, 4),
        .stop = PICK(0, 0, 20, 100, 300),
        .crash = PICK(0, 0, 10, 30, 80),
        .lose = PICK(0, 0, 30, 150),
        .lose_reply = PICK(0, 0, 50, 300, 1000),
        .slow = PICK(0, 50, 300),
        .stopped_ms = PICK(300, 3000, 12000),
        .transactions = PICK(0, 10, 40),
        .breaks = PICK(0, 0, 10),
        .permits = PICK(0, 0, 30, 100),
        .shared = PICK(0, 30, 70),
        .fences = PICK(0, 0, 30),
        .wild = sim_below(4) == 0,
        .pooled = sim_below(4) == 0,
        .frozen = sim_below(4) == 0,
    };

    if (temper.frozen) /* these would end the session, and with it the ticket and its roll call */
        temper.lose = temper.lose_reply = 0;
    return temper;
}

bool sim_history(uint64_t seed)
{
    sim_reset(seed);
    sim.temper = draw_temper();
    if (sim.kind->adapt)
        sim.kind->adapt();
    for (unsigned i = 0; i < sim.temper.clients; i++)
        sim_enter(&sim.client[i], i + 1, sim_live);
    sim_play();
    if (!*sim.failure) { /* P6: after all others have ended, a newcomer acquires every name */
        sim.calm = true;
        sim_enter(&sim.client[SIM_CLIENTS - 1], SIM_CLIENTS, sim_come_new);
        sim_play();
    }
    if (!*sim.failure)
        record_judge();
    return !*sim.failure;
}

bool sim_scripted(void (*const *script)(struct sim_client *client), unsigned n)
{
    sim_reset(1);
    sim.calm = true;
    sim.temper = (struct sim_temper){.names = SIM_NAMES};
    for (unsigned i = 0; i < n; i++)
        sim_enter(&sim.client[i], i + 1, script[i]);
    sim_play();
    if (!*sim.failure)
        record_judge();
    return !*sim.failure;
}

const struct sim_kind sim_leases = {.name = "leases",
                                    .store = &sqlite_store,
                                    .clients = SIM_CLIENTS,
                                    .most_steps = 300000,
                                    .check_committed = check_committed,
                                    .name_client = check_name_client,
                                    .draw_stop = sim_draw_stop,
                                    .history = sim_history};
