/* SPDX-License-Identifier: Apache-2.0 */
/* Group commit: threads queue their requests on shared sessions. See group.h. */
#include "lease/group.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "schema/check.h"
#include "util/error.h"

#define LANES 16
#define DEFAULT_LANES 2
#define ALONE 16 /* batches */
#define LANE_MS 2000
#define QUEUE_S 2 /* maximum time in the queue; then the thread asks alone */

#define SECOND_NS 1000000000L

/* A thread and its request. */
struct waiter {
    struct rowlock_question *question;
    pthread_cond_t wake; /* it was answered, or is the next to send */
    bool sent, answered;
    struct waiter *next;
};

/* A shared session and its queue. */
struct lane {
    struct rowlock_connection *connection; /* used by the thread that made the lane busy */
    pthread_mutex_t mutex;
    struct waiter *first, **last;
    size_t queued;
    bool busy;
    /* waiting for the threads of the previous batch */
    size_t expected; /* threads in the last batch, or queued behind it */
    int64_t took_ns; /* the duration of that batch */
    unsigned alone;  /* the number of batches to send without waiting: no thread came last time */
    struct waiter *gathers; /* the thread that waits for the others */
    atomic_int load;        /* requests queued or under way */
};

struct rowlock_group {
    struct rowlock_connection *like; /* the template of members; never used itself */
    struct lane lane[LANES];
    int lanes;
    bool batches; /* whether the server supports them */
    atomic_uint turn;
};

/* ---- one lane -------------------------------------------------------------------------------- */

/* The requests at the front of the queue; a second request of the same name stays for the next
   batch. */
static size_t take(struct lane *lane, struct waiter **out)
{
    size_t n = 0;

    for (struct waiter **each = &lane->first; *each;) {
        struct waiter *waiter = *each;
        const struct rowlock_request *r = waiter->question->request;
        bool fits = n < ROWLOCK_BATCH;

        for (size_t i = 0; fits && r && i < n; i++) {
            const struct rowlock_request *other = out[i]->question->request;

            fits = !other || other->length != r->length ||
                   memcmp(other->packed, r->packed, r->length) != 0;
        }
        if (!fits) {
            each = &waiter->next;
            continue;
        }
        *each = waiter->next;
        if (!*each)
            lane->last = each;
        lane->queued--;
        waiter->sent = true;
        out[n++] = waiter;
    }
    return n;
}

/* A batch costs little more than one request. Threads in a loop return right after their answer, so
   the sender waits for them: a quarter of the last batch's duration, and not again soon if no
   thread came. */
static void gather(struct lane *lane, struct waiter *waiter)
{
    size_t before = lane->queued;
    struct timespec until;

    if (lane->queued >= lane->expected || (lane->alone && lane->alone--))
        return;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += (long)(lane->took_ns / 4);
    until.tv_sec += until.tv_nsec / SECOND_NS;
    until.tv_nsec %= SECOND_NS;
    lane->gathers = waiter;
    while (lane->queued < lane->expected &&
           pthread_cond_timedwait(&waiter->wake, &lane->mutex, &until) == 0)
        ;
    lane->gathers = NULL;
    if (lane->queued == before)
        lane->alone = ALONE;
}

/* Called with the mutex locked, by the first of the queue, while the lane is idle. */
static void lead(struct lane *lane, struct waiter *waiter)
{
    struct rowlock_question *questions[ROWLOCK_BATCH];
    struct waiter *taken[ROWLOCK_BATCH];
    struct timespec began, ended;
    size_t n;

    lane->busy = true;
    gather(lane, waiter);
    n = take(lane, taken);
    pthread_mutex_unlock(&lane->mutex);
    for (size_t i = 0; i < n; i++)
        questions[i] = taken[i]->question;
    clock_gettime(CLOCK_MONOTONIC, &began);
    rowlock__batch_send(lane->connection, questions, n);
    pthread_mutex_lock(&lane->mutex);
    clock_gettime(CLOCK_MONOTONIC, &ended);
    lane->took_ns =
        (ended.tv_sec - began.tv_sec) * (int64_t)SECOND_NS + ended.tv_nsec - began.tv_nsec;
    lane->took_ns = lane->took_ns < SECOND_NS / 10 ? lane->took_ns : SECOND_NS / 10;
    lane->expected = n + lane->queued;
    lane->busy = false;
    if (lane->first)
        pthread_cond_signal(&lane->first->wake);
    for (size_t i = 0; i < n; i++) {
        taken[i]->answered = true;
        pthread_cond_signal(&taken[i]->wake);
    }
}

/* Until it is answered, or has waited in the queue for too long. */
static void wait_in(struct lane *lane, struct waiter *waiter)
{
    struct waiter **each;
    struct timespec until;
    int late = 0;

    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += QUEUE_S;
    while (!waiter->answered) {
        if (!lane->busy && lane->first == waiter)
            lead(lane, waiter);
        else if (waiter->sent || !late)
            late = waiter->sent ? pthread_cond_wait(&waiter->wake, &lane->mutex)
                                : pthread_cond_timedwait(&waiter->wake, &lane->mutex, &until);
        else
            break;
    }
    if (waiter->answered)
        return;
    for (each = &lane->first; *each != waiter; each = &(*each)->next)
        continue;
    *each = waiter->next;
    if (!*each)
        lane->last = each;
    lane->queued--;
    waiter->question->code = ROWLOCK_ETIMEDOUT;
}

void rowlock__group_ask(struct rowlock_group *group, int lane, struct rowlock_question *question)
{
    struct lane *chosen = &group->lane[lane];
    struct waiter waiter = {.question = question};
    pthread_condattr_t monotonic;

    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&waiter.wake, &monotonic);
    atomic_fetch_add(&chosen->load, 1);
    pthread_mutex_lock(&chosen->mutex);
    *chosen->last = &waiter;
    chosen->last = &waiter.next;
    chosen->queued++;
    if (chosen->gathers && chosen->queued >= chosen->expected)
        pthread_cond_signal(&chosen->gathers->wake);
    wait_in(chosen, &waiter);
    pthread_mutex_unlock(&chosen->mutex);
    atomic_fetch_sub(&chosen->load, 1);
    pthread_cond_destroy(&waiter.wake);
    pthread_condattr_destroy(&monotonic);
}

/* ---- the group ------------------------------------------------------------------------------- */

bool rowlock__group_takes(const struct rowlock_group *group, const struct rowlock_want *wants,
                          size_t n)
{
    return group->batches && n == 1 && wants && wants->mode == ROWLOCK_EXCLUSIVE;
}

int rowlock__group_choose(struct rowlock_group *group)
{
    int turn = (int)(atomic_fetch_add(&group->turn, 1) % (unsigned)group->lanes), best = turn;

    for (int i = 1; i < group->lanes; i++) {
        int other = (turn + i) % group->lanes;

        if (atomic_load(&group->lane[other].load) < atomic_load(&group->lane[best].load))
            best = other;
    }
    return best;
}

int rowlock_group_open(const char *url, const struct rowlock_options *options, int sessions,
                       struct rowlock_group **out, struct rowlock_error *error)
{
    struct rowlock_group *group;
    struct rowlock_connection *last = NULL;
    int code = ROWLOCK_OK;

    if (sessions < 0 || sessions > LANES)
        return rowlock__fail(error, ROWLOCK_EINVAL, "%d sessions; a group has 1 to %d", sessions,
                             LANES);
    group = calloc(1, sizeof *group);
    if (!group)
        return rowlock__no_memory(error);
    group->lanes = sessions ? sessions : DEFAULT_LANES;
    for (int i = 0; i < group->lanes; i++) {
        group->lane[i].last = &group->lane[i].first;
        pthread_mutex_init(&group->lane[i].mutex, NULL);
    }
    for (int i = 0; !code && i < group->lanes; i++) {
        code = rowlock_open(url, options, &group->lane[i].connection, error);
        last = group->lane[i].connection;
        if (!code)
            code = rowlock__check_installed(last, error);
        if (!code && !group->like)
            code = rowlock__connect_later(last, &group->like, error);
        /* many threads wait for this session, so no statement of its own may take long */
        if (!code && (last->statement_ms < 0 || last->statement_ms > LANE_MS))
            last->statement_ms = LANE_MS;
    }
    if (code) {
        rowlock_group_close(group);
        return code;
    }
    /* the dialect has the statements */
    group->batches = rowlock__sql(group->lane[0].connection, ROWLOCK_SQL_GRANT_ALL) != NULL;
    *out = group;
    return ROWLOCK_OK;
}

int rowlock_group_join(struct rowlock_group *group, struct rowlock_connection **out,
                       struct rowlock_error *error)
{
    struct rowlock_connection *connection = NULL;
    int code;

    if (!group)
        return rowlock__fail(error, ROWLOCK_EINVAL, "the group is NULL: was it opened?");
    if (group->like->pid != getpid())
        return rowlock__fail(error, ROWLOCK_EINVAL,
                             "the group was opened by process %ld; open one after fork",
                             (long)group->like->pid);
    code = rowlock__connect_later(group->like, &connection, error);
    if (code)
        return code;
    connection->group = group;
    *out = connection;
    return ROWLOCK_OK;
}

void rowlock_group_close(struct rowlock_group *group)
{
    if (!group)
        return;
    for (int i = 0; i < group->lanes; i++) {
        rowlock_close(group->lane[i].connection);
        pthread_mutex_destroy(&group->lane[i].mutex);
    }
    rowlock_close(group->like);
    free(group);
}
