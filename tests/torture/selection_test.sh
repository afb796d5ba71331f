#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Runs on: alone
# Quick: never
#
# A short selection of make torture: the judge accepts the clients' logs under faults. Only a few
# operations are required, because the machine may be slow.
cd "$(dirname "$0")/../.." || exit 125
. tests/lib/tap.sh
export BUILD=$ROWLOCK_TEST_TEMP/torture
mkdir -p "$BUILD"
ln -s "$ROWLOCK_TEST_BIN/tests" "$ROWLOCK_TEST_BIN/rowlock" "$BUILD"

cells='counter/kill/sqlite-native fence/stop/postgresql-native permits/cut/postgresql-native
    tokens/terminate/mariadb-row command/kill/sqlite-native lease/clock/postgresql-native
    sql-counter/delay/mariadb-row fence/async/postgresql-native fence/failover/mariadb-row'
printed=$(CELL=$cells SECONDS_EACH=2 OPERATIONS='' RESUME='' SEED=18 tests/torture/run 2>&1)
status=$?
is_judged() { # CELL
    local line
    line=$(grep "^cell=$1 .* violations=0\$" <<<"$printed") || { echo "$printed"; return 1; }
    [[ $line =~ \ faults=([0-9]+)\ .*\ operations=([0-9]+)\  ]] &&
        [ "${BASH_REMATCH[1]}" -ge 1 ] && [ "${BASH_REMATCH[2]}" -ge 5 ]
}
for cell in $cells; do check "$cell" is_judged "$cell"; done
ends_well() {
    echo "$printed"
    [ $status = 0 ] && [[ ${printed##*$'\n'} =~ ^[0-9]+\ operations,\ [0-9]+\ faults,\ 0\ viol ]]
}
check the_last_line_has_the_sums ends_well
refuses() { # CELL
    CELL=$1 tests/torture/run
    [ $? = 2 ]
}
check a_cell_that_does_not_exist_is_refused refuses no/such/cell
# The makefiles set none of the variables of tests/torture/run themselves.
sets_nothing() { make -n torture | grep "CLIENTS='' OPERATIONS='' RESUME=''"; }
check make_torture_has_the_defaults sets_nothing
finish_tap
