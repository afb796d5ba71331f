#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# run.sh [--quick] [PATTERN]: checks the models with SPIN, in every interleaving of each population
# below, and prints one line per check. "ok": SPIN must find no error. "cex": a mutation, for which
# SPIN must find a counterexample. A check that is cut short is neither. Exits with 1 unless all
# checks end as expected. Needs spin and gcc. All checks take some minutes and 2.5 GB; --quick runs
# those marked q, in a minute and 1 GB. Environment: JOBS=2 parallel checks, LIM=120 seconds and
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
ok|-|L-least|lock.pml|$(P 2 0 1 0 1 0 1 0) -DLEAST
ok|-|L-least-shared|lock.pml|$(P 1 2 0 0 1 0 1 0) -DLEAST
ok|q|L-least-small|lock.pml|$(P 2 1 0 0 0 0 0 1) -DLEAST
ok|-|L-lazy|lock.pml|$B -DLAZY
ok|q|L-lazy-small|lock.pml|$(P 2 0 0 0 1 0 1 0) -DLAZY
ok|-|L-lazy-shared|lock.pml|$(P 1 1 1 0 1 0 1 0) -DLAZY
ok|-|L-lazy-own|lock.pml|$(P 2 0 0 0 0 1 1 1) -DLAZY
ok|q|L-lazy-ends|lock.pml|$(P 1 0 0 0 1 0 2 1) -DLAZY
ok|-|D-lazy|lock.pml|$(P 1 0 1 0 1 0 1 1) $D -DLAZY
cex|q|m10-sweep-decides-early|lock.pml|$(P 2 0 0 0 0 0 1 0) -DLAZY -DM10
cex|q|m11-renewal-without-the-row|lock.pml|$(P 2 0 0 0 0 0 1 0) -DLAZY -DM11
cex|q|m7-least-hides-itself|lock.pml|$(P 2 0 0 0 0 0 0 0) -DLEAST -DM7
cex|q|m8-least-of-a-shared-grant|lock.pml|$(P 1 2 0 0 0 0 0 0) -DLEAST -DM8
cex|q|m9-least-of-a-refusal|lock.pml|$(P 3 0 0 0 0 0 0 0) -DLEAST -DM9
cex|q|m1-ignore-expired|lock.pml|$(P 2 0 0 0 0 0 1 0) -DM1 -DWEAK -DRENEWCLOCK
cex|q|m2-locker-ignores|lock.pml|$(P 1 0 1 0 1 0 0 0) -DM2
ok|-|m3-fence-T-safety|lock.pml|$B -DM3
cex|q|m3-fence-T-deadlock|lock.pml|$(P 1 0 1 0 1 0 0 1) $D -DKEEPER -DM3
ok|q|m3-control|lock.pml|$(P 1 0 1 0 1 0 0 1) $D -DKEEPER
cex|q|m4-upsert|lock.pml|$B -DM4
cex|q|m5-no-clock|lock.pml|$(P 2 0 0 0 0 0 0 0) -DM5 -DWEAK
ok|-|m6-safety|lock.pml|$B -DM6
cex|q|m6-poller-stuck|lock.pml|$(P 1 0 1 0 0 0 1 0) $D -DM6
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
ok|q|O-cancel-shared|owner.pml|-DCANCEL
ok|q|O-cancel-exclusive|owner.pml|-DCANCEL -DEXCL
cex|q|o3-cancel-locks-no-owner|owner.pml|-DCANCEL -DEXCL -DM3
cex|q|o4-cancel-looks-before|owner.pml|-DCANCEL -DM4
ok|-|G-base|group.pml|-DSAME
ok|q|G-whole|group.pml|-DLOSSES=0
ok|q|G-lost|group.pml|-DNTH=1 -DNOUT=2
ok|q|G-lost-twice|group.pml|-DNTH=1 -DNOUT=0 -DLOSSES=2
ok|-|G-lost-one-name|group.pml|-DSAME -DNOUT=0
ok|-|G-lost-two-names|group.pml|-DNOUT=0
ok|-|G-three|group.pml|-DNTH=3 -DNOUT=0 -DLOSSES=0
ok|q|G-locker|group.pml|-DNOUT=0 -DLOSSES=0 -DNL=1
cex|q|g1-looks-before-the-lock|group.pml|-DM1
cex|q|g2-answers-before-commit|group.pml|-DNOUT=0 -DM2
cex|q|g3-new-owner|group.pml|-DNOUT=0 -DM3
cex|q|g4-release-by-name|group.pml|-DNTH=1 -DM4
cex|q|g5-waits-for-a-name|group.pml|-DNOUT=0 -DLOSSES=0 -DNL=1 -DM5
cex|q|g6-a-name-twice|group.pml|-DSAME -DNOUT=0 -DLOSSES=0 -DM6
ok|q|T-base|numbers.pml|-DNS=2
ok|-|T-two-writes|numbers.pml|-DNS=2 -DNW=2
ok|-|T-set-back|numbers.pml|-DNS=2 -DBACK
ok|q|T-set-back-small|numbers.pml|-DNS=2 -DK=1 -DBACK
ok|-|T-three|numbers.pml|-DNS=3 -DK=1 -DDEATHS=0
cex|q|t1-computed-before-the-lock|numbers.pml|-DM1
cex|q|t2-computed-before-but-checked-again|numbers.pml|-DM2
cex|q|t3-not-checked-again|numbers.pml|-DM3 -DK=5
cex|q|t4-no-room|numbers.pml|-DM4
cex|q|t5-noted-before-lifted|numbers.pml|-DM5
cex|q|t6-no-floor|numbers.pml|-DNS=2 -DBACK -DM6
cex|q|t7-no-lock|numbers.pml|-DM7 -DK=5
X
}
list | grep -- "^[^|]*|$quick|.*${1:-}" | tr '\n' '\0' | xargs -0 -r -n 1 -P "${JOBS:-2}" ./run1.sh
