/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Workloads under leases (worker.h). With `outside` the holder writes into a file; with `fenced` it
 * reads a row, and writes it in a fenced transaction; else it does nothing, or lists the waiters.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "torture/worker.h"

#define WAIT_MS 20000 /* longer than a waiter may have to wait for a free name */
#define LIMIT 3
/* The library counts whole milliseconds, and our clock nanoseconds. */
#define GRAIN_MS 1

struct rowlock_want worker_want(struct client *client, int key)
{
    struct rowlock_want want = {.name = worker_name(client, key)};
    int drawn = worker_draw(client, client->workload->exclusive + client->workload->shared +
                                        client->workload->permit);

    want.mode = drawn < client->workload->exclusive                              ? ROWLOCK_EXCLUSIVE
                : drawn < client->workload->exclusive + client->workload->shared ? ROWLOCK_SHARED
                                                                                 : ROWLOCK_PERMIT;
    if (want.mode == ROWLOCK_PERMIT) {
        want.limit = LIMIT;
        want.count = 1 + worker_draw(client, 2);
    }
    return want;
}

int64_t worker_end_of(const struct rowlock_lease *lease)
{
    int64_t now = worker_now(), left_ms = rowlock_remaining(lease);

    return left_ms > 0 ? now + (left_ms - GRAIN_MS) * 1000000 : 0;
}

struct rowlock_lease *worker_acquire(struct client *client, int key,
                                     const struct rowlock_want *want, rowlock_duration ttl_ms,
                                     rowlock_duration wait_ms)
{
    char note[60];
    struct rowlock_terms terms = {.ttl_ms = ttl_ms, .wait_ms = wait_ms, .note = note};
    struct rowlock_lease *lease = NULL;
    int count = want->count ? want->count : 1, code;

    snprintf(note, sizeof note, "torture %ld %ld", client->id, client->op);
    worker_log(client, PHASE_INVOKE, KIND_HOLD, key, " ");
    code = rowlock_acquire(client->connection, want, 1, &terms, &lease, &client->error);
    if (code) {
        worker_log(client, PHASE_FAIL, KIND_HOLD, key, "%d",
                   code == ROWLOCK_EBUSY || code == ROWLOCK_ETIMEDOUT);
        return NULL;
    }
    worker_log(client, PHASE_OK, KIND_HOLD, key, "%d %d %d %" PRId64 " %" PRId64, (int)want->mode,
               count, want->limit, rowlock_token(lease), worker_end_of(lease));
    return lease;
}

/* Also long after the lease has ended: the server must refuse then. */
static void renew(struct client *client, int key, struct rowlock_lease *lease)
{
    worker_log(client, PHASE_INVOKE, KIND_RENEW, key, " ");
    if (rowlock_renew(lease, 0, &client->error))
        worker_log(client, PHASE_FAIL, KIND_RENEW, key, " ");
    else
        worker_log(client, PHASE_OK, KIND_RENEW, key, "%" PRId64, worker_end_of(lease));
}

/* ---- outside the database -------------------------------------------------------------------- */

/* A number in a file is read, and the next one written. */
void worker_act_outside(struct client *client, int key)
{
    char path[500], text[40] = "";
    long value;
    int file;

    snprintf(path, sizeof path, "%s/outside.%d", client->outside, key);
    file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    if (file < 0)
        return;
    worker_log(client, PHASE_INVOKE, KIND_ACT, key, " ");
    if (pread(file, text, sizeof text - 1, 0) < 0)
        abort();
    value = atol(text) + 1;
    worker_dwell(client);
    if (pwrite(file, text, (size_t)snprintf(text, sizeof text, "%ld\n", value), 0) < 0)
        abort();
    worker_log(client, PHASE_OK, KIND_ACT, key, "%ld", value);
    close(file);
}

/* ---- under the fence ------------------------------------------------------------------------- */

enum phase worker_act_fenced(struct client *client, int key, int64_t token, worker_fenced *write,
                             enum phase (*commit)(struct client *client))
{
    enum phase phase = PHASE_FAIL;
    int64_t value = 0;

    worker_log(client, PHASE_INVOKE, KIND_ADD, key, " ");
    if (worker_sql(client, &value, "SELECT n FROM torture_value WHERE k = %d", key) == 0) {
        value++;
        worker_dwell(client);
        worker_outlast(client);
        if (write(client, key, value, token) == 0) {
            worker_log(client, PHASE_INVOKE, KIND_COMMIT, key, " ");
            phase = commit(client);
            worker_log(client, phase, KIND_COMMIT, key, " ");
        }
    }
    worker_log(client, phase, KIND_ADD, key, "%" PRId64, value);
    return phase;
}

static int fence_and_write(struct client *client, int key, int64_t value, int64_t token)
{
    char own[40];
    struct rowlock_want want = {.name = own};
    int failed;

    snprintf(own, sizeof own, "own %ld", client->id);
    if (rowlock_begin(client->connection, &want, 1, WAIT_MS, &client->error))
        return 1;
    worker_log(client, PHASE_INVOKE, KIND_FENCE, key, " ");
    failed = rowlock_fence(client->connection, worker_name(client, key), token, &client->error);
    worker_log(client, failed ? PHASE_FAIL : PHASE_OK, KIND_FENCE, key, " ");
    if (failed)
        return 1;
    worker_outlast(client);
    return worker_write(client, key, value, token);
}

static int write_fenced(struct client *client, int key, int64_t value, int64_t token)
{
    int failed = fence_and_write(client, key, value, token);

    if (failed)
        rowlock_rollback(client->connection, NULL);
    return failed;
}

static enum phase commit(struct client *client)
{
    return worker_phase(rowlock_commit(client->connection, &client->error));
}

/* ---- the queue ------------------------------------------------------------------------------- */

struct view {
    struct client *client;
    int key;
};

static int see_waiter(const struct rowlock_holder *holder, void *data)
{
    const struct view *view = data;
    long id, op;

    if (holder->holding == ROWLOCK_WAITS && sscanf(holder->note, "torture %ld %ld", &id, &op) == 2)
        worker_log(view->client, PHASE_OK, KIND_QUEUED, view->key, "%ld %ld", id, op);
    return 0;
}

void worker_look_at_queue(struct client *client, int key)
{
    struct view view = {client, key};

    rowlock_list(client->connection, worker_name(client, key), see_waiter, &view, &client->error);
}

/* ---- one turn -------------------------------------------------------------------------------- */

int worker_release(struct client *client, int key, struct rowlock_lease *lease)
{
    int code;

    worker_log(client, PHASE_INVOKE, KIND_LEAVE, key, " ");
    code = rowlock_release(lease, &client->error);
    worker_log(client, code ? PHASE_UNKNOWN : PHASE_OK, KIND_LEAVE, key, " ");
    rowlock_lease_free(lease);
    return code;
}

/* Returns whether its fenced transaction has committed. */
static int use(struct client *client, int key, struct rowlock_lease *lease)
{
    enum phase phase = PHASE_FAIL;

    if (client->workload->outside && rowlock_remaining(lease) > 0)
        worker_act_outside(client, key);
    else if (client->workload->fenced)
        phase = worker_act_fenced(client, key, rowlock_token(lease), write_fenced, commit);
    else if (!worker_draw(client, 4))
        worker_look_at_queue(client, key);
    else
        worker_dwell(client);
    if (!worker_draw(client, 4)) {
        worker_outlast(client);
        renew(client, key, lease);
    }
    return phase == PHASE_OK;
}

void turn_lease(struct client *client)
{
    long turn = client->op, last;
    int key = worker_draw(client, client->workload->keys);
    struct rowlock_want want = worker_want(client, key);
    struct rowlock_lease *lease = worker_acquire(client, key, &want, worker_ttl_ms(), WAIT_MS);

    if (!lease) {
        worker_recover(client);
        return;
    }
    for (int i = 1; use(client, key, lease) && i < client->workload->fenced; i++)
        client->op++;
    last = client->op;
    client->op = turn; /* that of the lease */
    if (worker_release(client, key, lease))
        worker_recover(client);
    client->op = last;
}

/* ---- several leases -------------------------------------------------------------------------- */

#define MOST_LEASES 3
#define MOST_RENEWALS 16
#define LATE_NS INT64_C(100000000)

struct several {
    int key[MOST_LEASES], n;
    struct rowlock_lease *lease[MOST_LEASES];
};

/* Waits for the first one, and tries the others: so no two clients wait for each other. */
static int acquire_several(struct client *client, struct several *several)
{
    int first = worker_draw(client, client->workload->keys);

    for (int i = 0; i < MOST_LEASES; i++) {
        int key = (first + i) % client->workload->keys;
        struct rowlock_want want = worker_want(client, key);

        several->key[several->n] = key;
        several->lease[several->n] =
            worker_acquire(client, key, &want, worker_ttl_ms(), i ? 0 : WAIT_MS);
        several->n += several->lease[several->n] != NULL;
        if (several->n == 0)
            break;
    }
    return several->n;
}

/* Renews a few times, or until an answer is late; in the log this is one renewal. Returns whether
   the last answer was late. */
static int renew_several(struct client *client, const struct several *several)
{
    int codes[MOST_LEASES] = {0}, more = worker_draw(client, MOST_RENEWALS), failed, late;

    for (int i = 0; i < several->n; i++)
        worker_log(client, PHASE_INVOKE, KIND_RENEW, several->key[i], " ");
    do {
        int64_t begun = worker_now();

        failed = rowlock_renew_all(several->lease, (size_t)several->n, 0, codes, &client->error);
        late = worker_now() - begun > LATE_NS;
    } while (!failed && !late && more-- > 0);
    for (int i = 0; i < several->n; i++)
        worker_log(client, codes[i] ? PHASE_FAIL : PHASE_OK, KIND_RENEW, several->key[i],
                   "%" PRId64, worker_end_of(several->lease[i]));
    return late;
}

/* After a late answer the holder keeps its leases until the end that the library gives: no waiter
   may get one of them before. */
void turn_several(struct client *client)
{
    struct several several = {.n = 0};
    int failed = 0;

    if (!acquire_several(client, &several)) {
        worker_recover(client);
        return;
    }
    if (renew_several(client, &several) || !worker_draw(client, 8))
        worker_pause((worker_end_of(several.lease[0]) - worker_now()) / 1000);
    else
        worker_dwell(client);
    for (int i = 0; i < several.n; i++)
        failed |= worker_release(client, several.key[i], several.lease[i]);
    if (failed)
        worker_recover(client);
}
