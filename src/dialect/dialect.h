/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A dialect is data: the statements of one SQL flavour, embedded from sql/<dialect>/ at build
 * (tools/embed-sql), one statement a file. Which transport carries them is the driver's affair.
 */
#ifndef ROWLOCK_DIALECT_H
#define ROWLOCK_DIALECT_H

#include <stddef.h>

/* Every statement the library sends, by the name of its file. What a dialect has no file for is
   NULL, and the code that would send it says what happens then. */
#define ROWLOCK_STATEMENTS(XX)                                                                    \
    XX(BEGIN, "begin")           /* no parameters; absent: the locking call begins by itself */   \
    XX(BEGIN_ONE, "begin_one")   /* name -> status (fast path: exclusive, own token none) */      \
    XX(BEGIN_ONE_WITHIN, "begin_one_within") /* name, wait_ms -> status; there is both or none */ \
    XX(BEGIN_LOCK, "begin_lock") /* wants, wait_ms -> status row */                               \
    XX(LOCK, "lock")             /* wants, wait_ms, lease_ms, sweep -> status row */              \
    XX(PREPARE, "prepare")       /* wants */                                                      \
    XX(EXPIRED, "expired")       /* wants -> token of each expired lease that conflicts */        \
    XX(SWEEP, "sweep")           /* token: one short transaction of its own */                    \
    XX(HOLDER, "holder")         /* name -> one row of text a holder, best first */               \
    XX(SERVER, "server")         /* -> one row: why no lock is kept here, or NULL */              \
    XX(DURABILITY, "durability") /* -> one row: what a crash of the machine may undo, or NULL */  \
    XX(INSTALLED, "installed")   /* -> 1 if there is a schema; NULL: no database */            \
    XX(PARTS, "parts")           /* table of technique insert -> one row for each object that is there */ \
    XX(DATABASE, "database")     /* -> its name, for people; absent: the URL says it */           \
    XX(IN_USE, "in_use")         /* -> one row a kind of what uninstall would destroy: kind, count, some */ \
    XX(UNINSTALL_LOCK, "uninstall_lock") /* keeps others out between in_use and the removal; absent: nothing does */ \
    XX(INSTALL_NEEDS, "install_needs") /* technique insert (0, 1) -> what would let this account install */ \
    XX(EXTENSION, "extension")   /* -> one row: version of the extension it belongs to; else none */ \
    XX(META, "meta")             /* -> version, technique, object, id_width[, owned] */                    \
    XX(VACUUM, "vacuum")         /* -> one row: rows removed */                                   \
    XX(LEFTOVER, "leftover")     /* name -> uuid, locked_ts of a committed row of rowlock_object */ \
    XX(VACUUM_OBJECT, "vacuum_object") /* removes committed rows of rowlock_object; no functions */ \
    XX(INSTALL_LOCK, "install_lock")     /* one installer at a time, until COMMIT or: */          \
    XX(INSTALL_UNLOCK, "install_unlock")                                                          \
    XX(HOME, "home")             /* -> what qualifies rowlock_object ("public."); absent: "" */   \
    XX(PING, "ping")             /* anything */                                                   \
    XX(NEXT, "next")             /* counter, start, count -> the first number; under its lock */                                                   \
    /* jobs; the same */                                                                           \
    XX(JOB_STATE, "job_state")                                                                    \
    XX(JOB_CLAIM, "job_claim")                                                                    \
    XX(JOB_PLAN, "job_plan")                                                                      \
    XX(JOB_FINISH, "job_finish")                                                                  \
    XX(JOB_FORGET, "job_forget")                                                                  \
    XX(JOB_LIST, "job_list")                                                                      \
    XX(RUN_LIST, "run_list")                                                                      \
    /* subjects; the same */                                                                       \
    XX(SUBJECT_LOOK, "subject_look")                                                              \
    XX(SUBJECT_BEGIN, "subject_begin")                                                            \
    XX(SUBJECT_STILL, "subject_still")                                                            \
    XX(SUBJECT_DONE, "subject_done")                                                              \
    XX(SUBJECT_FAIL, "subject_fail")                                                              \
    XX(SUBJECT_FINISH, "subject_finish")                                                          \
    XX(SUBJECT_EXPIRE, "subject_expire")                                                          \
    XX(SUBJECT_LIST, "subject_list")                                                              \
    XX(LOCK_TABLE, "lock_table")                                                                  \
    /* leases; their parameters and rows are told below */                                        \
    XX(FENCE, "fence")                                                                            \
    XX(GRANT, "grant")                                                                            \
    XX(ENQUEUE, "enqueue")                                                                        \
    XX(PLACE, "place")                                                                            \
    XX(AWAIT, "await")                                                                            \
    XX(TURN, "turn")                                                                              \
    XX(OVERTAKE, "overtake")                                                                      \
    XX(WITHDRAW, "withdraw")                                                                      \
    XX(BATCH, "batch")                                                                            \
    XX(MARK, "mark")                                                                              \
    XX(UNMARK, "unmark")                                                                          \
    XX(UNMARK_LOST, "unmark_lost")                                                                \
    XX(RENEW, "renew")                                                                            \
    XX(RELEASE, "release")                                                                        \
    XX(CHECK, "check")                                                                            \
    XX(BREAK, "break")                                                                            \
    XX(LIST, "list")                                                                              \
    XX(PROBE, "probe")                                                                            \
    XX(SESSION, "session")                                                                        \
    XX(END_SESSION, "end_session")                                                                \
    /* where there are no functions: the parts of the steps, under the write lock (plain.c) */    \
    XX(DRAW, "draw")             /* -> the next token or ticket */                                \
    XX(GRANTED, "granted")       /* name, owner -> the token of a lease of this owner */          \
    XX(LOOK, "look")             /* name, mode, limit, count, owner, ticket -> plain.c, look_row */ \
    XX(HOLD, "hold")             /* token, name, mode, limit, count, owner, host, pid, ...: rows */ \
    XX(BEGIN_BEAT, "begin_beat") /* token, ttl_ms */                                              \
    XX(STAND, "stand")           /* ticket, name, mode, ... as hold, good_ms: a row of the queue */ \
    XX(SEEN, "seen")             /* ticket, good_ms: place, as far as it writes */

/*
 * How the statements speak to the library.
 *
 * wants: where dialect->procedural, one text for all names, sorted by their bytes, no name twice:
 *        HEX(name) ':' ('x' | 's') ':' token, joined by ','; token 0: none. Elsewhere the call is
 *        made once a name, with the parameters name, shared (0, 1), token, wait_ms.
 * waits: milliseconds; 0 try once, < 0 for ever.
 * status row: status (below), name (the one in the way, or NULL), stays (1: a row asked for stays
 *        locked until the transaction ends), detail (text for people, or NULL).
 * holder rows: kind ('lease', 'transaction'), pid, host, program, since, expires (both ISO 8601 UTC
 *        text), note, waiting (a count); each may be NULL.
 */
/*
 * Leases. Parameters in order, then what comes back. `session` is the number by which the client
 * knows its server session (driver.h), 0 if it has none: the server uses session locks only where
 * it is also its own number, for behind a pooler it is not. Instants are the database's clock.
 *
 * lease wants: HEX(name) ':' ('x' | 's' | 'p') ':' limit ':' count, joined by ',', sorted by the
 *        names' bytes; limit and count are 0 but for permits.
 *
 * fence         name, token, limit_ms -> status row: 0 or LOST; in the caller's transaction
 * grant         wants, owner, ttl_ms, wait_ms, ticket, session, host, pid, command, note
 *               -> grant row: status, name, token, number, detail.
 *               A lease of this owner that is there is the answer: OK with its token. Else takes T of
 *               all names (wait_ms 0: only if free at once; < 0 for ever), sweeps, looks; ticket 0:
 *               nobody may stand in the queue; else nobody before that ticket. Draws the token,
 *               inserts, deletes the ticket's rows, takes the session lock of the token.
 *               BUSY, TIMEDOUT: T was not to be had. LEASED: number is a token in the way. QUEUED: number is
 *               the ticket directly before. UNQUEUED: the ticket is gone. LIMIT: detail has both.
 *               wait_ms 0: all of it is committed by one round trip (PostgreSQL: sent with BEGIN and
 *               COMMIT around; MariaDB: commits by itself, or rolls back). Else, on OK, the transaction is
 *               left open for the client's COMMIT, with a limit of 2 s on its idling.
 * enqueue       wants, owner, session, good_ms, host, pid, command, note -> grant row: OK, number: the ticket.
 *               Removes what this owner had in the queue; takes the ticket's session lock before
 *               COMMIT, or, where there is none, stamps `seen` with now + good_ms. LIMIT.
 * place         wants, ticket, session, good_ms -> place row: status, number, before, free,
 *               expires_ms, locked, name, detail. Where this session has the ticket's lock, locked is 1;
 *               else `seen` becomes now + good_ms, and it is 0. Answers a roll call (overtake): removes the ticket's
 *               mark. Removes tickets before it whose `seen` is over.
 *               OK: first of all, and nothing is in the way. LEASED: first, but leased: number is the
 *               token in the way that ends first, expires_ms until then. QUEUED: number is the last
 *               ticket before, `before` how many (from 17 on perhaps fewer), `free` 1 if no lease is in the way. UNQUEUED, LIMIT.
 * await         kind (0 ticket, 1 token), number, limit_ms, ticket, session -> number: 1 the session lock came (and was
 *               given back; a ticket that still stands was dead and is removed), 0 it did not in time, or a roll
 *               call waits for an answer of `ticket`, our own: noticed within 3 s
 * turn          wants, owner, ttl_ms, limit_ms, ticket, session, host, pid, command, note, kind, number -> grant row:
 *               await, and then the grant with that ticket, of one name and exclusively: OK as grant that has waited.
 *               TIMEDOUT: the session lock did not come in time. QUEUED: it came, but `number` stands before
 *               us, dead if it is the one that was awaited. LEASED, BUSY: it came, and place tells what is in the way.
 *               Absent: await, place and grant do it
 * overtake      wants, ticket, called, limit_ms -> number. Takes T; 0 if that takes longer, or a live lease is in the way.
 *               called 0: a roll call. Marks each ticket before ours that bears no mark, by the call's number, which
 *               is the answer. Else removes the tickets that still bear the mark of that call or of an earlier one,
 *               but those that another name's T may keep silent; answers `called`.
 * withdraw      ticket, owner: removes its rows, or all of the owner's; commits
 * batch         ended, wants, session, host -> gone, granted: several releases and grants that can be answered at
 *               once, in one transaction, on disk; absent where there is no such function. `ended`:
 *               TOKEN:HEX(name):owner; `wants`:
 *               HEX(name):owner:ttl_ms:pid:HEX(command):HEX(note), each name once, empty for NULL; `gone`: the tokens
 *               that were there; `granted`: place in wants (from 1):token. All joined by ','; NULL: none. What is not
 *               granted is asked for by grant.
 * mark, unmark  kind, number, session: takes (as far as it is free), gives back a session lock of ours
 * unmark_lost   gives back the session lock of the number that this session drew last, where no row is there
 *               for it: what a grant or an enqueue that failed half-way has left
 * renew         token, ttl_ms, name, owner -> number: status OK, LOST, STOPPED. LOST, too, if the token is that of
 *               a lease without this name (the first of several) or of another owner (NULL: any)
 * release       token, name, owner -> number: OK, LOST, as renew. On PostgreSQL it does not wait for the disk.
 * check         name, token -> status (OK, LOST, STOPPED), left_ms, mode letter, owner
 * break         name, token (0: all), now (0, 1) -> number: how many leases; a job that runs gets another version
 * list          name or NULL -> state ('held', 'waiting', 'transaction'), name, mode, token, ticket, owner, host,
 *               pid, command, note, since_ms, expires_ms, left_ms, limit, count, stop (1: broken); holders before
 *               waiters, these by ticket
 * probe         name -> mode in which a transaction has it locked, or NULL: by a try that is taken back at
 *               once; where list does not always tell, else absent. Waits for nobody, makes no name known.
 *               Two such tries may meet: who was met once need not be a holder.
 * session       -> number, start: what end_session wants
 * end_session   number, start: ends that session of ours, if it is still the same one
 *
 * A dialect without functions has the same steps as plain statements, with parameters of their own:
 * see src/lease/plain.c and the files. But fence, renew, release, check, break and list are as above.
 */
/*
 * Jobs. Instants are milliseconds since 1970 UTC, by the database's clock; INT64_MAX: never. `outcome` is the
 * text in the table run. Who changes a job's row says at which version he read it; 0: there was none.
 *
 * job_state     name -> now_ms, version, schedule, due, last, failed, repeats, running (token; 0: it does not),
 *               broken (its run was), held (a live lease has the name job:NAME), free_ms (when that ends),
 *               not_started (its run was)
 * job_claim     name, token, version, schedule, instant, due, repeats, former (token of the run before, that left
 *               no lease; 0), its outcome, node, pid, at_least_ms, history -> number: 1, or 0: another version.
 *               Inside the transaction that grants the lease; done twice, it says 1 again.
 * job_plan      name, version, schedule, due, former, its outcome -> number: 1, or 0: another version, or the lease
 *               of `former` lives (else it goes, for a renewal that is under way must not find it)
 * job_finish    token, outcome, exit, output -> status OK, LOST, STOPPED: the run and its lease, which stays until
 *               at_least is over. A run that ends as 'lost' or 'not started' stays the job's, until it is claimed again
 * job_forget    name -> number: 0 there was none, 1 it is forgotten, 2 it runs
 * job_list      name or NULL -> name, schedule, now_ms, due; of the run that runs: token (NULL: none), node, pid, due,
 *               repeats, started, outcome (not 'running': the next claim settles it); of the one that ended
 *               last: token (NULL: none), node, pid, due, repeats, started, finished, outcome, exit, output; how many
 *               are done, their average in ms, since when it fails; of the first run finished, exit, output
 * run_list      name -> token, node, pid, due, repeats, started, finished, outcome, exit, output; latest first
 */
/*
 * Subjects. Instants likewise. max_age_ms < 0: any age is fine.
 *
 * subject_look   name, max_age_ms -> stale (0, 1), age_ms (NULL: never made); no row: an unknown subject, where
 *                the dialect does not make it known
 * subject_begin  name, max_age_ms, token (0: in the caller's transaction), description, host, pid, program -> stale,
 *                age_ms, version. Under the lock of subject:NAME. What is stale is PROCESSING from then on, of that
 *                version. Done twice under one token it says the same.
 * subject_still  fails unless this is the transaction of subject_begin; absent: subject_done sees to it
 * subject_done   name, version -> status OK, LOST; in the same transaction
 * subject_fail   name, version, description, host, pid, program, error -> number: 1 the ERROR is written down, 0
 *                another was faster, 2 the row is locked: ask again. A transaction of its own.
 * subject_finish name, token, failed (0, 1), error, exit or NULL -> status OK, LOST: also ends the lease
 * subject_expire name -> number: 1, or 0: unknown
 * subject_list   name or NULL -> name, description, status, began, ended, updated, age_ms, program, host, pid,
 *                error, exit, made (0, 1); by name
 * lock_table     table, shared, wait_ms; absent: where there are functions it is not to be had, else every lock is
 *                one of the whole file
 */
enum rowlock_status {
    ROWLOCK_STATUS_OK = 0,
    ROWLOCK_STATUS_BUSY = 1,       /* another transaction has it; or leased, and nobody may wait */
    ROWLOCK_STATUS_TIMEDOUT = 2,   /* wait_ms is over */
    ROWLOCK_STATUS_LEASED = 3,     /* a live lease */
    ROWLOCK_STATUS_EXPIRED = 4,    /* an expired lease, to be swept outside this transaction */
    ROWLOCK_STATUS_UNPREPARED = 5, /* technique row: no such row, and this is no place to make it */
    ROWLOCK_STATUS_LEFTOVER = 6,   /* technique insert: a committed row; detail: uuid, locked_ts */
    ROWLOCK_STATUS_CANCELED = 7,   /* the statement was cancelled, and the guard caught it */
    ROWLOCK_STATUS_LOST = 8,       /* own lease: the token is not (or no longer) that lease */
    ROWLOCK_STATUS_SNAPSHOT = 9,   /* its isolation level; detail: SQLSTATE ' ' text */
    ROWLOCK_STATUS_SERVER = 10,    /* no lock can be kept here; detail: the same */
    ROWLOCK_STATUS_QUEUED = 11,    /* others came first */
    ROWLOCK_STATUS_UNQUEUED = 12,  /* our ticket was taken for dead */
    ROWLOCK_STATUS_LIMIT = 13,     /* permits stated differently */
    ROWLOCK_STATUS_STOPPED = 14    /* broken: no renewal any more */
};

enum rowlock_statement_id {
#define ROWLOCK_XX(id, file) ROWLOCK_SQL_##id,
    ROWLOCK_STATEMENTS(ROWLOCK_XX)
#undef ROWLOCK_XX
    ROWLOCK_SQL_COUNT
};

/* Its address is the key of a driver's cache of prepared statements. */
struct rowlock_statement {
    const char *name;    /* the file's name, for messages */
    const char *text;    /* in the server's own placeholder style */
    unsigned parameters; /* the highest placeholder number, or the count of ? */
};

/* The schema's pieces, each a .sql file a DBA can read: sql/<dialect>/schema/. */
struct rowlock_piece {
    const char *name; /* of the file: "header", "adopt", "install", "lease", "queue", "door", "counter", "job", "subject", "views",
                         "native", "row",
                         "insert", "grants", "footer" in the order of schema print;
                         "uninstall", "drop_object" */
    const char *text;
    const char *parts; /* what it creates, a line each, as PARTS lists it: "table lease", "column lease.token",
                          "key lease" (the primary key), "key lease.lease_name", "function lock", ... */
};

struct rowlock_dialect {
    const char *name;
    int procedural; /* has functions or procedures: they take packed wants and do the waiting */
    struct rowlock_statement statements[ROWLOCK_SQL_COUNT]; /* text NULL: absent */
    const struct rowlock_piece *pieces;                     /* ends with name NULL */
};

extern const struct rowlock_dialect rowlock__dialect_postgresql;
extern const struct rowlock_dialect rowlock__dialect_yugabytedb;
extern const struct rowlock_dialect rowlock__dialect_mariadb;
extern const struct rowlock_dialect rowlock__dialect_mysql;
extern const struct rowlock_dialect rowlock__dialect_sqlite;

#endif
