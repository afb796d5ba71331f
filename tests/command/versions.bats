#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# tests/versions where no archive has MySQL: make check-mysql fails; with OPTIONAL=1, as in .ci/run,
# it only reports that in its last line.
# Quick: never

versions() { # BUILD [VARIABLE=VALUE...]
    run env DEBIAN_ARCHIVE=http://127.0.0.1:1/debian BUILD="$1" "${@:2}" \
        "$BATS_TEST_DIRNAME/../versions" mysql
    [ "${lines[-1]}" = 'mysql: no server, not tested' ]
}

@test "an archive that does not answer is a failure, unless MySQL is optional" {
    versions "$BATS_TEST_TMPDIR"
    [ "$status" = 1 ]
    [[ $output == *'no MySQL: '* ]]
    versions "$BATS_TEST_TMPDIR" OPTIONAL=1
    [ "$status" = 0 ]
    [ -z "$(ls "$BATS_TEST_TMPDIR")" ] # the next run asks again
}

@test "any other failure to get an optional MySQL is a failure" {
    versions /dev/null OPTIONAL=1
    [[ $output != *'does not have the keys'* ]] || skip "this machine refuses it: ${lines[0]}"
    [ "$status" = 1 ]
}
