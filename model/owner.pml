/* SPDX-License-Identifier: Apache-2.0 */
/*
 * owner.pml: one call is granted once, however often it is sent.
 *
 * A call whose reply was lost asks again with the same owner id, while its earlier attempt may
 * still be about to COMMIT in a session that cannot be ended (behind a pooler). For an exclusive
 * lease the name lock T separates the attempts. Shared leases share T: there the owner id is locked
 * too.
 *
 * See lock.pml for how to read Promela. Each Trip is one rowlock.grant_any for ONE name; Stranger
 * is a call of another owner, for an exclusive lease. All trips may run at any time. A real client
 * sends the next one only after it has given up the previous one, so it does less.
 *
 * Switches:
 *   EXCL  the call asks for an exclusive lease, and the owner id is not locked (correct: T is enough)
 *   M1    the owner id is not locked
 *   M2    the owner id is locked, but its lease is looked for only before that
 * Not modelled: the adoption of a lease that was broken or released meanwhile.
 */
#define NTRIP 3
#define BIT(p) (1<<(p))
bool row[NTRIP+1], strange;       /* the committed lease rows: of this owner, by trip; of the stranger */
byte own, tX, tS; /* the lock on the owner id; T: exclusive holder, set of shared holders */

inline finish() {                    /* COMMIT or ROLLBACK releases every lock */
  if :: own==me -> own = 0 :: else fi;
  if :: tX==me -> tX = 0 :: else fi;
  tS = tS & ~BIT(me) }
inline read_rows() { n = 0; for (i : 1 .. NTRIP) { n = n + row[i] }; i = 0 }
inline check() { read_rows(); assert(n <= 1); assert(!strange || n==0) }
inline adopt() {                  /* rowlock.adopt: a plain read; an existing lease is the answer */
  skip; d_step { read_rows() }
  if :: n -> goto dead :: else fi }

proctype Trip(byte me) { byte i, n;
  adopt();
  /* rowlock.name_lock_all: the advisory lock on the owner id, then T; either may time out, or the
     session may die */
#if !defined(M1) && !defined(EXCL)
  if :: atomic { own==0 -> own = me } :: goto dead fi;
#endif
#ifdef EXCL
  if :: atomic { tX==0 && tS==0 -> tX = me } :: goto dead fi;
#else
  if :: atomic { tX==0 -> tS = tS | BIT(me) } :: goto dead fi;
#endif
#ifndef M2
  adopt();                        /* again, because now no other trip can be under way */
#endif
  if :: strange -> goto dead :: else fi;                                            /* rowlock.look_lease */
  if :: d_step { row[me] = 1; finish(); check() } :: skip fi;                          /* rowlock.insert_lease, COMMIT; or it died */
dead: skip; d_step { finish(); n = 0 } }

proctype Stranger(byte me) { byte i, n;
  if :: atomic { tX==0 && tS==0 -> tX = me } :: goto dead fi;                       /* rowlock.name_lock */
  skip; d_step { read_rows() }                                                      /* rowlock.look_lease */
  if :: n -> goto dead :: else fi;
  if :: d_step { strange = 1; finish(); check() } :: skip fi;
dead: skip; d_step { finish(); n = 0 } }

init { byte k; atomic {
  k = 1; do :: k <= NTRIP -> run Trip(k); k++ :: else -> break od;
  run Stranger(k); k = 0 } }
