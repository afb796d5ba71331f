/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sessions on a real PostgreSQL, stopped between any two of their statements and inside them.
 *
 * Runs on: postgresql/native
 */
#include <stdio.h>

#include "lib/harness.h"
#include "lib/postgresql_gates.h"
#include "lib/postgresql_play.h"
#include "lib/postgresql_players.h"
#include "lib/test.h"

static void plays(struct play scene)
{
    static int installed;
    struct played played;
    long long began = t_now();

    if (!installed++)
        gates_install(t_admin(), PLAYERS);
    if (!scene.most)
        scene.most = t_effort(60, 4000);
    played = play(&scene);
    printf("# %s start %d%s%s: %ld schedules (%s), %ld steps, %ld grants, %ld refusals, %ld locks, "
           "%ld fences, %ld taken over, %ld moves, %ld tidied, %ld deaths, %lld ms\n",
           scene.scripts, scene.start, scene.moves ? " moves" : "", scene.deaths ? " deaths" : "",
           played.schedules, played.all ? "all" : "a sample", played.steps, played.grants,
           played.refusals, played.locks, played.fences, played.taken, played.moved, played.tidied,
           played.deaths, t_now() - began);
    if (played.violation)
        t_fail(__FILE__, __LINE__, "%s: %s", scene.scripts, played.violation);
}

TEST(p1_two_grants)
{
    plays((struct play){.scripts = "GR/GR"});
    plays((struct play){.scripts = "GR/gR"});
}
