/* SPDX-License-Identifier: Apache-2.0 */
/* Workloads of work that must be done once: runs of jobs, and refreshes (worker.h). */
#include <inttypes.h>
#include <stdlib.h>

#include "lib/test.h"
#include "torture/worker.h"

#define WAIT_MS 3000
#define TTL_MS 1000

/* ---- jobs ------------------------------------------------------------------------------------ */

/* Does the run, and finishes it. */
static void do_run(struct client *client, int key, const struct rowlock_claim *claim,
                   struct rowlock_lease *lease)
{
    struct rowlock_result result = {.exit = 0};
    int code;

    worker_log(client, PHASE_OK, KIND_HOLD, key, "%d 1 0 %" PRId64 " %" PRId64,
               (int)ROWLOCK_EXCLUSIVE, rowlock_token(lease), worker_end_of(lease));
    worker_log(client, PHASE_OK, KIND_BEGIN, key, "%" PRId64 " %d", claim->due_ms,
               claim->retry_number);
    worker_dwell(client);
    worker_log(client, PHASE_INVOKE, KIND_LEAVE, key, " ");
    worker_log(client, PHASE_INVOKE, KIND_END, key, " ");
    code = rowlock_finish(lease, &result, &client->error);
    worker_log(client, code ? PHASE_UNKNOWN : PHASE_OK, KIND_END, key, " ");
    rowlock_lease_free(lease);
    if (code)
        worker_recover(client);
}

/* A lease is lost, and the run retried, long before the next due time. */
void turn_job(struct client *client)
{
    static struct rowlock_schedule *schedule;
    int key = worker_draw(client, client->workload->keys);
    struct rowlock_job job = {.ttl_ms = TTL_MS, .retry = 3, .backoff_ms = 1};
    struct rowlock_lease *lease = NULL;
    struct rowlock_claim claim;

    if (!schedule && rowlock_schedule_open("every 3s", NULL, &schedule, NULL, &client->error))
        abort();
    job.name = worker_name(client, key) + sizeof "job:" - 1;
    job.schedule = schedule;
    worker_log(client, PHASE_INVOKE, KIND_HOLD, key, " ");
    if (rowlock_claim(client->connection, &job, &claim, &lease, &client->error)) {
        worker_log(client, PHASE_FAIL, KIND_HOLD, key, " ");
        worker_recover(client);
    } else if (claim.claimed != ROWLOCK_JOB_CLAIMED) {
        worker_log(client, PHASE_FAIL, KIND_HOLD, key, " ");
        worker_dwell(client);
    } else {
        do_run(client, key, &claim, lease);
    }
}

/* ---- once-only refreshes --------------------------------------------------------------------- */

/* The data are two rows, which every refresh raises together. */
static int write_data(struct client *client, int64_t *value)
{
    if (worker_sql(client, value, "SELECT n FROM torture_value WHERE k = 0"))
        return 1;
    ++*value;
    if (worker_sql(client, NULL, "UPDATE torture_value SET n = %" PRId64 " WHERE k = 0", *value))
        return 1;
    worker_dwell(client);
    return worker_sql(client, NULL, "UPDATE torture_value SET n = %" PRId64 " WHERE k = 1",
                      *value) ||
           worker_record(client, 0, *value, 0);
}

static void refresh(struct client *client)
{
    struct rowlock_subject subject = {.name = "torture 0"};
    struct rowlock_refresh refresh;
    int64_t value = 0;
    int code;

    worker_log(client, PHASE_INVOKE, KIND_ADD, 0, " ");
    if (rowlock_refresh_begin(client->connection, &subject, WAIT_MS, &refresh, &client->error)) {
        worker_log(client, PHASE_FAIL, KIND_ADD, 0, " ");
        worker_recover(client);
        return;
    }
    if (write_data(client, &value)) {
        rowlock_refresh_failed(client->connection, &refresh, "a statement failed", NULL);
        worker_log(client, PHASE_FAIL, KIND_ADD, 0, " ");
        worker_recover(client);
        return;
    }
    code = rowlock_refresh_done(client->connection, &refresh, &client->error);
    worker_log(client, worker_phase(code), KIND_ADD, 0, "%" PRId64, value);
    if (code) {
        rowlock_rollback(client->connection, NULL);
        worker_recover(client);
    }
}

static void use(struct client *client)
{
    enum rowlock_mode mode =
        t_facts()->shared == SHARED_REFUSED ? ROWLOCK_EXCLUSIVE : ROWLOCK_SHARED;
    int64_t first = 0, second = 0;

    worker_log(client, PHASE_INVOKE, KIND_READ, 0, " ");
    if (rowlock_use_begin(client->connection, "torture 0", mode, NULL, WAIT_MS, &client->error) ||
        worker_sql(client, &first, "SELECT n FROM torture_value WHERE k = 0") ||
        worker_sql(client, &second, "SELECT n FROM torture_value WHERE k = 1")) {
        rowlock_rollback(client->connection, NULL);
        worker_log(client, PHASE_FAIL, KIND_READ, 0, " ");
        worker_recover(client);
        return;
    }
    worker_log(client, PHASE_OK, KIND_READ, 0, "%" PRId64 " %" PRId64, first, second);
    if (rowlock_commit(client->connection, &client->error))
        worker_recover(client);
}

void turn_refresh(struct client *client)
{
    if (worker_draw(client, 3))
        use(client);
    else
        refresh(client);
}
