/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lease.pml: the rows of ONE name on PostgreSQL, exclusively leased: the fast grant, the functions,
 * names that move to a new generation, gates and tickets, transaction locks, fences, tidy, and rows
 * that a restore adds.
 *
 * For readers who know SQL and not SPIN: a proctype is a client session, and SPIN tries EVERY
 * interleaving of the steps of all sessions. "if :: g1 -> a :: g2 -> b fi" takes any branch whose
 * guard is true; if none is true the session WAITS, which models waiting for a lock. atomic{} and
 * d_step{} are one indivisible step: the effect of one statement at one instant. assert() is a claim
 * of the model.
 *
 * THE DATABASE. A row is indexed by its key n. Place 0 is n = 0, place 2g the generation g, which is
 * a smaller n; place 2g-1 is the marker directly above that generation. So the row with the least n
 * has the greatest place. c[p] is the committed row: NONE, GATE, MOVED(g), or LEASE(token). x[p] is
 * the session that has it locked, or that inserts it, u[p] the uncommitted version. strong[p]: the
 * lock is that of a DELETE or of FOR UPDATE, for which a fence (ks[p]: FOR KEY SHARE) and the lock
 * wait for each other. T is the name lock, writers the sessions with the table lock of a writer.
 * A statement's snapshot is one step (look); steps after it use what it saw.
 *
 * THE CLOCK. The process Clock may declare any lease expired at any moment. A renewal that commits
 * undoes that.
 *
 * THE CODE (sql/postgresql/schema/, src/dialect/dialect.h)
 *   Fast      the statement grant_free: table lock, snapshot, name lock (a try), token, perhaps
 *             rowlock.move, INSERT
 *   Function  rowlock.grant_lease: rowlock.lock_names, rowlock.sweep, then rowlock.take, or
 *             rowlock.turn; rowlock.move gives the name a new generation
 *   Ender     the statement release_free; rowlock.end_lease, which also ends what has expired
 *   Renewer   rowlock.renew_lease      Fenced   rowlock.fence
 *   Own       rowlock.lock_name with a token: transactions beneath their own lease
 *   Locker    a transaction lock, rowlock.lock: the name lock, then rowlock.leased, a new statement
 *   Waiter    rowlock.enqueue, then Function with the ticket, or rowlock.withdraw
 *   Tidy      rowlock.tidy: table lock, snapshot, removal of what moves have left
 *   Restorer  a lease that a restore inserts, by the trigger rowlock.see_foreign
 *
 * Switches (-D): NF NG NE NR NC NX NW NT NS NO: the population (Fast, Function, Ender, Renewer, Fenced,
 * Locker, Waiter, Tidy, Restorer, Own); MOVES: the moves that may happen; INIT: 1 the name has moved once,
 * 2 it is leased, 3 there is a gate that nobody needs; M1 to M20: mutations (run.sh).
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
#ifndef NT
#define NT 0
#endif
#ifndef NS
#define NS 0
#endif
#ifndef NO
#define NO 0
#endif
#ifndef MOVES
#define MOVES 1
#endif
#ifndef INIT
#define INIT 0
#endif
#if INIT == 1
#define GENERATIONS (MOVES+1)
#else
#define GENERATIONS MOVES
#endif
#define PLACES (2*GENERATIONS+1)
#define TOKENS (NF+NG+NW+NS+1)
#define BIT(p) (1<<(p))
#define NONE 0
#define GATE 1
#define MOVED(g) (2+(g))
#define IS_MOVED(v) ((v) > 2 && (v) < 10)
#define LEASE(t) (10+(t))
#define IS_LEASE(v) ((v) >= 10)
#define TOKEN(v) ((v)-10)

byte c[PLACES], u[PLACES], x[PLACES], ks[PLACES];
bool strong[PLACES], q[PLACES], uq[PLACES];            /* q: queued */
byte served[PLACES], userved[PLACES];                          /* served */
byte T; byte writers; bool tidying;                    /* the name lock; the locks on the table */
byte generations;                                      /* drawn, also by moves that were rolled back */
byte seq, granted, newest, ended;                      /* tokens drawn, committed, the greatest; sessions that ended */
byte tickets, drawn;                                   /* the committed tickets, as a set; the last number */
byte expired;                                          /* tokens */
byte at[TOKENS+1];                                     /* the key of a grant, which its client knows */
/* ghosts */
byte sure;                      /* the tokens whose holders may believe that they have the lease */
byte fenced, locked;            /* the tokens that a transaction has fenced; lockers inside */
byte O, beneath;                /* the lock of a transaction beneath the lease; how many are inside */
byte over;                      /* the tokens whose lease has ended */

#define SEEN(p) (x[p]==me -> u[p] : c[p])
#define SERVED(p) (x[p]==me -> userved[p] : served[p])
#define FREE(p) (x[p]==0 || x[p]==me)                  /* an UPDATE would not wait */
#define UNFENCED(p) (FREE(p) && (ks[p] & ~BIT(me))==0) /* nor a DELETE */

/* the claims, whenever something was committed or entered */
inline check() {
  n = 0; m = 0;
  do
  :: n < PLACES ->
     if
     :: IS_LEASE(c[n]) ->
        assert(!m); m = 1;                                       /* never two leases */
        assert(!locked || (locked & BIT(x[n])));                 /* nor one beside a transaction lock, but that which it ends */
        w = n+1; do :: w < PLACES -> assert(c[w]==NONE); w++ :: else -> break od    /* no row hides it */
     :: else
     fi; n++
  :: else -> break
  od;
  assert(!(sure & (sure-1)) && !(locked & (locked-1)));          /* two holders; two lockers */
  assert(!(sure && locked));
  assert(!(fenced & over) && !(fenced && locked) && !(fenced & (fenced-1)));    /* a fence keeps its lease */
  if                                                             /* no ticket without a row that stops the fast grant */
  :: tickets -> n = PLACES; do :: n > 0 && c[n-1]==NONE -> n-- :: else -> break od;
                assert(n > 0); assert(c[n-1]==GATE || IS_LEASE(c[n-1]) && q[n-1])
  :: else
  fi; n = 0; m = 0; w = 0 }
inline unlock() { if :: T==me -> T = 0 :: else fi; writers = writers & ~BIT(me); newticket = 0; oldticket = 0 }
inline commit() { d_step {
  n = 0; do :: n < PLACES ->
    if :: x[n]==me ->
          if :: IS_LEASE(c[n]) && u[n]!=c[n] -> over = over | BIT(TOKEN(c[n]));
                assert(!(sure & BIT(TOKEN(c[n]))))                                /* released, or its holder knows */
             :: else fi;
          c[n] = u[n]; q[n] = uq[n]; served[n] = userved[n]; x[n] = 0; u[n] = 0; uq[n] = 0; userved[n] = 0; strong[n] = 0
       :: else fi; ks[n] = ks[n] & ~BIT(me); n++ :: else -> break od;
  tickets = (tickets | newticket) & ~oldticket; unlock(); check() } }
inline rollback() { d_step {
  n = 0; do :: n < PLACES ->
    if :: x[n]==me -> x[n] = 0; u[n] = 0; uq[n] = 0; userved[n] = 0; strong[n] = 0 :: else fi; ks[n] = ks[n] & ~BIT(me); n++ :: else -> break od;
  n = 0; unlock() } }
/* the row with the least n: its place, or PLACES; its version; the generation's place */
inline look() { d_step {
  p = PLACES; do :: p > 0 && SEEN(p-1)==NONE -> p-- :: else -> break od;
  if :: p==0 -> p = PLACES; v = NONE; g = 0
     :: else -> p--; v = SEEN(p); if :: IS_MOVED(v) -> g = 2*(v-2) :: else -> g = p fi fi; n = 0 } }
inline table_lock() { d_step { !tidying -> writers = writers | BIT(me) } }
/* INSERT ... ON CONFLICT DO NOTHING: waits for who inserts, changes or deletes the row; done: whether
   it inserts */
inline insert(k, row, flag, number) { d_step {
  (x[k]==0 || x[k]==me || (u[k]==c[k] && c[k]!=NONE)) ->
  if :: SEEN(k)!=NONE -> done = 0
     :: else -> done = 1; x[k] = me; u[k] = row; uq[k] = flag; userved[k] = number; strong[k] = 1 fi } }
inline lock_row(k) { x[k] = me; u[k] = c[k]; uq[k] = q[k]; userved[k] = served[k]; strong[k] = 1 }
/* a grant: the claims about it, and its COMMIT */
inline commit_grant() { atomic {
  assert(!(before & tickets & ~mine));                           /* no waiter is overtaken */
  at[tok] = g;
  d_step { sure = sure | BIT(tok); expired = expired & ~BIT(tok) }
  commit();
  d_step { assert(tok > newest); newest = tok; granted++ } } }   /* tokens rise */

#ifdef M19
bool early;
#endif
#define LOCALS byte n, m, w, p, v, g, tok, before, mine, newticket, oldticket, ticket, to; bool done
#define FINISH rollback(); d_step { ended++; p = 0; v = 0; g = 0; tok = 0; before = 0; mine = 0; ticket = 0; to = 0; done = 0 }

/* move(place, gated): the new generation; done: whether it is there */
inline move() {
  d_step { generations++; to = generations }
  table_lock();
#ifdef M1                                      /* mutation: no row at the old generation */
  if :: v==GATE -> u[g] = NONE :: else -> skip fi; done = 1;
#else
  if :: v==GATE -> d_step { done = 1; m = uq[g]; u[g] = MOVED(to); uq[g] = 0; w = userved[g]; userved[g] = 0 }
     :: else -> insert(g, MOVED(to), 0, 0) fi;
#endif
  if :: !done -> skip
     :: else -> d_step { x[2*to-1] = me; u[2*to-1] = MOVED(to); strong[2*to-1] = 1; g = 2*to;
          if :: v==GATE -> x[g] = me; u[g] = GATE; uq[g] = m; userved[g] = w; strong[g] = 1 :: else fi; m = 0; w = 0 }
  fi; to = 0 }

proctype Fast(byte me) { LOCALS;
  before = tickets;
#ifndef M7
  table_lock();
#endif
  look();
#ifdef M7                                      /* mutation: the snapshot is older than the lock of the table */
  table_lock();
#endif
  if :: v==GATE || IS_LEASE(v) -> goto dead :: else -> skip fi;
#ifdef M17                                     /* mutation: the token is drawn before the name lock */
  d_step { seq++; tok = seq }
#endif
#ifndef M9                                     /* mutation: no name lock */
  if :: d_step { T==0 -> T = me } :: T!=0 -> goto dead fi;
#endif
#ifndef M17
  d_step { seq++; tok = seq }
#endif
#ifdef M10                                     /* mutation: no unique key; it trusts its look */
  d_step { x[g] = me; u[g] = LEASE(tok); assert(c[g]==NONE) }
#else
  if :: true -> skip
     :: generations < GENERATIONS -> move(); if :: done :: else -> goto dead fi
  fi;
  insert(g, LEASE(tok), 0, 0);
  if :: done :: else -> goto dead fi;
#endif
  if :: commit_grant() :: skip fi;             /* or the session dies */
dead: skip; FINISH }

/* Ends the lease in row p, which is this session's, locked FOR UPDATE */
inline end_row() {
#ifdef M12                                     /* mutation: looks for tickets before the lock */
  to = (m -> GATE : NONE); m = 0;
#else
  to = (uq[p] && tickets -> GATE : NONE);
#endif
  table_lock();
  u[p] = to }
/* done: no ticket is before this one, which exists */
inline look_tickets() { d_step { done = 1; n = 1;
  do :: n <= NW -> if :: (tickets & BIT(n)) && n > SERVED(p) && (!ticket || n < ticket) -> done = 0 :: else fi; n++ :: else -> break od;
  if :: ticket && !(tickets & BIT(ticket)) -> done = 0 :: else fi; n = 0 } }
/* The grant by function: as Function; with ticket 0 or the own one. Jumps to dead: refused. */
inline take() {
#ifdef M18                                     /* mutation: the look is older than the name lock */
  look();
#endif
  if :: d_step { T==0 -> T = me } :: goto dead fi;             /* it waits; or its wait has ended, or it died */
again: skip;
#ifndef M18
  look();
#endif
  if
  :: v==NONE || IS_MOVED(v) ->
     d_step { seq++; tok = seq }
     if :: true -> done = 1
        :: generations < GENERATIONS -> move(); if :: !done -> goto again :: else fi
     fi;
     table_lock();
     insert(g, LEASE(tok), 0, 0);
     if :: done :: else -> goto again fi        /* a gate of a waiter that has just queued */
  :: IS_LEASE(v) ->
     if :: expired & BIT(TOKEN(v)) :: else -> goto dead fi;
     if                                        /* SELECT .. WHERE expires <= clock FOR UPDATE */
     :: d_step { UNFENCED(p) && c[p]==v && (expired & BIT(TOKEN(v))) -> lock_row(p) }
#ifdef M13                                     /* mutation: not decided again after the wait */
     :: d_step { UNFENCED(p) && c[p]==v && !(expired & BIT(TOKEN(v))) -> lock_row(p) }
#else
     :: FREE(p) && c[p]==v && !(expired & BIT(TOKEN(v))) -> goto again
#endif
     :: FREE(p) && c[p]!=v -> goto again
     :: goto dead                              /* lock_timeout */
     fi;
     end_row(); goto again
  :: v==GATE ->
#ifdef M19                                     /* mutation: looks at the tickets before it locks the gate */
     look_tickets(); early = (tickets!=0);
#endif
     if
     :: d_step { (UNFENCED(p) && SEEN(p)==GATE) -> if :: x[p]==me -> skip :: else -> lock_row(p) fi }
     :: FREE(p) && SEEN(p)!=GATE -> goto again
     fi;
#ifndef M19
     look_tickets();
#endif
     if :: done :: else -> goto dead fi;
     d_step { seq++; tok = seq }
     if :: true -> skip
        :: generations < GENERATIONS -> move()
     fi;
     table_lock();
     skip; d_step { m = (ticket > userved[g] -> ticket : userved[g]); done = 0; n = 1;  /* others? */
       do :: n <= NW -> if :: (tickets & BIT(n)) && n > m -> done = 1 :: else fi; n++ :: else -> break od;
#ifdef M19
       done = early;
#endif
       u[g] = LEASE(tok); uq[g] = done; userved[g] = m; x[g] = me; n = 0; m = 0; done = 0;
       if :: ticket -> oldticket = BIT(ticket) :: else fi }
  fi }

proctype Function(byte me) { LOCALS;
  before = tickets;
  take();
  if :: commit_grant() :: skip fi;
dead: skip; FINISH }

proctype Waiter(byte me) { LOCALS;
#ifdef M15                                     /* mutation: the ticket is drawn before the row is locked */
  d_step { drawn++; ticket = drawn }
#endif
queue: skip;                                   /* INSERT gate .. ON CONFLICT DO UPDATE SET queued WHERE token >= 0 */
  table_lock();
  look();
  if
  :: d_step { FREE(g) && SEEN(g)==NONE -> x[g] = me; u[g] = GATE; uq[g] = 1; userved[g] = drawn; strong[g] = 1 }
  :: d_step { FREE(g) && SEEN(g)!=NONE && !IS_MOVED(SEEN(g)) ->
       m = q[g]; x[g] = me; u[g] = c[g]; uq[g] = 1; userved[g] = (m -> served[g] : drawn); m = 0 }
#ifdef M5                                      /* mutation: a moved row counts as the gate */
  :: FREE(g) && IS_MOVED(SEEN(g)) -> skip
#else
  :: FREE(g) && IS_MOVED(SEEN(g)) -> goto queue
#endif
  fi;
#ifndef M15
  d_step { drawn++; ticket = drawn }
#endif
  newticket = BIT(ticket);
  if :: d_step { before = 0; mine = BIT(ticket) -> skip }; commit() :: goto dead fi;
  skip; d_step { n = 1; do :: n < ticket -> before = before | (tickets & BIT(n)); n++ :: else -> break od; n = 0 }
  if :: skip :: withdraw: oldticket = BIT(ticket); commit(); goto dead fi;
  take();
  if :: commit_grant(); goto dead2 :: skip fi;
dead: skip; rollback();
  if :: ticket && (tickets & BIT(ticket)) -> oldticket = BIT(ticket); commit() :: else fi;     /* dead: others delete its ticket */
dead2: skip; FINISH }

inline pick() { atomic { (granted > 0 || ended+NE+NR+NC+NO >= NF+NG+NE+NR+NC+NX+NW+NT+NS+NO || INIT==2);
  if :: seq>=1 && at[1]!=255 -> tok = 1 :: seq>=2 && at[2]!=255 -> tok = 2
#if TOKENS > 2
     :: seq>=3 && at[3]!=255 -> tok = 3
#endif
     :: else -> goto dead fi } }

proctype Ender(byte me) { LOCALS;
  pick();
  p = at[tok];
#ifdef M11                                     /* mutation: the fast release ignores waiters */
#define OPEN(p) true
#else
#define OPEN(p) (!q[p])
#endif
  if
  :: table_lock();                             /* DELETE .. AND NOT queued */
     if :: d_step { c[p]==LEASE(tok) && OPEN(p) -> skip } :: else -> rollback(); goto function fi;
     if
     :: d_step { UNFENCED(p) && c[p]==LEASE(tok) && OPEN(p) -> lock_row(p); u[p] = NONE; sure = sure & ~BIT(tok) }
     :: FREE(p) && !(c[p]==LEASE(tok) && OPEN(p)) -> rollback(); goto function
     :: goto dead
     fi
  :: function: p = at[tok];
#ifdef M12
     m = q[p] && tickets;
#endif
     if
     :: d_step { UNFENCED(p) && c[p]==LEASE(tok) -> lock_row(p); sure = sure & ~BIT(tok) }
#ifdef M14                                     /* mutation: the gate is written without FOR UPDATE */
     :: d_step { FREE(p) && c[p]==LEASE(tok) && q[p] && tickets -> lock_row(p); sure = sure & ~BIT(tok); strong[p] = 0 }
#endif
     :: FREE(p) && c[p]!=LEASE(tok) -> goto dead
     :: goto dead
     fi;
     end_row()
  fi;
  if :: commit() :: skip fi;
dead: skip; FINISH }

proctype Renewer(byte me) { LOCALS;            /* UPDATE .. SET expires WHERE name, n, token */
  pick(); p = at[tok];
  if :: c[p]==LEASE(tok) :: else -> goto dead fi;
  if :: d_step { FREE(p) && c[p]==LEASE(tok) -> lock_row(p); strong[p] = 0 } :: FREE(p) && c[p]!=LEASE(tok) -> goto dead fi;
  if :: atomic { expired = expired & ~BIT(tok); sure = sure | BIT(tok); commit() } :: skip fi;
dead: skip; FINISH }

proctype Fenced(byte me) { LOCALS;             /* SELECT .. WHERE n = (the least) AND token FOR KEY SHARE */
  pick(); look();
  if :: v==LEASE(tok) :: else -> goto dead fi;
#ifdef M16                                     /* mutation: a fence that locks nothing */
  d_step { fenced = fenced | BIT(tok); check() }
#else
  if :: d_step { (x[p]==0 || !strong[p]) && c[p]==v -> ks[p] = ks[p] | BIT(me); fenced = fenced | BIT(tok); check() }
     :: (x[p]==0 || !strong[p]) && c[p]!=v -> goto dead fi;
#endif
  d_step { fenced = fenced & ~BIT(tok) }
dead: skip; FINISH }

proctype Own(byte me) { LOCALS;
  pick();
#ifndef M20                                    /* mutation: the row alone, FOR KEY SHARE, excludes no sibling */
  if :: d_step { O==0 -> O = me } :: goto dead fi;
#endif
  p = at[tok];
  if :: c[p]==LEASE(tok) :: else -> goto dead fi;
  if :: d_step { (x[p]==0 || !strong[p]) && c[p]==LEASE(tok) -> ks[p] = ks[p] | BIT(me); fenced = fenced | BIT(tok); beneath++;
          assert(beneath==1); check() }
     :: (x[p]==0 || !strong[p]) && c[p]!=LEASE(tok) -> goto dead fi;
  d_step { fenced = fenced & ~BIT(tok); beneath-- }
dead: skip; d_step { if :: O==me -> O = 0 :: else fi }; FINISH }

proctype Locker(byte me) { LOCALS;
#ifdef M8                                      /* mutation: one statement, whose snapshot is older than the lock */
  look();
#endif
  if :: d_step { T==0 -> T = me } :: goto dead fi;
again: skip;
#ifndef M8
  look();
#endif
  if
  :: IS_LEASE(v) && (expired & BIT(TOKEN(v))) ->
     if :: d_step { UNFENCED(p) && c[p]==v && (expired & BIT(TOKEN(v))) -> lock_row(p) }
        :: FREE(p) && (c[p]!=v || !(expired & BIT(TOKEN(v)))) -> goto again
        :: goto dead
     fi;
     end_row(); goto again
  :: IS_LEASE(v) && !(expired & BIT(TOKEN(v))) -> goto dead
  :: else -> skip
  fi;
  d_step { locked = locked | BIT(me) ; over = over }
  d_step { assert(!(locked & (locked-1)) && !sure && !fenced) }
  if :: atomic { d_step { locked = locked & ~BIT(me) }; commit() } :: d_step { locked = locked & ~BIT(me) } fi;
dead: skip; FINISH }

proctype Tidy(byte me) { LOCALS;
#ifndef M3                                     /* mutation: no lock of the table */
  if :: d_step { writers==0 && !tidying -> tidying = 1 } :: else -> goto dead fi;    /* NOWAIT */
#endif
  look();                                      /* p: unused; the least marker */
  skip; d_step { p = PLACES; do :: p > 0 && !IS_MOVED(c[p-1]) -> p-- :: else -> break od; n = 0; to = 0; v = 0;
    do :: n < PLACES -> if :: n+1 < p && IS_MOVED(c[n]) -> v = v | BIT(n) :: else fi; n++ :: else -> break od;
#ifdef M6                                      /* mutation: it also removes the marker of a leased name */
    if :: p -> v = v | BIT(p-1) :: else fi;
#endif
    n = 0 }
  skip; d_step { n = 0; do :: n < PLACES -> if :: (v & BIT(n)) && IS_MOVED(c[n]) -> c[n] = NONE :: else fi; n++ :: else -> break od; n = 0; v = 0 }
  /* forget the name: its marker is the only row */
  skip; d_step { n = 0; w = 0; do :: n < PLACES -> if :: c[n]!=NONE -> w++; p = n :: else fi; n++ :: else -> break od; n = 0;
    done = (w==1 && IS_MOVED(c[p])); w = 0 }
  if
#ifdef M4                                      /* mutation: without the name lock */
  :: done -> d_step { c[p] = NONE }
#else
  :: d_step { done && T==0 -> T = me }; d_step { c[p] = NONE }
#endif
  :: else -> skip
  fi;
  d_step { tidying = 0; check() }
dead: skip; FINISH }

proctype Restorer(byte me) { LOCALS;
  table_lock();
  d_step { seq++; tok = seq }                  /* only so that it differs; newest is not asserted for it */
#ifdef M2                                      /* mutation: the key that it had when it was dumped */
  g = 0;
#else
  look();                                      /* the trigger: the generation as it is */
#endif
  insert(g, LEASE(tok), 0, 0);
  if :: done :: else -> goto dead fi;
  at[tok] = g;
  if :: atomic { if :: locked -> skip :: else -> commit(); granted++ fi } :: skip fi;      /* a restore does not look for transaction locks */
dead: skip; FINISH }

proctype Clock() { byte n;
end: do
  :: d_step { !(expired & 2) -> expired = expired | 2; sure = sure & ~2 }
  :: d_step { seq>=2 && !(expired & 4) -> expired = expired | 4; sure = sure & ~4 }
#if TOKENS > 2
  :: d_step { seq>=3 && !(expired & 8) -> expired = expired | 8; sure = sure & ~8 }
#endif
  od }

init { byte k = 1, n; atomic {
  n = 1; do :: n <= TOKENS -> at[n] = 255; n++ :: else -> break od;
#if INIT == 1
  generations = 1; c[0] = MOVED(1); c[1] = MOVED(1);
#elif INIT == 2
  seq = 1; granted = 1; newest = 1; c[0] = LEASE(1); at[1] = 0; sure = 2;
#elif INIT == 3
  c[0] = GATE; q[0] = 1;
#endif
  n=0; do :: n<NF -> run Fast(k); k++; n++ :: else -> break od;
  n=0; do :: n<NG -> run Function(k); k++; n++ :: else -> break od;
  n=0; do :: n<NE -> run Ender(k); k++; n++ :: else -> break od;
  n=0; do :: n<NR -> run Renewer(k); k++; n++ :: else -> break od;
  n=0; do :: n<NC -> run Fenced(k); k++; n++ :: else -> break od;
  n=0; do :: n<NX -> run Locker(k); k++; n++ :: else -> break od;
  n=0; do :: n<NW -> run Waiter(k); k++; n++ :: else -> break od;
  n=0; do :: n<NT -> run Tidy(k); k++; n++ :: else -> break od;
  n=0; do :: n<NS -> run Restorer(k); k++; n++ :: else -> break od;
  n=0; do :: n<NO -> run Own(k); k++; n++ :: else -> break od;
  run Clock(); n=0; k=0 } }
