/* SPDX-License-Identifier: Apache-2.0 */
/*
 * owner.pml: one call is granted once, however often it is sent.
 *
 * A call whose reply was lost asks again with the same owner id, while its earlier attempt may
 * still be about to COMMIT in a session that cannot be ended (behind a pooler). For an exclusive
 * lease the name lock T separates the attempts. Shared leases share T: there the owner id is locked
 * too.
 *
 * See lock.pml for how to read Promela. Each Trip is one rowlock.grant_lease for ONE name; Stranger
 * is a call of another owner, for an exclusive lease. All trips may run at any time. A real client
 * sends the next one only after it has given up the previous one, so it does less. With CANCEL the
 * trips are those of rowlock.request without a ticket, and Cancel is rowlock.cancel: a trip that is
 * under way when it ends is not granted afterwards. (A trip that begins later may be.)
 *
 * Switches:
 *   EXCL  the call asks for an exclusive lease, and the owner id is not locked (correct: T is enough)
 *   FAST  (with EXCL) the first trip is the statement grant_free: it looks for no own lease, its look is
 *         older than the name lock, and the unique key decides
 *   CANCEL  there is a cancel: for it the owner id is locked in both modes
 *   M1    the owner id is not locked
 *   M2    the owner id is locked, but its lease is looked for only before that
 *   M3    the cancel does not lock the owner id
 *   M4    the cancel locks it, but looks for the lease before that
 *   M5    (with FAST) no unique key: the statement trusts its look
 * Not modelled: the adoption of a lease that was broken or released meanwhile.
 */
#define NTRIP 3
#define BIT(p) (1<<(p))
#if !defined(M1) && (!defined(EXCL) || defined(CANCEL))
#define OWNED
#endif
bool row[NTRIP+1], strange;       /* the committed lease rows: of this owner, by trip; of the stranger */
bool cancelled;
byte own, tX, tS; /* the lock on the owner id; T: exclusive holder, set of shared holders */

inline finish() {                    /* COMMIT or ROLLBACK releases every lock */
  if :: own==me -> own = 0 :: else fi;
  if :: tX==me -> tX = 0 :: else fi;
  tS = tS & ~BIT(me) }
inline read_rows() { n = 0; for (i : 1 .. NTRIP) { n = n + row[i] }; i = 0 }
inline check() { read_rows(); assert(n <= 1); assert(!strange || n==0) }
inline adopt() {                  /* the first statement of rowlock.grant_lease: a plain read; an existing lease is the answer */
  skip; d_step { read_rows() }
  if :: n -> goto dead :: else fi }

proctype Trip(byte me) { byte i, n; bool later;   /* it began after the cancel */
  adopt();
  /* rowlock.lock_names: the advisory lock on the owner id, then T; either may time out, or the
     session may die */
#ifdef OWNED
  if :: atomic { own==0 -> own = me; later = cancelled } :: goto dead fi;
#endif
#ifdef EXCL
  if :: atomic { tX==0 && tS==0 -> tX = me } :: goto dead fi;
#else
  if :: atomic { tX==0 -> tS = tS | BIT(me) } :: goto dead fi;
#endif
#ifndef M2
  adopt();                        /* again, because now no other trip can be under way */
#endif
  if :: strange -> goto dead :: else fi;                                            /* rowlock.look */
  if :: d_step { row[me] = 1; finish(); check(); assert(!cancelled || later) }         /* INSERT of rowlock.take, COMMIT */
     :: skip fi;                                                                       /* or it died */
dead: skip; d_step { finish(); n = 0 } }

proctype Fast(byte me) { byte i, n, seen;
  skip; d_step { read_rows(); seen = n + strange; n = 0 }
  if :: seen -> goto dead :: atomic { !seen && tX==0 && tS==0 -> tX = me } :: !seen && (tX || tS) -> goto dead fi;
  skip; d_step { read_rows(); seen = n + strange }
#ifndef M5
  if :: seen -> goto dead :: else fi;                                               /* ON CONFLICT DO NOTHING */
#endif
  if :: d_step { row[me] = 1; finish(); check() } :: skip fi;
dead: skip; d_step { finish(); n = 0; seen = 0 } }

proctype Cancel(byte me) { byte i, n; bool seen[NTRIP+1];
#ifdef M4
  d_step { for (i : 1 .. NTRIP) { seen[i] = row[i] }; i = 0 }
#endif
#ifndef M3
  if :: atomic { own==0 -> own = me } :: goto dead fi;                              /* rowlock.cancel; or a timeout */
#endif
#ifndef M4
  d_step { for (i : 1 .. NTRIP) { seen[i] = row[i] }; i = 0 }
#endif
  d_step { for (i : 1 .. NTRIP) { if :: seen[i] -> row[i] = 0; seen[i] = 0 :: else fi }; i = 0;
    read_rows(); assert(n == 0); n = 0; cancelled = true; finish() }                   /* rowlock.end_lease, COMMIT */
dead: skip; d_step { finish(); n = 0 } }

proctype Stranger(byte me) { byte i, n;
  if :: atomic { tX==0 && tS==0 -> tX = me } :: goto dead fi;                       /* rowlock.lock_names */
  skip; d_step { read_rows() }                                                      /* rowlock.look */
  if :: n -> goto dead :: else fi;
  if :: d_step { strange = 1; finish(); check() } :: skip fi;
dead: skip; d_step { finish(); n = 0 } }

init { byte k; atomic {
#ifdef FAST
  run Fast(1); k = 2;
#else
  k = 1;
#endif
  do :: k <= NTRIP -> run Trip(k); k++ :: else -> break od;
  run Stranger(k);
#ifdef CANCEL
  run Cancel(k+1);
#endif
  k = 0 } }
