/* SPDX-License-Identifier: Apache-2.0 */
/* Stories whose text is known word for word: scripted clients, without misfortune but their own. */
#ifndef STORIES_H
#define STORIES_H

#include "simulation/sim.h"

struct story {
    const char *name;
    void (*script[SIM_CLIENTS])(struct sim_client *client);
    const char *text;
};

extern const struct story stories[]; /* ends with name NULL */

#endif
