#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The farm whose pictures are in docs/serve (make pictures): the product wrote its history, in which
# runs of one job never overlap.
# Runs on: alone

bats_require_minimum_version 1.5.0
load lib

pictures() { "$BATS_TEST_DIRNAME/../../tools/pictures" "$@"; }
setup() {
    cd "$BATS_TEST_TMPDIR" || return 1
    export ROWLOCK
    ROWLOCK=$(realpath "$ROWLOCK")
}

@test "runs of a job never overlap in the farm, and a history in which they do is refused" {
    mkdir farm
    pictures farm farm 24 >said 2>&1 || { cat said farm/out; return 1; }
    jq -e 'map(select(.kind == "run")) | length > 3' farm/history.json
    jq -e 'map(.how) | index("revoked") and index("gave up") and index("done")' farm/history.json
    pictures check farm/history.json
    jq 'map(select(.kind == "run"))[0] as $run
        | . + [$run + {ended: "9999", token: 1}]' farm/history.json >wrong.json
    run -1 pictures check wrong.json
    [[ $output == "runs of one job overlap: job:"* ]]
}
