/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Mistakes in rowlock's functions and statements on PostgreSQL, each of which the referee of
 * sessions/postgresql_interleavings_test finds in one of its scenes.
 *
 * Runs on: postgresql/native
 */
#include <stdio.h>

#include "lib/harness.h"
#include "lib/postgresql_gates.h"
#include "lib/postgresql_play.h"
#include "lib/postgresql_players.h"
#include "lib/test.h"

#define MOST 1500 /* schedules; each mistake is found much earlier */

static void finds(const struct gates_change *mistake, struct play scene)
{
    static int installed;
    struct played played;

    if (!installed++)
        gates_install(t_admin(), PLAYERS);
    gates_change(t_admin(), mistake);
    scene.most = MOST;
    played = play(&scene);
    gates_restore(t_admin());
    if (!played.violation)
        t_fail(__FILE__, __LINE__, "not found in %ld schedules", played.schedules);
    printf("# after %ld schedules: %s\n", played.schedules, played.violation);
}

/* The scripts, and what they begin with, whether names move; then changes. */
#define MISTAKE(name, scripts_, start_, moves_, ...)                                       \
    TEST(name)                                                                             \
    {                                                                                      \
        const struct gates_change mistake[] = {__VA_ARGS__, {NULL, NULL, NULL}};           \
                                                                                           \
        finds(mistake,                                                                     \
              (struct play){.scripts = (scripts_), .start = (start_), .moves = (moves_)}); \
    }

MISTAKE(finds_a_move_without_a_row_at_the_old_generation, "GR/gR", PLAY_FREE, 1,
        {"rowlock.move", "VALUES (move.name, move.at,", "VALUES (move.name, move.at - 1000,"})

MISTAKE(finds_a_tidy_without_the_lock_of_the_table, "gVR/GR", PLAY_MOVED, 1,
        {"rowlock.tidy", "LOCK TABLE rowlock.lease IN SHARE ROW EXCLUSIVE MODE;", ""})

MISTAKE(finds_a_tidy_that_forgets_without_the_name_lock, "gR/VGR", PLAY_MOVED, 1,
        {"rowlock.tidy", "AND pg_catalog.pg_try_advisory_xact_lock(",
         "AND 0 = 0 * pg_catalog.hashint8("})

MISTAKE(finds_an_enqueue_that_does_not_look_again, "g/E", PLAY_MOVED, 1,
        {"rowlock.enqueue", "WHERE l.token >= 0", "WHERE true"})

MISTAKE(finds_a_fast_release_of_a_queued_lease, "RG/E", PLAY_HELD, 0,
        {"release_free", "AND NOT l.queued", ""})

MISTAKE(finds_a_fast_grant_without_the_name_lock, "GR/X", PLAY_FREE, 0,
        {"grant_free", "gates.stop() AND pg_catalog.pg_try_advisory_xact_lock",
         "gates.stop() OR pg_catalog.pg_try_advisory_xact_lock"})

MISTAKE(finds_a_fence_that_locks_nothing, "R/F", PLAY_HELD, 0,
        {"rowlock.fence", "FOR KEY SHARE", ""})

MISTAKE(finds_a_gate_that_passes_a_fence, "ER/F", PLAY_HELD, 0,
        {"rowlock.end_lease",
         "(NOT only_expired OR l.expires <= pg_catalog.clock_timestamp()) FOR UPDATE",
         "(NOT only_expired OR l.expires <= pg_catalog.clock_timestamp()) FOR NO KEY UPDATE"})

MISTAKE(finds_a_takeover_that_does_not_look_again, "NR/gR", PLAY_EXPIRED, 0,
        {"rowlock.end_lease", "(NOT only_expired OR l.expires <= pg_catalog.clock_timestamp())",
         "true"})

MISTAKE(finds_a_grant_that_does_not_lock_the_gate, "gRG/E", PLAY_GATED, 0,
        {"rowlock.take", "AND l.token = 0 FOR UPDATE", "AND l.token = 0"})

MISTAKE(finds_a_gate_closed_by_an_old_snapshot, "Su/S", PLAY_FREE, 0,
        {"rowlock.end_lease",
         "pg_catalog.current_setting('transaction_isolation') IN ('read committed', 'read "
         "uncommitted')",
         "true"})

MISTAKE(finds_a_lock_that_overlooks_shared_leases, "SR/X", PLAY_FREE, 0,
        {"look_one", "f.token >= 0", "f.token > 0"})

MISTAKE(finds_siblings_beneath_one_lease, "O/O", PLAY_HELD, 0,
        {"rowlock.lock_name", "PERFORM pg_catalog.pg_advisory_xact_lock(key)", "PERFORM 1"})

MISTAKE(finds_a_release_that_wakes_nobody, "r/ETR", PLAY_HELD, 0,
        {"rowlock.end_lease", "WHERE session = pg_catalog.pg_backend_pid()", "WHERE false"})

MISTAKE(finds_a_restored_lease_with_its_old_key, "D/GR/V", PLAY_MOVED, 1,
        {"rowlock.see_foreign", "IF NEW.n <= 0 AND NEW.mode = 'exclusive' THEN",
         "IF NEW.n <= 0 AND NEW.mode = 'exclusive' THEN RETURN NEW;"})

MISTAKE(finds_a_ticket_drawn_before_the_row_is_locked, "ETR/ETR", PLAY_FREE, 0,
        {"rowlock.enqueue", "    want record;",
         "    early constant bigint := rowlock.next_number();\n"
         "    stopped constant boolean := gates.stop();\n    want record;"},
        {"rowlock.enqueue", "THEN rowlock.next_number() END", "THEN early END"})

/* A turn decides without rowlock.take. sessions/postgresql_lease_queue_test finds one that does not
   see a member, a ticket ahead, or one that is committed meanwhile. */
MISTAKE(finds_a_turn_without_the_name_lock, "R/ETR/X", PLAY_HELD, 0,
        {"rowlock.turn", "THEN pg_catalog.pg_try_advisory_xact_lock(",
         "THEN 0 = 0 * pg_catalog.hashint8("})
