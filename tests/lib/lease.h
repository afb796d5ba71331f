/* SPDX-License-Identifier: Apache-2.0 */
/* Leases made by hand, as the floor above will make them: what a transaction lock has to look at.
   `session` is a native handle that has no transaction open (t_native). */
#ifndef TEST_LEASE_H
#define TEST_LEASE_H

/* Puts a lease of `mode` ("exclusive", "shared", "permit") into the tables, committed;
   it expires so many milliseconds from now (< 0: it has). Host "elsewhere",
   pid 4711, note "maintenance". A token that is there already gets one name more. */
void lease_put(void *session, long token, const char *name, const char *mode, long expires_ms);
/* The same of some permits, one row each, under a token that is not there yet. */
void lease_put_permits(void *session, long token, const char *name, int limit, int count,
                       long expires_ms);
/* Ends it: beat, then identity, in one transaction. */
void lease_end(void *session, long token);
/* Its rows: of identity, and of the beat. */
long lease_rows(void *session, long token);
long lease_beats(void *session, long token);
/* Until the database's clock is past its expiry. */
void lease_await_expiry(void *session, long token);

/* SQL of the engine: */
const char *lease_table(void);
const char *lease_beat_table(void);
/* an expression for the instant so many milliseconds from now, in a buffer of the callee's */
const char *lease_instant(long from_now_ms);

#endif
