/* SPDX-License-Identifier: Apache-2.0 */
/*
 * row.pml: the row of ONE name on MariaDB and MySQL where it stays, and a lease is a state of it
 * (held). See lease.pml for how to read Promela. It differs from PostgreSQL in what counts: InnoDB
 * reads and locks the present version of the row, so that the row lock is the name lock, and no
 * snapshot is old; and a fence locks the entry of the token in its key, not the row.
 *
 * THE DATABASE. held, token, queued: the committed row; rX: the session that has it locked, uH, uK, uQ
 * its version. eX[t], eS[t]: the locks on the entry of the token t in the key of tokens. A new token
 * deletes the entry of the old one, and so needs its lock. T: the lock in the table of names, which
 * transactions take.
 *
 * THE CODE (sql/mariadb/)
 *   Fast     the statement grant_free: one UPDATE, which waits for nothing
 *   Grant    rowlock_grant, without or with a ticket
 *   Release  release_free: one UPDATE by the key of tokens: entry, then row; the token stays
 *   End      rowlock_sweep, or rowlock_break with now: entry, then row; it also draws a new number,
 *            so that the entry is gone
 *   Renewer  one UPDATE by name    Fenced  rowlock_fence: the entry in share mode, then a plain read
 *   Locker   rowlock_lock: T, then the row FOR UPDATE SKIP LOCKED
 *   Waiter   rowlock_enqueue, then Grant, or rowlock_withdraw
 *
 * Switches: NF NG NE NS NR NC NX NW: the population (Fast, Grant, Release, End, Renewer, Fenced,
 * Locker, Waiter); INIT=1: it is held. Mutations:
 *   M1  the token is drawn before the row lock     M2  a fast grant ignores waiters
 *   M3  a release goes by name: no entry           M4  a sweep does not look at the clock under the lock
 *   M5  a fence is a plain read                    M6  a ticket is inserted without the row lock
 *   M7  the grant leaves `queued` as it was before its lock
 *   M8  a locker does not lock the row             M9  a sweep leaves the token, and goes by name
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

bool held, queued, uH, uQ; byte token = 1, uK, rX;
byte eX[TOKENS+1], eS[TOKENS+1];
byte T, seq = 1, tickets, drawn, granted, ended;
byte expired;                          /* tokens */
byte sure, fenced, over, newest, locked; /* ghosts, as in lease.pml */

inline check() {
  assert(!(sure & (sure-1)));
  assert(!locked || !held || rX==locked);
  assert(!(sure && locked));
  assert(!(fenced & over) && !(fenced & (fenced-1)));
  assert(!tickets || queued) }                                   /* no ticket that a fast grant overlooks */
inline commit() { d_step {
  if :: rX==me ->
        if :: held && !uH || uK!=token && held -> assert(!(sure & BIT(token))); over = over | BIT(token) :: else fi;
        held = uH; token = uK; queued = uQ; rX = 0; uH = 0; uK = 0; uQ = 0
     :: else fi;
  tickets = (tickets | newticket) & ~oldticket; unlock(); check() } }
inline unlock() {
  n = 1; do :: n <= TOKENS -> if :: eX[n]==me -> eX[n] = 0 :: else fi; eS[n] = eS[n] & ~BIT(me); n++ :: else -> break od; n = 0;
  if :: T==me -> T = 0 :: else fi; newticket = 0; oldticket = 0 }
inline rollback() { d_step { if :: rX==me -> rX = 0; uH = 0; uK = 0; uQ = 0 :: else fi; unlock() } }
inline lock_row() { rX = me; uH = held; uK = token; uQ = queued }
/* the entry of the old token, and the new number */
#define CAN_DRAW (eX[uK]==0 && eS[uK]==0 || eX[uK]==me)
inline draw() { seq++; tok = seq; eX[uK] = me; uK = tok }
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
  if :: !uH && !uQ :: else -> goto dead fi;
#endif
#ifdef M1
  if :: d_step { CAN_DRAW -> eX[uK] = me; uK = tok; uH = 1 } :: else -> goto dead fi;
#else
  if :: d_step { CAN_DRAW -> draw(); uH = 1 } :: else -> goto dead fi;
#endif
  if :: commit_grant() :: skip fi;
dead: skip; FINISH }

inline take() {
  seen = (tickets & ~mine) != 0;
  if :: d_step { rX==0 -> lock_row() } :: goto dead fi;                           /* it waits; or its wait has ended */
  if :: !uH :: else -> goto dead fi;
  skip; d_step { n = 1; do :: n <= NW && !((tickets & BIT(n)) && (!ticket || n < ticket)) -> n++ :: else -> break od; newticket = (n <= NW); n = 0 }
  if :: newticket -> newticket = 0; goto dead :: else fi;
  if :: ticket && !(tickets & BIT(ticket)) -> goto dead :: else fi;
  if :: d_step { CAN_DRAW -> draw(); uH = 1; uQ = ((tickets & ~mine) != 0);
#ifdef M7
          uQ = seen;
#endif
          oldticket = mine } :: goto dead fi }

proctype Grant(byte me) { LOCALS; before = tickets; take(); if :: commit_grant() :: skip fi;
dead: skip; FINISH }

proctype Waiter(byte me) { LOCALS;
#ifdef M6
  d_step { drawn++; ticket = drawn; newticket = BIT(ticket); mine = BIT(ticket) }
  if :: commit() :: goto dead fi;
#else
  if :: d_step { rX==0 -> lock_row(); uQ = 1 } :: goto dead fi;
  d_step { drawn++; ticket = drawn; newticket = BIT(ticket); mine = BIT(ticket) }
  if :: commit() :: goto dead fi;
#endif
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
  if :: d_step { token==tok && eX[tok]==0 && eS[tok]==0 -> eX[tok] = me } :: eX[tok]==0 && token!=tok -> goto dead :: goto dead fi;
#endif
  if :: d_step { rX==0 -> lock_row() } :: goto dead fi;
  if :: d_step { uH && uK==tok && !(expired & BIT(tok)) -> uH = 0; sure = sure & ~BIT(tok) } :: else -> goto dead fi;
  if :: commit() :: skip fi;
dead: skip; FINISH }

proctype End(byte me) { LOCALS; pick();
#ifndef M9
  if :: d_step { token==tok && eX[tok]==0 && eS[tok]==0 -> eX[tok] = me } :: eX[tok]==0 && token!=tok -> goto dead :: goto dead fi;
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
#ifdef M9
  d_step { uH = 0; n = 0 }
#else
  d_step { uH = 0; seq++; uK = seq; n = 0 }
#endif
  if :: commit() :: skip fi;
dead: skip; FINISH }

proctype Renewer(byte me) { LOCALS; pick();
  if :: d_step { rX==0 -> lock_row() } :: goto dead fi;
  if :: uH && uK==tok :: else -> goto dead fi;
  if :: atomic { expired = expired & ~BIT(tok); sure = sure | BIT(tok); commit() } :: skip fi;
dead: skip; FINISH }

proctype Fenced(byte me) { LOCALS; pick();
#ifndef M5
  if :: d_step { token==tok && eX[tok]==0 -> eS[tok] = eS[tok] | BIT(me) } :: eX[tok]==0 && token!=tok -> goto dead fi;
#endif
  if :: d_step { held && token==tok -> fenced = fenced | BIT(tok); check() } :: else -> goto dead fi;
  d_step { fenced = fenced & ~BIT(tok) }
dead: skip; FINISH }

proctype Locker(byte me) { LOCALS;
  if :: d_step { T==0 -> T = me } :: goto dead fi;
#ifdef M8
  if :: !held :: else -> goto dead fi;
#else
  if :: d_step { rX==0 && !held -> lock_row() } :: rX!=0 || held -> goto dead fi;
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
