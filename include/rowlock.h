/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rowlock: locks for a farm of servers, on the relational database that the farm already shares.
 *
 * Life cycle. Open a connection by URL, or wrap your own native one (rowlock/postgresql.h,
 * rowlock/mariadb.h, rowlock/sqlite.h). Lock names in a transaction. COMMIT or ROLLBACK releases
 * the locks; so does the death of the client or the server. Nothing else needs cleaning up. For a
 * lock that outlives its transaction, acquire a lease.
 *
 * Terms.
 *   transaction lock  a lock on a name that ends with its transaction
 *   lease             a lock on a name that outlives the session and must be renewed before its ttl
 *                     (time to live) ends
 *   token             a lease's fencing token: a number greater than that of every earlier lease
 *                     that it excludes
 *   technique         how the database implements the locks; chosen at installation
 *
 * Conventions of every function here:
 *   result     0 or a negative ROWLOCK_E code; outputs are written only on success
 *   error      the last parameter; the caller's memory, may be NULL, nothing to free
 *   ownership  an object returned through a pointer to a pointer is yours to close or free; close
 *              and free accept NULL; strings passed in are copied if they are needed after the call
 *   threads    one thread at a time per connection; different connections are independent
 *   waiting    wait_ms: 0 tries once, < 0 waits without a limit, else milliseconds; every call
 *              except commit, rollback and release also fails with ROWLOCK_ECANCELED soon after the
 *              connection's interrupt_fd becomes readable
 *   names      UTF-8, 1 to 255 bytes, compared byte for byte ("a", "A" and "a " are three names)
 */
#ifndef ROWLOCK_H
#define ROWLOCK_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define ROWLOCK_API __attribute__((visibility("default")))
#else
#define ROWLOCK_API
#endif

/* ---- errors ------------------------------------------------------------------------------ */

/* name, value, text: the error codes, their names and their texts are generated from this list */
#define ROWLOCK_ERRORS(XX)                                                     \
    XX(EINVAL, -1, "invalid argument")                                         \
    XX(ENOMEM, -2, "out of memory")                                            \
    XX(EBUSY, -3, "held by another")                                           \
    XX(ETIMEDOUT, -4, "not acquired in time")                                  \
    XX(ECANCELED, -5, "interrupted")                                           \
    XX(ELOST, -6, "lease is lost")                                             \
    XX(EUNPREPARED, -7, "name is not prepared")                                \
    XX(EROLLEDBACK, -8, "the database rolled the whole transaction back")      \
    XX(EABORTED, -9, "the transaction can only be rolled back")                \
    XX(ESNAPSHOT, -10, "the transaction may not see what the lock waited for") \
    XX(ENOTX, -11, "no transaction is open")                                   \
    XX(EINTX, -12, "a transaction is open")                                    \
    XX(EMODE, -13, "not offered by this technique or engine")                  \
    XX(ELEFTOVER, -14, "a committed row of another program is in the way")     \
    XX(ESCHEMA, -15, "schema is missing, older or newer than the library")     \
    XX(EDENIED, -16, "permission denied")                                      \
    XX(ECONN, -17, "database unreachable or full, or connection lost")         \
    XX(EUNKNOWN, -18, "connection lost during COMMIT: outcome unknown")        \
    XX(EDRIVER, -19, "no driver for this URL")                                 \
    XX(ESERVER, -20, "this server cannot keep a lock")                         \
    XX(EDB, -21, "database error")                                             \
    XX(ELIMIT, -22, "the number of permits was stated differently")

enum rowlock_code {
    ROWLOCK_OK = 0,
#define ROWLOCK_XX(name, value, text) ROWLOCK_##name = value,
    ROWLOCK_ERRORS(ROWLOCK_XX)
#undef ROWLOCK_XX
};

/* The state of the transaction after a failed call. */
enum rowlock_transaction {
    ROWLOCK_TX_NONE = 0,    /* none is open */
    ROWLOCK_TX_KEPT,        /* open and usable; with its earlier locks, not the requested ones */
    ROWLOCK_TX_KEPT_LOCKED, /* open and usable, but some requested row stays locked until its end */
    /* Open, but it accepts only ROLLBACK. Do not rely on its locks: PostgreSQL has released them,
       other engines keep them until then. */
    ROWLOCK_TX_ABORTED,
    ROWLOCK_TX_GONE, /* the engine rolled it back and released all its locks */
    ROWLOCK_TX_DEAD  /* the connection is lost, and the transaction with it */
};

struct rowlock_error {
    int code;                             /* enum rowlock_code */
    int native;                           /* the engine's own error number; 0 if it has none */
    enum rowlock_transaction transaction; /* the transaction's state after the failure */
    char sqlstate[6];                     /* five characters, or "" */
    char text[498];                       /* what happened, to which name, what to do next */
};

/*
 * The fixed text of `code`, or "unknown error". Static memory. Any thread.
 */
ROWLOCK_API const char *rowlock_strerror(int code);

/*
 * The name of `code` without its prefix ("EBUSY"), or "E?". Static memory. Any thread.
 */
ROWLOCK_API const char *rowlock_error_name(int code);

/*
 * 1 if `error` (may be NULL) says that the server runs, but had no free session for rowlock_open
 * within connect_ms; 2 if it says that the server had no memory for locks or a session; else 0.
 * A caller that may wait longer calls again. Any thread.
 *
 * After 2 an open session is still usable, although the code is ECONN. error->transaction has the
 * state of its transaction: roll back.
 */
ROWLOCK_API int rowlock_is_full(const struct rowlock_error *error);

/*
 * Version and the drivers compiled in: "0.1.0 sqlite postgresql mariadb". Static memory. Any
 * thread.
 */
ROWLOCK_API const char *rowlock_version(void);

/*
 * Describes, for people, each driver: the client library that was found, or the package to install;
 * the drivers of ODBC and JDBC; and the databases that rowlock was not tested on. Lines of text.
 *
 * Loads the client libraries, but starts no Java virtual machine. Any thread. Yours: rowlock_free.
 * NULL: out of memory.
 */
ROWLOCK_API char *rowlock_drivers(void);

/* ---- connection -------------------------------------------------------------------------- */

typedef int64_t rowlock_duration; /* milliseconds */

struct rowlock_connection; /* a database session, opened by rowlock or wrapped */

/* Reads the URL again from its source, for example from a file that now has a new password. Returns
   0 and stores a malloc'd URL, which the library frees; or returns another code, and may write the
   reason to why->text. Must not use the connection. */
typedef int rowlock_reread_url(void *data, char **url, struct rowlock_error *why);

struct rowlock_options {            /* all zero: the defaults */
    rowlock_duration connect_ms;    /* timeout of connecting; 0: 10 s; < 0: none */
    rowlock_duration statement_ms;  /* timeout of other statements than waits; 0: 10 s; < 0: none */
    int interrupt_fd;               /* calls give up while it is readable; 0 or -1: none */
    const char *url;                /* of wrapped connections: for opening a second one */
    const char *database;           /* MariaDB: where rowlock is installed; NULL: the current one */
    rowlock_reread_url *reread_url; /* after a refused login: see rowlock_open; NULL: none */
    void *reread_data;
    /* The USER in the history of a lease that this connection breaks, and of a job that it makes
       due; 63 bytes count. NULL: that of the environment, SUDO_USER, LOGNAME or USER. The database
       does not verify it. */
    const char *user;
};

/*
 * Opens a database session.
 *
 * Schemes: sqlite:PATH, postgresql:// and postgres:// (everything that libpq accepts), mysql:// and
 * mariadb://, odbc: with a connection string (odbc:DSN=..., odbc:Driver={...};...), jdbc: with the
 * URL of a JDBC driver. docs/databases.md lists the databases. The client library of a scheme is
 * loaded on its first use; the first jdbc: URL starts a Java virtual machine, which does not
 * survive fork(). If a SQLite file does not exist, it is created with mode 0600 and with rowlock's
 * tables; sqlite:PATH?mode=rw refuses it instead (ESERVER).
 *
 * Blocks until connected or refused, at most connect_ms; but the resolver of host names has time
 * limits of its own. A server without a free session is asked again with growing pauses until then.
 * If a postgresql URL has several hosts, each may take an equal part of the remaining time (the
 * URL's connect_timeout, if that is less).
 * Without target_session_attrs the primary is meant. Keeps no reference to `url` or `options`;
 * no message contains the URL's password. `*out` is yours: rowlock_close.
 *
 * If the server refuses the login, rowlock calls options->reread_url: here, and whenever the
 * connection opens a session later, to replace a lost one or as a second one, until rowlock_close.
 * The call is in the thread that opens the session. If the new URL differs only in user, password,
 * TLS or authentication, rowlock tries it once, and keeps it if the server accepts it. It refuses
 * any other URL (EDENIED), because another database has other leases. Behind ODBC and JDBC it also
 * refuses another user, because that user may have other tables.
 *
 * EINVAL   the URL or an option is invalid, or a jdbc: URL means a database inside this process;
 *          nothing was sent
 * EDRIVER  no driver for this scheme; or its client library, the ODBC or the JDBC driver, or Java
 *          is not installed; or rowlock has no statements for the database
 * ECONN    the server is unreachable, did not answer in time, or had no free session: retrying is
 *          worthwhile
 * EDENIED  the server refused the user, password or database; or no agreement on TLS; or this user
 *          may not open or create the SQLite file
 * ESERVER  a standby, a read-only server or a Galera node: a lock there would not exclude
 *          other sessions; or a PostgreSQL server older than 13; or HSQLDB not in mode MVCC; or H2
 *          or HSQLDB, if this user cannot turn its write delay off; or a SQLite path that is not a
 *          file, or whose folder does not exist
 * ECANCELED, ENOMEM, EDB
 */
ROWLOCK_API int rowlock_open(const char *url, const struct rowlock_options *options,
                             struct rowlock_connection **out, struct rowlock_error *error);

/*
 * Closes the connection and rolls back an open transaction. A wrapped native connection is left as
 * it is. Does not block on the server. Accepts NULL.
 */
ROWLOCK_API void rowlock_close(struct rowlock_connection *connection);

/*
 * The session's socket, for polling; never read from it. If it becomes readable while no call is
 * under way, the server has ended the session. -1 if there is none (SQLite).
 */
ROWLOCK_API int rowlock_socket(const struct rowlock_connection *connection);

/*
 * Checks that the session still exists: one round trip, which also resets the server's idle timers.
 * Blocks for statement_ms at most.
 *
 * ECONN  the session is lost, and with it an open transaction and its locks; but if
 *        rowlock_is_full(error) is 2, only the transaction is
 */
ROWLOCK_API int rowlock_ping(struct rowlock_connection *connection, struct rowlock_error *error);

/* ---- locks in a transaction --------------------------------------------------------------- */

enum rowlock_mode { ROWLOCK_EXCLUSIVE = 0, ROWLOCK_SHARED = 1, ROWLOCK_PERMIT = 2 };

struct rowlock_want { /* a request for a lock on one name */
    const char *name;
    enum rowlock_mode mode; /* PERMIT (one of N places of a semaphore): leases only */
    int64_t token;          /* of your own lease on this name, to lock the name under it; 0: none */
    int limit;              /* PERMIT: how many permits the name has in all */
    int count;              /* PERMIT: how many of them you request; 0: one */
};

/*
 * Begins a transaction at READ COMMITTED and locks all the names in it, or none; one round trip on
 * PostgreSQL and MariaDB. Changes that other transactions made under the same names are committed
 * and visible. A name given twice is locked once, exclusively if either request is exclusive. On
 * failure no transaction is open.
 *
 * Blocks while another holds a name, at most `wait_ms`. While a name is leased, the call waits
 * without holding anything, so leases that follow each other without a pause may overtake it.
 * rowlock_lock in an open transaction keeps its place before them (not on SQLite). On SQLite every
 * name conflicts with every other: the file has one write lock, and a shared lock is an exclusive
 * one. If the server does not answer within two or three seconds after `wait_ms`, the connection is
 * lost (ECONN); for a wrapped connection, within statement_ms after `wait_ms`.
 *
 * EBUSY        wait_ms was 0 and a name is held; the text names the holder
 * ETIMEDOUT    wait_ms or a timeout of the server has passed; the text names the holder
 * ECANCELED    interrupt_fd became readable
 * EINTX        a transaction is open already: use rowlock_lock
 * EINVAL       a name is empty, too long or not UTF-8; n is 0; nothing was sent
 * EMODE        a shared lock under technique insert (not on PostgreSQL); a permit
 * ELEFTOVER    technique insert, not on PostgreSQL: a committed row holds the name; rowlock_vacuum
 *              deletes it
 * ELOST        the token of a request is not a lease of that name, or not a strong enough one
 * ESCHEMA      rowlock is not installed there, or in a version that this library does not work with
 * ECONN        the connection is lost; or the server had no memory for locks until wait_ms had
 *              passed: then rowlock_is_full(error) is 2, and the session is usable
 * ESERVER, EDENIED, ENOMEM, EDB
 *
 * Source: J. Udby, "Implementing a simple database semaphore"; F. Pachot, locks on arbitrary
 * values as SQL functions; PostgreSQL manual, "Advisory Locks"; MariaDB manual, "InnoDB Locking".
 */
ROWLOCK_API int rowlock_begin(struct rowlock_connection *connection,
                              const struct rowlock_want *wants, size_t n, rowlock_duration wait_ms,
                              struct rowlock_error *error);

/*
 * Locks more names in the open transaction, all or none. EBUSY, ETIMEDOUT and ECANCELED leave the
 * transaction and its earlier locks as they were. On MariaDB a row that was locked before the
 * failure stays locked until the transaction ends (error->transaction is then KEPT_LOCKED).
 *
 * Blocks as rowlock_begin does, but waits for a leased name at most 30 s: the lease's holder may be
 * waiting for your rows, and no engine can detect that deadlock. On SQLite a leased name is EBUSY
 * at once.
 *
 * ENOTX        no transaction is open: use rowlock_begin
 * ESNAPSHOT    REPEATABLE READ or above (PostgreSQL, InnoDB), or a SQLite transaction that has read
 *              and cannot be upgraded: it may not see what the lock waited for; roll back
 * EUNPREPARED  technique row, a new name, and no URL for a second connection: rowlock_prepare
 * EABORTED     PostgreSQL chose it as a deadlock victim, or the caller's own statement had failed;
 *              on MariaDB: DDL of another session ended the call (error 1689). Roll back.
 * EROLLEDBACK  MariaDB chose it as a deadlock victim and rolled the whole transaction back
 * ECONN        the connection is lost; or the server had no memory for locks, which this call does
 *              not wait for: then rowlock_is_full(error) is 2, and the session is usable. Roll back
 * and all those of rowlock_begin except EINTX
 */
ROWLOCK_API int rowlock_lock(struct rowlock_connection *connection,
                             const struct rowlock_want *wants, size_t n, rowlock_duration wait_ms,
                             struct rowlock_error *error);

/*
 * Creates the names' rows in a transaction of its own, before your own BEGIN. Needed for technique
 * row only, harmless elsewhere. Once is enough: rowlock_vacuum keeps the rows, until
 * rowlock_vacuum_name. (Behind odbc: and jdbc: URLs rowlock_vacuum deletes them. There a lock
 * creates a missing row; on a handle of yours it needs options.url for that.)
 * Blocks for statement_ms at most.
 *
 * EINTX   a transaction is open: call it before
 * EINVAL, ESCHEMA, EDENIED, ECONN, ECANCELED, ENOMEM, EDB
 */
ROWLOCK_API int rowlock_prepare(struct rowlock_connection *connection,
                                const struct rowlock_want *wants, size_t n,
                                struct rowlock_error *error);

/*
 * Commits the transaction and releases every lock taken in it. Blocks for statement_ms at most.
 * interrupt_fd is ignored, because an interruption would leave the outcome unknown.
 *
 * EABORTED     the server rolled back instead, because a statement of yours had failed
 * EROLLEDBACK  the transaction had been rolled back before
 * EUNKNOWN     the connection was lost while COMMIT was under way; or it was given up, because a
 *              synchronous standby of PostgreSQL did not confirm the COMMIT in time
 * ECONN        the connection was lost before COMMIT was sent: nothing was committed
 * ENOTX, EDB
 */
ROWLOCK_API int rowlock_commit(struct rowlock_connection *connection, struct rowlock_error *error);

/*
 * Rolls back; without a transaction it does nothing. Blocks for statement_ms at most, and ignores
 * interrupt_fd.
 *
 * ECONN  the connection is lost, and the server rolls back
 */
ROWLOCK_API int rowlock_rollback(struct rowlock_connection *connection,
                                 struct rowlock_error *error);

/*
 * The fence: checks in your transaction that the token is still a lease of `name`, and keeps it
 * valid until the transaction ends. A session that tries to end the lease waits for your
 * transaction, so your writes in it are safe whatever clocks and pauses do. On PostgreSQL, ROLLBACK
 * TO a savepoint older than the fence releases it. On MariaDB at REPEATABLE READ, roll back at once
 * after ELOST: the check has locked a gap, and other grants wait.
 *
 * Blocks for statement_ms at most, while another session is ending the lease.
 *
 * ELOST  the token is not a lease of that name any more; the transaction is kept, roll it back
 * ENOTX, ESERVER (a read-only transaction), EINVAL, EABORTED, EROLLEDBACK, ETIMEDOUT, ECANCELED,
 * ESCHEMA, EDENIED, ECONN, ENOMEM, EDB
 *
 * Source: M. Kleppmann, "How to do distributed locking" (fencing tokens).
 */
ROWLOCK_API int rowlock_fence(struct rowlock_connection *connection, const char *name,
                              int64_t token, struct rowlock_error *error);

/*
 * A counter: draws its next `count` numbers inside your transaction: `*first` and those after it.
 * No number is drawn twice, and none is missing: until COMMIT no other transaction draws from
 * this counter, and ROLLBACK returns the numbers. A new counter begins with `start`; an existing
 * one ignores `start`. The lock is that of the ordinary name "counter:COUNTER", which ls shows.
 *
 * Blocks as rowlock_lock does, while another transaction that has drawn is open. So draw late, just
 * before COMMIT. Where rowlock_prepare is needed, prepare "counter:COUNTER".
 *
 * EINVAL  the counter's name is empty, has more than 247 bytes or is not UTF-8; count is not 1 to
 *         1000000000; start is beyond 2^62; nothing was sent
 * other errors as rowlock_lock. The transaction is kept unless error->transaction differs.
 *
 * Source: J. Udby, "Implementing a simple database semaphore", the comments.
 */
ROWLOCK_API int rowlock_next(struct rowlock_connection *connection, const char *counter,
                             int64_t start, int64_t count, rowlock_duration wait_ms, int64_t *first,
                             struct rowlock_error *error);

/* ---- leases: locks that outlive a transaction ----------------------------------------------- */

struct rowlock_lease; /* one grant, of one or several names */

/* Called by rowlock_acquire on the caller's thread when the connection is lost during a wait and
   the database is unreachable; once per outage. It must not use the connection. */
typedef void (*rowlock_on_disconnect)(const struct rowlock_error *why, void *data);

/* The longest ttl, about 100 years, for a lease that lasts until it is released. The command shows
   a lease with at least half of it left as one without an end. */
#define ROWLOCK_UNTIL_RELEASED (INT64_C(100) * 366 * 86400 * 1000)

/* Called by rowlock_acquire on the caller's thread about every 10 s of a wait. It may read lists on
   the connection (rowlock_list), and must not use it otherwise. A result other than 0 ends the wait
   with ECANCELED, as an interrupt does. */
typedef int (*rowlock_on_wait)(void *data);

struct rowlock_terms {          /* of a lease; all zero: 30 s, tried once */
    rowlock_duration ttl_ms;    /* it expires this long after the last renewal; 0: 30 s; >= 1 s */
    rowlock_duration wait_ms;   /* 0: try, < 0: no limit */
    const char *note, *command; /* shown in lists of holders and in refusals; may be NULL */
    rowlock_on_disconnect on_disconnect; /* may be NULL */
    rowlock_on_wait on_wait;             /* may be NULL */
    void *data;                          /* of on_disconnect and on_wait */
    int no_process; /* 1: no process renews it, or another one does: lists show no pid */
    /* The owner id of this call, by which its caller finds its ticket in rowlock_list: 32 digits of
       0-9 and a-f that no other call has ever used, so at least half of them random. NULL: the
       library makes one. */
    const char *owner;
};

/*
 * Acquires a lease of all the names, or of none: exclusive, shared, or permits. The lease is
 * committed and durable: it outlives the connection. It ends by release, by rowlock_break, or
 * ttl_ms after its last renewal. Leases and the transaction locks of rowlock_begin and rowlock_lock
 * exclude each other. The token is greater than that of every earlier lease that this one excludes.
 *
 * First come, first served per name. Blocks until granted, at most `wait_ms`. A try lasts up to
 * 250 ms while the grant of another lease holds a name; if the server ends it, as the victim of a
 * deadlock, it is repeated for two seconds.
 *
 * If the connection is lost and was opened by URL, it is opened again, and the owner id of this
 * call shows whether the lease was granted: it is never granted twice. A wait survives a restart of
 * the database: reconnecting is retried with a growing backoff, finally every 5 s, until `wait_ms`
 * has passed (ECONN); the call then queues at the end again. A try does so for connect_ms. A waiter
 * that is killed is never granted the lease.
 *
 * If the server does not answer within two or three seconds after `wait_ms`, or the COMMIT of a
 * grant within statement_ms, the connection is lost (ECONN); for a wrapped connection, always
 * within statement_ms after `wait_ms`. A grant that this call could not report expires after its
 * ttl.
 *
 * `*out` is yours: rowlock_lease_free, after rowlock_release. It uses `connection`, which must
 * outlive it. No transaction may be open.
 *
 * EBUSY, ETIMEDOUT  as rowlock_begin; the text names the holder and the number of waiters
 * ECANCELED         interrupt_fd became readable, or on_wait ended the wait, or on MariaDB KILL
 *                   QUERY did (on PostgreSQL the wait continues after a cancelled statement);
 *                   nothing is left in the queue
 * ELIMIT            permits of this name are held or waited for with another limit
 * ELOST             it was granted, and broken or expired before the call could return
 * ELEFTOVER         technique insert: as rowlock_begin
 * EINVAL            a bad name, ttl, limit, count or owner id; a request has a token; permits of
 *                   one name are requested twice
 * EINTX, ESCHEMA, ESERVER, EDENIED, ECONN, ENOMEM, EDB
 *
 * Source: C. Gray, D. Cheriton, "Leases"; J. Udby, "Implementing a simple database semaphore".
 */
ROWLOCK_API int rowlock_acquire(struct rowlock_connection *connection,
                                const struct rowlock_want *wants, size_t n,
                                const struct rowlock_terms *terms, struct rowlock_lease **out,
                                struct rowlock_error *error);

/*
 * Adopts the lease that another process acquired, by its token. Its remaining time counts from now,
 * as the database reports it. Blocks for statement_ms at most. `*out` is yours: rowlock_lease_free.
 *
 * ELOST  the token is not a lease of that name, or the lease has expired or was broken
 * EINVAL, EINTX, ESCHEMA, ESERVER, EDENIED, ECONN, ECANCELED, ENOMEM, EDB
 */
ROWLOCK_API int rowlock_adopt(struct rowlock_connection *connection, const char *name,
                              int64_t token, struct rowlock_lease **out,
                              struct rowlock_error *error);

/*
 * Renews the lease: it expires ttl_ms from now, but never earlier than before. 0: the ttl it was
 * acquired with; for an adopted lease its remaining time at adoption, at least 30 s. A lost
 * connection that was opened by URL is opened again. Blocks for statement_ms at most, and not
 * beyond the lease's end.
 *
 * ELOST  it was broken, or has expired and was removed, or its SQLite file was deleted or replaced:
 *        stop the work done under it. Locks in such a file fail with ESERVER until it is reopened
 * ECONN, ETIMEDOUT  not renewed; the lease is yours until rowlock_remaining is 0: try again
 * ECANCELED, EINTX, EDENIED, ENOMEM, EDB
 */
ROWLOCK_API int rowlock_renew(struct rowlock_lease *lease, rowlock_duration ttl_ms,
                              struct rowlock_error *error);

/*
 * Renews each of the leases as rowlock_renew does. A lease that is lost, or that another
 * transaction keeps locked, does not prevent the renewal of the others. Up to 1,000 leases of the
 * same ttl are renewed by one transaction; through ODBC and JDBC, and on YugabyteDB, each lease
 * costs one. All leases must have the same connection. Blocks for statement_ms at most.
 *
 * Sets codes[i] to the result of leases[i], unless it returns EINVAL or ENOMEM; `codes` may be
 * NULL. Returns 0 if all are renewed, otherwise the first result that is not 0, and its error.
 *
 * EINVAL  a lease is NULL or has another connection, or a bad ttl;  otherwise as rowlock_renew
 */
ROWLOCK_API int rowlock_renew_all(struct rowlock_lease *const *leases, size_t n,
                                  rowlock_duration ttl_ms, int *codes, struct rowlock_error *error);

/*
 * Releases the lease, and stops its automatic renewal. Repeating the call is harmless. Blocks for
 * statement_ms at most, also while a fenced transaction of yours is open; then the lease is left to
 * expire. A statement that the server cancels, or has no memory for, is repeated until the lease's
 * end. interrupt_fd is ignored: the signal that ends a program is often the reason for the release.
 *
 * ELOST  it had been lost before: work done under it may have overlapped with another holder's
 * ETIMEDOUT, EINTX, EDENIED, ECONN, ENOMEM, EDB
 */
ROWLOCK_API int rowlock_release(struct rowlock_lease *lease, struct rowlock_error *error);

/* Frees the object and stops its automatic renewal; the lease itself stays until it is released or
   expires. Accepts NULL. */
ROWLOCK_API void rowlock_lease_free(struct rowlock_lease *lease);

/* The fencing token. Any thread. */
ROWLOCK_API int64_t rowlock_token(const struct rowlock_lease *lease);

/* The owner id of the call that acquired it, 32 hex digits; "" if it was acquired in SQL. The
   lease's memory. */
ROWLOCK_API const char *rowlock_owner(const struct rowlock_lease *lease);

/*
 * The remaining time of the lease in milliseconds, by this node's monotonic clock, counted from
 * before the last successful renewal was sent, less one millisecond, because databases round their
 * clocks; 0 if it has expired or is lost. Any thread.
 */
ROWLOCK_API rowlock_duration rowlock_remaining(const struct rowlock_lease *lease);

/* Called once, on the renewal thread, when the lease is lost: broken, expired, or it ended while
   the database was unreachable. It must not call rowlock_release or rowlock_lease_free. */
typedef void (*rowlock_on_lost)(struct rowlock_lease *lease, const struct rowlock_error *why,
                                void *data);

/*
 * Renews the lease automatically: starts a thread with a connection of its own, which renews every
 * third of the ttl until the lease is released or freed. Needs a connection with a URL. Signals are
 * blocked in the thread.
 *
 * EINVAL  no URL, or renewed automatically already;  ELOST, EDRIVER, EDENIED, ECONN, ECANCELED,
 *         ENOMEM, EDB
 */
ROWLOCK_API int rowlock_auto_renew(struct rowlock_lease *lease, rowlock_on_lost on_lost, void *data,
                                   struct rowlock_error *error);

/*
 * Breaks (revokes) leases of `name`: all (token 0), or one. Their next renewal is refused, the
 * holders stop, and the name is free when they have released or expired. `now` removes the leases
 * at once: a holder that has not noticed yet overlaps with the next one. A lease of several names
 * ends for all of them. A name that a finished job still holds (at_least_ms) is free at once.
 * `*broken` (may be NULL) is the number of leases broken. Blocks for statement_ms at most.
 *
 * ETIMEDOUT  a transaction that has checked the token (rowlock_fence) is still open
 * ECANCELED  interrupt_fd became readable: the server has stopped, and the lease it waited for is
 *            not broken; of several on MariaDB some may be. If the server did not answer, the text
 *            states it
 * ECONN      the connection was lost, or the server did not answer: the lease may be broken
 * EINVAL, EINTX, ESCHEMA, ESERVER, EDENIED, ENOMEM, EDB
 */
ROWLOCK_API int rowlock_break(struct rowlock_connection *connection, const char *name,
                              int64_t token, int now, int64_t *broken, struct rowlock_error *error);

enum rowlock_holding { ROWLOCK_HOLDS = 0, ROWLOCK_WAITS = 1, ROWLOCK_HOLDS_TX = 2 };

struct rowlock_holder { /* valid during the callback only; texts are never NULL, "": unknown */
    enum rowlock_holding holding; /* HOLDS_TX: by a transaction, as far as the engine reports */
    const char *name, *owner, *host, *command, *note;
    enum rowlock_mode mode;
    int64_t token, ticket; /* 0: none */
    /* The process on `host`; HOLDS_TX: the server's own id of the session. 0: unknown, or of a
       lease that no process keeps. */
    int64_t pid;
    int64_t since_ms, expires_ms;  /* since 1970 UTC, database's clock; 0: unknown */
    rowlock_duration remaining_ms; /* until it expires, by the database's clock */
    int limit, count;              /* permits */
    int stop;                      /* 1: broken: its next renewal is refused */
    int64_t queue; /* of a limited list: number of all waiters of the name; else 0 */
};

/* 0 continues the list; any other result ends it. */
typedef int (*rowlock_visit)(const struct rowlock_holder *holder, void *data);

/*
 * Lists the holders and waiters of `name`, or of all leases (NULL): holders first, then waiters in
 * queue order. Expired leases and dead waiters are omitted. Transaction locks are listed as far as
 * the engine reports them. For all names (NULL) these are: on MariaDB, names that have
 * waiters; on PostgreSQL, names that are leased, waited for, or those of counters, jobs and
 * subjects.
 *
 * MariaDB does not report a lock that has no waiters. There the call briefly locks a name without
 * a visible holder, and at that moment another caller's try may be refused. It repeats this a few
 * times within a fraction of a second before it reports the name as held. An account that may not
 * lock gets no such report.
 *
 * Blocks for statement_ms at most, for each of these queries.
 *
 * EINVAL, EINTX, ESCHEMA, EDENIED, ECONN, ECANCELED, ENOMEM, EDB
 */
ROWLOCK_API int rowlock_list(struct rowlock_connection *connection, const char *name,
                             rowlock_visit visit, void *data, struct rowlock_error *error);

enum rowlock_list_order { ROWLOCK_BY_QUEUE = 0, ROWLOCK_BY_WAIT, ROWLOCK_BY_NAME };

struct rowlock_choice {            /* of a list; all zero: everything, the longest queue first */
    const char *name;              /* only this name, without the limits below; or: */
    const char *glob;              /* only names that match it (*, ?, [...]); NULL: all */
    enum rowlock_list_order order; /* of names: most waiters, longest wait, or name */
    int most_waiters;              /* of each name, the first in its queue; 0: all */
    int most_rows;                 /* 0: all */
    int others; /* 1: the names that do not match `glob` follow, with all their waiters */
};

/*
 * Lists a part of the holders and waiters, for a view that is read repeatedly: one query,
 * whose limits the server applies (behind odbc: and jdbc: URLs, and for a file, the library does).
 * The rows of a name are together, holders before waiters. Unlike rowlock_list it locks nothing, so
 * on MariaDB and behind odbc: and jdbc: URLs it does not list transactions, except those of `name`
 * that MariaDB reports.
 *
 * Blocks for statement_ms at most.
 *
 * EINVAL  visit or choice is NULL; a negative limit; a name as well as a pattern; a bad name; a
 *         pattern with a '[' without ']'
 * EINTX, ESCHEMA, EDENIED, ECONN, ECANCELED, ENOMEM, EDB
 */
ROWLOCK_API int rowlock_list_some(struct rowlock_connection *connection,
                                  const struct rowlock_choice *choice, rowlock_visit visit,
                                  void *data, struct rowlock_error *error);

/* ---- jobs: a due run starts on exactly one node of a farm ---------------------------------- */

struct rowlock_schedule; /* when something is due; immutable, so any thread may use it */

/*
 * Parses a schedule: "every DURATION" ("every 5m"; due at the multiples of the period since 1970
 * UTC), or a cron line, five fields or "@daily" and the like, in the time zone `zone`
 * ("Europe/Berlin", "+05:30"; NULL: UTC). Reads the zone's file, does not block otherwise. `*out`
 * is yours: rowlock_schedule_close. On EINVAL `*column` (may be NULL) is the position of the
 * mistake in `text`, from 1; 0: the zone is wrong.
 *
 * Due times are milliseconds since 1970 UTC. When clocks change, a line whose minute and hour do
 * not begin with '*' is due exactly once: at the first instant after the skipped time, or in the
 * first pass of the repeated time. Any other line follows real time.
 *
 * EINVAL   the text or the zone is invalid; ENOMEM
 *
 * Source: crontab(5) of Vixie and of Debian; RFC 9636 (TZif).
 */
ROWLOCK_API int rowlock_schedule_open(const char *text, const char *zone,
                                      struct rowlock_schedule **out, size_t *column,
                                      struct rowlock_error *error);

/*
 * The same for the job `job`: each H of a cron line stands for a number that is derived from the
 * job's name, so that many jobs with the same line do not start together. H is a number of the
 * field's range (day of month: 1 to 28); H(0-29) is one of that range; H/15 is every 15th number,
 * the first of them derived from the name; H(0-29)/10 is the same within a range. Every node and
 * every version derives the same numbers: the 64-bit FNV-1a hash of the field's digit ('0' minute
 * to '4' day of week) and the name, then fmix64 of MurmurHash3, modulo the number of values.
 * rowlock_schedule_text returns the numbers.
 *
 * EINVAL   as above; H, and `job` is NULL; ENOMEM
 *
 * Source: Jenkins, "Timer trigger syntax".
 */
ROWLOCK_API int rowlock_schedule_open_for(const char *text, const char *zone, const char *job,
                                          struct rowlock_schedule **out, size_t *column,
                                          struct rowlock_error *error);

/* Accepts NULL. */
ROWLOCK_API void rowlock_schedule_close(struct rowlock_schedule *schedule);

/* "every 5m", "cron 0 4 * * mon Europe/Berlin": equal texts mean equal schedules. Memory of the
   schedule. */
ROWLOCK_API const char *rowlock_schedule_text(const struct rowlock_schedule *schedule);

/* The first due time after `after_ms`, or INT64_MAX: none before the year 10000. */
ROWLOCK_API int64_t rowlock_schedule_next(const struct rowlock_schedule *schedule,
                                          int64_t after_ms);

/* The length in bytes of the schedule at the head of a crontab line, including leading blanks: two
   words after "every", one word that begins with '@', else five words, or as many as there are. */
ROWLOCK_API size_t rowlock_schedule_length(const char *line);

enum rowlock_missed { ROWLOCK_MISSED_ONCE = 0, ROWLOCK_MISSED_SKIP = 1 };

struct rowlock_job {  /* a job as this node configures it; all but the first two may be zero */
    const char *name; /* 1 to 251 bytes: its lock is the name "job:NAME" */
    const struct rowlock_schedule *schedule;
    rowlock_duration ttl_ms; /* of the lease while it runs; 0: 30 s */
    /* A call at most this long before the due time answers EARLY, for callers with a clock of their
       own; 0 to 30 s, limited to a quarter of the period. */
    rowlock_duration early_ms;
    rowlock_duration at_least_ms; /* minimum hold time of the name, even if the run ends sooner */
    rowlock_duration backoff_ms;  /* before a failed run is retried; 0: 10 s */
    /* Maximum retries per due time, of failed and lost runs; 0: one, of a lost run; < 0: none. A
       run that did not start does not count. */
    int retry;
    enum rowlock_missed missed; /* due times that no node claimed: one run for all, or none */
    int history;                /* number of runs kept; 0: 100 */
    const char *note, *command; /* as in rowlock_terms */
};

#define ROWLOCK_SCHEDULE_MAX 400 /* bytes of rowlock_schedule_text */

enum rowlock_claimed {
    ROWLOCK_JOB_NOT_DUE = 0, /* nothing before next_ms */
    ROWLOCK_JOB_RUNNING,     /* it runs, or its name is held: see rowlock_jobs, rowlock_list */
    ROWLOCK_JOB_CLAIMED,     /* yours to run */
    ROWLOCK_JOB_EARLY        /* due at next_ms, within early_ms: wait until then, and call again */
};

struct rowlock_claim {
    enum rowlock_claimed claimed;
    int64_t now_ms; /* the database's clock at the answer; all times here are by it */
    /* When the next call may get another answer; INT64_MAX: never. RUNNING: the end of the lease,
       or the next due time if that is earlier. */
    int64_t next_ms;
    int64_t due_ms;   /* CLAIMED: the due time of this run, the last of those missed */
    int retry_number; /* CLAIMED: 0 for the first run of this due time, then 1, 2, ... */
    int64_t lost;     /* token of the previous run, if this call found it lost; else 0 */
    /* The schedule by which another node, or an earlier configuration of this one, has planned the
       job, if it differs from that of this call, which replaces it; else "". Two nodes that
       disagree replace each other's. */
    char former_schedule[ROWLOCK_SCHEDULE_MAX + 1];
};

/*
 * Claims the job if it is due: acquires the exclusive lease of "job:NAME" and advances the job's
 * row, in one transaction. Of all nodes that call at once exactly one gets CLAIMED and `*lease`. It
 * runs the job, keeps the lease alive (rowlock_auto_renew, rowlock_renew), and calls
 * rowlock_finish. If its node dies, the lease expires after its ttl; the next caller records the
 * run as lost, and retries it as `retry` allows. A changed schedule takes effect with the first
 * call that passes it. All nodes must pass the same values, because the database stores only the
 * state.
 *
 * Nothing is claimed before its due time by the database's clock; the claim's transaction checks
 * that again. A program that starts by a clock of its own sets early_ms: while the answer is EARLY,
 * it sleeps for next_ms - now_ms milliseconds and calls again. Nothing is held or open in between,
 * so another node may win then.
 *
 * Blocks for a few round trips of statement_ms at most; never waits for a lock longer than a try of
 * rowlock_acquire does. `*lease` is yours as after rowlock_acquire; NULL unless CLAIMED. No
 * transaction may be open. A lost reply is settled as in rowlock_acquire: never two runs.
 *
 * EINVAL  a bad name or option; nothing was sent
 * ELOST   it was claimed, and broken or expired before the call could return; the run counts as
 *         broken or lost
 * EINTX, ESCHEMA, ESERVER, EDENIED, ECONN, ECANCELED, ENOMEM, EDB
 *
 * Source: "Using a Relational DBMS as a Multi Server Concurrency Control" (DZone); ShedLock.
 */
ROWLOCK_API int rowlock_claim(struct rowlock_connection *connection, const struct rowlock_job *job,
                              struct rowlock_claim *claim, struct rowlock_lease **lease,
                              struct rowlock_error *error);

enum rowlock_run_outcome {
    ROWLOCK_RUN_RUNNING = 0,
    ROWLOCK_RUN_DONE,      /* exit status 0 */
    ROWLOCK_RUN_FAILED,    /* any other exit status */
    ROWLOCK_RUN_TIMEDOUT,  /* stopped, because it exceeded its time limit */
    ROWLOCK_RUN_BROKEN,    /* stopped by rowlock_break */
    ROWLOCK_RUN_LOST,      /* its lease ended before it finished, or it was stopped for that */
    ROWLOCK_RUN_LATE,      /* as LOST, and it finished afterwards */
    ROWLOCK_RUN_NOTSTARTED /* it was claimed, and never began */
};

/* "running", "done", "failed", "timed out", "broken", "lost", "late", "not started": as the tables
   and the views have it. Any thread. */
ROWLOCK_API const char *rowlock_outcome_text(enum rowlock_run_outcome outcome);

struct rowlock_result {
    int exit;      /* exit status; 128 + N: ended by signal N */
    int timed_out; /* 1: record it as TIMEDOUT */
    /* The end of its output, UTF-8, or NULL. The last 2048 bytes are kept. '?' takes the place of a
       byte that is not UTF-8, and of a character that the database's encoding lacks. */
    const char *output;
    /* 0: DONE if `exit` is 0, else FAILED. Or DONE, FAILED, TIMEDOUT, LOST or NOTSTARTED, whatever
       `exit` is. Only work that ran to its own end under the lease is DONE. */
    enum rowlock_run_outcome outcome;
};

/*
 * Finishes a run that rowlock_claim began: releases the lease and records the result in one
 * transaction; otherwise as rowlock_release. A statement that the server cancels is repeated until
 * the lease's end. If the lease is lost, only the history gets the result, as LATE or NOTSTARTED:
 * the following run is not affected. A broken run is recorded as BROKEN, whatever the result says.
 *
 * A run that ends as LOST is retried as `retry` allows. A run that ends as NOTSTARTED does not
 * count as a try: it is claimed again after `backoff_ms`, until it starts or the next due time
 * replaces it. After both the name is free at once, also before at_least_ms has passed.
 *
 * EINVAL  the lease is not of a job; the outcome is one that only the database sets
 * ELOST   it had been lost or broken before; the history records it
 * ETIMEDOUT, EINTX, EDENIED, ECONN, ENOMEM, EDB: possibly not recorded; try again, or it counts as
 *         lost
 */
ROWLOCK_API int rowlock_finish(struct rowlock_lease *lease, const struct rowlock_result *result,
                               struct rowlock_error *error);

struct rowlock_run { /* valid during the callback only; texts are never NULL; times 0: none */
    const char *job, *node, *output;
    enum rowlock_run_outcome outcome;
    int64_t token, pid, due_ms, started_ms, finished_ms; /* database's clock, since 1970 UTC */
    int exit;                                            /* of a finished run */
    int retry_number;
};

struct rowlock_job_view { /* as above */
    const char *name, *schedule;
    int64_t now_ms;
    int64_t next_ms; /* the next due time that no node has claimed; INT64_MAX: none */
    /* token 0: it does not run. Outcome RUNNING; else it ended other than by itself (LOST, BROKEN,
       LATE, NOTSTARTED), and the next claim settles it. */
    struct rowlock_run running;
    struct rowlock_run last;  /* the last finished run; token 0: none */
    int64_t runs, average_ms; /* of the DONE runs in the history */
    /* The first run of the latest unbroken series that failed or did not start; 0: none. */
    int64_t failed_since_ms;
    /* A lease of "job:NAME" that no process keeps (rowlock hold): no run starts before it ends.
       token 0: none. The one that lasts longest. */
    int64_t paused_token, paused_since_ms, paused_until_ms;
    const char *paused_by, *paused_note; /* its host and its note */
    /* The number of ended runs by outcome since the job is known, including those that the history
       no longer contains. A run that was lost and ended afterwards counts as LOST and as LATE. */
    int64_t ended[ROWLOCK_RUN_NOTSTARTED + 1];
    int64_t succeeded_ms; /* when the last DONE run ended; 0: none has */
};

typedef int (*rowlock_visit_job)(const struct rowlock_job_view *job, void *data);
typedef int (*rowlock_visit_run)(const struct rowlock_run *run, void *data);

/*
 * Lists the job `name`, or all (NULL) by name: next due time, the node that runs it, the last
 * result. A callback's result other than 0 ends the list. Blocks for statement_ms at most.
 *
 * EINVAL, EINTX, ESCHEMA, EDENIED, ECONN, ECANCELED, ENOMEM, EDB
 */
ROWLOCK_API int rowlock_jobs(struct rowlock_connection *connection, const char *name,
                             rowlock_visit_job visit, void *data, struct rowlock_error *error);

/* A worse health has a greater value. */
enum rowlock_health {
    ROWLOCK_HEALTH_FINE = 0,
    ROWLOCK_HEALTH_PAUSED,  /* its name has a lease that no process renews */
    ROWLOCK_HEALTH_SLOW,    /* its run takes more than 1 s, and more than three times the average */
    ROWLOCK_HEALTH_LATE,    /* no node has claimed it for a minute after its due time */
    ROWLOCK_HEALTH_FAILING, /* a run failed or did not start, and none was done since */
    ROWLOCK_HEALTH_LOST     /* its last run lost its lease, and no other one runs */
};

/* The health of a job, and since when it has it (ms since 1970; 0: FINE). `since_ms` may be NULL.
   Any thread. */
ROWLOCK_API enum rowlock_health rowlock_job_health(const struct rowlock_job_view *job,
                                                   int64_t *since_ms);

struct rowlock_job_choice { /* all zero: every job */
    const char *glob;       /* only jobs that match it (*, ?, [...]), as NAME or job:NAME */
    int most_rows;          /* 0: all */
};

struct rowlock_job_counts {
    int64_t jobs;                        /* that match */
    int64_t of[ROWLOCK_HEALTH_LOST + 1]; /* by health */
};

/*
 * Lists the jobs that are not FINE, the worst first, and of equal ones the longest in that state
 * first; and counts all jobs (`counts` may be NULL). For a view that is read repeatedly: one query,
 * and the server chooses the rows (behind odbc: and jdbc: URLs, and by a pattern with ? or [...],
 * the library does). A callback's result other than 0 ends the list. Blocks for statement_ms at
 * most.
 *
 * EINVAL  visit or choice is NULL; a negative limit; a pattern with a '[' without ']'
 * EINTX, ESCHEMA, EDENIED, ECONN, ECANCELED, ENOMEM, EDB
 */
ROWLOCK_API int rowlock_job_troubles(struct rowlock_connection *connection,
                                     const struct rowlock_job_choice *choice,
                                     rowlock_visit_job visit, void *data,
                                     struct rowlock_job_counts *counts,
                                     struct rowlock_error *error);

/* Lists the history of a job, the latest run first. Otherwise as rowlock_jobs. */
ROWLOCK_API int rowlock_runs(struct rowlock_connection *connection, const char *name,
                             rowlock_visit_run visit, void *data, struct rowlock_error *error);

/*
 * Makes the job due now: the next node that asks for it runs it, with the schedule and the command
 * of its own configuration, and with this time as the due time. The run takes the place of due
 * times that no node has claimed; later ones stay as planned. A second call before that run changes
 * only its due time. The history has an entry of each call. Waits half a second at most for a
 * transaction that holds the name.
 *
 * EBUSY   it runs, or its name is held: by a lease, for example that of rowlock hold, or by a
 *         transaction. Nothing is changed. A lock that begins after the check only delays the run.
 * EINVAL  a bad name; no node has asked for the job yet
 * EINTX, ESCHEMA, EDENIED, ECONN, ECANCELED, ENOMEM, EDB
 */
ROWLOCK_API int rowlock_hasten_job(struct rowlock_connection *connection, const char *name,
                                   struct rowlock_error *error);

/*
 * Deletes the row and the history of a job that no node is configured for any more. Does not wait
 * for other sessions.
 *
 * EBUSY  it runs
 * EINVAL, EINTX, ESCHEMA, EDENIED, ECONN, ECANCELED, ENOMEM, EDB
 */
ROWLOCK_API int rowlock_forget_job(struct rowlock_connection *connection, const char *name,
                                   struct rowlock_error *error);

/* ---- history: leases that ended, waiters that gave up, runs of jobs -------------------------- */

enum rowlock_ending {
    ROWLOCK_ENDED_RELEASED = 0,
    ROWLOCK_ENDED_EXPIRED, /* it was not renewed in time */
    ROWLOCK_ENDED_REVOKED, /* by rowlock_break */
    ROWLOCK_ENDED_GAVE_UP, /* a waiter: it timed out, or was interrupted */
    ROWLOCK_ENDED_RUN,     /* the run of a job, under the name job:NAME: see `outcome` */
    ROWLOCK_ENDED_DUE_NOW  /* no end: rowlock_hasten_job made the job due, under job:NAME */
};

/* "released", "expired", "revoked", "gave up", "run", "due now". Any thread. */
ROWLOCK_API const char *rowlock_ending_text(enum rowlock_ending ending);

struct rowlock_past { /* valid during the callback only; texts are never NULL, "": unknown */
    const char *name; /* a lease of several names is listed once for each */
    enum rowlock_ending ending;
    enum rowlock_run_outcome outcome; /* of a run */
    int exit;                         /* of a run */
    enum rowlock_mode mode;
    int count;     /* permits */
    int64_t token; /* 0: of a waiter */
    const char *host, *command, *note;
    int64_t pid;         /* 0: unknown, or of a lease that no process kept */
    int64_t acquired_ms; /* since 1970 UTC, database's clock; 0: never. Of a run: its start */
    int64_t ended_ms;
    rowlock_duration waited_ms, held_ms;
    /* of a broken lease or run: USER@HOST:PID of rowlock_break; DUE_NOW: of rowlock_hasten_job */
    const char *broken_by;
};

struct rowlock_past_filter {    /* all zero: the latest 100 */
    const char *name;           /* a pattern with * ? [...] (fnmatch, flags 0); NULL: every name */
    int64_t since_ms;           /* ended then or later, since 1970 UTC */
    int problems;               /* 1: neither released leases nor runs that are done */
    rowlock_duration waited_ms; /* waited at least that long */
    int limit;                  /* 0: 100 */
    int jobs; /* 1: names match without the prefix "job:" too, so NAME finds the job's runs */
};

/* 0 continues the list; any other result ends it. */
typedef int (*rowlock_visit_past)(const struct rowlock_past *past, void *data);

/*
 * Lists leases that have ended, waiters that gave up, and finished runs of jobs, the latest first.
 * `filter` may be NULL. rowlock_set_history decides which leases are kept, and for how long; each
 * job keeps its latest runs (rowlock_job.history). Transaction locks are never listed. Blocks for
 * statement_ms at most.
 *
 * EINVAL  visit is NULL; a bad pattern or a negative number
 * EINTX, ESCHEMA, EDENIED, ETIMEDOUT, ECONN, ECANCELED, ENOMEM, EDB
 */
ROWLOCK_API int rowlock_history(struct rowlock_connection *connection,
                                const struct rowlock_past_filter *filter, rowlock_visit_past visit,
                                void *data, struct rowlock_error *error);

enum rowlock_history_level {
    ROWLOCK_HISTORY_OFF = 0,
    /* leases that expired or were broken, waiters that gave up after a second or more */
    ROWLOCK_HISTORY_PROBLEMS = 1,
    ROWLOCK_HISTORY_SLOW = 2, /* also those that waited 1 s or were held 10 s: the default */
    ROWLOCK_HISTORY_ALL = 3   /* every lease and waiter */
};

struct rowlock_history_rules {
    enum rowlock_history_level level;
    /* How long released leases are kept, and how long the others: 24 h and 7 days by default. */
    rowlock_duration keep_good_ms, keep_bad_ms;
};

/*
 * Reads which leases the history keeps, for all users of the database. Blocks for statement_ms at
 * most.
 *
 * EINVAL  out is NULL
 * EINTX, ESCHEMA, EDENIED, ETIMEDOUT, ECONN, ECANCELED, ENOMEM, EDB
 */
ROWLOCK_API int rowlock_history_rules(struct rowlock_connection *connection,
                                      struct rowlock_history_rules *out,
                                      struct rowlock_error *error);

/*
 * Sets them. A lower level applies at once, a higher one to leases that are acquired afterwards.
 * The rows that exist stay until their time has passed. On PostgreSQL and MariaDB the account needs
 * the privilege to change the table setting or rowlock_meta, as the one that installed has. Blocks
 * for statement_ms at most.
 *
 * EINVAL  an unknown level; a time under one minute or over 100 years
 * EINTX, ESCHEMA, EDENIED, ETIMEDOUT, ECONN, ECANCELED, ENOMEM, EDB
 */
ROWLOCK_API int rowlock_set_history(struct rowlock_connection *connection,
                                    const struct rowlock_history_rules *rules,
                                    struct rowlock_error *error);

/*
 * Deletes rows of the history whose time has passed, about 10000 at most, and does not wait for
 * other sessions that do the same. rowlock_vacuum deletes all of them; a release sometimes deletes
 * a few. `*removed` (may be NULL) is their number. Blocks for statement_ms at most.
 *
 * EINTX, ESCHEMA, EDENIED, ETIMEDOUT, ECONN, ECANCELED, ENOMEM, EDB
 */
ROWLOCK_API int rowlock_prune_history(struct rowlock_connection *connection, int64_t *removed,
                                      struct rowlock_error *error);

/* ---- refresh: stale data is refreshed exactly once ------------------------------------------ */

/*
 * A subject is data that several programs use and one of them must refresh from time to time: a
 * cache table, a file, a report. A refresh holds the name "subject:NAME" exclusively, a user holds
 * it shared: in a transaction (begin, done, failed; use), or as a lease. The database keeps the
 * result of the last refresh; a caller that finds the subject fresh does not wait.
 *
 *     rowlock_refresh_begin(connection, &subject, -1, &refresh, &error);
 *     if (refresh.stale) {
 *         ... DELETE FROM data_cache; INSERT INTO data_cache ... on the same session ...
 *         code = worked ? rowlock_refresh_done(connection, &refresh, &error) : -1;
 *         if (code)
 *             rowlock_refresh_failed(connection, &refresh, "why", &error);
 *     }
 *     rowlock_use_begin(connection, "cache", ROWLOCK_SHARED, NULL, -1, &error);
 *     ... read data_cache ...
 *     rowlock_commit(connection, &error);
 */
struct rowlock_subject {         /* all but the first two may be zero */
    const char *name;            /* 1 to 247 bytes */
    rowlock_duration max_age_ms; /* older is stale; 0: always stale; < 0: fresh at any age */
    /* In a transaction: the table with the data, locked against programs that do not use rowlock,
       see rowlock_use_begin; NULL: none. */
    const char *table;
    const char *description; /* kept, and shown by rowlock_subjects; NULL: unchanged */
    const char *command;     /* shown as the command that refreshes; NULL: the program's name */
};

struct rowlock_refresh {
    char subject[248];
    int stale;               /* 1: refresh it; then finish by one of the calls below */
    rowlock_duration age_ms; /* of the data; -1: never refreshed */
    int64_t version;
};

/*
 * Checks whether the subject is stale: older than max_age_ms, expired, never refreshed, or its last
 * refresh did not finish. If so, begins a transaction (as rowlock_begin does), locks "subject:NAME"
 * exclusively, checks again by the database's clock, and leaves the transaction open: refresh the
 * subject on the same session, and end by rowlock_refresh_done or rowlock_refresh_failed. If the
 * subject is fresh, no lock is held and no transaction is open.
 *
 * Blocks while another session refreshes or uses the subject, at most `wait_ms`; afterwards it may
 * be fresh. Does not block if the subject is fresh to begin with. With `table` also blocks while
 * that table is written or used. On failure no transaction is open. Keeps no reference to
 * `subject`.
 *
 * EINVAL  the name is empty, has more than 247 bytes or is not UTF-8; the table does not exist
 * EMODE   a table is named, and the engine cannot lock one: see rowlock_use_begin
 * and all those of rowlock_begin
 *
 * Source: "Using ROW/TABLE Locks To Implement Application/Job Semaphore To Handle Race Conditions"
 * (Oracle, PL/SQL). There a failure counts as an update, and no caller retries for a day; here the
 * next caller does.
 */
ROWLOCK_API int rowlock_refresh_begin(struct rowlock_connection *connection,
                                      const struct rowlock_subject *subject,
                                      rowlock_duration wait_ms, struct rowlock_refresh *out,
                                      struct rowlock_error *error);

/*
 * Records that the refresh is complete, and commits. Blocks for statement_ms at most.
 *
 * ELOST  the transaction of rowlock_refresh_begin has ended already: an unseen COMMIT or ROLLBACK
 *        released its locks, so others may have refreshed in between. Later changes may be in
 *        another transaction, which is kept: call rowlock_refresh_failed, which rolls back and
 *        records ERROR. Every engine detects this, also if a new transaction was begun since:
 *        PostgreSQL by the transaction's number, MariaDB and SQLite by a savepoint named
 *        rowlock_refresh, so use no other savepoint of this name. On MariaDB every DDL statement
 *        commits, TRUNCATE too.
 * and all those of rowlock_commit
 */
ROWLOCK_API int rowlock_refresh_done(struct rowlock_connection *connection,
                                     const struct rowlock_refresh *refresh,
                                     struct rowlock_error *error);

/*
 * Records that the refresh failed: rolls back the open transaction, then commits the status ERROR
 * with `message` (may be NULL; the first 2048 bytes are kept) in a transaction of its own. The data
 * from before the refresh is unchanged. If another session is refreshing now, or has refreshed
 * since, nothing is recorded. `connection` may be another one if the first is lost.
 *
 * Blocks for statement_ms at most: for two seconds while another session refreshes, on SQLite while
 * any transaction writes to the file.
 *
 * EINVAL, ESCHEMA, ESERVER, EDENIED, ECONN, ETIMEDOUT, ENOMEM, EDB
 */
ROWLOCK_API int rowlock_refresh_failed(struct rowlock_connection *connection,
                                       const struct rowlock_refresh *refresh, const char *message,
                                       struct rowlock_error *error);

/*
 * Begins a transaction that uses the subject: locks "subject:NAME", shared or exclusively, as
 * rowlock_begin does. A refresh waits until it has ended. It does not check the age: that is
 * rowlock_refresh_begin.
 *
 * With `table` the engine also excludes programs that do not use rowlock. On PostgreSQL by LOCK
 * TABLE: in SHARE MODE for a shared use (DELETE and TRUNCATE wait, or fail by their lock_timeout;
 * SELECT passes), in EXCLUSIVE MODE for an exclusive use or a refresh. On SQLite the whole file is
 * locked against writers anyway. On MariaDB it is EMODE: LOCK TABLES there commits the transaction,
 * and outlasts it.
 *
 * Errors as rowlock_refresh_begin; EMODE also for a shared use under technique insert (not on
 * PostgreSQL).
 */
ROWLOCK_API int rowlock_use_begin(struct rowlock_connection *connection, const char *subject,
                                  enum rowlock_mode mode, const char *table,
                                  rowlock_duration wait_ms, struct rowlock_error *error);

/*
 * As rowlock_refresh_begin, for work that is not a transaction. If the subject is stale, acquires
 * an exclusive lease of "subject:NAME" (as rowlock_acquire, by `terms`), and sets the status
 * PROCESSING in the same transaction, visible to every session. `*lease` is yours: renew it, and
 * end it by rowlock_refresh_release; NULL if the subject is fresh. `subject->table` must be NULL,
 * `subject->command` is that of `terms`.
 *
 * A user of the subject acquires a shared lease of "subject:NAME" by rowlock_acquire.
 *
 * Errors as rowlock_acquire.
 */
ROWLOCK_API int rowlock_refresh_acquire(struct rowlock_connection *connection,
                                        const struct rowlock_subject *subject,
                                        const struct rowlock_terms *terms,
                                        struct rowlock_refresh *out, struct rowlock_lease **lease,
                                        struct rowlock_error *error);

/*
 * Releases the lease of rowlock_refresh_acquire and records the result in one transaction: COMPLETE
 * for a result that is DONE, else ERROR with `output`, or if that is NULL, with a text for the
 * result. Otherwise as rowlock_release: a statement that the server cancels is repeated until the
 * lease's end.
 *
 * EINVAL  the lease is not of a subject; the outcome is one that only the database sets
 * ELOST   it had been lost before; the subject is in ERROR, unless another refresh has begun since
 * ETIMEDOUT, EINTX, EDENIED, ECONN, ENOMEM, EDB: possibly not recorded; try again, or it counts as
 *         ERROR when the lease has expired
 */
ROWLOCK_API int rowlock_refresh_release(struct rowlock_lease *lease,
                                        const struct rowlock_result *result,
                                        struct rowlock_error *error);

/*
 * Marks the subject as stale, whatever its age; the result of a refresh that is under way is stale
 * as well. Waits only for the write lock of a SQLite file, for statement_ms at most. `*known` (may
 * be NULL) is 0 if no caller has refreshed the subject, or tried to, yet.
 *
 * EINVAL, EINTX, ESCHEMA, ESERVER, EDENIED, ECONN, ETIMEDOUT, ECANCELED, ENOMEM, EDB
 */
ROWLOCK_API int rowlock_expire(struct rowlock_connection *connection, const char *subject,
                               int *known, struct rowlock_error *error);

enum rowlock_subject_status {
    ROWLOCK_SUBJECT_NONE = 0,
    ROWLOCK_SUBJECT_PROCESSING, /* under a lease, now; a transaction sees only its own */
    ROWLOCK_SUBJECT_COMPLETE,
    ROWLOCK_SUBJECT_ERROR /* the last refresh failed, or died while PROCESSING */
};

/* Valid during the callback only; texts are never NULL; times 0: none. */
struct rowlock_subject_view {
    const char *name, *description, *by, *host, *error;
    enum rowlock_subject_status status;
    int64_t began_ms, ended_ms; /* of the last refresh; since 1970 UTC, database's clock */
    int64_t updated_ms;         /* end of the refresh that made the data; 0: no data, or expired */
    rowlock_duration age_ms;    /* since updated_ms; -1 if that is 0 */
    int64_t pid;
    int exit;     /* of the command; 128 + N: ended by signal N; -1: none */
    int has_data; /* 1: there is data, though it may have expired */
};

/* 0 continues the list; any other result ends it. */
typedef int (*rowlock_visit_subject)(const struct rowlock_subject_view *subject, void *data);

/*
 * Lists the subject `name`, or all (NULL) by name. Blocks for statement_ms at most.
 *
 * EINVAL, EINTX, ESCHEMA, EDENIED, ECONN, ECANCELED, ENOMEM, EDB
 */
ROWLOCK_API int rowlock_subjects(struct rowlock_connection *connection, const char *name,
                                 rowlock_visit_subject visit, void *data,
                                 struct rowlock_error *error);

/* ---- the schema ---------------------------------------------------------------------------- */

enum rowlock_technique {
    ROWLOCK_DEFAULT = 0, /* native where the engine has it, else row */
    ROWLOCK_NATIVE,      /* PostgreSQL's advisory locks; SQLite's write lock */
    ROWLOCK_ROW,         /* a committed row per name, locked FOR UPDATE or FOR SHARE */
    ROWLOCK_INSERT       /* INSERT and DELETE of a unique key; exclusive only. PostgreSQL: native,
                            and a trigger locks for programs that send these two statements */
};

struct rowlock_plan {
    enum rowlock_technique technique;
    const char *table; /* technique insert: the table to use; NULL: rowlock_object */
    const char *role;  /* rowlock_schema_text: the role that gets the GRANTs; NULL: "application";
                          MariaDB, MySQL: also "user@host" */
    int grants_only;   /* rowlock_schema_text: only the GRANTs, for an installed schema */
    int extension;     /* rowlock_schema_text: CREATE EXTENSION's script, without GRANTs;
                          PostgreSQL, technique native; else EMODE */
    int from; /* with extension: ALTER EXTENSION's script, which upgrades from this version */
};

/*
 * Creates rowlock's tables, functions and procedures; or those that are missing, after an
 * interrupted install or a DROP. Any number of nodes may call it at once. If the installed schema
 * has another technique, it is EINVAL: uninstall first. On PostgreSQL an installed extension
 * rowlock counts as the schema, and nothing is done; the same is true of a schema of the version
 * before this library's, or of the next one. Must not run inside a transaction. `plan` may
 * be NULL. Blocks while another node installs and while each of the schema's scripts runs, for six
 * times statement_ms at most each time.
 *
 * EMODE    the engine does not offer the technique
 * EINVAL   an object of another account blocks the install, or a table would run another's code
 * ESCHEMA  a newer schema is installed, or a table lacks a column or key: only uninstall can repair
 *          it
 * EDENIED  a privilege is missing; the error's text contains the GRANT
 * EINTX, ECONN, ECANCELED, ENOMEM, EDB
 */
ROWLOCK_API int rowlock_install(struct rowlock_connection *connection,
                                const struct rowlock_plan *plan, struct rowlock_error *error);

/*
 * Reports the installed technique. It decides the cost of a lock, and which other programs lock the
 * same names. Blocks for statement_ms at most.
 *
 * ESCHEMA  nothing is installed, or a version that this library does not work with
 * EINVAL   out is NULL
 * EINTX, EDENIED, ETIMEDOUT, ECONN, ECANCELED, ENOMEM, EDB
 */
ROWLOCK_API int rowlock_installed(struct rowlock_connection *connection,
                                  enum rowlock_technique *out, struct rowlock_error *error);

/*
 * Reports the version of the installed schema (0: none, or an interrupted install), and that which
 * this library installs. The library works with the versions before and after its own, too; with
 * any other it fails with ESCHEMA. Blocks for statement_ms at most.
 *
 * EINVAL  installed or own is NULL
 * EMODE   the database has the tables for odbc: and jdbc: URLs, and this is none; or the reverse
 * EINTX, EDENIED, ETIMEDOUT, ECONN, ECANCELED, ENOMEM, EDB
 */
ROWLOCK_API int rowlock_schema_version(struct rowlock_connection *connection, int *installed,
                                       int *own, struct rowlock_error *error);

/*
 * Reports whether CREATE EXTENSION rowlock installed the schema (PostgreSQL): `*out` is the version
 * of the extension, or NULL if there is no extension or nothing is installed. The extension is
 * changed and removed in SQL; rowlock_uninstall refuses to. Blocks for statement_ms at most. `*out`
 * is yours: rowlock_free.
 *
 * EINVAL  out is NULL
 * EINTX, EDENIED, ETIMEDOUT, ECONN, ECANCELED, ENOMEM, EDB
 */
ROWLOCK_API int rowlock_extension(struct rowlock_connection *connection, char **out,
                                  struct rowlock_error *error);

/*
 * Looks for a setting by which this server may lose committed transactions when its machine
 * crashes: `*out` is one line that names the setting and the remedy, or NULL if none was found. It
 * checks fsync and full_page_writes (PostgreSQL) and innodb_flush_log_at_trx_commit (MariaDB),
 * never the disk. On SQLite it checks nothing, `*out` is NULL, and the latest commits may be lost
 * when the machine crashes.
 *
 * Blocks for statement_ms at most. `*out` is yours: rowlock_free.
 *
 * EINVAL  out is NULL
 * EINTX, EDENIED, ETIMEDOUT, ECONN, ECANCELED, ENOMEM, EDB
 */
ROWLOCK_API int rowlock_durability(struct rowlock_connection *connection, char **out,
                                   struct rowlock_error *error);

/*
 * Looks for a reason not to call the functions of the installed schema with this account: `*out` is
 * one line that names it and the remedy, or NULL. On PostgreSQL the functions run with the rights
 * of their caller: a superuser trusts the role that owns the schema, which can replace them. It
 * calls none of them. On other engines it checks nothing, and `*out` is NULL.
 *
 * Blocks for statement_ms at most. `*out` is yours: rowlock_free.
 *
 * EINVAL  out is NULL
 * EINTX, EDENIED, ETIMEDOUT, ECONN, ECANCELED, ENOMEM, EDB
 */
ROWLOCK_API int rowlock_schema_risk(struct rowlock_connection *connection, char **out,
                                    struct rowlock_error *error);

/*
 * Lists missing objects of an installed schema: `*out` is one line for people ("table waiter, view
 * waiters"; the first of them, if there are many), or NULL if none is missing. rowlock_install and
 * rowlock_upgrade create them. If the row of meta is missing too, the technique is unknown, and its
 * own objects are not compared. An account sees only objects that it may use. Blocks for
 * statement_ms at most. `*out` is yours: rowlock_free.
 *
 * ESCHEMA  no object of rowlock's exists
 * EINVAL   out is NULL, or the session has no database
 * EINTX, EDENIED, ETIMEDOUT, ECONN, ECANCELED, ENOMEM, EDB
 */
ROWLOCK_API int rowlock_missing(struct rowlock_connection *connection, char **out,
                                struct rowlock_error *error);

/*
 * Upgrades an older schema to this library's version, and creates missing objects, as
 * rowlock_install; does nothing to a current and complete one, nor to that of the next version. An
 * extension is upgraded in SQL, and is ESCHEMA before that. An upgrade waits for transactions that
 * use the tables, in short attempts so that other sessions are not delayed for long.
 *
 * Blocks for three times statement_ms, and for the last attempt.
 *
 * Errors as rowlock_install, and ESCHEMA if nothing is installed.
 * ETIMEDOUT  transactions that use the tables stayed open
 * EABORTED, EROLLEDBACK  each attempt had a deadlock with such a transaction
 */
ROWLOCK_API int rowlock_upgrade(struct rowlock_connection *connection, struct rowlock_error *error);

/*
 * Removes all objects that rowlock_install created, also those of an interrupted install. A table
 * that existed before (plan->table) stays. Does nothing if nothing is installed. An extension is
 * EINVAL.
 *
 * EBUSY    rowlock is in use: a lock is held or waited for, or a counter, a job or a subject
 *          exists. The error's text lists them. Nothing was removed. Transactions that hold a lock
 *          are detected on PostgreSQL, on MariaDB with technique row, and on SQLite, which waits
 *          for them to end.
 * ESCHEMA  the schema is damaged, so use cannot be detected; rowlock_install repairs it
 * Errors as rowlock_install.
 */
ROWLOCK_API int rowlock_uninstall(struct rowlock_connection *connection,
                                  struct rowlock_error *error);

/*
 * Removes the schema even if it is in use, with all leases, counters, jobs and subjects; waits for
 * transactions that hold a lock, statement_ms at most. Also removes a damaged schema. Errors as
 * rowlock_install.
 */
ROWLOCK_API int rowlock_uninstall_force(struct rowlock_connection *connection,
                                        struct rowlock_error *error);

/*
 * Returns the SQL text that rowlock_install would run, with the GRANTs for plan->role, for a DBA to
 * read and run. `dialect` is "postgresql", "yugabytedb", "mariadb", "mysql", "tidb" or "sqlite";
 * or, for odbc: and jdbc: URLs, "derby", "h2", "hsqldb", "oracle", "sqlserver" or "db2". Needs no
 * connection. `*out` is yours: rowlock_free.
 *
 * EINVAL, EMODE, ENOMEM
 */
ROWLOCK_API int rowlock_schema_text(const char *dialect, const struct rowlock_plan *plan,
                                    char **out, struct rowlock_error *error);

/* Frees a text that a function of this header has returned as yours. Accepts NULL. Any thread. */
ROWLOCK_API void rowlock_free(char *text);

/*
 * Removes unused rows: rows of unheld names that were not prepared (technique row), committed rows
 * that another program left behind (technique insert, not on PostgreSQL), expired leases, dead
 * waiters. Does not wait for other sessions, on PostgreSQL except 20 ms for those that write
 * leases. `*removed` (may be NULL) counts the rows of names, leases and left-behind rows, and on
 * PostgreSQL and MariaDB the dead waiters; it does not count heartbeats, nor the rows of moved
 * names.
 *
 * EINTX, ESCHEMA, EDENIED, ECONN, ECANCELED, ENOMEM, EDB
 */
ROWLOCK_API int rowlock_vacuum(struct rowlock_connection *connection, int64_t *removed,
                               struct rowlock_error *error);

/*
 * Removes leases that expired more than a minute ago, 200 at most, so that the history shows them:
 * otherwise the next caller of the name does that. `rowlock cron` calls it once a minute. A lease
 * that another session has locked stays; behind odbc: and jdbc: URLs it waits for that lock, 250 ms
 * at most. Does nothing on MySQL. Blocks for statement_ms at most.
 *
 * EINTX, ESCHEMA, EDENIED, ETIMEDOUT, ECONN, ECANCELED, ENOMEM, EDB
 */
ROWLOCK_API int rowlock_sweep(struct rowlock_connection *connection, struct rowlock_error *error);

/*
 * Removes the row of one name (technique row) that is not held. Does nothing if it is held,
 * and with other techniques. Does not wait for other sessions, except behind odbc: and jdbc: URLs.
 *
 * EINVAL, EINTX, ESCHEMA, EDENIED, ETIMEDOUT, ECONN, ECANCELED, ENOMEM, EDB
 */
ROWLOCK_API int rowlock_vacuum_name(struct rowlock_connection *connection, const char *name,
                                    struct rowlock_error *error);

/* ---- examination ---------------------------------------------------------------------------- */

enum rowlock_finding_status {
    ROWLOCK_SOUND = 0,
    ROWLOCK_WARNS = 1, /* locks hold, but something is slow, late, or lost after a crash */
    ROWLOCK_UNSAFE = 2 /* locks will not hold, or cannot be acquired */
};

struct rowlock_finding { /* valid during the callback only; texts are never NULL */
    const char *check;   /* "privileges" */
    enum rowlock_finding_status status;
    const char *finding;
    const char *advice; /* what to do, or "" */
};

/* 0 continues; any other result ends it. */
typedef int (*rowlock_visit_finding)(const struct rowlock_finding *finding, void *data);

/*
 * Examines the server, this account and the schema, and changes nothing. The checks are driver,
 * server, pooler, isolation, read-only, durability, autovacuum, dead-rows, undo, owner, schema,
 * privileges (a finding for each missing GRANT, which is the advice), leases (expired, not swept)
 * and transactions (old ones that hold a name which no table contains). A table or privilege that
 * only the history needs is a warning. An engine reports only checks that it can have. A check may
 * have several findings, in sequence.
 *
 * Behind a pooler it opens a second session. Blocks for statement_ms at most, for each of its
 * queries.
 *
 * EINVAL, EINTX, EDENIED, ETIMEDOUT, ECONN, ECANCELED, ENOMEM, EDB
 */
ROWLOCK_API int rowlock_examine(struct rowlock_connection *connection, rowlock_visit_finding visit,
                                void *data, struct rowlock_error *error);

/*
 * Reads the clock by which leases expire and jobs are due: `*now_ms` is milliseconds since 1970
 * UTC. Blocks for statement_ms at most.
 *
 * EINVAL  now_ms is NULL
 * EINTX, ESCHEMA (odbc: and jdbc: URLs only), EDENIED, ETIMEDOUT, ECONN, ECANCELED, ENOMEM, EDB
 */
ROWLOCK_API int rowlock_clock(struct rowlock_connection *connection, int64_t *now_ms,
                              struct rowlock_error *error);

#ifdef __cplusplus
}
#endif
#endif
