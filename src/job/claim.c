/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rowlock_claim: the database decides, or returns the job's state for the decision (decide.h); then
 * the decision is executed on condition that the row is unchanged. If another node has changed it,
 * it starts over.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "dialect/job.h"
#include "job/decide.h"
#include "job/job.h"
#include "lease/lease.h"
#include "lease/query.h"
#include "lease/request.h"
#include "lock/wants.h"
#include "schema/check.h"
#include "session/connection.h"
#include "util/error.h"

#define ROUNDS 100 /* each round except the last lost a race against another node */
#define EARLY_MOST_MS 30000
#define BACKOFF_MS 10000
#define HISTORY 100
#define HELD_MS 5000 /* a transaction holds the name; its end is unknown */
#define HISTORY_MOST 1000000
#define LONGEST_MS (INT64_C(366) * 86400000)

struct claiming {
    struct rowlock_connection *connection;
    const struct rowlock_job *job;
    struct rowlock_job_rules rules;
    struct rowlock_job_state state;
    struct rowlock_job_decision decision;
    struct rowlock_claim claim;
    struct rowlock_lease *lease;
    char name[ROWLOCK_NAME_MAX + 1]; /* of the lock */
    char host[256];
    int64_t met_version; /* the row's version when the name was held or the run had a lease */
    int rows, met;       /* met: consecutive rounds with that version */
};

/* ---- the state in the database -------------------------------------------------------------- */

static bool is_same(const struct rowlock_value *column, const char *text)
{
    return column->type == ROWLOCK_BYTES && column->length == strlen(text) &&
           memcmp(column->bytes, text, column->length) == 0;
}

/* Keeps the schedule in the job's row, if there is one and it differs. */
static void note_schedule(struct claiming *c, const struct rowlock_value *column)
{
    if (column->type == ROWLOCK_BYTES && column->length && column->length <= ROWLOCK_SCHEDULE_MAX &&
        !is_same(column, c->job->schedule->text)) {
        memcpy(c->claim.former_schedule, column->bytes, column->length);
        c->claim.former_schedule[column->length] = '\0';
    }
}

static void state_row(void *data, const struct rowlock_value *columns, unsigned n)
{
    struct claiming *c = data;

    if (n < ROWLOCK_STATE_COLUMNS || c->rows++)
        return;
    c->state = (struct rowlock_job_state){
        .now_ms = rowlock__value_number(&columns[ROWLOCK_STATE_NOW]),
        .version = rowlock__value_number(&columns[ROWLOCK_STATE_VERSION]),
        .same_schedule = is_same(&columns[ROWLOCK_STATE_SCHEDULE], c->job->schedule->text),
        .due_ms = rowlock__value_number(&columns[ROWLOCK_STATE_DUE]),
        .last_ms = rowlock__value_number(&columns[ROWLOCK_STATE_LAST]),
        .failed_ms = rowlock__value_number(&columns[ROWLOCK_STATE_FAILED]),
        .repeats = (int)rowlock__value_number(&columns[ROWLOCK_STATE_REPEATS]),
        .running = rowlock__value_number(&columns[ROWLOCK_STATE_RUNNING]),
        .broken = rowlock__value_number(&columns[ROWLOCK_STATE_BROKEN]) != 0,
        .held = rowlock__value_number(&columns[ROWLOCK_STATE_HELD]) != 0,
        .free_ms = rowlock__value_number(&columns[ROWLOCK_STATE_FREE]),
        .not_started = rowlock__value_number(&columns[ROWLOCK_STATE_NOT_STARTED]) != 0,
    };
    c->state.known = c->state.version != 0;
    if (c->state.known)
        note_schedule(c, &columns[ROWLOCK_STATE_SCHEDULE]);
}

static int look(struct claiming *c, struct rowlock_error *error)
{
    struct rowlock_value name = rowlock__text_value(c->job->name);
    int code;

    c->rows = 0;
    code =
        rowlock__ask_alone(c->connection, ROWLOCK_SQL_JOB_STATE, &name, true, state_row, c, error);
    if (!code && c->rows == 0)
        code = rowlock__fail(error, ROWLOCK_EDB, "the database returned no state of the job");
    if (!code)
        c->decision = rowlock__job_decide(&c->state, &c->rules);
    return code;
}

static void decision_row(void *data, const struct rowlock_value *columns, unsigned n)
{
    struct claiming *c = data;
    bool broken;

    if (n < ROWLOCK_DECISION_COLUMNS || columns[ROWLOCK_DECISION_ACT].type == ROWLOCK_NULL)
        return;
    c->rows++;
    broken = rowlock__value_number(&columns[ROWLOCK_DECISION_BROKEN]) != 0;
    c->state = (struct rowlock_job_state){
        .now_ms = rowlock__value_number(&columns[ROWLOCK_DECISION_NOW]),
        .version = rowlock__value_number(&columns[ROWLOCK_DECISION_VERSION]),
        .held = rowlock__value_number(&columns[ROWLOCK_DECISION_HELD]) != 0,
        .running = rowlock__value_number(&columns[ROWLOCK_DECISION_FORMER]),
    };
    note_schedule(c, &columns[ROWLOCK_DECISION_SCHEDULE]);
    c->decision = (struct rowlock_job_decision){
        .act = (enum rowlock_job_act)rowlock__value_number(&columns[ROWLOCK_DECISION_ACT]),
        .until_ms = rowlock__value_number(&columns[ROWLOCK_DECISION_UNTIL]),
        .instant_ms = rowlock__value_number(&columns[ROWLOCK_DECISION_INSTANT]),
        .due_ms = rowlock__value_number(&columns[ROWLOCK_DECISION_DUE]),
        .repeats = (int)rowlock__value_number(&columns[ROWLOCK_DECISION_REPEATS]),
        .lost = c->state.running && !broken,
        .broken = c->state.running && broken,
    };
}

/* By the database, whose clock and time zones all nodes share. It leaves a time zone that it does
   not know to this node. */
static int decide(struct claiming *c, struct rowlock_error *error)
{
    const struct rowlock_job_rules *rules = &c->rules;
    struct rowlock_value values[] = {
        rowlock__text_value(c->job->name),     rowlock__text_value(c->job->schedule->text),
        rowlock__int_value(rules->early_ms),   rowlock__int_value(rules->retry),
        rowlock__int_value(rules->backoff_ms), rowlock__int_value(rules->skips_missed)};
    int code;

    c->rows = 0;
    if (!c->connection->dialect->statements[ROWLOCK_SQL_JOB_DECIDE].text)
        return look(c, error);
    code = rowlock__ask_alone(c->connection, ROWLOCK_SQL_JOB_DECIDE, values, true, decision_row, c,
                              error);
    /* denied: an account with the GRANTs of an earlier schema */
    return (!code && !c->rows) || code == ROWLOCK_EDENIED ? look(c, error) : code;
}

/* ---- executing the decision ------------------------------------------------------------------ */

static const char *former_outcome(const struct rowlock_job_decision *decision)
{
    return rowlock_outcome_text(decision->broken ? ROWLOCK_RUN_BROKEN : ROWLOCK_RUN_LOST);
}

static int64_t former(const struct claiming *c)
{
    return c->decision.lost || c->decision.broken ? c->state.running : 0;
}

static int plan(struct claiming *c, struct rowlock_error *error)
{
    struct rowlock_value values[ROWLOCK_COUNT_OF(ROWLOCK_PLAN_PARAMETERS)] = {
        [ROWLOCK_PLAN_NAME] = rowlock__text_value(c->job->name),
        [ROWLOCK_PLAN_VERSION] = rowlock__int_value(c->state.version),
        [ROWLOCK_PLAN_SCHEDULE] = rowlock__text_value(c->job->schedule->text),
        [ROWLOCK_PLAN_DUE] = rowlock__int_value(c->decision.due_ms),
        [ROWLOCK_PLAN_FORMER] = rowlock__int_value(former(c)),
        [ROWLOCK_PLAN_OUTCOME] = rowlock__text_value(former_outcome(&c->decision))};
    int64_t planned = 0;
    int code = rowlock__ask_alone(c->connection, ROWLOCK_SQL_JOB_PLAN, values, false,
                                  rowlock__take_number, &planned, error);

    if (!code && planned && c->decision.lost)
        c->claim.lost = c->state.running;
    if (!code && !planned && c->decision.act == ROWLOCK_JOB_SETTLE) /* or a fence holds its lease */
        return ROWLOCK_EBUSY;
    return code;
}

/* In the transaction of the grant. Declines if another node has changed the row since
   it was read. */
static int advance(void *data, struct rowlock_connection *connection, int64_t token,
                   struct rowlock_error *error)
{
    struct claiming *c = data;
    struct rowlock_value values[ROWLOCK_COUNT_OF(ROWLOCK_CLAIM_PARAMETERS)] = {
        [ROWLOCK_CLAIM_NAME] = rowlock__text_value(c->job->name),
        [ROWLOCK_CLAIM_TOKEN] = rowlock__int_value(token),
        [ROWLOCK_CLAIM_VERSION] = rowlock__int_value(c->state.version),
        [ROWLOCK_CLAIM_SCHEDULE] = rowlock__text_value(c->job->schedule->text),
        [ROWLOCK_CLAIM_INSTANT] = rowlock__int_value(c->decision.instant_ms),
        [ROWLOCK_CLAIM_DUE] = rowlock__int_value(c->decision.due_ms),
        [ROWLOCK_CLAIM_REPEATS] = rowlock__int_value(c->decision.repeats),
        [ROWLOCK_CLAIM_FORMER] = rowlock__int_value(former(c)),
        [ROWLOCK_CLAIM_OUTCOME] = rowlock__text_value(former_outcome(&c->decision)),
        [ROWLOCK_CLAIM_NODE] = rowlock__text_value(c->host),
        [ROWLOCK_CLAIM_PID] = rowlock__int_value(getpid()),
        [ROWLOCK_CLAIM_AT_LEAST] = rowlock__int_value(c->job->at_least_ms),
        [ROWLOCK_CLAIM_HISTORY] =
            rowlock__int_value(c->job->history > 0 ? c->job->history : HISTORY)};
    int64_t claimed = 0;
    int code = rowlock__ask(connection, ROWLOCK_SQL_JOB_CLAIM, values, rowlock__take_number,
                            &claimed, error);

    return !code && !claimed ? ROWLOCK_DECLINED : code;
}

static int take(struct claiming *c, struct rowlock_error *error)
{
    struct rowlock_want want = {.name = c->name, .mode = ROWLOCK_EXCLUSIVE};
    struct rowlock_terms terms = {
        .ttl_ms = c->job->ttl_ms, .note = c->job->note, .command = c->job->command};
    int code = rowlock__acquire_with(c->connection, &want, 1, &terms, advance, c, &c->lease, error);

    if (code || !c->lease)
        return code;
    c->claim.claimed = ROWLOCK_JOB_CLAIMED;
    c->claim.due_ms = c->decision.instant_ms;
    c->claim.retry_number = c->decision.repeats;
    c->claim.next_ms = c->decision.due_ms;
    if (c->decision.lost)
        c->claim.lost = c->state.running; /* else an earlier round may have recorded one */
    return ROWLOCK_OK;
}

/* ---- the call -------------------------------------------------------------------------------- */

/* The name is held: by another node's claim, which the next look shows, or else
   by a transaction. */
static void met(struct claiming *c)
{
    c->met = c->met_version == c->state.version ? c->met + 1 : 1;
    c->met_version = c->state.version;
    c->claim.claimed = ROWLOCK_JOB_RUNNING;
    c->claim.next_ms = rowlock_schedule_next(c->job->schedule, c->state.now_ms);
    if (c->claim.next_ms - HELD_MS > c->state.now_ms)
        c->claim.next_ms = c->state.now_ms + HELD_MS;
}

/* Looks, decides and acts until the claim has its result. */
static int claim(struct claiming *c, struct rowlock_error *error)
{
    const struct rowlock_job_decision *decision = &c->decision;
    int code;

    for (int i = 0; i < ROUNDS; i++) {
        code = decide(c, error);
        if (code)
            return code;
        c->claim.now_ms = c->state.now_ms;
        c->claim.next_ms = decision->until_ms;
        c->claim.claimed = c->state.held ? ROWLOCK_JOB_RUNNING : ROWLOCK_JOB_NOT_DUE;
        if (decision->act == ROWLOCK_JOB_AWAIT)
            c->claim.claimed = ROWLOCK_JOB_EARLY;
        if (decision->act == ROWLOCK_JOB_WAIT || decision->act == ROWLOCK_JOB_AWAIT)
            return ROWLOCK_OK;
        code = decision->act == ROWLOCK_JOB_CLAIM ? take(c, error) : plan(c, error);
        if (code && code != ROWLOCK_EBUSY)
            return code;
        if (code) {
            met(c);
            if (c->met > 1)
                return ROWLOCK_OK;
        } else if (c->lease) {
            return ROWLOCK_OK;
        }
    }
    met(c); /* so much activity means that other nodes take care of the job */
    return ROWLOCK_OK;
}

static int check_range(const struct rowlock_job *job, const char *what, int64_t value, int64_t most,
                       struct rowlock_error *error)
{
    if (value >= 0 && value <= most)
        return ROWLOCK_OK;
    return rowlock__fail(error, ROWLOCK_EINVAL, "job '%.100s': %s is 0 to %lld ms", job->name, what,
                         (long long)most);
}

static int check(const struct rowlock_job *job, struct rowlock_error *error)
{
    int code;

    if (!job)
        return rowlock__fail(error, ROWLOCK_EINVAL, "the job is NULL");
    code = rowlock__job_name_check(job->name, error);
    if (!code && !job->schedule)
        code =
            rowlock__fail(error, ROWLOCK_EINVAL, "job '%.100s': the schedule is NULL", job->name);
    if (!code)
        code = check_range(job, "early_ms", job->early_ms, EARLY_MOST_MS, error);
    if (!code)
        code = check_range(job, "at_least_ms", job->at_least_ms, LONGEST_MS, error);
    if (!code)
        code = check_range(job, "backoff_ms", job->backoff_ms, LONGEST_MS, error);
    if (!code && (job->history < 0 || job->history > HISTORY_MOST))
        code = rowlock__fail(error, ROWLOCK_EINVAL, "job '%.100s': at most %d runs are kept",
                             job->name, HISTORY_MOST);
    if (!code && job->ttl_ms)
        code = rowlock__ttl_check(job->ttl_ms, error);
    return code;
}

int rowlock_claim(struct rowlock_connection *connection, const struct rowlock_job *job,
                  struct rowlock_claim *out, struct rowlock_lease **lease,
                  struct rowlock_error *error)
{
    struct claiming c = {.connection = connection, .job = job};
    struct rowlock_error unseen;
    int code;

    if (!error)
        error = &unseen;
    code = rowlock__ready(connection, ROWLOCK_STATE_IDLE, error);
    if (code == ROWLOCK_ECONN && rowlock__can_reconnect(connection))
        code = ROWLOCK_OK; /* the first query replaces a lost session */
    if (!code)
        code = check(job, error);
    if (!code)
        code = rowlock__check_installed(connection, error);
    if (code)
        return code;
    c.rules = (struct rowlock_job_rules){
        .schedule = job->schedule,
        .early_ms = job->early_ms,
        .retry = job->retry == 0  ? -1
                 : job->retry < 0 ? 0
                                  : job->retry,
        .backoff_ms = job->backoff_ms ? job->backoff_ms : BACKOFF_MS,
        .skips_missed = job->missed == ROWLOCK_MISSED_SKIP,
    };
    snprintf(c.name, sizeof c.name, ROWLOCK_JOB_PREFIX "%s", job->name);
    rowlock__host(c.host, sizeof c.host);
    code = claim(&c, error);
    if (code)
        return rowlock__wrap_error(error, code, "job '%.100s'", job->name);
    *out = c.claim;
    *lease = c.lease;
    return ROWLOCK_OK;
}
