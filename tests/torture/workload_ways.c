/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The workload of all ways to lock one name (worker.h): transaction locks and leases, each in C, by
 * the SQL functions and by `rowlock run`. A transaction lock is a "hold" without a token, which
 * lasts until COMMIT is requested; but only a COMMIT that succeeds proves that it lasted.
 */
#include "lib/test.h"
#include "torture/worker.h"

#define WAIT_MS 3000

void worker_log_committed(struct client *client, int key, int failed)
{
    if (failed)
        return;
    worker_log(client, PHASE_OK, KIND_RENEW, key, "%lld", (long long)worker_now());
    worker_log(client, PHASE_OK, KIND_LEAVE, key, " ");
}

void worker_log_begun(struct client *client, int key)
{
    worker_log(client, PHASE_OK, KIND_HOLD, key, "%d 1 0 0 0", (int)ROWLOCK_EXCLUSIVE);
}

static void turn_transaction(struct client *client, const struct workload *workload)
{
    struct rowlock_want want = {.name = worker_name(workload, 0)};
    int code;

    worker_log(client, PHASE_INVOKE, KIND_HOLD, 0, " ");
    code = rowlock_begin(client->connection, &want, 1, WAIT_MS, &client->error);
    if (code) {
        worker_log(client, PHASE_FAIL, KIND_HOLD, 0, " ");
        worker_recover(client);
        return;
    }
    worker_log_begun(client, 0);
    worker_dwell(client);
    worker_log(client, PHASE_INVOKE, KIND_LEAVE, 0, " ");
    code = rowlock_commit(client->connection, &client->error);
    worker_log_committed(client, 0, code);
    if (code)
        worker_recover(client);
}

static void turn_sql_transaction(struct client *client, const struct workload *workload)
{
    int failed;

    worker_log(client, PHASE_INVOKE, KIND_HOLD, 0, " ");
    failed = worker_sql_lock(client, worker_name(workload, 0));
    if (failed) {
        worker_log(client, PHASE_FAIL, KIND_HOLD, 0, " ");
    } else {
        worker_log_begun(client, 0);
        worker_dwell(client);
        worker_log(client, PHASE_INVOKE, KIND_LEAVE, 0, " ");
        failed = worker_sql(client, NULL, "COMMIT");
        worker_log_committed(client, 0, failed);
    }
    if (failed)
        worker_sql_recover(client);
}

static void turn_run(struct client *client, const struct workload *workload)
{
    worker_log_committed(client, 0, worker_run(client, workload, 0));
    worker_open(client);
}

static void turn_run_tx(struct client *client, const struct workload *workload)
{
    worker_log_committed(client, 0, worker_run(client, workload, 1));
    worker_open(client);
}

void turn_ways(struct client *client, const struct workload *workload)
{
    static void (*const way[])(struct client * client, const struct workload *workload) = {
        turn_transaction, turn_lease, turn_run, turn_run_tx, turn_sql_transaction, turn_sql_lease};
    int n = !t_facts()->server ? 3 : t_facts()->plain ? 4 : 6;

    way[worker_draw(client, n)](client, workload);
}
