#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The first article's two statements and its ConcurrentTest, with a trigger that makes them wait for
# leases too.
# Runs on: postgresql/insert

load ../command/lib
load raw.bash

setup_file() { install_on_the_article_s_table; }

@test "p1 the two statements wait for a lease that rowlock run holds" {
    for program in client python; do
        hold_lease "$NAME"
        raw_begin "$program"
        until_true raw_inserts
        run ! raw_says locked
        let_go
        until_true raw_says locked
        run -75 rowlock run -n "$NAME" -- true
        raw_commit
    done
}

@test "the two statements wait for a lease until lock_timeout, and the error names the holder" {
    token=$(rowlock hold --for 1h --note 'ask Ann' "$NAME")
    { echo "SET lock_timeout = '1s';"; two_statements; } >in
    run client <in
    echo "$output"
    [[ $output == *"is held by "*"ask Ann"* ]]
    run ! grep -x locked <<<"$output"
    rowlock release "$NAME" --token "$token"
    run client <in
    [ "$output" = locked ]
}

# As the article's log shows: whenever one thread commits, another one continues.
@test "p1 ConcurrentTest: each commit lets exactly one other thread insert" {
    /usr/bin/python3 "$BATS_TEST_DIRNAME/concurrent.py" "$ROWLOCK_TEST_URL" >log
    cat log
    turns=$(awk -F'\t' '/\t(rows inserted:1|rows deleted:1|doing commit\.\.\.)$/ { print $2 }' log \
        | uniq -c | awk '{ print $1 }')
    [ "$turns" = $'3\n3\n3' ]
    [ "$(awk -F'\t' '/\trows inserted:1$/ { print $2 }' log | sort | paste -sd,)" = 1,2,3 ]
    steps=$(awk -F'\t' '/\t(rows inserted:|rows deleted:|doing commit|Caught)/ { print $3 }' log |
        paste -sd,)
    turn="rows inserted:1,rows deleted:1,doing commit..."
    [ "$steps" = "$turn,$turn,$turn" ]
    # all three had begun before the first ended
    [ "$(sed '/doing commit/q' log | grep -c 'doing insert$')" = 3 ]
    [ "$(sed -n '$s/.*\t//p' log)" = "Done !" ]
}
