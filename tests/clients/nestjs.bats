#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# rowlock/nestjs of clients/node, with the real NestJS: its tests, and the README's application.
# Runs on: postgresql/native

bats_require_minimum_version 1.5.0
load ../command/lib
load lib.bash

CLIENT=$BATS_TEST_DIRNAME/../../clients/node
export ROWLOCK npm_config_fund=false npm_config_audit=false npm_config_update_notifier=false

setup_file() {
    install_technique
    cp -R "$CLIENT" "$BATS_FILE_TMPDIR/client" # npm and tsc write beside the sources
    cd "$BATS_FILE_TMPDIR/client" || return 1
    rm -rf node_modules dist dist-test
    (npm install --ignore-scripts --no-package-lock && npm run build && npx tsc -p test) >&2
}
setup() { cd "$BATS_FILE_TMPDIR/client" || return 1; }
teardown() { end_started; }

@test "one of two applications performs a job, another one replaces it, and a signal ends it" {
    ROWLOCK_TEST_DRIVER=pg node --test --test-reporter=spec dist-test/nestjs.test.js
}

@test "the README's application performs its job, and ends at a signal" {
    awk '/^```$/ {inside = 0} inside; /^```ts$/ {inside = ++n == 1}' README.md >test/application.ts
    grep -q RowlockJob test/application.ts
    sed -i "s/every: '5m'/every: '50w'/" test/application.ts
    npx tsc -p test
    start node dist-test/application.js "$ROWLOCK_TEST_URL"
    until_true grep -q '^mail$' out
    until_true outcome_is done
    kill -s TERM "$started"
    ends_with 143 "$started"
}
outcome_is() { [ "$(rowlock --json jobs mail | jq -r '.[0].last_outcome')" = "$1" ]; }

@test "an application without the schema ends, with the reason" {
    rowlock schema uninstall --force
    run ! node dist-test/application.js "$ROWLOCK_TEST_URL"
    [[ $output == *NotInstalledError* ]]
}
