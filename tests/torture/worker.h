/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A client of a cell: a process with one connection. It repeats the operation of its workload and
 * logs each event (history.h). It uses public interfaces only.
 */
#ifndef TORTURE_WORKER_H
#define TORTURE_WORKER_H

#include <signal.h>
#include <stdint.h>

#include "rowlock.h"
#include "torture/history.h"

struct client {
    const struct workload *workload;
    const char *url, *outside; /* outside: the folder of the data outside the database */
    struct rowlock_connection *connection;
    struct rowlock_error error;
    uint64_t seed;
    long id, op;
    int log;
};

struct workload {
    const char *name;
    void (*turn)(struct client *client);
    int keys;                      /* how many */
    int most_keys;                 /* of one operation */
    const char *names;             /* printf format of a key's name; NULL: see unlike[] */
    int exclusive, shared, permit; /* how often a lease is of each mode */
    int outside, fenced;           /* where its holder writes; fenced: how often */
};

extern const struct workload workloads[];
extern const char *const worker_modes[]; /* their words in SQL and in clients/ */

/* worker.c */
extern volatile sig_atomic_t worker_stopped;
int64_t worker_now(void); /* ns */
int worker_ttl_ms(void);  /* of the leases: TORTURE_TTL */
/* A number from 0 to n - 1. */
int worker_draw(struct client *client, int n);
void worker_pause(int64_t us);
/* Usually for a few milliseconds, sometimes long enough for a fault to hit it. */
void worker_dwell(struct client *client);
/* Sometimes waits until the lease has expired: before a renewal or the fence, which must be refused
   then, and between the fence and COMMIT, which must keep the lease then. */
void worker_outlast(struct client *client);
__attribute__((format(printf, 5, 6))) void worker_log(struct client *client, enum phase phase,
                                                      enum kind kind, int key, const char *format,
                                                      ...);
/* Executes a statement on the session: 0, and its first value. */
__attribute__((format(printf, 3, 4))) int worker_sql(struct client *client, int64_t *value,
                                                     const char *format, ...);
/* Writes the row of this operation, which the judge reads afterwards. */
int worker_record(struct client *client, int key, int64_t value, int64_t token);
/* Writes a counter's value and the row that the judge reads afterwards: 0 if both were written. */
int worker_write(struct client *client, int key, int64_t value, int64_t token);
/* Reads a counter and writes the next value, under a lock that the caller has. */
int worker_add(struct client *client, int key, int64_t *value);
/* Opens the session; repeats it until it succeeds or the client ends. */
void worker_open(struct client *client);
/* After a failed call: opens the session again if it is lost. */
void worker_recover(struct client *client);
/* The name of a key, in one of a few static buffers. */
const char *worker_name(const struct client *client, int key);

/* workload_*.c */
void turn_counters(struct client *client);
void turn_drawn(struct client *client);
void turn_lease(struct client *client);
void turn_several(struct client *client);
void turn_job(struct client *client);
void turn_refresh(struct client *client);
void turn_command(struct client *client);
void turn_cron(struct client *client);
void turn_sql_counter(struct client *client);
void turn_sql_drawn(struct client *client);
void turn_sql_lease(struct client *client);
void turn_sql_request(struct client *client);
void turn_ways(struct client *client);
void turn_names(struct client *client);
void turn_client_lease(struct client *client);
void turn_client_counter(struct client *client);
void turn_client_job(struct client *client);
void turn_refused(struct client *client);
/* The mode "act": its exit status. */
int act_command(struct client *client);
/* Closes the session and executes `rowlock run`, under a transaction lock or a lease of a key.
   Returns its exit status, or -1: a signal ended it. 0 means that the lock lasted until the command
   had ended. */
int worker_run(struct client *client, int transaction);
/* Begins a transaction and locks the name by the SQL functions: 0 if it has the lock. */
int worker_sql_lock(struct client *client, const char *name);
/* After a failed statement. */
void worker_sql_recover(struct client *client);

/* A lease of a key in one of the workload's modes, drawn at random. */
struct rowlock_want worker_want(struct client *client, int key);
/* Acquires a lease of the key and logs it; NULL: it could not. Neither of these two recovers: that
   closes the connection, which another lease may use. */
struct rowlock_lease *worker_acquire(struct client *client, int key,
                                     const struct rowlock_want *want, rowlock_duration ttl_ms,
                                     rowlock_duration wait_ms);
/* Releases the lease, logs that and frees it: 0, or an error code. */
int worker_release(struct client *client, int key, struct rowlock_lease *lease);
/* Logs who waits for the key: a client that asks for the lease from now on comes after these. */
void worker_look_at_queue(struct client *client, int key);
/* Writes outside the database, under a lease that the caller has. */
void worker_act_outside(struct client *client, int key);
/* Reads a counter under a lease, and writes the next value in a fenced transaction: OK, FAIL or
   UNKNOWN. `write` begins it, fences it, and writes the value that was read before: 0 if it did. */
typedef int worker_fenced(struct client *client, int key, int64_t value, int64_t token);
enum phase worker_act_fenced(struct client *client, int key, int64_t token, worker_fenced *write,
                             enum phase (*commit)(struct client *client));
/* A transaction lock of the key, for a while: 0, or an error code. `tells_busy`: it logs that the
   name was busy, which the judge must be able to explain. */
int worker_lock(struct client *client, int key, rowlock_duration wait_ms, int tells_busy);
/* The lease lasts at least until then; 0: it has ended, at an unknown time. */
int64_t worker_end_of(const struct rowlock_lease *lease);
/* A COMMIT that returned this code: whether the database has carried it out. */
enum phase worker_phase(int code);

#endif
