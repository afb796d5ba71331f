/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stories with an expected text: scripted clients, and only the faults that their scripts contain.
 */
#ifndef STORIES_H
#define STORIES_H

#include "simulation/sim.h"

struct story {
    const char *name;
    void (*script[SIM_CLIENTS])(struct sim_client *client);
    const char *text;
};

/* A NULL name ends each list. */
extern const struct story file_stories[];  /* their texts depend on SQLite's lock of the file */
extern const struct story table_stories[]; /* with statements of several clients in between */

#endif
