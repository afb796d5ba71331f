/* SPDX-License-Identifier: Apache-2.0 */
/* Scripted clients, and the expected text of each story (stories.h). */
#include "simulation/stories.h"

#include <string.h>

#include "util/clock.h"

#define A 0
#define B 1
#define TTL_MS 5000

/* ---- scripts of the clients ------------------------------------------------------------------ */

static void hold(struct sim_client *client, int64_t after_ms, struct sim_claim claim, int64_t ms)
{
    struct rowlock_lease *lease = NULL;

    sim_pass(after_ms);
    if (sim_acquire(client, &claim, TTL_MS, -1, &lease) == ROWLOCK_OK) {
        sim_hold(client, lease, ms);
        if (!client->dying)
            sim_release(client, lease);
    }
    rowlock_lease_free(lease);
}

static void hold_a(struct sim_client *client)
{
    hold(client, 100 * client->id, sim_one(A, ROWLOCK_EXCLUSIVE), 1000);
}

/* Client 2 does not look for a long time. Tickets never look dead, so the roll is called. */
static void freeze_the_second(struct sim_client *client)
{
    (void)client;
    sim.temper.frozen = true;
    sim_pass(500);
    tell("client 2 is stopped");
    sim.client[1].wake += 60000;
}

/* Wakes client 2 when its ticket has been found silent, before that is deleted. */
static void wake_the_second(const char *statement)
{
    if (strcmp(statement, "waiter_names") != 0 || sim.client[1].wake <= sim.now)
        return;
    tell("client 2 wakes");
    sim.client[1].wake = sim.now;
}

static void hold_a_waking_the_second(struct sim_client *client)
{
    client->meets = wake_the_second;
    hold_a(client);
}

static void keep_a_long(struct sim_client *client)
{
    hold(client, 0, sim_one(A, ROWLOCK_EXCLUSIVE), 60000);
}

/* Holds the file's write lock for longer than a lease can live without renewal. */
static void lock_b_long(struct sim_client *client)
{
    struct sim_claim claim = sim_one(B, ROWLOCK_EXCLUSIVE);

    sim_pass(500);
    sim_lock(client, &claim, -1, TTL_MS + 2000);
}

/* ---- subjects -------------------------------------------------------------------------------- */

static void refresh_s(struct sim_client *client, int64_t at_ms)
{
    const struct rowlock_subject subject = {.name = "S", .max_age_ms = -1};
    struct rowlock_refresh refresh;
    struct rowlock_error error;
    int code;

    sim_pass(at_ms - sim.now);
    code = rowlock_refresh_begin(client->connection, &subject, -1, &refresh, &error);
    if (!code && refresh.stale)
        code = rowlock_refresh_done(client->connection, &refresh, &error);
    sim_check_code(client, "refreshing", code, &error);
    tell(refresh.stale ? "%s refreshes S" : "%s finds S fresh", story_client(client->id));
}

static void expire_s(struct sim_client *client, int64_t at_ms)
{
    struct rowlock_error error;

    sim_pass(at_ms - sim.now);
    sim_check_code(client, "expiring", rowlock_expire(client->connection, "S", NULL, &error),
                   &error);
    tell("%s has expired S", story_client(client->id));
}

static void refresh_and_expire(struct sim_client *client)
{
    refresh_s(client, 100);
    expire_s(client, 200);
    refresh_s(client, 700);
    expire_s(client, 2000);
    refresh_s(client, 5000);
    refresh_s(client, 6000);
}

static void pause_before_writing(const char *statement)
{
    if (strncmp(statement, "expiry_", 7) == 0 && sim.now < 1000)
        sim_pass(3000);
}

static void expire_slowly(struct sim_client *client)
{
    client->meets = pause_before_writing;
    expire_s(client, 500);
}

/* ---- jobs ------------------------------------------------------------------------------------ */

/* Runs a job, and renews its lease only after that has expired. */
static void run_j_renewing_late(struct sim_client *client)
{
    struct rowlock_schedule *every_minute = NULL;
    struct rowlock_job job = {.name = "J", .ttl_ms = 2000};
    struct rowlock_claim claim = {.claimed = ROWLOCK_JOB_NOT_DUE};
    enum rowlock_status status = ROWLOCK_STATUS_OK;
    struct rowlock_lease *lease = NULL;
    struct rowlock_error error;
    int code = rowlock_schedule_open("every 1m", NULL, &every_minute, NULL, &error);

    job.schedule = every_minute;
    while (!code && claim.claimed != ROWLOCK_JOB_CLAIMED) {
        sim_pass(claim.next_ms - claim.now_ms);
        code = rowlock_claim(client->connection, &job, &claim, &lease, &error);
    }
    sim_check_code(client, "claiming", code, &error);
    tell("%s runs J", story_client(client->id));
    sim_pass(2500);
    code = rowlock__renew_once(lease, client->connection, 2000, ROWLOCK_NEVER, &status, &error);
    tell(code || status ? "%s learns that its lease is lost" : "%s continues",
         story_client(client->id));
    rowlock_lease_free(lease);
    rowlock_schedule_close(every_minute);
}

static void pause_before_the_drop(const char *statement)
{
    if (strcmp(statement, "job_drop") == 0)
        sim_pass(1000);
}

static void forget_j(struct sim_client *client)
{
    struct rowlock_error error;
    int code;

    client->meets = pause_before_the_drop;
    sim_pass(2300);
    code = rowlock_forget_job(client->connection, "J", &error);
    sim_check_code(client, "forgetting", code, &error);
    tell(code ? "%s: J runs" : "%s has forgotten J", story_client(client->id));
}

/* ---- the stories and their texts ------------------------------------------------------------- */

const struct story file_stories[] = {
    {"p5_who_cannot_renew_stops_in_time",
     {keep_a_long, lock_b_long},
     "client 1 asks for A, and waits\n"
     "client 1 is granted A\n"
     "client 2 locks B in a transaction\n"
     "client 1 could not renew in time, and stops\n"
     "client 2 ends its transaction\n"},
    {.name = NULL},
};

const struct story table_stories[] = {
    {"p7_a_waiter_that_answers_while_the_roll_call_ends_keeps_its_place",
     {hold_a, hold_a, hold_a_waking_the_second, freeze_the_second},
     "client 1 asks for A, and waits\n"
     "client 1 is granted A\n"
     "client 2 asks for A, and waits\n"
     "client 2: refused, client 1 holds it\n"
     "client 2 takes a ticket\n"
     "client 2 is first: waits for client 1, the holder\n"
     "client 3 asks for A, and waits\n"
     "client 3: refused, client 1 holds it\n"
     "client 3 takes a ticket\n"
     "client 3: queued behind client 2, 1 before it\n"
     "client 2 is stopped\n"
     "client 1 releases A\n"
     "client 3 calls the roll\n"
     "client 3 calls the roll\n"
     "client 2 wakes\n"
     "client 2 is first, and nothing is in the way\n"
     "client 2 is granted A\n"
     "client 3 passes those who did not answer\n"
     "client 3 is first: waits for client 2, the holder\n"
     "client 2 releases A\n"
     "client 3 is first, and nothing is in the way\n"
     "client 3 is granted A\n"
     "client 3 releases A\n"},
    {"an_expiry_is_not_taken_back_by_an_earlier_one",
     {refresh_and_expire, expire_slowly},
     "client 1 refreshes S\n"
     "client 1 has expired S\n"
     "client 1 refreshes S\n"
     "client 1 has expired S\n"
     "client 2 has expired S\n"
     "client 1 refreshes S\n"
     "client 1 finds S fresh\n"},
    {"a_forgotten_job_does_not_continue",
     {run_j_renewing_late, forget_j},
     "client 1 is granted \n"
     "client 1 runs J\n"
     "client 1 learns that its lease is lost\n"
     "client 2 has forgotten J\n"},
    {.name = NULL},
};
