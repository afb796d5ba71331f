/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rowlock: locks for a farm of servers, on the relational database that the farm already shares.
 *
 * Life cycle. Open a connection by URL, or wrap your own native one (rowlock/postgresql.h,
 * rowlock/mariadb.h, rowlock/sqlite.h); lock names in a transaction; commit or roll back, which
 * also unlocks; close. A lock lives exactly as long as the transaction it was taken in: COMMIT,
 * ROLLBACK and the death of either side end it, nothing else has to.
 *
 * Conventions, true of every function here:
 *   result     0 or a negative ROWLOCK_E code; outputs are written only on success
 *   error      the last parameter; caller's memory, may be NULL, nothing to free
 *   ownership  what comes back through a pointer to pointer is yours to close or free; close and
 *              free take NULL; strings passed in are copied if they are needed after the call
 *   threads    one thread at a time per connection; different connections never meet
 *   waiting    wait_ms: 0 tries once, < 0 waits for ever, else milliseconds; every call but
 *              commit, rollback and release also ends with ROWLOCK_ECANCELED soon after the
 *              connection's interrupt_fd turned readable
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

/* name, value, text: the one list from which the codes, their names and texts are made */
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
    XX(ECONN, -17, "database unreachable or connection lost")                  \
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

/* What a failed call left of the transaction. */
enum rowlock_transaction {
    ROWLOCK_TX_NONE = 0,    /* none is open */
    ROWLOCK_TX_KEPT,        /* open and usable; earlier locks are held, those asked for are not */
    ROWLOCK_TX_KEPT_LOCKED, /* open and usable, but some row asked for stays locked until its end */
    ROWLOCK_TX_ABORTED,     /* open, its locks are gone, only ROLLBACK is accepted */
    ROWLOCK_TX_GONE,        /* the engine rolled it back, with all its locks */
    ROWLOCK_TX_DEAD         /* the connection is lost, and the transaction with it */
};

struct rowlock_error {
    int code;                             /* enum rowlock_code */
    int native;                           /* the engine's own number; 0 if it has none */
    enum rowlock_transaction transaction; /* what is left of it */
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
 * Version and the drivers compiled in: "0.1.0 sqlite postgresql mariadb". Static memory. Any
 * thread.
 */
ROWLOCK_API const char *rowlock_version(void);

/* ---- connection -------------------------------------------------------------------------- */

typedef int64_t rowlock_duration; /* milliseconds */

struct rowlock_connection; /* one database session, your own or ours */

struct rowlock_options {           /* all zero: the defaults */
    rowlock_duration connect_ms;   /* 0: 10 s; < 0: no limit */
    rowlock_duration statement_ms; /* limit of a statement that is not a wait; 0: 10 s; < 0: none */
    int interrupt_fd;              /* readable: give up; 0 or -1: none */
    const char *url;               /* wrapped connections only: where a second may be opened */
    const char *database;          /* MariaDB: where rowlock is installed; NULL: the current one */
};

/*
 * Opens a database session.
 *
 * Schemes: sqlite:PATH, postgresql:// and postgres:// (all that libpq knows), mysql:// and
 * mariadb://. The client library of a scheme is loaded on its first use. A SQLite file that does
 * not exist is created with mode 0600, and rowlock's tables in it.
 *
 * Blocks until connected, refused, or connect_ms. Keeps no reference to `url` or `options`; no
 * message ever holds its password. `*out` is yours: rowlock_close.
 *
 * EINVAL   the URL or an option cannot be right; nothing was sent
 * EDRIVER  no driver for this scheme, or its client library is not installed
 * ECONN    the server cannot be reached, or did not answer in time: it is worth trying again
 * EDENIED  the server refused user, password or database, TLS cannot be agreed on, or this user may
 *          not open or create the SQLite file
 * ESERVER  a standby, a read-only server or a Galera node: no lock would exclude anybody there; or
 *          a SQLite path that is no file, or whose folder does not exist
 * ECANCELED, ENOMEM, EDB
 */
ROWLOCK_API int rowlock_open(const char *url, const struct rowlock_options *options,
                             struct rowlock_connection **out, struct rowlock_error *error);

/*
 * Closes; an open transaction is rolled back, unless the native connection was wrapped: that one
 * is left as it is. Does not block on the server. NULL is fine.
 */
ROWLOCK_API void rowlock_close(struct rowlock_connection *connection);

/*
 * The socket of the session, to be polled, never read: readable while nothing is being asked
 * means that the server ended the session. -1 where there is none (SQLite).
 */
ROWLOCK_API int rowlock_socket(const struct rowlock_connection *connection);

/*
 * Asks the server whether the session is still there: one round trip, which also resets the
 * server's idle timers. Blocks for statement_ms at most.
 *
 * ECONN  the session is lost, and with it an open transaction and its locks
 */
ROWLOCK_API int rowlock_ping(struct rowlock_connection *connection, struct rowlock_error *error);

/* ---- locks in a transaction --------------------------------------------------------------- */

enum rowlock_mode { ROWLOCK_EXCLUSIVE = 0, ROWLOCK_SHARED = 1, ROWLOCK_PERMIT = 2 };

struct rowlock_want {
    const char *name;
    enum rowlock_mode mode; /* PERMIT: leases only */
    int64_t token;          /* of your own lease on this name, to lock beneath it; 0: none */
    int limit;              /* PERMIT: how many permits the name has in all */
    int count;              /* PERMIT: how many of them you want; 0: one */
};

/*
 * Begins a transaction at READ COMMITTED and locks the names in it, all or none, in one round trip
 * on PostgreSQL and MariaDB. What other transactions did under the same names is committed and
 * visible. A name given twice is locked once, exclusively if either is. On failure no transaction
 * is open.
 *
 * Blocks while another holds a name, until `wait_ms` is over. While one of the names is leased it
 * waits holding nothing, so leases that follow each other without a pause may pass it by;
 * rowlock_lock, in a transaction that is open, keeps its place before them (not on SQLite). On
 * SQLite every name conflicts with every other: the file has one write lock, and a shared lock is an
 * exclusive one. A server that says nothing is given two or three seconds more than `wait_ms`, then
 * the connection is lost (ECONN); a wrapped one is given statement_ms more.
 *
 * EBUSY        wait_ms was 0 and a name is held; the text says by whom
 * ETIMEDOUT    wait_ms is over, or a time-out of the server's own; the text says who holds it
 * ECANCELED    interrupt_fd turned readable
 * EINTX        a transaction is open already: use rowlock_lock
 * EINVAL       a name is empty, too long or not UTF-8; n is 0; nothing was sent
 * EMODE        shared under technique insert; a permit
 * ELEFTOVER    technique insert: a committed row holds the name; rowlock_vacuum deletes it
 * ELOST        the token of a want is no lease of that name, or not one strong enough
 * ESCHEMA      rowlock is not installed there, or by another version
 * ESERVER, EDENIED, ECONN, ENOMEM, EDB
 *
 * Source: J. Udby, "Implementing a simple database semaphore"; F. Pachot, locks on arbitrary
 * values as SQL functions; PostgreSQL manual, "Advisory Locks"; MariaDB manual, "InnoDB Locking".
 */
ROWLOCK_API int rowlock_begin(struct rowlock_connection *connection,
                              const struct rowlock_want *wants, size_t n, rowlock_duration wait_ms,
                              struct rowlock_error *error);

/*
 * Locks more names in the transaction that is open, all or none. EBUSY, ETIMEDOUT and ECANCELED
 * leave the transaction and its earlier locks as they were; on MariaDB a row that was won before
 * the failure stays locked until the end (error->transaction says so).
 *
 * Blocks as rowlock_begin does, but for a leased name at most 30 s: the lease's holder may be
 * waiting for your rows, and no engine can see that. On SQLite a leased name is EBUSY at once.
 *
 * ENOTX        no transaction is open: use rowlock_begin
 * ESNAPSHOT    REPEATABLE READ or above (PostgreSQL, InnoDB), or a SQLite transaction that has read
 *              and cannot be upgraded: it may not see what the lock waited for; roll back
 * EUNPREPARED  technique row, a name never seen, no URL for a second connection: rowlock_prepare
 * EABORTED     PostgreSQL chose it as a deadlock victim, or the caller's own statement had failed
 * EROLLEDBACK  MariaDB chose it as a deadlock victim: the transaction is gone with all it did
 * and all those of rowlock_begin but EINTX
 */
ROWLOCK_API int rowlock_lock(struct rowlock_connection *connection,
                             const struct rowlock_want *wants, size_t n, rowlock_duration wait_ms,
                             struct rowlock_error *error);

/*
 * Makes the names known, in a transaction of its own, before you BEGIN by yourself; needed for
 * technique row only, harmless elsewhere. Blocks for statement_ms at most.
 *
 * EINTX   a transaction is open: it must come before
 * EINVAL, ESCHEMA, EDENIED, ECONN, ECANCELED, ENOMEM, EDB
 */
ROWLOCK_API int rowlock_prepare(struct rowlock_connection *connection,
                                const struct rowlock_want *wants, size_t n,
                                struct rowlock_error *error);

/*
 * Ends the transaction, and with it every lock taken in it. Blocks for statement_ms at most, and is
 * not interrupted: it would leave the outcome unknown.
 *
 * EABORTED     the server rolled back instead, because a statement of yours had failed
 * EROLLEDBACK  the transaction had been rolled back before
 * EUNKNOWN     the connection was lost while COMMIT was under way
 * ECONN        the connection was lost before COMMIT was sent: nothing was committed
 * ENOTX, EDB
 */
ROWLOCK_API int rowlock_commit(struct rowlock_connection *connection, struct rowlock_error *error);

/*
 * Rolls back; without a transaction it does nothing. Blocks for statement_ms at most, and is not
 * interrupted.
 *
 * ECONN  the connection is lost, and the server rolls back
 */
ROWLOCK_API int rowlock_rollback(struct rowlock_connection *connection,
                                 struct rowlock_error *error);

/*
 * The fence: is this lease still yours? Checks the token inside your transaction, and keeps it
 * valid until that transaction ends: whoever wants to end the lease waits for you. What you write
 * under it is exact, whatever clocks and pauses did. On MariaDB, at REPEATABLE READ, roll back at
 * once after ELOST: the look has locked a gap that stops other grants.
 *
 * Blocks for statement_ms at most, while somebody is ending the lease.
 *
 * ELOST  the token is no lease of that name any more; the transaction is kept, roll it back
 * ENOTX, ESERVER (a read-only transaction), EINVAL, EABORTED, EROLLEDBACK, ETIMEDOUT, ECANCELED,
 * ESCHEMA, EDENIED, ECONN, ENOMEM, EDB
 *
 * Source: M. Kleppmann, "How to do distributed locking" (fencing tokens).
 */
ROWLOCK_API int rowlock_fence(struct rowlock_connection *connection, const char *name,
                              int64_t token, struct rowlock_error *error);

/*
 * A counter: the next `count` numbers of it, *first and those after it, inside your transaction. No
 * number is given twice, and none is missing: until COMMIT nobody else draws from this counter,
 * and ROLLBACK takes the numbers back. A new counter begins with `start`; later `start` counts for
 * nothing. The lock is that of the ordinary name "counter:COUNTER", which ls shows.
 *
 * Blocks as rowlock_lock does, while another transaction has drawn and not ended: draw late, just
 * before COMMIT. Where a name must be known beforehand (rowlock_prepare), "counter:COUNTER" must.
 *
 * EINVAL  the counter's name is empty, has more than 247 bytes or is not UTF-8; count is not 1 to
 *         1000000000; start is beyond 2^62; nothing was sent
 * else as rowlock_lock. The transaction is kept but where error->transaction says otherwise.
 *
 * Source: J. Udby, "Implementing a simple database semaphore", the comments.
 */
ROWLOCK_API int rowlock_next(struct rowlock_connection *connection, const char *counter,
                             int64_t start, int64_t count, rowlock_duration wait_ms, int64_t *first,
                             struct rowlock_error *error);

/* ---- leases: locks that outlive a transaction ----------------------------------------------- */

struct rowlock_lease; /* one grant, of one or several names */

/* Called by rowlock_acquire, on its caller's thread, when the connection was lost during a wait and
   the database cannot be reached; once for each time that it is away. It must not use the
   connection. */
typedef void (*rowlock_on_disconnect)(const struct rowlock_error *why, void *data);

struct rowlock_terms {          /* all zero: 30 s, tried once */
    rowlock_duration ttl_ms;    /* it ends so long after the last renewal; 0: 30 s; 1 s at least */
    rowlock_duration wait_ms;   /* 0: try, < 0: for ever */
    const char *note, *command; /* shown to whoever asks who holds the name; may be NULL */
    rowlock_on_disconnect on_disconnect; /* may be NULL */
    void *data;                          /* of on_disconnect */
    int no_process; /* 1: this process waits for the lease, and does not keep it: no pid is shown */
};

/*
 * Acquires a lease of all the names, or of none: exclusive, shared, or permits. It is an object of
 * its own, committed and durable: it outlives the connection, and ends by release, by
 * rowlock_break, or ttl_ms after its last renewal. It excludes the transaction locks of
 * rowlock_begin and rowlock_lock, and they exclude it. Its token is greater than that of every
 * earlier lease it excludes.
 *
 * First come, first served per name. Blocks until granted or `wait_ms` is over; a try lasts up to
 * 250 ms where another grant holds a name for a moment. A connection that is lost meanwhile is
 * opened again if it was opened by URL, and whether the lease was granted is settled by the owner
 * id of this call: never twice. A wait lasts through a restart of the database: connecting is
 * tried more and more seldom, every 5 s at last, until `wait_ms` is over (ECONN), and the place in
 * the queue is a new one. A try does so for connect_ms. Who is killed while waiting gets no lease.
 * A server that says nothing is given two or three seconds more than `wait_ms`, and for the COMMIT
 * of what it granted statement_ms; then the connection is lost (ECONN). A wrapped one is given
 * statement_ms more in any case. A lease that was granted, but not known of by then, ends after
 * its ttl.
 *
 * `*out` is yours: rowlock_lease_free, after rowlock_release. It uses `connection`, which must
 * outlive it. No transaction may be open.
 *
 * EBUSY, ETIMEDOUT  as rowlock_begin; the text says who holds the name, and how many wait
 * ECANCELED         interrupt_fd turned readable; nothing is left in the queue
 * ELIMIT            permits of this name are held or waited for with another limit
 * ELOST             it was granted, and broken or expired before the call could return
 * ELEFTOVER         technique insert: as rowlock_begin
 * EINVAL            a bad name, ttl, limit or count; a want has a token; permits of a name asked
 *                   twice
 * EINTX, ESCHEMA, ESERVER, EDENIED, ECONN, ENOMEM, EDB
 *
 * Source: C. Gray, D. Cheriton, "Leases"; J. Udby, "Implementing a simple database semaphore".
 */
ROWLOCK_API int rowlock_acquire(struct rowlock_connection *connection,
                                const struct rowlock_want *wants, size_t n,
                                const struct rowlock_terms *terms, struct rowlock_lease **out,
                                struct rowlock_error *error);

struct rowlock_group; /* sessions that the threads of a process share */

/*
 * Group commit: opens `sessions` database sessions (0: 2; 16 at most) for threads that acquire and
 * release many leases. What they ask at the same moment travels together and waits for the disk
 * once, so that the more threads ask, the less each costs. Those who were in the last batch are
 * waited for, a quarter of the time it took at most.
 *
 * Batched are rowlock_acquire of one name, exclusively, that nobody holds or waits for, and the
 * rowlock_release of it, which then is on disk when it returns; on PostgreSQL with technique native
 * only. Everything else, and on other servers everything, goes by the member's own session.
 *
 * Blocks, and keeps what it is given, as rowlock_open. A question is given up after 2 s in the
 * queue, or 2 s and a moment without an answer, and 2 s more where the session had to be opened
 * again; then the member asks alone. interrupt_fd is not looked at meanwhile. Any thread may join.
 * `*out` is yours: rowlock_group_close, after the members and their leases. In a child of fork it
 * cannot be used.
 *
 * EINVAL   as rowlock_open, or so many sessions are not offered
 * ESCHEMA, EDRIVER, ECONN, EDENIED, ESERVER, ECANCELED, ENOMEM, EDB
 *
 * Source: D. DeWitt and others, "Implementation Techniques for Main Memory Database Systems" (group
 * commit).
 */
ROWLOCK_API int rowlock_group_open(const char *url, const struct rowlock_options *options,
                                   int sessions, struct rowlock_group **out,
                                   struct rowlock_error *error);

/*
 * A connection for one thread, to be used as one of rowlock_open: for everything. Its own session is
 * opened when first needed: by who has to wait, by several names, shared leases and permits, by
 * transactions, renewals and lists. Until then it has no native handle and no socket. Does not
 * block. `*out` is yours: rowlock_close.
 *
 * EINVAL  no group, or one of another process;  ENOMEM
 */
ROWLOCK_API int rowlock_group_join(struct rowlock_group *group, struct rowlock_connection **out,
                                   struct rowlock_error *error);

/* Closes the sessions; no member may be left. NULL is fine. */
ROWLOCK_API void rowlock_group_close(struct rowlock_group *group);

/*
 * The lease that another process acquired, by its token. What is left of it counts from now, by
 * what the database says. Blocks for statement_ms at most. `*out` is yours: rowlock_lease_free.
 *
 * ELOST  it is no lease of that name, or has expired, or was broken
 * EINVAL, EINTX, ESCHEMA, ESERVER, EDENIED, ECONN, ECANCELED, ENOMEM, EDB
 */
ROWLOCK_API int rowlock_adopt(struct rowlock_connection *connection, const char *name,
                              int64_t token, struct rowlock_lease **out,
                              struct rowlock_error *error);

/*
 * Renews: it now ends ttl_ms from now, never earlier than before. 0: the ttl it was acquired with;
 * of an adopted lease what was left of it then, at least 30 s.
 * A lost connection that was opened by URL is opened again. Blocks for statement_ms at most, and
 * not beyond the lease's end.
 *
 * ELOST  it was broken, or has expired and was removed, or its SQLite file was deleted or replaced:
 *        stop what you do under it. A lock in such a file is refused by ESERVER until it is opened again
 * ECONN, ETIMEDOUT  not renewed; it is yours until rowlock_remaining says 0: try again
 * ECANCELED, EINTX, EDENIED, ENOMEM, EDB
 */
ROWLOCK_API int rowlock_renew(struct rowlock_lease *lease, rowlock_duration ttl_ms,
                              struct rowlock_error *error);

/*
 * Gives the lease back, and stops its keeper. To do it twice does no harm. Blocks for statement_ms
 * at most, also while a fenced transaction of yours is open; then it is left to expire. A statement that
 * the server cancels is repeated until the lease's end. The call is not interrupted: the signal that ends a
 * program is often why it releases.
 *
 * ELOST  it had been lost before: what was done under it may have overlapped with another's work
 * ETIMEDOUT, EINTX, EDENIED, ECONN, ENOMEM, EDB
 */
ROWLOCK_API int rowlock_release(struct rowlock_lease *lease, struct rowlock_error *error);

/* Frees the object; the lease itself stays until it is released or expires. A keeper is stopped.
   NULL is fine. */
ROWLOCK_API void rowlock_lease_free(struct rowlock_lease *lease);

/* The fencing token. Any thread. */
ROWLOCK_API int64_t rowlock_token(const struct rowlock_lease *lease);

/* The owner id of the call that acquired it, 32 hex digits; "" if adopted. The lease's memory. */
ROWLOCK_API const char *rowlock_owner(const struct rowlock_lease *lease);

/*
 * Milliseconds that are left by this node's monotonic clock, counted from before the last
 * successful renewal was sent; 0 when it is over or lost. Any thread.
 */
ROWLOCK_API rowlock_duration rowlock_remaining(const struct rowlock_lease *lease);

/* Called once, on the keeper's thread, when the lease is lost: broken, expired, or its end came
   while the database was away. It must not call rowlock_release or rowlock_lease_free. */
typedef void (*rowlock_on_lost)(struct rowlock_lease *lease, const struct rowlock_error *why,
                                void *data);

/*
 * Starts a thread with a connection of its own that renews every third of the ttl until the lease
 * is released or freed. Needs a connection that knows a URL. Signals are blocked in the thread.
 *
 * EINVAL  no URL, or kept already;  ELOST, EDRIVER, EDENIED, ECONN, ECANCELED, ENOMEM, EDB
 */
ROWLOCK_API int rowlock_auto_renew(struct rowlock_lease *lease, rowlock_on_lost on_lost, void *data,
                                   struct rowlock_error *error);

/*
 * Breaks leases of `name`: all (token 0), or one. Their next renewal is refused, the holders stop,
 * and the name is free when they released or expired. `now` removes them at once: a holder that has
 * not noticed yet overlaps with the next. A lease of several names ends for all of them; what a job that
 * has ended left taken (at_least_ms) is free at once. `*broken` (may be NULL): how many. Blocks for
 * statement_ms at most.
 *
 * ETIMEDOUT  a transaction that has checked the token (rowlock_fence) is still open
 * ECANCELED  interrupt_fd turned readable: the server has stopped, and the lease it waited for is not
 *            broken; of several on MariaDB some may be. Where it did not answer the text says so
 * ECONN      the connection was lost, or the server did not answer: it may be broken all the same
 * EINVAL, EINTX, ESCHEMA, ESERVER, EDENIED, ENOMEM, EDB
 */
ROWLOCK_API int rowlock_break(struct rowlock_connection *connection, const char *name,
                              int64_t token, int now, int64_t *broken, struct rowlock_error *error);

enum rowlock_holding { ROWLOCK_HOLDS = 0, ROWLOCK_WAITS = 1, ROWLOCK_HOLDS_TX = 2 };

struct rowlock_holder { /* valid during the callback only; texts are never NULL, "": unknown */
    enum rowlock_holding holding; /* HOLDS_TX: by a transaction, as far as the engine can tell */
    const char *name, *owner, *host, *command, *note;
    enum rowlock_mode mode;
    int64_t token, ticket;         /* 0: none */
    int64_t pid;                   /* on host; HOLDS_TX: the server's own number of the session; 0:
                                      unknown, or of a lease that no process keeps */
    int64_t since_ms, expires_ms;  /* since 1970 UTC, database's clock; 0: unknown */
    rowlock_duration remaining_ms; /* until it expires, by the database's clock */
    int limit, count;              /* permits */
    int stop;                      /* 1: broken: told to stop, and its next renewal is refused */
};

/* 0: go on; else the list ends. */
typedef int (*rowlock_visit)(const struct rowlock_holder *holder, void *data);

/*
 * Who holds and who waits: of `name`, or of all leases (NULL); holders before waiters, these in
 * their order. Expired leases and dead waiters are left out. The locks of transactions are listed
 * where the engine tells; of all names those alone which it knows: MariaDB where somebody waits,
 * PostgreSQL where the name is leased, waited for, a counter's, or known to the technique row.
 *
 * MariaDB does not tell of a lock for which nobody waits: a name that nobody is seen to hold is
 * locked for a moment, and in that moment another's try may be refused. It is tried again, a few
 * times in a fraction of a second, before it is called held; who may not try is not told.
 *
 * Blocks for statement_ms at most, for each of these questions.
 *
 * EINVAL, EINTX, ESCHEMA, EDENIED, ECONN, ECANCELED, ENOMEM, EDB
 */
ROWLOCK_API int rowlock_list(struct rowlock_connection *connection, const char *name,
                             rowlock_visit visit, void *data, struct rowlock_error *error);

/* ---- jobs: what exactly one node of a farm does when it is due -------------------------------- */

struct rowlock_schedule; /* when something is due; never changed after it was opened: any thread */

/*
 * Reads a schedule: "every DURATION" ("every 5m"; its instants are the multiples of the period since
 * 1970 UTC), or a line of cron, five fields or "@daily" and the like, in the time zone `zone` ("Europe/Berlin";
 * NULL: UTC). Does not block but for the zone's file. `*out` is yours: rowlock_schedule_close. `*column` (may
 * be NULL) says, from 1, where in `text` a mistake is; 0: it is in the zone.
 *
 * Instants are milliseconds since 1970 UTC. When clocks change, a line whose minute and hour do not begin with
 * '*' comes exactly once: at the first instant after the time that was skipped, or in the first pass of the one
 * that comes twice; any other follows real time.
 *
 * EINVAL   the text or the zone cannot be read; ENOMEM
 *
 * Source: crontab(5) of Vixie and of Debian; RFC 9636 (TZif).
 */
ROWLOCK_API int rowlock_schedule_open(const char *text, const char *zone,
                                      struct rowlock_schedule **out, size_t *column,
                                      struct rowlock_error *error);

/* NULL is fine. */
ROWLOCK_API void rowlock_schedule_close(struct rowlock_schedule *schedule);

/* "every 5m", "cron 0 4 * * mon Europe/Berlin": equal texts are equal schedules. Its own memory. */
ROWLOCK_API const char *rowlock_schedule_text(const struct rowlock_schedule *schedule);

/* The first instant after `after_ms`, or INT64_MAX: none before the year 10000. */
ROWLOCK_API int64_t rowlock_schedule_next(const struct rowlock_schedule *schedule,
                                          int64_t after_ms);

/* How many bytes at the head of a crontab's line are its schedule, blanks before it included: two words
   after "every", one that begins with '@', else five, or as many as there are. */
ROWLOCK_API size_t rowlock_schedule_length(const char *line);

enum rowlock_missed { ROWLOCK_MISSED_ONCE = 0, ROWLOCK_MISSED_SKIP = 1 };

struct rowlock_job {  /* what this node was told of it; all but the first two may be zero */
    const char *name; /* 1 to 251 bytes: its lock is the name "job:NAME" */
    const struct rowlock_schedule *schedule;
    rowlock_duration ttl_ms; /* of the lease while it runs; 0: 30 s */
    rowlock_duration
        early_ms; /* a call this long before the due time answers EARLY: for callers that come by a
                     clock of their own; 0 to 30 s, at most a quarter of the period is used */
    rowlock_duration
        at_least_ms; /* the name stays taken so long after the start, though it ends before */
    rowlock_duration backoff_ms; /* before a failed run is repeated; 0: 10 s */
    int retry; /* repeats of one instant, of failed and lost runs; 0: one, of a lost run; < 0: none.
                  A run that was not started does not count */
    enum rowlock_missed
        missed;  /* instants in which nobody called: made up by one run, or skipped */
    int history; /* runs that are kept; 0: 100 */
    const char *note, *command; /* as in rowlock_terms */
};

enum rowlock_claimed {
    ROWLOCK_JOB_NOT_DUE = 0, /* nothing before next_ms */
    ROWLOCK_JOB_RUNNING, /* it runs, or its name is held: by whom rowlock_jobs and rowlock_list tell */
    ROWLOCK_JOB_CLAIMED, /* it is yours to run */
    ROWLOCK_JOB_EARLY    /* due at next_ms, within early_ms: wait until then, and call again */
};

struct rowlock_claim {
    enum rowlock_claimed claimed;
    int64_t now_ms;   /* the database's clock when it answered; instants are by it */
    int64_t next_ms;  /* when asking again may find another answer; INT64_MAX: never. RUNNING: the
                           end of the lease, or the next instant if that comes first */
    int64_t due_ms;   /* CLAIMED: the due time of this run, the last of those that were missed */
    int retry_number; /* CLAIMED: 0, or the number of this repetition of that instant */
    int64_t lost;     /* token of the run before, if this call found it lost; else 0 */
};

/*
 * Asks whether the job is due, and if so claims it: the exclusive lease of "job:NAME" and the job's row,
 * advanced, in one transaction. Of any number of nodes that ask at once exactly one is told CLAIMED, with
 * `*lease`; it runs the job, keeps the lease (rowlock_auto_renew, rowlock_renew), and calls rowlock_finish. A run
 * whose node died leaves no lease after its ttl: whoever asks next records it as lost, and repeats it as
 * `retry` says. A schedule other than the one written down takes effect by being asked for. All nodes must
 * be told the same; the database holds only the state.
 *
 * Nothing is claimed before its due time by the database's clock; the transaction of the claim checks that
 * again. A program that starts by a clock of its own sets early_ms: while the answer is EARLY it sleeps
 * for next_ms - now_ms milliseconds and calls again. Nothing is held or open in between; another node may
 * win then.
 *
 * Blocks for a few round trips of statement_ms at most; never waits for a lock longer than a try of
 * rowlock_acquire does. `*lease` is yours as after rowlock_acquire; NULL unless CLAIMED. No transaction may
 * be open. A lost reply is settled as in rowlock_acquire: never two runs.
 *
 * EINVAL  a bad name or option; nothing was sent
 * ELOST   it was claimed, and broken or over before the call could return: it counts as broken or lost
 * EINTX, ESCHEMA, ESERVER, EDENIED, ECONN, ECANCELED, ENOMEM, EDB
 *
 * Source: "Using a Relational DBMS as a Multi Server Concurrency Control" (DZone); ShedLock.
 */
ROWLOCK_API int rowlock_claim(struct rowlock_connection *connection, const struct rowlock_job *job,
                              struct rowlock_claim *claim, struct rowlock_lease **lease,
                              struct rowlock_error *error);

enum rowlock_run_outcome {
    ROWLOCK_RUN_RUNNING = 0,
    ROWLOCK_RUN_DONE,      /* exit 0 */
    ROWLOCK_RUN_FAILED,    /* any other */
    ROWLOCK_RUN_TIMEDOUT,  /* stopped, because it took longer than it may */
    ROWLOCK_RUN_BROKEN,    /* stopped by rowlock_break */
    ROWLOCK_RUN_LOST,      /* its lease ended before it was finished, or it was ended for that */
    ROWLOCK_RUN_LATE,      /* the same, and it was finished afterwards */
    ROWLOCK_RUN_NOTSTARTED /* it was claimed, and never began */
};

struct rowlock_result {
    int exit;      /* exit status; 128 + N: ended by signal N */
    int timed_out; /* 1: record it as TIMEDOUT */
    const char
        *output; /* the end of what it printed, UTF-8; the last 2048 bytes are kept; may be NULL */
    enum rowlock_run_outcome
        outcome; /* 0: DONE if `exit` is 0, else FAILED. Or one of DONE, FAILED,
                                         TIMEDOUT, LOST, NOTSTARTED, whatever `exit` is. Only work that
                                         ran to its own end under the lease is DONE. */
};

/*
 * Ends a run that rowlock_claim began: the lease is given back and the result recorded, in one transaction.
 * It is rowlock_release in all else: a statement that the server cancels is repeated until the lease's end. Where
 * the lease is lost, the result goes into the history alone, as LATE or NOTSTARTED: the run that follows is not
 * touched. A broken run is BROKEN, whatever the result says.
 *
 * A run that ends as LOST is repeated as `retry` says. One that is NOTSTARTED does not count as a try: it is
 * claimed again after `backoff_ms`, until it starts or the next instant takes its place. The name of both is
 * free at once, also before at_least_ms has passed.
 *
 * EINVAL  the lease is not of a job; the outcome is one that only the database finds
 * ELOST   it had been lost or broken before; the history says so
 * ETIMEDOUT, EINTX, EDENIED, ECONN, ENOMEM, EDB: not known to be recorded; try again, or it counts as lost
 */
ROWLOCK_API int rowlock_finish(struct rowlock_lease *lease, const struct rowlock_result *result,
                               struct rowlock_error *error);

struct rowlock_run { /* valid during the callback only; texts are never NULL; instants 0: none */
    const char *job, *node, *output;
    enum rowlock_run_outcome outcome;
    int64_t token, pid, due_ms, started_ms, finished_ms; /* database's clock, since 1970 UTC */
    int exit;                                            /* of a finished run */
    int retry_number;
};

struct rowlock_job_view { /* as above */
    const char *name, *schedule;
    int64_t now_ms,
        next_ms; /* next_ms: the next instant that nobody has claimed; INT64_MAX: none */
    struct rowlock_run
        running; /* token 0: it does not run. RUNNING; else it has ended in another way than by
                    itself (LOST, BROKEN, LATE, NOTSTARTED), and the next claim settles it */
    struct rowlock_run last;  /* the last one that has ended; token 0: none */
    int64_t runs, average_ms; /* of those in the history that were DONE */
    int64_t
        failed_since_ms; /* the first of the runs that failed or did not start, one after the other,
                            up to the last; 0 */
};

typedef int (*rowlock_visit_job)(const struct rowlock_job_view *job, void *data);
typedef int (*rowlock_visit_run)(const struct rowlock_run *run, void *data);

/*
 * The job `name`, or all (NULL), by name; what is due, what runs where, how the last run ended. The callback's
 * result other than 0 ends the list. Blocks for statement_ms at most.
 *
 * EINVAL, EINTX, ESCHEMA, EDENIED, ECONN, ECANCELED, ENOMEM, EDB
 */
ROWLOCK_API int rowlock_jobs(struct rowlock_connection *connection, const char *name,
                             rowlock_visit_job visit, void *data, struct rowlock_error *error);

/* The history of a job, the latest run first. As rowlock_jobs. */
ROWLOCK_API int rowlock_runs(struct rowlock_connection *connection, const char *name,
                             rowlock_visit_run visit, void *data, struct rowlock_error *error);

/*
 * Forgets a job that no node is told of any more: its row and its history. Waits for nobody.
 *
 * EBUSY  it runs
 * EINVAL, EINTX, ESCHEMA, EDENIED, ECONN, ECANCELED, ENOMEM, EDB
 */
ROWLOCK_API int rowlock_forget_job(struct rowlock_connection *connection, const char *name,
                                   struct rowlock_error *error);

/* ---- refresh: made anew once, when it is stale -------------------------------------------------- */

/*
 * A subject is something that several programs use and one of them has to make anew now and then: a cache
 * table, a file, a report. Who makes it anew holds the name "subject:NAME" exclusively, who uses it holds it
 * shared: in a transaction of its own (begin, done, failed; use), or as a lease. What became of it is
 * kept in the database; who finds it young enough waits for nobody.
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
    rowlock_duration max_age_ms; /* older is stale; 0: any is; < 0: any age is fine */
    const char *table; /* in a transaction: the table in which it is, to be locked for programs
                                    that know no rowlock, see rowlock_use_begin; NULL: none */
    const char *description; /* kept, and shown by rowlock_subjects; NULL: as it was */
    const char *command;     /* who does it, as people are to see it; NULL: the program's name */
};

struct rowlock_refresh {
    char subject[248];
    int stale;               /* 1: make it anew; then finish it by one of the calls below */
    rowlock_duration age_ms; /* of what is there; -1: it was never made */
    int64_t version;
};

/*
 * Is it stale: older than max_age_ms, expired, never made, or not made to its end? Then begins a transaction
 * (as rowlock_begin does), locks "subject:NAME" exclusively, looks again by the database's clock, and
 * leaves it open for you to make the subject anew on the same session: end it by rowlock_refresh_done or
 * rowlock_refresh_failed. Fresh: nothing was locked or no longer is, and no transaction is open.
 *
 * Blocks while another makes it anew, or uses it, until `wait_ms` is over; then the look may find it fresh. A
 * subject that is fresh to begin with blocks nobody. With `table` also while that is written to or used. On
 * failure no transaction is open. Keeps nothing of `subject`.
 *
 * EINVAL  the name is empty, has more than 247 bytes or is not UTF-8; there is no such table
 * EMODE   a table is named, and the engine cannot lock one: see rowlock_use_begin
 * and all those of rowlock_begin
 *
 * Source: "Using ROW/TABLE Locks To Implement Application/Job Semaphore To Handle Race Conditions" (Oracle,
 * PL/SQL). There a failure counts as an update, and nobody tries again for a day; here the next caller does.
 */
ROWLOCK_API int rowlock_refresh_begin(struct rowlock_connection *connection,
                                      const struct rowlock_subject *subject,
                                      rowlock_duration wait_ms, struct rowlock_refresh *out,
                                      struct rowlock_error *error);

/*
 * It is made: says so, and commits. Blocks for statement_ms at most.
 *
 * ELOST  the transaction of rowlock_refresh_begin is over already: something has committed it, or rolled it
 *        back, unseen. Its locks went with it, so others may have come in between. What was done
 *        since may stand in another transaction, which is kept: call rowlock_refresh_failed, which
 *        rolls back and writes the ERROR down. Every engine can tell, also where a new transaction was
 *        begun since (PostgreSQL by the transaction's number, MariaDB and SQLite by a savepoint,
 *        rowlock_refresh, that goes with it: set no other of this name). On MariaDB every DDL commits,
 *        TRUNCATE too.
 * and all those of rowlock_commit
 */
ROWLOCK_API int rowlock_refresh_done(struct rowlock_connection *connection,
                                     const struct rowlock_refresh *refresh,
                                     struct rowlock_error *error);

/*
 * It was not made: rolls back what is open, then commits the status ERROR with `message` (may be NULL; the
 * first 2048 bytes are kept) by itself. What was there before the refresh is still there. Where another makes
 * it now, or has made it since, nothing is written. `connection` may be another one, if the first is lost.
 *
 * Blocks for statement_ms at most: while another makes it for two seconds, on SQLite while any transaction
 * writes to the file.
 *
 * EINVAL, ESCHEMA, ESERVER, EDENIED, ECONN, ETIMEDOUT, ENOMEM, EDB
 */
ROWLOCK_API int rowlock_refresh_failed(struct rowlock_connection *connection,
                                       const struct rowlock_refresh *refresh, const char *message,
                                       struct rowlock_error *error);

/*
 * Begins a transaction in which the subject is used: locks "subject:NAME", shared or exclusively, as
 * rowlock_begin does. Who makes it anew waits until it has ended. It does not look at its age: that is
 * rowlock_refresh_begin.
 *
 * With `table` programs that know no rowlock are kept out as well, by the engine: on PostgreSQL by LOCK TABLE in
 * SHARE MODE (a DELETE waits, TRUNCATE too, or fails by their lock_timeout; SELECT passes), of an exclusive
 * use or of a refresh in EXCLUSIVE MODE. On SQLite the whole file is locked against writers anyway. On
 * MariaDB it is EMODE: LOCK TABLES there commits the transaction, and lasts beyond its end.
 *
 * Errors as rowlock_refresh_begin; EMODE also for a shared use under technique insert.
 */
ROWLOCK_API int rowlock_use_begin(struct rowlock_connection *connection, const char *subject,
                                  enum rowlock_mode mode, const char *table,
                                  rowlock_duration wait_ms, struct rowlock_error *error);

/*
 * The same for work that is no transaction: where the subject is stale, acquires an exclusive lease of
 * "subject:NAME" (as rowlock_acquire, by `terms`), and says PROCESSING in the same transaction, which all can
 * see then. `*lease` is yours, to be kept and then ended by rowlock_refresh_release; NULL where the subject
 * is fresh. `subject->table` must be NULL, `subject->command` is that of `terms`.
 *
 * Who uses it acquires a shared lease of "subject:NAME" by rowlock_acquire.
 *
 * Errors as rowlock_acquire.
 */
ROWLOCK_API int rowlock_refresh_acquire(struct rowlock_connection *connection,
                                        const struct rowlock_subject *subject,
                                        const struct rowlock_terms *terms,
                                        struct rowlock_refresh *out, struct rowlock_lease **lease,
                                        struct rowlock_error *error);

/*
 * Gives the lease of rowlock_refresh_acquire back and says how it went, in one transaction: COMPLETE for a
 * result that is DONE, else ERROR with `output`, or where that is NULL with what the result means. All else as
 * rowlock_release: a statement that the server cancels is repeated until the lease's end.
 *
 * EINVAL  the lease is not of a subject; the outcome is one that only the database finds
 * ELOST   it had been lost before; the subject is in ERROR, unless another has begun it since
 * ETIMEDOUT, EINTX, EDENIED, ECONN, ENOMEM, EDB: not known to be written down; try again, or it counts as
 *         ERROR when the lease has expired
 */
ROWLOCK_API int rowlock_refresh_release(struct rowlock_lease *lease,
                                        const struct rowlock_result *result,
                                        struct rowlock_error *error);

/*
 * From now on the subject is stale, whatever its age; what a refresh makes that has begun already is stale
 * as well. Waits for nobody but, on SQLite, the file's write lock: statement_ms at most. `*known` (may be NULL):
 * 0, it is a subject that nobody has made or tried to make yet.
 *
 * EINVAL, EINTX, ESCHEMA, ESERVER, EDENIED, ECONN, ETIMEDOUT, ECANCELED, ENOMEM, EDB
 */
ROWLOCK_API int rowlock_expire(struct rowlock_connection *connection, const char *subject,
                               int *known, struct rowlock_error *error);

enum rowlock_subject_status {
    ROWLOCK_SUBJECT_NONE = 0,
    ROWLOCK_SUBJECT_PROCESSING, /* under a lease, now; a transaction's is seen by itself alone */
    ROWLOCK_SUBJECT_COMPLETE,
    ROWLOCK_SUBJECT_ERROR /* it failed, or died while it was PROCESSING */
};

struct
    rowlock_subject_view { /* valid during the callback only; texts are never NULL; instants 0: none */
    const char *name, *description, *by, *host, *error;
    enum rowlock_subject_status status;
    int64_t began_ms, ended_ms; /* of the last refresh; since 1970 UTC, database's clock */
    int64_t updated_ms; /* end of the one that made what is there; 0: nothing is, or it expired */
    rowlock_duration age_ms; /* since then; -1 where that is 0 */
    int64_t pid;
    int exit;     /* of the command; 128 + N: ended by signal N; -1: none */
    int has_data; /* 1: there is something, though it may have expired */
};

/* 0: go on; else the list ends. */
typedef int (*rowlock_visit_subject)(const struct rowlock_subject_view *subject, void *data);

/*
 * The subject `name`, or all (NULL), by name. Blocks for statement_ms at most.
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
    ROWLOCK_INSERT       /* INSERT and DELETE of a unique key; exclusive only */
};

struct rowlock_plan {
    enum rowlock_technique technique;
    const char *table; /* technique insert: the table to use; NULL: rowlock_object */
    const char *role;  /* rowlock_schema_text: who is granted the use; NULL: "application";
                          MariaDB, MySQL: also "user@host" */
    int grants_only;   /* rowlock_schema_text: the GRANTs alone, for what is installed already */
    int extension;     /* rowlock_schema_text: what CREATE EXTENSION rowlock runs, without GRANTs;
                          PostgreSQL, technique native; else EMODE */
};

/*
 * Creates rowlock's tables, functions and procedures, or those that are missing, after an install that
 * was cut off or where one was dropped; any number of nodes may do so at once. An installed schema of
 * another technique is EINVAL: uninstall first. On PostgreSQL an extension rowlock that is there is as
 * good as a schema: nothing is done. Must not run inside a transaction. `plan` may be NULL. Blocks while
 * another node installs and while each of the schema's scripts runs, for six times statement_ms at most
 * each time.
 *
 * EMODE    the engine does not offer the technique
 * EINVAL   an object of another account is in the way, or a table that would run another's code
 * ESCHEMA  a newer schema is there, or a table lacks a column or key, which only uninstall can mend
 * EDENIED  a privilege is missing; the error's text has the GRANT
 * EINTX, ECONN, ECANCELED, ENOMEM, EDB
 */
ROWLOCK_API int rowlock_install(struct rowlock_connection *connection,
                                const struct rowlock_plan *plan, struct rowlock_error *error);

/*
 * Which technique is installed there: it decides what a lock costs, and what else locks the same
 * names. Blocks for statement_ms at most.
 *
 * ESCHEMA  nothing is installed, or by another version
 * EINVAL   out is NULL
 * EINTX, EDENIED, ETIMEDOUT, ECONN, ECANCELED, ENOMEM, EDB
 */
ROWLOCK_API int rowlock_installed(struct rowlock_connection *connection,
                                  enum rowlock_technique *out, struct rowlock_error *error);

/*
 * Whether CREATE EXTENSION rowlock made what is installed there (PostgreSQL): `*out` is the version of
 * the extension, or NULL: it belongs to none, or nothing is installed. The extension is changed and
 * removed in SQL; rowlock_uninstall refuses it. Blocks for statement_ms at most. `*out` is yours:
 * rowlock_free.
 *
 * EINVAL  out is NULL
 * EINTX, EDENIED, ETIMEDOUT, ECONN, ECANCELED, ENOMEM, EDB
 */
ROWLOCK_API int rowlock_extension(struct rowlock_connection *connection, char **out,
                                  struct rowlock_error *error);

/*
 * Whether a setting of this server is known by which it may forget what it has committed when its
 * machine crashes: `*out` is one line that names the setting and says what to do, or NULL: nothing
 * is known against it. Looked at are fsync and full_page_writes (PostgreSQL) and
 * innodb_flush_log_at_trx_commit (MariaDB), never the disk. On SQLite nothing is looked at, `*out`
 * is NULL, and what was committed in the last moments may be lost when the machine crashes.
 *
 * Blocks for statement_ms at most. `*out` is yours: rowlock_free.
 *
 * EINVAL  out is NULL
 * EINTX, EDENIED, ETIMEDOUT, ECONN, ECANCELED, ENOMEM, EDB
 */
ROWLOCK_API int rowlock_durability(struct rowlock_connection *connection, char **out,
                                   struct rowlock_error *error);

/*
 * Which objects of an installed schema are missing: `*out` is one line for people ("table waiter, view
 * waiters"; the first of them, if there are many), or NULL: nothing is. rowlock_install and
 * rowlock_upgrade create them. An account sees only those that it may use. Blocks for statement_ms at
 * most. `*out` is yours: rowlock_free.
 *
 * ESCHEMA  nothing of rowlock's is there
 * EINVAL   out is NULL, or the session has no database
 * EINTX, EDENIED, ETIMEDOUT, ECONN, ECANCELED, ENOMEM, EDB
 */
ROWLOCK_API int rowlock_missing(struct rowlock_connection *connection, char **out,
                                struct rowlock_error *error);

/*
 * Brings an older schema to this library's version, and creates objects that are missing, as
 * rowlock_install; does nothing to a current and complete one. An extension is brought there in SQL,
 * and is ESCHEMA before that.
 * Errors as rowlock_install, and ESCHEMA where nothing is installed.
 */
ROWLOCK_API int rowlock_upgrade(struct rowlock_connection *connection, struct rowlock_error *error);

/*
 * Removes what rowlock_install created, also what is left of an install that was cut off; a table that
 * was there before (plan->table) stays. Does nothing where nothing is there. An extension is EINVAL.
 *
 * EBUSY    rowlock is in use: a lock is held or awaited, or a counter, a job or a subject exists. The
 *          error's text lists them. Nothing was removed. Transactions that hold a lock are seen on
 *          PostgreSQL, on MariaDB with technique row, and on SQLite, where their end is awaited.
 * ESCHEMA  the schema is damaged, so that this is not known; rowlock_install repairs it
 * Errors as rowlock_install.
 */
ROWLOCK_API int rowlock_uninstall(struct rowlock_connection *connection,
                                  struct rowlock_error *error);

/*
 * Removes it whoever uses it, with all leases, counters, jobs and subjects, and waits for transactions
 * that hold a lock, statement_ms at most. Also removes a damaged schema. Errors as rowlock_install.
 */
ROWLOCK_API int rowlock_uninstall_force(struct rowlock_connection *connection,
                                        struct rowlock_error *error);

/*
 * The text that rowlock_install would run, with the GRANTs for plan->role: a DBA can read it and
 * run it. `dialect` is "postgresql", "yugabytedb", "mariadb", "mysql" or "sqlite". Needs no connection.
 * `*out` is yours: rowlock_free.
 *
 * EINVAL, EMODE, ENOMEM
 */
ROWLOCK_API int rowlock_schema_text(const char *dialect, const struct rowlock_plan *plan,
                                    char **out, struct rowlock_error *error);
ROWLOCK_API void rowlock_free(char *text);

/*
 * Removes what nobody holds: rows of names (technique row), committed rows that another program
 * left behind (technique insert), expired leases, dead waiters. Waits for nobody. `*removed` (may
 * be NULL) counts the rows of names and leases, those left behind, and on PostgreSQL and MariaDB
 * the dead waiters; not the rows in which the expiry of a lease stands.
 *
 * EINTX, ESCHEMA, EDENIED, ECONN, ECANCELED, ENOMEM, EDB
 */
ROWLOCK_API int rowlock_vacuum(struct rowlock_connection *connection, int64_t *removed,
                               struct rowlock_error *error);

#ifdef __cplusplus
}
#endif
#endif
