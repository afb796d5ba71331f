/* SPDX-License-Identifier: Apache-2.0 */
/* A lease in memory, and what can be read from it without the database. */
#include <stdlib.h>
#include <string.h>

#include "lease/lease.h"
#include "util/clock.h"
#include "util/error.h"

/* Databases round their clocks to milliseconds: an expiry can come this much early. */
#define GRAIN_MS 1

int rowlock__lease_new(struct rowlock_connection *connection, const struct rowlock_want *want,
                       size_t n, struct rowlock_lease **out, struct rowlock_error *error)
{
    struct rowlock_lease *lease = calloc(1, sizeof *lease);

    if (!lease)
        return rowlock__no_memory(error);
    lease->connection = connection;
    pthread_mutex_init(&lease->mutex, NULL);
    lease->name = calloc(n, sizeof *lease->name);
    for (; lease->name && lease->n < n; lease->n++)
        if (!(lease->name[lease->n] = strdup(want[lease->n].name)))
            break;
    if (lease->n < n) {
        rowlock__lease_delete(lease);
        return rowlock__no_memory(error);
    }
    *out = lease;
    return ROWLOCK_OK;
}

void rowlock__lease_delete(struct rowlock_lease *lease)
{
    if (!lease)
        return;
    for (size_t i = 0; i < lease->n; i++)
        free(lease->name[i]);
    free(lease->name);
    pthread_mutex_destroy(&lease->mutex);
    free(lease);
}

struct rowlock_value rowlock__session_of(const struct rowlock_lease *lease)
{
    struct rowlock_connection *connection = lease->connection;

    return rowlock__int_value(rowlock__mark_of(connection, lease->token)
                                  ? connection->driver->backend_id(connection->link)
                                  : 0);
}

void rowlock__lease_renewed(struct rowlock_lease *lease, int64_t sent_ms, int64_t ttl_ms)
{
    /* An adopted lease may have less than a millisecond left; a negative time would never end. */
    int64_t end_ms = rowlock__after(sent_ms, rowlock__most(ttl_ms - GRAIN_MS, 0));

    if (sent_ms > atomic_load(&lease->sent_ms))
        atomic_store(&lease->sent_ms, sent_ms);
    if (end_ms > atomic_load(&lease->end_ms))
        atomic_store(&lease->end_ms, end_ms);
}

int rowlock__no_lease(struct rowlock_error *error)
{
    return rowlock__fail(error, ROWLOCK_EINVAL, "the lease is NULL: was it acquired?");
}

int64_t rowlock_token(const struct rowlock_lease *lease)
{
    return lease ? lease->token : 0;
}

const char *rowlock_owner(const struct rowlock_lease *lease)
{
    return lease ? lease->owner : "";
}

rowlock_duration rowlock_remaining(const struct rowlock_lease *lease)
{
    int64_t left = lease ? atomic_load(&lease->end_ms) - rowlock__now_ms() : -1;

    return left < 0 || atomic_load(&lease->lost) || atomic_load(&lease->released) ? 0 : left;
}
