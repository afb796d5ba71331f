#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# run1.sh 'EXPECTED|q|NAME|FILE|SWITCHES': runs one line of run.sh's list exhaustively, in the
# folder $OUT/NAME, and prints one line. Exits with 1 if it does not end as expected.
IFS='|' read -r expected _ name file switches <<<"$1"
here=$PWD
mkdir -p "$OUT/$name" && cd "$OUT/$name" && cp "$here/$file" . || exit 125
fail() { # PROGRAM
    echo "UNEXPECTED $name: $1 failed: $(tail -n 3 "$1.log" | tr '\n' ' ')"
    exit 1
}
# A model with an LTL formula is checked for it, with fair scheduling; the others for their asserts
# and for deadlocks. -w: the table of states has two to the power of this many slots.
how="-DSAFETY" options="-m2000000"
if grep -q '^ltl ' "$file"; then how="-DNFAIR=3" options="-m2000000 -a -f"; fi
slots=26 optimise=-O2
[ "${QUICK:-.}" != q ] || { slots=22 optimise=-O0; }
# shellcheck disable=SC2086
spin -a $switches "$file" >spin.log 2>&1 || fail spin
# shellcheck disable=SC2086
gcc $optimise $how -DCOLLAPSE -DVECTORSZ=2048 -DMEMLIM="${MEM:-4000}" -o pan pan.c >gcc.log 2>&1 \
    || fail gcc
# shellcheck disable=SC2086
timeout "${LIM:-300}" ./pan $options -w$slots >pan.log 2>&1
found=cut-short
if grep -q 'errors: [1-9]' pan.log; then
    found=cex
elif grep -q 'errors: 0' pan.log &&
    ! grep -q 'max search depth too small\|Search not completed\|reached -DMEMLIM\|out of memory' \
        pan.log; then
    found=ok
fi
states=$(awk '/states, stored/ { print $1 }' pan.log)
seconds=$(awk '/elapsed time/ { print $4 }' pan.log)
memory=$(awk '/total actual/ { print $1 }' pan.log)
why=$(grep -m 1 '^pan:1' pan.log | head -c 120)
verdict=as-expected
[ "$found" = "$expected" ] || verdict=UNEXPECTED
cost="${states:-?} states, ${seconds:-?} s, ${memory:-?} MB"
echo "$verdict $name ($found): $file $switches: $cost${why:+, $why}"
[ "$verdict" = as-expected ]
