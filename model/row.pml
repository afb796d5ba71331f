/* SPDX-License-Identifier: Apache-2.0 */
/*
 * row.pml: the row of ONE name on MariaDB where it stays, and an exclusive lease is a state of it
 * (held). See lease.pml for how to read Promela. It differs from PostgreSQL in what counts: InnoDB
 * reads and locks the present version of the row, so that the row lock is the name lock, and no
 * snapshot is old; and a fence locks the entry of the name in the key rowlock_name_fence, not the
 * row. mark.pml has the shared leases of the name.
 *
 * THE DATABASE. held, token: the committed row; rX: the session that has it locked, uH, uK its
 * version. fX, fS: the locks on the entry in rowlock_name_fence, which no statement changes.
 *
 * THE CODE (sql/mariadb/)
 *   Fast     the statement grant_free: one UPDATE, which waits for nothing; it sees the tickets of
 *            its beginning
 *   Grant    rowlock_grant, without or with a ticket: row, then tickets
 *   Release  release_free: one UPDATE by rowlock_name_fence: entry, then row; the token stays
 *   End      rowlock_sweep: the same order (rowlock_seize), then the clock
 *   Renewer  renew_free: one UPDATE of the row
 *   Fenced   rowlock_lock_fence: the entry in share mode, then a plain read
 *   Locker   rowlock_name_lock: the row, if it has no lease
 *   Waiter   rowlock_enqueue, which locks nothing of the name; then Grant, or rowlock_withdraw
 *
 * Switches: NF NG NE NS NR NC NX NW: the population (Fast, Grant, Release, End, Renewer, Fenced,
 * Locker, Waiter); INIT=1: it is held. Mutations:
 *   M1  the token is drawn before the row lock     M2  a fast grant ignores waiters
 *   M3  a release locks the row only               M4  a sweep does not look at the clock under the lock
 *   M5  a fence is a plain read                    M6  a fence looks before it locks the entry
 *   M7  a grant looks at the row before its lock   M8  a locker does not lock the row
 *   M9  a sweep locks the row only                 M10 a locker looks at the row before its lock
 *   M11 a waiter looks at no other ticket
 */
#ifndef NF
#define NF 0
#endif
#ifndef NG
#define NG 0
#endif
#ifndef NE
#define NE 0
#endif
#ifndef NS
#define NS 0
#endif
#ifndef NR
#define NR 0
#endif
#ifndef NC
#define NC 0
#endif
#ifndef NX
#define NX 0
#endif
#ifndef NW
#define NW 0
#endif
#ifndef INIT
#define INIT 0
#endif
#define TOKENS (NF+NG+NW+NS+2)
#define BIT(p) (1<<(p))

bool held, uH; byte token = 1, uK, rX, fX, fS;
byte seq = 1, tickets, drawn, granted, ended;
byte expired;                          /* tokens */
byte sure, fenced, over, newest, locked; /* ghosts, as in lease.pml */

inline check() {
  assert(!(sure & (sure-1)));
  assert(!locked || !held || rX==locked);
  assert(!(sure && locked));
  assert(!(fenced & over) && !(fenced & (fenced-1))) }
inline commit() { d_step {
  if :: rX==me ->
        if :: held && !uH || uK!=token && held -> assert(!(sure & BIT(token))); over = over | BIT(token) :: else fi;
        held = uH; token = uK; rX = 0; uH = 0; uK = 0
     :: else fi;
  tickets = (tickets | newticket) & ~oldticket; unlock(); check() } }
inline unlock() { if :: fX==me -> fX = 0 :: else fi; fS = fS & ~BIT(me); newticket = 0; oldticket = 0 }
inline rollback() { d_step { if :: rX==me -> rX = 0; uH = 0; uK = 0 :: else fi; unlock() } }
inline lock_row() { rX = me; uH = held; uK = token }
inline draw() { seq++; tok = seq; uK = tok }
inline commit_grant() { atomic {
  assert(!(before & tickets & ~mine));
  d_step { sure = sure | BIT(tok); expired = expired & ~BIT(tok) }
  commit();
  d_step { assert(tok > newest); newest = tok; granted++ } } }

#define LOCALS byte n, tok, before, mine, newticket, oldticket, ticket; bool seen
#define FINISH rollback(); d_step { ended++; tok = 0; before = 0; mine = 0; ticket = 0; seen = 0 }

proctype Fast(byte me) { LOCALS;
  before = tickets;
#ifdef M1
  d_step { seq++; tok = seq }
#endif
  if :: d_step { rX==0 -> lock_row() } :: rX!=0 -> goto dead fi;                  /* innodb_lock_wait_timeout = 0 */
#ifdef M2
  if :: !uH :: else -> goto dead fi;
#else
  if :: !uH && !before :: else -> goto dead fi;
#endif
#ifdef M1
  d_step { uK = tok; uH = 1 }
#else
  d_step { draw(); uH = 1 }
#endif
  if :: commit_grant() :: skip fi;
dead: skip; FINISH }

inline take() {
#ifdef M7
  seen = held;
#endif
  if :: d_step { rX==0 -> lock_row() } :: goto dead fi;                           /* it waits; or its wait has ended */
#ifdef M7
  if :: !seen :: else -> goto dead fi;
#else
  if :: !uH :: else -> goto dead fi;
#endif
#ifndef M11
  skip; d_step { n = 1; do :: n <= NW && !((tickets & BIT(n)) && (!ticket || n < ticket)) -> n++ :: else -> break od; newticket = (n <= NW); n = 0 }
  if :: newticket -> newticket = 0; goto dead :: else fi;
#endif
  if :: ticket && !(tickets & BIT(ticket)) -> goto dead :: else fi;
  d_step { draw(); uH = 1; oldticket = mine } }

proctype Grant(byte me) { LOCALS; before = tickets; take(); if :: commit_grant() :: skip fi;
dead: skip; FINISH }

proctype Waiter(byte me) { LOCALS;
  d_step { drawn++; ticket = drawn; mine = BIT(ticket) }
  newticket = mine; if :: commit() :: newticket = 0; goto dead fi;
  skip; d_step { n = 1; do :: n < ticket -> before = before | (tickets & BIT(n)); n++ :: else -> break od; n = 0 }
  if :: take(); if :: commit_grant(); goto out :: skip fi :: skip fi;
dead: rollback(); if :: ticket && (tickets & BIT(ticket)) -> oldticket = BIT(ticket); commit() :: else fi;
out: skip; FINISH }

inline pick() { (granted > 0 || ended+NE+NS+NR+NC >= NF+NG+NE+NS+NR+NC+NX+NW || INIT==1);
  if :: seq>=2 -> tok = 2 :: seq>=3 -> tok = 3
#if TOKENS > 3
     :: seq>=4 -> tok = 4
#endif
     :: else -> goto dead fi }

proctype Release(byte me) { LOCALS; pick();
#ifndef M3
  if :: d_step { fX==0 && fS==0 -> fX = me } :: goto dead fi;
#endif
  if :: d_step { rX==0 -> lock_row() } :: goto dead fi;
  if :: d_step { uH && uK==tok && !(expired & BIT(tok)) -> uH = 0; sure = sure & ~BIT(tok) } :: else -> goto dead fi;
  if :: commit() :: skip fi;
dead: skip; FINISH }

proctype End(byte me) { LOCALS; pick();
  if :: held && token==tok :: else -> goto dead fi;                               /* row_of */
#ifndef M9
  if :: d_step { fX==0 && fS==0 -> fX = me } :: goto dead fi;
#endif
#ifdef M4
  if :: expired & BIT(tok) :: else -> goto dead fi;
#endif
  if :: d_step { rX==0 -> lock_row() } :: goto dead fi;
#ifdef M4
  if :: uH && uK==tok :: else -> goto dead fi;
#else
  if :: uH && uK==tok && (expired & BIT(tok)) :: else -> goto dead fi;
#endif
  uH = 0;
  if :: commit() :: skip fi;
dead: skip; FINISH }

proctype Renewer(byte me) { LOCALS; pick();
  if :: d_step { rX==0 -> lock_row() } :: goto dead fi;
  if :: uH && uK==tok :: else -> goto dead fi;
  if :: atomic { expired = expired & ~BIT(tok); sure = sure | BIT(tok); commit() } :: skip fi;
dead: skip; FINISH }

proctype Fenced(byte me) { LOCALS; pick();
#ifdef M6
  if :: held && token==tok :: else -> goto dead fi;
#endif
#ifndef M5
  if :: d_step { fX==0 -> fS = fS | BIT(me) } :: goto dead fi;
#endif
#ifdef M6
  d_step { fenced = fenced | BIT(tok); check() }
#else
  if :: d_step { held && token==tok -> fenced = fenced | BIT(tok); check() } :: else -> goto dead fi;
#endif
  d_step { fenced = fenced & ~BIT(tok) }
dead: skip; FINISH }

proctype Locker(byte me) { LOCALS;
#ifdef M10
  if :: !held :: else -> goto dead fi;
#endif
#ifdef M8
  if :: !held :: else -> goto dead fi;
#else
#ifdef M10
  if :: d_step { rX==0 -> lock_row() } :: goto dead fi;
#else
  if :: d_step { rX==0 && !held -> lock_row() } :: goto dead fi;
#endif
#endif
  d_step { locked = me; check() }
  d_step { locked = 0 }
dead: skip; FINISH }

proctype Clock() {
end: do
  :: d_step { seq>=2 && !(expired & 4) -> expired = expired | 4; sure = sure & ~4 }
  :: d_step { seq>=3 && !(expired & 8) -> expired = expired | 8; sure = sure & ~8 }
#if TOKENS > 3
  :: d_step { seq>=4 && !(expired & 16) -> expired = expired | 16; sure = sure & ~16 }
#endif
  od }

init { byte k = 1, n; atomic {
#if INIT == 1
  seq = 2; token = 2; held = 1; sure = 4; granted = 1; newest = 2;
#endif
  n=0; do :: n<NF -> run Fast(k); k++; n++ :: else -> break od;
  n=0; do :: n<NG -> run Grant(k); k++; n++ :: else -> break od;
  n=0; do :: n<NE -> run Release(k); k++; n++ :: else -> break od;
  n=0; do :: n<NS -> run End(k); k++; n++ :: else -> break od;
  n=0; do :: n<NR -> run Renewer(k); k++; n++ :: else -> break od;
  n=0; do :: n<NC -> run Fenced(k); k++; n++ :: else -> break od;
  n=0; do :: n<NX -> run Locker(k); k++; n++ :: else -> break od;
  n=0; do :: n<NW -> run Waiter(k); k++; n++ :: else -> break od;
  run Clock(); n=0; k=0 } }
