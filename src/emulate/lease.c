/* SPDX-License-Identifier: Apache-2.0 */
/* While a lease is held, and its end: renew, release, check, break. */
#include <string.h>

#include "emulate/job_rows.h"

/* Whether the lease of a token has that name, and that owner (NULL: any). */
struct identity {
    char key[ROWLOCK_KEY_SIZE];
    struct rowlock_value owner;
    bool fits;
};

static void identity_row(void *data, const struct rowlock_value *columns, unsigned n)
{
    struct identity *identity = data;
    const struct rowlock_value *owner = &identity->owner;

    if (n > 1 && rowlock__work_is(&columns[0], identity->key) &&
        (owner->type == ROWLOCK_NULL ||
         (columns[1].type == ROWLOCK_BYTES && columns[1].length == owner->length &&
          memcmp(columns[1].bytes, owner->bytes, owner->length) == 0)))
        identity->fits = true;
}

/* The parameters name and owner, from `name` on. */
static struct identity identity_of(const struct rowlock_work *work, unsigned name)
{
    struct identity identity = {.owner = rowlock__work_value(work, name + 1)};

    rowlock__key(work, "", &work->call->values[name], identity.key);
    return identity;
}

int rowlock__end_lease_rows(struct rowlock_work *work, int64_t token, bool *was)
{
    struct rowlock_value value = rowlock__int_value(token);
    int code = rowlock__end_heartbeat(work, token);

    if (!code)
        code = rowlock__work_do(work, ROWLOCK_PLAIN_LEASE_END, &value);
    *was = !code && work->affected > 0;
    return code;
}

static int renew(struct rowlock_work *work, struct rowlock_value token, struct rowlock_value ttl,
                 struct identity *identity, enum rowlock_status *status)
{
    struct rowlock_value values[] = {ttl, ttl, token};
    /* a lease's rows are never updated, so a read without a lock is true as long as they exist */
    int code = rowlock__work_ask(work, ROWLOCK_PLAIN_LEASE_NAMES, &token, identity_row, identity);

    *status = ROWLOCK_STATUS_LOST;
    if (code || !identity->fits)
        return code;
    code = rowlock__work_do(work, ROWLOCK_PLAIN_HEARTBEAT_RENEW, values);
    if (!code && work->affected)
        *status = ROWLOCK_STATUS_OK;
    if (code || work->affected)
        return code;
    code = rowlock__work_do(work, ROWLOCK_PLAIN_HEARTBEAT, &token);
    if (!code && work->affected)
        *status = ROWLOCK_STATUS_STOPPED;
    return code;
}

/* token, ttl_ms, name, owner -> status */
int rowlock__emulate_renew(struct rowlock_work *work)
{
    struct identity identity = identity_of(work, 2);
    enum rowlock_status status;
    int code =
        renew(work, rowlock__work_value(work, 0), rowlock__work_value(work, 1), &identity, &status);

    return code ? code : rowlock__work_number(work, status);
}

/* leases, ttl_ms -> token. Only where one lock of the whole database is every name's, so that no
   row is locked by another transaction. */
int rowlock__emulate_renew_all(struct rowlock_work *work)
{
    const struct rowlock_value *leases = &work->call->values[0];
    const char *at = leases->bytes, *end = at + leases->length;
    int code = ROWLOCK_OK;

    while (!code && at < end) {
        struct identity identity = {0};
        struct rowlock_value token;
        enum rowlock_status status;

        at = rowlock__read_lease(work, at, end, &token, identity.key, &identity.owner);
        code = renew(work, token, rowlock__work_value(work, 1), &identity, &status);
        if (!code && status == ROWLOCK_STATUS_OK)
            rowlock__work_answer(work, &token, 1);
    }
    return code;
}

/* token, name, owner -> status. Some engines have one statement that identifies the lease and ends
   it or writes its history. */
int rowlock__emulate_release(struct rowlock_work *work)
{
    struct identity identity = identity_of(work, 1);
    struct rowlock_value token = rowlock__work_value(work, 0);
    struct rowlock_value name = rowlock__text_value(rowlock__work_key(work, 1));
    struct rowlock_value values[] = {token, token, name, rowlock__work_value(work, 2),
                                     token, token};
    bool was = false;
    int code = ROWLOCK_OK;

    if (rowlock__work_can(work, ROWLOCK_PLAIN_RELEASE_QUIET)) {
        code = rowlock__work_do(work, ROWLOCK_PLAIN_RELEASE_QUIET, values);
        was = !code && work->affected > 0;
        if (!code && !was) {
            code = rowlock__log_released(work, values, &was);
            if (!code && was)
                code = rowlock__work_do(work, ROWLOCK_PLAIN_HEARTBEAT_END, values);
        }
        if (!code && was)
            code = rowlock__work_do(work, ROWLOCK_PLAIN_LEASE_END, values);
    }
    if (!code && !was)
        code = rowlock__work_ask(work, ROWLOCK_PLAIN_LEASE_NAMES, &token, identity_row, &identity);
    if (!code && identity.fits)
        code = rowlock__end_lease_rows(work, rowlock__work_int(work, 0), &was);
    return code ? code : rowlock__work_number(work, was ? ROWLOCK_STATUS_OK : ROWLOCK_STATUS_LOST);
}

/* name, token -> status, left_ms, mode letter, owner */
int rowlock__emulate_check(struct rowlock_work *work)
{
    struct rowlock_rows leases = {.size = sizeof(struct rowlock_lease_row)};
    struct rowlock_value columns[] = {rowlock__int_value(ROWLOCK_STATUS_LOST),
                                      rowlock__int_value(0),
                                      {.type = ROWLOCK_NULL},
                                      {.type = ROWLOCK_NULL}};
    char kind[2] = "";
    int code = rowlock__read_leases(work, rowlock__work_key(work, 0), NULL, &leases);
    const struct rowlock_lease_row *row = leases.row;

    for (size_t i = 0; i < leases.n; i++) {
        if (row[i].held.token != rowlock__work_int(work, 1) || !row[i].held.alive)
            continue;
        kind[0] = row[i].held.kind;
        columns[0] =
            rowlock__int_value(row[i].stopped ? ROWLOCK_STATUS_STOPPED : ROWLOCK_STATUS_OK);
        columns[1] = rowlock__int_value(row[i].held.expires_ms - row[i].now_ms);
        columns[2] = rowlock__text_value(kind);
        columns[3] = rowlock__text_value(row[i].owner);
    }
    if (!code)
        rowlock__work_answer(work, columns, 4);
    rowlock__rows_clear(&leases);
    return code;
}

/* ---- break ----------------------------------------------------------------------------------- */

/* The lease of a finished job has no process that renews it: the rest of its minimum hold ends at
   once. A run ends under the lock of its heartbeat. A node that has read the job of a broken run
   before must decide again. */
static int break_one(struct rowlock_work *work, int64_t token, bool now, bool alive,
                     int64_t *broken)
{
    struct rowlock_value value = rowlock__int_value(token);
    struct rowlock_rows runs = {.size = sizeof(struct rowlock_run_row)};
    struct rowlock_value values[2];
    const struct rowlock_run_row *run; /* none: it is not the lease of a job */
    bool was = false, finished;
    int code = rowlock__work_do(work, ROWLOCK_PLAIN_HEARTBEAT_LOCK, &value);

    if (!code)
        code = rowlock__read_run(work, token, &runs);
    run = runs.row;
    finished = runs.n && (run->outcome == ROWLOCK_RUN_DONE || run->outcome == ROWLOCK_RUN_FAILED ||
                          run->outcome == ROWLOCK_RUN_TIMEDOUT);
    if (!code && now && alive) /* otherwise the history says that it expired */
        code = rowlock__work_do(work, ROWLOCK_PLAIN_HEARTBEAT_STOP, &value);
    if (!code && (now || finished)) {
        code = rowlock__end_lease_rows(work, token, &was);
    } else if (!code) {
        code = rowlock__work_do(work, ROWLOCK_PLAIN_HEARTBEAT_STOP, &value);
        was = !code && work->affected > 0;
    }
    *broken += was;
    if (!code && runs.n && run->outcome == ROWLOCK_RUN_RUNNING) {
        values[0] = rowlock__text_value(run->job);
        values[1] = rowlock__int_value(run->token);
        code = rowlock__work_do(work, ROWLOCK_PLAIN_JOB_TOUCH, values);
        if (!code)
            code = rowlock__work_do(work, ROWLOCK_PLAIN_RUN_BREAK, &values[1]);
    }
    rowlock__rows_clear(&runs);
    return code;
}

/* name, token or 0, now -> number of leases */
int rowlock__emulate_break(struct rowlock_work *work)
{
    struct rowlock_rows leases = {.size = sizeof(struct rowlock_lease_row)};
    int64_t only = rowlock__work_int(work, 1), broken = 0, last = 0;
    int code = rowlock__read_leases(work, rowlock__work_key(work, 0), NULL, &leases);
    const struct rowlock_lease_row *row = leases.row;

    for (size_t i = 0; !code && i < leases.n; i++) {
        if ((only && row[i].held.token != only) || row[i].held.token == last)
            continue;
        last = row[i].held.token;
        code = break_one(work, last, rowlock__work_int(work, 2) != 0, row[i].held.alive, &broken);
    }
    rowlock__rows_clear(&leases);
    return code ? code : rowlock__work_number(work, broken);
}
