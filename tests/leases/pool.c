/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A pool: threads share two connections, one call at a time, and exclude each other and all other
 * clients as if each had a session (docs/leases.md, "Many threads, few sessions").
 *
 * Runs on: sqlite postgresql mariadb odbc jdbc
 * Quick: first
 */
#include <stdatomic.h>
#include <stdlib.h>

#include "lib/grants.h"
#include "lib/lease.h"
#include "lib/overlap.h"

#define THREADS 8
#define SESSIONS 2
#define NAMES 4
#define LEASES 10 /* of each thread */

struct place {
    struct rowlock_connection *connection;
    pthread_mutex_t mutex; /* of each call */
};

struct work {
    struct overlap *overlap;
    struct place *places;
    _Atomic int64_t *last; /* the last token of each name */
    unsigned seed;
};

/* 0, EBUSY, or another error. */
static int try_lease(struct work *work, struct rowlock_error *error)
{
    int name = (int)(rand_r(&work->seed) % NAMES), inside, code;
    struct place *place = &work->places[rand_r(&work->seed) % SESSIONS];
    struct rowlock_want want = t_x(t_say("pool %d", name));
    struct rowlock_terms terms = {.ttl_ms = HOUR};
    struct rowlock_lease *lease = NULL;

    pthread_mutex_lock(&place->mutex);
    code = rowlock_acquire(place->connection, &want, 1, &terms, &lease, error);
    pthread_mutex_unlock(&place->mutex);
    if (code)
        return code;
    inside = overlap_enter(work->overlap, name, want, lease);
    if (atomic_exchange(&work->last[name], rowlock_token(lease)) >= rowlock_token(lease))
        overlap_failed(work->overlap, &(struct rowlock_error){.code = ROWLOCK_EDB,
                                                              .text = "a token was not greater"});
    overlap_leave(work->overlap, inside);
    pthread_mutex_lock(&place->mutex);
    code = rowlock_release(lease, error);
    pthread_mutex_unlock(&place->mutex);
    rowlock_lease_free(lease);
    return code;
}

static int acquire_some(__attribute__((unused)) struct rowlock_connection *connection, void *data,
                        struct rowlock_error *error)
{
    struct work *work = data;

    for (int leases = 0; leases < LEASES;) {
        int code = try_lease(work, error);

        leases += code == 0;
        if (code && code != ROWLOCK_EBUSY) {
            overlap_failed(work->overlap, error);
            return code;
        }
    }
    return 0;
}

TEST(p1_p3_threads_that_share_two_sessions_exclude_each_other)
{
    static _Atomic int64_t last[NAMES];
    static struct place places[SESSIONS];
    static struct work work[THREADS];
    struct overlap *overlap = overlap_new(0);
    struct thread *threads[THREADS];

    t_install();
    for (int i = 0; i < NAMES; i++)
        atomic_store(&last[i], 0);
    for (int i = 0; i < SESSIONS; i++) {
        places[i].connection = t_open();
        pthread_mutex_init(&places[i].mutex, NULL);
    }
    for (int i = 0; i < THREADS; i++) {
        work[i] = (struct work){overlap, places, last, (unsigned)i + 1};
        threads[i] = t_thread(places[i % SESSIONS].connection, acquire_some, &work[i]);
    }
    for (int i = 0; i < THREADS; i++)
        t_ok(t_join(threads[i]));
    overlap_check(overlap);
    t_int(overlap->entered, THREADS * LEASES);
    t_text(t_all_rows(t_native()), NO_ROWS);
}
