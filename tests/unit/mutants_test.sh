#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Runs on: alone
#
# Each mistake of tests/mutants still changes one place of the source.
cd "$(dirname "$0")/../.." || exit 125
. tests/lib/tap.sh
stands_once() { # FILE TEXT
    [ "$(grep -cF -e "$2" "$1")" = 1 ]
}
while read -r file _ && IFS= read -r was && read -r; do
    check "$file: ${was#- }" stands_once "$file" "${was#- }"
done < <(tests/mutants --list)
finish_tap
