/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stop.pml: break without --now. It sets `stop`, the holder's next renewal is refused, and the name
 * becomes free because the holder releases or the lease expires.
 *
 * There is one lease, its holder (which renews in time, for ever, unless it learns that it must
 * stop), a late renewal ("zombie", sent long ago), an operator that breaks, and a waiter for the
 * name. The claim is a liveness property (checked with -a -f): after the COMMIT of the stop, the
 * lease's rows are gone some time.
 *
 * Switches:
 *   NOW    break --now: DELETE instead
 *   DEAF   the holder never stops by itself (it is frozen, or a foreign program): the lease expires
 *   CRASH  the holder may also die at any moment
 * Mutations:
 *   M1  renewal ignores stop: the holder continues for ever
 *   M2  break updates a row that renewal never looks at
 */
bool lC = 1, bC = 1, bStop, stopped;     /* the rows; stopped: the COMMIT of a break was answered */
byte bX; /* row lock of the heartbeat: 1 holder, 2 late renewal, 3 operator, 4 waiter */
byte left = 2;                           /* ttl in parts: 0 expired; a holder in good health renews at 1 */
bool lost, frozen, dead, granted, overlap;

#ifdef M1
#define MAY true
#else
#define MAY (!bStop)
#endif

/*
 * rowlock.renew_lease (elsewhere the heartbeat): UPDATE lease SET expires = greatest(expires, clock + ttl) WHERE token = T AND NOT
 * stop. The predicate is tested before the row lock, and again after it was acquired (EvalPlanQual;
 * InnoDB locks first).
 */
inline renew(me, ok) {
  ok = 0;
  if
  :: !bC || !MAY
  :: else ->
     if
     :: atomic { bX==0 && bC && MAY -> bX = me };
        d_step {
#if !defined(M1) && !defined(M2)
          assert(!stopped);                                                       /* no renewal after the break's COMMIT */
#endif
          left = 2; bX = 0; ok = 1 }            /* COMMIT */
     :: bX==0 && !(bC && MAY)
     fi
  fi }

proctype Holder() { bool ok;
  do
  :: atomic { left==1 -> skip };
     renew(1, ok);
     if :: ok :: else -> break fi
#ifdef CRASH
  :: dead = 1; goto over
#endif
  od;
  lost = 1; /* it learned of the stop: ends its command, then */
#ifdef DEAF
  goto over;
#endif
  atomic { bX==0 -> if :: bC -> bX = 1 :: else -> goto over fi };                   /* rowlock.end_lease */
  d_step { bC = 0; lC = 0; bX = 0 };
over: lost = 1 }

proctype Zombie() { bool ok; renew(2, ok) }

proctype Operator() {
  atomic { bX==0 -> if :: bC -> bX = 3 :: else -> stopped = 1; goto over fi };      /* rowlock.break */
#ifdef NOW
  d_step { bC = 0; lC = 0; bX = 0; stopped = 1 }                                    /* DELETE; COMMIT */
#else
#ifdef M2
  d_step { bX = 0; stopped = 1 }
#else
  d_step { bStop = 1; bX = 0; stopped = 1 }                                         /* UPDATE lease SET stop; COMMIT */
#endif
#endif
over: skip }

proctype Waiter() {                                                               /* rowlock.grant_lease, under T */
  do
  :: !lC -> break
  :: atomic { lC && left==0 && bX==0 -> bX = 4 };                                   /* rowlock.end_lease of rowlock.sweep: FOR UPDATE .. WHERE expires <= clock */
     if :: left==0 -> d_step { bC = 0; lC = 0; bX = 0 } :: else -> bX = 0 fi
  od;
  granted = 1 }

proctype Clock() {                                                                /* a third of the ttl passes */
end: do
  :: atomic { bC && left==2 -> left = 1 }
  :: atomic { bC && left==1 && (lost || dead) -> left = 0 }                         /* a holder in good health is never late */
  :: atomic { !bC -> break }
  od }

init { atomic { run Holder(); run Zombie(); run Operator(); run Waiter(); run Clock() } }

ltl freed { [] (stopped -> <> granted) }
