#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The farm whose pictures are in docs/serve (make pictures): the product wrote its history, in which
# runs of one job never overlap.
# Runs on: alone
# Quick: never

load lib

pictures() { "$BATS_TEST_DIRNAME/../../tools/pictures" "$@"; }
setup() {
    cd "$BATS_TEST_TMPDIR" || return 1
    export ROWLOCK
    ROWLOCK=$(realpath "$ROWLOCK")
}

# The timeline draws bars of one name that overlap below each other.
draw() { "$ROWLOCK" --db sqlite:farm/farm.db log --limit 1000 --svg timeline.svg 'job:*'; }
lanes() { grep -c 'class="name"' timeline.svg; }
rows_of_runs() {
    sed -n 's/.*<\/title><rect class="\(run\|lost\)" x="[^"]*" y="\([^"]*\)".*/\2/p' timeline.svg |
        sort -u | wc -l
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
    draw
    [ "$(lanes)" -gt 2 ]
    [ "$(rows_of_runs)" = "$(lanes)" ]
    sqlite3 farm/farm.db 'UPDATE rowlock_run SET started = started - 3600000
        WHERE token = (SELECT max(token) FROM rowlock_run WHERE finished > 0
                       GROUP BY job HAVING count(*) > 1 LIMIT 1)'
    draw
    [ "$(rows_of_runs)" -gt "$(lanes)" ]
}
