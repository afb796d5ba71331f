#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Runs on: alone
#
# The functions, procedures and files that the comments of model/ name exist.
cd "$(dirname "$0")/../.." || exit 125
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
missing() { # the words on standard input that are not in the file
    sort -u | grep -vxF -f "$1"
}
words=$(mktemp) || exit 125
trap 'rm -f "$words"' EXIT

named=$(grep -hoE '\browlock\.[a-z_]+' model/*.pml | sort -u)
sed -nE 's/^CREATE FUNCTION (rowlock\.[a-z_]+).*/\1/p' sql/postgresql/schema/*.sql >"$words"
report "every function that a model names is in sql/postgresql/schema" \
    "$(missing "$words" <<<"$named")"
named=$(grep -hoE '\browlock_[a-z][a-z_]+' model/*.pml | sort -u)
grep -hoE '\browlock_[a-z_]+' sql/mariadb/schema/*.sql include/rowlock.h | sort -u >"$words"
report "every procedure and public function that a model names exists" \
    "$(missing "$words" <<<"$named")"
named=$(grep -hoE '\browlock__[a-z_]+' model/*.pml | sort -u)
grep -rhoE '\browlock__[a-z_]+' src --include='*.c' --include='*.h' | sort -u >"$words"
report "every function in C that a model names is in src" "$(missing "$words" <<<"$named")"
without=
for file in model/*.pml; do
    grep -qE '\browlock(\.|__|_[a-z])[a-z_]+' "$file" || without="$without $file"
done
report "every model names functions" "$without"
cut -d'|' -f4 model/run.sh | grep '\.pml$' | sort -u >"$words"
report "every model is checked" "$(printf '%s\n' model/*.pml | sed 's,.*/,,' | missing "$words")"
find model src tests sql -type f -printf '%f\n' >"$words"
report "every file that is named is there" \
    "$(grep -hoE '\b[a-z0-9_]+\.(pml|md|h|c|sh)\b' model/*.pml model/README.md |
        grep -vxE 'pan\.c' | missing "$words")"
echo "1..$number"
exit $bad
