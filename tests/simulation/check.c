/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks the rows of the database after every COMMIT: what the judge of make torture, which sees
 * the clients' operations only, cannot know.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "simulation/table.h"

#define LONGEST_GOOD_MS 6000 /* validity of a ticket near the head with late looks, at most */
#define ANSWER_MS 7000       /* the time that a called waiter has to answer */

struct whose {
    int64_t number;
    unsigned id, call;
    bool excused;
};

struct call {
    int64_t number, own_ms, true_ms;
};

/* When a ticket was committed, and its last sign of life. */
struct arrival {
    int64_t ticket, seen;
    unsigned long step, seen_step;
};

static struct whose tokens[SIM_TOKENS], tickets[SIM_TOKENS];
static struct arrival arrivals[SIM_TOKENS];
static struct call calls[SIM_TOKENS];
static size_t n_tokens, n_tickets, n_calls, n_arrivals;
static int64_t greatest;
static struct sim_rows was, is;

void check_reset(void)
{
    n_tokens = n_tickets = n_calls = n_arrivals = 0;
    greatest = 0;
    was = is = (struct sim_rows){.leases = 0};
}

void sim_fail(const char *format, ...)
{
    va_list arguments;

    if (*sim.failure)
        return;
    va_start(arguments, format);
    vsnprintf(sim.failure, sizeof sim.failure, format, arguments);
    va_end(arguments);
    tell("*** %s", sim.failure);
}

/* ---- which client owns a token, a ticket, a call --------------------------------------------- */

static struct whose *find(struct whose *all, size_t n, int64_t number)
{
    for (size_t i = n; i-- > 0;)
        if (all[i].number == number)
            return &all[i];
    return NULL;
}

unsigned check_whose_token(int64_t token)
{
    const struct whose *whose = find(tokens, n_tokens, token);

    return whose ? whose->id : 0;
}

unsigned check_whose_ticket(int64_t ticket)
{
    const struct whose *whose = find(tickets, n_tickets, ticket);

    return whose ? whose->id : 0;
}

void check_ticket(int64_t ticket, unsigned id)
{
    if (n_tickets < SIM_TOKENS)
        tickets[n_tickets++] = (struct whose){ticket, id, 0, false};
}

void check_called(const struct sim_client *client, int64_t call)
{
    calls[n_calls++ % SIM_TOKENS] = (struct call){call, sim_own_ms(client), sim.now};
}

static const struct call *find_call(int64_t number)
{
    for (size_t i = 0; i < n_calls && i < SIM_TOKENS; i++)
        if (calls[i].number == number)
            return &calls[i];
    return NULL;
}

const char *check_name_client(unsigned id, char *out, size_t size)
{
    if (id == SIM_CLIENTS)
        return "the newcomer";
    snprintf(out, size, "client %u", id);
    return out;
}

/* ---- beliefs of the clients ------------------------------------------------------------------ */

static bool believes(const struct sim_client *client)
{
    const struct whose *whose;

    if (!client->believes || !client->honest || sim_own_ms(client) >= client->end_ms)
        return false;
    whose = find(tokens, n_tokens, client->token);
    return !whose || !whose->excused; /* one that was never committed is believed, too */
}

/* P5: the end of the lease as its holder computes it is never later than in the database. */
static void check_end(const struct sim_client *client)
{
    int64_t end = sim_database_ms() - sim.now + sim_true_ms(client, client->end_ms);

    for (size_t i = 0; i < is.leases; i++)
        if (is.lease[i].token == client->token) {
            if (end > is.lease[i].expires)
                sim_fail("P5: client %u believes in its lease for %" PRId64
                         " ms longer than the database",
                         client->id, end - is.lease[i].expires);
            return;
        }
    sim_fail("P1: client %u believes in a lease of %s that is gone", client->id,
             story_claim(&client->asks));
}

/* ---- rows of the database -------------------------------------------------------------------- */

static void check_lease_rows(void)
{
    size_t tokens_seen = 0;

    for (size_t i = 0; i < is.leases; i++) {
        const struct sim_row *a = &is.lease[i];
        int held = a->count;

        tokens_seen += i == 0 || is.lease[i - 1].token != a->token;
        if (!a->heartbeat)
            sim_fail("rows: a lease of %s without its heartbeat", a->name);
        for (size_t j = 0; j < is.leases; j++) {
            const struct sim_row *b = &is.lease[j];

            if (j == i || strcmp(a->name, b->name) != 0)
                continue;
            if (a->mode != b->mode || a->mode == ROWLOCK_EXCLUSIVE)
                sim_fail("P1: two conflicting leases of %s in the database, of client %u and "
                         "client %u",
                         a->name, check_whose_token(a->token), check_whose_token(b->token));
            held += b->count;
        }
        if (a->mode == ROWLOCK_PERMIT && held > a->limit)
            sim_fail("P1: %d permits of %s in the database, of %d", held, a->name, a->limit);
    }
    if (tokens_seen != is.heartbeats)
        sim_fail("rows: %zu heartbeats for %zu leases", is.heartbeats, tokens_seen);
}

static void check_waiter_rows(void)
{
    for (size_t i = 0; !sim.temper.frozen && !sim.temper.sessions && i < is.waiters; i++)
        if (is.waiter[i].seen < 0 || is.waiter[i].seen > sim_database_ms() + LONGEST_GOOD_MS)
            sim_fail("P6: the ticket of client %u is good for too long",
                     check_whose_ticket(is.waiter[i].ticket));
}

/* A lease that is being broken is not renewed any more. */
static void check_stopped(const struct sim_row *before)
{
    for (size_t i = 0; before->stop && i < is.leases; i++)
        if (is.lease[i].token == before->token && is.lease[i].expires > before->expires)
            sim_fail("stop: the lease of client %u was broken, and is renewed",
                     check_whose_token(before->token));
}

static struct arrival *find_arrival(int64_t ticket)
{
    for (size_t i = 0; i < n_arrivals && i < SIM_TOKENS; i++)
        if (arrivals[i].ticket == ticket)
            return &arrivals[i];
    return NULL;
}

/* Whether the ticket was there before the client's step began. */
static bool came_before(const struct sim_client *client, int64_t ticket)
{
    const struct arrival *arrival = find_arrival(ticket);

    return !arrival || arrival->step <= client->asked_step;
}

/* Whether the ticket was dead before the client's step began. A sign of life that is committed late
   may already be too old, and a look may have read the earlier one. */
static bool died_before(const struct sim_client *client, const struct sim_waiter *waiter)
{
    const struct arrival *arrival = find_arrival(waiter->ticket);

    return waiter->seen <= client->asked && (!arrival || arrival->seen_step <= client->asked_step);
}

static void note_arrival(const struct sim_waiter *waiter)
{
    struct arrival *arrival = find_arrival(waiter->ticket);

    if (!arrival) {
        arrival = &arrivals[n_arrivals++ % SIM_TOKENS];
        *arrival = (struct arrival){.ticket = waiter->ticket, .step = sim.steps, .seen = -1};
    }
    if (waiter->seen != arrival->seen) {
        arrival->seen = waiter->seen;
        arrival->seen_step = sim.steps;
    }
}

/* P7, at the moment of a grant: no live waiter with an earlier ticket waits for one of its names. A
   try is granted before a waiter that takes its ticket while the try is under way. */
static void check_order(const struct sim_client *client, const struct sim_row *granted)
{
    int64_t mine = client->step ? client->step->ticket : 0;

    for (size_t i = 0; i < is.waiters; i++) {
        const struct sim_waiter *waiter = &is.waiter[i];

        if (strcmp(waiter->name, granted->name) == 0 && waiter->seen > sim_database_ms() &&
            strcmp(waiter->owner, granted->owner) != 0 &&
            (mine ? waiter->ticket < mine : came_before(client, waiter->ticket)))
            sim_fail("P7: client %u is granted %s before client %u, which came first", client->id,
                     granted->name, check_whose_ticket(waiter->ticket));
    }
}

/* One acquire call is granted once, whatever messages were lost. */
static void check_once(const struct sim_client *client, int64_t token)
{
    for (size_t i = 0; i < is.leases; i++) {
        const struct whose *whose = find(tokens, n_tokens, is.lease[i].token);

        if (whose && whose->number != token && whose->id == client->id &&
            whose->call == client->call)
            sim_fail("B5: client %u is granted a second lease by one call", client->id);
    }
}

/* A call that lost the reply of its grant finds its lease by its owner id. */
void check_refused(const struct sim_client *client, const struct rowlock_reply *reply)
{
    const struct whose *whose = find(tokens, n_tokens, reply->number);

    if (whose && whose->id == client->id && whose->call == client->call && client->asks.n == 1 &&
        client->asks.want[0].mode == ROWLOCK_EXCLUSIVE)
        sim_fail("B5: client %u is refused because of the lease that it was granted", client->id);
}

static void check_granted(const struct sim_client *client, const struct sim_row *row)
{
    check_order(client, row);
    if (find(tokens, n_tokens, row->token))
        return; /* another name of the same token */
    if (row->token <= greatest)
        sim_fail("P3: client %u is granted a token that is not greater than an earlier one",
                 client->id);
    greatest = row->token;
    check_once(client, row->token);
    if (n_tokens < SIM_TOKENS)
        tokens[n_tokens++] = (struct whose){row->token, client->id, client->call, false};
}

static bool had_lease(const struct sim_rows *rows, int64_t token)
{
    for (size_t i = 0; i < rows->leases; i++)
        if (rows->lease[i].token == token)
            return true;
    return false;
}

static bool had_ticket(const struct sim_rows *rows, int64_t ticket)
{
    for (size_t i = 0; i < rows->waiters; i++)
        if (rows->waiter[i].ticket == ticket)
            return true;
    return false;
}

/* After break --now the old holder may believe in its lease a little longer: the operator asked
   for that. */
static void excuse(int64_t token)
{
    struct whose *whose = find(tokens, n_tokens, token);

    if (whose)
        whose->excused = true;
    record_revoked(token);
}

/* A ticket is dead when one of its rows is: its rows are updated one after another. */
static int64_t good_until(const struct sim_rows *rows, int64_t ticket)
{
    int64_t until = INT64_MAX;

    for (size_t i = 0; i < rows->waiters; i++)
        if (rows->waiter[i].ticket == ticket && rows->waiter[i].seen < until)
            until = rows->waiter[i].seen;
    return until;
}

/* A roll call removes a ticket: its waiter must have had time to answer, and must not have
   looked since the call. */
static void check_struck(const struct sim_client *by, const struct sim_client *client)
{
    const struct call *call = find_call(by->step->called);

    if (!call)
        sim_fail("P7: client %u strikes client %u without a call", by->id, client->id);
    else if (client->looked > call->true_ms)
        sim_fail("P7: client %u strikes client %u, which has answered", by->id, client->id);
    else if (sim_own_ms(by) - call->own_ms < ANSWER_MS)
        sim_fail("P7: client %u strikes client %u at once", by->id, client->id);
}

/* A ticket may be removed only for one of the permitted reasons. */
static void check_unqueued(const struct sim_client *by, int64_t ticket)
{
    unsigned id = check_whose_ticket(ticket);
    const struct sim_client *client = id ? &sim.client[id - 1] : NULL;

    if (!client || client == by || client->ticket != ticket ||
        good_until(&was, ticket) <= sim_database_ms() ||
        (sim.temper.sessions && !functions_locked(ticket)))
        return;
    if (!by->step || by->step->act != ROWLOCK_ACT_OVERTAKE)
        sim_fail("P7: client %u removes the ticket of client %u, which is alive", by->id, id);
    else
        check_struck(by, client);
}

void check_committed(struct sim_client *client)
{
    if (!client || !sim.kind->store->read(&is))
        return;
    for (size_t i = 0; i < is.waiters; i++)
        note_arrival(&is.waiter[i]);
    for (size_t i = 0; i < is.leases; i++)
        if (!had_lease(&was, is.lease[i].token))
            check_granted(client, &is.lease[i]);
    for (size_t i = 0; i < was.leases; i++)
        check_stopped(&was.lease[i]);
    for (size_t i = 0; i < was.leases; i++)
        if (client->breaking_now && !had_lease(&is, was.lease[i].token))
            excuse(was.lease[i].token);
    for (size_t i = 0; i < was.waiters; i++)
        if (!had_ticket(&is, was.waiter[i].ticket))
            check_unqueued(client, was.waiter[i].ticket);
    check_lease_rows();
    check_waiter_rows();
    for (unsigned i = 0; i < SIM_CLIENTS; i++)
        if (believes(&sim.client[i]))
            check_end(&sim.client[i]);
    was = is;
}

/* A waiter that has just looked has removed the tickets before it that were dead when it began,
   unless another removed its own meanwhile. */
void check_placed(struct sim_client *client, const struct rowlock_reply *reply)
{
    if (sim.kind->check_committed != check_committed || reply->code ||
        reply->status == ROWLOCK_STATUS_UNQUEUED || !sim.kind->store->read(&is) ||
        !had_ticket(&is, client->ticket))
        return;
    for (size_t i = 0; i < is.waiters; i++)
        for (size_t k = 0; k < client->asks.n; k++)
            if (strcmp(is.waiter[i].name, client->asks.want[k].name) == 0 &&
                is.waiter[i].ticket < client->ticket && died_before(client, &is.waiter[i]))
                sim_fail("P6: client %u looked, and left a dead ticket of client %u before it",
                         client->id, check_whose_ticket(is.waiter[i].ticket));
}
