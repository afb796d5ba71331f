#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# A server that is too old, without a real one: a proxy makes PostgreSQL report an older version.
# Runs on: postgresql/native

load lib
DISGUISE=old
load yugabytedb.bash

refused="PostgreSQL 12.22 is older than 13, the oldest version that rowlock supports"

@test "the command refuses an older server, and names the oldest version that it supports" {
    for verb in "schema install" "run x -- touch ran" ls; do
        # shellcheck disable=SC2086
        run -69 rowlock $verb
        [[ $output == *"this server cannot keep a lock: $refused ("* ]]
    done
    [ ! -e ran ]
    "$ROWLOCK" --db "$direct" schema install # the server itself is new enough
}

@test "so does the printed schema, run by psql" {
    "$ROWLOCK" schema print postgresql >schema.sql
    run -3 psql -qX -v ON_ERROR_STOP=1 "$ROWLOCK_TEST_URL" -f schema.sql
    [[ $output == *"rowlock: $refused"* ]]
    "$ROWLOCK" schema print postgresql --extension >extension.sql
    sed -i '/^\\echo/d' extension.sql
    run -3 psql -qX -v ON_ERROR_STOP=1 "$ROWLOCK_TEST_URL" -f extension.sql
    [[ $output == *"rowlock: $refused"* ]]
}
