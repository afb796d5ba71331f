/* SPDX-License-Identifier: Apache-2.0 */
/*
 * members.pml: leases of ONE name in all three modes on PostgreSQL: exclusive, shared, one of N
 * permits. See README.md for the method, and lease.pml for how to read Promela and for the rows.
 *
 * Shared leases and permits are members: rows with n = their token, behind the gate, the row of the
 * name with token 0. c[p] is the row of the name: place 0, and place 1 after a move; m[t] the mode of
 * the committed member t, mx[t] the session that has it locked, mdel[t] and mins[t] its uncommitted
 * change. Members with a number up to the gate's `least` are not read. T and TS: the name lock,
 * exclusive and shared.
 *
 * THE CODE (sql/postgresql/schema/)
 *   Granter  one grant by function, rowlock.take, of a mode. It locks the gate, deletes the members that have
 *            expired, looks in a new statement, and inserts its row, or makes the gate its lease.
 *            With MOVES it may move a gated name.
 *   Ender    rowlock.end_lease: of a member, under the gate's lock, and the last one deletes the gate; or one
 *            that leaves the gate (no statement does so today)
 *   Renewer  rowlock.renew_lease    Locker  a transaction lock, exclusive or shared (rowlock.lock)
 *
 * Switches: NP, NX, NS granters of permits, exclusive and shared leases; NR, NE renewers, enders; LX,
 * LS lockers; N the limit; MOVES; NEWLEAST: a grant may raise the gate's `least`.
 * Mutations:
 *   M1  counts before it locks the gate, and shares the name lock with other permits
 *   M2  counts the rows that look live, sweeps nothing
 *   M3  sweeps nothing while any permit is live   M4  an exclusive grant forgets the members
 *   M5  the last member looks for others before it has locked the gate
 *   M6  `least` is the token of a grant beside other members     M7  a locker looks at the gate only
 *   M8  an expired member is deleted without a second look at the clock after the wait for a renewal
 */
#ifndef N
#define N 2
#endif
#ifndef NP
#define NP 0
#endif
#ifndef NX
#define NX 0
#endif
#ifndef NS
#define NS 0
#endif
#ifndef NR
#define NR 0
#endif
#ifndef NE
#define NE 0
#endif
#ifndef LX
#define LX 0
#endif
#ifndef LS
#define LS 0
#endif
#ifndef MOVES
#define MOVES 0
#endif
#define TOKENS (NP+NX+NS)
#define ALL (TOKENS+NR+NE+LX+LS)
#define S 1
#define P 2
#define X 3
#define NONE 0
#define GATE 1
#define MOVED 2
#define LEASE(t) (10+(t))
#define IS_LEASE(v) ((v) >= 10)
#define TOKEN(v) ((v)-10)
#define BIT(p) (1<<(p))

byte c[2], u[2], x[2], least[2], uleast[2];
byte m[TOKENS+1], mx[TOKENS+1]; bool mins[TOKENS+1], mdel[TOKENS+1];
byte mode_of[TOKENS+1];
byte T, TS, seq, granted, ended, expired;
byte sure;                      /* ghost: the tokens whose holders may believe that they have the lease */
byte locked, locked_s;          /* ghost: lockers inside */

#define PLACE (c[1]==NONE && x[1]!=me -> 0 : 1)
#define SEEN(p) (x[p]==me -> u[p] : c[p])
#ifdef M2
#define LIVE(t) (!(expired & BIT(t)))
#else
#define LIVE(t) true
#endif
#ifdef M1
#define SHARES (mode!=X)
#else
#define SHARES (mode==S)
#endif
#define FREE(p) (x[p]==0 || x[p]==me)
#define MINE(t) (m[t] && !(mx[t]==me && mdel[t]) || mx[t]==me && mins[t])

inline check() {                /* the promises, after every COMMIT */
  held = 0; i = 1; kinds = 0;
  do
  :: i <= TOKENS ->
     if :: m[i]==P -> held++; kinds = kinds | 2 :: m[i]==S -> kinds = kinds | 1 :: else fi;
     if :: m[i] && !(locked & BIT(mx[i])) -> assert(!locked) :: else fi;
     if :: m[i]==P && !(locked_s & BIT(mx[i])) -> assert(!locked_s) :: else fi;
     if :: (m[i]) -> assert(c[0]==GATE || c[0]==MOVED && c[1]==GATE);            /* no member without a gate that shows it */
                     assert(i > least[(c[0]==MOVED -> 1 : 0)])
        :: else fi; i++
  :: else -> break
  od;
  for (i : 0 .. 1) { if :: IS_LEASE(c[i]) -> kinds = kinds | 4; assert(!(locked|locked_s) || ((locked|locked_s) & BIT(x[i]))) :: else fi };
  assert(!(kinds & (kinds-1)));                                                  /* the kinds exclude each other */
  assert(held <= N); held = 0; kinds = 0;
  i = 1; do :: i <= TOKENS -> if :: sure & BIT(i) -> kinds = kinds | BIT(mode_of[i]); if :: mode_of[i]==P -> held++ :: mode_of[i]==X -> held = held+N :: else fi :: else fi; i++ :: else -> break od;
  assert(!(kinds & (kinds-1)) && held <= N);                                     /* ... and holders */
  held = 0; kinds = 0; i = 0 }
inline release_all(keep) {
  i = 1; do :: i <= TOKENS ->
    if :: mx[i]==me -> if :: keep && mdel[i] -> m[i] = 0; assert(!(sure & BIT(i))) :: keep && mins[i] -> m[i] = mode_of[i] :: else fi;
          mx[i] = 0; mins[i] = 0; mdel[i] = 0 :: else fi; i++ :: else -> break od;
  for (i : 0 .. 1) { if :: x[i]==me -> if :: keep -> if :: IS_LEASE(c[i]) && u[i]!=c[i] -> assert(!(sure & BIT(TOKEN(c[i])))) :: else fi; c[i] = u[i]; least[i] = uleast[i] :: else fi;
                           x[i] = 0; u[i] = 0; uleast[i] = 0 :: else fi };
  i = 0; if :: T==me -> T = 0 :: else fi; TS = TS & ~BIT(me) }
inline commit() { d_step { release_all(true); check() } }
inline rollback() { d_step { release_all(false) } }
inline lock_row(k) { if :: x[k]==me -> skip :: else -> x[k] = me; u[k] = c[k]; uleast[k] = least[k] fi }
inline take_T(shared) {
  if
  :: d_step { !shared && T==0 && TS==0 -> T = me }
  :: d_step { shared && T==0 -> TS = TS | BIT(me) }
  :: goto dead
  fi }
/* a look: held permits, kinds; live only with M2 */
inline count() { d_step { held = 0; kinds = 0; i = 1;
  do :: i <= TOKENS -> if :: MINE(i) && i > uleast[p] && LIVE(i) -> kinds = kinds | BIT(mode_of[i]); if :: mode_of[i]==P -> held++ :: else fi :: else fi; i++ :: else -> break od; i = 0 } }
/* DELETE .. WHERE n > least AND expires <= clock: it waits for a renewal, and looks at the clock again */
inline sweep() {
  t = 1;
  do
  :: t <= TOKENS && m[t] && t > uleast[p] && (expired & BIT(t)) ->
     if
     :: d_step { (mx[t]==0 || mx[t]==me) && m[t] && (expired & BIT(t)) -> mx[t] = me; mdel[t] = 1 }
#ifdef M8
     :: d_step { (mx[t]==0 || mx[t]==me) && m[t] -> mx[t] = me; mdel[t] = 1 }
#endif
     :: (mx[t]==0 || mx[t]==me) && (!m[t] || !(expired & BIT(t)))
     :: goto dead
     fi; t++
  :: t <= TOKENS && !(m[t] && t > uleast[p] && (expired & BIT(t))) -> t++
  :: t > TOKENS -> break
  od; t = 0 }

#define LOCALS byte i, held, kinds, t, p, v, tok
#define FINISH rollback(); d_step { ended++; held = 0; kinds = 0; t = 0; p = 0; v = 0; tok = 0 }

proctype Granter(byte me, mode) { LOCALS;
  take_T(SHARES);
again: skip;
  d_step { p = PLACE; v = SEEN(p) }
  if
  :: v==MOVED -> goto again
  :: v==NONE ->
     if
     :: mode!=X -> if :: d_step { FREE(p) && SEEN(p)==NONE -> x[p] = me; u[p] = GATE; uleast[p] = seq }     /* ON CONFLICT DO NOTHING */
                      :: FREE(p) && SEEN(p)!=NONE -> skip fi; goto again
     :: mode==X -> d_step { seq++; tok = seq; mode_of[tok] = mode }
                   if :: d_step { FREE(p) && SEEN(p)==NONE -> x[p] = me; u[p] = LEASE(tok) } :: FREE(p) && SEEN(p)!=NONE -> goto again fi; goto insert
     fi
  :: IS_LEASE(v) ->
     if :: expired & BIT(TOKEN(v)) :: else -> goto dead fi;
     if :: d_step { x[p]==0 && c[p]==v && (expired & BIT(TOKEN(v))) -> lock_row(p); u[p] = NONE } :: x[p]==0 && (c[p]!=v || !(expired & BIT(TOKEN(v)))) -> skip :: goto dead fi;
     goto again
  :: v==GATE ->
#ifdef M1
     count();
#endif
     if :: d_step { FREE(p) && SEEN(p)==GATE -> lock_row(p) } :: FREE(p) && SEEN(p)!=GATE -> goto again fi
  fi;
#ifndef M2
#ifdef M3
  i = 1; do :: i <= TOKENS && !(m[i]==P && !(expired & BIT(i))) -> i++ :: else -> break od;
  if :: mode==P && i <= TOKENS -> i = 0 :: else -> i = 0; sweep() fi;
#else
  sweep();
#endif
#endif
#ifndef M1
  count();
#endif
  if
  :: mode==X && kinds || mode==S && (kinds & ~BIT(S)) || mode==P && ((kinds & ~BIT(P)) || held >= N) ->
#ifdef M4
     if :: mode==X :: else -> goto dead fi
#else
     if :: commit() :: skip fi; goto dead                                      /* refused; what it has swept, and a new gate, may stay */
#endif
  :: else -> skip
  fi;
  d_step { seq++; tok = seq; mode_of[tok] = mode }
#if MOVES
  if :: p==0 -> d_step { u[0] = MOVED; x[1] = me; u[1] = GATE; uleast[1] = uleast[0]; p = 1 } :: skip fi;
#endif
  if
  :: mode==X -> u[p] = LEASE(tok)
  :: else -> d_step { mx[tok] = me; mins[tok] = 1;
#ifdef NEWLEAST
       t = 1; do :: t < tok && !(MINE(t) && t > uleast[p]) -> t++ :: else -> break od }
#ifdef M6
     t = tok+1;
#endif
     if :: d_step { uleast[p] = t-1 } :: skip fi;
     d_step { t = 0
#endif
       }
  fi;
insert: skip;
  if :: atomic { sure = sure | BIT(tok); expired = expired & ~BIT(tok); commit(); granted = tok } :: skip fi;
dead: skip; FINISH }

inline pick() { (granted > 0 || ended >= TOKENS);
  if :: granted>=1 -> tok=1 :: granted>=2 -> tok=2 :: granted>=3 -> tok=3 :: granted==0 -> goto dead fi }

proctype Renewer(byte me) { LOCALS;
  pick();
  if :: m[tok] :: else -> goto dead fi;
  if :: d_step { mx[tok]==0 && m[tok] -> mx[tok] = me } :: mx[tok]==0 && !m[tok] -> goto dead fi;
  if :: atomic { expired = expired & ~BIT(tok); sure = sure | BIT(tok); commit() } :: skip fi;
dead: skip; FINISH }

proctype Ender(byte me) { LOCALS;
  pick();
  if :: mode_of[tok]==X ->
        if :: d_step { x[0]==0 && c[0]==LEASE(tok) -> lock_row(0); u[0] = NONE; sure = sure & ~BIT(tok) }
           :: d_step { x[1]==0 && c[1]==LEASE(tok) -> lock_row(1); u[1] = NONE; sure = sure & ~BIT(tok) }
           :: goto dead fi; goto done
     :: else fi;
  if :: goto fast :: skip fi;
#ifdef M5
  skip; d_step { i = 1; held = 0; do :: i <= TOKENS -> if :: m[i] && i!=tok -> held++ :: else fi; i++ :: else -> break od; i = 0 }
#endif
gate: p = PLACE;
  if :: d_step { x[p]==0 && c[p]==GATE -> lock_row(p) }
     :: x[p]==0 && c[p]!=GATE && PLACE!=p -> goto gate
     :: x[p]==0 && c[p]!=GATE && PLACE==p -> goto dead                         /* so the member is gone, too */
     :: goto dead fi;
fast: if :: d_step { mx[tok]==0 && m[tok] -> mx[tok] = me; mdel[tok] = 1; sure = sure & ~BIT(tok) } :: mx[tok]==0 && !m[tok] -> skip :: goto dead fi;
#ifndef M5
  d_step { i = 1; held = 0; do :: i <= TOKENS -> if :: MINE(i) && i > uleast[p] -> held++ :: else fi; i++ :: else -> break od; i = 0 }
#endif
  if :: x[p]==me && held==0 -> u[p] = NONE :: else fi;
done: skip;
  if :: commit() :: skip fi;
dead: skip; FINISH }

inline look_members() { kinds = 0; i = 1; do :: i <= TOKENS -> if :: m[i] && i > least[p] -> kinds = kinds | BIT(mode_of[i]) :: else fi; i++ :: else -> break od; i = 0 }
proctype Locker(byte me, shared) { LOCALS;
  take_T(shared);
  d_step { p = PLACE; v = SEEN(p); look_members() }
  if :: IS_LEASE(v) -> goto dead :: else fi;
#ifndef M7
  if :: !shared && kinds || shared && (kinds & ~BIT(S)) -> goto dead :: else fi;
#endif
  d_step { if :: shared -> locked_s = locked_s | BIT(me) :: else -> locked = locked | BIT(me) fi; check() }
  d_step { locked = locked & ~BIT(me); locked_s = locked_s & ~BIT(me) }
dead: skip; FINISH }

proctype Clock() { byte i, held, kinds, t, p, v, me = ALL+1;
end: do
  :: d_step { granted>=1 && !(expired & BIT(1)) -> expired = expired | BIT(1); sure = sure & ~BIT(1) }
#if TOKENS > 1
  :: d_step { granted>=2 && !(expired & BIT(2)) -> expired = expired | BIT(2); sure = sure & ~BIT(2) }
#endif
#if TOKENS > 2
  :: d_step { granted>=3 && !(expired & BIT(3)) -> expired = expired | BIT(3); sure = sure & ~BIT(3) }
#endif
  :: atomic { ended == ALL -> break }
  od;
  /* P6: all sessions have ended. One more call for one permit is refused only if live leases
     conflict with it. */
  p = PLACE; v = c[p];
  if :: v==GATE -> d_step { x[p] = me; u[p] = v; uleast[p] = least[p] };
#ifdef M3
        i = 1; do :: i <= TOKENS && !(m[i]==P && !(expired & BIT(i))) -> i++ :: else -> break od;
        if :: i <= TOKENS -> i = 0 :: else -> i = 0; sweep() fi;
#else
        sweep();
#endif
        count();
        if :: held >= N || (kinds & ~BIT(P)) ->
              d_step { held = 0; v = 0; i = 1; do :: i <= TOKENS -> if :: m[i]==P && !(expired & BIT(i)) -> held++ :: m[i]==S && !(expired & BIT(i)) -> v = 1 :: else fi; i++ :: else -> break od; i = 0 };
              assert(held >= N || v)
           :: else fi
     :: else fi;
dead: skip }

init { byte n, k = 1; atomic {
  n=0; do :: n<NP -> run Granter(k,P); k++; n++ :: else -> break od;
  n=0; do :: n<NX -> run Granter(k,X); k++; n++ :: else -> break od;
  n=0; do :: n<NS -> run Granter(k,S); k++; n++ :: else -> break od;
  n=0; do :: n<NR -> run Renewer(k); k++; n++ :: else -> break od;
  n=0; do :: n<NE -> run Ender(k); k++; n++ :: else -> break od;
  n=0; do :: n<LX -> run Locker(k,0); k++; n++ :: else -> break od;
  n=0; do :: n<LS -> run Locker(k,1); k++; n++ :: else -> break od;
  run Clock(); n=0; k=0 } }
