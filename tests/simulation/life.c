/* SPDX-License-Identifier: Apache-2.0 */
/* The life of a client: leases, transaction locks, fenced work, sometimes a break. */
#include <string.h>

#include "lease/query.h"
#include "session/connection.h"
#include "simulation/sim.h"
#include "util/renewal.h"

#define LIMIT 2

static const char *const names[SIM_NAMES] = {"A", "B", "C"};

static bool is_dead(const struct sim_client *client)
{
    return client->connection->link &&
           client->connection->driver->state(client->connection->link) == ROWLOCK_STATE_DEAD;
}

void sim_check_code(const struct sim_client *client, const char *what, int code,
                    const struct rowlock_error *error)
{
    switch (code) {
    case ROWLOCK_OK:
    case ROWLOCK_EBUSY:
    case ROWLOCK_ETIMEDOUT:
    case ROWLOCK_ELOST:
    case ROWLOCK_ELIMIT:
    case ROWLOCK_ECONN:
    case ROWLOCK_EUNKNOWN:
        return;
    default:
        if (!client->dying)
            sim_fail("%s of client %u fails unexpectedly: %s: %s", what, client->id,
                     rowlock_error_name(code), error->text);
    }
}

/* Opens a connection, or reopens it, while the client is alive. */
bool sim_connect(struct sim_client *client)
{
    struct rowlock_error error;

    while (!client->dying) {
        int code;

        if (client->connection && !is_dead(client))
            return true;
        code = client->connection
                   ? rowlock__reconnect(client->connection, ROWLOCK_NEVER, &error)
                   : rowlock_open(sim.kind->store->url(), NULL, &client->connection, &error);
        sim_check_code(client, "connecting", code, &error);
        if (code)
            sim_pass(100);
    }
    return false;
}

/* ---- a lease --------------------------------------------------------------------------------- */

int sim_acquire(struct sim_client *client, const struct sim_claim *claim, int64_t ttl_ms,
                int64_t wait_ms, struct rowlock_lease **out)
{
    struct rowlock_terms terms = {.ttl_ms = ttl_ms, .wait_ms = wait_ms};
    struct rowlock_error error;
    int code;

    client->asks = *claim;
    client->call++;
    client->ticket = 0;
    record_asks(client);
    tell("%s asks for %s, %s", story_client(client->id), story_claim(claim),
         wait_ms == 0  ? "now or never"
         : wait_ms < 0 ? "and waits"
                       : "and waits a while");
    code = rowlock_acquire(client->connection, claim->want, claim->n, &terms, out, &error);
    client->ticket = 0;
    sim_check_code(client, "acquiring", code, &error);
    if (client->dying)
        return code;
    if (code) {
        record_refused(client, code);
        tell("%s gives up: %s", story_client(client->id), rowlock_strerror(code));
        return code;
    }
    client->token = rowlock_token(*out);
    client->end_ms = sim_own_ms(client) + rowlock_remaining(*out);
    client->believes = true;
    record_granted(client, *out);
    return ROWLOCK_OK;
}

/* The lease was reported as lost, or has expired by the client's own clock. */
static bool lose(struct sim_client *client, enum rowlock_status status)
{
    client->believes = false;
    record_leaves(client);
    tell(status == ROWLOCK_STATUS_STOPPED ? "%s learns that it must stop"
         : status == ROWLOCK_STATUS_LOST  ? "%s learns that its lease is lost"
                                          : "%s could not renew in time, and stops",
         story_client(client->id));
    return false;
}

/* Under the fence of an exclusive lease a counter is raised. 0: nothing was written. */
static int64_t write_fenced(struct sim_client *client, int64_t token, long op)
{
    const struct sim_store *store = sim.kind->store;
    const char *name = client->asks.want[0].name;

    sim_pass(sim_between(0, sim_below(4) ? 50 : 2500));
    if (client->dying || is_dead(client))
        return 0;
    if (!store->has_lease(client, name, token))
        sim_fail("P4: the lease of client %u ended while its fence was open", client->id);
    if (client->asks.want[0].mode != ROWLOCK_EXCLUSIVE)
        return 0;
    tell("%s writes under the fence", story_client(client->id));
    return store->write(client, name, token, op);
}

/* A transaction under the fence: its writes are exact, however late they are. */
static void work_fenced(struct sim_client *client, struct rowlock_lease *lease)
{
    const char *name = client->asks.want[0].name;
    int64_t token = rowlock_token(lease), value;
    struct rowlock_error error;
    long op;
    int code;

    if (!client->connection->link || is_dead(client) || !sim.kind->store->begin(client))
        return;
    op = record_fences(client, name);
    code = rowlock_fence(client->connection, name, token, &error);
    sim_check_code(client, "the fence", code, &error);
    record_fenced(client, name, op, !code);
    value = code ? 0 : write_fenced(client, token, op);
    if (!value) {
        record_not_added(client, name, op);
        rowlock_rollback(client->connection, NULL);
        return;
    }
    record_commits(client, name, op);
    code = rowlock_commit(client->connection, &error);
    sim_check_code(client, "commit", code, &error);
    if (!code && !client->dying)
        record_committed(client, name, op, value);
    if (code)
        rowlock_rollback(client->connection, NULL);
}

/* The library's keeper without its thread; false if the lease is lost. */
bool sim_hold(struct sim_client *client, struct rowlock_lease *lease, int64_t ms)
{
    struct rowlock_renewal renewal = {.ttl_ms = lease->ttl_ms};
    int64_t until = sim_own_ms(client) + ms;
    enum rowlock_status status = ROWLOCK_STATUS_OK;
    struct rowlock_renewal_step step =
        rowlock__renewal_start(&renewal, sim_own_ms(client), lease->end_ms);

    while (!client->dying && !*sim.failure) {
        int code = ROWLOCK_OK;

        client->end_ms = sim_own_ms(client) + rowlock_remaining(lease);
        if (client->end_ms > sim_own_ms(client))
            record_renewed(client, lease);
        if (sim_own_ms(client) >= until)
            return true;
        if (step.act == ROWLOCK_RENEWAL_LOST)
            return lose(client, renewal.code == ROWLOCK_ELOST ? status : ROWLOCK_STATUS_OK);
        if (step.act == ROWLOCK_RENEWAL_SLEEP) {
            if (sim_chance(sim.temper.fences * 100))
                work_fenced(client, lease);
            sim_until(step.until_ms < until ? step.until_ms : until);
            if (sim_own_ms(client) >= until && step.until_ms > until)
                continue;
        } else {
            code = rowlock__renew_over(client->connection, lease, lease->ttl_ms,
                                       rowlock__query_deadline(client->connection), &status, NULL);
            if (!code && status != ROWLOCK_STATUS_OK)
                code = ROWLOCK_ELOST;
        }
        step = rowlock__renewal_next(&renewal, sim_own_ms(client), lease->end_ms, code, sim_dice());
    }
    return true;
}

void sim_release(struct sim_client *client, struct rowlock_lease *lease)
{
    struct rowlock_error error;
    bool believed = client->believes;
    int code;

    client->believes = false;
    record_leaves(client);
    if (believed)
        tell("%s releases %s", story_client(client->id), story_claim(&client->asks));
    code = rowlock_release(lease, &error);
    sim_check_code(client, "release", code, &error);
    if (!client->dying && !code)
        record_left(client);
    if (!client->dying && believed && code)
        tell("%s: release: %s", story_client(client->id), rowlock_strerror(code));
}

/* ---- a transaction lock ---------------------------------------------------------------------- */

static void check_locked(struct sim_client *client)
{
    for (size_t i = 0; i < client->asks.n; i++) {
        const struct rowlock_want *want = &client->asks.want[i];

        if (sim.kind->store->is_leased(client, want->name, want->mode == ROWLOCK_SHARED))
            sim_fail("P1: client %u locks %s in a transaction, and it is leased", client->id,
                     want->name);
    }
}

void sim_lock(struct sim_client *client, const struct sim_claim *claim, int64_t wait_ms, int64_t ms)
{
    struct rowlock_error error;
    int code;

    client->asks = *claim;
    record_asks(client);
    code = rowlock_begin(client->connection, claim->want, claim->n, wait_ms, &error);
    sim_check_code(client, "rowlock_begin", code, &error);
    if (code && !client->dying)
        record_refused(client, code);
    if (code || client->dying)
        return;
    record_locked(client);
    tell("%s locks %s in a transaction", story_client(client->id), story_claim(claim));
    client->locks = true;
    check_locked(client);
    sim_pass(ms);
    client->locks = false;
    if (client->dying)
        return;
    record_leaves(client);
    code = is_dead(client) ? ROWLOCK_ECONN : rowlock_commit(client->connection, &error);
    if (code != ROWLOCK_ECONN)
        sim_check_code(client, "commit", code, &error);
    if (code)
        rowlock_rollback(client->connection, NULL);
    if (code || client->dying)
        record_rolled_back(client);
    else
        record_left(client);
    tell("%s ends its transaction", story_client(client->id));
}

void sim_break(struct sim_client *client, const char *name, bool now)
{
    struct rowlock_error error;
    int64_t broken = 0;
    int code;

    client->breaking_now = now;
    code = rowlock_break(client->connection, name, 0, now, &broken, &error);
    client->breaking_now = false;
    sim_check_code(client, "rowlock_break", code, &error);
    if (!code && broken)
        tell("%s breaks the lease of %s%s", story_client(client->id), name, now ? ", now" : "");
}

/* ---- whole lives ----------------------------------------------------------------------------- */

struct sim_claim sim_one(unsigned name, enum rowlock_mode mode)
{
    struct sim_claim claim = {
        .n = 1, .want = {{.name = names[name], .mode = mode, .count = 1, .limit = LIMIT}}};

    if (mode != ROWLOCK_PERMIT)
        claim.want[0].count = claim.want[0].limit = 0;
    return claim;
}

static enum rowlock_mode draw_mode(bool permits)
{
    if (permits && sim_below(100) < sim.temper.permits)
        return ROWLOCK_PERMIT;
    return sim_below(100) < sim.temper.shared ? ROWLOCK_SHARED : ROWLOCK_EXCLUSIVE;
}

static struct sim_claim draw_claim(bool permits)
{
    struct sim_claim claim = sim_one(sim_below(sim.temper.names), draw_mode(permits));

    if (claim.want[0].mode == ROWLOCK_PERMIT && sim_below(3) == 0)
        claim.want[0].count = 2;
    if (claim.want[0].mode == ROWLOCK_PERMIT && sim_below(50) == 0)
        claim.want[0].limit = LIMIT + 1; /* other clients may be configured differently */
    for (unsigned i = 0; i < sim.temper.names && sim_below(3) == 0; i++)
        if (strcmp(claim.want[0].name, names[i]) != 0 && claim.n == 1)
            claim.want[claim.n++] = sim_one(i, draw_mode(permits)).want[0];
    return claim;
}

static void spend_lease(struct sim_client *client)
{
    static const int64_t waits[] = {-1, -1, 0, 500, 3000, 20000};
    struct sim_claim claim = draw_claim(true);
    struct rowlock_lease *lease = NULL;

    if (sim_acquire(client, &claim, sim_between(1000, 5000),
                    waits[sim_below(sizeof waits / sizeof *waits)], &lease) == ROWLOCK_OK) {
        bool kept =
            client->dying || sim_hold(client, lease, sim_between(0, sim_below(3) ? 800 : 9000));

        if (kept || sim_below(2))
            sim_release(client, lease);
        rowlock_lease_free(lease);
    }
    client->believes = false;
}

static void spend_lock(struct sim_client *client)
{
    struct sim_claim claim = draw_claim(false);

    sim_lock(client, &claim, sim_below(3) ? 5000 : 0, sim_between(0, sim_below(4) ? 100 : 3000));
}

void sim_live(struct sim_client *client)
{
    for (unsigned i = 0; i < sim.temper.episodes && sim_connect(client); i++) {
        unsigned kind = sim_below(100);

        sim_pass(sim_between(0, sim_below(2) ? 5 : 1500));
        if (client->dying || *sim.failure)
            return;
        if (kind < sim.temper.breaks)
            sim_break(client, names[sim_below(sim.temper.names)], sim_below(2));
        else if (kind < sim.temper.breaks + sim.temper.transactions)
            spend_lock(client);
        else
            spend_lease(client);
    }
}

/* By then everything that the others left behind has expired: the ttl is 5 s, and the queue
   needs some time. */
void sim_come_new(struct sim_client *client)
{
    for (unsigned i = 0; i < sim.temper.names; i++) {
        struct sim_claim claim = sim_one(i, ROWLOCK_EXCLUSIVE);
        struct rowlock_lease *lease = NULL;
        int64_t began = sim.now;

        record_free(client, names[i],
                    sim_acquire(client, &claim, 30000, 20000, &lease) == ROWLOCK_OK);
        if (sim.now - began > (sim.temper.frozen || sim.temper.sessions ? 15000 : 8000))
            sim_fail("P6: all others had ended, and %s was free only after %.1f s", names[i],
                     (double)(sim.now - began) / 1000);
        if (lease)
            sim_release(client, lease);
        rowlock_lease_free(lease);
    }
}
