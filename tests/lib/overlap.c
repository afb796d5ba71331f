/* SPDX-License-Identifier: Apache-2.0 */
/* Detects holders of conflicting leases (overlap.h). */
#include "lib/overlap.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "lib/nursery.h"

struct overlap *overlap_new(int limit)
{
    struct overlap *overlap = t_shared(sizeof *overlap);
    pthread_mutexattr_t attributes;

    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
    pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
    pthread_mutex_init(&overlap->mutex, &attributes);
    pthread_mutexattr_destroy(&attributes);
    overlap->limit = limit;
    return overlap;
}

/* The process that held the mutex may have been killed. */
static void lock_it(struct overlap *overlap)
{
    if (pthread_mutex_lock(&overlap->mutex) == EOWNERDEAD)
        pthread_mutex_consistent(&overlap->mutex);
}

static int excludes(const struct inside *other, enum rowlock_mode mode)
{
    return mode == ROWLOCK_EXCLUSIVE || other->mode != mode;
}

/* Records a violation, and counts the permits. */
static void look_around(struct overlap *overlap, int name, struct rowlock_want want, long long now)
{
    int permits = want.mode == ROWLOCK_PERMIT ? (want.count ? want.count : 1) : 0;

    for (int i = 0; i < MOST_INSIDE; i++) {
        const struct inside *other = &overlap->inside[i];

        if (other->until <= now || other->name != name)
            continue;
        if (excludes(other, want.mode))
            overlap->violations++;
        else if (want.mode == ROWLOCK_PERMIT)
            permits += other->count;
    }
    if (permits > overlap->most_permits)
        overlap->most_permits = permits;
    if (overlap->limit && permits > overlap->limit)
        overlap->violations++;
}

int overlap_enter(struct overlap *overlap, int name, struct rowlock_want want,
                  const struct rowlock_lease *lease)
{
    long long now, left = lease ? rowlock_remaining(lease) : HOUR;
    int place = 0;

    lock_it(overlap);
    now = t_now();
    /* else this client was paused past its expiry, and another may hold the name */
    if (left > 0)
        look_around(overlap, name, want, now);
    overlap->entered++;
    while (place < MOST_INSIDE - 1 && overlap->inside[place].until > now)
        place++;
    overlap->inside[place] = (struct inside){.name = name,
                                             .count = want.count ? want.count : 1,
                                             .mode = want.mode,
                                             .pid = getpid(),
                                             .until = now + left};
    pthread_mutex_unlock(&overlap->mutex);
    return place;
}

void overlap_leave(struct overlap *overlap, int place)
{
    lock_it(overlap);
    /* else the lease expired and another client uses the place */
    if (overlap->inside[place].pid == getpid())
        overlap->inside[place].until = 0;
    pthread_mutex_unlock(&overlap->mutex);
}

void overlap_failed(struct overlap *overlap, const struct rowlock_error *error)
{
    lock_it(overlap);
    if (!overlap->code) {
        overlap->code = error->code;
        snprintf(overlap->text, sizeof overlap->text, "%s", error->text);
    }
    pthread_mutex_unlock(&overlap->mutex);
}

void overlap_check(struct overlap *overlap)
{
    t_text(overlap->text, "");
    t_int(overlap->code, 0);
    t_int(overlap->violations, 0);
}
