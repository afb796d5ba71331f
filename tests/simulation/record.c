/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records the operations of the clients for the judge of make torture (torture/history.h), which
 * decides about exclusion, permits, tokens, fences, lost updates, waits and names that stay locked.
 * A transaction lock is recorded as a lease without a token.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lease/lease.h"
#include "simulation/sim.h"
#include "torture/judge.h"

#define MOST 8000
#define NS_PER_MS INT64_C(1000000)

static struct operation operations[MOST], sorted[MOST];
static size_t n_operations;
static long ops; /* drawn so far */
static int64_t last;
static int64_t revoked[SIM_TOKENS];
static size_t n_revoked;

void record_reset(void)
{
    n_operations = 0;
    ops = 0;
    last = 0;
    n_revoked = 0;
}

/* Events of one millisecond have different times, in their order. */
static int64_t now_ns(void)
{
    int64_t now = sim.now * NS_PER_MS;

    return last = now > last ? now : last + 1;
}

static long key_of(const char *name)
{
    return *name - 'A' + 1;
}

static struct operation *find(unsigned client, long op, enum kind kind, long key)
{
    for (size_t i = n_operations; i-- > 0;) {
        struct operation *it = &operations[i];

        if (it->client == (long)client && it->op == op && it->kind == kind && it->key == key)
            return it;
    }
    return NULL;
}

static struct operation *invoke(unsigned client, long op, enum kind kind, long key)
{
    struct operation *it = &operations[n_operations];

    if (n_operations == MOST - 1)
        sim_fail("the history is too long for its record");
    n_operations += n_operations < MOST - 1;
    *it = (struct operation){.invoked = now_ns(),
                             .done = INT64_MAX,
                             .client = (long)client,
                             .op = op,
                             .key = key,
                             .kind = kind,
                             .phase = PHASE_UNKNOWN};
    return it;
}

static void complete(struct operation *it, enum phase phase)
{
    it->phase = phase;
    it->done = now_ns();
}

/* ---- leases and transaction locks ------------------------------------------------------------ */

void record_asks(struct sim_client *client)
{
    client->op = ++ops;
    for (size_t i = 0; i < client->asks.n; i++)
        invoke(client->id, client->op, KIND_HOLD, key_of(client->asks.want[i].name));
}

/* Whether the judge may expect that a free name is acquired soon: no fault slows the waiters, and
   no roll call must pass one dead waiter after another. A name can be free for long while the first
   in the queue waits for its other name. */
static bool waits_are_short(void)
{
    const struct sim_temper *temper = &sim.temper;

    return temper->names == 1 && !temper->slow && !temper->stop && !temper->lose &&
           !temper->lose_reply && !temper->frozen;
}

static void answer(const struct sim_client *client, enum phase phase, int64_t token, int64_t until)
{
    for (size_t i = 0; i < client->asks.n; i++) {
        const struct rowlock_want *want = &client->asks.want[i];
        struct operation *hold = find(client->id, client->op, KIND_HOLD, key_of(want->name));

        complete(hold, phase);
        if (!waits_are_short())
            hold->invoked = hold->done;
        hold->number[HOLD_MODE] = want->mode;
        hold->number[HOLD_COUNT] = want->mode == ROWLOCK_PERMIT ? want->count : 0;
        hold->number[HOLD_LIMIT] = want->limit;
        hold->number[HOLD_TOKEN] = token;
        hold->number[HOLD_UNTIL] = until;
    }
}

/* The library promises nothing about a clock that runs too slowly: such a lease is as long as its
   ttl. */
static int64_t until_of(const struct sim_client *client, const struct rowlock_lease *lease)
{
    int64_t until = sim_true_ms(client, client->end_ms);

    if (!client->honest)
        until = sim_true_ms(client, lease->sent_ms) + lease->ttl_ms;
    return until * NS_PER_MS;
}

void record_refused(const struct sim_client *client, int code)
{
    if (code != ROWLOCK_ECONN && code != ROWLOCK_EUNKNOWN)
        answer(client, PHASE_FAIL, 0, 0);
}

/* An operator had ended the lease before the holder had its answer. */
static void leave_at_once(const struct sim_client *client)
{
    record_leaves(client);
    for (size_t i = 0; i < client->asks.n; i++) {
        long key = key_of(client->asks.want[i].name);

        struct operation *hold = find(client->id, client->op, KIND_HOLD, key);

        hold->number[HOLD_UNTIL] = hold->done;
        find(client->id, client->op, KIND_LEAVE, key)->invoked = hold->done;
    }
}

void record_granted(const struct sim_client *client, const struct rowlock_lease *lease)
{
    answer(client, PHASE_OK, client->token, until_of(client, lease));
    for (size_t i = 0; i < n_revoked; i++)
        if (revoked[i] == client->token)
            leave_at_once(client);
}

void record_locked(const struct sim_client *client)
{
    answer(client, PHASE_OK, 0, INT64_MAX / 2);
}

void record_renewed(const struct sim_client *client, const struct rowlock_lease *lease)
{
    for (size_t i = 0; i < client->asks.n; i++) {
        long key = key_of(client->asks.want[i].name);
        struct operation *renew = find(client->id, client->op, KIND_RENEW, key);

        if (!renew)
            renew = invoke(client->id, client->op, KIND_RENEW, key);
        complete(renew, PHASE_OK);
        renew->number[0] = until_of(client, lease);
    }
}

/* The lease ends for its holder: it releases it, or knows that it was lost. */
void record_leaves(const struct sim_client *client)
{
    for (size_t i = 0; i < client->asks.n; i++) {
        long key = key_of(client->asks.want[i].name);

        if (!find(client->id, client->op, KIND_LEAVE, key))
            invoke(client->id, client->op, KIND_LEAVE, key);
    }
}

void record_left(const struct sim_client *client)
{
    for (size_t i = 0; i < client->asks.n; i++)
        complete(find(client->id, client->op, KIND_LEAVE, key_of(client->asks.want[i].name)),
                 PHASE_OK);
}

/* A transaction lock that was rolled back has no effect: not even the expired lease that it had
   deleted has ended, and its holder may renew that. */
void record_rolled_back(const struct sim_client *client)
{
    for (size_t i = 0; i < client->asks.n; i++)
        find(client->id, client->op, KIND_HOLD, key_of(client->asks.want[i].name))->phase =
            PHASE_FAIL;
}

/* An operator ends the lease at once; its holder does not know it yet. */
void record_revoked(int64_t token)
{
    if (n_revoked < SIM_TOKENS)
        revoked[n_revoked++] = token;
    for (size_t i = 0; i < n_operations; i++) {
        const struct operation *hold = &operations[i];

        if (hold->kind == KIND_HOLD && hold->phase == PHASE_OK &&
            hold->number[HOLD_TOKEN] == token &&
            !find((unsigned)hold->client, hold->op, KIND_LEAVE, hold->key))
            invoke((unsigned)hold->client, hold->op, KIND_LEAVE, hold->key);
    }
}

void record_stop(const struct sim_client *client, int64_t ms)
{
    struct operation *stop = invoke(client->id, ++ops, KIND_STOPPED, 0);

    stop->phase = PHASE_OK;
    stop->done = (sim.now + ms) * NS_PER_MS;
}

void record_free(const struct sim_client *client, const char *name, bool is_free)
{
    complete(invoke(client->id, ++ops, KIND_FREE, key_of(name)), is_free ? PHASE_OK : PHASE_FAIL);
}

/* ---- fenced writes --------------------------------------------------------------------------- */

long record_fences(const struct sim_client *client, const char *name)
{
    invoke(client->id, ++ops, KIND_FENCE, key_of(name));
    invoke(client->id, ops, KIND_ADD, key_of(name));
    return ops;
}

void record_fenced(const struct sim_client *client, const char *name, long op, bool fenced)
{
    complete(find(client->id, op, KIND_FENCE, key_of(name)), fenced ? PHASE_OK : PHASE_FAIL);
}

void record_not_added(const struct sim_client *client, const char *name, long op)
{
    complete(find(client->id, op, KIND_ADD, key_of(name)), PHASE_FAIL);
}

void record_commits(const struct sim_client *client, const char *name, long op)
{
    invoke(client->id, op, KIND_COMMIT, key_of(name));
}

/* After a COMMIT that failed, the write may be in effect. */
void record_committed(const struct sim_client *client, const char *name, long op, int64_t value)
{
    struct operation *add = find(client->id, op, KIND_ADD, key_of(name));

    complete(find(client->id, op, KIND_COMMIT, key_of(name)), PHASE_OK);
    complete(add, PHASE_OK);
    add->number[0] = value;
}

static void record_rows(void)
{
    static struct sim_written rows[MOST];
    size_t n = sim.kind->store->written(rows, MOST);

    for (size_t i = 0; i < n; i++) {
        struct operation *row =
            invoke((unsigned)rows[i].client, rows[i].op, KIND_FINAL, key_of(rows[i].name));

        complete(row, PHASE_OK);
        row->number[0] = rows[i].value;
        row->number[1] = rows[i].token;
    }
}

/* ---- the verdict ----------------------------------------------------------------------------- */

void record_judge(void)
{
    struct history history = {.operation = sorted};
    struct verdict verdict = {.violations = 0};
    char *text = NULL;
    size_t size = 0;

    record_rows();
    memcpy(sorted, operations, n_operations * sizeof *sorted);
    history.n = n_operations;
    history_join(&history);
    judge(&history, &verdict);
    if (!verdict.violations)
        return;
    verdict = (struct verdict){.out = open_memstream(&text, &size)};
    judge(&history, &verdict);
    fclose(verdict.out);
    sim_fail("judge: %.*s", (int)strcspn(text, "\n"), text);
    free(text);
}
