/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Workloads that call the SQL functions of PostgreSQL, or the procedures of MariaDB, as a program
 * in another language does (worker.h). Of the library they use only the session.
 */
#include <inttypes.h>
#include <string.h>

#include "lib/test.h"
#include "torture/worker.h"

#define GRAIN_MS 1 /* as in workload_leases.c */
/* A renewal that is sent at most this before the end of its lease, and takes at least that, is in
   progress when the lease expires. */
#define LATE_US 60000
#define SLOW_S "0.15"

static int is_mariadb(void)
{
    return strcmp(t_engine()->name, "mariadb") == 0;
}

/* worker_sql has printed the error. */
void worker_sql_recover(struct client *client)
{
    client->error.code = ROWLOCK_EBUSY;
    worker_sql(client, NULL, "ROLLBACK");
    worker_recover(client);
}

static enum phase commit(struct client *client)
{
    return worker_sql(client, NULL, "COMMIT") ? PHASE_UNKNOWN : PHASE_OK;
}

/* ---- a counter under a transaction lock ------------------------------------------------------ */

int worker_sql_lock(struct client *client, const char *name)
{
    if (is_mariadb())
        return worker_sql(client, NULL, "CALL rowlock_begin_exclusive('%s')", name);
    return worker_sql(client, NULL, "SELECT rowlock.prepare('%s')", name) ||
           worker_sql(client, NULL, "BEGIN") ||
           worker_sql(client, NULL, "SELECT rowlock.exclusive('%s')", name);
}

void turn_sql_counter(struct client *client)
{
    enum phase phase = PHASE_FAIL;
    int64_t value = 0;

    worker_log(client, PHASE_INVOKE, KIND_ADD, 0, " ");
    if (worker_sql_lock(client, worker_name(client, 0)) == 0 && worker_add(client, 0, &value) == 0)
        phase = commit(client);
    worker_log(client, phase, KIND_ADD, 0, "%" PRId64, value);
    if (phase != PHASE_OK)
        worker_sql_recover(client);
}

/* ---- numbers without a gap ------------------------------------------------------------------- */

/* A transaction that has no lock of the counter yet. */
static int begin_beside(struct client *client, const char *name)
{
    if (is_mariadb())
        return worker_sql(client, NULL, "CALL rowlock_prepare('%s')", name) ||
               worker_sql(client, NULL, "CALL rowlock_begin_exclusive('own %ld')", client->id);
    return worker_sql(client, NULL, "SELECT rowlock.prepare('%s')", name) ||
           worker_sql(client, NULL, "BEGIN");
}

static int draw_number(struct client *client, int64_t *number)
{
    if (!is_mariadb())
        return worker_sql(client, number, "SELECT rowlock.next('torture 0')");
    return worker_sql(client, NULL, "CALL rowlock_next('torture 0', @n)") ||
           worker_sql(client, number, "SELECT @n");
}

void turn_sql_drawn(struct client *client)
{
    enum phase phase = PHASE_FAIL;
    int64_t number = 0;

    worker_log(client, PHASE_INVOKE, KIND_ADD, 0, " ");
    if (begin_beside(client, worker_name(client, 0)) == 0 && draw_number(client, &number) == 0 &&
        worker_record(client, 0, number, 0) == 0 &&
        worker_draw(client, 10)) /* otherwise the number returns */
        phase = commit(client);
    worker_log(client, phase, KIND_ADD, 0, "%" PRId64, number);
    if (phase != PHASE_OK)
        worker_sql_recover(client);
}

/* ---- a lease, and a write under its fence ---------------------------------------------------- */

/* 0: the name is held; -1: an error */
static int64_t acquire(struct client *client, const struct rowlock_want *want)
{
    char limit[20] = "NULL";
    int64_t token = 0;
    int failed;

    if (want->limit)
        snprintf(limit, sizeof limit, "%d", want->limit);
    if (is_mariadb())
        failed = worker_sql(client, NULL, "CALL rowlock_acquire('%s', %d, '%s', %s, @t)",
                            want->name, worker_ttl_ms(), worker_modes[want->mode], limit) ||
                 worker_sql(client, &token, "SELECT @t");
    else
        failed = worker_sql(client, &token, "SELECT rowlock.acquire('%s', '%d ms', '%s', %s)",
                            want->name, worker_ttl_ms(), worker_modes[want->mode], limit);
    return failed ? -1 : token;
}

/* When the lease ends at the earliest, if the call began then. */
static int64_t end_of(int64_t begun)
{
    return begun + (worker_ttl_ms() - GRAIN_MS) * INT64_C(1000000);
}

/* On PostgreSQL the renewal is in progress when the lease expires, so that waiters sweep then. */
static void renew_late(struct client *client, int64_t token, int64_t until)
{
    int64_t begun;
    int failed;

    worker_pause((until - worker_now()) / 1000 - worker_draw(client, LATE_US));
    begun = worker_now();
    worker_log(client, PHASE_INVOKE, KIND_RENEW, 0, " ");
    if (begun >= until)
        failed = 1; /* a holder does not renew a lease that may have ended */
    else if (is_mariadb())
        failed =
            worker_sql(client, NULL, "CALL rowlock_renew(%" PRId64 ", %d)", token, worker_ttl_ms());
    else
        failed = worker_sql(client, NULL,
                            "SELECT rowlock.renew(%" PRId64 ", '%d ms'), pg_sleep(" SLOW_S ")",
                            token, worker_ttl_ms());
    worker_log(client, failed ? PHASE_FAIL : PHASE_OK, KIND_RENEW, 0, "%" PRId64, end_of(begun));
    worker_pause(failed ? 0 : worker_draw(client, 2 * LATE_US));
}

static int write_fenced(struct client *client, int key, int64_t value, int64_t token)
{
    const char *name = worker_name(client, key);
    int failed;

    if (worker_sql(client, NULL, "BEGIN"))
        return 1;
    worker_log(client, PHASE_INVOKE, KIND_FENCE, key, " ");
    if (is_mariadb())
        failed = worker_sql(client, NULL, "CALL rowlock_fence('%s', %" PRId64 ")", name, token);
    else
        failed = worker_sql(client, NULL, "SELECT rowlock.fence('%s', %" PRId64 ")", name, token);
    worker_log(client, failed ? PHASE_FAIL : PHASE_OK, KIND_FENCE, key, " ");
    if (failed)
        return 1;
    worker_outlast(client);
    return worker_write(client, key, value, token);
}

static int release(struct client *client, int64_t token)
{
    int failed;

    worker_log(client, PHASE_INVOKE, KIND_LEAVE, 0, " ");
    if (is_mariadb())
        failed = worker_sql(client, NULL, "CALL rowlock_release(%" PRId64 ", @released)", token);
    else
        failed = worker_sql(client, NULL, "SELECT rowlock.release(%" PRId64 ")", token);
    worker_log(client, failed ? PHASE_UNKNOWN : PHASE_OK, KIND_LEAVE, 0, " ");
    return failed;
}

void turn_sql_lease(struct client *client)
{
    struct rowlock_want want = worker_want(client, 0);
    int64_t begun = worker_now(), token;

    worker_log(client, PHASE_INVOKE, KIND_HOLD, 0, " ");
    token = acquire(client, &want);
    if (token <= 0) {
        worker_log(client, PHASE_FAIL, KIND_HOLD, 0, " ");
        if (token < 0)
            worker_sql_recover(client);
        worker_dwell(client); /* the function tries once, and asks its caller to pause */
        return;
    }
    worker_log(client, PHASE_OK, KIND_HOLD, 0, "%d 1 %d %" PRId64 " %" PRId64, (int)want.mode,
               want.limit, token, end_of(begun));
    if (!worker_draw(client, 32))
        renew_late(client, token, end_of(begun));
    if (!client->workload->fenced)
        worker_dwell(client);
    else if (worker_act_fenced(client, 0, token, write_fenced, commit) != PHASE_OK)
        worker_sql_recover(client);
    if (client->connection && release(client, token))
        worker_sql_recover(client);
}

/* ---- a lease that waits in the queue --------------------------------------------------------- */

#define REQUEST_NS INT64_C(20000000000) /* longer than a waiter may have to wait for a free name */
#define WAIT_MS 3000
#define MOST_LOST 5 /* calls of a request that failed */

struct request {
    struct rowlock_want want;
    char owner[60], note[60];
    int64_t begun; /* of the last call */
};

/* The token; 0: not yet; -1: an error, after which the call may be repeated. */
static int64_t call_request(struct client *client, struct request *request)
{
    const struct rowlock_want *want = &request->want;
    int wait_ms = worker_draw(client, 4) ? WAIT_MS : 0, failed;
    const char *mode = worker_modes[want->mode];
    char limit[20] = "NULL";
    int64_t token = 0;

    if (want->limit)
        snprintf(limit, sizeof limit, "%d", want->limit);
    request->begun = worker_now();
    if (is_mariadb())
        failed = worker_sql(client, &token,
                            "CALL rowlock_request_row('%s', %d, '%s', %d, '%s', %s, NULL, NULL, "
                            "NULL, '%s')",
                            want->name, worker_ttl_ms(), request->owner, wait_ms, mode, limit,
                            request->note);
    else
        failed = worker_sql(client, &token,
                            "SELECT token FROM rowlock.request('%s', '%d ms', '%s', '%d ms', "
                            "'%s', %s, note => '%s')",
                            want->name, worker_ttl_ms(), request->owner, wait_ms, mode, limit,
                            request->note);
    return failed ? -1 : token;
}

/* Ends the request, or releases its lease: 0, or an error. */
static int cancel(struct client *client, const struct request *request)
{
    if (is_mariadb())
        return worker_sql(client, NULL, "CALL rowlock_cancel('%s', '%s', @canceled)",
                          request->want.name, request->owner);
    return worker_sql(client, NULL, "SELECT rowlock.cancel('%s', '%s')", request->want.name,
                      request->owner);
}

/* Repeats the call with the same owner, also after a lost reply; 0: it gave up. */
static int64_t repeat_request(struct client *client, struct request *request)
{
    int64_t end = worker_now() + REQUEST_NS, token = 0;
    int lost = 0, patience = worker_draw(client, 32) ? 1000 : worker_draw(client, 4);

    for (int i = 0; i <= patience && token <= 0 && lost < MOST_LOST && worker_now() < end; i++) {
        token = worker_stopped ? 0 : call_request(client, request);
        if (token < 0) {
            lost++;
            worker_sql_recover(client);
        }
        if (!client->connection || worker_stopped)
            break;
    }
    return token > 0 ? token : 0;
}

void turn_sql_request(struct client *client)
{
    struct request request = {.want = worker_want(client, 0)};
    int64_t token;
    int failed;

    snprintf(request.owner, sizeof request.owner, "torture owner %ld %ld", client->id, client->op);
    snprintf(request.note, sizeof request.note, "torture %ld %ld", client->id, client->op);
    worker_log(client, PHASE_INVOKE, KIND_HOLD, 0, " ");
    token = repeat_request(client, &request);
    if (!token) {
        failed = !client->connection || cancel(client, &request);
        worker_log(client, failed ? PHASE_UNKNOWN : PHASE_FAIL, KIND_HOLD, 0, " ");
        if (failed && client->connection)
            worker_sql_recover(client);
        return;
    }
    worker_log(client, PHASE_OK, KIND_HOLD, 0, "%d 1 %d %" PRId64 " %" PRId64,
               (int)request.want.mode, request.want.limit, token, end_of(request.begun));
    if (!worker_draw(client, 32))
        renew_late(client, token, end_of(request.begun));
    else if (!worker_draw(client, 4))
        worker_look_at_queue(client, 0);
    else
        worker_dwell(client);
    if (worker_draw(client, 8)) {
        failed = release(client, token);
    } else {
        worker_log(client, PHASE_INVOKE, KIND_LEAVE, 0, " ");
        failed = cancel(client, &request);
        worker_log(client, failed ? PHASE_UNKNOWN : PHASE_OK, KIND_LEAVE, 0, " ");
    }
    if (failed)
        worker_sql_recover(client);
}
