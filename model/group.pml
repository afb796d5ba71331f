/* SPDX-License-Identifier: Apache-2.0 */
/*
 * group.pml: group commit. Grants and releases of several threads are one transaction of a shared
 * session, which commits or is lost as a whole. lock.pml explains the notation.
 *
 * A ROW is a lease, with its heartbeat. Each call has its own rows, so that one row is inserted at
 * most once: the one that a batch inserts, the one that the thread inserts alone. xC, xX, xDel, xIns,
 * xUpd and xExp are as in lock.pml. tX[n] is the name lock of name n.
 *
 * A LOST SESSION. At any moment of a batch the client may lose its session (Loss). All threads of
 * the batch then have no answer, and ask alone. The server does not notice: it still executes the
 * batch, or rolls it back, at any time later, even if it has not yet read it.
 *
 * THE CODE (src/lease/batch.c, group.c, acquire.c; PostgreSQL)
 *   Session      one transaction of the statements release_all and grant_all. gather: `take` and
 *                `fits` of group.c; an answer: `answer_all` of batch.c. release_all skips a row that
 *                another session has locked; grant_all looks, tries the name locks, and inserts, and
 *                the unique key decides, all in one statement
 *   Thread       rowlock_acquire and rowlock_release of a member: through the group; without an answer
 *                alone, with the same owner id
 *   alone        rowlock.grant_lease, which adopts a lease that this owner has already; or
 *                rowlock.end_lease, both in the thread's own session
 *   Outsider     a lease of another process, whose holder crashes after the grant
 *   Locker       transaction locks of both names in one transaction (rowlock.lock), in the other
 *                order
 *
 * Switches: NTH threads; thread 2 wants name 1, the others name 0; SAME: all name 0. NOUT outsiders,
 * NL lockers, LOSSES of the session. Mutations:
 *   M1  a batch trusts its look, which is older than the name locks: there is no unique key
 *   M2  the threads are answered before the COMMIT
 *   M3  a thread without an answer asks alone with a new owner id
 *   M4  a release deletes the lease that the name has, not the one of its token
 *   M5  a batch waits for a name lock that another session holds
 *   M6  a name occurs twice in one batch: no mistake, because the unique key refuses the second
 */
#ifndef NTH
#define NTH 2
#endif
#ifndef NOUT
#define NOUT 1
#endif
#ifndef NL
#define NL 0
#endif
#ifndef LOSSES
#define LOSSES 1
#endif
#define NROW (2*NTH+NOUT)
#define NLANE (LOSSES+1)
#define BIT(p) (1<<(p))
#ifdef SAME
#define NAME(i) 0                                       /* of a thread */
#else
#define NAME(i) ((i) == 2 -> 1 : 0)
#endif
#define NAMEOF(r) ((r) > 2*NTH -> 0 : ((r) > NTH -> NAME((r)-NTH) : NAME(r)))  /* of a row */
#define OWNER(r) ((r) > 2*NTH -> (r) : ((r) > NTH -> (r)-NTH : (r)))
#define GRANT 1
#define RELEASE 2
#define GRANTED 1   /* answers */
#define REFUSED 2
#define GONE 3
#define UNSURE 4

byte tX[2];                                             /* the session with the name lock */
bool xC[NROW+1], xDel[NROW+1], xIns[NROW+1], xUpd[NROW+1], xExp[NROW+1]; byte xX[NROW+1];
byte q[NTH+1], ans[NTH+1], held[NTH+1]; bool sent[NTH+1]; /* the group's queue */
byte cur, batch[NLANE]; bool busy[NLANE];               /* the session in use, and its batch */
/* ghosts */
bool ever[NROW+1];    /* was committed */
bool given[NROW+1];   /* its holder has requested the release */
#ifdef M3
bool fresh[NTH+1];    /* asks alone with a new owner id */
#define FRESH fresh[(me > NTH -> 0 : me)]
#else
#define FRESH false
#endif

inline commit() { d_step {
  for (i : 1 .. NROW) {
    if :: xX[i]==me ->
          if :: xDel[i] -> assert(xExp[i] || given[i]); xC[i]=0                  /* only its own, or an expired one */
             :: xIns[i] -> xC[i]=1; ever[i]=1; xExp[i]=0
             :: xUpd[i] -> xExp[i]=0
             :: else fi;
          xX[i]=0; xDel[i]=0; xIns[i]=0; xUpd[i]=0
       :: else fi }
  for (i : 1 .. NROW) { for (j : (i+1) .. NROW) {
    assert(!(xC[i] && xC[j] && NAMEOF(i)==NAMEOF(j))) } }                        /* two leases of a name */
  i=0; j=0; unlock() } }
inline unlock() {
  if :: tX[0]==me -> tX[0]=0 :: else fi; if :: tX[1]==me -> tX[1]=0 :: else fi }
inline rollback() { d_step {
  for (i : 1 .. NROW) { if :: xX[i]==me -> xX[i]=0; xDel[i]=0; xIns[i]=0; xUpd[i]=0 :: else fi }
  i=0; unlock() } }
/* whether another session inserts or ends a row of the name */
#define BUSY(i, n) (xX[i] && xX[i]!=me && NAMEOF(i)==(n) && (xIns[i] || xDel[i]))
#if NROW > 5
#define MORE(n) (BUSY(6, n) || NROW > 6 && BUSY((NROW > 6 -> 7 : 6), n))
#else
#define MORE(n) false
#endif
#define others(n) (BUSY(1, n) || BUSY(2, n) || NROW > 2 && BUSY((NROW > 2 -> 3 : 1), n) || NROW > 3 && BUSY((NROW > 3 -> 4 : 1), n) || NROW > 4 && BUSY((NROW > 4 -> 5 : 1), n) || MORE(n))
/* a row of the name that this session sees */
inline find(n, found) { found=0;
  for (i : 1 .. NROW) { if :: xC[i] && NAMEOF(i)==n && !(xX[i]==me && xDel[i]) -> found=i :: else fi }; i=0 }

/* ---- the shared session ---- */

#define WAITS(i) (q[i] && !sent[i])
#if NTH > 2
#define ANY (WAITS(1) || WAITS(2) || WAITS(3))
#elif NTH == 1
#define ANY WAITS(1)
#else
#define ANY (WAITS(1) || WAITS(2))
#endif

/* each name once among the grants */
inline gather() { b=0; rel=0; old=0; names=0; i=1;
  do
  :: i <= NTH && WAITS(i) && (q[i]==RELEASE
#ifndef M6
       || !(names & BIT(NAME(i)))
#else
       || true
#endif
       ) -> b = b|BIT(i);
     if :: q[i]==GRANT -> names = names|BIT(NAME(i)) :: else -> rel = rel|BIT(i) fi;
     if :: held[i] > NTH -> old = old|BIT(i) :: else fi; i++
  :: i <= NTH -> i++                                    /* queued a moment later */
  :: else -> break
  od; i=0 }

/* the client gets the answers, unless it has lost the session */
inline answer(committed) { d_step {
  if :: cur==k ->
        for (i : 1 .. NTH) {
          if :: b & BIT(i) -> sent[i]=0;
                if :: !committed -> ans[i]=REFUSED
                   :: committed && (rel & BIT(i)) -> ans[i] = (names & BIT(i) -> GONE : REFUSED)
                   :: else -> ans[i] = (granted & BIT(i) -> GRANTED : REFUSED)
                fi; q[i]=0
             :: else fi }; i=0; busy[k]=0; batch[k]=0
     :: else fi } }

proctype Session(byte me; byte k) { byte i, j, b, rel, old, n, taken, granted, names, row;
end: do
  :: cur > k -> break
  :: atomic { cur==k && ANY -> gather();
       if :: b==0 -> goto end :: else fi;
       for (i : 1 .. NTH) { if :: b & BIT(i) -> sent[i]=1 :: else fi }; i=0;
       batch[k]=b; busy[k]=1 }
     taken=0; granted=0; names=0;                       /* names: the leases that it has ended */
     n=1; do                                            /* release_all: by tokens */
     :: n<=NTH && (rel & BIT(n)) -> row = (old & BIT(n) -> NTH+n : n);
#ifdef M4
        d_step { find(NAME(n), row) }
#endif
        if
        :: d_step { xC[row] && xX[row]==0 -> xX[row]=me; xDel[row]=1; names=names|BIT(n) }
        :: d_step { xC[row] && xX[row]!=0 && xX[row]!=me -> skip }                     /* SKIP LOCKED */
        :: !xC[row] || xX[row]==me -> skip
        :: goto failed                                  /* the server ends the session */
        fi; n++
     :: n<=NTH && !(rel & BIT(n)) -> n++
     :: else -> break
     od;
     skip; d_step { n=1; do :: n<=NTH -> if :: b & ~rel & BIT(n) -> find(NAME(n), row); if :: row==0 -> granted=granted|BIT(n) :: else fi
                                      :: else fi; n++ :: else -> break od; row=0 }   /* grant_all: its snapshot */
     n=1; do                                            /* the name lock of each, a try */
     :: n<=NTH && (granted & BIT(n)) ->
        if
        :: d_step { tX[NAME(n)]==0 || tX[NAME(n)]==me -> tX[NAME(n)]=me; taken=taken|BIT(n) }
#ifndef M5
        :: tX[NAME(n)]!=0 && tX[NAME(n)]!=me -> skip
#endif
        fi; n++
     :: n<=NTH && !(granted & BIT(n)) -> n++
     :: else -> break
     od;
     skip; d_step { granted = granted & taken; n=1 }
     do                                                 /* INSERT .. ON CONFLICT DO NOTHING */
     :: n<=NTH && (granted & BIT(n)) ->
#ifdef M1
        d_step { xX[n]=me; xIns[n]=1 };
#else
        d_step { !others(NAME(n)) -> find(NAME(n), row); i=1; do :: i<=NTH -> if :: xX[i]==me && xIns[i] && NAME(i)==NAME(n) -> row=i :: else fi; i++ :: else -> break od; i=0; if :: row==0 -> xX[n]=me; xIns[n]=1 :: else -> granted=granted & ~BIT(n) fi; row=0 };
#endif
        n++
     :: n<=NTH && !(granted & BIT(n)) -> n++
     :: else -> break
     od;
     skip; d_step { n=0; row=0 };
#ifdef M2
     answer(true);
#endif
     if :: commit() :: goto failed fi;
     answer(true); d_step { b=0; rel=0; old=0; taken=0; granted=0; names=0; n=0; row=0 }
     goto end;
failed: skip; rollback();
     answer(false);
     d_step { b=0; rel=0; old=0; taken=0; granted=0; names=0; n=0; row=0 }
  od }

proctype Loss() { byte i;
end: do
  :: atomic { cur < LOSSES && busy[cur] ->
       for (i : 1 .. NTH) { if :: batch[cur] & BIT(i) -> sent[i]=0; ans[i]=UNSURE; q[i]=0 :: else fi };
       i=0; cur++ }
  od }

/* ---- the other sessions ---- */

/* ends with row: the lease, 0: refused. own: the row that this call inserts */
inline alone(n, own) {
  d_step { tX[n]==0 -> tX[n]=me };
  d_step { find(n, row) };
  if
  :: row && OWNER(row)==OWNER(own) && !FRESH ->            /* adopts what the batch was granted */
     if :: d_step { xX[row]==0 && xC[row] -> xX[row]=me; xUpd[row]=1 } :: !xC[row] -> row=0 fi
  :: row && xExp[row] && (OWNER(row)!=OWNER(own) || FRESH) -> /* sweeps */
     if :: d_step { xX[row]==0 && xC[row] && xExp[row] -> xX[row]=me; xDel[row]=1; row=0 }
        :: !xC[row] -> row=0 :: xC[row] && !xExp[row] -> skip fi;
     if :: row==0 -> insert(own) :: else -> row=0 fi
  :: row && !xExp[row] && (OWNER(row)!=OWNER(own) || FRESH) ->
     assert(OWNER(row)!=OWNER(own));                                             /* its own lease is in its way */
     row=0
  :: row==0 -> insert(own)
  fi;
  commit() }
inline insert(own) { d_step { find(n0, row); if :: row -> row=0 :: else -> row=own; xX[own]=me; xIns[own]=1 fi } }

proctype Thread(byte me) { byte i, j, row, a, n0;
  n0 = NAME(me);
  q[me]=GRANT;
  if :: ans[me] -> skip
     :: atomic { q[me]==GRANT && !sent[me] -> q[me]=0; ans[me]=REFUSED }         /* too long in the queue */
  fi;
  d_step { a=ans[me]; ans[me]=0 };
  if
  :: a==GRANTED -> row=me; assert(ever[me])                                      /* else another may have the name */
  :: else ->
#ifdef M3
     fresh[me] = (a==UNSURE);
#endif
     alone(n0, NTH+me)
  fi;
  if :: row==0 -> goto over :: else -> skip fi;                                  /* busy */
  atomic { held[me]=row; given[row]=1; q[me]=RELEASE };
  if :: ans[me] -> skip
     :: atomic { q[me]==RELEASE && !sent[me] -> q[me]=0; ans[me]=REFUSED }
  fi;
  d_step { a=ans[me]; ans[me]=0 };
  if
  :: a==GONE -> skip
  :: else ->                                                                     /* rowlock.release, which may be the second one */
     if :: d_step { xC[row] && xX[row]==0 -> xX[row]=me; xDel[row]=1 } :: !xC[row] -> skip fi;
     commit()
  fi;
  assert(!xC[row]);                                                              /* a release that was acknowledged */
over: skip; d_step { held[me]=0; row=0; a=0 } }

proctype Outsider(byte me; byte own) { byte i, j, row, n0;
  alone(0, own);
  d_step { row=0 } }

proctype Locker(byte me) { byte i, j;
  d_step { tX[1]==0 -> tX[1]=me };
  d_step { tX[0]==0 -> tX[0]=me };
  commit() }

#define EXPIRE(r) atomic { xC[r] && !xExp[r] -> xExp[r]=1 }
proctype Clock() {
end: do
  :: EXPIRE(1) :: EXPIRE(2)
#if NROW > 2
  :: EXPIRE(3)
#endif
#if NROW > 3
  :: EXPIRE(4)
#endif
#if NROW > 4
  :: EXPIRE(5)
#endif
#if NROW > 5
  :: EXPIRE(6)
#endif
#if NROW > 6
  :: EXPIRE(7)
#endif
  od }

init { byte n; atomic {
  for (n : 1 .. NTH) { run Thread(n) }
  n=1; do :: n<=NOUT -> run Outsider(NTH+n, 2*NTH+n); n++ :: else -> break od;
  n=1; do :: n<=NL -> run Locker(NTH+NOUT+n); n++ :: else -> break od;
  for (n : 1 .. NLANE) { run Session(NTH+NOUT+NL+n, n-1) }
  run Loss(); run Clock(); n=0 } }
