/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lease rows written directly into the tables, without the library, for tests of how transaction
 * locks treat leases. `session` is a native handle without an open transaction (t_native).
 */
#ifndef TEST_LEASE_H
#define TEST_LEASE_H

/*
 * Inserts and commits a lease of `mode` ("exclusive", "shared", "permit") that expires `expires_ms`
 * from now (negative: it has expired). Its host is "elsewhere", its pid 4711, its note
 * "maintenance". A token that already exists gets one more name.
 */
void lease_put(void *session, long token, const char *name, const char *mode, long expires_ms);
/* The same with several permits, one row each, under a token that does not exist yet. */
void lease_put_permits(void *session, long token, const char *name, int limit, int count,
                       long expires_ms);
/* Deletes the heartbeat, then the lease, in one transaction. */
void lease_end(void *session, long token);
/* The number of rows of the lease, and of its heartbeat. */
long lease_rows(void *session, long token);
long lease_beats(void *session, long token);
/* Polls until the database's clock has passed the lease's expiry. */
void lease_await_expiry(void *session, long token);

/* SQL of the engine: */
const char *lease_table(void);
/* The table with the expiry: on PostgreSQL that of the leases. */
int lease_has_one_row(void);
const char *lease_heartbeat_table(void);
/* MariaDB's two are views: these are tables, for a change of the lease of a token. Tokens of
   lease_put, which are small, are no rows of rowlock_name. */
int lease_has_views(void);
const char *lease_table_of(long long token);
const char *lease_heartbeat_table_of(long long token);
/* UPDATE ... SET change, and a DELETE, of all leases. */
void lease_change(void *session, const char *change);
void lease_delete_all(void *session);
/* a table of rowlock's schema by its name there ("waiter") */
const char *t_table(const char *which);
/* a name as the tables have it, in a static buffer for four calls */
const char *t_key(const char *name);
/* an expression for the instant `from_now_ms` from now */
const char *lease_instant(long from_now_ms);

#endif
