/* SPDX-License-Identifier: Apache-2.0 */
/* A history of a farm of nodes and its jobs. */
#include <stdio.h>

#include "simulation/farm.h"

#define LONGEST_STOP_IN_TRANSACTION_MS 3000

static const char *name_client(unsigned id, char *out, size_t size)
{
    if (id == FARM_OPERATOR)
        return "the operator";
    if (id == FARM_NEWCOMER)
        return "the newcomer";
    snprintf(out, size, "node %u", id);
    return out;
}

/* Stops are mostly short, sometimes hours. A node that holds the file's write lock would stop
   the whole farm. */
static int64_t draw_stop(const struct sim_client *client)
{
    int64_t most = sim.temper.stopped_ms;

    if (sim_below(3))
        most /= 20;
    if (sim_holds_file(client) && most > LONGEST_STOP_IN_TRANSACTION_MS)
        most = LONGEST_STOP_IN_TRANSACTION_MS;
    return sim_between(10, most > 10 ? most : 10);
}

static bool history(uint64_t seed)
{
    sim_reset(seed);
    farm_check_reset();
    farm_rows_reset();
    farm_draw(seed);
    for (unsigned i = 0; i < farm.nodes; i++)
        sim_enter(&sim.client[i], i + 1, farm_live);
    sim_enter(&sim.client[FARM_OPERATOR - 1], FARM_OPERATOR, farm_operate);
    sim_play();
    if (!*sim.failure) { /* the newcomer settles everything that the others left behind */
        sim_enter(&sim.client[FARM_NEWCOMER - 1], FARM_NEWCOMER, farm_come_new);
        sim_play();
    }
    if (!*sim.failure)
        farm_check_end();
    farm_free();
    return !*sim.failure;
}

const struct sim_kind sim_farm = {.name = "jobs",
                                  .store = &sqlite_store,
                                  .clients = SIM_MOST,
                                  .spared = FARM_OPERATOR,
                                  .most_steps = 200000000,
                                  .check_step = farm_check_step,
                                  .check_committed = farm_check_committed,
                                  .name_client = name_client,
                                  .draw_stop = draw_stop,
                                  .history = history};
