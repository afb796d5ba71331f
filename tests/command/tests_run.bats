#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# tests/run itself, on tests of its own: limits, the tests that it does not repeat, its last lines.
# Quick: never

load lib

setup() {
    cd "$BATS_TEST_TMPDIR" || return 1
    mkdir -p tests/unit build
    cp -r "$BATS_TEST_DIRNAME/../run" "$BATS_TEST_DIRNAME/../lib" tests
    : >tests/durations
    printf '@test "good" { true; }\n' >tests/unit/good.bats
    export BUILD=build DRIVERS='' JOBS=2
    unset ROWLOCK_TEST_FOLDER
}
a_test() { # NAME LINE: a script with one test, which passes if the line does
    printf 'echo 1..1\n%s && echo ok 1 || echo not ok 1\n' "$2" >"tests/unit/$1_test.sh"
}
passes() { run tests/run "$@"; echo "$output"; [ "$status" = 0 ]; }
fails() { run tests/run "$@"; echo "$output"; [ "$status" = 1 ]; }

@test "the last line is the summary, and nothing follows it" {
    a_test left 'sleep 300 & true'
    passes
    [ "${lines[-1]}" = "2 passed, 0 failed" ]
    a_test bad false
    a_test refused 'echo "ok 1 # skip this machine refuses it"; exit'
    fails
    [ "${lines[-1]}" = "2 passed, 1 failed, 1 skipped" ]
}

@test "the messages of failed tests come last, after the tests that were not run" {
    a_test refused 'echo "ok 1 # skip this machine refuses it"; exit'
    a_test late 'printf "not ok 1 - comes\\n# the reason\\n# 7 ms\\n"; exit'
    fails
    [[ ${output##*not run:} == *"    unit/late_test: comes"$'\n'"      # the reason"$'\n\n'* ]]
}

@test "a test that hangs is ended after LIMIT" {
    a_test hangs 'sleep 300'
    echo 'full 100 unit/good' >tests/durations # however slow this machine is
    JOBS=100 LIMIT=8 fails
    [[ $output == *"unit/hangs_test: (not done in time)"* ]]
    [ "${lines[-1]}" = "1 passed, 2 failed" ]
}

@test "the limit of a test counts from its own beginning" {
    for name in first second third; do a_test $name 'sleep 5'; done
    echo 'full 100 unit/good' >tests/durations
    JOBS=1 LIMIT=9 passes
    [ "${lines[-1]}" = "4 passed, 0 failed" ]
}

@test "on a slower machine the limit is longer: as many times as the tests that have ended" {
    # the limits are looked at every 5 s
    a_test first 'sleep 0.5'
    a_test second 'sleep 11'
    printf 'full 0.01 unit/good\nfull 0.01 unit/first_test\nfull 1 unit/second_test\n' \
        >tests/durations
    LIMIT=4 passes
    [ "${lines[-1]}" = "3 passed, 0 failed" ]
}

@test "--rest does not repeat the tests that the quick scope passed" {
    a_test bad '[ -e repaired ]'
    a_test never true
    sed -i '1i # Quick: never' tests/unit/never_test.sh
    fails --quick
    [ "${lines[-1]}" = "1 passed, 1 failed" ]
    run tests/run --rest --list
    [ "$output" = "$(printf 'unit/%s\n' bad_test never_test)" ]
    fails --rest
    [[ $output == *"1 tests are not repeated: make check passed them"* ]]
    [ "${lines[-1]}" = "1 passed, 1 failed" ]
    # with another file all is repeated
    touch repaired
    passes --rest
    [[ $output == *"0 tests are not repeated"* ]]
    [ "${lines[-1]}" = "3 passed, 0 failed" ]
}

@test "--rest runs on the first technique, or where the line Rest: says; its histories are short" {
    a_test lasts 'echo "$ROWLOCK_TEST_TECHNIQUE $ROWLOCK_TEST_EFFORT" >>'"$PWD/efforts"
    sed -i '1i # Runs on: sqlite' tests/unit/lasts_test.sh
    DRIVERS=sqlite passes 'unit/lasts'
    [ "$(sort efforts)" = "$(printf '%s\n' 'insert full' 'native full')" ]
    rm efforts
    DRIVERS=sqlite passes --rest 'unit/lasts'
    [ "$(cat efforts)" = 'native quick' ]
    lists() { [ "$(DRIVERS=sqlite tests/run --rest --list unit/lasts)" = "$1" ]; }
    lists "$(printf 'unit/lasts_test sqlite/%s\n' native)"
    sed -i '1i # Rest: sqlite' tests/unit/lasts_test.sh
    lists "$(printf 'unit/lasts_test sqlite/%s\n' native insert)"
    sed -i '1s/.*/# Rest: sqlite\/insert/' tests/unit/lasts_test.sh
    lists "$(printf 'unit/lasts_test sqlite/%s\n' insert)"
    # engine and technique in the line "Runs on:"
    sed -i '1d; s/Runs on: sqlite/&\/insert/' tests/unit/lasts_test.sh
    lists "$(printf 'unit/lasts_test sqlite/%s\n' insert)"
}

@test "--rest repeats all if a source was edited while the quick scope ran" {
    a_test installs 'touch build/installed' # not a source
    passes --quick
    [ -z "$(tests/run --rest --list)" ]
    a_test edits 'touch edited'
    passes --quick
    [ "$(tests/run --rest --list)" = "$(printf 'unit/%s\n' good edits_test installs_test)" ]
    a_test edits true
    passes --quick
    [ -z "$(tests/run --rest --list)" ]
    touch build/rowlock # built after it
    [ "$(tests/run --rest --list | wc -l)" = 3 ]
}
