/* SPDX-License-Identifier: Apache-2.0 */
/* owner.pml - one call is granted once, however often it was sent.  A call whose reply was lost asks again, under the same owner
 * id, while its earlier trip may still be on its way to its COMMIT in a session that nobody can end (behind a pooler).  For an
 * exclusive lease T keeps the trips apart.  Shared ones share T: there the owner is locked too.
 * See lock.pml for how to read Promela.  Each Trip is one rowlock.grant_any for ONE name; Stranger is one of another owner, for
 * an exclusive lease.  All trips run at any time: a client sends the next only when it gave the one before up, which is less.
 *   EXCL  the call wants an exclusive lease, and the owner is not locked (right: T is enough)
 *   M1    the owner is not locked      M2  the owner is locked, but his lease is looked for only before that
 * Not here: what is adopted though it was broken or released meanwhile. */
#define NTRIP 3
#define BIT(p) (1<<(p))
bool row[NTRIP+1], strange;       /* the committed lease rows: of this owner, by trip; of the stranger */
byte own, tX, tS;                 /* the owner's lock; T: exclusive holder, set of shared holders */

inline finish() {                    /* COMMIT or ROLLBACK gives every lock back */
  if :: own==me -> own = 0 :: else fi;
  if :: tX==me -> tX = 0 :: else fi;
  tS = tS & ~BIT(me) }
inline read_rows() { n = 0; for (i : 1 .. NTRIP) { n = n + row[i] }; i = 0 }
inline check() { read_rows(); assert(n <= 1); assert(!strange || n==0) }
inline adopt() {                  /* rowlock.adopt: a plain read; what is there is the answer */
  skip; d_step { read_rows() }
  if :: n -> goto dead :: else fi }

proctype Trip(byte me) { byte i, n;
  adopt();
  /* rowlock.take_all: the owner's advisory lock, then T; either may time out, or the session die */
#if !defined(M1) && !defined(EXCL)
  if :: atomic { own==0 -> own = me } :: goto dead fi;
#endif
#ifdef EXCL
  if :: atomic { tX==0 && tS==0 -> tX = me } :: goto dead fi;
#else
  if :: atomic { tX==0 -> tS = tS | BIT(me) } :: goto dead fi;
#endif
#ifndef M2
  adopt();                        /* again, now that no other trip can be under way */
#endif
  if :: strange -> goto dead :: else fi;                                            /* rowlock.look_lease */
  if :: d_step { row[me] = 1; finish(); check() } :: skip fi;                          /* rowlock.insert_lease, COMMIT; or it died */
dead: skip; d_step { finish(); n = 0 } }

proctype Stranger(byte me) { byte i, n;
  if :: atomic { tX==0 && tS==0 -> tX = me } :: goto dead fi;                       /* rowlock.take */
  skip; d_step { read_rows() }                                                      /* rowlock.look_lease */
  if :: n -> goto dead :: else fi;
  if :: d_step { strange = 1; finish(); check() } :: skip fi;
dead: skip; d_step { finish(); n = 0 } }

init { byte k; atomic {
  k = 1; do :: k <= NTRIP -> run Trip(k); k++ :: else -> break od;
  run Stranger(k); k = 0 } }
