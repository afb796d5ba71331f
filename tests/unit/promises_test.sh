#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Runs on: alone
#
# The tests that docs/promises.md and tests/README.md name exist, and the quick scope proves each
# promise on each engine and technique that has it.
cd "$(dirname "$0")/../.." || exit 125
pages="docs/promises.md tests/README.md"
. tests/lib/tap.sh
nothing_is() { # MISSING
    [ -z "$1" ] || { echo "$1"; return 1; }
}

missing=
rooms='conformance|leases|sessions|unit|command|simulation'
for file in $(grep -hoE "\b($rooms)/[a-z0-9_]+" $pages | sort -u); do
    compgen -G "tests/$file.*" >/dev/null || missing="$missing $file"
done
check "every test file that is named exists" nothing_is "$missing"

missing=
for name in $(grep -hoE '`(p[0-9]+|pg[0-9])_[a-z0-9_]+[a-z0-9]`' $pages | tr -d '`' | sort -u); do
    grep -rqw "$name" tests --include=*.c --include=*.bats || missing="$missing $name"
done
check "every single test that is named exists" nothing_is "$missing"

missing=
for prefix in $(sed -nE 's/^\| ([a-z0-9, ]+) \|.*/\1/p' tests/README.md | tr -d ' ' | tr , '\n'); do
    [ "$prefix" = prefix ] || grep -rqE "(\(|_)${prefix}_" tests --include=*.c ||
        missing="$missing $prefix"
done
check "every prefix in tests/README.md is in use" nothing_is "$missing"
# The files that a promise names: in its section, those that exist; and those with a test p<N>_.
tests_of() { # NUMBER
    {
        sed -n "/^## P$1\. /,/^## /p" docs/promises.md |
            grep -oE '\b(conformance|leases|sessions|unit|command|simulation)/[a-z0-9_]+'
        grep -rlE "(\(|@test \")p$1_" tests --include=*.c --include=*.bats |
            sed 's,^tests/,,; s,\.[a-z]*$,,'
    } | sort -u
}
# The promises of the table: "P1 postgresql" for each engine whose column says yes.
promised() {
    sed -n '/^| P1 /,/^$/p' docs/promises.md | awk -F'|' '
        { gsub(/ /, "") }
        $2 != "" { promise = $2 }
        $4 ~ /^yes/ { print promise, "postgresql/native" }
        $5 ~ /^yes/ { print promise, "postgresql" }
        $6 ~ /^yes/ { print promise, "postgresql" }
        $7 ~ /^yes/ { print promise, "mariadb/row" }
        $8 ~ /^yes/ { print promise, "mariadb" }
        $9 ~ /^yes/ { print promise, "sqlite/native" }' | sort -u
}

export DRIVERS="sqlite postgresql mariadb"
quick=$(tests/run --quick --list) full=$(tests/run --full --list)
pairs=$(promised)
missing= of=
while read -r promise engine; do
    found=
    [ "$promise" = "$of" ] || files=$(tests_of "${promise#P}")
    of=$promise
    for file in $files; do
        [[ $'\n'$quick != *$'\n'"$file $engine"* ]] || found=1
    done
    [ -n "$found" ] || missing="$missing $promise on $engine,"
done <<<"$pairs"
[ "$(cut -d' ' -f1 <<<"$pairs" | sort -u | wc -l)" = 12 ] ||
    missing="$missing a promise without an engine"
check "the quick scope proves each promise on each engine" nothing_is "$missing"

missing=$(comm -13 <(grep ^conformance/ <<<"$quick" | sort) <(grep ^conformance/ <<<"$full" | sort))
check "the quick scope has the conformance suite on every technique" nothing_is "$missing"

missing=
listed=$(sed -nE 's/^\| ([a-z0-9, ]+) \|.*/\1/p' tests/README.md | tr -d ' ' | tr , '\n')
used=$(sed -nE 's/^TEST\((([a-oq-z]|[a-z]{2})[0-9][a-z]?)_.*/\1/p' tests/*/*.c | sort -u)
for prefix in $used; do
    grep -qx "$prefix" <<<"$listed" || missing="$missing $prefix"
done
check "every prefix of a test's name is in tests/README.md" nothing_is "$missing"
finish_tap
