/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lock2.pml: two (three) names: leases whose tokens cover several names, and sweeps of different
 * names that meet.
 *
 * The names A, B, C are 0, 1, 2. lease[t] is a set of names (bit n: the row (t, n) exists). The row
 * locks of one token's lease rows and of its heartbeat are one lock here: every session takes them in
 * one order (the others the heartbeat first). All leases are exclusive and
 * expired at the start, which is the interesting case: token 1 holds A, token 2 holds B and C, token 3
 * holds A and C, or another set.
 *
 * sweep() is rowlock.sweep of a granter (rowlock.grant_lease) and of a locker (rowlock.lock). The tokens
 * are collected first, then rowlock.end_lease deletes one after another. finish is COMMIT or
 * ROLLBACK, Fence is rowlock.fence. Each session acquires the name locks (T) in sorted order, sweeps,
 * looks, inserts its lease (granter) or works (locker), and commits.
 *
 * With GATES the leases are members, as on PostgreSQL: who ends one locks the gates of its names
 * first, by name, and a granter the gates of its names after the sweep (rowlock.take_all). Waiter is
 * rowlock.enqueue, Ender rowlock.end_lease, a release. A sweep ends its tokens by number, so its order
 * of gates is another: only a sweep may give up its wait (lock_timeout), and nobody else need.
 *
 * Switches:
 *   default   the conflicting tokens of all names are collected first, then swept in token order
 *   PERNAME   the sweep is done name by name
 *   FENCE     a fenced transaction on one row of token 3
 *   SWEEPALL  sweep only if no conflicting lease looks live (mend)
 *   CROSS     shows that a waiter for one name may wait for a locker of an unrelated name
 *   GATES     see above; NOLIMIT: a sweep waits without limit; UNSORTED: the waiter locks gates downwards
 *   POLL      a locker that meets a live lease keeps its deletions while it polls
 */
#define NT 3
#define NS 3
#define BIT(n) (1<<(n))
byte rows[NT+NS+1];  /* committed lease rows of a token: set of names */
bool live[NT+NS+1];  /* its heartbeat has not expired */
/* the session that holds the row locks of the token's heartbeat and lease: it has deleted them,
   uncommitted */
byte bX[NT+NS+1];
bool fence[NT+NS+1]; /* a fenced transaction holds one of its lease rows FOR SHARE */
byte gate[3];        /* the session with the lock of the gate, by name */
byte T[3]; byte inL[3];  /* name locks (T) by name; locker inside, by name */
byte want[NS+1];

inline finish(commit_it) { skip; d_step {
  for (k : 1 .. NT+NS) { if :: bX[k]==me -> bX[k]=0; if :: commit_it -> rows[k]=0 :: else fi :: else fi };
  for (k : 0 .. 2) { if :: T[k]==me -> T[k]=0; if :: inL[k]==me -> inL[k]=0 :: else fi :: else fi; if :: gate[k]==me -> gate[k]=0 :: else fi }; k=0 } }

/* the gates of these names, by name; a sweep may give up */
inline lock_gates(names, sweeps) {
#ifdef GATES
  g = 0; do
  :: g<3 && (names & BIT(g)) ->
     if :: atomic { gate[g]==0 || gate[g]==me -> gate[g]=me }
#ifndef NOLIMIT
        :: sweeps && timeout -> finish(0); goto over
#endif
     fi; g++
  :: g<3 && !(names & BIT(g)) -> g++
  :: g==3 -> break
  od; g = 0
#else
  skip
#endif
}

inline sweep(names) {     /* delete the expired leases that conflict on these names */
  skip; d_step { todo = 0; for (k : 1 .. NT+NS) { if :: (rows[k] & names) && bX[k]!=me -> todo = todo | BIT(k) :: else fi };
#ifdef SWEEPALL
    for (k : 1 .. NT+NS) { if :: (todo & BIT(k)) && live[k] -> todo = 0 :: else fi };
#endif
    k = 0; t = 1 }
  do
  :: t > NT+NS -> break
  :: t <= NT+NS && !(todo & BIT(t)) -> t++
  :: t <= NT+NS && (todo & BIT(t)) ->
     lock_gates(rows[t], true);
     if
     :: d_step { rows[t] && live[t] -> skip }
     :: d_step { !rows[t] -> skip }
     :: d_step { rows[t] && !live[t] && bX[t]==0 && !fence[t] -> bX[t]=me }
#ifdef CROSS                                              /* this session waits for a locker with which it shares no name */
     :: d_step { bX[t] && bX[t]!=me && !(want[bX[t]] & names) && (inL[0]==bX[t] || inL[1]==bX[t] || inL[2]==bX[t]) -> assert(0) }
#endif
#if defined(GATES) && !defined(NOLIMIT)
     :: timeout -> finish(0); goto over
#endif
     fi; t++
  od }

proctype S(byte me; byte names; bool locker) { byte k, t, n, g, todo, left;
  want[me] = names;
  n = 0; do :: n<3 && (names & BIT(n)) -> atomic { T[n]==0 -> T[n]=me }; n++ :: n<3 && !(names & BIT(n)) -> n++ :: n==3 -> break od;
again: skip;
#ifdef PERNAME
  n = 0; do :: n<3 -> if :: (names & BIT(n)) -> sweep(BIT(n)) :: else fi; n++ :: n==3 -> break od;
#else
  sweep(names);
#endif
  skip; d_step { left=0; for (k : 1 .. NT+NS) { if :: (rows[k] & names) && bX[k]!=me -> left = left | BIT(k) :: else fi }; k=0 }
  if
  :: left && locker -> /* poll until the conflicting leases are gone or expired */
#ifndef POLL
     finish(0); n = 0; do :: n<3 && (names & BIT(n)) -> atomic { T[n]==0 -> T[n]=me }; n++ :: n<3 && !(names & BIT(n)) -> n++ :: n==3 -> break od;
#endif
     skip; d_step { t=1; do :: t<=NT+NS && !((left & BIT(t)) && rows[t]) -> t++ :: else -> break od };
     (t > NT+NS || !live[t] || !rows[t]); t=0; goto again
  :: left && !locker -> finish(0); goto over
  :: else -> skip
  fi;
  if
  :: locker -> d_step { for (k : 0 .. 2) { if :: names & BIT(k) -> assert(inL[k]==0); inL[k]=me :: else fi }; k=0 };
     if :: finish(1) :: finish(0) fi
  :: !locker -> lock_gates(names, false); atomic { finish(1); d_step { for (k : 1 .. NT+NS) { assert(!(rows[k] & names)) }; k=0; rows[NT+me]=names; live[NT+me]=1 } }  /* one COMMIT */
  fi;
over: skip }

proctype Fence() { if :: atomic { rows[3] && bX[3]==0 -> fence[3]=1 } :: !rows[3] -> goto over fi;
  skip; d_step { assert(rows[3]); fence[3]=0 }
over: skip }
proctype Waiter(byte me; byte names) { byte k, g;
#ifdef UNSORTED
  g = 3; do :: g>0 && (names & BIT(g-1)) -> atomic { gate[g-1]==0 -> gate[g-1]=me }; g-- :: g>0 && !(names & BIT(g-1)) -> g-- :: g==0 -> break od;
#else
  lock_gates(names, false);
#endif
  finish(1);
over: skip }
proctype Ender(byte me; byte t) { byte k, g, names;
  names = rows[t];
  lock_gates(names, false);
  if :: atomic { rows[t] && bX[t]==0 && !fence[t] -> bX[t]=me } :: !rows[t] -> skip fi;
  finish(1);
over: skip }
proctype Clock() { byte t;
end: do :: d_step { live[1] -> live[1]=0 } :: d_step { live[2] -> live[2]=0 } :: d_step { live[3] -> live[3]=0 }
        :: d_step { live[4] -> live[4]=0 } :: d_step { live[5] -> live[5]=0 } :: d_step { live[6] -> live[6]=0 } od }

inline anyset(x) { if :: x=1 :: x=2 :: x=4 :: x=3 :: x=5 :: x=6 :: x=7 fi }
init { byte a, b, c; bool l1, l2, l3;
  atomic { rows[1]=1; rows[2]=6; rows[3]=5;   /* 1:A  2:BC  3:AC (as if their grants had been shared ones) */
#ifdef GATES
    live[1]=0; live[2]=0; live[3]=0; a=3; b=6; l1=0; if :: l2=0 :: l2=1 fi;
#else
    if :: live[1]=0 :: live[1]=1 fi; if :: live[2]=0 :: live[2]=1 fi; if :: live[3]=0 :: live[3]=1 fi;
    anyset(a); anyset(b); anyset(c); if :: l1=0 :: l1=1 fi; if :: l2=0 :: l2=1 fi; if :: l3=0 :: l3=1 fi;
#endif
    run S(1,a,l1); run S(2,b,l2);
#ifdef THREE
    run S(3,c,l3);
#endif
#ifdef GATES
    run Waiter(NS+1, 7); run Ender(NS+2, 3);
#endif
#ifdef FENCE
    run Fence();
#endif
    run Clock(); a=0; b=0; c=0; l1=0; l2=0; l3=0 } }
