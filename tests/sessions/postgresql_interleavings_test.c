/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sessions on a real PostgreSQL, stopped between any two of their statements and inside them, in
 * many orders: of two sessions in all of them (full scope), of three in a sample.
 * lib/postgresql_players.h has the letters of the scripts. ROWLOCK_TEST_PLAYS=N
 * plays each scene N times, ROWLOCK_TEST_SCENE=SCRIPTS one scene only.
 *
 * Runs on: postgresql/native
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/harness.h"
#include "lib/postgresql_gates.h"
#include "lib/postgresql_play.h"
#include "lib/postgresql_players.h"
#include "lib/test.h"

static void installs(void)
{
    static int installed;

    if (!installed++)
        gates_install(t_admin(), PLAYERS);
}

/* Two sessions have tens to hundreds of schedules, three too many. */
static int most_of(const struct play *scene)
{
    const char *wanted = getenv("ROWLOCK_TEST_PLAYS");
    int two = strchr(scene->scripts, '/') == strrchr(scene->scripts, '/');

    return wanted ? atoi(wanted) : two ? t_effort(25, 5000) : t_effort(8, 300);
}

static void plays(struct play scene)
{
    const char *only = getenv("ROWLOCK_TEST_SCENE");
    struct played played;
    long long began = t_now();

    if (only && strcmp(only, scene.scripts) != 0)
        return;
    installs();
    if (!scene.most)
        scene.most = most_of(&scene);
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

/* ---- the rule that rowlock.tidy needs -------------------------------------------------------- */

/* A statement waits for the table while the name moves, and the mark of that is removed: then
   it must use the new generation, because its snapshot is younger than its lock of the table. */
static void waits_for_the_table(PGconn *writer, const char *name,
                                void (*send)(PGconn *writer, const char *name))
{
    char generation[40];
    PGresult *result;

    gates_sql(t_admin(), "BEGIN; LOCK TABLE rowlock.lease IN SHARE ROW EXCLUSIVE MODE");
    send(writer, name);
    t_until(t_engine()->is_waiting(t_admin(), PQbackendPID(writer)));
    snprintf(generation, sizeof generation, "%s",
             gates_sql(t_admin(), "SELECT rowlock.move('%s', 0, nextval('rowlock.number'), false)",
                       name));
    gates_sql(t_admin(), "DELETE FROM rowlock.lease WHERE name = '%s' AND n = 0; COMMIT", name);
    while ((result = PQgetResult(writer)))
        PQclear(result);
    t_text(gates_sql(writer, "SELECT n FROM rowlock.lease WHERE name = '%s' AND token > 0", name),
           generation);
}

#define INSERT_OF                                                                                  \
    "INSERT INTO rowlock.lease (token, name, n, expires, acquired) SELECT "                        \
    "nextval('rowlock.number'), %s, coalesce((SELECT l.token FROM rowlock.lease l WHERE l.name = " \
    "%s AND l.n <= 0 ORDER BY l.n LIMIT 1), 0), 'infinity', 'infinity' ON CONFLICT DO NOTHING"

static void send_prepared(PGconn *writer, const char *name)
{
    PQsendQueryPrepared(writer, "insert", 1, &name, NULL, NULL, 0);
}

static void send_parameters(PGconn *writer, const char *name)
{
    char text[600];

    snprintf(text, sizeof text, INSERT_OF, "$1::text", "$1::text");
    PQsendQueryParams(writer, text, 1, NULL, &name, NULL, NULL, 0);
}

static void send_call(PGconn *writer, const char *name)
{
    PQsendQueryParams(writer, "SELECT pg_temp.insert_lease($1)", 1, NULL, &name, NULL, NULL, 0);
}

TEST(p1_a_writer_locks_the_table_before_its_snapshot)
{
    static void (*const ways[])(PGconn *, const char *) = {send_prepared, send_parameters,
                                                           send_call};
    PGconn *writer = t_native_at(t_url());
    char text[600];

    installs();
    gates_move(t_admin(), 1);
    snprintf(text, sizeof text, INSERT_OF, "$1::text", "$1::text");
    PQclear(PQprepare(writer, "insert", text, 0, NULL));
    gates_sql(writer,
              "CREATE FUNCTION pg_temp.insert_lease(name text) RETURNS void LANGUAGE plpgsql "
              "AS $$ BEGIN " INSERT_OF "; END $$",
              "insert_lease.name", "insert_lease.name");
    for (int i = 0; i < 24; i++) /* custom plans, then generic ones */
        waits_for_the_table(writer, t_say("table %d", i), ways[i % 3]);
    PQfinish(writer);
}

/* ---- scenes ---------------------------------------------------------------------------------- */

/* The scenes of one list, each with its scripts and what they begin with. */
static void plays_all(const struct play *scenes)
{
    for (; scenes->scripts; scenes++)
        plays(*scenes);
}

#define FREE(scripts)               \
    {                               \
        scripts, PLAY_FREE, 0, 0, 0 \
    }
#define HELD(scripts)               \
    {                               \
        scripts, PLAY_HELD, 0, 0, 0 \
    }
#define EXPIRED(scripts)               \
    {                                  \
        scripts, PLAY_EXPIRED, 0, 0, 0 \
    }
#define SHARED_(scripts)              \
    {                                 \
        scripts, PLAY_SHARED, 0, 0, 0 \
    }
#define CROSSED(scripts)               \
    {                                  \
        scripts, PLAY_CROSSED, 0, 0, 0 \
    }
#define GATED(scripts)               \
    {                                \
        scripts, PLAY_GATED, 0, 0, 0 \
    }
#define MOVES(scripts)              \
    {                               \
        scripts, PLAY_FREE, 0, 1, 0 \
    }
#define MOVED(scripts)               \
    {                                \
        scripts, PLAY_MOVED, 0, 1, 0 \
    }
#define HELD_MOVES(scripts)         \
    {                               \
        scripts, PLAY_HELD, 0, 1, 0 \
    }
#define DEATHS(scripts, start, moves) \
    {                                 \
        scripts, start, 0, moves, 1   \
    }
#define SCENES(...) plays_all((const struct play[]){__VA_ARGS__, {NULL, PLAY_FREE, 0, 0, 0}})

TEST(p1_grants_of_one_name)
{
    SCENES(FREE("GR/GR"), FREE("GR/gR"), FREE("gR/gR"), FREE("GRGR/GR"), GATED("GR/gR"));
}

TEST(p1_grants_and_transaction_locks)
{
    SCENES(FREE("GR/X"), FREE("gR/X"), FREE("X/X"), FREE("GX/XG"), HELD("R/X"), FREE("SR/X"),
           FREE("SR/y"), FREE("GR/y"), FREE("y/X"), FREE("PR/y/Y"));
}

TEST(p1_shared_leases_and_permits)
{
    SCENES(FREE("SR/SR"), FREE("PR/GR"), FREE("SR/gR"), FREE("SR/PR"), GATED("SR/GR"),
           FREE("PR/PR/PR"), FREE("SR/PR/GR"), FREE("SR/SR/X"), FREE("PR/gR/GR"));
}

TEST(p1_leases_of_two_names)
{
    SCENES(FREE("AR/AR"), FREE("AR/GR"), FREE("ANR/gR"), FREE("ZR/ZR"), FREE("ZR/AR"),
           FREE("ZR/QW"), FREE("AR/QTR"), FREE("ZR/QTR"), FREE("ZR/ZR/QW"), FREE("ANR/QTR/ETR"),
           FREE("ZNR/SR/QTR"), CROSSED("AR/QW"), CROSSED("AR/ZR"), CROSSED("AR/QTR/ZR"),
           CROSSED("ZR/A/QW"));
}

TEST(p1_old_snapshots)
{
    SCENES(FREE("SuG/SR"), FREE("Su/S"), FREE("Su/SR/GR"), FREE("PuG/PR"), HELD("u/ETR"),
           MOVED("v/GR"), MOVED("v/gRG/E"), MOVED("v/gR/ETR"), MOVES("gvR/GR"));
}

TEST(p1_a_takeover_and_its_renewal)
{
    SCENES(SHARED_("N/gR"), SHARED_("NR/SR"), SHARED_("R/gR"), SHARED_("NR/gR/SR"), EXPIRED("N/Y"),
           EXPIRED("NR/Y/gR"), EXPIRED("R/y"), SHARED_("N/Y"), SHARED_("NR/Y/PR"), EXPIRED("N/gR"),
           EXPIRED("R/gR"), EXPIRED("NR/gR"), EXPIRED("NR/F/gR"), EXPIRED("N/X/gR"), HELD("N/K"),
           HELD("R/K"), HELD("R/K/GR"));
}

TEST(p4_a_fence_keeps_its_lease)
{
    SCENES(HELD("R/F"), HELD("r/F"), SHARED_("F/gR"), HELD("ER/F"), HELD("ER/f"), HELD("R/f"),
           HELD("NR/F"), HELD("K/F"), EXPIRED("F/gR"), EXPIRED("f/gR"), HELD("R/O"), HELD("NR/O"),
           HELD("O/O"), HELD("R/F/GR"), HELD("R/F/ETR"), HELD("R/f/ETR"), HELD("R/O/O"),
           HELD("R/F/X"));
}

TEST(p7_waiters)
{
    SCENES(HELD("R/ETR"), HELD("r/ETR"), HELD("RG/E"), GATED("gRG/E"), HELD("R/EW"), FREE("GR/ETR"),
           GATED("gR/ETR"), HELD("R/ETR/GR"), HELD("R/ETR/ETR"), HELD("R/EW/ETR"), HELD("NR/F/ETR"),
           FREE("GR/ETR/X"), FREE("SR/ETR/GR"), EXPIRED("NR/ETR/gR"), HELD("R/ETR/X"),
           HELD("R/ETR/gR"), HELD("R/ETR/SR"), FREE("SR/SR/ETR"), FREE("PR/PR/ETR"),
           HELD("R/ETR/QTR"), EXPIRED("R/ETR/ETR"));
}

TEST(p1_names_that_move)
{
    SCENES(MOVED("GR/GR"), MOVED("GR/gR"), MOVES("gR/gR"), MOVES("GRGR/gR"), MOVES("gR/GR/X"),
           MOVES("gR/GR/ETR"), MOVES("gR/ETR/ETR"), MOVES("gRgR/EW"), MOVES("gNR/GR/X"),
           MOVES("PR/SR/gR"), MOVES("gR/D"), MOVED("D/GR"), MOVED("D/gR/GR"));
}

TEST(p1_tidy)
{
    SCENES(MOVED("GR/V"), MOVED("gR/V"), MOVED("gVR/GR"), MOVED("gR/VGR"), MOVED("g/E"),
           MOVES("gR/GR/V"), MOVED("gR/GR/V"), MOVED("GR/GR/V"), MOVES("gR/ETR/V"), MOVED("gR/X/V"),
           MOVED("GR/VV/X"), MOVED("PR/GR/V"), HELD_MOVES("R/F/V"), MOVES("gRV/GR/GR"),
           MOVED("ETR/V/GR"), MOVED("EW/GR/V"), HELD_MOVES("R/ETR/V"), MOVED("D/V/GR"),
           GATED("SR/V"), GATED("ETR/V"));
}

TEST(p6_deaths)
{
    SCENES(DEATHS("GR/GR/GR", PLAY_FREE, 0), DEATHS("GR/gR/X", PLAY_FREE, 0),
           DEATHS("R/ETR/GR", PLAY_HELD, 0), DEATHS("R/ETR/ETR", PLAY_HELD, 0),
           DEATHS("R/F/gR", PLAY_EXPIRED, 0), DEATHS("SR/PR/GR", PLAY_FREE, 0),
           DEATHS("gR/GR/V", PLAY_MOVED, 1), DEATHS("gR/ETR/V", PLAY_MOVED, 1),
           DEATHS("NR/F/ETR", PLAY_HELD, 1));
}
