/* SPDX-License-Identifier: Apache-2.0 */
/* Workloads under transaction locks: counters, numbers without a gap, locks that are refused
   (worker.h). */
#include <inttypes.h>
#include <stdio.h>

#include "lib/test.h"
#include "torture/worker.h"

#define WAIT_MS 3000
#define MOST_KEYS 8

enum phase worker_phase(int code)
{
    switch (code) {
    case ROWLOCK_OK:
        return PHASE_OK;
    case ROWLOCK_ECONN:
    case ROWLOCK_EABORTED:
    case ROWLOCK_EROLLEDBACK:
    case ROWLOCK_ENOTX:
        return PHASE_FAIL;
    default:
        return PHASE_UNKNOWN;
    }
}

static void log_all(struct client *client, enum phase phase, const int *keys, int n,
                    const int64_t *values)
{
    for (int i = 0; i < n; i++)
        worker_log(client, phase, KIND_ADD, keys[i], "%" PRId64, values[i]);
}

static int finish(struct client *client, const int *keys, int n, const int64_t *values)
{
    int code = rowlock_commit(client->connection, &client->error);

    log_all(client, worker_phase(code), keys, n, values);
    if (code)
        worker_recover(client);
    return code;
}

static void give_up(struct client *client, const int *keys, int n, const int64_t *values)
{
    struct rowlock_error ignored;

    rowlock_rollback(client->connection, &ignored);
    log_all(client, PHASE_FAIL, keys, n, values);
    worker_recover(client);
}

/* ---- counters: read, then written ------------------------------------------------------------ */

static int draw_keys(struct client *client, int *keys)
{
    int n = 1 + worker_draw(client, client->workload->most_keys);
    unsigned drawn = 0;

    for (int i = 0; i < n; i++) {
        do
            keys[i] = worker_draw(client, client->workload->keys);
        while (drawn & 1U << keys[i]);
        drawn |= 1U << keys[i];
    }
    return n;
}

void turn_counters(struct client *client)
{
    struct rowlock_want wants[MOST_KEYS] = {{0}};
    int64_t values[MOST_KEYS] = {0};
    int keys[MOST_KEYS], n = draw_keys(client, keys), failed = 0;

    for (int i = 0; i < n; i++)
        wants[i].name = worker_name(client, keys[i]);
    log_all(client, PHASE_INVOKE, keys, n, values);
    if (rowlock_begin(client->connection, wants, (size_t)n, WAIT_MS, &client->error)) {
        log_all(client, PHASE_FAIL, keys, n, values);
        worker_recover(client);
        return;
    }
    for (int i = 0; i < n && !failed; i++)
        failed = worker_add(client, keys[i], &values[i]);
    if (failed)
        give_up(client, keys, n, values);
    else
        finish(client, keys, n, values);
}

/* ---- numbers without a gap ------------------------------------------------------------------- */

void turn_drawn(struct client *client)
{
    char own[40];
    struct rowlock_want want = {.name = own};
    int key = 0;
    int64_t value = 0;

    snprintf(own, sizeof own, "own %ld", client->id);
    worker_log(client, PHASE_INVOKE, KIND_ADD, key, " ");
    if (rowlock_begin(client->connection, &want, 1, WAIT_MS, &client->error)) {
        worker_log(client, PHASE_FAIL, KIND_ADD, key, " ");
        worker_recover(client);
    } else if (rowlock_next(client->connection, "torture 0", 1, 1, WAIT_MS, &value,
                            &client->error) ||
               worker_record(client, 0, value, 0)) {
        give_up(client, &key, 1, &value);
    } else if (!worker_draw(client, 10)) { /* the number returns */
        give_up(client, &key, 1, &value);
    } else {
        finish(client, &key, 1, &value);
    }
}

/* ---- a lock that is refused in the caller's transaction -------------------------------------- */

/* Through ODBC and JDBC some servers roll the transaction back, and the error reports it. On the
   other ones only a deadlock does that. */
static int must_survive(const struct client *client)
{
    const struct rowlock_error *error = &client->error;

    if (t_facts()->plain)
        return error->transaction == ROWLOCK_TX_KEPT ||
               error->transaction == ROWLOCK_TX_KEPT_LOCKED;
    return error->code == ROWLOCK_EBUSY || error->code == ROWLOCK_ETIMEDOUT ||
           error->code == ROWLOCK_EABORTED;
}

/* The transaction has added this value, and then found a lock busy. */
static void continue_after(struct client *client, int key, int64_t value)
{
    int64_t seen = 0;
    int failed;

    worker_log(client, PHASE_INVOKE, KIND_KEPT, key, " ");
    failed =
        worker_sql(client, &seen, "SELECT n FROM torture_value WHERE k = %d", key) || seen != value;
    if (failed)
        give_up(client, &key, 1, &value);
    else
        failed = finish(client, &key, 1, &value);
    worker_log(client, failed ? PHASE_FAIL : PHASE_OK, KIND_KEPT, key, " ");
}

static void lock_within(struct client *client)
{
    struct rowlock_want own = {.name = worker_name(client, 0)};
    struct rowlock_want other = {.name = worker_name(client, 1)};
    int key = 0, wait_ms = worker_draw(client, 2) * worker_draw(client, 50), code;
    int64_t value = 0;

    worker_log(client, PHASE_INVOKE, KIND_ADD, key, " ");
    if (rowlock_begin(client->connection, &own, 1, WAIT_MS, &client->error)) {
        worker_log(client, PHASE_FAIL, KIND_ADD, key, " ");
        worker_recover(client);
        return;
    }
    if (worker_add(client, key, &value)) {
        give_up(client, &key, 1, &value);
        return;
    }
    code = rowlock_lock(client->connection, &other, 1, wait_ms, &client->error);
    if (code && must_survive(client))
        continue_after(client, key, value);
    else if (code)
        give_up(client, &key, 1, &value);
    else
        finish(client, &key, 1, &value);
}

void turn_refused(struct client *client)
{
    if (worker_draw(client, 2))
        turn_lease(client);
    else
        lock_within(client);
}
