# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# The promises of docs/compatibility.md are recorded here, a line for each name, so that a review
# sees a change of one. RECORD=1 writes the record again: a line that leaves or changes is a break.

same_as_recorded() { # NAME, the surface on standard input
    local record=$BATS_TEST_DIRNAME/../surface/$1.txt
    cat >"$1.found"
    [ -s "$1.found" ]
    [ -z "${RECORD:-}" ] || cp "$1.found" "$record"
    diff "$record" "$1.found" || {
        echo "tests/surface/$1.txt differs: read docs/compatibility.md; RECORD=1 writes it again"
        return 1
    }
}
