/* SPDX-License-Identifier: Apache-2.0 */
/*
 * permits.pml: leases of ONE name in all three modes, exclusive, shared, k of N permits, where a lease
 * has a heartbeat: MariaDB, MySQL, the plain dialect. PostgreSQL has members.pml. See README.md for the method, and lock.pml for how to read Promela.
 *
 * The table lease has one row per permit: lN[t] of them under token t, all inserted and deleted
 * together, so that one row lock represents them. The table of heartbeats has one row per token.
 * Each granter is one call of rowlock_grant with a mode, each renewer one rowlock_renew_lease, each
 * ender one rowlock_release_lease. T is the name lock.
 *
 * Switches:
 *   NP          granters that ask for WANT permits; N is the limit
 *   NX, NS      exclusive and shared granters
 *   NR, NE      renewers and enders
 *   NOLT        no lock_timeout
 *   WEAK        claims about holders only, not about rows
 * Mutations:
 *   M1  counts without T
 *   M2  counts the rows that look live instead of sweeping
 *   M3  acquires T shared for permits
 *   M4  sweeps nothing while any permit is live (correct for exclusive leases, wrong here: an expired
 *       permit would never be granted again)
 *   M5  the look after the sweep ignores permits when the request is exclusive
 */
#ifndef N
#define N 2
#endif
#ifndef WANT
#define WANT 1
#endif
#ifndef NP
#define NP 3
#endif
#ifndef NX
#define NX 0
#endif
#ifndef NS
#define NS 0
#endif
#ifndef NR
#define NR 1
#endif
#ifndef NE
#define NE 0
#endif
#define NTOK (NP+NX+NS)
#define NALL (NTOK+NR+NE)
#define X 0
#define S 1
#define P 2
#define BIT(p) (1<<(p))
#ifdef NOLT
#define LT false
#else
#define LT true
#endif

bool lC[NTOK+1], lDel[NTOK+1], lIns[NTOK+1]; byte lX[NTOK+1], lMode[NTOK+1], lN[NTOK+1];              /* table lease */
/* table of heartbeats */
bool bC[NTOK+1], bDel[NTOK+1], bIns[NTOK+1], bUpd[NTOK+1], bExp[NTOK+1]; byte bX[NTOK+1];
byte tX, tS, seq, granted, done;
bool gA[NTOK+1];                 /* ghost: the holder may believe that its lease is valid */

inline check() {                 /* the promises, after every COMMIT */
  held = 0; sure = 0;
  for (i : 1 .. NTOK) {
    assert(lC[i] == bC[i]);                                                       /* rows in pairs */
    if :: lC[i] && lMode[i]==P -> held = held + lN[i] :: else fi;
    if :: gA[i] && lMode[i]==P -> sure = sure + lN[i] :: else fi;
    for (j : (i+1) .. NTOK) {
#ifndef WEAK
      assert(!(lC[i] && lC[j]) || (lMode[i]==lMode[j] && lMode[i]!=X));             /* the kinds exclude each other: rows */
#endif
      assert(!(gA[i] && gA[j]) || (lMode[i]==lMode[j] && lMode[i]!=X)) } };         /* ... and holders */
#ifndef WEAK
  assert(held <= N);                                                                /* never more than N: rows */
#endif
  assert(sure <= N); i = 0; j = 0; held = 0; sure = 0 }                                              /* ... and holders */
inline commit() { d_step {
  for (i : 1 .. NTOK) {
    if :: lX[i]==me -> if :: lDel[i] -> lC[i]=0; lN[i]=0 :: lIns[i] -> lC[i]=1 :: else fi; lX[i]=0; lDel[i]=0; lIns[i]=0 :: else fi;
    if :: bX[i]==me -> if :: bDel[i] -> bC[i]=0; bExp[i]=0; gA[i]=0 :: bIns[i] -> bC[i]=1; bExp[i]=0; gA[i]=1
                          :: bUpd[i] -> bExp[i]=0; gA[i]=1 :: else fi; bX[i]=0; bDel[i]=0; bIns[i]=0; bUpd[i]=0 :: else fi };
  if :: tX==me -> tX=0 :: else fi; tS = tS & ~BIT(me); check() } }
inline rollback() { d_step {
  for (i : 1 .. NTOK) {
    if :: lX[i]==me -> lX[i]=0; lDel[i]=0; lIns[i]=0 :: else fi;
    if :: bX[i]==me -> bX[i]=0; bDel[i]=0; bIns[i]=0; bUpd[i]=0 :: else fi };
  i = 0; if :: tX==me -> tX=0 :: else fi; tS = tS & ~BIT(me) } }

/* rowlock_find_conflicts: the conflicts, by a plain read. todo: the tokens; held: the number of
   permits; live: how many of those look live */
inline read_rows() {
  todo = 0; held = 0; live = 0; hard = 0;
  for (i : 1 .. NTOK) {
    if
    :: lC[i] && !(lX[i]==me && lDel[i]) && lMode[i]==P ->
       held = held + lN[i]; if :: bC[i] && !bExp[i] -> live = live + lN[i] :: else fi
    :: lC[i] && !(lX[i]==me && lDel[i]) && lMode[i]!=P && !(mode==S && lMode[i]==S) ->
       todo = todo | BIT(i); if :: bC[i] && !bExp[i] -> hard = 1 :: else fi
    :: else
    fi };
  if :: mode!=P && held || mode==P && held + k > N ->
        for (i : 1 .. NTOK) { if :: lC[i] && !(lX[i]==me && lDel[i]) && lMode[i]==P -> todo = todo | BIT(i) :: else fi };
     :: else fi; i = 0 }

/* rowlock_sweep_leases collects the tokens, rowlock_sweep deletes them one after another, by
   number */
inline sweep() {
  skip; d_step { read_rows(); tk = 1; res = 0;
    if
    :: hard || mode!=P && live -> todo = 0 /* a conflict in any case: sweep nothing */
#ifdef M4
    :: !hard && mode==P && live -> todo = 0
#else
    :: !hard && mode==P && live + k > N -> todo = 0 /* the same: all permits are taken */
#endif
    :: else
    fi }
  do
  :: d_step { tk<=NTOK && !(todo & BIT(tk)) -> tk++ }
  :: tk>NTOK -> break
  :: tk<=NTOK && (todo & BIT(tk)) ->
     if                                       /* DELETE FROM heartbeat WHERE token = tk AND expires <= clock_timestamp() */
     :: d_step { bC[tk] && !bExp[tk] -> res=0 }
     :: d_step { bC[tk] && bExp[tk] && (bX[tk]==0 || bX[tk]==me) -> bX[tk]=me; bDel[tk]=1; res=1 }
     :: d_step { !bC[tk] -> res=1 }
     :: lt -> goto dead                       /* lock_timeout: rolled back */
     fi;
     if                                       /* DELETE FROM lease WHERE token = tk: every permit of it */
     :: d_step { res && lC[tk] && lX[tk]==0 -> lX[tk]=me; lDel[tk]=1 }
     :: res && !lC[tk]
     :: !res
     :: res && lt -> goto dead
     fi;
     d_step { res = 0; tk++ }
  od }

inline take_T() {                /* rowlock_name_lock: the row lock, in share mode for a shared lease */
  if
  :: d_step { (mode==X || mode==P && tpx) && tX==0 && tS==0 -> tX=me }
  :: d_step { (mode==S || mode==P && !tpx) && tX==0 -> tS=tS|BIT(me) }
  :: goto dead                                /* wait_ms has passed, or the client died */
  fi }

#ifdef M3
#define TPX 0
#else
#define TPX 1
#endif

proctype Granter(byte me; byte mode; byte k) { byte i, j, tk, todo, held, live, sure, tok; bool res, hard, tpx = TPX, lt = LT;
#ifdef M1
  if :: mode==P :: mode!=P -> take_T() fi;
#else
  take_T();
#endif
#ifndef M2
  sweep();
#endif
  /* the next statement: every conflict at that moment, whatever its clock */
  skip; d_step { read_rows();
#ifdef M2
    if :: live==0 -> todo=0 :: mode==P && live + k <= N -> todo=0 :: else fi;
#endif
#ifdef M5
    if :: mode==X && !hard -> todo=0 :: else fi;
#endif
  }
  if :: todo -> goto dead :: else fi;         /* leased: ROLLBACK */
  d_step { seq++; tok = seq }                 /* rowlock_draw: the token, after T */
  d_step { lX[tok]=me; lIns[tok]=1; lMode[tok]=mode; lN[tok]=k; bX[tok]=me; bIns[tok]=1 }   /* rowlock_insert_lease: k rows; heartbeat */
  if :: atomic { commit(); granted = tok } :: skip fi; /* or the session died before COMMIT */
dead: rollback(); d_step { done++; tok=0; todo=0; held=0; live=0; tk=0; hard=0; res=0 } }

inline pick() {                  /* any token ever granted: of a live holder, or of a dead one */
  (granted > 0 || done >= NTOK);
  if :: granted>=1 -> tok=1 :: granted>=2 -> tok=2 :: granted>=3 -> tok=3 :: granted>=4 -> tok=4 :: granted==0 -> goto dead fi }

proctype Renewer(byte me) { byte i, j, held, sure, tok;
  pick();                                     /* rowlock_renew_lease: UPDATE heartbeat SET expires = greatest(...) WHERE token = tok AND NOT stop */
  if :: bC[tok] :: !bC[tok] -> goto dead fi;
  if :: d_step { bX[tok]==0 && bC[tok] -> bX[tok]=me; bUpd[tok]=1 } :: bX[tok]==0 && !bC[tok] -> goto dead :: goto dead fi;
  if :: commit() :: skip fi;                  /* a slow disk: time passes before this COMMIT */
dead: rollback(); d_step { done++; tok=0 } }

proctype Ender(byte me) { byte i, j, held, sure, tok;
  pick();                                     /* rowlock_release_lease: DELETE FROM heartbeat WHERE token = tok; DELETE FROM lease WHERE token = tok */
  if :: d_step { bX[tok]==0 && bC[tok] -> bX[tok]=me; bDel[tok]=1; gA[tok]=0 } :: !bC[tok] -> goto dead :: goto dead fi;
  if :: d_step { lX[tok]==0 -> lX[tok]=me; lDel[tok]=1 } :: goto dead fi;
  if :: commit() :: skip fi;
dead: rollback(); d_step { done++; tok=0 } }

proctype Clock() { byte i, held, live, k, me, mode, tk, todo; bool res, hard, lt;      /* any heartbeat may expire at any moment; its holder knows when (P5) */
end: do
  :: atomic { gA[1] || bC[1] && !bExp[1] -> gA[1]=0; bExp[1]=bC[1] }
#if NTOK > 1
  :: atomic { gA[2] || bC[2] && !bExp[2] -> gA[2]=0; bExp[2]=bC[2] }
#endif
#if NTOK > 2
  :: atomic { gA[3] || bC[3] && !bExp[3] -> gA[3]=0; bExp[3]=bC[3] }
#endif
#if NTOK > 3
  :: atomic { gA[4] || bC[4] && !bExp[4] -> gA[4]=0; bExp[4]=bC[4] }
#endif
  :: atomic { done == NALL -> break }
  od;
  /* P6: all sessions have ended; some leases live, some have expired. One more call for one
     permit is refused only if the live ones conflict with it. */
  lt = 0; mode = P; k = 1; me = NALL+1;
  d_step { assert(tX==0 && tS==0); for (i : 1 .. NTOK) { assert(lX[i]==0 && bX[i]==0) }; i = 0 }
  sweep();
  skip; d_step { read_rows(); res = (todo!=0);
    live = 0; hard = 0;
    for (i : 1 .. NTOK) {
      if :: lC[i] && !bExp[i] && lMode[i]==P -> live = live + lN[i] :: lC[i] && !bExp[i] && lMode[i]!=P -> hard = 1 :: else fi };
    assert(!res || hard || live == N); i = 0 }
dead: skip }

init { byte n, m = 1; atomic {
  n=0; do :: n<NP -> run Granter(m,P,WANT); m++; n++ :: else -> break od;
  n=0; do :: n<NX -> run Granter(m,X,0); m++; n++ :: else -> break od;
  n=0; do :: n<NS -> run Granter(m,S,0); m++; n++ :: else -> break od;
  n=0; do :: n<NR -> run Renewer(m); m++; n++ :: else -> break od;
  n=0; do :: n<NE -> run Ender(m); m++; n++ :: else -> break od;
  run Clock(); n=0; m=0 } }
