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
refuses() { # VARIABLE=VALUE TEXT
    local answer status=0
    answer=$(env CELL=counter/none/sqlite-native SECONDS_EACH=1 "$1" tests/torture/run 2>&1) ||
        status=$?
    echo "$answer"
    [ $status = 2 ] && [[ $answer == *"$2"* ]]
}
check a_cell_that_does_not_exist_is_refused refuses \
    CELL='counter/none/sqlite-native no/such/cell' "no cell matches 'no/such/cell'"
for wrong in CLIENTS=0 TTL=1s PACE=0.5 SECONDS_EACH=10s OPERATIONS=many SEED=1e9; do
    name=${wrong%%=*}
    check "$wrong is refused" refuses "$wrong" "${name%_EACH}='${wrong#*=}'"
done

# Workers that execute this instead of their operations, or of another mode.
run_with() { # COMMAND [MODE [VARIABLE=VALUE...]]
    local status=0 command=$1 mode=${2:-run}
    shift $(($# > 1 ? 2 : 1))
    rm -rf "$BUILD-fake"
    mkdir -p "$BUILD-fake/tests/torture"
    ln -s "$BUILD/rowlock" "$BUILD-fake"
    ln -s "$BUILD/tests/torture/judge" "$BUILD-fake/tests/torture"
    cat >"$BUILD-fake/tests/torture/worker" <<TEXT
#!/bin/sh
[ "\$1" != $mode ] || $command
exec "$BUILD/tests/torture/worker" "\$@"
TEXT
    chmod +x "$BUILD-fake/tests/torture/worker"
    answer=$(env BUILD="$BUILD-fake" CELL=counter/none/sqlite-native SECONDS_EACH=1 "$@" \
        tests/torture/run 2>&1) || status=$?
    echo "$answer"
    return $status
}
finds_no_operation() {
    run_with 'exec sleep 60'
    [ $? = 2 ] && [[ $answer == *"no operation was completed"* ]]
}
check a_cell_without_an_operation_is_not_passed finds_no_operation
ends_without_progress() {
    run_with 'exec sleep 60' run OPERATIONS=5 STALL=1
    [ $? = 2 ] && [[ $answer == *"no operation succeeded for 1 s, before there were 5"* ]]
}
check a_cell_whose_operations_all_fail_ends ends_without_progress
ends_to_settle() {
    run_with 'exec sleep 60' settle SETTLE=1
    [ $? = 2 ] && [[ $answer == *"its names were not examined in 1 s"* ]]
}
check names_that_cannot_be_examined_end_the_cell ends_to_settle
finds_the_crash() {
    run_with 'kill -s SEGV $$'
    [ $? = 1 ] && [[ $answer == *"5 clients ended by themselves"*", 5 violations" ]]
}
check a_client_that_crashes_is_a_violation finds_the_crash
# The makefiles set none of the variables of tests/torture/run themselves.
sets_nothing() { make -n torture | grep "CLIENTS='' TTL='' PACE='' OPERATIONS='' RESUME=''"; }
check make_torture_has_the_defaults sets_nothing
sets_long() {
    make -n torture-long | grep -A 1 -F "CELL='*/mixed/* names/kill/*" |
        grep "PACE='4' OPERATIONS='10000' RESUME='1'"
}
check make_torture_long_has_its_selection sets_long

# RESUME, with a result of 7 operations of this commit.
resumes_with() { # OPERATIONS
    mkdir -p "$BUILD-resumed/torture/results" "$BUILD-resumed/bin"
    ln -sfn "$BUILD/rowlock" "$BUILD/tests" "$BUILD-resumed"
    printf '#!/bin/sh\necho abc\n' >"$BUILD-resumed/bin/git"
    chmod +x "$BUILD-resumed/bin/git"
    echo "cell=counter/none/sqlite-native commit=abc faults=0 operations=7 unknown=0 violations=0" \
        >"$BUILD-resumed/torture/results/counter.none.sqlite-native"
    answer=$(env PATH="$BUILD-resumed/bin:$PATH" BUILD="$BUILD-resumed" RESUME=1 OPERATIONS="$1" \
        CELL=counter/none/sqlite-native SECONDS_EACH=1 tests/torture/run 2>&1) || return 1
    echo "$answer"
}
skips_enough() { resumes_with 7 && [[ $answer == *$'\n7 operations, 0 faults, 0 violations' ]]; }
check resume_skips_a_cell_that_has_enough_operations skips_enough
repeats_too_few() { resumes_with 8 && [[ $answer != *$'\n7 operations, 0 faults, 0 violations' ]]; }
check resume_repeats_a_cell_with_too_few_operations repeats_too_few
finish_tap
