#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# clients/node on a real server with each driver, its types and formatting, and the built package in
# an empty project with the example of its README. npm installs the drivers.
# Runs on: postgresql/native mariadb/row

bats_require_minimum_version 1.5.0
load ../command/lib
load lib.bash

CLIENT=$BATS_TEST_DIRNAME/../../clients/node
export ROWLOCK npm_config_fund=false npm_config_audit=false npm_config_update_notifier=false

setup_file() {
    install_technique
    once node build_package
    mkdir "$SHARED/node/project/$ROWLOCK_TEST_ENGINE"
}
# FOLDER: the package in `client`, because npm and tsc write beside the sources; an application that
# has installed it, and its own drivers, in `project`.
build_package() {
    mkdir -p "$1/project"
    cp -R "$CLIENT" "$1/client"
    cd "$1/client" || return 1
    rm -rf node_modules dist dist-test
    npm install --ignore-scripts --no-package-lock && npm pack && npx tsc -p test || return 1
    drivers=$(node -p 'const of = require("./package.json").devDependencies
        ;["pg", "mysql2"].map((name) => name + "@" + of[name]).join(" ")')
    cd ../project || return 1
    npm init -y && npm pkg set type=module || return 1
    # shellcheck disable=SC2086
    npm install --no-package-lock ../client/rowlock-*.tgz $drivers
}
setup() {
    cd "$SHARED/node/project/$ROWLOCK_TEST_ENGINE" || return 1
    case $ROWLOCK_TEST_ENGINE in
    postgresql) drivers="pg" ;;
    mariadb) drivers="mysql2 mysql2/promise mariadb" ;;
    esac
}
teardown() { end_started; }

@test "it is formatted, and its tests without a server pass" {
    on_postgresql || return 0
    cd ../../client
    npx prettier --check src test ./*.json
    node --test --test-reporter=spec dist-test/alone.test.js
}

@test "its own tests pass with each driver" {
    cd ../../client
    for driver in $drivers; do
        echo "$driver"
        ROWLOCK_TEST_DRIVER=$driver node --test --test-reporter=spec dist-test/rowlock.test.js
    done
}

example() { # the program of the README; on MariaDB with a pool of mysql2
    sed -n '/^```js$/,/^```$/{/^```/d;p}' "$CLIENT/README.md" >example.mjs
    [ -s example.mjs ]
    [ "$ROWLOCK_TEST_ENGINE" != mariadb ] ||
        sed -i "s,^import pg from 'pg',import mysql from 'mysql2/promise',
            s,new pg.Pool(.*),mysql.createPool(process.argv[2]);," example.mjs
    rm -f out err
}

@test "the package that users install has both kinds of modules, types, and no dependency" {
    on_postgresql || return 0
    cat >both.mjs <<'EOF'
import { createRequire } from 'node:module';
import * as imported from 'rowlock';
const required = createRequire(import.meta.url)('rowlock');
for (const name of Object.keys(required)) {
    if (imported[name] !== required[name]) throw new Error(name);
}
console.log(Object.keys(required).sort().join(' '));
EOF
    [ "$(node both.mjs)" = "BusyError Lease LostError NotInstalledError RowlockError\
 UnavailableError acquire fence lock nextNumber refresh withLease" ]
    [ "$(node -p 'Object.keys(JSON.parse(require("fs").readFileSync(
        "../node_modules/rowlock/package.json")).dependencies ?? {}).length')" = 0 ]
    cat >typed.ts <<'EOF'
import { acquire, type Lease } from 'rowlock';
export async function token(): Promise<bigint> {
    const lease: Lease = await acquire(() => ({ query: () => 1 }), 'x', { ttl: 1000 });
    return lease.token;
}
EOF
    tsc=../../client/node_modules/.bin/tsc
    types=$PWD/../../client/node_modules/@types
    strict="--noEmit --strict --module nodenext --target es2022 --typeRoots $types --types node"
    # shellcheck disable=SC2086
    $tsc $strict typed.ts
    sed -i 's/ttl: 1000/ttl: "1 s"/' typed.ts
    # shellcheck disable=SC2086
    run ! $tsc $strict typed.ts
}

@test "the README's example waits its turn, and does its work" {
    example
    waits_its_turn node example.mjs "$ROWLOCK_TEST_URL"
}

@test "a killed holder's lease passes to a waiter; a broken one is reported" {
    example
    sed -i "s/^        console.log(part.*/        await new Promise((end) => (ended = end));/
            s/ttl: 30_000/ttl: 3000/; s/^const pool/let ended;\n&/" example.mjs
    passes_to_a_waiter node example.mjs "$ROWLOCK_TEST_URL"
    sed -i "s/(ended = end)/lease.signal.addEventListener('abort', end)/" example.mjs
    reports_a_break \
        "LostError: the lease of 'import' is lost: stop the work done under it" \
        node example.mjs "$ROWLOCK_TEST_URL"
}

@test "the product has at most 600 lines of code" {
    lines=$(cat "$CLIENT"/src/*.*ts | grep -vcE '^ *(//.*|/\*\*.*\*/)?$')
    [ "$lines" -gt 100 ]
    [ "$lines" -le 600 ]
}
