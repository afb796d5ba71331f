/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The plain dialects: one set of statements, sql/plain/, for every database whose server has no
 * functions of rowlock's. Each statement uses one table and no feature that one of the engines
 * lacks. The engines differ in a table of words, sql/plain/words/<engine>, which
 * tools/embed-sql puts into the statements. src/emulate/ carries out the steps by these statements.
 */
#ifndef ROWLOCK_PLAIN_H
#define ROWLOCK_PLAIN_H

#include "dialect/dialect.h"

/* The statements that src/emulate/ sends, by the name of their file; absent if the engine's words
   leave the text empty. A name is a parameter of type t, in hexadecimal digits. */
#define ROWLOCK_PLAIN_STATEMENTS(XX)                                                               \
    XX(NAME_ADD, "name_add")             /* name */                                                \
    XX(NAME_KNOWN, "name_known")         /* name -> n */                                           \
    XX(NAME_LOCK, "name_lock")           /* name: locks its row until the transaction ends */      \
    XX(NAME_TRY, "name_try")             /* the same, or an error at once; may be absent */        \
    XX(NAME_SHARE, "name_share")         /* name: a shared lock on its row; may be absent */       \
    XX(NAME_TRY_SHARE, "name_try_share") /* the same, or an error at once; may be absent */        \
    XX(NAME_LIST, "name_list")           /* -> name */                                             \
    XX(NAME_DROP, "name_drop")           /* name */                                                \
    XX(NOW, "now")                       /* -> now_ms */                                           \
    XX(LACKS, "lacks")                   /* -> 1: the database's encoding lacks characters */      \
    XX(LEASES, "leases")           /* name -> token, kind, permits, owner, host, pid, command, \
                                          note, acquired, name: a row per permit */   \
    XX(LEASES_ALL, "leases_all")   /* the same of every name */                                    \
    XX(LEASE_NAMES, "lease_names") /* token -> name, owner, a row per permit */                    \
    XX(LEASE_OF, "lease_of")       /* token -> name, kind, host, pid, command, note,          \
                                          acquired, waited */    \
    XX(LEASE_ADD, "lease_add")     /* name, token, n, kind, permits, owner, host, pid,        \
                                          command, note, waited */    \
    XX(LEASE_END, "lease_end")     /* token */                                                     \
    XX(LEASE_FENCE, "lease_fence") /* name, token: locks the row until the transaction ends */     \
    XX(HEARTBEAT, "heartbeat")     /* token -> expires, stop, now_ms */                            \
    XX(HEARTBEATS, "heartbeats")   /* -> token, expires, stop, now_ms */                           \
    XX(HEARTBEAT_ADD, "heartbeat_add")     /* token, ttl_ms, quiet_ms */                           \
    XX(HEARTBEAT_QUIET, "heartbeat_quiet") /* token: deletes it if the history gets no row */      \
    XX(RELEASE_QUIET, "release_quiet")     /* token, token, name, owner: the same; optional */     \
    XX(RELEASE_LOGGED, "release_logged")   /* token, token, name, owner, token, token; optional */ \
    XX(HEARTBEAT_LOCK, "heartbeat_lock")   /* token: locks the row */                              \
    XX(HEARTBEAT_RENEW, "heartbeat_renew") /* ttl_ms, ttl_ms, token; none if broken or gone */     \
    XX(HEARTBEAT_STOP, "heartbeat_stop")   /* token */                                             \
    XX(HEARTBEAT_UNTIL, "heartbeat_until") /* expires, token */                                    \
    XX(HEARTBEAT_SWEEP, "heartbeat_sweep") /* token: deletes it if it has expired */               \
    XX(HEARTBEAT_END, "heartbeat_end")     /* token */                                             \
    XX(DRAW, "draw")                       /* the next number */                                   \
    XX(DRAWN, "drawn") /* -> the number that this transaction drew, level of the history */        \
    XX(DRAW_IF_FREE, "draw_if_free") /* name, name: if it has no lease and no ticket; optional */  \
    XX(RULES, "rules")               /* -> level, keep_good, keep_bad, now_ms */                   \
    XX(RULES_SET, "rules_set")       /* level, keep_good, keep_bad */                              \
    XX(ENDING_ADD, "ending_add")     /* name, kind, permits, token, host, pid, command,     \
                                          note, acquired, waited, ended, how, problem */      \
    XX(ENDINGS, "endings")           /* since, before -> the same without problem */               \
    XX(ENDING_FIRST, "ending_first") /* problem, before -> the first ended, or NULL */             \
    XX(ENDINGS_DROP, "endings_drop") /* problem, ended: all before that time */                    \
    XX(WAITERS, "waiters")           /* name, last ticket -> ticket, kind, permits, wanted,   \
                                          owner, host, pid, command, note, since, alive_until,    \
                                          roll_call, name, now_ms */    \
    XX(WAITERS_ALL, "waiters_all")   /* the same of every name */                                  \
    XX(WAITER_FAR, "waiter_far") /* limit, name, ticket -> before, previous ticket, life,     \
                                          alive_until, roll_call, now_ms, leased; optional */    \
    XX(WAITER_NAMES, "waiter_names") /* ticket -> name */                                          \
    XX(WAITER_OF, "waiter_of")       /* owner -> ticket, name, kind, wanted, host, pid,       \
                                          command, note, since, now_ms */    \
    XX(WAITER_ADD, "waiter_add")     /* name, ticket, kind, permits, wanted, owner, host, pid,  \
                                          command, note, good_ms */  \
    XX(WAITER_ALIVE, "waiter_alive") /* good_ms, ticket */                                         \
    XX(WAITER_CALL, "waiter_call")   /* roll_call, name, ticket: on unmarked ones before it */     \
    XX(WAITER_DROP, "waiter_drop")   /* ticket */                                                  \
    XX(WAITER_EXPIRE, "waiter_expire") /* ticket: deletes its rows if they have expired */         \
    XX(WAITER_STRIKE, "waiter_strike") /* ticket, roll_call: the rows that have not answered it */ \
    XX(WAITER_LEAVE, "waiter_leave")   /* owner */                                                 \
    XX(COUNTER_ADD, "counter_add")     /* name, last */                                            \
    XX(COUNTER_DRAW, "counter_draw")   /* count, name */                                           \
    XX(COUNTER_DRAWN, "counter_drawn") /* name -> last */                                          \
    XX(COUNTERS, "counters")           /* -> name */                                               \
    XX(JOB, "job")                     /* name -> ROWLOCK_JOB_ROW (job.h) */                       \
    XX(JOBS, "jobs")                   /* the same of every job */                                 \
    XX(JOB_ADD, "job_add")             /* name, schedule, due */                                   \
    XX(JOB_ADVANCE, "job_advance") /* {planned}, last_due, repeats, running, name, version,      \
                                          last_due: not before that time */ \
    XX(JOB_REPLAN, "job_replan")   /* {planned}, running, name, version */                         \
    XX(JOB_HASTEN, "job_hasten")   /* due, name, version */                                        \
    XX(JOB_END, "job_end")         /* running, failed, 7 counts to add, last_success, name,   \
                                          running */    \
    XX(JOB_COUNT, "job_count")     /* 7 counts to add, last_success, name */                       \
    XX(JOB_LOCK, "job_lock")       /* name: locks the row */                                       \
    XX(JOB_TOUCH, "job_touch")     /* name, running: another version */                            \
    XX(JOB_DROP, "job_drop")       /* name, version */                                             \
    XX(RUN, "run")                 /* token -> ROWLOCK_RUN_ROW */                                  \
    XX(RUNS, "runs")               /* job -> the same of every run */                              \
    XX(RUN_TOKENS, "run_tokens")   /* job -> token */                                              \
    XX(RUNS_ALL, "runs_all")       /* the same of every job */                                     \
    XX(RUN_ADD, "run_add")         /* token, job, node, pid, due, repeats, at_least_ms */          \
    XX(RUN_LOCK, "run_lock")       /* token: locks the row */                                      \
    XX(RUN_SETTLE, "run_settle")   /* outcome, token: unless it has ended */                       \
    XX(RUN_END, "run_end")         /* outcome, exit, output, finished, token */                    \
    XX(RUN_BREAK, "run_break")     /* token: if it is running */                                   \
    XX(RUN_DROP, "run_drop")       /* token */                                                     \
    XX(RUNS_DROP, "runs_drop")     /* job */                                                       \
    XX(SUBJECT, "subject")         /* name -> name, version, status, description, began,      \
                                          ended, basis, updated, host, pid, program, token,       \
                                          error, exit, now_ms */    \
    XX(SUBJECTS, "subjects")       /* the same of every subject */                                 \
    XX(SUBJECT_ADD, "subject_add") /* name */                                                      \
    XX(SUBJECT_MARK, "subject_mark") /* began, description, host, pid, program, token, name,    \
                                          version */  \
    XX(SUBJECT_SAVEPOINT, "subject_savepoint") /* for subject_still (dialect.h); optional */       \
    XX(SUBJECT_COMPLETE, "subject_complete")   /* began, now_ms, now_ms, exit, name, version */    \
    XX(SUBJECT_ERROR, "subject_error")         /* error, exit, name, version */                    \
    XX(SUBJECT_REFUSE,                                                                             \
       "subject_refuse")           /* version, description, host, pid, program, error,      \
                                          name, version - 1 */      \
    XX(EXPIRY, "expiry")           /* name -> expired */                                           \
    XX(EXPIRY_ADD, "expiry_add")   /* name, expired */                                             \
    XX(EXPIRY_NEXT, "expiry_next") /* name: moves it by 1, and locks the row */                    \
    XX(EXPIRY_SET, "expiry_set")   /* expired, name, expired: unless it is later */

/* The index of a statement: ROWLOCK_PLAIN_NAME_LOCK, ... */
enum rowlock_plain_id {
#define ROWLOCK_XX(id, file) ROWLOCK_PLAIN_##id,
    ROWLOCK_PLAIN_STATEMENTS(ROWLOCK_XX)
#undef ROWLOCK_XX
        ROWLOCK_PLAIN_COUNT
};

/* The statements of dialect.h that src/emulate/ carries out: a plain dialect has "" for them. */
#define ROWLOCK_PROCEDURES(XX)         \
    XX(BEGIN_LOCK, lock)               \
    XX(LOCK, lock)                     \
    XX(PREPARE, prepare)               \
    XX(CLOCK, clock)                   \
    XX(EXAMINE_SCHEMA, examine_schema) \
    XX(FORGET_NAME, forget_name)       \
    XX(EXPIRED, expired)               \
    XX(SWEEP, sweep)                   \
    XX(HOLDER, holder)                 \
    XX(IN_USE, in_use)                 \
    XX(INSTALLED, installed)           \
    XX(PARTS, parts)                   \
    XX(VACUUM, vacuum)                 \
    XX(NEXT, next)                     \
    XX(JOB_STATE, job_state)           \
    XX(JOB_CLAIM, job_claim)           \
    XX(JOB_PLAN, job_plan)             \
    XX(JOB_DUE, job_due)               \
    XX(JOB_FINISH, job_finish)         \
    XX(JOB_FORGET, job_forget)         \
    XX(JOB_LIST, job_list)             \
    XX(RUN_LIST, run_list)             \
    XX(SUBJECT_LOOK, subject_look)     \
    XX(SUBJECT_BEGIN, subject_begin)   \
    XX(SUBJECT_DONE, subject_done)     \
    XX(SUBJECT_FAIL, subject_fail)     \
    XX(SUBJECT_FINISH, subject_finish) \
    XX(SUBJECT_EXPIRE, subject_expire) \
    XX(SUBJECT_LIST, subject_list)     \
    XX(FENCE, fence)                   \
    XX(GRANT, grant)                   \
    XX(ENQUEUE, enqueue)               \
    XX(PLACE, place)                   \
    XX(AWAIT, await)                   \
    XX(OVERTAKE, overtake)             \
    XX(WITHDRAW, withdraw)             \
    XX(RENEW, renew)                   \
    XX(RENEW_ALL, renew_all)           \
    XX(RELEASE, release)               \
    XX(CHECK, check)                   \
    XX(BREAK, break)                   \
    XX(LOG_BREAK, log_break)           \
    XX(HISTORY, history)               \
    XX(HISTORY_RULES, history_rules)   \
    XX(HISTORY_SET, history_set)       \
    XX(PRUNE, prune)                   \
    XX(SWEEP_SOME, sweep_some)         \
    XX(LIST, list)                     \
    XX(LIST_LONGEST, list_longest)

/* The facts of an engine that src/emulate/ must know; from sql/plain/words/<engine>. */
struct rowlock_plain {
    const char *product; /* the product name that the driver reports begins with this */
    const struct rowlock_statement *statements; /* ROWLOCK_PLAIN_COUNT; text NULL: absent */
    const struct rowlock_statement *former;     /* of these, as in struct rowlock_dialect */
    /* A table of the schema with functions, by which rowlock notices that one on this server; NULL:
       there is none, or meta shows it. */
    const char *native;
    /* A script that limits the waits of the session's next statements for a lock: "{ms}" in it is
       the number of milliseconds, "{s}" of whole seconds. NULL: the engine has none, and a wait is
       cut off with its session. */
    const char *wait;
    const char *no_wait_limit; /* a script that removes the limit */
    /* A script that removes a reason of SERVER's, if the account may run it; NULL: none. */
    const char *remedy;
    /* 1: the limit lasts as long as the session; 0: as long as the transaction. */
    int wait_stays;
    /* 1: one lock of the whole database is the lock of every name. BEGIN takes it; NAME_LOCK,
       without a parameter, takes it in the caller's transaction. Names have no rows. The schema is
       the dialect's own. */
    int whole;
    int bare_names; /* 1: the tables have names as they are, not as hexadecimal digits */
    /* 1: a cancelled wait costs the session, and only the server's limit ends it without that. So
       every statement gets a limit that ends before the call's deadline. */
    int cancel_ends_session;
    /* 1: the server may fail to wake a waiter when the lock becomes free. So a wait in our own
       transaction is cut into slices. */
    int forgets_waiters;
    int longest; /* the most characters of a text for people; 0: all that rowlock writes fit */
};

/* Whether the schema is that of sql/plain/schema: true of every plain dialect except SQLite. */
int rowlock__has_plain_schema(const struct rowlock_dialect *dialect);

/* The plain dialect of the server whose product name the driver reports: "Apache Derby", ...; NULL:
   unknown. */
const struct rowlock_dialect *rowlock__plain_dialect(const char *product);

/* The same by the engine's name in messages, documents and `schema print`: "derby", ...; NULL:
   unknown. */
const struct rowlock_dialect *rowlock__plain_named(const char *engine);

#endif
