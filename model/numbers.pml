/* SPDX-License-Identifier: Apache-2.0 */
/*
 * numbers.pml: tokens from a sequence that may have been set back (see README.md).
 *
 * The model starts after a restart, a promotion or a restore: the numbers up to LOST were used
 * before, the sequence has forgotten the last of them, and no session has lifted it here. The only
 * assumption is that the clock is past them. Each Session makes K grants, so it calls
 * rowlock.next_number K times, or verifies once and sends fast grants, which compare the origin and the
 * floor that it verified. Sequences are not transactional: every step on one is visible at
 * once, and no rollback undoes it. The transactions around the draws are therefore not modelled. A
 * Session that dies in rowlock.next_number, at any step, releases the advisory lock. A Writer
 * replaces the row of the table origin, like a restore, or an administrator by UPDATE.
 *
 * Switches:
 *   NS      sessions
 *   K       grants of each; FASTS: how many sessions send fast grants
 *   NW      writes of origin
 *   DEATHS  sessions that die while they lift
 *   BACK    the sequence alone is set back once
 *   RESTORE a write of origin sets the sequence back, too, not below the floor, and no statement that
 *           draws is under way
 * Mutations:
 *   M1  the new number is computed before the wait for the lock (as an earlier version did)
 *   M2  the same, but the origin is checked again after the wait
 *   M3  computed after the wait, but not checked again
 *   M4  lifts by one: no room for draws under way
 *   M5  notes the origin before it lifts
 *   M6  no floor (with BACK)
 *   M7  no lock
 *   M8  a fast grant does not compare the origin
 *   M9  verify reads the floor before it knows that the numbers were lifted (with BACK)
 */
#ifndef NS
#define NS 3
#endif
#ifndef FASTS
#define FASTS 1
#endif
#ifndef K
#define K 2
#endif
#ifndef NW
#define NW 1
#endif
#ifndef DEATHS
#define DEATHS 1
#endif
#define LOST 3
#ifdef M4
#define ROOM 1
#else
#define ROOM (NS+1)              /* more than statements under way can draw: one per session */
#endif
#if defined(BACK) || defined(RESTORE)
#define LATER 30
#else
#define LATER 4
#endif
#define MAX(a, b) ((a) > (b) -> (a) : (b))

byte number = 1, floor, lifted_for;          /* the three sequences */
byte origin = 1;                             /* the committed row, by its xmin and the start of the server */
byte clock = LOST + 1, used = LOST, deaths = DEATHS;
byte drawing;                                /* ghost: sessions within a draw */
byte L;                                      /* the advisory lock of rowlock.next_number */

/* SELECT greatest(...): one statement. The clock may have advanced or not: numbers may be ahead
   of it. */
inline compute() {
  d_step { new = MAX(number + ROOM, MAX(floor + 1, clock)) } }

inline die() { d_step { deaths>0 -> deaths-- }; goto unlock }
inline lift() {                              /* rowlock.next_number */
#if defined(M1) || defined(M2)
  compute();
#endif
#ifndef M7
  atomic { L==0 -> L=me };
#endif
  saw = origin;                              /* a statement after the lock was acquired, so with a new snapshot */
#if !defined(M1) && !defined(M3)
  if :: lifted_for==saw && number>floor -> goto unlock :: else fi;
#endif
#if !defined(M1) && !defined(M2)
  compute();
#endif
#ifdef M5
  lifted_for = saw;
#endif
  if :: number = new :: die() fi;             /* setval; or the session dies, or is cancelled */
  if :: floor = new :: die() fi;
#ifndef M5
  lifted_for = saw;
#endif
unlock:
  if :: L==me -> L=0 :: else fi }

#ifdef M6
#define LOW 0
#else
#define LOW low
#endif
proctype Session(byte me; bool fast) { byte n, saw, low, new, drawn, verified, known; bool valid;
  do
  :: n==K -> break
  :: n<K -> drawing++;
     if
     :: !fast ->                             /* rowlock.next_number */
        saw = origin;                        /* the statement's snapshot */
        if :: lifted_for==saw -> valid = 1 :: else fi;
        low = floor
     :: fast ->                              /* the statement grant_free, after verify */
        if
        :: !verified -> saw = origin;
#ifdef M9
           known = floor;
#endif
           if :: lifted_for==saw -> verified = saw :: else -> goto lifting fi;
#ifndef M9
           known = floor
#endif
        :: else
        fi;
        saw = origin;                        /* its snapshot */
#ifdef M8
        valid = 1;
#else
        if :: saw==verified -> valid = 1 :: else -> verified = 0; goto again fi;
#endif
        low = known
     fi;
     if
     :: valid -> d_step { number++; drawn = number;
          if :: drawn>LOW -> assert(drawn>used); used = drawn; n++ :: else -> valid = 0; verified = 0 fi }
     :: else
     fi;
lifting: if :: valid :: else -> lift() fi;
again: skip; d_step { drawing--; valid=0; saw=0; low=0; new=0; drawn=0 }
  od }

proctype Writer() { byte n;
  do
#ifdef RESTORE
  :: d_step { n<NW && floor>1 && clock>used && !drawing -> number = floor; origin++; n++ }
#else
  :: n<NW -> d_step { origin++; n++ }
#endif
  :: n==NW -> break
#ifdef RESTORE
  :: break
#endif
  od }

proctype Clock() { if :: clock = LOST+LATER :: skip fi }

#ifdef BACK
proctype Back() { end: atomic { floor>1 && clock>used -> number = 1 } }
#endif

init { atomic {
  byte n = 1; do :: n<=NS -> run Session(n, FASTS > n-1); n++ :: else -> break od;
  run Writer(); run Clock();
#ifdef BACK
  run Back();
#endif
  n = 0 } }
