#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# clients/node on a real server with each driver, its types and formatting, and the built package in
# an empty project with the example of its README. npm installs the drivers.
# Runs on: postgresql/native mariadb/row

bats_require_minimum_version 1.5.0
load ../command/lib
load lib.bash
load ../surface/lib
# shellcheck source=tests/lib/server.sh
. "$BATS_TEST_DIRNAME/../lib/server.sh"

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
    npm install --no-package-lock ../client/*.tgz $drivers
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
    ROWLOCK_ERRORS=$CLIENT/../errors.txt \
        node --test --test-reporter=spec dist-test/{alone,fake,jobs_alone}.test.js
}

# The declarations without comments and without what is private.
@test "its public names and types are the recorded ones" {
    on_postgresql || return 0
    cd "$BATS_TEST_TMPDIR"
    cp -R "$SHARED/node/client/src" "$SHARED/node/client/tsconfig.json" .
    ln -s "$SHARED/node/client/node_modules" .
    node_modules/.bin/tsc --emitDeclarationOnly --removeComments --sourceMap false --outDir types
    # of the files behind the index only the names that it exports
    grep -ohE '[A-Za-z]+' types/index.d.ts | sort -u >names
    for file in fake nestjs index errors install jobs acquire lease session transaction engine; do
        echo "== $file"
        case $file in fake | nestjs | index) cat types/$file.d.ts ;; *)
            awk 'NR == FNR { public[$1]; next }
                match($0, /(class|interface|type|function|const) [A-Za-z]+/) && /^export/ {
                    split(substr($0, RSTART, RLENGTH), word, " "); shown = word[2] in public }
                /^declare|^import/ { shown = 0 }
                shown' names types/$file.d.ts ;;
        esac | grep -v '^ *private \|^import \|^ *#\|^export {}'
    done | same_as_recorded node
}

@test "its own tests pass with each driver" {
    cd ../../client
    for driver in $drivers; do
        echo "$driver"
        for file in rowlock sources jobs; do
            ROWLOCK_TEST_DRIVER=$driver node --test --test-reporter=spec "dist-test/$file.test.js"
        done
    done
}

@test "20 waiters behind a pooler of 5 sessions leave them to others, and no lease is lost" {
    on_postgresql || return 0
    POOL=5 start_pooler node_pooler "$ROWLOCK_TEST_URL"
    cat >pooler.mjs <<'EOF'
import pg from 'pg';
import { withLease } from 'rowlock';
const connect = async () => {
    const client = new pg.Client(process.argv[2]);
    await client.connect();
    return client;
};
const pool = new pg.Pool({ connectionString: process.argv[2], max: 30 });
let served = 0;
const work = async (lease) => {
    for (let query = 0; query < 10; query++) await pool.query('SELECT 1');
    lease.check();
    served++;
};
const long = async (lease) => {
    const before = lease.remaining();
    while (lease.remaining() <= before) await pool.query('SELECT 1'); // until it is renewed
    await work(lease);
};
const all = [withLease(connect, 'x', { ttl: 15_000 }, long)];
for (let number = 0; number < 20; number++) {
    all.push(withLease(number % 2 ? pool : connect, 'x', {}, work));
}
await Promise.all(all);
console.log(served);
await pool.end();
EOF
    run node pooler.mjs "$server_url"
    stop_pooler node_pooler
    [ "$output" = 21 ]
}

@test "the README's hook counts in a meter" {
    on_postgresql || return 0
    {
        cat <<'EOF'
import pg from 'pg';
import { withLease } from 'rowlock';
const recorded = [];
const record = (value, labels) => recorded.push([typeof value, labels]);
const metrics = { getMeter: () => ({ createHistogram: () => ({ record }) }) };
const pool = new pg.Pool({ connectionString: process.argv[2] });
EOF
        sed -n '/metrics.getMeter/,/^};/p' "$CLIENT/README.md"
        cat <<'EOF'
await withLease(pool, 'x', { onEvent }, () => {});
for (const one of recorded) console.log(JSON.stringify(one));
await pool.end();
EOF
    } >meter.mjs
    run node meter.mjs "$ROWLOCK_TEST_URL"
    [ "$output" = '["number",{"name":"x","type":"acquired"}]
["number",{"name":"x","type":"released"}]' ]
}

example() { # [NUMBER]: a program of the README; on MariaDB with a pool of mysql2
    awk -v number="${1:-1}" '/^```js$/ {n++; inside = 1; next} /^```$/ {inside = 0}
        inside && n == number' "$CLIENT/README.md" >example.mjs
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
const require = createRequire(import.meta.url);
const required = require('rowlock');
for (const name of Object.keys(required)) {
    if (imported[name] !== required[name]) throw new Error(name);
}
console.log(Object.keys(required).sort().join(' '));
EOF
    [ "$(node both.mjs)" = "BusyError Jobs Lease LostError NotInstalledError OverrunError\
 RowlockError UnavailableError acquire fence install lock nextNumber refresh releaseAll schema\
 withLease" ]
    node -e 'import("rowlock/fake").then((imported) => {
        if (imported.fake !== require("rowlock/fake").fake) throw new Error("twice");
    })'
    name=$(node -p 'require("../../client/package.json").name')
    [ "$(node -p 'Object.keys(JSON.parse(require("fs").readFileSync(
        `../node_modules/${process.argv[1]}/package.json`)).dependencies ?? {}).length' \
        "$name")" = 0 ]
    cat >typed.ts <<'EOF'
import { acquire, type JobOptions, Jobs, type Lease, type Run } from 'rowlock';
export async function token(): Promise<bigint> {
    const lease: Lease = await acquire(() => ({ query: () => 1 }), 'x', { ttl: 1000 });
    return lease.token;
}
const options: JobOptions = { cron: '@daily', ttl: 1000 };
new Jobs(() => ({ query: () => 1 })).job('j', options, async (run: Run) => run.due.getTime());
EOF
    tsc=../../client/node_modules/.bin/tsc
    types=$PWD/../../client/node_modules/@types
    strict="--noEmit --strict --module nodenext --target es2022 --typeRoots $types --types node"
    # shellcheck disable=SC2086
    $tsc $strict typed.ts
    for wrong in '0,/ttl: 1000/s//ttl: "1 s"/' "s/cron: '@daily'/every: '5m', &/" \
        "s/cron: '@daily', //"; do
        sed "$wrong" typed.ts >wrong.ts
        # shellcheck disable=SC2086
        run ! $tsc $strict wrong.ts
        [[ $output == *wrong.ts* ]]
    done
}

@test "the README's example waits its turn, and does its work" {
    example
    waits_its_turn node example.mjs "$ROWLOCK_TEST_URL"
}

@test "the README's jobs: one of two programs performs one, and ends at a signal" {
    example 2
    # due once here; MariaDB's server has no zones
    sed -i "s/every: '5m'/every: '50w'/; s/0 3 \* \* \*/0 3 29 2 */; s/, zone: 'Europe.Berlin'//" \
        example.mjs
    start node example.mjs "$ROWLOCK_TEST_URL"
    until_true grep -q shares out
    sed 's/^await jobs.run(.*/console.log(await jobs.runDue());/' example.mjs >once.mjs
    [ "$(node once.mjs "$ROWLOCK_TEST_URL")" = 0 ]
    kill -s TERM "$started"
    wait "$started"
    [ "$(cat out)" = $'bonds\nshares' ]
    [ "$(rowlock --json jobs prices | jq -r '.[0].last_output')" = '37 prices' ]
}

@test "a killed holder's lease passes to a waiter; a broken one is reported" {
    example
    sed -i "s/^        console.log(part.*/        await new Promise((end) => (ended = end));/
            s/ttl: 30_000/ttl: 3000/; s/^const pool/let ended;\n&/" example.mjs
    passes_to_a_waiter node example.mjs "$ROWLOCK_TEST_URL"
    sed -i "s/(ended = end)/lease.signal.addEventListener('abort', end)/" example.mjs
    reports_a_break \
        "LostError: the lease of 'import' is lost: stop the work done under it (.*broken" \
        node example.mjs "$ROWLOCK_TEST_URL"
}

@test "the product has at most 1,200 lines of code, and 400 of jobs, the rest aside" {
    code() { find "$CLIENT/src" "$@" -exec cat {} + | grep -vcE '^ *(//.*|/\*\*.*\*/)?$'; }
    lines=$(code -name '[!f]*' ! -name install.ts ! -name cli.ts ! -name jobs.ts \
        ! -name 'nestjs.*')
    of_jobs=$(code -name jobs.ts)
    [ "$lines" -gt 100 ]
    [ "$lines" -le 1200 ]
    [ "$of_jobs" -gt 100 ]
    [ "$of_jobs" -le 400 ]
}
