#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Runs on: alone
#
# The mistakes of make torture-mutations still fit the source, and name cells that exist.
cd "$(dirname "$0")/../.." || exit 125
. tests/lib/tap.sh
. tests/torture/tables.bash
cells=$(all_cells)
fits() { # PATCH
    patch --dry-run -sp1 <"$1" && grep -qxF "$(sed -n 's/^Cell: //p' "$1")" <<<"$cells"
}
for mistake in tests/torture/mutations/*.patch; do
    check "$(basename "$mistake" .patch)" fits "$mistake"
done
finish_tap
