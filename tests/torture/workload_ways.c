/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The workload of all ways to lock one name (worker.h): transaction locks and leases, each in C, by
 * the SQL functions and by `rowlock run`. A transaction lock is a "hold" without a token, which
 * lasts until COMMIT is requested; but only a COMMIT that succeeds proves that it lasted.
 */
#include "lib/test.h"
#include "torture/worker.h"

#define WAIT_MS 3000
#define NOT_ACQUIRED 75 /* exit status of `rowlock run` */

static void log_committed(struct client *client, int key, int failed)
{
    if (failed)
        return;
    worker_log(client, PHASE_OK, KIND_RENEW, key, "%lld", (long long)worker_now());
    worker_log(client, PHASE_OK, KIND_LEAVE, key, " ");
}

static void log_begun(struct client *client, int key)
{
    worker_log(client, PHASE_OK, KIND_HOLD, key, "%d 1 0 0 0", (int)ROWLOCK_EXCLUSIVE);
}

int worker_lock(struct client *client, int key, rowlock_duration wait_ms, int tells_busy)
{
    struct rowlock_want want = {.name = worker_name(client, key)};
    int code;

    worker_log(client, PHASE_INVOKE, KIND_HOLD, key, " ");
    code = rowlock_begin(client->connection, &want, 1, wait_ms, &client->error);
    if (code) {
        worker_log(client, PHASE_FAIL, KIND_HOLD, key, "%d",
                   tells_busy && (code == ROWLOCK_EBUSY || code == ROWLOCK_ETIMEDOUT));
        return code;
    }
    log_begun(client, key);
    worker_dwell(client);
    worker_log(client, PHASE_INVOKE, KIND_LEAVE, key, " ");
    code = rowlock_commit(client->connection, &client->error);
    log_committed(client, key, code);
    return code;
}

static void turn_transaction(struct client *client)
{
    if (worker_lock(client, 0, WAIT_MS, 0)) /* not each use of the name is logged */
        worker_recover(client);
}

static void turn_sql_transaction(struct client *client)
{
    int failed;

    worker_log(client, PHASE_INVOKE, KIND_HOLD, 0, " ");
    failed = worker_sql_lock(client, worker_name(client, 0));
    if (failed) {
        worker_log(client, PHASE_FAIL, KIND_HOLD, 0, " ");
    } else {
        log_begun(client, 0);
        worker_dwell(client);
        worker_log(client, PHASE_INVOKE, KIND_LEAVE, 0, " ");
        failed = worker_sql(client, NULL, "COMMIT");
        log_committed(client, 0, failed);
    }
    if (failed)
        worker_sql_recover(client);
}

/* Its command logs that it has the name. It has asked before: a client that asks meanwhile comes
   after it. */
static void run(struct client *client, int transaction)
{
    int status;

    worker_log(client, PHASE_INVOKE, KIND_HOLD, 0, " ");
    status = worker_run(client, transaction);
    if (status == NOT_ACQUIRED)
        worker_log(client, PHASE_FAIL, KIND_HOLD, 0, "0");
    log_committed(client, 0, status);
    worker_open(client);
}

static void turn_run(struct client *client)
{
    run(client, 0);
}

static void turn_run_tx(struct client *client)
{
    run(client, 1);
}

void turn_ways(struct client *client)
{
    static void (*const way[])(struct client * client) = {
        turn_transaction, turn_lease, turn_run, turn_run_tx, turn_sql_transaction, turn_sql_lease};
    int n = !t_facts()->server ? 3 : t_facts()->plain ? 4 : 6;

    way[worker_draw(client, n)](client);
}
