/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads of one process, which share a group (rowlock_group_open): each is a client, they have one
 * clock, and they die together. The linker sends the library's condition variables and its
 * monotonic clock here.
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "lease/group.h"
#include "simulation/sim.h"

#define FOR_EVER (INT64_MAX / 4)

static struct rowlock_group *group;
static bool opening;

/* ---- the group ------------------------------------------------------------------------------- */

bool threads_share(const struct sim_client *client)
{
    return client->id <= sim.temper.threads;
}

/* Until the group is open; false: the client dies. */
static bool open_group(const struct sim_client *client)
{
    struct rowlock_error error;

    while (!group && !client->dying) {
        if (!opening) {
            opening = true;
            rowlock_group_open(sim.kind->store->url(), NULL, (int)sim.temper.lanes, &group, &error);
            opening = false;
        }
        if (!group)
            sim_pass(100);
    }
    return group && !client->dying;
}

int threads_join(struct sim_client *client, struct rowlock_error *error)
{
    return open_group(client) ? rowlock_group_join(group, &client->connection, error)
                              : ROWLOCK_ECONN;
}

/* After all its threads have ended. */
void threads_close(void)
{
    rowlock_group_close(group);
    group = NULL;
    opening = false;
}

/* ---- which call has which owner -------------------------------------------------------------- */

SEAM(int, rowlock__request_init, struct rowlock_request *request,
     struct rowlock_connection *connection, const struct rowlock_want *wants, size_t n,
     const struct rowlock_terms *terms, struct rowlock_error *error)
{
    int code = __real_rowlock__request_init(request, connection, wants, n, terms, error);

    if (sim.running && !code) {
        memcpy(sim.running->owner, request->owner, sizeof sim.running->owner);
        sim.running->asked_step = sim.steps;
    }
    return code;
}

SEAM(void, rowlock__group_ask, struct rowlock_group *shared, int lane,
     struct rowlock_question *question)
{
    struct rowlock_request *request;

    __real_rowlock__group_ask(shared, lane, question);
    memcpy(&request, &question->request, sizeof request); /* the caller's, and not const there */
    if (!request)
        return;
    if (question->token)
        tell("%s is granted %s by its group", story_client(sim.running->id),
             story_claim(&sim.running->asks));
    if (question->unsure && sim.wrong == SIM_NEW_OWNER_ALONE)
        snprintf(request->owner, sizeof request->owner, "%032x", sim_below(1u << 30));
    memcpy(sim.running->owner, request->owner, sizeof sim.running->owner);
}

/* ---- condition variables --------------------------------------------------------------------- */

/* A thread that dies still gets its answer: its leader, which dies too, sends no more. */
static void block(pthread_cond_t *cond, pthread_mutex_t *mutex, int64_t until)
{
    struct sim_client *client = sim.running;

    pthread_mutex_unlock(mutex);
    client->blocks_on = cond;
    client->wake = until;
    fiber_yield();
    client->blocks_on = NULL;
    pthread_mutex_lock(mutex);
}

SEAM(int, pthread_cond_wait, pthread_cond_t *cond, pthread_mutex_t *mutex)
{
    if (!sim.running)
        return __real_pthread_cond_wait(cond, mutex);
    block(cond, mutex, FOR_EVER);
    return 0;
}

SEAM(int, pthread_cond_timedwait, pthread_cond_t *cond, pthread_mutex_t *mutex,
     const struct timespec *until)
{
    int64_t until_ms = until->tv_sec * INT64_C(1000) + (until->tv_nsec + 999999) / 1000000;

    if (!sim.running)
        return __real_pthread_cond_timedwait(cond, mutex, until);
    if (!sim.running->dying && sim.now < until_ms)
        block(cond, mutex, until_ms);
    return sim.running->dying || sim.now >= until_ms ? ETIMEDOUT : 0;
}

SEAM(int, pthread_cond_signal, pthread_cond_t *cond)
{
    if (!sim.running)
        return __real_pthread_cond_signal(cond);
    for (unsigned i = 0; i < sim.kind->clients; i++)
        if (sim.client[i].blocks_on == cond && sim.client[i].wake > sim.now)
            sim.client[i].wake = sim.now;
    return 0;
}

SEAM(int, clock_gettime, clockid_t clock, struct timespec *out)
{
    if (!sim.running)
        return __real_clock_gettime(clock, out);
    *out = (struct timespec){.tv_sec = sim.now / 1000, .tv_nsec = sim.now % 1000 * 1000000};
    return 0;
}
