/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mark.pml: shared leases of ONE name on MariaDB, beside the grant by one UPDATE. See lease.pml for
 * how to read Promela. InnoDB reads and locks the present version of a row.
 *
 * THE DATABASE. held, many: the row of the name (2: it has been shared); leases: its shared leases.
 * X: the session that has the row locked; S: those that share it; a session that has both has X.
 *
 * THE CODE (sql/mariadb/)
 *   Fast     grant_free, then release_free: one UPDATE each. Its look at rowlock_lease is not here,
 *            because its order is not known
 *   Grant    rowlock_grant of an exclusive lease by the procedure, and its release
 *   Shared   rowlock_grant of a shared lease: a plain read of many, the row's lock, many again, the
 *            mark, the lease; and its release
 *   Locker   a shared lock of a transaction    Vacuum   deletes the free row; it is created again
 *
 * Switches: NF NG NH NX NV: the population (Fast, Grant, Shared, Locker, Vacuum). Mutations:
 *   M1  grant_free does not look at many       M2  a shared lease shares a row with many = 0
 *   M3  it does not set many                   M4  a grant reads the leases before its lock
 *   M5  a shared lease trusts its first look at many
 */
#ifndef NF
#define NF 0
#endif
#ifndef NG
#define NG 0
#endif
#ifndef NH
#define NH 0
#endif
#ifndef NX
#define NX 0
#endif
#ifndef NV
#define NV 0
#endif
#define BIT(p) (1<<(p))

bool held;
byte many, leases, X, S;

inline check() { assert(!held || !leases) }
inline lock() { atomic { X==0 && S==0 -> X = _pid } }
inline share() { atomic { X==0 -> S = S | BIT(_pid) } }
inline unlock() { if :: X==_pid -> X = 0 :: else fi; S = S & ~BIT(_pid) }

proctype Fast() {
  lock();
  atomic {
    if
#ifdef M1
    :: !held -> held = 1; check()
#else
    :: !held && many==0 -> held = 1; check()
#endif
    :: else -> unlock(); goto end
    fi; unlock() }
  lock(); d_step { held = 0; unlock() }
end: skip }

proctype Grant() {
  byte seen;
#ifdef M4
  seen = leases; lock();
#else
  lock(); seen = leases;
#endif
  atomic {
    if :: held || seen -> unlock(); goto end :: else fi;
    held = 1; many = (many==2 -> 2 : 0); check(); unlock() }
  lock(); d_step { held = 0; unlock() }
end: skip }

proctype Shared() {
  byte first, now;
again:
  first = many;
#ifdef M2
  first = 2;
#endif
  if :: first==0 -> lock() :: else -> share() fi;
  if :: held -> goto out :: else fi;
  now = many;
#ifndef M5
#ifndef M2
  if :: first && now==0 -> unlock(); goto again :: else fi;
#endif
#endif
  /* FOR UPDATE SKIP LOCKED: its own lock, or the row if no other session shares it */
  atomic { if :: X==0 && S==BIT(_pid) -> X = _pid :: else fi }
  atomic {
#ifndef M3
    if :: X==_pid -> many = 2 :: else fi;
#endif
    leases++; check(); unlock() }
  leases--; goto end;
out: unlock();
end: skip }

proctype Locker() { share(); unlock() }
proctype Vacuum() {
  byte seen;
  lock(); seen = leases; d_step { if :: !held && !seen -> many = 1 :: else fi; unlock() } }

init { atomic {
  byte i;
  for (i : 1 .. NF+NG+NH+NX+NV) {
    if :: i<=NF -> run Fast() :: i>NF && i<=NF+NG -> run Grant()
       :: i>NF+NG && i<=NF+NG+NH -> run Shared() :: i>NF+NG+NH && i<=NF+NG+NH+NX -> run Locker()
       :: i>NF+NG+NH+NX -> run Vacuum() fi } } }
