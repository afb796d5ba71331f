#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# clients/python on a real server with each driver, and the example of its README.
# Runs on: postgresql/native mariadb/row

bats_require_minimum_version 1.5.0
load ../command/lib

PATH=/usr/bin:$PATH # Debian's python3 has Debian's drivers
CLIENT=$BATS_TEST_DIRNAME/../../clients/python
export PYTHONPATH=$CLIENT/src PYTHONDONTWRITEBYTECODE=1 ROWLOCK

setup_file() { install_technique; }
setup() {
    cd "$BATS_TEST_TMPDIR" || return 1
    case $ROWLOCK_TEST_ENGINE in
    postgresql) drivers="psycopg psycopg2" ;;
    mariadb) drivers="pymysql MySQLdb" ;;
    esac
}
teardown() { end_started; }

@test "its own tests pass with each driver" {
    for driver in $drivers; do
        echo "$driver"
        ROWLOCK_TEST_DRIVER=$driver python3 -W error::SyntaxWarning "$CLIENT/tests/test_rowlock.py"
    done
}

example() { # the program of the README
    sed -n '/^```python$/,/^```$/{/^```/d;p}' "$CLIENT/README.md" >example.py
    [ -s example.py ]
}

@test "the README's example waits its turn, and does its work" {
    example
    token=$(rowlock acquire --ttl 5m import)
    start python3 example.py "$ROWLOCK_TEST_URL"
    until_true is_waited_for import
    [ ! -s out ]
    rowlock release import --token "$token"
    wait "$started"
    [ "$(cat out)" = $'importing\nbonds\nshares' ]
    is_free import
}

@test "a killed holder's lease passes to a waiter; a broken one is reported" {
    example
    sed -i 's/^        print(part.*/        import time; time.sleep(600)/
            s/ttl=30/ttl=3/' example.py
    start python3 example.py "$ROWLOCK_TEST_URL"
    until_true grep -q importing out
    kill -s KILL "$started"
    rowlock run -w 60 import -- true
    rm out
    sed -i 's/time.sleep(600)/lease.lost.wait(600)/' example.py
    start python3 example.py "$ROWLOCK_TEST_URL"
    until_true grep -q importing out
    rowlock break import
    status=0
    wait "$started" || status=$?
    [ "$status" = 1 ]
    grep -q "Lost: the lease of 'import' is lost: stop the work done under it" err
}

@test "the product has at most 600 lines" {
    [ "$(cat "$CLIENT"/src/rowlock/*.py | wc -l)" -le 600 ]
}
