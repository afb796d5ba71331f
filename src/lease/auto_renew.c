/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rowlock_auto_renew: a thread renews the lease over a connection of its own, so that the caller's
 * transactions and waits do not delay it. Its session takes the token's session lock if that is
 * free, so the end of this session wakes the waiters if nothing did before.
 */
#include "lease/lease.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lease/query.h"
#include "system/system.h"
#include "util/clock.h"
#include "util/error.h"
#include "util/random.h"
#include "util/renewal.h"
#include "util/thread.h"

struct rowlock_keeper {
    struct rowlock_lease *lease;
    struct rowlock_connection *connection; /* the thread's own, while it runs */
    struct rowlock_renewal renewal;
    rowlock_on_lost on_lost;
    void *data;
    struct rowlock_wakeup wake; /* sent: stop renewing */
    atomic_bool quiet;
    pthread_t thread;
    struct rowlock_error why; /* the last failure */
};

/* ---- the thread ------------------------------------------------------------------------------ */

/* Takes the token's session lock if it is free. Its time limit leaves time for the next renewal,
   which also reports any failure. */
static void mark(struct rowlock_keeper *keeper)
{
    struct rowlock_connection *connection = keeper->connection;
    struct rowlock_lease *lease = keeper->lease;
    struct rowlock_value values[] = {
        rowlock__int_value(1), rowlock__int_value(lease->token),
        rowlock__int_value(connection->driver->backend_id(connection->link))};
    struct rowlock_query query = {.id = ROWLOCK_SQL_SESSION_LOCK,
                                  .values = values,
                                  .deadline_ms = rowlock__now_ms() + keeper->renewal.ttl_ms / 6,
                                  .end_ms = atomic_load(&lease->end_ms)};

    if (rowlock__sql(connection, ROWLOCK_SQL_SESSION_LOCK))
        rowlock__query_once(connection, &query, NULL);
}

static int renew(struct rowlock_keeper *keeper)
{
    struct rowlock_lease *lease = keeper->lease;
    enum rowlock_status status = ROWLOCK_STATUS_OK;
    int code =
        rowlock__renew_over(keeper->connection, lease, keeper->renewal.ttl_ms,
                            rowlock__query_deadline(keeper->connection), &status, &keeper->why);

    if (code || status == ROWLOCK_STATUS_OK)
        return code;
    return rowlock__fail(&keeper->why, ROWLOCK_ELOST, "the lease of '%.100s' (token %lld) %s",
                         lease->name[0], (long long)lease->token,
                         status == ROWLOCK_STATUS_STOPPED ? "was broken" : "has ended");
}

static void tell(struct rowlock_keeper *keeper)
{
    struct rowlock_error *why = &keeper->why;

    atomic_store(&keeper->lease->lost, true);
    if (keeper->renewal.code != ROWLOCK_ELOST) {
        if (why->code == ROWLOCK_OK)
            rowlock__fail(why, keeper->renewal.code, "the lease could not be renewed in time");
        why->code = keeper->renewal.code;
        rowlock__wrap_error(why, why->code, "'%.100s' expired before it was renewed",
                            keeper->lease->name[0]);
    }
    if (keeper->on_lost)
        keeper->on_lost(keeper->lease, why, keeper->data);
}

static void *run(void *data)
{
    struct rowlock_keeper *keeper = data;
    struct rowlock_renewal *renewal = &keeper->renewal;
    const _Atomic int64_t *end_ms = &keeper->lease->end_ms; /* the caller may renew it too */
    struct rowlock_renewal_step step =
        rowlock__renewal_start(renewal, rowlock__now_ms(), atomic_load(end_ms));

    mark(keeper);
    while (step.act != ROWLOCK_RENEWAL_LOST) {
        int code = ROWLOCK_OK;

        if (step.act == ROWLOCK_RENEWAL_SLEEP)
            rowlock__wait_fd(-1, 0, keeper->wake.fd, step.until_ms);
        else
            code = renew(keeper);
        if (atomic_load(&keeper->quiet))
            return NULL;
        if (step.act == ROWLOCK_RENEWAL_SEND && !code)
            mark(keeper);
        step = rowlock__renewal_next(renewal, rowlock__now_ms(), atomic_load(end_ms), code,
                                     rowlock__dice());
    }
    if (!atomic_load(&keeper->quiet))
        tell(keeper);
    return NULL;
}

/* ---- start and end --------------------------------------------------------------------------- */

static void delete (struct rowlock_keeper *keeper)
{
    rowlock_close(keeper->connection);
    rowlock__wakeup_close(&keeper->wake);
    free(keeper);
}

static int check(const struct rowlock_lease *lease, struct rowlock_error *error)
{
    const char *name = lease ? lease->name[0] : NULL;

    rowlock__clear_error(error);
    if (!lease)
        return rowlock__no_lease(error);
    if (lease->keeper)
        return rowlock__fail(error, ROWLOCK_EINVAL,
                             "the lease of '%.100s' is renewed automatically already", name);
    if (!lease->connection->url)
        return rowlock__fail(
            error, ROWLOCK_EINVAL,
            "'%.100s': automatic renewal needs a second connection: set options.url", name);
    if (rowlock_remaining(lease) == 0)
        return rowlock__fail(error, ROWLOCK_ELOST, "the lease of '%.100s' has ended", name);
    return ROWLOCK_OK;
}

int rowlock_auto_renew(struct rowlock_lease *lease, rowlock_on_lost on_lost, void *data,
                       struct rowlock_error *error)
{
    struct rowlock_options options;
    struct rowlock_keeper *keeper;
    int code = check(lease, error), failed;

    if (code)
        return code;
    keeper = calloc(1, sizeof *keeper);
    if (!keeper)
        return rowlock__no_memory(error);
    keeper->lease = lease;
    keeper->on_lost = on_lost;
    keeper->data = data;
    keeper->renewal.ttl_ms = atomic_load(&lease->ttl_ms);
    if (rowlock__wakeup_open(&keeper->wake))
        code = rowlock__fail(error, ROWLOCK_ENOMEM, "cannot create a file descriptor: %s",
                             strerror(errno));
    if (!code) {
        options = rowlock__options_of(lease->connection);
        code = rowlock_open(lease->connection->url, &options, &keeper->connection, error);
        if (code)
            code = rowlock__wrap_error(error, code, "connecting for automatic renewal");
    }
    if (!code) {
        keeper->connection->interrupt_fd = keeper->wake.fd;
        rowlock__use_former(keeper->connection, lease->connection->former);
        failed = rowlock__thread_start(&keeper->thread, run, keeper);
        if (failed)
            code = rowlock__fail(error, ROWLOCK_ENOMEM, "cannot start the renewal thread: %s",
                                 strerror(failed));
    }
    if (code)
        delete (keeper);
    else
        lease->keeper = keeper;
    return code;
}

void rowlock__keeper_quiet(struct rowlock_lease *lease)
{
    struct rowlock_keeper *keeper = lease->keeper;

    if (!keeper)
        return;
    atomic_store(&keeper->quiet, true);
    rowlock__wakeup_send(&keeper->wake);
}

void rowlock__keeper_end(struct rowlock_lease *lease)
{
    struct rowlock_keeper *keeper = lease->keeper;

    if (!keeper)
        return;
    pthread_join(keeper->thread, NULL);
    lease->keeper = NULL;
    delete (keeper);
}
