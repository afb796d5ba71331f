#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# run.sh [--quick] [PATTERN]: checks the models with SPIN, in every interleaving of each population
# below, and prints one line per check. "ok": SPIN must find no error. "cex": a mutation, for which
# SPIN must find a counterexample. A check that is cut short is neither. Exits with 1 unless all
# checks end as expected. Needs spin and gcc. All checks take some minutes and 2.5 GB; --quick runs
# those marked q, in a minute and 1 GB. Environment: JOBS=2 parallel checks, LIM=300 seconds and
# MEM=4000 megabytes per check, OUT: a folder to keep, with one folder per check (README.md: how to
# read a counterexample).
cd "$(dirname "$0")" || exit 125
quick=.
[ "${1:-}" != --quick ] || { quick=q; shift; }
if [ -z "${OUT:-}" ]; then
    OUT=$(mktemp -d) || exit 125
    trap 'rm -rf "$OUT"' EXIT
fi
export OUT QUICK=$quick

# Acquirers X and S, lockers X and S, fenced, own-lease, renewers, enders: lock.pml's population.
P() { echo "-DNAX=$1 -DNAS=$2 -DNLX=$3 -DNLS=$4 -DNF=$5 -DNO=$6 -DNR=$7 -DNE=$8"; }
# The same for permits.pml: permits, exclusive, shared, renewers, enders.
Q() { echo "-DNP=$1 -DNX=$2 -DNS=$3 -DNR=$4 -DNE=$5"; }
D="-DNOCRASH -DNOLT"
B="$(P 2 0 1 0 1 0 1 0)"

# expected | q: quick | name | file | switches
list() {
    cat <<X
ok|q|E-two-fast|lease.pml|-DNF=2 -DNX=1
ok|-|E-fast|lease.pml|-DNF=2 -DNG=1 -DNX=1
ok|-|E-fence|lease.pml|-DNF=2 -DNE=1 -DNX=1 -DNC=1
ok|q|E-ends|lease.pml|-DINIT=2 -DNF=1 -DNG=1 -DNE=1 -DNR=1
ok|-|E-takeover|lease.pml|-DINIT=2 -DNG=1 -DNW=1 -DNX=1 -DNR=1
ok|q|E-takeover-small|lease.pml|-DINIT=2 -DNF=1 -DNG=1 -DNX=1 -DNC=1
ok|q|E-queue|lease.pml|-DINIT=2 -DNF=1 -DNE=1 -DNW=1
ok|-|E-queue-two|lease.pml|-DINIT=2 -DNE=1 -DNW=2
ok|-|E-queue-fence|lease.pml|-DINIT=2 -DNC=1 -DNW=1 -DNE=1 -DNF=1
ok|-|E-queue-lockers|lease.pml|-DINIT=2 -DNE=1 -DNW=1 -DNX=1 -DNT=1
ok|-|E-gate|lease.pml|-DINIT=3 -DNG=1 -DNW=2
ok|q|E-gate-small|lease.pml|-DINIT=3 -DNF=1 -DNG=1 -DNW=1
ok|q|E-move|lease.pml|-DNF=1 -DNG=1 -DNX=1
ok|-|E-move-twice|lease.pml|-DMOVES=2 -DNG=2 -DNF=1
ok|q|E-tidy|lease.pml|-DINIT=1 -DNF=1 -DNG=1 -DNT=1
ok|-|E-tidy-two-fast|lease.pml|-DINIT=1 -DNF=2 -DNG=1 -DNT=1
ok|-|E-tidy-twice|lease.pml|-DMOVES=2 -DINIT=1 -DNF=1 -DNG=1 -DNT=1 -DNE=1
ok|-|E-tidy-queue|lease.pml|-DINIT=1 -DNF=1 -DNG=1 -DNT=1 -DNW=1
ok|q|E-restore|lease.pml|-DNF=1 -DNS=1 -DNG=1
ok|-|E-restore-tidy|lease.pml|-DINIT=1 -DNF=1 -DNS=1 -DNG=1 -DNT=1
ok|q|E-own|lease.pml|-DINIT=2 -DNO=2 -DNR=1 -DNE=1
ok|-|E-own-lockers|lease.pml|-DINIT=2 -DNO=2 -DNG=1 -DNX=1
cex|q|e1-no-row-at-the-old-generation|lease.pml|-DM1 -DNF=1 -DNG=1
cex|q|e2-restored-with-its-old-key|lease.pml|-DM2 -DINIT=1 -DNF=1 -DNS=1 -DNT=1
cex|q|e3-tidy-without-the-table-lock|lease.pml|-DM3 -DINIT=1 -DNF=2 -DNG=1 -DNT=1
cex|q|e4-tidy-forgets-without-the-name-lock|lease.pml|-DM4 -DINIT=1 -DNF=1 -DNG=1 -DNT=1
cex|q|e5-queues-at-a-moved-row|lease.pml|-DM5 -DNG=1 -DNW=1
cex|q|e6-tidy-removes-the-last-mark|lease.pml|-DM6 -DINIT=1 -DNF=1 -DNG=1 -DNT=1 -DNW=1
cex|q|e7-snapshot-before-the-table-lock|lease.pml|-DM7 -DINIT=1 -DNF=2 -DNG=1 -DNT=1
cex|q|e8-locker-in-one-statement|lease.pml|-DM8 -DNF=1 -DNX=1
cex|q|e9-no-name-lock|lease.pml|-DM9 -DNF=1 -DNX=1
cex|q|e10-no-unique-key|lease.pml|-DM10 -DNF=2
cex|q|e11-fast-release-of-a-queued-lease|lease.pml|-DM11 -DINIT=2 -DNE=1 -DNW=1
cex|q|e12-tickets-before-the-row|lease.pml|-DM12 -DINIT=2 -DNE=1 -DNW=1
cex|q|e13-expired-before-the-wait|lease.pml|-DM13 -DINIT=2 -DNG=1 -DNR=1
cex|q|e14-gate-without-for-update|lease.pml|-DM14 -DINIT=2 -DNE=1 -DNW=1 -DNC=1
cex|q|e15-ticket-before-the-row|lease.pml|-DM15 -DNW=2 -DNF=1
cex|q|e16-fence-locks-nothing|lease.pml|-DM16 -DINIT=2 -DNE=1 -DNC=1
cex|q|e17-token-before-the-name-lock|lease.pml|-DM17 -DNF=2 -DNE=1
cex|-|e18-function-looks-before-the-name-lock|lease.pml|-DM18 -DINIT=1 -DNG=2 -DNT=1
cex|q|e19-looks-before-it-locks-the-gate|lease.pml|-DM19 -DINIT=3 -DNG=1 -DNW=1
cex|q|e20-own-lease-without-its-lock|lease.pml|-DM20 -DINIT=2 -DNO=2
ok|q|M-permits|members.pml|-DNP=3
ok|-|M-permits-exclusive|members.pml|-DNP=2 -DNX=1 -DNE=1
ok|q|M-mixed|members.pml|-DNP=1 -DNX=1 -DNS=1 -DNR=1
ok|-|M-least|members.pml|-DNP=2 -DNX=1 -DNEWLEAST -DNE=1
ok|-|M-lockers|members.pml|-DNS=2 -DNX=1 -DLX=1 -DLS=1
ok|-|M-shared|members.pml|-DNS=1 -DNX=1 -DLX=1 -DNE=1 -DNR=1
ok|-|M-moves|members.pml|-DNP=2 -DNE=2 -DMOVES=1
ok|q|M-moves-small|members.pml|-DNP=2 -DNE=1 -DMOVES=1
cex|q|m1-counts-before-the-gate|members.pml|-DNP=3 -DM1
cex|q|m2-counts-the-live|members.pml|-DNP=3 -DNR=1 -DM2
cex|q|m3-sweeps-nothing|members.pml|-DNP=3 -DM3
cex|q|m4-exclusive-forgets|members.pml|-DNP=1 -DNX=1 -DM4
cex|q|m5-last-member-looks-before-the-gate|members.pml|-DNS=2 -DNE=1 -DM5
cex|q|m6-least-is-the-token|members.pml|-DNP=2 -DNEWLEAST -DM6
cex|q|m7-locker-looks-at-the-gate|members.pml|-DNP=1 -DLX=1 -DM7
cex|q|m8-expired-before-the-wait|members.pml|-DNP=2 -DNS=1 -DNR=1 -DM8
ok|q|R-fast|row.pml|-DNF=2 -DNX=1
ok|q|R-renewal|row.pml|-DNF=1 -DNG=1 -DNE=1 -DNR=1
ok|q|R-fence|row.pml|-DINIT=1 -DNF=1 -DNE=1 -DNC=1 -DNS=1
ok|q|R-queue|row.pml|-DINIT=1 -DNE=1 -DNW=2
ok|-|R-queue-fence|row.pml|-DINIT=1 -DNF=1 -DNE=1 -DNW=1 -DNC=1
ok|-|R-queue-sweep|row.pml|-DINIT=1 -DNF=1 -DNS=1 -DNW=2
ok|q|R-takeover|row.pml|-DINIT=1 -DNG=1 -DNS=1 -DNR=1 -DNX=1
cex|q|r1-token-before-the-row|row.pml|-DM1 -DNF=2 -DNE=1
cex|q|r2-fast-grant-ignores-waiters|row.pml|-DM2 -DNF=1 -DNW=1
cex|q|r3-release-without-the-entry|row.pml|-DM3 -DINIT=1 -DNE=1 -DNC=1
cex|q|r4-expired-before-the-wait|row.pml|-DM4 -DINIT=1 -DNS=1 -DNR=1
cex|q|r5-fence-locks-nothing|row.pml|-DM5 -DINIT=1 -DNE=1 -DNC=1
cex|q|r6-fence-looks-before-the-entry|row.pml|-DM6 -DINIT=1 -DNE=1 -DNC=1
cex|q|r7-grant-looks-before-the-row|row.pml|-DM7 -DNF=1 -DNG=1
cex|q|r8-locker-without-the-row|row.pml|-DM8 -DNF=1 -DNX=1
cex|q|r9-sweep-without-the-entry|row.pml|-DM9 -DINIT=1 -DNS=1 -DNC=1
cex|q|r10-locker-looks-before-the-row|row.pml|-DM10 -DNF=1 -DNX=1
cex|q|r11-waiter-passes-others|row.pml|-DM11 -DNW=2
ok|q|K-mark|mark.pml|-DNF=2 -DNH=2 -DNX=1
ok|q|K-procedures|mark.pml|-DNF=1 -DNG=1 -DNH=2 -DNX=1 -DNV=1
ok|-|K-mark-more|mark.pml|-DNF=2 -DNG=1 -DNH=2 -DNX=2 -DNV=1
cex|q|k1-fast-grant-ignores-the-mark|mark.pml|-DM1 -DNF=1 -DNH=1
cex|q|k2-shares-an-unmarked-row|mark.pml|-DM2 -DNF=1 -DNH=1 -DNX=1
cex|q|k3-no-mark|mark.pml|-DM3 -DNF=1 -DNH=1
cex|q|k4-leases-before-the-row|mark.pml|-DM4 -DNG=1 -DNH=1
cex|q|k5-mark-before-the-row|mark.pml|-DM5 -DNF=1 -DNG=1 -DNH=1 -DNX=1 -DNV=1
ok|-|L-base|lock.pml|$B
ok|q|L-small|lock.pml|$(P 2 0 0 0 1 0 1 0)
ok|-|L-shared|lock.pml|$(P 1 1 1 0 1 0 1 0)
ok|-|L-own|lock.pml|$(P 2 0 1 0 0 1 0 1)
ok|q|L-own-small|lock.pml|$(P 2 0 0 0 0 1 0 1)
ok|-|L-locSX|lock.pml|$(P 1 0 1 1 1 0 1 0)
ok|q|L-locSX-small|lock.pml|$(P 1 0 1 1 0 0 1 0)
ok|-|L-innodb|lock.pml|$(P 1 1 1 0 1 0 1 0) -DINNODB
ok|q|L-innodb-small|lock.pml|$(P 1 1 0 0 1 0 1 0) -DINNODB
ok|-|L-mend|lock.pml|$(P 1 1 1 0 1 0 1 0) -DPRE1 -DSWEEPALL
ok|q|L-mend-small|lock.pml|$(P 1 0 1 0 1 0 1 0) -DPRE1 -DSWEEPALL
cex|q|l1-ignore-expired|lock.pml|$(P 2 0 0 0 0 0 1 0) -DM1 -DWEAK -DRENEWCLOCK
cex|q|l2-locker-ignores|lock.pml|$(P 1 0 1 0 1 0 0 0) -DM2
ok|-|l3-fence-T-safety|lock.pml|$B -DM3
cex|q|l3-fence-T-deadlock|lock.pml|$(P 1 0 1 0 1 0 0 1) $D -DKEEPER -DM3
ok|q|l3-control|lock.pml|$(P 1 0 1 0 1 0 0 1) $D -DKEEPER
cex|q|l4-upsert|lock.pml|$B -DM4
cex|q|l5-no-clock|lock.pml|$(P 2 0 0 0 0 0 0 0) -DM5 -DWEAK
ok|-|l6-safety|lock.pml|$B -DM6
cex|q|l6-poller-stuck|lock.pml|$(P 1 0 1 0 0 0 1 0) $D -DM6
ok|-|D-base|lock.pml|$(P 1 0 1 0 1 0 1 1) $D
ok|-|D-3lease|lock.pml|$(P 1 2 1 0 0 0 0 0) $D
ok|q|D-2lockers|lock.pml|$(P 0 2 2 0 0 0 0 0) $D -DINNODB
cex|-|D-presweep-innodb|lock.pml|$(P 1 2 1 0 0 0 0 0) $D -DPRE -DINNODB
cex|-|D-presweep-keep|lock.pml|$(P 1 2 1 0 0 0 0 0) $D -DPRE -DKEEPSWEEP
ok|-|D-mend-per-token|lock.pml|$(P 1 2 1 0 0 0 0 0) $D -DPRE1 -DINNODB
cex|q|A-literal-autocommit|lock.pml|$(P 1 1 1 0 1 0 1 0) -DAUTOC
ok|-|N-base|lock2.pml|
ok|-|N-fence|lock2.pml|-DFENCE
cex|q|N-per-name-sweep|lock2.pml|-DPERNAME
cex|q|N-poll-keeps|lock2.pml|-DPOLL
ok|-|N-poll-mend|lock2.pml|-DPOLL -DSWEEPALL -DFENCE
cex|-|N-cross-wait|lock2.pml|-DCROSS
ok|q|N-gates|lock2.pml|-DGATES
ok|-|N-gates-fence|lock2.pml|-DGATES -DFENCE
cex|q|N-gates-no-limit|lock2.pml|-DGATES -DNOLIMIT
cex|q|N-gates-unsorted|lock2.pml|-DGATES -DUNSORTED
ok|q|Q-3|queue.pml|-DNW=3
ok|-|Q-3-getlock|queue.pml|-DNW=3 -DEXCLGET
ok|-|Q-die2|queue.pml|-DNW=3 -DDIE=2
ok|-|Q-quit-T|queue.pml|-DNW=3 -DQUIT=1 -DNT=1
ok|-|Q-die-T|queue.pml|-DNW=3 -DDIE=1 -DNT=1
cex|q|Q-freeze-unbounded|queue.pml|-DNW=3 -DFREEZE=1
ok|-|Q-freeze2-bounded|queue.pml|-DNW=3 -DFREEZE=2 -DBOUND
ok|q|Q-freeze-small|queue.pml|-DNW=2 -DFREEZE=1 -DDIE=1 -DBOUND -DNT=1
ok|-|Q-freeze-die-T|queue.pml|-DNW=3 -DFREEZE=1 -DDIE=1 -DBOUND -DNT=1
cex|q|Q-freeze-holding-T|queue.pml|-DNW=3 -DFREEZE=1 -DBOUND -DNOIDLE
ok|q|Q-roll-2|queue.pml|-DNW=2 -DNT=1 -DFREEZE=1 -DANYTIME
ok|-|Q-roll-T|queue.pml|-DNW=3 -DNT=1 -DANYTIME -DNOFAST -DSHORT -DCALLS=2
ok|-|Q-roll-freeze2|queue.pml|-DNW=3 -DFREEZE=2 -DQUEUEING -DANYTIME -DNOFAST -DSHORT -DCALLS=1
ok|-|Q-roll-callers|queue.pml|-DNW=3 -DFREEZE=1 -DQUEUEING -DANYTIME -DNOFAST -DSHORT -DCALLS=2
ok|-|Q-roll-thaw|queue.pml|-DNW=2 -DFREEZE=1 -DTHAW -DANYTIME -DNOFAST -DCALLS=2
ok|-|Q-roll-die|queue.pml|-DNW=3 -DFREEZE=1 -DDIE=1 -DQUEUEING -DANYTIME -DNOFAST -DSHORT -DCALLS=1
cex|q|Q-roll-once|queue.pml|-DNW=2 -DNT=1 -DANYTIME -DNOFAST -DSHORT -DRC_ONCE
cex|-|Q-roll-two-visits|queue.pml|-DNW=3 -DNT=1 -DANYTIME -DNOFAST -DSHORT -DCALLS=2 -DRC_TWO
cex|q|Q-roll-ignores-answers|queue.pml|-DNW=2 -DNT=1 -DANYTIME -DNOFAST -DSHORT -DRC_ANSWERED
cex|q|Q-roll-early|queue.pml|-DNW=2 -DANYTIME -DNOFAST -DSHORT -DRC_EARLY
cex|-|Q-roll-without-T|queue.pml|-DNW=3 -DNT=1 -DANYTIME -DNOFAST -DSHORT -DCALLS=2 -DRC_NOT
cex|q|Q-roll-any-mark|queue.pml|-DNW=3 -DANYTIME -DNOFAST -DSHORT -DCALLS=2 -DRC_ANY
cex|q|Q-roll-remark|queue.pml|-DNW=3 -DFREEZE=1 -DANYTIME -DNOFAST -DSHORT -DCALLS=2 -DRC_REMARK
cex|q|Q-roll-one-by-one|queue.pml|-DNW=3 -DFREEZE=2 -DANYTIME -DNOFAST -DSHORT -DRC_KEEP
ok|-|Q1-look-first|queue.pml|-DNW=3 -DQ1
cex|q|Q2-unlock-before-commit|queue.pml|-DNW=3 -DQ2
cex|q|Q3-token-lock-late|queue.pml|-DNW=3 -DQ3
cex|q|Q4-ticket-unlock-early|queue.pml|-DNW=3 -DQ4
ok|-|Q5-no-look-under-T|queue.pml|-DNW=3 -DQ5
cex|q|Q6-ticket-lock-late|queue.pml|-DNW=3 -DQ6
cex|q|Q7-fast-release-of-a-queued-lease|queue.pml|-DNW=3 -DQ7
ok|q|P-base|permits.pml|$(Q 3 0 0 1 0)
ok|-|P-base-no-timeout|permits.pml|$(Q 3 0 0 1 0) -DNOLT
ok|q|P-exclusive|permits.pml|$(Q 2 1 0 1 0)
ok|q|P-shared|permits.pml|$(Q 2 0 1 1 0)
ok|-|P-mixed|permits.pml|$(Q 2 1 1 1 0)
ok|-|P-release|permits.pml|$(Q 3 0 0 1 1)
ok|q|P-two-of-three|permits.pml|$(Q 2 1 0 1 0) -DN=3 -DWANT=2
cex|q|p1-counts-without-T|permits.pml|$(Q 3 0 0 1 0) -DM1
cex|q|p2-counts-the-live|permits.pml|$(Q 3 0 0 1 0) -DM2 -DWEAK
cex|q|p3-T-shared|permits.pml|$(Q 3 0 0 1 0) -DM3
cex|q|p4-sweeps-nothing|permits.pml|$(Q 3 0 0 1 0) -DM4
cex|q|p5-exclusive-forgets|permits.pml|$(Q 1 1 0 1 0) -DM5
ok|q|S-base|stop.pml|
ok|q|S-frozen|stop.pml|-DDEAF
ok|q|S-crash|stop.pml|-DCRASH
ok|q|S-now|stop.pml|-DNOW
ok|q|S-now-ignored|stop.pml|-DNOW -DM1
cex|q|s1-renewal-ignores-stop|stop.pml|-DM1
cex|q|s2-stop-on-another-row|stop.pml|-DM2
ok|q|O-shared|owner.pml|
ok|q|O-exclusive|owner.pml|-DEXCL
cex|q|o1-owner-not-locked|owner.pml|-DM1
cex|q|o2-looks-only-before|owner.pml|-DM2
ok|q|O-fast|owner.pml|-DEXCL -DFAST
cex|q|o5-fast-trusts-its-look|owner.pml|-DEXCL -DFAST -DM5
ok|q|O-cancel-shared|owner.pml|-DCANCEL
ok|q|O-cancel-exclusive|owner.pml|-DCANCEL -DEXCL
cex|q|o3-cancel-locks-no-owner|owner.pml|-DCANCEL -DEXCL -DM3
cex|q|o4-cancel-looks-before|owner.pml|-DCANCEL -DM4
ok|-|T-base|numbers.pml|-DNS=2
ok|q|T-small|numbers.pml|-DNS=2 -DK=1
ok|-|T-two-writes|numbers.pml|-DNS=2 -DNW=2 -DDEATHS=0
ok|-|T-two-fast|numbers.pml|-DNS=2 -DFASTS=2 -DNW=2 -DDEATHS=0
ok|-|T-set-back|numbers.pml|-DNS=2 -DBACK -DDEATHS=0
ok|q|T-set-back-small|numbers.pml|-DNS=2 -DFASTS=2 -DK=1 -DBACK -DDEATHS=0
ok|q|T-restored|numbers.pml|-DNS=2 -DRESTORE -DDEATHS=0
ok|-|T-three|numbers.pml|-DNS=3 -DK=1 -DDEATHS=0
cex|q|t1-computed-before-the-lock|numbers.pml|-DM1
cex|q|t2-computed-before-but-checked-again|numbers.pml|-DM2
cex|q|t3-not-checked-again|numbers.pml|-DM3 -DK=5
cex|q|t4-no-room|numbers.pml|-DM4
cex|q|t5-noted-before-lifted|numbers.pml|-DM5
cex|q|t6-no-floor|numbers.pml|-DNS=2 -DBACK -DM6
cex|q|t7-no-lock|numbers.pml|-DM7 -DK=5
cex|q|t8-origin-not-compared|numbers.pml|-DNS=2 -DFASTS=2 -DRESTORE -DM8
cex|q|t9-floor-read-first|numbers.pml|-DNS=2 -DBACK -DM9
X
}
list | grep -- "^[^|]*|$quick|.*${1:-}" | tr '\n' '\0' | xargs -0 -r -n 1 -P "${JOBS:-2}" ./run1.sh
