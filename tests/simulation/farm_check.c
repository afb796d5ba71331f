/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks the promises of jobs after every commit, with every answer that a node gets, and between
 * any two steps.
 */
#include <inttypes.h>

#include "simulation/farm.h"

#define LATE_MS 60000 /* a due time this long ago counts as missed */
#define LEASES 32

/* The state of a job, reconstructed from the events. */
struct memory {
    struct farm_row row;
    bool known;
    int64_t covered;       /* every due time up to here was claimed, or missed and skipped */
    struct farm_event run; /* the latest */
    int64_t ended;         /* when that run ended */
    bool ended_late;       /* its lease had expired by then */
    int64_t live_until;    /* the expiry of the lease on its name, if one exists */
    int64_t comings;       /* how often the name was acquired */
    int64_t hold;          /* the token of the operator's hold */
};

static struct memory memories[FARM_JOBS];
struct farm_counts farm_counts;

void farm_check_reset(void)
{
    for (unsigned j = 0; j < FARM_JOBS; j++)
        memories[j] = (struct memory){.covered = INT64_MIN};
    farm_counts = (struct farm_counts){.runs = 0};
}

static const struct rowlock_schedule *schedule_of(unsigned job)
{
    return farm.job[job].told.schedule;
}

static bool is_failure(enum farm_outcome outcome)
{
    return outcome == FARM_FAILED || outcome == FARM_TIMED_OUT;
}

static bool is_loss(enum farm_outcome outcome)
{
    return outcome == FARM_LOST || outcome == FARM_LATE;
}

/* How often a due time may be repeated after a run with this outcome. */
static int most_repeats(unsigned job, enum farm_outcome outcome)
{
    int retry = farm.job[job].told.retry;

    if (retry > 0)
        return is_failure(outcome) || is_loss(outcome) ? retry : 0;
    return retry == 0 && is_loss(outcome);
}

/* ---- a run begins ---------------------------------------------------------------------------- */

static void check_instant(const struct memory *m, const struct farm_event *run, int64_t asked_ms)
{
    const struct rowlock_schedule *schedule = schedule_of(run->job);

    if (run->due <= m->covered)
        sim_fail("job %u: the instant %" PRId64 " is claimed a second time, or after a later one",
                 run->job, run->due);
    if (rowlock__schedule_previous(schedule, run->due) != run->due)
        sim_fail("job %u: %" PRId64 " is not a due time of '%s'", run->job, run->due,
                 rowlock_schedule_text(schedule));
    if (farm.job[run->job].told.missed == ROWLOCK_MISSED_SKIP && m->covered != INT64_MIN &&
        asked_ms - run->due > LATE_MS)
        sim_fail("job %u: an instant that was missed is not skipped", run->job);
}

static void check_repeat(const struct memory *m, const struct farm_event *run)
{
    enum farm_outcome ended = m->run.is;
    int64_t backoff_ms = farm.job[run->job].told.backoff_ms;

    if (run->due != m->run.due || run->repeats != m->run.repeats + 1)
        sim_fail("job %u: repetition %d of %" PRId64 " follows repetition %d of %" PRId64, run->job,
                 run->repeats, run->due, m->run.repeats, m->run.due);
    if (run->repeats > most_repeats(run->job, ended))
        sim_fail("job %u: repetition %d of a run that is %s", run->job, run->repeats,
                 farm_outcome_name(ended));
    if (is_failure(ended) && run->started < m->ended + (backoff_ms ? backoff_ms : 10000))
        sim_fail("job %u: is repeated too soon", run->job);
}

/* The run before was not started, so this claim counts as no repeat. */
static void check_claimed_again(const struct memory *m, const struct farm_event *run)
{
    int64_t backoff_ms = farm.job[run->job].told.backoff_ms;

    if (run->repeats != m->run.repeats)
        sim_fail("job %u: a run that was not started counts as a try", run->job);
    if (!m->ended_late && run->started < m->ended + (backoff_ms ? backoff_ms : 10000))
        sim_fail("job %u: a run that was not started is claimed again too soon", run->job);
}

static void begin(const struct sim_client *client, const struct farm_event *run)
{
    struct memory *m = &memories[run->job];

    if (m->run.is == FARM_RUNNING)
        sim_fail("job %u: a run begins, and the one before is recorded as running", run->job);
    if (run->due > sim_database_ms() || run->due > run->started)
        sim_fail("job %u: runs %" PRId64 " ms before its due time", run->job,
                 run->due - sim_database_ms());
    if (run->token <= m->run.token)
        sim_fail("job %u: the token of a run is not greater than the one before", run->job);
    if (m->run.is == FARM_NOT_STARTED && run->due == m->run.due)
        check_claimed_again(m, run);
    else if (run->repeats == 0)
        check_instant(m, run, farm.node[client->id - 1].asked_ms);
    else
        check_repeat(m, run);
    farm_counts.runs++;
    farm_counts.repeats += run->repeats > 0;
    farm_counts.made_up +=
        m->run.token && run->due > rowlock__schedule_next(schedule_of(run->job), m->covered);
    if (run->due > m->covered)
        m->covered = run->due;
    m->run = *run;
    m->ended = 0;
}

/* ---- a run ends ------------------------------------------------------------------------------ */

static bool may_become(enum farm_outcome was, enum farm_outcome is)
{
    if (was == FARM_RUNNING)
        return true;
    if (is == was)
        return was == FARM_BROKEN;
    return was == FARM_LOST && (is == FARM_LATE || is == FARM_NOT_STARTED);
}

static void end(const struct farm_event *run)
{
    struct memory *m = &memories[run->job];

    if (!may_become(run->was, run->is))
        sim_fail("job %u: a run that ended as %s becomes %s", run->job, farm_outcome_name(run->was),
                 farm_outcome_name(run->is));
    farm_counts.ended[run->is] += run->is != run->was;
    if (run->token != m->run.token)
        return;
    m->run.is = run->is;
    m->ended = run->finished ? run->finished : sim_database_ms();
    m->ended_late = m->live_until <= m->ended;
}

/* ---- the rows of jobs ------------------------------------------------------------------------ */

/* The first due time of a crontab line comes after the line was first seen. */
static void check_first(struct memory *m, unsigned job, const struct farm_row *row)
{
    m->known = true;
    if (m->covered != INT64_MIN)
        return;
    m->covered = rowlock__schedule_previous(schedule_of(job), row->due - 1);
    if (m->covered > sim_database_ms())
        sim_fail("job %u: its first instants are passed over", job);
}

static void check_running(const struct memory *m, unsigned job, const struct farm_row *row)
{
    if (row->running == 0 && m->run.is == FARM_RUNNING)
        sim_fail("job %u: its run is forgotten, and no node will end it", job);
    if (row->running == 0)
        return;
    if (row->outcome == FARM_NO_RUN)
        sim_fail("job %u: `running` names no run", job);
    else if (row->running != m->run.token)
        sim_fail("job %u: `running` names another run than the last", job);
    else if (row->outcome != FARM_RUNNING && row->outcome != FARM_BROKEN &&
             row->outcome != FARM_LOST && row->outcome != FARM_LATE &&
             row->outcome != FARM_NOT_STARTED)
        sim_fail("job %u: `running` names a run that is %s", job, farm_outcome_name(row->outcome));
}

/* A late finish does not change the job. */
static void check_late(const struct sim_client *client, unsigned job, const struct memory *m,
                       const struct farm_row *row)
{
    const struct farm_node *node = &farm.node[client->id - 1];

    if (!node->finishes || node->job != job || m->row.running == node->finishes)
        return;
    if (row->version != m->row.version || row->running != m->row.running ||
        row->due != m->row.due || row->failed != m->row.failed)
        sim_fail("job %u: %s finishes late, and changes the job", job, story_client(client->id));
}

/* A lost run with repeats left is repeated, and does not just get its outcome, unless a later
   time is due. The same holds for a run that was not started. */
static void check_buried(const struct memory *m, unsigned job, const struct farm_row *row)
{
    const struct rowlock_job *told = &farm.job[job].told;
    bool repeats = m->run.is == FARM_NOT_STARTED ||
                   (m->run.is == FARM_LOST && m->run.repeats < most_repeats(job, FARM_LOST));

    if (!repeats || row->running || m->row.running != m->run.token)
        return;
    if (told->missed != ROWLOCK_MISSED_SKIP ||
        rowlock__schedule_previous(told->schedule, sim_database_ms()) <= m->covered)
        sim_fail("job %u: a run that is %s is not repeated", job, farm_outcome_name(m->run.is));
}

/* ---- leases ---------------------------------------------------------------------------------- */

static bool may_live(const struct farm_lease *lease)
{
    switch (lease->outcome) {
    case FARM_RUNNING:
    case FARM_BROKEN:
        return true;
    case FARM_DONE:
    case FARM_FAILED:
    case FARM_TIMED_OUT:
        return lease->expires <= lease->taken_until;
    case FARM_NO_RUN:
        return lease->token == memories[lease->job].hold;
    default:
        return false;
    }
}

static void check_lease(const struct sim_client *client, const struct farm_lease *lease)
{
    struct memory *m = &memories[lease->job];

    if (client->id == FARM_OPERATOR && lease->outcome == FARM_NO_RUN)
        m->hold = lease->token;
    if (!lease->heartbeat)
        sim_fail("job %u: a lease without its heartbeat", lease->job);
    if (lease->expires <= sim_database_ms())
        return;
    if (!may_live(lease))
        sim_fail("job %u: a live lease of a run that is %s", lease->job,
                 farm_outcome_name(lease->outcome));
    m->comings += m->live_until <= sim_database_ms();
    m->live_until = lease->expires;
}

static bool has(const struct farm_lease *leases, size_t n, int64_t token)
{
    for (size_t i = 0; i < n; i++)
        if (leases[i].token == token)
            return true;
    return false;
}

/* After break --now the old holder may believe in its lease a little longer: the operator asked
   for that. */
static void excuse(const struct farm_lease *leases, size_t n)
{
    for (unsigned i = 0; i < SIM_MOST; i++)
        if (!has(leases, n, sim.client[i].token))
            sim.client[i].believes = false;
}

static void check_leases(struct sim_client *client, unsigned begun)
{
    struct farm_lease leases[LEASES];
    size_t n = farm_read_leases(leases, LEASES);

    for (unsigned j = 0; j < farm.jobs; j++) {
        struct memory *m = &memories[j];

        if ((begun & 1u << j) && !has(leases, n, m->run.token))
            sim_fail("job %u: a run begins without its lease", j);
        m->live_until = m->live_until > sim_database_ms() && !has(leases, n, m->run.token) &&
                                !has(leases, n, m->hold)
                            ? 0
                            : m->live_until;
    }
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < i; k++)
            if (leases[k].job == leases[i].job)
                sim_fail("job %u: two leases of its name", leases[i].job);
        check_lease(client, &leases[i]);
    }
    if (client->breaking_now)
        excuse(leases, n);
}

void farm_check_committed(struct sim_client *client)
{
    struct farm_row rows[FARM_JOBS];
    int64_t token[FARM_JOBS];
    struct farm_event event;
    unsigned begun = 0;

    if (!client)
        return;
    for (unsigned j = 0; j < FARM_JOBS; j++)
        token[j] = memories[j].run.token;
    while (farm_next_event(&event)) {
        if (event.was == FARM_NO_RUN)
            begun |= 1u << event.job;
        if (event.was == FARM_NO_RUN)
            begin(client, &event);
        else
            end(&event);
    }
    farm_read_jobs(rows);
    for (unsigned j = 0; j < farm.jobs; j++) {
        struct memory *m = &memories[j];

        if (!rows[j].known)
            continue;
        if (!m->known)
            check_first(m, j, &rows[j]);
        check_running(m, j, &rows[j]);
        check_late(client, j, m, &rows[j]);
        if (token[j] == m->run.token)
            check_buried(m, j, &rows[j]);
        m->row = rows[j];
    }
    check_leases(client, begun);
}

/* ---- answers --------------------------------------------------------------------------------- */

void farm_asks(struct sim_client *client, unsigned job)
{
    struct farm_node *node = &farm.node[client->id - 1];
    const struct memory *m = &memories[job];

    client->met_busy = false;
    node->asked_ms = sim_database_ms();
    node->was_free = m->live_until <= sim_database_ms();
    node->comings = m->comings;
    node->token = m->run.token;
    farm_counts.calls++;
}

/* The answer was "not due": so no run may have been forgotten. */
static void check_not_due(const struct farm_node *node, unsigned job,
                          const struct rowlock_claim *claim)
{
    const struct rowlock_job *told = &farm.job[job].told;
    struct memory *m = &memories[job];
    int64_t backoff_ms = told->backoff_ms ? told->backoff_ms : 10000;
    int64_t come = rowlock__schedule_previous(told->schedule, claim->now_ms);

    if (come != ROWLOCK_NEVER && come > m->covered) {
        if (told->missed != ROWLOCK_MISSED_SKIP || claim->now_ms - come <= LATE_MS)
            sim_fail("job %u: nothing is due, it says, and the instant %" PRId64 " is forgotten",
                     job, come);
        m->covered = come;
        farm_counts.skipped++;
    }
    if (m->run.token != node->token)
        return; /* the run began after the question */
    if (m->run.is == FARM_RUNNING)
        sim_fail("job %u: nothing is due, it says, and it runs", job);
    if (is_failure(m->run.is) && m->run.repeats < most_repeats(job, m->run.is) &&
        claim->now_ms >= m->ended + backoff_ms)
        sim_fail("job %u: nothing is due, it says, and a failed run is not repeated", job);
    /* a run that was recorded as lost before, without a repeat, stays so */
    if (m->run.is == FARM_NOT_STARTED && m->row.running == m->run.token &&
        (come == ROWLOCK_NEVER || come <= m->run.due) && claim->now_ms >= m->ended + backoff_ms)
        sim_fail("job %u: nothing is due, it says, and a run that was not started is forgotten",
                 job);
}

static void check_early(const struct farm_node *node, unsigned job,
                        const struct rowlock_claim *claim)
{
    int64_t left_ms = claim->next_ms - claim->now_ms;

    if (left_ms > farm_early_ms(node))
        sim_fail("job %u: is to wait %" PRId64 " ms for its due time", job, left_ms);
    if (rowlock__schedule_next(schedule_of(job), claim->now_ms) != claim->next_ms)
        sim_fail("job %u: is to wait for another instant than the next", job);
}

void farm_told(struct sim_client *client, unsigned job, const struct rowlock_claim *claim)
{
    const struct farm_node *node = &farm.node[client->id - 1];
    struct memory *m = &memories[job];

    if (claim->claimed != ROWLOCK_JOB_CLAIMED && claim->next_ms <= claim->now_ms)
        sim_fail("job %u: %s must ask again at once", job, story_client(client->id));
    if (claim->claimed == ROWLOCK_JOB_NOT_DUE || claim->claimed == ROWLOCK_JOB_EARLY)
        check_not_due(node, job, claim);
    if (claim->claimed == ROWLOCK_JOB_EARLY)
        check_early(node, job, claim);
    /* while a transaction locks the whole file, no client can know whether it means this name */
    if (claim->claimed == ROWLOCK_JOB_RUNNING && node->was_free && !client->met_busy &&
        node->comings == m->comings)
        sim_fail("job %u: it runs, it says, and its name is free", job);
    /* its node may have reported the outcome since: late, or not started */
    if (claim->lost && !is_loss(farm_outcome_of(claim->lost)) &&
        farm_outcome_of(claim->lost) != FARM_NOT_STARTED && farm_outcome_of(claim->lost))
        sim_fail("job %u: the previous run is reported as lost, and is %s", job,
                 farm_outcome_name(farm_outcome_of(claim->lost)));
    if (claim->claimed == ROWLOCK_JOB_CLAIMED)
        tell("%s runs job %u, of %" PRId64 " (%d)", story_client(client->id), job, claim->due_ms,
             claim->retry_number);
}

void farm_finished(struct sim_client *client, int64_t token, enum farm_outcome outcome, int code)
{
    enum farm_outcome is = farm_outcome_of(token);

    if (code == ROWLOCK_OK && is != outcome && is != FARM_NO_RUN)
        sim_fail("the answer to %s is that its run was recorded as %s, and it is %s",
                 story_client(client->id), farm_outcome_name(outcome), farm_outcome_name(is));
    if (code == ROWLOCK_ELOST && is != FARM_LATE && is != FARM_BROKEN && is != FARM_NO_RUN)
        sim_fail("the answer to %s is that its run was lost, and it is recorded as %s",
                 story_client(client->id), farm_outcome_name(is));
}

/* ---- beliefs of the nodes -------------------------------------------------------------------- */

static bool runs(const struct sim_client *client)
{
    return client->believes && client->honest && sim_own_ms(client) < client->end_ms;
}

void farm_check_step(void)
{
    unsigned by[FARM_JOBS] = {0};

    for (unsigned i = 0; i < SIM_MOST; i++) {
        unsigned *other = &by[farm.node[i].job];

        if (!runs(&sim.client[i]))
            continue;
        if (*other)
            sim_fail("job %u: runs on %s and on %s", farm.node[i].job, story_client(*other),
                     story_client(i + 1));
        *other = i + 1;
    }
}

void farm_check_end(void)
{
    int64_t left = farm_count_running();

    if (left)
        sim_fail("%" PRId64 " runs have no end", left);
    for (unsigned j = 0; j < farm.jobs; j++)
        if (memories[j].row.running)
            sim_fail("job %u: all nodes have ended, and it runs", j);
}
