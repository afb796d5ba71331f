/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The columns of jobs and runs, and the parameters of a claim. Each list is the only place with
 * their order: tools/embed-sql inserts them into the statements, and the readers and writers in C
 * go through the list.
 */
#ifndef ROWLOCK_DIALECT_JOB_H
#define ROWLOCK_DIALECT_JOB_H

/*
 * job_list, in SQL {job_columns}: a column's kind, its member of struct rowlock_job_view, and its
 * source: the job, its run under way, its last run, the lease that pauses it and that lease's
 * heartbeat (sql/shared, and src/emulate/job_list.c for engines without functions). job_trouble has
 * the same.
 */
#define ROWLOCK_JOB_COLUMNS(XX)                                      \
    XX(text, name, job, name)                                        \
    XX(text, schedule, job, schedule)                                \
    XX(number, now_ms, job, now_ms)                                  \
    XX(number, next_ms, job, due)                                    \
    XX(number, running.token, run, token)                            \
    XX(text, running.node, run, node)                                \
    XX(number, running.pid, run, pid)                                \
    XX(number, running.due_ms, run, due)                             \
    XX(number, running.retry_number, run, repeats)                   \
    XX(number, running.started_ms, run, started)                     \
    XX(outcome, running.outcome, job, shown)                         \
    XX(number, running.finished_ms, run, finished)                   \
    XX(number, running.exit, run, exit)                              \
    XX(text, running.output, run, output)                            \
    XX(number, last.token, ended, token)                             \
    XX(text, last.node, ended, node)                                 \
    XX(number, last.pid, ended, pid)                                 \
    XX(number, last.due_ms, ended, due)                              \
    XX(number, last.retry_number, ended, repeats)                    \
    XX(number, last.started_ms, ended, started)                      \
    XX(number, last.finished_ms, ended, finished)                    \
    XX(outcome, last.outcome, ended, outcome)                        \
    XX(number, last.exit, ended, exit)                               \
    XX(text, last.output, ended, output)                             \
    XX(number, runs, job, done)                                      \
    XX(number, average_ms, job, average_ms)                          \
    XX(number, failed_since_ms, job, since)                          \
    XX(number, paused_token, pause, token)                           \
    XX(text, paused_by, pause, host)                                 \
    XX(text, paused_note, pause, note)                               \
    XX(instant, paused_since_ms, pause, acquired)                    \
    XX(instant, paused_until_ms, pausing, expires)                   \
    XX(number, ended[ROWLOCK_RUN_DONE], job, runs_done)              \
    XX(number, ended[ROWLOCK_RUN_FAILED], job, runs_failed)          \
    XX(number, ended[ROWLOCK_RUN_TIMEDOUT], job, runs_timed_out)     \
    XX(number, ended[ROWLOCK_RUN_BROKEN], job, runs_broken)          \
    XX(number, ended[ROWLOCK_RUN_LOST], job, runs_lost)              \
    XX(number, ended[ROWLOCK_RUN_LATE], job, runs_late)              \
    XX(number, ended[ROWLOCK_RUN_NOTSTARTED], job, runs_not_started) \
    XX(number, succeeded_ms, job, last_success)

/* run_list: a column's kind, its member of struct rowlock_run, and its name in the table run. */
#define ROWLOCK_RUN_COLUMNS(XX)       \
    XX(number, token, token)          \
    XX(text, node, node)              \
    XX(number, pid, pid)              \
    XX(number, due_ms, due)           \
    XX(number, retry_number, repeats) \
    XX(number, started_ms, started)   \
    XX(number, finished_ms, finished) \
    XX(outcome, outcome, outcome)     \
    XX(number, exit, exit)            \
    XX(text, output, output)

/*
 * The rows that src/emulate/ reads, in sql/plain {job_row} and {run_row}: the members of struct
 * rowlock_job_row and struct rowlock_run_row. Of a job: version increases with every change; due is
 * the next due time that no node has claimed, last_due the one that was claimed last, repeats the
 * retry number of its run; failed is the time when that failed or did not start, or 0; running is
 * the token of its run, or 0; runs_... count ended runs, also those that the history has no longer.
 * Of a run: until taken_until its name stays taken, even if the run ends sooner.
 */
#define ROWLOCK_JOB_ROW(XX)      \
    XX(text, name)               \
    XX(number, version)          \
    XX(text, schedule)           \
    XX(number, due)              \
    XX(number, last_due)         \
    XX(number, repeats)          \
    XX(number, failed)           \
    XX(number, running)          \
    XX(number, runs_done)        \
    XX(number, runs_failed)      \
    XX(number, runs_timed_out)   \
    XX(number, runs_broken)      \
    XX(number, runs_lost)        \
    XX(number, runs_late)        \
    XX(number, runs_not_started) \
    XX(number, last_success)
#define ROWLOCK_RUN_ROW(XX) \
    XX(number, token)       \
    XX(text, job)           \
    XX(text, node)          \
    XX(number, pid)         \
    XX(number, due)         \
    XX(number, repeats)     \
    XX(number, started)     \
    XX(number, taken_until) \
    XX(number, finished)    \
    XX(outcome, outcome)    \
    XX(number, exit)        \
    XX(text, output)        \
    XX(number, now)

#define ROWLOCK_COUNT_ONE(...) +1
/* How many columns a list has: ROWLOCK_COUNT_OF(ROWLOCK_RUN_COLUMNS). */
#define ROWLOCK_COUNT_OF(list) (0 list(ROWLOCK_COUNT_ONE))

/* The columns of job_state, in their order; dialect.h has their meaning. */
enum rowlock_job_state_column {
    ROWLOCK_STATE_NOW,
    ROWLOCK_STATE_VERSION,
    ROWLOCK_STATE_SCHEDULE,
    ROWLOCK_STATE_DUE,
    ROWLOCK_STATE_LAST,
    ROWLOCK_STATE_FAILED,
    ROWLOCK_STATE_REPEATS,
    ROWLOCK_STATE_RUNNING,
    ROWLOCK_STATE_BROKEN,
    ROWLOCK_STATE_HELD,
    ROWLOCK_STATE_FREE,
    ROWLOCK_STATE_NOT_STARTED,
    ROWLOCK_STATE_COLUMNS
};

/* The columns of job_decide, in their order; dialect.h has their meaning. */
enum rowlock_job_decision_column {
    ROWLOCK_DECISION_ACT, /* enum rowlock_job_act */
    ROWLOCK_DECISION_NOW,
    ROWLOCK_DECISION_VERSION,
    ROWLOCK_DECISION_HELD,
    ROWLOCK_DECISION_UNTIL,
    ROWLOCK_DECISION_INSTANT,
    ROWLOCK_DECISION_DUE,
    ROWLOCK_DECISION_REPEATS,
    ROWLOCK_DECISION_FORMER,
    ROWLOCK_DECISION_BROKEN,
    ROWLOCK_DECISION_SCHEDULE, /* of the job's row; NULL: there is none */
    ROWLOCK_DECISION_COLUMNS
};

/*
 * The parameters of job_claim and job_plan, in SQL {claim_values} and {plan_values}. The kind is
 * that of the function's parameter: text, number (64 bits) or integer (32 bits). VERSION is that of
 * the row on which the decision was based; INSTANT the due time of this run, DUE the one after it,
 * REPEATS its retry number; FORMER the token of the previous run, which left no lease, and OUTCOME
 * how that ended; AT_LEAST the minimum hold in milliseconds; HISTORY how many runs of the job stay
 * in the history.
 */
#define ROWLOCK_CLAIM_PARAMETERS(XX)   \
    XX(text, ROWLOCK_CLAIM_NAME)       \
    XX(number, ROWLOCK_CLAIM_TOKEN)    \
    XX(number, ROWLOCK_CLAIM_VERSION)  \
    XX(text, ROWLOCK_CLAIM_SCHEDULE)   \
    XX(number, ROWLOCK_CLAIM_INSTANT)  \
    XX(number, ROWLOCK_CLAIM_DUE)      \
    XX(integer, ROWLOCK_CLAIM_REPEATS) \
    XX(number, ROWLOCK_CLAIM_FORMER)   \
    XX(text, ROWLOCK_CLAIM_OUTCOME)    \
    XX(told, ROWLOCK_CLAIM_NODE)       \
    XX(number, ROWLOCK_CLAIM_PID)      \
    XX(number, ROWLOCK_CLAIM_AT_LEAST) \
    XX(integer, ROWLOCK_CLAIM_HISTORY)
#define ROWLOCK_PLAN_PARAMETERS(XX)  \
    XX(text, ROWLOCK_PLAN_NAME)      \
    XX(number, ROWLOCK_PLAN_VERSION) \
    XX(text, ROWLOCK_PLAN_SCHEDULE)  \
    XX(number, ROWLOCK_PLAN_DUE)     \
    XX(number, ROWLOCK_PLAN_FORMER)  \
    XX(text, ROWLOCK_PLAN_OUTCOME)

#define ROWLOCK_XX(kind, parameter) parameter,
enum rowlock_job_claim_parameter { ROWLOCK_CLAIM_PARAMETERS(ROWLOCK_XX) };
enum rowlock_job_plan_parameter { ROWLOCK_PLAN_PARAMETERS(ROWLOCK_XX) };
#undef ROWLOCK_XX

#endif
