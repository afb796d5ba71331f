/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Leases taken by the library, in threads and in processes: what most tests of leases do, how they
 * learn who waits: from the table of the queue.
 */
#ifndef TEST_GRANTS_H
#define TEST_GRANTS_H

#include <stdatomic.h>
#include <sys/types.h>

#include "lib/test.h"

/* ---- one lease ------------------------------------------------------------------------------- */

struct rowlock_want t_p(const char *name, int limit, int count); /* permits */

/* rowlock_acquire of one name, or of several; ttl 0: 30 s. The note is "a note". */
int t_acquire(struct rowlock_connection *connection, struct rowlock_want want,
              rowlock_duration ttl_ms, rowlock_duration wait_ms, struct rowlock_lease **out);
int t_acquire_all(struct rowlock_connection *connection, const struct rowlock_want *wants, size_t n,
                  rowlock_duration ttl_ms, rowlock_duration wait_ms, struct rowlock_lease **out);
/* It must come at once. */
struct rowlock_lease *t_granted(struct rowlock_connection *connection, struct rowlock_want want,
                                rowlock_duration ttl_ms);
/* Released, which must succeed, and freed. */
void t_give(struct rowlock_lease *lease);
/* May a session of its own have it now? Given back at once. */
int t_may_have(struct rowlock_want want);
/* Until it may, trying; how long that took. Fails after `limit_ms`. */
long long t_until_free(struct rowlock_want want, long long limit_ms);

/* ---- what is in the tables; `hand` is a native handle without a transaction -------------------- */

const char *waiter_table(void);
long waiters_of(void *hand, const char *name);
long leases_of(void *hand, const char *name);
/* Until so many wait for the name; fails after 20 s. */
void t_until_queued(void *hand, const char *name, long n);
/* "leases 0 beats 0 waiters 0" when nothing is left. */
const char *t_all_rows(void *hand);
#define NO_ROWS "leases 0 beats 0 waiters 0"
/* Leases without a beat, and beats without a lease. */
long t_odd_rows(void *hand);
/* Its time is over, as if it had slept. */
void t_expire(void *hand, int64_t token);
/* Empties the three tables. */
void t_forget_leases(void *hand);

/* ---- threads ----------------------------------------------------------------------------------- */

struct acquisition {
    struct rowlock_want wants[8];
    size_t n;
    rowlock_duration ttl_ms, wait_ms;
    struct rowlock_lease *lease; /* of the result */
    int order;                   /* of its grant among all that `turn` counts */
    atomic_int *turn;            /* else it is released at once; NULL: kept, and not counted */
};

/* A thread that acquires; `acquisition` must live until it is joined (t_join). */
struct thread *t_acquire_thread(struct rowlock_connection *connection,
                                struct acquisition *acquisition);

/* ---- processes ---------------------------------------------------------------------------------- */

struct child {
    pid_t pid;
    int from; /* what it writes */
};

/* `body` runs in a process of its own, asserts nothing, and may say something to its parent by
   writing bytes to `to`; it ends by returning its exit status. */
struct child t_child(int (*body)(const void *data, int to), const void *data);
/* A byte from it; '\0': it has ended. Waits 60 s at most. */
char t_hear(const struct child *child);
/* Whether a byte came by now. */
int t_has_spoken(const struct child *child);
/* Sends the signal, and waits for its end. */
void t_end_child(struct child *child, int signal);
/* Waits for its end; its exit status, or 128 + the signal. */
int t_await_child(struct child *child);
/* The common child: acquires, says '!', and does nothing more; 'x' where that failed. */
struct holder_plan {
    struct rowlock_want want;
    rowlock_duration ttl_ms, wait_ms;
    const char *url; /* NULL: t_url() */
};
int t_hold_body(const void *plan, int to);

/* ---- elsewhere ------------------------------------------------------------------------------------ */

/* The URL under test at another port of 127.0.0.1 (server engines), in a buffer of the callee's. */
const char *t_url_at(int port);
int t_port(void);
/* Ends every session there is of the database under test but the superuser's (server engines). */
void t_kill_all_sessions(void);

/* How many sessions the database under test has, without the superuser's; and until it is so many: the
   server notices the end of a client a little later (server engines). */
int t_sessions(void);
void t_until_sessions(int n);
/* Ends the n-th of them; 1: there was one. */
int t_kill_session(int n);
/* Until some session of the database under test waits for a lock of the server's (server engines). */
void t_until_somebody_waits(void);

#endif
