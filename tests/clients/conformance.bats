#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# clients/conformance: the same scenarios by the client of each language, by the C library, and by
# clients of different languages. mistakes.bats shows what they find. The half of Python's package
# for asyncio is another client, on PostgreSQL only.
# Runs on: postgresql/native mariadb/row

bats_require_minimum_version 1.5.0
load ../command/lib
load lib.bash
use_newer_go

LANGUAGES="python go node java c"
[ "$ROWLOCK_TEST_ENGINE" != postgresql ] || LANGUAGES="$LANGUAGES asyncio"

setup_file() {
    install_technique
    for language in $LANGUAGES; do
        once "scenarios/$language" "$CONFORMANCE/build" "$language"
    done
}

@test "each language by itself, and the C library" {
    cd "$BATS_TEST_TMPDIR"
    declare -A running
    for language in $LANGUAGES; do
        scenarios "$SHARED/scenarios" "$language" >"$language" 2>&1 3>&- &
        running[$language]=$!
    done
    failed=
    for language in $LANGUAGES; do
        wait "${running[$language]}" || failed="$failed $language"
        cat "$language"
    done
    [ -z "$failed" ]
}

# shellcheck disable=SC2086
@test "clients of different languages" { scenarios "$SHARED/scenarios" $LANGUAGES; }
