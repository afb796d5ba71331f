#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Runs on: alone
#
# The mistakes of make torture-mutations still fit the source exactly, so that none is made in
# another statement than it means, and name cells that exist. Each is one of a promise, or of jobs.
# Those of each promise are at least two, except of P12: no fault leads to a statement's text.
cd "$(dirname "$0")/../.." || exit 125
. tests/lib/tap.sh
LANGUAGES='python go node java c'
. tests/torture/tables.bash
cells=$(all_cells)
fits() { # PATCH
    patch --dry-run -F0 -sp1 <"$1" && grep -qE '^Promise: (P[0-9]+|jobs)$' "$1" &&
        grep -qxF "$(sed -n 's/^Cell: //p' "$1")" <<<"$cells"
}
for mistake in tests/torture/mutations/*.patch; do
    check "$(basename "$mistake" .patch)" fits "$mistake"
done
has_two() { [ "$(grep -lx "Promise: $1" tests/torture/mutations/*.patch | wc -l)" -ge 2 ]; }
for promise in P1 P2 P3 P4 P5 P6 P7 P8 P9 P10 P11; do check "$promise" has_two $promise; done
finish_tap
