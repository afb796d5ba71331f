/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A clone: a node whose crontab names a job. It claims the job when it is due. If it gets the
 * claim, a guard starts the sender, and ends it when the lease ends; the clone renews the lease and
 * records the result. It does not know which act is played.
 */
#include <sys/wait.h>
#include <unistd.h>

#include "command/command.h"
#include "demo/clones.h"
#include "demo/demo_log.h"
#include "guard/guard.h"
#include "util/clock.h"
#include "util/random.h"
#include "util/renewal.h"

/* A new job with this schedule is due at once, and again in ten years: one mail. */
#define SCHEDULE "every 3650d"
#define RETRY 20          /* retries of the mail: more than an act needs */
#define AGAIN_MOST_MS 500 /* takes the place of a crontab's minute */
#define MARGIN_MS 100     /* time for KILL to take effect */

struct node {
    const struct clones_farm *farm;
    int clone;
    struct rowlock_connection *connection;
    struct rowlock_lease *lease;
    int64_t token, end_ms; /* end_ms: the lease is certain until then */
    struct guard guard;
    struct rowlock_renewal renewal;
    int skipped;
};

static void tell(const struct node *node, enum clones_event event)
{
    clones_tell(node->farm, node->clone, event, node->token);
}

/* A clone that is frozen in the middle of a statement would keep SQLite's one write lock, and stop
   all others. Real clones that share a file share the machine, and are frozen together. */
static void set_asking(const struct node *node, int asking)
{
    atomic_store(&node->farm->log->asking[node->clone], asking);
}

/* Waits for a descriptor. 1: it is readable; 0: the time has passed. */
static int await(const struct node *node, int fd, int64_t until_ms)
{
    int came;

    set_asking(node, 0);
    came = rowlock__is_readable(fd, rowlock__poll_timeout(until_ms));
    set_asking(node, 1);
    return came;
}

/* ---- a run ----------------------------------------------------------------------------------- */

/* Ignores TERM, so that it survives if its guard is frozen between TERM and KILL: the fence must
   refuse its write. */
static int become_sender(void *data)
{
    const struct node *node = data;

    signal(SIGTERM, SIG_IGN);
    sigprocmask(SIG_SETMASK, &node->farm->signals, NULL);
    return clones_exec(node->farm, node->clone, node->token);
}

/* Closes our connection before it starts the sender: a SQLite connection must not cross a fork. */
static int start_sender(struct node *node, struct rowlock_error *error)
{
    struct guard_plan plan = {.end_ms = node->end_ms,
                              .max_run_ms = -1,
                              .kill_after_ms = MARGIN_MS,
                              .own_group = 1,
                              .become = become_sender,
                              .data = node};

    rowlock_lease_free(node->lease);
    node->lease = NULL;
    rowlock_close(node->connection);
    node->connection = NULL;
    if (guard_start(&node->guard, &plan)) {
        *error = (struct rowlock_error){.code = ROWLOCK_ENOMEM, .text = "no process for a sender"};
        return error->code;
    }
    if (rowlock_open(node->farm->url, &DEMO_OPTIONS, &node->connection, error))
        return error->code;
    return rowlock_adopt(node->connection, node->farm->lock, node->token, &node->lease, error);
}

static int64_t end_of_lease(const struct node *node, int64_t now)
{
    return now + rowlock_remaining(node->lease);
}

static struct rowlock_renewal_step renew(struct node *node)
{
    int code = rowlock_renew(node->lease, node->farm->ttl_ms, NULL);
    int64_t now = rowlock__now_ms(), end = end_of_lease(node, now);

    if (code == ROWLOCK_OK)
        guard_give(node->guard.fd, GUARD_EXTEND, end - MARGIN_MS);
    return rowlock__renewal_next(&node->renewal, now, end, code, rowlock__dice());
}

/* Renews if it is time. Returns the time of the next renewal. */
static int64_t keep(struct node *node)
{
    int64_t now = rowlock__now_ms();
    struct rowlock_renewal_step step =
        rowlock__renewal_now(&node->renewal, now, end_of_lease(node, now));

    while (step.act == ROWLOCK_RENEWAL_SEND)
        step = renew(node);
    if (step.act == ROWLOCK_RENEWAL_SLEEP)
        return step.until_ms;
    guard_give(node->guard.fd, GUARD_END, 0);
    return ROWLOCK_NEVER;
}

/* Renews until the sender has ended. Returns its exit status. */
static int attend(struct node *node)
{
    int64_t next_ms = node->lease ? rowlock__now_ms() : ROWLOCK_NEVER; /* it was adopted */
    struct guard_report report;

    node->renewal = (struct rowlock_renewal){.ttl_ms = node->farm->ttl_ms};
    for (;;) {
        int came = await(node, node->guard.fd, next_ms);

        if (came)
            guard_next(&node->guard, &report);
        if (came && (report.event == GUARD_ENDED || report.event == GUARD_GONE ||
                     report.event == GUARD_NOT_STARTED || report.event == GUARD_NOT_EXECUTED))
            break;
        if (rowlock__now_ms() >= next_ms)
            next_ms = keep(node);
    }
    if (report.event != GUARD_ENDED || report.cause != GUARD_BY_ITSELF)
        return STATUS_FAILED; /* it may not have started, if the lease had ended by then */
    return WIFEXITED(report.number) ? WEXITSTATUS(report.number) : 128 + WTERMSIG(report.number);
}

static int finish(struct node *node, int status, struct rowlock_error *error)
{
    struct rowlock_result result = {.exit = status};
    int code = rowlock_finish(node->lease, &result, error);

    if (code == ROWLOCK_OK && status == 0)
        tell(node, CLONES_FINISHED);
    if (code == ROWLOCK_ELOST)
        tell(node, CLONES_LOST);
    return code == ROWLOCK_ELOST ? ROWLOCK_OK : code;
}

static int run(struct node *node, struct rowlock_error *error)
{
    int code, status;

    node->token = rowlock_token(node->lease);
    node->end_ms = end_of_lease(node, rowlock__now_ms()) - MARGIN_MS;
    tell(node, CLONES_CLAIMED);
    code = start_sender(node, error);
    if (code && node->guard.pid > 0)
        guard_give(node->guard.fd, GUARD_END, 0);
    if (node->guard.pid > 0) {
        status = attend(node);
        guard_close(&node->guard);
        code = code ? code : finish(node, status, error);
    }
    if (code == ROWLOCK_ELOST) {
        tell(node, CLONES_LOST);
        code = ROWLOCK_OK;
    }
    rowlock_lease_free(node->lease);
    node->lease = NULL;
    node->token = 0;
    node->skipped = 1;
    return code;
}

/* ---- asking ---------------------------------------------------------------------------------- */

/* Claims the job. `*again_ms`: the time of the next claim; 0: this claim succeeded, and the job has
   run. */
static int ask(struct node *node, const struct rowlock_schedule *schedule, int64_t *again_ms,
               struct rowlock_error *error)
{
    struct rowlock_job job = {.name = node->farm->job,
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
    pause = claim.next_ms - claim.now_ms;
    *again_ms = rowlock__now_ms() + (pause < 1 ? 1 : pause > AGAIN_MOST_MS ? AGAIN_MOST_MS : pause);
    return ROWLOCK_OK;
}

/* Claims until the act ends; the last claim, after that, finds nothing due. */
static int go_on_asking(struct node *node, struct rowlock_error *error)
{
    struct rowlock_schedule *schedule;
    int64_t again_ms = 0;
    int over = 0, code = rowlock_schedule_open(SCHEDULE, NULL, &schedule, NULL, error);

    if (code)
        return code;
    while (!code && !over) {
        over = await(node, node->farm->over[0], again_ms);
        code = ask(node, schedule, &again_ms, error);
    }
    rowlock_schedule_close(schedule);
    return code;
}

int clones_node(const struct clones_farm *farm, int clone)
{
    struct node node = {.farm = farm, .clone = clone, .guard = {.fd = -1}};
    struct rowlock_error error = {0};
    int code = ROWLOCK_OK;

    set_asking(&node, 1);
    if (*farm->job)
        code = rowlock_open(farm->url, &DEMO_OPTIONS, &node.connection, &error);
    if (!code) {
        tell(&node, CLONES_READY);
        await(&node, farm->go[0], ROWLOCK_NEVER);
        code = *farm->job ? go_on_asking(&node, &error) : clones_send(farm, clone, 0);
    }
    if (code && *farm->job)
        clones_fail(farm, &error);
    rowlock_close(node.connection);
    return code ? 1 : 0;
}
