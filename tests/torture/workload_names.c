/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The workload of names that only their bytes distinguish (worker.h). The holder of one name locks
 * another one, which it finds busy for as long as its own lease lasts if the two are one lock.
 */
#include "lib/test.h"
#include "torture/worker.h"

#define TTL_MS 2500
#define WAIT_MS 1500 /* less than the lease lasts */

/* A try shows two transactions that exclude each other. It is exact only where no lock but that of
   the name is in its way. */
static int lock_in_transaction(struct client *client, int key)
{
    int can_try = !t_facts()->plain && !t_facts()->neighbours_meet;

    return worker_lock(client, key, can_try && worker_draw(client, 2) ? 0 : WAIT_MS, 1);
}

static int lease(struct client *client, int key)
{
    struct rowlock_want want = {.name = worker_name(client, key)};
    struct rowlock_lease *lease = worker_acquire(client, key, &want, TTL_MS, WAIT_MS);

    if (!lease)
        return client->error.code;
    worker_dwell(client);
    return worker_release(client, key, lease);
}

/* The first name has the smaller number, so that two clients never wait for each other. */
void turn_names(struct client *client)
{
    int key = worker_draw(client, client->workload->keys - 1);
    int other = key + 1 + worker_draw(client, client->workload->keys - 1 - key);
    struct rowlock_want want = {.name = worker_name(client, key)};
    struct rowlock_lease *held = worker_acquire(client, key, &want, TTL_MS, WAIT_MS);
    int failed = !held;

    if (held) {
        if (t_facts()->names_independent && worker_draw(client, 2))
            failed = lock_in_transaction(client, other);
        else
            failed = lease(client, other);
        if (worker_release(client, key, held))
            failed = 1;
    }
    if (failed)
        worker_recover(client);
}
