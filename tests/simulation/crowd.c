/* SPDX-License-Identifier: Apache-2.0 */
/*
 * P6, P7, P10: a crowd that waits for one name, on each kind of server. A holder lets the crowd
 * queue, stops some of the waiters forever, and releases the name; then each waiter has it for a
 * millisecond. The bounds are in simulated time, or count looks and writes, so a loaded machine
 * does not change them.
 */
#include "simulation/crowd.h"

#include <stdio.h>

#include "session/connection.h"

#define CROWD (SIM_CROWD - 1)
#define HOUR_MS 3600000
#define SLOWEST_MS 100 /* the longest way of a statement to a server */

enum server { FILE_POLLED, TURNS, SEIZES };

static const struct {
    const char *name;
    const struct sim_store *store;
    struct sim_temper temper;
} servers[] = {
    [FILE_POLLED] = {"a file", &sqlite_store, {.delay_ms = -1}},
    [TURNS] = {"turns", &functions_store, {.sessions = true}}, /* as PostgreSQL's */
    [SEIZES] = {"tries", &functions_store, {.sessions = true, .seizes = true}}, /* as MariaDB's */
};

struct plan {
    enum server server;
    uint64_t seed;
    unsigned waiters;
    bool late; /* the last one comes when the others were stopped */
    bool (*stops)(unsigned waiter);
    void (*held)(void); /* while the name is held; may be NULL */
};

static struct crowd {
    struct plan plan;
    bool stopped, disordered;
    unsigned served;
    int64_t ticket[SIM_CROWD], last; /* last: that of the waiter that was served */
    int64_t began, first_ms, all_ms; /* from the release to the first grant, and to the last */
    unsigned long writes;            /* by looks */
} crowd;

static void count_write(struct sim_client *client)
{
    crowd.writes += client && client->step && client->step->act == ROWLOCK_ACT_PLACE;
}

struct sim_kind sim_crowd = {.name = "crowd",
                             .store = &sqlite_store,
                             .clients = SIM_CROWD,
                             .most_steps = 3000000,
                             .check_committed = count_write,
                             .name_client = check_name_client,
                             .draw_stop = sim_draw_stop};

static void forget_counts(void)
{
    crowd.writes = sim.removed = 0;
    for (int act = 0; act < ROWLOCK_ACT_DONE; act++)
        sim.asked[act] = 0;
}

/* ---- the clients ----------------------------------------------------------------------------- */

/* Outside of a transaction, which would keep others from the whole file. */
static bool is_waiting(const struct sim_client *client)
{
    const struct rowlock_connection *connection = client->connection;

    return client->ticket && connection->driver->state(connection->link) == ROWLOCK_STATE_IDLE;
}

static void until_waiting(const struct sim_client *client)
{
    while (!is_waiting(client) && !*sim.failure && !sim.running->dying)
        sim_pass(1);
}

static void stop_some(void)
{
    for (unsigned i = 0; i < crowd.plan.waiters; i++)
        if (crowd.plan.stops(i)) {
            until_waiting(&sim.client[i + 1]);
            sim.client[i + 1].stopped = true;
        }
    crowd.stopped = true;
}

static void hold(struct sim_client *client)
{
    struct sim_claim claim = sim_one(0, ROWLOCK_EXCLUSIVE);
    unsigned early = crowd.plan.waiters - crowd.plan.late;
    struct rowlock_lease *lease = NULL;

    if (sim_acquire(client, &claim, HOUR_MS, 0, &lease))
        sim_fail("the holder was refused");
    for (unsigned i = 1; i <= early; i++)
        until_waiting(&sim.client[i]);
    if (crowd.plan.held)
        crowd.plan.held();
    stop_some();
    if (crowd.plan.late) {
        until_waiting(&sim.client[crowd.plan.waiters]);
        sim_pass(sim_between(0, 40000)); /* a random point in its own waits */
    }
    for (unsigned i = 1; i <= crowd.plan.waiters; i++)
        crowd.ticket[i] = sim.client[i].ticket;
    crowd.began = sim.now;
    if (lease)
        sim_release(client, lease);
    rowlock_lease_free(lease);
}

static void note_served(int64_t ticket)
{
    crowd.all_ms = sim.now - crowd.began;
    if (!crowd.served++)
        crowd.first_ms = crowd.all_ms;
    crowd.disordered |= ticket < crowd.last;
    crowd.last = ticket;
}

static void wait_once(struct sim_client *client)
{
    bool late = crowd.plan.late && client->id == crowd.plan.waiters + 1;
    bool is_file = crowd.plan.server == FILE_POLLED;
    struct sim_claim claim = sim_one(0, ROWLOCK_EXCLUSIVE);
    struct rowlock_lease *lease = NULL;

    sim_pass((is_file ? 10 : 3 * SLOWEST_MS) * (int64_t)client->id);
    while (late && !crowd.stopped && !client->dying)
        sim_pass(20);
    if (sim_acquire(client, &claim, HOUR_MS, -1, &lease) == ROWLOCK_OK && !client->dying) {
        note_served(crowd.ticket[client->id - 1]);
        sim_pass(1);
        sim_release(client, lease);
    }
    rowlock_lease_free(lease);
}

/* ---- a history ------------------------------------------------------------------------------- */

static bool nobody(unsigned waiter)
{
    (void)waiter;
    return false;
}

static bool first(unsigned waiter)
{
    return waiter == 0;
}

static bool every_hundredth(unsigned waiter)
{
    return waiter % 100 == 0;
}

static bool all_but_the_last(unsigned waiter)
{
    return waiter + 1 < crowd.plan.waiters;
}

static bool most(unsigned waiter)
{
    return waiter % (unsigned)(2 + crowd.plan.seed % 5) != 0;
}

/* All who were not stopped are served, in their order, and none of them lost its place. */
static bool play(struct plan plan)
{
    unsigned live = 0;

    crowd = (struct crowd){.plan = plan};
    sim_crowd.store = servers[plan.server].store;
    sim_crowd.clients = plan.waiters + 1;
    sim_reset(plan.seed);
    sim.temper = servers[plan.server].temper;
    sim.temper.names = 1;
    if (!sim.temper.delay_ms)
        sim.temper.delay_ms = SLOWEST_MS;
    for (unsigned i = 0; i <= plan.waiters; i++) {
        sim_enter(&sim.client[i], i + 1, i ? wait_once : hold);
        sim.client[i].rate = 1000;
        live += i && !plan.stops(i - 1);
    }
    sim_play();
    if (crowd.served != live)
        sim_fail("P6: %u of %u were served", crowd.served, live);
    if (crowd.disordered)
        sim_fail("P7: a waiter was served before another that came first");
    if (sim.removed)
        sim_fail("P7: %lu waiters lost their places", sim.removed);
    return !*sim.failure;
}

static bool is_within(const char *what, int64_t value, int64_t limit)
{
    if (value > limit)
        sim_fail("%s: %lld, and not %lld at most", what, (long long)value, (long long)limit);
    return value <= limit;
}

/* ---- a file ---------------------------------------------------------------------------------- */

/* Before and after: leaves what was counted in ten seconds of a name that is held. */
static void wait_in_peace(void)
{
    sim_pass(10000);
    forget_counts();
    sim_pass(10000);
    printf("# in 10 s %lu looks, %lu writes\n", sim.asked[ROWLOCK_ACT_PLACE], crowd.writes);
    is_within("looks", (int64_t)sim.asked[ROWLOCK_ACT_PLACE], 15000);
    is_within("writes", (int64_t)crowd.writes, 5000);
    is_within("roll calls", (int64_t)sim.asked[ROWLOCK_ACT_OVERTAKE], 0);
    forget_counts();
}

static bool a_thousand(unsigned seeds)
{
    (void)seeds;
    if (!play((struct plan){.waiters = CROWD, .stops = nobody, .held = wait_in_peace}))
        return false;
    printf("# %lld ms, %lu looks, %lu writes, %lu steps\n", (long long)crowd.all_ms,
           sim.asked[ROWLOCK_ACT_PLACE], crowd.writes, sim.steps);
    return is_within("ms", crowd.all_ms, 15000) &&
           is_within("looks", (int64_t)sim.asked[ROWLOCK_ACT_PLACE], 15 * CROWD) &&
           is_within("writes", (int64_t)crowd.writes, 5 * CROWD) &&
           is_within("roll calls", (int64_t)sim.asked[ROWLOCK_ACT_OVERTAKE], 0);
}

static bool two(unsigned seeds)
{
    for (unsigned seed = 1; seed <= seeds; seed++)
        if (!play((struct plan){.seed = seed, .waiters = 2, .stops = nobody}) ||
            !is_within("ms to the first", crowd.first_ms, 15) ||
            !is_within("ms to the second", crowd.all_ms - crowd.first_ms, 25))
            return false;
    return true;
}

static bool killed_ones(unsigned seeds)
{
    for (unsigned seed = 1; seed <= seeds; seed++)
        if (!play((struct plan){.seed = seed, .waiters = 3, .stops = first}) ||
            !is_within("ms", crowd.all_ms, 1200))
            return false;
    if (!play((struct plan){.waiters = CROWD, .stops = every_hundredth}))
        return false;
    printf("# %lld ms\n", (long long)crowd.all_ms);
    return is_within("ms", crowd.all_ms, 20000);
}

/* As on an overloaded machine: all looks are about equally late, and more and more so. */
static void look_late(void)
{
    sim.temper.late_ms = 450;
    sim_pass(10000);
    forget_counts();
    for (; sim.temper.late_ms < 2000; sim.temper.late_ms += 250)
        sim_pass(10000);
}

static bool late_looks(unsigned seeds)
{
    (void)seeds;
    return play((struct plan){.waiters = 200, .stops = nobody, .held = look_late});
}

/* ---- servers --------------------------------------------------------------------------------- */

/* Some frozen waiters, and then a live one. */
static bool frozen_ones(unsigned frozen, int64_t limit_ms, unsigned seeds)
{
    for (enum server server = TURNS; server <= SEIZES; server++) {
        int64_t longest = 0;

        for (unsigned seed = 1; seed <= seeds; seed++) {
            if (!play((struct plan){.server = server,
                                    .seed = seed,
                                    .waiters = frozen + 1,
                                    .late = true,
                                    .stops = all_but_the_last}) ||
                !is_within("ms", crowd.first_ms, limit_ms))
                return false;
            longest = crowd.first_ms > longest ? crowd.first_ms : longest;
        }
        printf("# %s: %u frozen: %lld ms\n", servers[server].name, frozen, (long long)longest);
    }
    return true;
}

static bool few_frozen(unsigned seeds)
{
    for (unsigned n = 1; n <= 16; n++)
        if (!frozen_ones(n, 15000, seeds))
            return false;
    return true;
}

static bool many_frozen(unsigned seeds)
{
    return frozen_ones(17, 60000, seeds) && frozen_ones(40, 60000, (seeds + 3) / 4) &&
           frozen_ones(60, 60000, 1); /* the tables of functions.c have 64 sessions */
}

/* Others are alive, also far behind, where waits are long and the queue before them has shrunk. */
static bool live_ones(unsigned seeds)
{
    for (enum server server = TURNS; server <= SEIZES; server++)
        for (unsigned seed = 1; seed <= (seeds + 1) / 2; seed++)
            if (!play((struct plan){.server = server, .seed = seed, .waiters = 60, .stops = most}))
                return false;
    return true;
}

static void wait_for_long(void)
{
    sim_pass(600000);
    is_within("roll calls", (int64_t)sim.asked[ROWLOCK_ACT_OVERTAKE], 0);
}

static bool no_calls(unsigned seeds)
{
    (void)seeds;
    for (enum server server = TURNS; server <= SEIZES; server++)
        if (!play((struct plan){
                .server = server, .waiters = 40, .stops = nobody, .held = wait_for_long}))
            return false;
    return true;
}

const struct crowd_test crowd_tests[] = {
    {"p10_a_thousand_waiters_poll_by_few_looks_and_writes_and_are_served_within_15_s", a_thousand},
    {"p10_the_first_waiters_are_quick", two},
    {"p6_killed_waiters_of_a_crowd_delay_the_others_by_few_seconds", killed_ones},
    {"p7_waiters_keep_their_places_though_their_looks_are_late", late_looks},
    {"p6_up_to_16_frozen_waiters_delay_by_15_s_at_most", few_frozen},
    {"p6_any_number_of_frozen_waiters_delays_by_60_s_at_most", many_frozen},
    {"p7_live_waiters_among_frozen_ones_are_served_in_their_order", live_ones},
    {"p10_no_waiter_is_called_while_the_name_is_held", no_calls},
    {.name = NULL},
};

const struct crowd_wrong crowd_wrongs[] = {{SIM_LEAVES_THE_DEAD, killed_ones},
                                           {SIM_MARKS_NOBODY, few_frozen},
                                           {SIM_SHOWS_NO_LIFE, live_ones},
                                           {SIM_RIGHT, NULL}};
