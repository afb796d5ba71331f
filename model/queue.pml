/* SPDX-License-Identifier: Apache-2.0 */
/*
 * queue.pml: the queue of waiters for one name: the rows of tickets decide, session locks are only
 * hints.
 *
 * See lock.pml for how to read Promela. The database: row[t] is the committed row of ticket t;
 * slock[t] the session lock on ticket t (0: free, otherwise its holder); lease the session whose
 * lease row is committed (0: none); tlock[p] the session lock on the token of p's lease; T the
 * session that holds the name lock. Leases are exclusive only. A session's death frees its session
 * locks and T; its committed rows (ticket, lease) stay. "timeout" ends the bounded wait of a
 * waiter. SPIN lets it happen only when NOTHING else in the whole farm can move, so a waiter that
 * needs it shows a lost wake-up, unless the bounded wait is the intended remedy.
 *
 * THE CODE. The steps are those of the state machine in src/lease, the statements those of
 * src/dialect/dialect.h.
 *   fast      rowlock.grant_lease with ticket 0. (lease.pml shows that the statement grant_free, which a
 *             gate stops, has the same effect.)
 *   enqueue   rowlock.enqueue (the ticket's session lock before its COMMIT); it marks the lease as queued
 *   look      rowlock.place; it also answers a roll call (rowlock.place clears waiter.roll_call)
 *   await     blocking on slock[pred] or tlock[h]: rowlock.await (kind 0, 1), which removes a ticket
 *             whose session lock is free (rowlock.remove_dead)
 *   turn      await, kind 1, and then T without a look between: rowlock.turn (a turn that waits for a ticket first looks, then waits for the token:
 *             the same steps)
 *   overtake  three visits of T while the name is free: rowlock.overtake. The first is the call: it
 *             marks every ticket before the caller's. The second only waits for T behind all sessions
 *             in its queue. The third strikes: it removes the tickets whose waiters did not answer.
 *   grant     wantT, then rowlock.grant_lease with the ticket and wait_ms, rowlock.take under T, COMMIT
 *             in a second round trip, which releases the ticket's session lock
 *   release   rowlock.end_lease, which also releases the token's session lock; of a lease that is not
 *             queued the statement release_free, which releases the session lock before its COMMIT
 *   withdraw  rowlock.withdraw
 * On SQLite and behind a pooler there are no session locks: every wait ends by itself (BOUND), and
 * a ticket is dead when its `alive_until` has passed.
 *
 * Switches:
 *   NW, NT    waiters, transaction lockers
 *   DIE/FREEZE/QUIT  how many may die, freeze for ever, or withdraw
 *   BOUND     bounded waits exist (otherwise waits never end, and any lost wake-up is an "invalid end
 *             state")
 *   STUCK     a bounded wait may also end while its predecessor is frozen or in T's queue (runs about
 *             order and overtaking)
 *   ANYTIME   bounded waits may end at any moment while the name is free
 *   THAW      frozen waiters may wake again
 *   NOFAST    no try without a ticket
 *   QUEUEING  waiters freeze and die in the queue only
 *   SHORT     a lease ends with its grant, so that the name is always free
 *   CALLS     the number of roll calls, to keep the state space finite. Each draws a number, and marks
 *             unmarked tickets with it; a strike removes tickets with a mark up to its own number. The
 *             time between a call and its strike is `judge` below: every marked waiter in good health
 *             has looked in between, unless it has been in T's queue since before the second visit.
 *   EXCLGET   a woken waiter really holds the predecessor's lock briefly (GET_LOCK)
 *   NOIDLE    no idle-in-transaction timeout: a frozen session keeps T
 * Mutations:
 *   RC_ONCE   the first visit strikes            RC_TWO   the second visit strikes
 *   RC_EARLY  a strike leaves no time to answer  RC_ANSWERED  a strike ignores answers
 *   RC_NOT    the strike does not acquire T      RC_ANY   it strikes any mark, also a later caller's
 *   RC_KEEP   it strikes only the first of the silent waiters
 *   RC_REMARK  a call replaces the mark of an earlier one
 *   Q1  look before the ticket is committed      Q2  unlock before the COMMIT of the release
 *   Q3  token lock acquired after COMMIT         Q4  unlock the ticket before the grant's COMMIT
 *   Q5  grant without looking for earlier tickets under T
 *   Q6  own ticket locked after its COMMIT       Q7  release_free although the lease is queued
 */
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
byte lease; bool expired, queued, ending; byte tlock[NP+2]; byte T; chan tq = [NP+1] of { byte };  /* T's queue is first in, first out */
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

/* a session may die, freeze (SIGSTOP, or a lost network while its backend lives on), or give up
   its wait */
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

/* may the marked tickets be judged? (the time to answer has passed) */
inline judge() { d_step { quiet = 1; p = 1;
#ifndef RC_EARLY
  do :: p < tk -> if :: row[p] && called[p] && called[p] <= mycall && !frozen[owner[p]] && !dead[owner[p]] && !(inT[owner[p]] && (stays & (1 << owner[p]))) -> quiet = 0
                     :: else fi; p++
     :: else -> break od;
#endif
  p = 0 } }
inline standing() { d_step { stays = 0; p = 1;       /* ghost: the sessions in T's queue now */
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
#ifdef THAW                          /* it may have answered, and been marked again by a later call */
#define OWED(t) (called[t] && called[t] <= mycall)
#else
#define OWED(t) (called[t])
#endif
#ifdef RC_REMARK
#define UNMARKED(t) true
#else
#define UNMARKED(t) (!called[t])
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
     do :: p < tk -> if :: row[p] -> if :: UNMARKED(p) && !flushed -> called[p] = calls :: else fi;
                            if :: frozen[owner[p]] && !flushed -> ice_at = ice_at | (1 << p) :: else fi :: else fi; p++ :: else -> break od
#ifdef RC_TWO
     ; flushed = 1; stays = 255    /* without a second visit, any waiter in T's queue is late */
#endif
  :: !h && !FIRST ->                                                         /* the strike */
     do :: p < tk -> if :: row[p] && SILENT(p) -> assert(frozen[owner[p]] || dead[owner[p]]); row[p] = 0;
#ifdef RC_KEEP
                            break
#endif
                        :: else fi; p++ :: else -> break od; p = 1;
     /* a waiter that was frozen at the call, and has not answered, is passed */
     do :: p < tk -> assert(!(row[p] && OWED(p) && (ice_at & (1 << p)))); p++ :: else -> break od;
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
  d_step { !ending -> row[tk] = 1; arrivals++; arr[tk] = arrivals; queued = (lease != 0) }         /* COMMIT: visible now */
#ifdef Q6
  slock[tk] = me;
#endif
again: skip;
  mishap();
  if :: looked -> looked = 0 :: else -> look() fi;
  called[tk] = 0;                                                            /* the answer to a roll call */
  if
  /* my ticket was removed as dead: queue again */
  :: !row[tk] -> d_step { slock[tk]=0 }; goto enqueue
  :: row[tk] && pred -> /* await, kind 0: not first: block on my predecessor's ticket */
     if
     :: slock[pred]==0 -> /* acquired; release it */
#ifdef EXCLGET
        slock[pred]=me; slock[pred]=0;
#endif
        d_step { if :: row[pred] && slock[pred]==0 -> assert(dead[owner[pred]]); row[pred]=0 :: else fi }; /* row but no lock: dead */
        forget()
     :: ENDWAIT -> /* the bounded wait has ended */
        if
        :: h!=0 -> forget()
        :: h==0 && !mycall && calls>=CALLS -> skip
        /* the call, and the wait: acquire T behind a head that is already in its queue */
        :: h==0 && (mycall && !flushed || !mycall && calls<CALLS) ->
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
  /* the lock came at once but the lease row exists: pause, or until the expiry */
  :: row[tk] && !pred && h && paused==h ->
     if :: expired || (lease!=h && (dead[h] || frozen[h])) -> skip :: ENDWAIT -> skip fi;  /* timer set for the expiry */
     if :: lease && expired -> goto wantT :: else -> goto again fi
  :: row[tk] && !pred && !h -> skip
  fi;
wantT: skip;
  mishap();
  d_step { tq!me; inT[me] = 1 };                                              /* grant: block in T */
  atomic { T==0 && tq?[eval(me)] -> tq?eval(me); T = me; inT[me] = 0 };
  d_step { if :: lease && expired && !ending -> lease=0; expired=0; queued=0 :: else fi };           /* sweep */
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
    lease=me; expired=0; got[me]=1; row[tk]=0; T=0; queued = 0; p = 1;
    do :: p <= MAXT -> queued = queued || row[p]; p++ :: else -> break od; p = 0 }
  slock[tk]=0;
#ifdef Q3
  tlock[me]=me;
#endif
  mishap();
release: skip;
#ifdef Q2
  tlock[me]=0;
#endif
#ifdef Q7
#define ALONE true
#else
#define ALONE (!queued)
#endif
  if
  :: atomic { lease==me && ALONE -> ending = 1 };                            /* DELETE .. AND NOT queued; the row is locked */
     tlock[me]=0;                                                            /* RETURNING */
     d_step { lease=0; expired=0; ending=0; queued=0 }                                 /* COMMIT */
     goto over
  :: else -> skip
  fi;
  d_step { if :: lease==me -> lease=0; expired=0; queued=0 :: else fi };                  /* DELETE; COMMIT */
  tlock[me]=0;                                                               /* then unlock */
  goto over;
withdraw: /* -w has passed: ROLLBACK; DELETE ticket; COMMIT; unlock */
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
  skip; /* it woke; frozen[me] stays set: it froze once */
  if :: got[me] -> goto release :: !got[me] && fast -> if :: T==me -> T=0 :: else fi; goto enqueue
     :: else -> if :: T==me -> T=0 :: else fi; goto again fi;
over: skip; d_step { tk=0; pred=0; first=0; h=0; forget(); quiet=0; paused=0 } }

proctype TLocker(byte me) {          /* a transaction lock: T, some work, COMMIT; no tickets */
  tq!me; atomic { T==0 && tq?[eval(me)] -> tq?eval(me); T = me };
  T=0 }

proctype Clock() {                   /* the lease of a dead or frozen holder expires at some time */
end: do :: d_step { lease && !expired && (dead[lease] || frozen[lease]) -> expired=1 } od }

init { byte k; atomic { k=1; do :: k<=NW -> run Waiter(k); k++ :: k>NW && k<=NP -> run TLocker(k); k++ :: else -> break od; run Clock(); k=0 } }
