/* SPDX-License-Identifier: Apache-2.0 */
/* Crowds that wait for one name (crowd.c): tests with bounds, instead of random histories. */
#ifndef CROWD_H
#define CROWD_H

#include "simulation/sim.h"

/* The loop runs the history with so many seeds. false: see sim.failure. */
struct crowd_test {
    const char *name;
    bool (*run)(unsigned seeds);
};

/* A mistake that this test must find. */
struct crowd_wrong {
    enum sim_wrong wrong;
    bool (*run)(unsigned seeds);
};

extern struct sim_kind sim_crowd;
extern const struct crowd_test crowd_tests[];   /* a NULL name ends the list */
extern const struct crowd_wrong crowd_wrongs[]; /* SIM_RIGHT ends the list */

#endif
