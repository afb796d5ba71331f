/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A dialect is the data of one SQL flavour: the statements that the library sends, embedded from
 * sql/<dialect>/ at build time (tools/embed-sql), one statement per file. Drivers transport them.
 *
 * Two terms of these files. The name lock is the engine's own lock on a name, by technique: an
 * advisory lock, a kept row or an inserted row. Transaction locks are name locks; a grant of a
 * lease holds the name lock briefly. The heartbeat is the row of a lease that a renewal updates; on
 * PostgreSQL a lease has no other row.
 */
#ifndef ROWLOCK_DIALECT_H
#define ROWLOCK_DIALECT_H

#include <stddef.h>

#define ROWLOCK_JOB_PREFIX "job:" /* the name that a job locks is this and the job's name */

/* Every statement that the library sends, by the name of its file. If a dialect has no such file,
   its text is NULL, and the sending code decides what happens then. */
#define ROWLOCK_STATEMENTS(XX)                                                                    \
    XX(BEGIN, "begin")           /* no parameters; absent: the locking call begins by itself */   \
    XX(NAME_LOCK, "name_lock")   /* name, shared; with LOOK_ONE behind it; may be absent */       \
    XX(LOOK_ONE, "look_one")     /* name, shared -> status, or no row: no lease */                \
    XX(BEGIN_LOCK, "begin_lock") /* wants, wait_ms -> status row */                               \
    XX(LOCK, "lock")             /* wants, wait_ms, lease_ms, sweep -> status row */              \
    XX(PREPARE, "prepare")       /* wants */                                                      \
    XX(KEEP, "keep")             /* wants: as prepare, and vacuum keeps the rows */               \
    XX(EXPIRED, "expired")       /* wants -> token of each expired lease that conflicts */        \
    XX(SWEEP, "sweep")           /* token: one short transaction of its own */                    \
    XX(HOLDER, "holder")         /* name -> one row of text per holder, best first */             \
    XX(SERVER, "server")         /* -> one row: why this server cannot keep locks, or NULL */     \
    XX(DURABILITY, "durability") /* -> one row: a setting that risks commits, or NULL */          \
    XX(INSTALLED, "installed")   /* -> 1 if there is a schema; NULL: no database */               \
    XX(PLAIN_TABLES, "plain_tables") /* -> 1: tables of a plain dialect; absent: meta tells */    \
    XX(PARTS, "parts")               /* table of technique insert -> a row per existing object */ \
    XX(DATABASE, "database")         /* -> its name, for people; absent: the URL has it */        \
    XX(IN_USE, "in_use")             /* -> a row per kind of data: kind, count, some names */     \
    XX(UNINSTALL_LOCK, "uninstall_lock") /* blocks use until the removal; may be absent */        \
    XX(INSTALL_NEEDS, "install_needs")   /* technique insert (0, 1) -> missing privileges */      \
    XX(EXTENSION, "extension")           /* -> one row: version of its extension; else none */    \
    XX(META, "meta")                     /* -> version, technique, object, id_width[, owned] */   \
    XX(GRANTED, "granted")               /* -> 0: not on new objects; may be absent */            \
    XX(VACUUM, "vacuum")                 /* -> one row: rows removed */                           \
    XX(LEFTOVER, "leftover")             /* name -> uuid, locked_ts of a committed row */         \
    XX(VACUUM_OBJECT, "vacuum_object")   /* SQLite: deletes rows of rowlock_object (affected) */  \
    XX(INSTALL_LOCK, "install_lock")     /* one installer at a time, until COMMIT or unlock */    \
    XX(INSTALL_UNLOCK, "install_unlock")                                                          \
    XX(INSTALLING, "installing") /* -> 1: now; may be absent */                                   \
    XX(HOME, "home")             /* -> qualifier of rowlock_object ("public."); absent: "" */     \
    XX(PING, "ping")             /* anything */                                                   \
    XX(NEXT, "next")             /* counter, start, count -> the first number; under its lock */  \
    /* examination: see below */                                                                  \
    XX(CLOCK, "clock")                                                                            \
    XX(BACKEND, "backend")                                                                        \
    XX(EXAMINE, "examine")                                                                        \
    XX(OWNER, "owner")                                                                            \
    XX(EXAMINE_SCHEMA, "examine_schema")                                                          \
    XX(PRIVILEGES, "privileges")                                                                  \
    XX(FORGET_NAME, "forget_name")                                                                \
    /* jobs: see below */                                                                         \
    XX(JOB_STATE, "job_state")                                                                    \
    XX(JOB_DECIDE, "job_decide")                                                                  \
    XX(JOB_CLAIM, "job_claim")                                                                    \
    XX(JOB_PLAN, "job_plan")                                                                      \
    XX(JOB_DUE, "job_due")                                                                        \
    XX(JOB_FINISH, "job_finish")                                                                  \
    XX(JOB_FORGET, "job_forget")                                                                  \
    XX(JOB_LIST, "job_list")                                                                      \
    XX(JOB_TROUBLE, "job_trouble")                                                                \
    XX(RUN_LIST, "run_list")                                                                      \
    /* subjects: see below */                                                                     \
    XX(SUBJECT_LOOK, "subject_look")                                                              \
    XX(SUBJECT_BEGIN, "subject_begin")                                                            \
    XX(SUBJECT_STILL, "subject_still")                                                            \
    XX(SUBJECT_DONE, "subject_done")                                                              \
    XX(SUBJECT_FAIL, "subject_fail")                                                              \
    XX(SUBJECT_FINISH, "subject_finish")                                                          \
    XX(SUBJECT_EXPIRE, "subject_expire")                                                          \
    XX(SUBJECT_LIST, "subject_list")                                                              \
    XX(LOCK_TABLE, "lock_table")                                                                  \
    /* leases: see below */                                                                       \
    XX(FENCE, "fence")                                                                            \
    XX(GRANT, "grant")                                                                            \
    XX(VERIFY, "verify")                                                                          \
    XX(NEXT_NUMBER, "next_number")                                                                \
    XX(GRANT_FREE, "grant_free")                                                                  \
    XX(ENQUEUE, "enqueue")                                                                        \
    XX(PLACE, "place")                                                                            \
    XX(AWAIT, "await")                                                                            \
    XX(TURN, "turn")                                                                              \
    XX(OVERTAKE, "overtake")                                                                      \
    XX(WITHDRAW, "withdraw")                                                                      \
    XX(SESSION_LOCK, "session_lock")                                                              \
    XX(SESSION_UNLOCK, "session_unlock")                                                          \
    XX(SESSION_UNLOCK_LOST, "session_unlock_lost")                                                \
    XX(RENEW, "renew")                                                                            \
    XX(RENEW_FREE, "renew_free")                                                                  \
    XX(RENEW_ALL, "renew_all")                                                                    \
    XX(RELEASE, "release")                                                                        \
    XX(RELEASE_FREE, "release_free")                                                              \
    XX(CHECK, "check")                                                                            \
    XX(BREAK, "break")                                                                            \
    XX(LOG_BREAK, "log_break")                                                                    \
    XX(HISTORY, "history")                                                                        \
    XX(HISTORY_RULES, "history_rules")                                                            \
    XX(HISTORY_SET, "history_set")                                                                \
    XX(PRUNE, "prune")                                                                            \
    XX(SWEEP_SOME, "sweep_some")                                                                  \
    XX(LIST, "list")                                                                              \
    XX(LIST_LONGEST, "list_longest")                                                              \
    XX(PROBE, "probe")                                                                            \
    XX(SESSION, "session")                                                                        \
    XX(END_SESSION, "end_session")

/*
 * The protocol between the statements and the library.
 *
 * wants of locks: one text for all names, sorted by bytes, each name once:
 *        HEX(name) ':' ('x' | 's') ':' token, joined by ','; token 0: none.
 * wait_ms: milliseconds; 0: one try, < 0: no limit.
 * status row: status (below), name (the one in conflict, or NULL), stays (1: a requested row stays
 *        locked until the transaction ends), detail (text for people, or NULL). No row means OK.
 * granted: 0 while this account may not call what this version adds to the former one; then the
 *        former statements are sent. installing: 1 while a session replaces procedures by DROP and
 *        CREATE.
 * holder rows: kind ('lease', 'transaction'), pid, host, program, since, expires (both ISO 8601 UTC
 *        text), note, waiting (a count); each may be NULL.
 */
/*
 * Leases: the parameters in order, then the result. `session` is the client library's id of its
 * server session (driver.h), 0 if it has none. The server uses session locks only if that is also
 * its own id; behind a pooler it is not. Times are by the database's clock. "The name lock" is that
 * of every name in the request.
 *
 * lease wants: HEX(name) ':' ('x' | 's' | 'p') ':' limit ':' count, joined by ',', sorted by the
 *        names' bytes; limit and count are 0 except for permits.
 *
 * fence         name, token, limit_ms -> status row: 0 or LOST; in the caller's transaction
 * grant         wants, owner, ttl_ms, wait_ms, ticket, session, host, pid, command, note
 *               -> grant row: status, name, token, number, detail.
 *               If this owner has a lease already: OK with its token. Otherwise takes the name lock
 *               (wait_ms 0: only if free at once; < 0: no limit), sweeps, looks for conflicts. With
 *               ticket 0 the queue must be empty; else no ticket may be before ours. Then draws the
 *               token, inserts the lease, deletes the ticket's rows, takes the token's session
 *               lock.
 *               BUSY, TIMEDOUT: the name lock is held. LEASED: number is a conflicting token.
 *               QUEUED: number is the ticket directly before. UNQUEUED: the ticket is gone. LIMIT:
 *               detail has both limits.
 *               wait_ms 0: one round trip commits everything (PostgreSQL: sent with BEGIN and
 *               COMMIT; MariaDB: the procedure commits or rolls back). Otherwise, on OK, the
 *               transaction stays open for the client's COMMIT, with an idle timeout of 2 s.
 * verify        session -> up to 4 columns, which grant_free gets as its last parameters. They are
 *               valid in this session until the database is restored, or its server restarts. No
 *               row: send next_number, then verify once more; without a row again, the statements
 *               ..._free are not for this session. These statements may be absent.
 * next_number   makes sure that numbers are valid
 * grant_free    name, owner, ttl_ms, host, pid, command, note, session (0: takes no session lock),
 *               and the columns of verify -> token: grant of one name, exclusively, with wait_ms 0
 *               and ticket 0, as one statement without BEGIN. No row: nothing was granted, and
 *               grant decides; perhaps verify must be asked again.
 * enqueue       wants, owner, session, good_ms, host, pid, command, note -> grant row: OK, number:
 *               the ticket. Removes this owner's rows in the queue; takes the ticket's session lock
 *               before COMMIT, or, without session locks, sets `alive_until` to now + good_ms.
 *               LIMIT.
 * place         wants, ticket, session, good_ms -> place row: status, number, before, free,
 *               expires_ms, locked, name, detail. If this session has the ticket's lock, locked is
 *               1; else `alive_until` becomes now + good_ms, and locked is 0. Answers a roll call
 *               (overtake) by removing the ticket's mark. Removes tickets before ours whose
 *               `alive_until` has passed. OK: first of all, and no conflict. LEASED: first, but
 *               leased: number is the conflicting token that ends first, expires_ms its remaining
 *               time. QUEUED: number is the ticket directly before ours, `before` the number of
 *               tickets before ours (from 17 on perhaps too small where locked is 1, from 300 on
 *               where it is 0), `free` 1 if no lease conflicts (PostgreSQL: always 0 where locked
 *               is 0, `before` is above 16, and the waiter of `number` gave a sign of life: it sees
 *               to the lease and to dead tickets). UNQUEUED, LIMIT.
 * await         kind (0 ticket, 1 token), number, limit_ms, ticket, session -> number: 1 if we
 *               acquired the session lock (and released it; if the awaited ticket still exists, its
 *               waiter was dead, and the ticket is removed); 0 if we timed out, or if a roll call
 *               waits for an answer of `ticket`, our own, which is noticed within 3 s. May be 2
 *               after a ticket: `ticket`, of one name exclusively, is first, and no lease is left
 * turn          wants, owner, ttl_ms, limit_ms, ticket, session, host, pid, command, note, kind,
 *               number -> grant row: await, then grant with that ticket, of one name exclusively.
 *               OK: as a grant that has waited. TIMEDOUT: the limit passed before the session lock
 *               was free. QUEUED: it was free, but ticket `number` is before ours; if that is the
 *               awaited one, its waiter is dead. LEASED, BUSY: it was free, and place reports the
 *               conflict. If absent, await, place and grant do its work.
 * overtake      wants, ticket, roll_call, limit_ms -> number. Takes the name lock; the result is 0
 *               if that takes longer than limit_ms, or if a live lease conflicts. roll_call 0:
 *               begins a roll call: marks each unmarked ticket before ours with the call's number,
 *               which is the result. Otherwise: removes the tickets that still have the mark of
 *               that call or of an earlier one, except those whose waiter the name lock of another
 *               name may keep from answering; the result is `roll_call`.
 * withdraw      ticket, owner, session: removes its rows, or all of the owner's; commits. On
 *               PostgreSQL also releases the ticket's session lock, if the session has it
 * session_lock  kind, number, session: takes a session lock of ours, if it is free
 * session_unlock  kind, number, session: releases it
 * session_unlock_lost  releases the session lock of the number that this session drew last, if that
 *               number has no row: a grant or an enqueue that failed halfway has left the lock
 * renew         token, ttl_ms, name, owner -> number: status OK, LOST, STOPPED. Also LOST if the
 *               token's lease does not have this name (the first of several) or has another owner
 *               (NULL: any)
 * renew_all     leases, ttl_ms -> token, a row for each lease that it renewed. May be absent; not
 *               sent to plain tables on a server. `leases`: TOKEN:HEX(name):owner, empty for NULL,
 *               joined by ','. Waits for no lock: a lease that is locked is not renewed. The others
 *               are renewed one by one.
 * renew_free    the same, as one statement without BEGIN -> 0, or no row: then renew decides
 * release       token, name, owner, session (that has the token's session lock, which it releases
 *               at COMMIT; or 0) -> number: OK, LOST, as renew. On PostgreSQL it does not wait for
 *               the disk.
 * release_free  the same, as one statement without BEGIN -> 0, or no row: then release decides
 * check         name, token -> status (OK, LOST, STOPPED), left_ms, mode letter, owner
 * break         name, token (0: all), now (0, 1) -> number: how many leases; a running job gets
 *               another version
 * log_break     name, token, host, pid, user: writes the caller that broke it into the history, as
 *               a row with the negative token
 * list          name or NULL -> state ('held', 'waiting', 'transaction'), name, mode, token,
 *               ticket, owner, host, pid, command, note, since_ms, expires_ms, left_ms, limit,
 *               count, stop (1: broken); holders before waiters, these by ticket
 * list_longest  LIKE pattern (escape !), order (0: longest queue first, 1: longest wait first, 2:
 *               by name), most waiters of a name, most rows (0: all), others (1: names that do not
 *               match follow, with all their waiters) -> the same and the number of the name's
 *               waiters; without transactions on MariaDB and the plain dialects
 * history       LIKE pattern of the name or NULL, since_ms, problems only (0, 1), waited_ms (at
 *               least), limit -> name, mode, permits, token (0: a waiter), host, pid, command,
 *               note, acquired_ms (0: never), waited_ms, ended_ms, how ('released', 'expired',
 *               'revoked', 'gave up'; of a run: its outcome), exit, is_run; latest first. A
 *               pattern's escape character is '!'. Without the lease of a run that is listed. A
 *               negative token: the caller that broke that lease, whatever waited_ms
 * history_rules -> level (enum rowlock_history_level), keep_good_ms, keep_bad_ms
 * history_set   level, keep_good_ms, keep_bad_ms
 * prune         batch -> number: deletes at most about that many rows whose time has passed; does
 *               not wait for others that do
 * sweep_some    sweeps up to 200 leases that expired more than a minute ago; skips those that
 *               other sessions have locked. The minute is for a holder that renews late
 * probe         name -> the mode in which a transaction has locked it, or NULL. It tries the lock
 *               and releases it at once, only where list does not report all transactions. Does not
 *               wait, and creates no row. Two such tries may conflict, so one conflict does not
 *               prove a holder.
 * session       -> number, start: the parameters of end_session
 * end_session   number, start: ends that session of ours, if it is still the same session
 */
/*
 * Examination. A check row is: check, status (enum rowlock_finding_status), finding, advice or
 * NULL; see rowlock_examine. A dialect lacks the checks that its engine cannot have.
 *
 * clock          -> now_ms, by the clock of leases
 * backend        -> the server's id of the session that answers; absent: there is no server
 * examine        the client library's id of the session, 1 if the server's id of it changes or else
 *                0 -> check rows, from the server alone
 * owner          -> check row, or none: whether this account may trust the schema's functions; may
 *                be absent
 * examine_schema -> check rows, from the installed tables
 * privileges     table of technique insert or NULL -> object, privilege, NULL: of this account,
 *                as the schema's GRANTs write them; first '', the account, the qualifier of
 *                objects; absent: there are no accounts
 * forget_name    name: deletes its row if it is not held; technique row
 */
/*
 * Jobs: job.h. Times are milliseconds since 1970 UTC, by the database's clock; INT64_MAX: never. An
 * outcome is one of outcome.c. A statement that changes a job's row gets the version that the
 * caller has read; 0: there was none.
 *
 * job_state     name -> enum rowlock_job_state_column: last, failed, repeats of the last due time
 *               that was claimed; running (token; 0: it does not run), broken, not_started (its run
 *               was); held (a live lease has the name job:NAME), free (when that ends)
 * job_decide    name, schedule, early_ms, retry, backoff_ms, skips_missed (decide.h) -> enum
 *               rowlock_job_decision_column: the act of this node; former (token of the
 *               previous run, which left no lease; 0), and whether it was broken. Act NULL: the
 *               server does not know the time zone. Absent: the library decides by job_state
 * job_claim     enum rowlock_job_claim_parameter: former (token of the previous run, which left no
 *               lease; 0) and its outcome -> number: 1, or 0: another version. In the transaction
 *               that grants the lease; repeating it gives 1 again.
 * job_plan      enum rowlock_job_plan_parameter -> number: 1, or 0: another version, or the lease
 *               of `former` is alive (otherwise its rows are deleted, because a renewal under way
 *               must not find them)
 * job_due       name, version, due -> number: 1, or 0 or no row: another version
 * job_finish    token, outcome, exit, output, session as release -> status OK, LOST, STOPPED: ends
 *               the run and its lease, which stays until at_least has passed. A run that ends as
 *               'lost' or 'not started' stays the job's run until it is claimed again
 * job_forget    name -> number: 0 there was none, 1 it is deleted, 2 it runs
 * job_list      name or NULL -> ROWLOCK_JOB_COLUMNS (job.h); without a run the token is NULL. A run
 *               under way that is not 'running' is settled by the next claim
 * job_trouble   LIKE pattern (escape !) of the name or job:NAME, most rows (0: all), late_ms,
 *               slow_least_ms, slow_times -> of the jobs that are not fine (rowlock_job_health) the
 *               same, the worst first; and the number of jobs, and of those that are paused, slow,
 *               late, failing, lost. One row without a job if there is none. Absent: the library
 *               chooses from job_list
 * run_list      name -> ROWLOCK_RUN_COLUMNS; latest first
 */
/*
 * Subjects (refresh). Times are those of jobs. max_age_ms < 0: data is fresh at any age.
 *
 * subject_look   name, max_age_ms -> stale (0, 1), age_ms (NULL: never refreshed); no row: an
 *                unknown subject, if the dialect does not create it here
 * subject_begin  name, max_age_ms, token (0: in the caller's transaction), description, host, pid,
 *                program -> stale, age_ms, version. Under the lock of subject:NAME. A stale subject
 *                becomes PROCESSING, with that version. Repeating it under one token gives the
 *                same.
 * subject_still  fails unless this is the transaction of subject_begin; absent: subject_done checks
 *                it
 * subject_done   name, version -> status OK, LOST; in the same transaction
 * subject_fail   name, version, description, host, pid, program, error -> number: 1 the ERROR is
 *                recorded, 0 another refresh was faster, 2 the row is locked: repeat. A transaction
 *                of its own.
 * subject_finish name, token, failed (0, 1), error, exit or NULL, session -> status OK, LOST: also
 *                ends the lease
 * subject_expire name -> number: 1, or 0: unknown
 * subject_list   name or NULL -> name, description, status, began, ended, updated, age_ms, program,
 *                host, pid, error, exit, made (0, 1); by name
 * lock_table     table, shared, wait_ms. If absent: a dialect with functions cannot lock tables,
 *                and any other dialect locks the whole file in any case
 */
/* The answers in a status row, a grant row or a place row. The SQL functions return these numbers,
   so they never change. PostgreSQL and YugabyteDB do not return EXPIRED (see SWEEP: the library
   asks for expired leases after LEASED), UNPREPARED and LEFTOVER. */
enum rowlock_status {
    ROWLOCK_STATUS_OK = 0,
    ROWLOCK_STATUS_BUSY = 1,     /* another transaction holds it; or leased, and no wait allowed */
    ROWLOCK_STATUS_TIMEDOUT = 2, /* wait_ms has passed */
    ROWLOCK_STATUS_LEASED = 3,   /* a live lease */
    ROWLOCK_STATUS_EXPIRED = 4,  /* an expired lease, to be swept outside this transaction */
    ROWLOCK_STATUS_UNPREPARED = 5, /* technique row: no such row, and it cannot be created here */
    ROWLOCK_STATUS_LEFTOVER = 6,   /* technique insert: a committed row; detail: uuid, locked_ts */
    ROWLOCK_STATUS_CANCELED = 7,   /* the statement was cancelled; the function caught that error */
    ROWLOCK_STATUS_LOST = 8,       /* own lease: the token is not (or no longer) that lease */
    ROWLOCK_STATUS_SNAPSHOT = 9,   /* its isolation level; detail: SQLSTATE ' ' text */
    ROWLOCK_STATUS_SERVER = 10,    /* this server cannot keep a lock; detail: the same */
    ROWLOCK_STATUS_QUEUED = 11,    /* earlier tickets exist */
    ROWLOCK_STATUS_UNQUEUED = 12,  /* our ticket was removed as dead */
    ROWLOCK_STATUS_LIMIT = 13,     /* permits requested with another limit */
    ROWLOCK_STATUS_STOPPED = 14    /* broken: no further renewal */
};

/* The index of a statement in a dialect: ROWLOCK_SQL_GRANT, ... */
enum rowlock_statement_id {
#define ROWLOCK_XX(id, file) ROWLOCK_SQL_##id,
    ROWLOCK_STATEMENTS(ROWLOCK_XX)
#undef ROWLOCK_XX
        ROWLOCK_SQL_COUNT
};

/* The address of a statement is the key in a driver's cache of prepared statements. */
struct rowlock_statement {
    const char *name;    /* the file's name, for messages */
    const char *text;    /* in the server's own placeholder style */
    unsigned parameters; /* the highest placeholder number, or the count of ? */
    const char *types;   /* plain dialects: 'i' or 't' per parameter, also for a NULL; or NULL */
    /* MariaDB: NULL, or the number of the value for each ?. Such a statement has no result set; if
       it changed a row, its answer is a row with LAST_INSERT_ID(). */
    const char *order;
};

/* The pieces of the schema, each a .sql file for a DBA to read: sql/<dialect>/schema/. */
struct rowlock_piece {
    /* The file's name without ".sql": "header", "install", "lease", ... The order in which install
       runs them: schema/text.c, rowlock__install_pieces. */
    const char *name;
    const char *text;
    /* The objects that it creates, one per line, as PARTS lists them: "table lease", "column
       lease.token", "key lease" (the primary key), "key lease.lease_name", "function lock", ... Of
       the piece grants: what it gives to the role application, an object on each line, as
       PRIVILEGES has it: "rowlock.lease\tSELECT, UPDATE (n)". "history " begins a line that only
       the history needs; rowlock_object is the table of technique insert. */
    const char *parts;
};

struct rowlock_plain; /* plain.h */

/* Everything here is constant, and any thread may read it. */
struct rowlock_dialect {
    const char *name; /* of its folder in sql/: "postgresql", ...; of its engine if it is plain */
    /* 1: a server with functions or procedures, or with src/emulate/ in their place, which do the
       waiting. 0: a file, whose driver waits; there only leases have packed wants. */
    int procedural;
    struct rowlock_statement statements[ROWLOCK_SQL_COUNT]; /* text NULL: absent */
    /* Those that the former version of the schema needs with another text; text NULL: none. NULL:
       it understands all. */
    const struct rowlock_statement *former;
    const struct rowlock_piece *pieces; /* ends with name NULL */
    /* The single-table statements by which src/emulate/ carries out the functions; else NULL. */
    const struct rowlock_plain *plain;
};

/* tools/embed-sql generates these; the plain ones are found by rowlock__plain_dialect. */
extern const struct rowlock_dialect rowlock__dialect_postgresql;
extern const struct rowlock_dialect rowlock__dialect_yugabytedb;
extern const struct rowlock_dialect rowlock__dialect_mariadb;
extern const struct rowlock_dialect rowlock__dialect_mysql;
extern const struct rowlock_dialect rowlock__dialect_sqlite;

#endif
