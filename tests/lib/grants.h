/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Leases acquired through the library, in threads and in child processes. Tests learn from the
 * table of waiters which callers wait.
 */
#ifndef TEST_GRANTS_H
#define TEST_GRANTS_H

#include <stdatomic.h>
#include <sys/types.h>

#include "lib/nursery.h"
#include "lib/test.h"

/* ---- one lease ------------------------------------------------------------------------------- */

struct rowlock_want t_p(const char *name, int limit, int count); /* permits */

/* rowlock_acquire of one name, or of several; ttl 0 means 30 s. The note is "a note". */
int t_acquire(struct rowlock_connection *connection, struct rowlock_want want,
              rowlock_duration ttl_ms, rowlock_duration wait_ms, struct rowlock_lease **out);
int t_acquire_all(struct rowlock_connection *connection, const struct rowlock_want *wants, size_t n,
                  rowlock_duration ttl_ms, rowlock_duration wait_ms, struct rowlock_lease **out);
/* Acquires without waiting; fails the test if the name is held. */
struct rowlock_lease *t_granted(struct rowlock_connection *connection, struct rowlock_want want,
                                rowlock_duration ttl_ms);
/* Releases the lease, which must succeed, and frees it. t_give_lost: the release must report that
   the lease was lost. */
void t_give(struct rowlock_lease *lease);
void t_give_lost(struct rowlock_lease *lease);

/* The same for `n` exclusive leases, of the names "many 0", "many 1" and so on. */
void t_grant_many(struct rowlock_connection *connection, struct rowlock_lease **leases, int n,
                  rowlock_duration ttl_ms);
void t_give_many(struct rowlock_lease **leases, int n);
/* Whether another session could acquire the name now. Releases it at once. */
int t_may_have(struct rowlock_want want);
/* P6: three times the promised 15 s, because the machine may be busy. */
#define PROMISE_MS 45000
/* Tries until another session can acquire the name; returns the time taken. Fails after
   `limit_ms`. */
long long t_until_free(struct rowlock_want want, long long limit_ms);

/* ---- rows of the tables; `hand` is a native handle without a transaction --------------------- */

const char *waiter_table(void);
long waiters_of(void *hand, const char *name);
long leases_of(void *hand, const char *name);
/* Polls until `n` waiters are queued for the name. */
void t_until_queued(void *hand, const char *name, long n);
/* For a test of the order. In a SQLite file a waiter that is suspended for a second may lose its
   place; those that enter the queue of the name from now on keep theirs, except the processes
   `but` ("1, 2"), or (`but` is NULL) no further ones do. Without effect on other engines. */
void t_keep_places(void *hand, const char *name, const char *but);
/* "leases 0 heartbeats 0 waiters 0" when nothing is left. */
const char *t_all_rows(void *hand);
#define NO_ROWS "leases 0 heartbeats 0 waiters 0"
/* Leases without a heartbeat, and heartbeats without a lease. */
long t_odd_rows(void *hand);
/* Sets the lease's expiry into the past. */
void t_expire(void *hand, int64_t token);
/* Empties the tables of leases, heartbeats and waiters. */
void t_forget_leases(void *hand);

/* ---- threads --------------------------------------------------------------------------------- */

struct acquisition {
    struct rowlock_want wants[8];
    size_t n; /* 0 means 1 */
    rowlock_duration ttl_ms, wait_ms;
    struct rowlock_lease *lease; /* the result */
    int order;                   /* position of its grant among all that `turn` counts */
    atomic_int *turn; /* NULL: keep the lease, do not count it; else count it and release at once */
};

/* A thread that acquires; `acquisition` must live until it is joined (t_join). */
struct thread *t_acquire_thread(struct rowlock_connection *connection,
                                struct acquisition *acquisition);
/* The same; polls until `n` waiters are queued for its first name. */
struct thread *t_queue_thread(struct rowlock_connection *connection,
                              struct acquisition *acquisition, void *hand, long n);
/* Joins the thread, which must have acquired, and gives its lease. */
void t_join_and_give(struct thread *thread, const struct acquisition *acquisition);

/* ---- processes ------------------------------------------------------------------------------- */

struct child {
    pid_t pid;
    int from; /* the read end of the child's pipe */
};

/* Runs `body` in a child process (t_fork); the child may write bytes to `to` for its parent. */
struct child t_child(t_body *body, const void *data);
/* Reads one byte from the child; '\0' means that it has ended. Waits 60 s at most. */
char t_hear(const struct child *child);
/* Whether a byte has arrived. */
int t_has_spoken(const struct child *child);
/* Sends the signal, and waits until the child has ended. */
void t_end_child(struct child *child, int signal);
/* Waits until the child has ended; returns its exit status, or 128 + the signal. */
int t_await_child(struct child *child);
/* The body that most children run: acquires, writes '!' ('x' on failure), then waits to be
   killed. */
struct holder_plan {
    struct rowlock_want want;
    rowlock_duration ttl_ms, wait_ms;
    const char *url; /* NULL: t_url() */
};
int t_hold_body(const void *plan, int to);
/* Of two waiters the first, a child at `url` (NULL: t_url()), freezes. Once `one` releases, `two`
   gets the lease within `ms`; the child wakes, queues again, and is next. */
void t_overtakes_frozen(struct rowlock_connection *one, struct rowlock_connection *two,
                        const char *url, int ms);

/* ---- sessions on the server ------------------------------------------------------------------ */

/* The URL under test with another port of 127.0.0.1 (server engines), in a static buffer. */
const char *t_url_at(int port);
/* After which message the connection is cut next: after each of the first, and then by strides.
   Through ODBC the stride is 7, because a call has hundreds of messages. */
int t_next_cut(int n, int stride);
/* The URL under test with another database. */
const char *t_url_of(const char *database);
int t_port(void);
/* A port of 127.0.0.1 whose listener accepts connections and never answers; `fd` closes it. */
int t_silent_port(int *fd);
/* For proxy_start. */
int t_protocol(void);
/* Kills every session on the database under test except the superuser's (server engines). */
void t_kill_all_sessions(void);

/*
 * The number of sessions on the database under test, without the superuser's. t_until_sessions
 * polls for a number, because the server notices the end of a client a little later (server
 * engines).
 */
int t_sessions(void);
/* How many transactions may keep a row locked after their client has frozen; 0 where the engine has
   no query for it. */
int t_lockers(void);
void t_until_sessions(int n);
/* Kills the n-th of them; returns 1 if there was one. */
int t_kill_session(int n);
/* Whether some session on the database under test waits for a lock (server engines). */
int t_somebody_waits(void);
void t_until_somebody_waits(void);
/* Polls until at least `n` sessions wait for a table that is locked as a whole. */
void t_until_table_waits(int n);
/* Whether a function of the server sleeps between two looks, at a name lock or at a lease.
   t_until_server_polls waits for that. */
int t_server_polls(struct rowlock_connection *connection);
void t_until_server_polls(struct rowlock_connection *connection);
/* The URL under test through the proxy, which is started, or forgets its fault and the connections
   of a test that failed. */
struct proxy;
const char *t_proxied_url(struct proxy **proxy);

#endif
