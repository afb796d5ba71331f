#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Runs on: once
#
# The tests that docs/promises.md and tests/README.md name exist.
cd "$(dirname "$0")/../.." || exit 125
pages="docs/promises.md tests/README.md"
number=0 bad=0
report() { # WHAT MISSING
    number=$((number + 1))
    if [ -z "$2" ]; then
        echo "ok $number - $1"
    else
        bad=1
        echo "not ok $number - $1"
        printf '# %s\n' "$2"
    fi
}

missing=
for file in $(grep -hoE '\b(conformance|leases|sessions|unit|command)/[a-z0-9_]+' $pages | sort -u); do
    compgen -G "tests/$file.*" >/dev/null || missing="$missing $file"
done
report "every test file that is named exists" "$missing"

missing=
for name in $(grep -hoE '`(p[0-9]+|pg[0-9])_[a-z0-9_]+[a-z0-9]`' $pages | tr -d '`' | sort -u); do
    grep -rqw "$name" tests --include=*.c --include=*.bats || missing="$missing $name"
done
report "every single test that is named exists" "$missing"

missing=
for prefix in $(sed -nE 's/^\| ([a-z0-9, ]+) \|.*/\1/p' tests/README.md | tr -d ' ' | tr , '\n'); do
    [ "$prefix" = prefix ] || grep -rqE "(\(|_)${prefix}_" tests --include=*.c || missing="$missing $prefix"
done
report "every prefix in tests/README.md is in use" "$missing"
echo "1..$number"
exit $bad
