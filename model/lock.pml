/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lock.pml: transaction locks and leases of ONE name where a lease is a row of identity and a
 * heartbeat: MariaDB and MySQL, and the plain dialect (src/emulate). PostgreSQL has one row: lease.pml.
 *
 * For readers who know SQL and not SPIN: a proctype is a client session, and SPIN tries EVERY
 * interleaving of the steps of all sessions. "if :: g1 -> a :: g2 -> b fi" takes any branch whose
 * guard is true; if none is true the session WAITS, which models waiting for a row lock. atomic{}
 * and d_step{} are one indivisible step: the effect of one statement at one instant. assert() is a
 * claim of the model.
 *
 * THE DATABASE. A row is indexed by its token. xC: the committed row exists (a plain read sees only
 * that). xX: the session that holds the exclusive row lock (0: none). xDel, xIns, xUpd: uncommitted
 * changes of that session. lS: the set of sessions that hold the lease row FOR SHARE. commit and
 * rollback apply or drop everything of one session in one instant. T is the name lock: the
 * transaction lock of the name, under which grants are serialized.
 *
 * THE CLOCK. The process Clock may declare any heartbeat expired at any moment (bExp). A renewal
 * that commits undoes that.
 *
 * THE CODE. The names are those of MariaDB's procedures (sql/mariadb/schema/), and of the functions
 * of src/emulate.
 *   take_T            rowlock_name_lock (a row, FOR UPDATE or LOCK IN SHARE MODE), rowlock__name_lock;
 *                     a grant calls it through rowlock_name_lock_all
 *   plain_read, look  rowlock_find_conflict; rowlock_look of a transaction lock
 *   sweep             rowlock_sweep for each token, under T, in a grant or in a transaction lock, whose
 *                     savepoint is undo_sweep; rowlock__end_expired
 *   presweep          the statements `expired` (rowlock_expired) and `sweep`, which the library sends
 *                     before it acquires T
 *   Acquirer          rowlock_grant; rowlock__emulate_grant
 *   Renewer           rowlock_renew_lease; rowlock__emulate_renew
 *   Ender             rowlock_release_lease, or rowlock_break with now; rowlock__emulate_release
 *   Fenced            rowlock_fence; rowlock__emulate_fence
 *   Own               rowlock_lock_own_lease
 *   Locker            rowlock_begin_lock (begin-and-lock), rowlock_lock (lock-later);
 *                     rowlock__emulate_lock
 *
 * Switches (-D):
 *   NAX NAS NLX NLS NF NO NR NE  the population: X/S acquirers, X/S lockers, fenced, own-lease,
 *                renewers, enders
 *   INNODB       DELETE waits for the row lock before it tests the clock; ROLLBACK TO SAVEPOINT keeps
 *                row locks
 *   RENEWCLOCK   renewal also tests "expires > clock" (default: it tests existence, like rowlock_renew_lease)
 *   NOCRASH NOLT no crashes, no lock_timeout (used to search deadlocks)
 *   KEEPER       nothing expires or is released before the fenced transactions have ended
 *   PRE          sweep in autocommit first; PRE1: the same, with one commit per token
 *   KEEPSWEEP    a polling locker keeps the deletions of its earlier polls (default: it rolls back to
 *                the savepoint)
 *   SWEEPALL     sweep only if no conflicting lease looks live (mend)
 *   AUTOC        presweep in literal autocommit
 *   M1..M6      mutations (see run.sh)
 */
#ifndef NTOK
#define NTOK (NAX+NAS)
#endif
#define NPROC (NAX+NAS+NLX+NLS+NF+NO+NR+NE)
#define BIT(p) (1<<(p))
#define LIVE 0   /* results of the sweep of one token */
#define GONE 1
#define TMO  2
#ifdef NOCRASH
#define CRASHES false
#else
#define CRASHES true
#endif
#ifdef NOLT
#define LT false
#else
#define LT true
#endif
#ifdef INNODB
#define SKIPLIVE(t) (bC[t] && !bExp[t] && (bX[t]==0 || bX[t]==me))  /* InnoDB locks first, then evaluates */
#else
#define SKIPLIVE(t) (bC[t] && !bExp[t])                /* PG: the snapshot's version does not match: no wait */
#endif

bool lC[NTOK+1], lDel[NTOK+1], lIns[NTOK+1], lExcl[NTOK+1]; byte lX[NTOK+1], lS[NTOK+1];   /* table lease */
/* table of heartbeats */
bool bC[NTOK+1], bDel[NTOK+1], bIns[NTOK+1], bUpd[NTOK+1], bExp[NTOK+1]; byte bX[NTOK+1];
byte tX, tS;            /* the name lock T: exclusive holder; set of shared holders */
byte seq, maxX, maxAny; /* token sequence (not transactional); highest committed exclusive / any token */
byte done;              /* sessions that have ended */
byte fdone;             /* fenced and own-lease transactions that have ended */
/* ghosts: not in the database, only for the properties */
bool gA[NTOK+1];                 /* the holder of this token may believe that its lease is valid */
byte inF[NTOK+1], inO[NTOK+1], inLX, inLS; /* the sessions inside their critical section */

#ifdef RENEWCLOCK
#define RENEWABLE(t) (!bExp[t])
#else
#define RENEWABLE(t) true
#endif
#ifdef KEEPER
#define EXPIRABLE (fdone == NF+NO)
#else
#define EXPIRABLE true
#endif
#ifdef M6
#define PASS(t) (t > NTOK || !(left & BIT(t)) || !lC[(t > NTOK -> 0 : t)])      /* no sweep while a locker polls */
#else
#define PASS(t) (t > NTOK || !(left & BIT(t)) || !lC[(t > NTOK -> 0 : t)] || bExp[(t > NTOK -> 0 : t)])
#endif
#define CONFL(a,b) (lExcl[a] || lExcl[b])

#define READ(i) true

inline check() {   /* inside the d_step that commits or enters: the claims S1, S2, S4 */
  for (i : 1 .. NTOK) {
    assert(lC[i] == bC[i]);                                                       /* S4 rows in pairs */
    assert(inO[i] <= 1 && !(inO[i] && inF[i]));                                    /* S2 siblings of one token */
    assert(!(inLX && (inF[i] || inO[i])));                                         /* S2 X locker / lease side */
    assert(!(inLS && lExcl[i] && (inF[i] || inO[i])));                             /* S2 S locker / X lease side */
    for (j : (i+1) .. NTOK) {
      assert(!(CONFL(i,j) && gA[i] && gA[j]));                                    /* S1 two live holders */
#ifndef WEAK
      assert(!(CONFL(i,j) && lC[i] && lC[j]));                                    /* S1+ two rows at all */
#endif
      assert(!(CONFL(i,j) && (inF[i]||inO[i]) && (inF[j]||inO[j])));              /* S2 two tokens */
    } }
  assert(inLX + (inLS!=0) <= 1); i = 0; j = 0
}
inline commit() { d_step {
  for (i : 1 .. NTOK) {
    if :: lX[i]==me -> if :: lDel[i] -> lC[i]=0 :: lIns[i] -> lC[i]=1 :: else fi; lX[i]=0; lDel[i]=0; lIns[i]=0 :: else fi;
    if :: bX[i]==me -> if :: bDel[i] -> bC[i]=0; bExp[i]=0 :: bIns[i] -> bC[i]=1; bExp[i]=0; gA[i]=1
                          :: bUpd[i] -> bExp[i]=0; gA[i]=1 :: else fi; bX[i]=0; bDel[i]=0; bIns[i]=0; bUpd[i]=0 :: else fi;
    lS[i] = lS[i] & ~BIT(me) }
  if :: tX==me -> tX=0 :: else fi; tS = tS & ~BIT(me); check() } }
inline rollback() { d_step {
  for (i : 1 .. NTOK) {
    if :: lX[i]==me -> lX[i]=0; lDel[i]=0; lIns[i]=0 :: else fi;
    if :: bX[i]==me -> bX[i]=0; bDel[i]=0; bIns[i]=0; bUpd[i]=0 :: else fi;
    lS[i] = lS[i] & ~BIT(me) }
  i = 0; if :: tX==me -> tX=0 :: else fi; tS = tS & ~BIT(me) } }
inline undo_sweep() { d_step {   /* ROLLBACK TO the sweep's savepoint */
  for (i : 1 .. NTOK) {
    if :: (swept & BIT(i)) -> bDel[i]=0; lDel[i]=0;
#ifndef INNODB
          if :: bX[i]==me -> bX[i]=0 :: else fi; if :: lX[i]==me -> lX[i]=0 :: else fi;
#endif
       :: else fi }
  i = 0; swept = 0 } }

/* the conflicting leases that this session (mode x) sees by a plain read */
inline plain_read(x, set) { set = 0;
  for (i : 1 .. NTOK) { if :: lC[i] && READ(i) && !(lX[i]==me && lDel[i]) && (x || lExcl[i]) -> set = set | BIT(i) :: else fi }; i = 0 }

inline sweep(x) {
  d_step { plain_read(x, todo); tk = 1; swept = 0; res = LIVE;
#ifdef SWEEPALL
           for (i : 1 .. NTOK) { if :: (todo & BIT(i)) && bC[i] && !bExp[i] -> todo = 0 :: else fi }; i = 0;
#endif
           do :: tk<=NTOK && !(todo & BIT(tk)) -> tk++ :: else -> break od }
  do
  :: tk > NTOK -> break
  :: else ->
     if                                       /* DELETE FROM heartbeat WHERE token = tk AND expires <= clock */
#ifdef M5
     :: d_step { bC[tk] && bX[tk]==0 -> bX[tk]=me; bDel[tk]=1; swept=swept|BIT(tk); res=GONE }
#else
     :: d_step { SKIPLIVE(tk) -> res=LIVE }
     :: d_step { bC[tk] && bExp[tk] && (bX[tk]==0 || bX[tk]==me) -> bX[tk]=me; bDel[tk]=1; swept=swept|BIT(tk); res=GONE }
#endif
     :: d_step { !bC[tk] -> res=GONE }        /* "or did not exist" */
     :: LT -> res=TMO                         /* lock_timeout */
     :: CRASHES -> goto dead
     fi;
#ifdef AUTOC
     if :: pre && res!=TMO -> commit(); swept=0 :: else fi; /* literal autocommit: every statement its own transaction */
#endif
     if
     :: d_step { res==GONE && !lC[tk] -> skip }  /* DELETE FROM lease WHERE token = tk: no row */
     :: d_step { res==GONE && lC[tk] && (lX[tk]==0 || lX[tk]==me) && (lS[tk] & ~BIT(me))==0 -> lX[tk]=me; lDel[tk]=1; swept=swept|BIT(tk) }
     :: res==GONE && LT -> res=TMO
     :: res==GONE && CRASHES -> goto dead
     :: res!=GONE -> skip
     fi;
#ifdef PRE1
     /* autocommit sweep: one transaction per token */
     if :: pre && res!=TMO -> commit(); swept=0 :: pre && res==TMO -> rollback(); swept=0 :: else fi;
#endif
     d_step { if :: res==TMO -> tk = NTOK+1 :: else -> tk++ fi;
              do :: tk<=NTOK && !(todo & BIT(tk)) -> tk++ :: else -> break od }
  od;
  if :: res==TMO -> undo_sweep() :: else fi;
  d_step { todo=0; tk=0 }
}
inline presweep(x) {
#if defined(PRE) || defined(PRE1) || defined(AUTOC) || defined(M6)
  pre = 1; sweep(x); commit(); pre = 0; swept = 0
#else
  skip
#endif
}
inline take_T(x) {
  if
  :: d_step {  x && tX==0 && tS==0 -> tX=me }
  :: d_step { !x && tX==0          -> tS=tS|BIT(me) }
  :: CRASHES -> goto dead                      /* or the wait has ended */
  fi
}
inline look(x, set) { d_step { plain_read(x, set);
#ifdef M1                                     /* mutation: judge by the clock instead of sweeping */
  for (i : 1 .. NTOK) { if :: bExp[i] || !bC[i] -> set = set & ~BIT(i) :: else fi }; i = 0
#endif
  } }
#define LOCALS byte i, j, tk, todo, swept, res, tok, left; bool pre
#define FINISH rollback(); d_step { done++; tok=0; left=0; swept=0; res=0; pre=0 }

/*
 * Acquirer: after the grant it simply ends, like a holder that crashes, or whose client had died.
 * The actions of a live holder are those of Renewer and Ender, which may act for any token at any
 * time (also for a dead or lost one).
 */
proctype Acquirer(byte me; bool x) { LOCALS;
  presweep(x);                                                                    /* rowlock_expired, rowlock_sweep: own transactions */
  take_T(x);                                                                      /* rowlock_name_lock_all */
#if !defined(M1) && !defined(M6)
  sweep(x);                                                                      /* rowlock_sweep_leases */
#endif
  look(x, left); /* its last statement, rowlock_find_conflict: any row left */
  if :: left -> goto dead :: else fi;                                             /* busy */
  d_step { seq++; tok = seq; left=0 }                                              /* rowlock_draw, after T */
  d_step { lX[tok]=me; lIns[tok]=1; lExcl[tok]=x; bX[tok]=me; bIns[tok]=1 }         /* rowlock_insert_lease */
  if
  :: atomic { commit();
       d_step { assert(x -> tok > maxAny : tok > maxX);                           /* S3 */
                if :: x -> maxX = tok :: else fi; if :: tok > maxAny -> maxAny = tok :: else fi } }
  :: CRASHES
  fi;
dead: skip; FINISH }

inline pick() { atomic { (maxAny > 0 || done+NR+NE+NF+NO >= NPROC);                /* some token ever granted */
  if :: maxAny>=1 -> tok=1 :: maxAny>=2 -> tok=2 :: maxAny>=3 -> tok=3 :: maxAny==0 -> goto dead fi } }

proctype Renewer(byte me) { LOCALS;                                                /* rowlock_renew_lease: UPDATE heartbeat ... WHERE token = tok */
  pick();
#ifndef M4
  if :: d_step { bC[tok] && RENEWABLE(tok) -> skip } :: else -> goto dead fi;                                          /* predicate on the version it sees */
#endif
  if
  /* row lock acquired, row still exists */
  :: d_step { bX[tok]==0 && bC[tok] -> bX[tok]=me; bUpd[tok]=1 }
#ifdef M4
  :: d_step { bX[tok]==0 && !bC[tok] -> bX[tok]=me; bIns[tok]=1 }                  /* upsert */
#else
  :: bX[tok]==0 && !bC[tok] -> goto dead                                           /* gone is lost */
#endif
  :: CRASHES -> goto dead
  fi;
renewed: skip;
  if :: commit() :: CRASHES fi;                                                    /* slow fsync: time passes before this */
dead: skip; FINISH }

proctype Ender(byte me) { LOCALS;                                                  /* rowlock_release_lease, or rowlock_break with now */
  pick();
#ifdef KEEPER
  fdone == NF+NO;
#endif
  /* DELETE FROM heartbeat WHERE token = tok; DELETE FROM lease WHERE token = tok */
  if :: d_step { bX[tok]==0 && bC[tok] -> bX[tok]=me; bDel[tok]=1 } :: !bC[tok] -> goto dead :: CRASHES -> goto dead fi;
  if :: d_step { (lX[tok]==0||lX[tok]==me) && lS[tok]==0 -> lX[tok]=me; lDel[tok]=1 } :: CRASHES -> goto dead fi;
  if :: atomic { gA[tok]=0; commit() } :: CRASHES fi;
dead: skip; FINISH }

proctype Fenced(byte me) { LOCALS;
  pick();
#ifdef M3
  if :: d_step { tX==0 -> tS = tS|BIT(me) } :: CRASHES -> goto dead fi;
  if :: lC[tok] -> skip :: else -> goto dead fi;
#else
  if                                                                               /* rowlock_fence: SELECT FROM lease .. FOR SHARE */
  :: d_step { lX[tok]==0 && lC[tok] -> lS[tok] = lS[tok]|BIT(me) }
  :: !lC[tok] -> goto dead
  :: CRASHES -> goto dead
  fi;
#endif
  d_step { inF[tok]++; check() }
  if :: d_step { inF[tok]--; lS[tok] = lS[tok] & ~BIT(me); tS = tS & ~BIT(me) } fi; /* COMMIT, ROLLBACK or crash: the same */
dead: skip; d_step { fdone++ }; FINISH }

proctype Own(byte me) { LOCALS;                                                    /* rowlock_lock_own_lease, and what is done under it */
  pick();
  if :: lExcl[tok] -> skip :: else -> goto dead fi;
  if
  :: d_step { lX[tok]==0 && lS[tok]==0 && lC[tok] -> lX[tok]=me }                  /* FOR UPDATE */
  :: !lC[tok] -> goto dead
  :: CRASHES -> goto dead
  fi;
  d_step { inO[tok]++; check() }
  d_step { inO[tok]--; lX[tok]=0 }
dead: skip; d_step { fdone++ }; FINISH }

proctype Locker(byte me; bool x) { LOCALS; bool later; byte n;
  if :: later = 0 :: later = 1 fi;                                                 /* begin-and-lock / lock-later */
  if :: !later -> presweep(x) :: else fi;
  take_T(x);                                                                       /* rowlock_name_lock */
again: skip;                                                                       /* rowlock_lock: polls */
#if !defined(M2) && !defined(M6)
  sweep(x);
#endif
#ifdef M2
  d_step { plain_read(x, left); for (i : 1 .. NTOK) { if :: bExp[i] || !bC[i] -> left = left & ~BIT(i) :: else fi }; i=0 }
#else
  look(x, left);
#endif
  if
  :: left && !later -> left=0; rollback(); n++;                                    /* wait outside, holding nothing */
     if :: n < 2 -> presweep(x); take_T(x); goto again :: else -> goto dead fi
  :: left && later ->                                                              /* keep T, poll */
#ifndef KEEPSWEEP
     undo_sweep();
#endif
     left=0; n++;
#ifdef NOLT                                                                        /* deadlock runs: poll for ever, */
     n = 0; d_step { plain_read(x, left) }                                         /* = wait until all are gone or expired */
     (PASS(1) && PASS(2) && PASS(3)); left = 0;
#endif
     if :: n < 2 -> goto again :: else -> goto dead fi
  :: else -> skip
  fi;
  d_step { if :: x -> inLX++ :: else -> inLS++ fi; check() }
  if                                                                               /* critical section ends by .. */
  :: atomic { d_step { if :: x -> inLX-- :: else -> inLS-- fi }; commit() }
  :: atomic { d_step { if :: x -> inLX-- :: else -> inLS-- fi }; rollback() }      /* caller's rollback, or crash */
  fi;
dead: skip; FINISH; n=0; later=0 }

#define HAS_EXPIRY(t) bC[t]
proctype Clock() { byte i;
end: do
  :: atomic { EXPIRABLE && (gA[1] || (HAS_EXPIRY(1) && !bExp[1])) -> gA[1]=0; bExp[1]=HAS_EXPIRY(1) }
#if NTOK > 1
  :: atomic { EXPIRABLE && (gA[2] || (HAS_EXPIRY(2) && !bExp[2])) -> gA[2]=0; bExp[2]=HAS_EXPIRY(2) }
#endif
#if NTOK > 2
  :: atomic { EXPIRABLE && (gA[3] || (HAS_EXPIRY(3) && !bExp[3])) -> gA[3]=0; bExp[3]=HAS_EXPIRY(3) }
#endif
  :: atomic { done == NPROC -> break }
  od;
  /* S4: all sessions have ended. No lock may be held, and after the expiry a new acquirer's
     sweep must clear the name */
  skip; d_step { assert(tX==0 && tS==0);
    for (i : 1 .. NTOK) { assert(lX[i]==0 && bX[i]==0 && lS[i]==0);
      assert(lC[i]==bC[i])
    } }
}
init { byte k = 1; byte n; atomic {
  n=0; do :: n<NAX -> run Acquirer(k,1); k++; n++ :: else -> break od;
  n=0; do :: n<NAS -> run Acquirer(k,0); k++; n++ :: else -> break od;
  n=0; do :: n<NLX -> run Locker(k,1); k++; n++ :: else -> break od;
  n=0; do :: n<NLS -> run Locker(k,0); k++; n++ :: else -> break od;
  n=0; do :: n<NF -> run Fenced(k); k++; n++ :: else -> break od;
  n=0; do :: n<NO -> run Own(k); k++; n++ :: else -> break od;
  n=0; do :: n<NR -> run Renewer(k); k++; n++ :: else -> break od;
  n=0; do :: n<NE -> run Ender(k); k++; n++ :: else -> break od;
  run Clock(); n=0; k=0 } }
