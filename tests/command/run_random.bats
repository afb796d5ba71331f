#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# run while processes are killed at random: no work under the lock is lost or done twice.
# Runs on: sqlite/native postgresql/native mariadb/row
# Quick: mariadb/row
# Rest: mariadb/row, because leases/load kills holders on every engine

load lib

# Adds a line to a file by reading and rewriting it: two at the same time would lose one line.
write_add() {
    cat >add <<'ADD'
#!/bin/sh
grep -qx "$1" list && exit # done by a process that was killed before it could report
cat list >"list.$1"
echo "$1" >>"list.$1"
mv "list.$1" list
ADD
    chmod +x add
}
has_lines() { [ "$(wc -l <list)" -ge "$1" ]; }

@test "p1, p6: 8 processes, random kills of holders and waiters: each addition is done once" {
    write_add
    : >list
    for worker in {1..8}; do
        start bash -c 'for i in {1..6}; do
            until "$1" --db "$2" run --ttl 5s a -- ./add "$0.$i"; do [ -e list ] || exit; done
        done' "$worker" "$ROWLOCK" "$ROWLOCK_TEST_URL"
    done
    for lines in 8 16 24 32; do
        until_true has_lines "$lines"
        victim=$(pgrep -x rowlock -P "$(IFS=,; echo "${all_started[*]}")" | shuf -n 1)
        [ -z "$victim" ] || kill -s KILL "$victim" || true
    done
    wait "${all_started[@]}"
    [ "$(wc -l <list)" = 48 ]
    [ "$(sort -u list | wc -l)" = 48 ]
}
