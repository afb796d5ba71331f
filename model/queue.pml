/* SPDX-License-Identifier: Apache-2.0 */
/* queue.pml - the waiting queue for one name: ticket rows decide, session locks are only hints.
 * See lock.pml for how to read Promela.  Database state: row[t] committed waiter row of ticket t; slock[t] session lock on
 * ticket t (0 free, else holder); lease = session whose lease row is committed (0 none); tlock[p] token lock of p's lease;
 * T = session holding the transaction lock.  Exclusive leases only.  A session's death frees its session locks and T,
 * its committed rows (ticket, lease) stay.  "timeout" = the bounded wait of a waiter ends; SPIN lets it happen only when
 * NOTHING else in the whole farm can move, so whatever needs it is a lost wake-up unless the bounded wait is meant to be its cure.
 * WHAT STANDS FOR WHAT.  The steps are those of src/lease/machine/machine.h, the statements those of src/dialect/dialect.h.  fast:
 * rowlock.grant_lease with ticket 0; enqueue: rowlock.enqueue (the ticket's session lock before its COMMIT: rowlock.add_mark); look:
 * rowlock.place; blocking on slock[pred] or tlock[h]: rowlock.await (kind 0, 1), which removes a ticket that stands though its lock is
 * free (rowlock.remove_dead); await, kind 1, and then T with no look between: rowlock.turn, with rowlock.seize for rowlock.grant_any (a turn that waits for
 * a ticket first looks, and waits for the token: the same steps); three visits of T while the name is free: rowlock.overtake. The first is the call: it marks
 * every ticket before the caller's.  The second only waits for T behind everybody who stood there.  The third strikes the tickets whose waiters did not
 * answer.  A look answers (rowlock.place clears waiter.called); wantT to
 * grant: rowlock.grant_any with the ticket and wait_ms, rowlock.look_queue under T, COMMIT in a second trip, which gives the ticket's
 * lock back (rowlock.drop_mark); release: rowlock.release, which does so with the token's; withdraw: rowlock.withdraw.  On SQLite and behind a pooler there are no session
 * locks: every wait ends by itself (BOUND), and a ticket is dead when its `seen` is over.
 * Switches: NW waiters, NT transaction lockers, DIE/FREEZE/QUIT how many may die, be stopped for ever, or withdraw,
 *   BOUND  bounded waits exist (else they never end: any lost wake-up is an "invalid end state")
 *   STUCK  a bounded wait may also end while the one I wait for is frozen or stands in T's queue (order/overtaking runs)
 *   ANYTIME  bounded waits may end at any moment while the name is free   THAW  frozen ones may wake again    NOFAST  nobody tries without a ticket
 *   QUEUEING  waiters freeze and die in the queue only    SHORT  a lease ends with its grant, so that the name is always free
 *   CALLS  how many roll calls there may be: the state space is finite.  Each draws a number, and marks with it what bears no mark; a caller strikes
 *     what bears a number up to its own.  The time between a call and its strike is `judge` below: every marked waiter in good health has looked in
 *     between, unless it has stood in T's queue since before the second visit: there it is silent.
 *   RC_ONCE  the first visit strikes   RC_TWO  the second visit strikes   RC_ANSWERED  a strike ignores answers   RC_EARLY  a strike does not leave the time to answer
 *   RC_NOT  it does not take T   RC_ANY  it strikes any mark, also a later caller's   RC_KEEP  it strikes only the first of the silent
 *   EXCLGET  a woken waiter really holds the predecessor's lock for a moment (GET_LOCK)
 *   Q1 look before the ticket is committed   Q2 unlock before COMMIT of the release   Q3 token lock taken after COMMIT
 *   Q4 unlock ticket before the grant's COMMIT   Q5 grant without looking for earlier tickets under T
 *   Q6 own ticket locked after its COMMIT
 *   NOIDLE no idle-in-transaction time-out: a frozen session keeps T */
#ifndef NW
#define NW 3
#endif
#ifndef NT
#define NT 0
#endif
#ifndef DIE
#define DIE 0
#endif
#ifndef FREEZE
#define FREEZE 0
#endif
#ifndef QUIT
#define QUIT 0
#endif
#ifndef CALLS
#define CALLS 3
#endif
#define NP (NW+NT)
#define MAXT (NW+NW)                 /* tickets: each waiter may have to queue again once */
bool row[MAXT+2]; byte slock[MAXT+2], owner[MAXT+2], arr[MAXT+2]; byte seq, arrivals;
byte lease; bool expired; byte tlock[NP+2]; byte T; chan tq = [NP+1] of { byte };  /* T's queue is first in, first out */
byte deaths, freezes, quits; byte called[MAXT+2], calls;
bool frozen[NP+2], inT[NP+2], dead[NP+2], got[NP+2];   /* ghosts */

#ifdef ANYTIME
#define ENDWAIT (!lease || timeout)
#else
#ifdef STUCK
#define ENDWAIT (pred && (frozen[owner[pred]] || inT[owner[pred]]) || timeout)
#else
#ifdef BOUND
#define ENDWAIT (timeout)
#else
#define ENDWAIT (false)
#endif
#endif
#endif
#ifdef QUEUEING
#define MISHAP (!got[me] && T != me && !lease)
#else
#define MISHAP true
#endif
#ifdef THAW
#define WAKES true
#else
#define WAKES false
#endif

/* a session may die, be stopped (SIGSTOP, or cut off while its backend lives on), or have waited long enough */
inline mishap() {
  if
  :: skip
  :: d_step { deaths  < DIE && MISHAP -> deaths++; dead[me]=1 } -> goto die
  :: d_step { freezes < FREEZE && MISHAP -> freezes++; frozen[me]=1 } -> goto ice
  :: d_step { quits < QUIT && !got[me] -> quits++ } -> goto withdraw
  fi }
inline look() { d_step {             /* one plain read: the tickets before mine (first, last), the lease */
  pred = 0; first = 0; p = 1;
  do :: p < tk -> if :: row[p] -> pred = p; if :: first==0 -> first = p :: else fi :: else fi; p++ :: else -> break od; p = 0; h = lease } }

/* may the marked tickets be judged? (the time to answer is over) */
inline judge() { d_step { quiet = 1; p = 1;
#ifndef RC_EARLY
  do :: p < tk -> if :: row[p] && called[p] && called[p] <= mycall && !frozen[owner[p]] && !dead[owner[p]] && !(inT[owner[p]] && (stays & (1 << owner[p]))) -> quiet = 0
                     :: else fi; p++
     :: else -> break od;
#endif
  p = 0 } }
inline standing() { d_step { stays = 0; p = 1;       /* ghost: who stands in T's queue now */
  do :: p <= NP -> if :: inT[p] -> stays = stays | (1 << p) :: else fi; p++ :: else -> break od; p = 0 } }
#if defined(RC_ANSWERED) || defined(RC_ONCE)
#define SILENT(t) (true)
#else
#ifdef RC_ANY
#define SILENT(t) (called[t])
#else
#define SILENT(t) (called[t] && called[t] <= mycall)
#endif
#endif
#ifdef RC_ONCE
#define FIRST false
#else
#define FIRST (!flushed)
#endif
#define forget() mycall = 0; flushed = 0; stays = 0; ice_at = 0
inline visit() { d_step {            /* under T: is the name still free? */
  h = lease; p = 1;
  if
  :: h -> forget()
  :: !h && FIRST ->                                                          /* the call */
     if :: mycall -> flushed = 1 :: else -> calls++; mycall = calls; ice_at = 0 fi;
     do :: p < tk -> if :: row[p] -> if :: !called[p] && !flushed -> called[p] = calls :: else fi;
                            if :: frozen[owner[p]] && !flushed -> ice_at = ice_at | (1 << p) :: else fi :: else fi; p++ :: else -> break od
#ifdef RC_TWO
     ; flushed = 1
#endif
  :: !h && !FIRST ->                                                         /* the strike */
     do :: p < tk -> if :: row[p] && SILENT(p) -> assert(frozen[owner[p]] || dead[owner[p]]); row[p] = 0;
#ifdef RC_KEEP
                            break
#endif
                        :: else fi; p++ :: else -> break od; p = 1;
     /* whoever was frozen at the call, and has not answered, is passed */
     do :: p < tk -> assert(!(row[p] && called[p] && (ice_at & (1 << p)))); p++ :: else -> break od;
     forget()
  fi; p = 0 } }

proctype Waiter(byte me) { byte tk, pred, first, p, h, mycall, paused; bool fast, looked, quiet, flushed; byte ice_at, stays;
#ifdef NOFAST
  if :: fast = 0; goto enqueue :: false -> skip fi;
#endif
  if :: fast = 1; tk = MAXT+1; goto wantT      /* grant, ticket 0: first a try without a ticket: T, look: no lease and nobody waiting */
     :: fast = 0
  fi;
enqueue: skip;
  fast = 0; looked = 0;
  /* enqueue */
  d_step { seq++; tk = seq; assert(seq <= MAXT); owner[tk] = me; forget(); paused=0 }  /* BEGIN; insert ticket */
#ifdef Q1
  look(); looked = 1;
#endif
#ifndef Q6
  slock[tk] = me;                                                            /* lock own ticket */
#endif
  d_step { row[tk] = 1; arrivals++; arr[tk] = arrivals }                     /* COMMIT: visible now */
#ifdef Q6
  slock[tk] = me;
#endif
again: skip;
  mishap();
  if :: looked -> looked = 0 :: else -> look() fi;
  called[tk] = 0;                                                            /* the answer to a roll call */
  if
  :: !row[tk] -> d_step { slock[tk]=0 }; goto enqueue                          /* I was taken for dead: queue again */
  :: row[tk] && pred -> /* await, kind 0: not first: block on my predecessor's ticket */
     if
     :: slock[pred]==0 ->                                                    /* got it; give it back */
#ifdef EXCLGET
        slock[pred]=me; slock[pred]=0;
#endif
        d_step { if :: row[pred] && slock[pred]==0 -> assert(dead[owner[pred]]); row[pred]=0 :: else fi }; /* row but no lock: dead */
        forget()
     :: ENDWAIT ->                                                           /* bounded wait over */
        if
        :: h!=0 -> forget()
        :: h==0 && !mycall && calls>=CALLS -> skip
        :: h==0 && (mycall && !flushed || !mycall && calls<CALLS) ->         /* the call, and the wait: take T, behind a head that stands there */
           atomic { standing(); tq!me }; atomic { T==0 && tq?[eval(me)] -> tq?eval(me); T = me };
           visit(); T=0
        :: h==0 && mycall && flushed ->                                      /* the strike */
           atomic { judge(); if :: !quiet -> goto again
#ifdef RC_NOT
                                :: else -> visit(); goto again
#else
                                :: else -> tq!me
#endif
                                fi };
           atomic { T==0 && tq?[eval(me)] -> tq?eval(me); T = me };
           visit(); T=0
        fi
     fi;
     goto again
  :: row[tk] && !pred && h && paused!=h -> /* await, kind 1: head: block on the holder's token lock */
     if :: tlock[h]==0 -> paused = h :: frozen[h] && (expired || lease!=h) -> skip /* head's 1 s timer, earliest expiry */
        :: ENDWAIT -> skip fi;
     if :: goto wantT /* turn */ :: !(lease && expired) -> goto again fi
  :: row[tk] && !pred && h && paused==h -> /* the lock came at once but the lease row stands: pause, or until the expiry */
     if :: expired || (lease!=h && (dead[h] || frozen[h])) -> skip :: ENDWAIT -> skip fi;  /* timer set for the expiry */
     if :: lease && expired -> goto wantT :: else -> goto again fi
  :: row[tk] && !pred && !h -> skip
  fi;
wantT: skip;
  mishap();
  d_step { tq!me; inT[me] = 1 };                                              /* grant: block in T */
  atomic { T==0 && tq?[eval(me)] -> tq?eval(me); T = me; inT[me] = 0 };
  d_step { if :: lease && expired -> lease=0; expired=0 :: else fi };           /* sweep */
  mishap();
  look();
  if
  :: h || (pred && (fast || row[tk])) ->
#ifdef Q5
     if :: !h && !fast -> goto grant :: else fi;
#endif
     T=0; if :: fast -> goto enqueue :: else -> goto again fi
  :: !h && !fast && !row[tk] -> T=0; slock[tk]=0; goto enqueue
  :: else -> skip
  fi;
grant: skip;
#ifdef SHORT
  d_step { p = 1;
    do :: p < tk -> assert(!(row[p] && slock[p]==owner[p] && arr[p] < arr[tk])); p++ :: else -> break od; p = 0;
    got[me]=1; row[tk]=0; T=0; slock[tk]=0 }
  goto over;
#endif
#ifdef Q4
  slock[tk]=0;
#endif
#ifndef Q3
  tlock[me]=me;                                                              /* token lock, before the COMMIT */
#endif
  d_step { /* COMMIT of the grant: lease row in, ticket row out, T free */
    assert(lease==0); p = 1;
    do :: p < tk -> assert(!(row[p] && slock[p]==owner[p] && (fast -> 0 : arr[p] < arr[tk]))); p++ :: else -> break od; p = 0;
    lease=me; expired=0; got[me]=1; row[tk]=0; T=0 }
  slock[tk]=0;
#ifdef Q3
  tlock[me]=me;
#endif
  mishap();
release: skip;
#ifdef Q2
  tlock[me]=0;
#endif
  d_step { if :: lease==me -> lease=0; expired=0 :: else fi };                  /* DELETE; COMMIT */
  tlock[me]=0;                                                               /* then unlock */
  goto over;
withdraw:                                                                    /* -w is over: ROLLBACK; DELETE ticket; COMMIT; unlock */
  if :: T==me -> T=0 :: else fi; row[tk]=0; slock[tk]=0; goto over;
die:
  dead[me]=1;
  if :: T==me -> T=0 :: else fi;
  if :: slock[tk]==me -> slock[tk]=0 :: else fi;
  tlock[me]=0; goto over;
ice: skip;
#ifndef NOIDLE
  if :: T==me -> T=0 :: else fi;                                              /* idle-in-transaction time-out */
#endif
end_ice: (WAKES);
  skip;                                                                      /* it woke; (frozen[me] stays: it was stopped once) */
  if :: got[me] -> goto release :: !got[me] && fast -> if :: T==me -> T=0 :: else fi; goto enqueue
     :: else -> if :: T==me -> T=0 :: else fi; goto again fi;
over: skip; d_step { tk=0; pred=0; first=0; h=0; forget(); quiet=0; paused=0 } }

proctype TLocker(byte me) {          /* a transaction lock: T, some work, COMMIT; no tickets */
  tq!me; atomic { T==0 && tq?[eval(me)] -> tq?eval(me); T = me };
  T=0 }

proctype Clock() {                   /* the lease of a holder that is dead or frozen expires at some time */
end: do :: d_step { lease && !expired && (dead[lease] || frozen[lease]) -> expired=1 } od }

init { byte k; atomic { k=1; do :: k<=NW -> run Waiter(k); k++ :: k>NW && k<=NP -> run TLocker(k); k++ :: else -> break od; run Clock(); k=0 } }
