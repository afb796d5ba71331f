/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A clone: a node whose crontab names a job. It claims the job when it is due. If it gets the
 * claim, it sends the mail: it waits for the mail server, renews its lease meanwhile, and writes
 * the mail, which counts as sent, in a transaction under the fence. Then it records the result. It
 * does not know which act is played.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "command/job_name.h"
#include "demo/clones.h"
#include "demo/demo_log.h"
#include "util/clock.h"
#include "util/random.h"
#include "util/renewal.h"

/* A new job with this schedule is due at once, and again in ten years: one mail. */
#define SCHEDULE "every 3650d"
#define RETRY 20          /* retries of the mail: more than an act needs */
#define AGAIN_MOST_MS 500 /* takes the place of a crontab's minute */
#define WAIT_MS 20000     /* for another clone that writes a mail */

struct node {
    struct clones_farm *farm;
    int clone;
    struct rowlock_connection *connection;
    struct rowlock_lease *lease;
    int64_t token;
    int skipped;
};

static void tell(const struct node *node, enum clones_event event)
{
    const struct clones_item item = {node->clone, event, rowlock__now_ms(), node->token};

    if (write(node->farm->events[1], &item, sizeof item) < 0)
        _exit(1); /* the conductor is gone */
}

/* Waits for an order. 1: it came, or their end; 0: the time has passed. A clone that is frozen in
   the middle of a statement would keep SQLite's one write lock, and stop all others. Real clones
   that share a file share the machine, and are frozen together. */
static int await(const struct node *node, int64_t until_ms)
{
    int came;

    atomic_store(&node->farm->asking[node->clone], 0);
    came =
        rowlock__is_readable(node->farm->orders[node->clone][0], rowlock__poll_timeout(until_ms));
    atomic_store(&node->farm->asking[node->clone], 1);
    return came;
}

/* The next order, after await(). 0: the act has ended. */
static int take_order(const struct node *node)
{
    char byte;

    return read(node->farm->orders[node->clone][0], &byte, 1) == 1;
}

/* ---- the mail -------------------------------------------------------------------------------- */

static int write_mail(const struct node *node, struct rowlock_error *error)
{
    const struct clones_farm *farm = node->farm;
    char line[64];
    int length = snprintf(line, sizeof line, "mail %d from clone %d\n", farm->act, node->clone + 1);
    int fd = open(farm->mails, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    int done = fd >= 0 && write(fd, line, (size_t)length) == length;

    if (!done) {
        error->code = ROWLOCK_EDB;
        snprintf(error->text, sizeof error->text, "cannot write the mail to '%.300s': %s",
                 farm->mails, strerror(errno));
    }
    if (fd >= 0)
        close(fd);
    return done ? ROWLOCK_OK : error->code;
}

/* Writes the mail under the fence, which refuses a clone that was suspended beyond the end of its
   lease. */
static int write_under_fence(const struct node *node, struct rowlock_error *error)
{
    static const struct rowlock_want want = {.name = CLONES_NAME};
    int code = rowlock_begin(node->connection, &want, 1, WAIT_MS, error);

    if (code)
        return code;
    code = rowlock_fence(node->connection, node->farm->lock, node->token, error);
    if (code == ROWLOCK_ELOST)
        tell(node, CLONES_REFUSED);
    if (!code)
        code = write_mail(node, error);
    if (!code)
        return rowlock_commit(node->connection, error);
    rowlock_rollback(node->connection, NULL);
    return code;
}

/* Renews if it is time. Returns the time of the next renewal; never, if the lease is lost: then the
   fence refuses the mail. */
static int64_t keep(struct node *node, struct rowlock_renewal *renewal)
{
    int64_t now = rowlock__now_ms();
    struct rowlock_renewal_step step =
        rowlock__renewal_now(renewal, now, now + rowlock_remaining(node->lease));

    while (step.act == ROWLOCK_RENEWAL_SEND) {
        int code = rowlock_renew(node->lease, renewal->ttl_ms, NULL);

        now = rowlock__now_ms();
        step = rowlock__renewal_next(renewal, now, now + rowlock_remaining(node->lease), code,
                                     rowlock__dice());
    }
    return step.act == ROWLOCK_RENEWAL_SLEEP ? step.until_ms : ROWLOCK_NEVER;
}

static int send_mail(struct node *node, struct rowlock_error *error)
{
    struct rowlock_renewal renewal = {.ttl_ms = node->farm->ttl_ms};
    int64_t next_ms = node->lease ? keep(node, &renewal) : ROWLOCK_NEVER;
    int code;

    tell(node, CLONES_SENDING);
    while (!await(node, next_ms))
        next_ms = keep(node, &renewal);
    if (!take_order(node))
        return ROWLOCK_ECANCELED;
    code = node->lease ? write_under_fence(node, error) : write_mail(node, error);
    if (!code)
        tell(node, CLONES_SENT);
    return code;
}

/* ---- the job --------------------------------------------------------------------------------- */

static int run(struct node *node, struct rowlock_error *error)
{
    struct rowlock_result result = {.exit = 0};
    int code;

    node->token = rowlock_token(node->lease);
    tell(node, CLONES_CLAIMED);
    code = send_mail(node, error);
    if (!code || code == ROWLOCK_ELOST) {
        result.exit = code ? 1 : 0;
        code = rowlock_finish(node->lease, &result, error);
        if (!code)
            tell(node, CLONES_FINISHED);
        if (code == ROWLOCK_ELOST)
            tell(node, CLONES_LOST);
    }
    rowlock_lease_free(node->lease);
    node->lease = NULL;
    node->token = 0;
    node->skipped = 1;
    return code == ROWLOCK_ELOST || code == ROWLOCK_ECANCELED ? ROWLOCK_OK : code;
}

/* Claims the job, and runs it if this clone got it. `*again_ms`: the time of the next claim. */
static int claim(struct node *node, const struct rowlock_schedule *schedule, int64_t *again_ms,
                 struct rowlock_error *error)
{
    struct rowlock_job job = {.name = node->farm->lock + sizeof JOB_LOCK_PREFIX - 1,
                              .schedule = schedule,
                              .ttl_ms = node->farm->ttl_ms,
                              .retry = RETRY,
                              .command = "demo clones"};
    struct rowlock_claim claim;
    int64_t pause;
    int code = rowlock_claim(node->connection, &job, &claim, &node->lease, error);

    if (code)
        return code;
    *again_ms = 0;
    if (claim.claimed == ROWLOCK_JOB_CLAIMED)
        return run(node, error);
    if (!node->skipped++)
        tell(node, CLONES_SKIPPED);
    pause = rowlock__least(claim.next_ms - claim.now_ms, AGAIN_MOST_MS);
    *again_ms = rowlock__now_ms() + rowlock__most(pause, 1);
    return ROWLOCK_OK;
}

int clones_node(struct clones_farm *farm, int clone)
{
    struct node node = {.farm = farm, .clone = clone};
    struct rowlock_schedule *schedule = NULL;
    struct rowlock_error error = {0};
    int64_t again_ms = 0;
    int none = 0, code = ROWLOCK_OK;

    atomic_store(&farm->asking[clone], 1);
    if (*farm->lock)
        code = rowlock_open(farm->url, &DEMO_OPTIONS, &node.connection, &error);
    if (!code && *farm->lock)
        code = rowlock_schedule_open(SCHEDULE, NULL, &schedule, NULL, &error);
    if (!code) {
        tell(&node, CLONES_READY);
        await(&node, ROWLOCK_NEVER);
        if (!take_order(&node))
            code = ROWLOCK_ECANCELED;
        else if (!*farm->lock)
            code = send_mail(&node, &error);
        while (!code && *farm->lock && !await(&node, again_ms)) /* until the act ends */
            code = claim(&node, schedule, &again_ms, &error);
    }
    rowlock_schedule_close(schedule);
    rowlock_close(node.connection);
    if (!code || code == ROWLOCK_ECANCELED)
        return 0;
    if (atomic_compare_exchange_strong(&farm->failed, &none, 1))
        farm->error = error;
    return 1;
}
